"""Random numbers for rows that depend on what a row holds, not on where it stands.

A fit then gives the same result when rows or columns are reordered and when an
integer weight replaces repeated rows. `row_uniforms` hashes the bits of a row, for
draws that decide which rows are seen at all. `row_phases` varies fast but
continuously with a row, so that data that differ by rounding, as after a shift or a
change of units, draw alike.
"""

from functools import cache

import numpy as np
import scipy.sparse as sp

from odalib.kernels import annealing as kernels
from odalib.kernels.reference.hashes import mix

__all__ = [
    "distinct_keys",
    "distinct_rows",
    "draw_sample",
    "largest_priorities",
    "priority_sample",
    "row_keys",
    "row_phases",
    "row_uniforms",
    "uniforms_of",
]

# Rows that differ by 1e-5 of the scale of the data get unrelated numbers, and
# rounding moves a number by less than 1e-9.
INNER_FREQUENCY, OUTER_FREQUENCY = 4.0, 1e5
GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0


def row_uniforms(X, seed, starts=(0,)):
    """Uniform numbers in (0, 1], one per row, from a seeded hash of its entries.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    seed : int
        Another seed gives independent numbers.
    starts : sequence of int, default=(0,)
        Where batches of rows begin, each of which draws as on its own.

    Returns
    -------
    uniforms : array of shape (n,)
    """
    hashes = _row_hash(X, np.zeros(X.shape[1], dtype=np.uint64), starts)
    return kernels.uniforms(hashes, _seed_hash(seed))


def row_keys(X):
    """64-bit hash of every row, shape (n,); the order of its entries counts."""
    return _row_hash(X, mix(np.arange(1, X.shape[1] + 1, dtype=np.uint64)))


def row_phases(rows, mean, scale, seed):
    """Give every row a number that varies fast with its entries, shape (n,).

    ``a sum_j sin(b (x_j - mean_j) / scale + c)`` for seeded numbers a, b and c. Rows
    opposite to each other about the mean differ, thanks to c; rows that are
    permutations of each other do not.

    Parameters
    ----------
    rows : array or CSR matrix of shape (n, d)
    mean : array of shape (d,)
    scale : float
    seed : int
    """
    outer, inner, offset = np.random.default_rng(seed).uniform(1.0, 2.0, size=3)
    inner *= INNER_FREQUENCY / scale
    outer *= OUTER_FREQUENCY
    if not sp.issparse(rows):
        return outer * np.sin(inner * (rows - mean) + offset).sum(axis=1)
    at_zero = np.sin(offset - inner * mean)
    terms = rows.copy()
    terms.data = np.sin(inner * (rows.data - mean[rows.indices]) + offset)
    terms.data -= at_zero[rows.indices]
    return outer * (np.asarray(terms.sum(axis=1)).ravel() + at_zero.sum())


def uniforms_of(phases, turn):
    """Uniform numbers in (0, 1] from phases; another turn gives others."""
    wave = np.abs((phases * (1.0 + GOLDEN * turn)) % 2.0 - 1.0)
    return np.maximum(wave, np.finfo(float).tiny)


def draw_sample(X, row_weights, importance, uniforms, size, groups=None):
    """Priority sample of distinct rows, see `priority_sample`.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    row_weights, importance, uniforms : arrays of shape (n,)
        Positive.
    size : int
    groups : array of int of shape (n,), default=None
        Rows of two groups are distinct.

    Returns
    -------
    indices : array of int
        One row of each kept group of equal rows, ascending.
    weights : array
        Weights that make weighted sums over the sample unbiased.
    """
    first, weights = distinct_rows(X, row_weights, groups)
    kept, sampled = priority_sample(
        weights,
        importance[first],
        uniforms[first],
        size,
        None if groups is None else groups[first],
    )
    order = np.argsort(first[kept])
    return first[kept[order]], sampled[order]


def priority_sample(weights, importance, uniforms, size, groups=None, totals=None):
    """Priority sample of rows that are distinct, unbiased for every weighted sum.

    Row i of total weight ``w_i`` and importance ``s_i`` has priority
    ``w_i s_i / u_i``. The ``size`` largest are kept, with weight
    ``max(w_i, q / s_i)``, q the largest priority left out (Duffield, Lund &
    Thorup 2007). Of a group that they miss, the row of the largest priority stands
    for all.

    Parameters
    ----------
    weights, importance, uniforms : arrays of shape (n,)
    size : int
    groups : array of int of shape (n,), default=None
    totals : array, default=None
        Weight of each of the groups, ascending, where rows were left out before; None
        for that of the rows given.

    Returns
    -------
    kept : array of int
    sampled : array
        Weights that make weighted sums over the sample unbiased.
    """
    priority = weights * importance / uniforms
    kept, threshold = np.arange(len(weights)), 0.0
    if len(weights) > size:
        order = np.argpartition(-priority, size)
        kept, threshold = order[:size], priority[order[size]]
    sampled = np.maximum(weights[kept], threshold / importance[kept])
    if groups is None:
        return kept, sampled
    codes, which = np.unique(groups, return_inverse=True)
    if totals is None:
        totals = np.bincount(which, weights)
    is_missed = np.bincount(which[kept], minlength=len(codes)) == 0
    missed = _leading_of_groups(which, priority, is_missed)
    return np.append(kept, missed), np.append(sampled, totals[is_missed])


def largest_priorities(priority, size, groups=None):
    """Rows among which every `priority_sample` of the size is found, ascending.

    Those of the ``size`` largest priorities and of the largest of every group.
    """
    if len(priority) <= size:
        return np.arange(len(priority))
    kept = np.argpartition(-priority, size)[:size]
    if groups is not None:
        codes, which = np.unique(groups, return_inverse=True)
        every = np.ones(len(codes), dtype=bool)
        kept = np.union1d(kept, _leading_of_groups(which, priority, every))
    return np.sort(kept)


def _leading_of_groups(which, priority, chosen):
    """Row of the largest priority of each of the groups chosen."""
    candidates = np.flatnonzero(chosen[which])
    order = candidates[np.argsort(-priority[candidates], kind="stable")]
    _, best = np.unique(which[order], return_index=True)
    return order[best]


def distinct_rows(X, row_weights, groups=None):
    """Index of one of each set of equal rows of a group, and their weight."""
    keys = distinct_keys(X, groups)
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    return first, np.bincount(group, row_weights)


def distinct_keys(X, groups=None):
    """64-bit hash of every row, others for other groups, shape (n,)."""
    keys = row_keys(X)
    if groups is None:
        return keys
    return mix(keys + mix(groups.astype(np.uint64)))


def _row_hash(X, salts, starts=(0,)):
    """64-bit hash of every row; the order of its entries counts where salts differ."""
    return kernels.row_hashes(X, np.asarray(starts, dtype=np.int64), salts)


@cache
def _seed_hash(seed):
    return mix(np.uint64(seed))
