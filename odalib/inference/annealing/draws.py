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
    """Priority sample of distinct rows, unbiased for every weighted sum.

    Distinct row i of total weight ``w_i`` and importance ``s_i`` has priority
    ``w_i s_i / u_i``. The ``size`` largest are kept, with weight
    ``max(w_i, q / s_i)``, q the largest priority left out (Duffield, Lund &
    Thorup 2007).

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
    importance = importance[first]
    priority = weights * importance / uniforms[first]
    kept, threshold = np.arange(len(first)), 0.0
    if len(first) > size:
        order = np.argpartition(-priority, size)
        kept, threshold = order[:size], priority[order[size]]
    sampled = np.maximum(weights[kept], threshold / importance[kept])
    if groups is not None:
        missed, total = _of_missed_groups(groups[first], priority, weights, kept)
        kept, sampled = np.append(kept, missed), np.append(sampled, total)
    order = np.argsort(first[kept])
    return first[kept[order]], sampled[order]


def _of_missed_groups(groups, priority, weights, kept):
    """Row of the largest priority of each group that a sample missed.

    It stands for all rows of its group.
    """
    codes, which = np.unique(groups, return_inverse=True)
    is_missed = np.bincount(which[kept], minlength=len(codes)) == 0
    candidates = np.flatnonzero(is_missed[which])
    order = candidates[np.argsort(-priority[candidates], kind="stable")]
    _, best = np.unique(which[order], return_index=True)
    return order[best], np.bincount(which, weights)[is_missed]


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
