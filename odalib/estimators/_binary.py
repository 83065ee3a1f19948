"""Binary data in two codings, and the spins that they stand for."""

import numpy as np
import scipy.sparse as sp

__all__ = ["CODINGS", "coding_of", "from_magnetisations", "to_spins"]

# The values that stand for the spins -1 and 1.
CODINGS = {"zero_one": (0.0, 1.0), "plus_minus_one": (-1.0, 1.0)}
# Rows that are made dense at a time.
BLOCK = 4096


def coding_of(X):
    """Coding of rows: {-1, +1} where there is a -1, else {0, 1}.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)

    Returns
    -------
    str
        Key of `CODINGS`.
    """
    values = X.data if sp.issparse(X) else X
    return "plus_minus_one" if (values == -1.0).any() else "zero_one"


def to_spins(X, coding, threshold):
    """Spins of rows.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        NaN where an entry is missing.
    coding : str
        Key of `CODINGS`.
    threshold : float or None
        Values above it are 1, whatever the coding; None for data that are binary.

    Returns
    -------
    spins : ndarray of int8 of shape (n, d)
        Entries -1 and 1, and 0 where one is missing.

    Raises
    ------
    ValueError
        For a value that is neither of the two of the coding.
    """
    spins = np.empty(X.shape, np.int8)
    for begin in range(0, len(spins), BLOCK):
        rows = X[begin : begin + BLOCK]
        rows = rows.toarray() if sp.issparse(rows) else rows
        lower, upper = CODINGS[coding]
        if threshold is None:
            high, low = rows == upper, rows == lower
        else:
            high, low = rows > threshold, rows <= threshold
        known = high | low | np.isnan(rows)
        if not known.all():
            row, column = (int(index) for index in np.argwhere(~known)[0])
            raise ValueError(
                f"X holds {rows[row, column]:g} in row {begin + row}, column {column}, "
                f"where the coding of these data has {lower:g} and {upper:g}. Binary "
                "data come as {0, 1}, {-1, +1} or bool, one coding for all rows of a "
                "model (NaN where an entry is missing); binarize takes a threshold for "
                "other numbers."
            )
        spins[begin : begin + BLOCK] = high.astype(np.int8) - low
    return spins


def from_magnetisations(magnetisations, coding, dtype):
    """Write expected values in a coding.

    Parameters
    ----------
    magnetisations : array of shape (n, d)
        In [-1, 1].
    coding : str
        Key of `CODINGS`.
    dtype : dtype

    Returns
    -------
    array of shape (n, d)
    """
    lower, upper = CODINGS[coding]
    share = (1.0 + magnetisations) / 2.0
    return (lower + (upper - lower) * share).astype(dtype)
