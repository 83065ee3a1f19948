"""Training rows as float64 blocks of a fixed size, reduced in a fixed order."""

from concurrent.futures import ThreadPoolExecutor
from functools import cached_property

import numpy as np
import scipy.sparse as sp

__all__ = ["RowBlocks", "weighted_mean"]

# Elements of a (codevectors x rows) work array; 2 MB stays in the cache.
WORK_ELEMENTS = 2**18
MIN_BLOCK, MAX_BLOCK = 128, 8192
# Rows are kept as one centred float64 array up to this many bytes, and converted
# block by block beyond it.
CACHE_BYTES = 2**26


class RowBlocks:
    """Weighted rows, centred and in float64, handed out block by block.

    The cut into blocks depends on the shapes of the data and of the codebook only,
    and results come back in the order of the blocks, so that sums over blocks are
    the same bits for every ``n_jobs``.

    Parameters
    ----------
    X : array, memory map or CSR matrix of shape (n, d)
        Never written to.
    row_weights : array of shape (n,)
        Positive weights, float64.
    shift : array of shape (d,), default=None
        Subtracted from every row; None for no centring.
    n_jobs : int, default=1
        Threads over blocks.
    """

    def __init__(self, X, row_weights, shift=None, n_jobs=1):
        self.row_weights = row_weights
        self.n_jobs = n_jobs
        self.n_rows, self.n_features = X.shape
        self.total_weight = float(row_weights.sum())
        self._X, self._shift = X, shift
        self._sparse = sp.issparse(X)
        if self._sparse or 8 * X.size <= CACHE_BYTES:
            self._X, self._shift = _as_float64(X, shift), None

    def spans(self, width):
        """Slices of the blocks whose work arrays are ``width`` wide."""
        size = min(max(WORK_ELEMENTS // width, MIN_BLOCK), MAX_BLOCK)
        return [
            slice(start, min(start + size, self.n_rows))
            for start in range(0, self.n_rows, size)
        ]

    def map(self, function, n_codevectors):
        """``function(rows, span)`` of every block, as a list in block order."""
        # Work arrays over dense rows are as wide as they are; sparse ones are not.
        width = n_codevectors if self._sparse else max(n_codevectors, self.n_features)
        spans = self.spans(width)
        if len(spans) == 1:
            return [function(_as_float64(self._X, self._shift), spans[0])]

        def on_block(span):
            return function(_as_float64(self._X[span], self._shift), span)

        if self.n_jobs == 1:
            return [on_block(span) for span in spans]
        return list(self._pool.map(on_block, spans))

    @cached_property
    def _pool(self):
        # A fit makes hundreds of passes of milliseconds each: one pool serves all,
        # and its threads end with it.
        return ThreadPoolExecutor(self.n_jobs)

    def reduce(self, function, n_codevectors):
        """Sum over the blocks of ``function(rows, row_weights, span)``."""
        parts = self.map(
            lambda rows, span: function(rows, self.row_weights[span], span),
            n_codevectors,
        )
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return total

    def phi(self, divergence):
        """``phi`` of every row, shape (n,)."""
        return np.concatenate(self.map(lambda rows, _: divergence.phi(rows), 1))

    def mean_and_scale(self):
        """Weighted mean, shape (d,), and root mean square deviation of an entry."""
        total = self.reduce(lambda rows, weights, _: weights @ rows, 1)
        mean = total / self.total_weight

        def square(rows, weights, _):
            if not sp.issparse(rows):
                return weights @ np.square(rows - mean).sum(axis=1)
            deviations = rows.copy()
            deviations.data = (rows.data - 2.0 * mean[rows.indices]) * rows.data
            by_row = np.asarray(deviations.sum(axis=1)).ravel()
            return weights @ (by_row + mean @ mean)

        variance = self.reduce(square, 1) / (self.total_weight * self.n_features)
        return mean, float(np.sqrt(max(variance, 0.0)))

    def covariance(self):
        """Weighted covariance of the rows, shape (d, d)."""

        def second_moment(rows, weights, _):
            if sp.issparse(rows):
                weighted = rows.multiply(weights[:, np.newaxis]).tocsr()
                return np.vstack([weights @ rows, (weighted.T @ rows).toarray()])
            return np.vstack([weights @ rows, (rows.T * weights) @ rows])

        total = self.reduce(second_moment, 1) / self.total_weight
        return total[1:] - np.outer(total[0], total[0])

    def select(self, indices):
        """Give some rows, centred; by an index array or a slice."""
        return _as_float64(self._X[indices], self._shift)

    def take(self, indices, row_weights):
        """Blocks of the given rows, with new weights."""
        return RowBlocks(self._X[indices], row_weights, self._shift, self.n_jobs)


def weighted_mean(X, row_weights):
    """Weighted mean of the columns in float64, shape (d,); dense or CSR."""
    total = np.zeros(X.shape[1])
    for start in range(0, X.shape[0], MAX_BLOCK):
        span = slice(start, start + MAX_BLOCK)
        total += row_weights[span] @ X[span].astype(np.float64, copy=False)
    return total / row_weights.sum()


def _as_float64(rows, shift):
    """Rows as C-contiguous float64, minus the shift."""
    if shift is not None:
        return np.subtract(rows, shift, dtype=np.float64, order="C")
    if isinstance(rows, np.ndarray):
        return np.ascontiguousarray(rows, dtype=np.float64)
    return rows.astype(np.float64, copy=False)
