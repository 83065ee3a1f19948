"""Results of double precision in the dtype of the rows."""

import numpy as np

__all__ = ["narrowed"]


def narrowed(values, dtype, what, refusal=ValueError):
    """Give results in the dtype of the rows.

    Parameters
    ----------
    values : array
        Finite.
    dtype : dtype
    what : str
        They are, in the plural.
    refusal : type of Exception, default=ValueError
        Raised where they are too large for it. AttributeError for what an attribute
        would show.

    Returns
    -------
    array
        The values themselves where they have that dtype.
    """
    try:
        with np.errstate(over="raise"):
            return values.astype(dtype, copy=False)
    except FloatingPointError as error:
        raise refusal(
            f"{what} reach {np.abs(values).max():.3g}, which {np.dtype(dtype).name} "
            "does not hold; give X as float64, or scale it."
        ) from error
