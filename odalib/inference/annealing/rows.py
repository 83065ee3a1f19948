"""Training rows as float64 blocks of a fixed size, reduced in a fixed order."""

from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, reduce
from itertools import pairwise
from operator import add

import numpy as np
import scipy.sparse as sp

__all__ = ["RowBlocks", "RowSums", "as_float64", "scatter_add", "weighted_mean"]

# Elements of a (codevectors x rows) work array; 2 MB stays in the cache.
WORK_ELEMENTS = 2**18
MIN_BLOCK, MAX_BLOCK = 128, 8192
# Rows are kept as one centred float64 array up to this many bytes, and converted
# block by block beyond it.
CACHE_BYTES = 2**26
# Sparse rows of no more entries than this, zeros counted, are kept dense.
SMALL_ELEMENTS = 2**14


class RowSums:
    """Moments of weighted rows, wherever they are.

    Attributes
    ----------
    n_features : int
    total_weight : float
    """

    n_features: int
    total_weight: float

    def reduce(self, function, n_codevectors):
        """Sum over blocks of ``function(rows, row_weights, span)``.

        Parameters
        ----------
        function : callable
            Its rows are centred, in float64.
        n_codevectors : int
            Width of its work arrays, if more than the rows are wide.
        """
        raise NotImplementedError

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


class RowBlocks(RowSums):
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
    groups : array of int of shape (n,), default=None
        Group of every row, from zero on. Rows are then held group by group, and no
        block holds rows of two.
    """

    def __init__(self, X, row_weights, shift=None, n_jobs=1, groups=None):
        self._order = None
        if groups is not None:
            self._order = np.argsort(groups, kind="stable")
            row_weights, groups = row_weights[self._order], groups[self._order]
        self.groups = groups
        self.shift = shift
        self.row_weights = row_weights
        self.n_jobs = n_jobs
        self.n_rows, self.n_features = X.shape
        self.total_weight = float(row_weights.sum())
        if sp.issparse(X) and X.shape[0] * X.shape[1] <= SMALL_ELEMENTS:
            # Where sparse products cost more than all entries.
            X = X.toarray()
        self._X, self._shift, self._index = X, shift, self._order
        # Sparse rows that are shifted are dense, block by block.
        self._sparse = sp.issparse(X) and shift is None
        n_bytes = 8 * self.n_rows * self.n_features
        if self._sparse or (not sp.issparse(X) and n_bytes <= CACHE_BYTES):
            X = X if groups is None else X[self._order]
            self._X, self._shift, self._index = as_float64(X, shift), None, None

    def leading(self, n_features):
        """Blocks of the first columns of ungrouped rows."""
        shift = None if self._shift is None else self._shift[:n_features]
        return RowBlocks(self._X[:, :n_features], self.row_weights, shift, self.n_jobs)

    def spans(self, width):
        """Slices of the blocks whose work arrays are ``width`` wide."""
        size = min(max(WORK_ELEMENTS // width, MIN_BLOCK), MAX_BLOCK)
        return [
            slice(start, min(start + size, last))
            for first, last in pairwise(self._bounds)
            for start in range(first, last, size)
        ]

    @cached_property
    def _bounds(self):
        """Where groups begin, and the end."""
        if self.groups is None:
            return [0, self.n_rows]
        begins = np.flatnonzero(np.diff(self.groups, prepend=-1))
        return [*begins.tolist(), self.n_rows]

    def group(self, span):
        """Group of the rows of a block, or None."""
        return None if self.groups is None else self.groups[span.start]

    def restore(self, values):
        """Values of the rows, in the order that they came in."""
        if self._order is None:
            return values
        restored = np.empty_like(values)
        restored[self._order] = values
        return restored

    def arrange(self, columns):
        """Copy of columns that stand for rows, in the order that rows are held in."""
        return columns.copy() if self._order is None else columns[:, self._order]

    def arrivals(self, span):
        """Where the rows are held that came at the places of a slice."""
        return span if self._order is None else self._places[span]

    @cached_property
    def _places(self):
        return self.restore(np.arange(self.n_rows))

    def map(self, function, n_codevectors):
        """``function(rows, span)`` of every block, as a list in block order."""
        # Work arrays over dense rows are as wide as they are; sparse ones are not.
        width = n_codevectors if self._sparse else max(n_codevectors, self.n_features)
        spans = self.spans(width)
        if len(spans) == 1:
            return [function(as_float64(self._X, self._shift), spans[0])]

        def on_block(span):
            return function(self.select(span), span)

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
        return reduce(add, parts)

    def reduce_cells(self, function, n_codevectors, width=None):
        """Sum by codevector of ``function(rows, row_weights, span)`` over the blocks.

        Parameters
        ----------
        function : callable
            Returns the codevectors that the block concerns, as an index, and a tuple
            of arrays over them or of numbers.
        n_codevectors : int
        width : int, default=None
            Largest number of codevectors that concern a block; None for all.

        Returns
        -------
        sums : tuple of arrays over all codevectors, or of numbers
        """
        parts = self.map(
            lambda rows, span: function(rows, self.row_weights[span], span),
            width or n_codevectors,
        )
        return scatter_add(parts, n_codevectors)

    def phi(self, divergence):
        """``phi`` of every row, shape (n,)."""
        return np.concatenate(self.map(lambda rows, _: divergence.phi(rows), 1))

    def select(self, indices):
        """Give some rows, centred; by an index array or a slice."""
        if self._index is not None:
            indices = self._index[indices]
        return as_float64(self._X[indices], self._shift)


def scatter_add(parts, n_codevectors):
    """Add up sums over some codevectors each, to sums over all.

    Parameters
    ----------
    parts : list of (index, tuple)
        An index into the codevectors, and arrays over them or numbers.
    n_codevectors : int

    Returns
    -------
    sums : tuple of arrays over all codevectors, or of numbers
    """
    first = parts[0][0]
    if isinstance(first, slice) and first == slice(None):
        columns = zip(*(sums for _, sums in parts), strict=True)
        return tuple(reduce(add, column) for column in columns)
    indices, sums = zip(*parts, strict=True)
    return tuple(
        _scattered(indices, column, n_codevectors) for column in zip(*sums, strict=True)
    )


def _scattered(indices, parts, n_codevectors):
    """Sum of numbers, or of arrays over the codevectors of an index each."""
    if np.ndim(parts[0]) == 0:
        return reduce(add, parts)
    total = np.zeros((n_codevectors, *parts[0].shape[1:]))
    for index, part in zip(indices, parts, strict=True):
        total[index] += part
    return total


def weighted_mean(X, row_weights):
    """Weighted mean of the columns in float64, shape (d,); dense or CSR."""
    total = np.zeros(X.shape[1])
    for start in range(0, X.shape[0], MAX_BLOCK):
        span = slice(start, start + MAX_BLOCK)
        total += row_weights[span] @ X[span].astype(np.float64, copy=False)
    return total / row_weights.sum()


def as_float64(rows, shift):
    """Rows as C-contiguous float64, minus the shift."""
    if shift is not None:
        rows = rows.toarray() if sp.issparse(rows) else rows
        return np.subtract(rows, shift, dtype=np.float64, order="C")
    if isinstance(rows, np.ndarray):
        return np.ascontiguousarray(rows, dtype=np.float64)
    return rows.astype(np.float64, copy=False)
