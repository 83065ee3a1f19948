"""Rows of data, dense or CSR: the few operations that the two need of their own."""

import numpy as np
import scipy.sparse as sp
from scipy.linalg.lapack import dpotrf

__all__ = [
    "column_squares",
    "column_squares_at_most",
    "dense",
    "row_products",
    "scale_columns",
    "scale_rows",
    "spans",
    "squares_at_most",
    "stack_rows",
    "unit_factor",
]

# Rows that pass through the cache together.
BLOCK_ROWS = 4096
# A pivot, of a unit diagonal, below this has lost half of its digits.
SMALLEST_PIVOT = 1e-8
# Entries over half of the range of their column, above which it has few digits.
MOST_OFFSET = 1e11
# Number that is above zero.
SMALLEST = float(np.finfo(np.float64).smallest_subnormal)


def unit_factor(gram):
    """Cholesky factor of a Gram matrix in units of its diagonal.

    Parameters
    ----------
    gram : array of shape (m, m)
        Of positive diagonal.

    Returns
    -------
    factor : array of shape (m, m)
        Upper triangular, times the units; None where there is none.
    exact : bool
        Whether no pivot is so small that the products have lost half of the digits.
    """
    units = np.sqrt(np.diag(gram))
    factor, info = dpotrf(gram / units / units[:, np.newaxis], lower=0)
    if info != 0:
        return None, False
    return factor * units, bool(np.diag(factor).min() ** 2 > SMALLEST_PIVOT)


def spans(X):
    """Slices of blocks of rows."""
    n_rows = X.shape[0]
    return [
        slice(start, min(start + BLOCK_ROWS, n_rows))
        for start in range(0, n_rows, BLOCK_ROWS)
    ]


def dense(matrix):
    """Make a matrix dense."""
    return matrix if isinstance(matrix, np.ndarray) else matrix.toarray()


def scale_rows(rows, factors):
    """Rows times one factor each; dense stays dense, CSR stays CSR."""
    if isinstance(rows, np.ndarray):
        return rows * factors[:, np.newaxis]
    return sp.diags_array(factors) @ rows


def scale_columns(rows, factors):
    """Columns times one factor each; dense stays dense, CSR stays CSR."""
    if isinstance(rows, np.ndarray):
        return rows * factors
    return rows @ sp.diags_array(factors)


def stack_rows(upper, lower):
    """Rows below rows; of CSR where one of them is."""
    if isinstance(upper, np.ndarray) and isinstance(lower, np.ndarray):
        return np.vstack([upper, lower])
    return sp.vstack([sp.csr_array(upper), sp.csr_array(lower)], format="csr")


def column_squares_at_most(rows):
    """Largest square of every column, shape (d,), once a constant one has its say.

    Where a column is constant, and so takes care of offsets, those that are not count
    by half of their range. Raises ValueError where that is lost beside the offset.
    """
    if isinstance(rows, np.ndarray):
        return squares_at_most(rows.max(axis=0), rows.min(axis=0))
    return squares_at_most(
        *(dense(extreme).ravel() for extreme in (rows.max(axis=0), rows.min(axis=0)))
    )


def squares_at_most(highest, lowest):
    """`column_squares_at_most` of columns that reach so high and so low, (d,) each.

    Zero only of columns that are. Raises ValueError as that does.
    """
    largest = np.maximum(np.abs(highest), np.abs(lowest))
    if ((highest == lowest) & (largest > 0)).any():
        half_range = 0.5 * (highest - lowest)
        lost = np.flatnonzero((half_range > 0) & (largest > MOST_OFFSET * half_range))
        if lost.size:
            first = lost[0]
            raise ValueError(
                f"Column {first} of X holds values of {lowest[first]:.3g} that differ "
                f"by {2.0 * half_range[first]:.3g} at most: what they tell is lost in "
                "rounding. Remove the offset, as StandardScaler does, or leave the "
                "column out."
            )
        largest = np.where(half_range > 0, half_range, largest)
    return np.maximum(largest**2, np.where(largest > 0, SMALLEST, 0.0))


def column_squares(matrix):
    """Sum of squares of every column, shape (m,)."""
    return np.einsum("ij,ij->j", matrix, matrix)


def row_products(left, right):
    """Inner product of every row with its counterpart, shape (n,)."""
    if isinstance(left, np.ndarray):
        return np.einsum("ij,ij->i", left, right)
    return np.asarray(left.multiply(right).sum(axis=1)).ravel()
