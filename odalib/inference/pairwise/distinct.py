"""Rows that hold the same, taken together."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["distinct_rows"]


def distinct_rows(
    spins: NDArray[np.int8],
) -> tuple[NDArray[np.int8], NDArray[np.intp]]:
    """Find the distinct rows, in an order that theirs in the data does not change.

    Parameters
    ----------
    spins : ndarray of int8 of shape (n_samples, n)

    Returns
    -------
    rows : ndarray of int8 of shape (m, n)
    which : ndarray of int of shape (n_samples,)
        The distinct row that each row is.
    """
    spins = np.ascontiguousarray(spins)
    as_one = spins.view(np.dtype((np.void, spins.shape[1]))).ravel()
    _, first, which = np.unique(as_one, return_index=True, return_inverse=True)
    return spins[first], which
