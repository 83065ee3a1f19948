"""Credible intervals of what is normally distributed."""

from scipy.special import ndtri

__all__ = ["half_width"]


def half_width(level):
    """Half the width of a central interval, in standard deviations.

    Raises
    ------
    ValueError
        For a level that is not between 0 and 1.
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"level={level!r} must be between 0 and 1, such as 0.95.")
    return float(ndtri(0.5 + level / 2.0))
