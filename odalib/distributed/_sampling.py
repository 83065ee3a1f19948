"""Samples of rows on workers: the first of an order that pairs of blocks merge."""

from functools import partial

import numpy as np

from odalib.inference.annealing.batch import Batch
from odalib.inference.annealing.codebook import assign
from odalib.inference.annealing.draws import (
    distinct_keys,
    largest_priorities,
    priority_sample,
    row_uniforms,
)
from odalib.inference.annealing.fit import SAMPLE_SIZE, sampling_importance

__all__ = ["apart_from_first", "draw_evenly", "draw_sample"]

# Candidates that are passed on, for each row of the sample: equal rows in different
# blocks add up only as far as they are, before their weights are counted.
SPARE = 2
# Rows that are hashed at a time.
HASHED_ROWS = 8192


def draw_sample(blocks, first, average, place, seed):
    """Rows of all blocks that anneal, and their weights, as of a fit in memory.

    Which they are is decided by what they hold, so that the first of an order are
    passed on from pair to pair of blocks, and no more. A second round counts the
    weights of rows that equal them. Where blocks hold many equal rows of each other,
    none among the first 20,000 distinct ones of its own, a row can be missed.

    Parameters
    ----------
    blocks : Blocks
    first : Codebook
        One codevector, or one of every group.
    average : float
        Weighted mean divergence from it.
    place : Place
    seed : int

    Returns
    -------
    rows : array of shape (m, d)
        In the dtype of the blocks and in their order.
    weights : array of shape (m,)
    groups : array of int of shape (m,) or None
    """
    merged = partial(_merged, size=SPARE * SAMPLE_SIZE)
    largest = blocks.largest
    found = blocks.reduce(
        _candidates, first, average, place, seed, largest, combine=merged
    )
    order = np.argsort(found["keys"])
    weights = np.empty(len(order))
    weights[order] = blocks.reduce(
        _weights_of, found["keys"][order], place, largest, combine=np.add
    )
    groups, totals = found.get("groups"), None
    if groups is not None:
        # All groups are among the candidates, and in the first codebook in order.
        totals = first.weights * blocks.total_weight
    kept, sampled = priority_sample(
        weights, found["importance"], found["uniforms"], SAMPLE_SIZE, groups, totals
    )
    order = np.argsort(kept)
    kept, sampled = kept[order], sampled[order]
    return found["rows"][kept], sampled, None if groups is None else groups[kept]


def apart_from_first(block, first, place):
    """Rows of a block, their phi and their divergence from the first codebook.

    Returns
    -------
    rows : RowBlocks
    phi, apart : arrays of shape (n,)
    labels : array of int of shape (n,)
    """
    rows = place.rows(block)
    phi = rows.phi(place.divergence)
    labels, affinity = assign(rows, place.divergence, first)
    return rows, phi, np.maximum(phi - affinity, 0.0), labels


def draw_evenly(blocks, size, by_class, seed):
    """Batch of distinct rows with their targets, any as likely as another.

    Their weights are those of all rows that equal them.

    Parameters
    ----------
    blocks : Blocks
    size : int
    by_class : bool
        Whether targets are classes, none of which is missed.
    seed : int

    Returns
    -------
    Batch
    """
    merged = partial(_merged, size=size)
    largest = max(blocks.largest, blocks.largest_target)
    found = blocks.reduce(
        _even_candidates, size, by_class, seed, largest, combine=merged
    )
    return Batch(found["rows"], found["weights"], found["targets"])


def _candidates(block, first, average, place, seed, largest):
    """Candidates of a block for the sample that anneals."""
    rows, _, weights = block
    held, _, apart, labels = apart_from_first(block, first, place)
    shares = None if held.groups is None else first.weights[labels] * len(first)
    groups = place.groups(block)
    table = {
        "rows": rows,
        "keys": _hashed(distinct_keys, rows, largest, groups),
        "weights": weights,
        "importance": held.restore(sampling_importance(apart, average, shares)),
        "uniforms": _hashed(partial(row_uniforms, seed=seed), rows, largest),
    }
    if groups is not None:
        table["groups"] = groups
    return _first(table, SPARE * SAMPLE_SIZE)


def _even_candidates(block, size, by_class, seed, largest):
    """Candidates of a block for an even sample."""
    rows, targets, weights = block
    whole = np.column_stack([rows, targets]).astype(np.float64, copy=False)
    table = {
        "rows": rows,
        "targets": targets,
        "keys": _hashed(distinct_keys, whole, largest),
        "weights": weights,
        "uniforms": _hashed(partial(row_uniforms, seed=seed), whole, largest),
    }
    if by_class:
        table["groups"] = targets
    return _first(table, size)


def _merged(first, second, size):
    """Candidates of two sets of blocks, as columns of a table in the order of rows."""
    both = {name: np.concatenate([first[name], second[name]]) for name in first}
    return _first(both, size)


def _first(table, size):
    """Candidates that come first, equal ones as one with the weight of all."""
    _, first, which = np.unique(table["keys"], return_index=True, return_inverse=True)
    order = np.argsort(first)
    first = first[order]
    weights = np.bincount(which, table["weights"])[order]
    priority = 1.0 / table["uniforms"][first]
    if "importance" in table:
        importance = table["importance"][first]
        priority = weights * importance / table["uniforms"][first]
    groups = table.get("groups")
    kept = largest_priorities(priority, size, None if groups is None else groups[first])
    # Rows are copied last, when few are left.
    taken = {name: column[first[kept]] for name, column in table.items()}
    return {**taken, "weights": weights[kept]}


def _weights_of(block, keys, place, largest):
    """Weight of the rows of a block with each of some keys, ascending."""
    rows, _, weights = block
    own = _hashed(distinct_keys, rows, largest, place.groups(block))
    which = np.minimum(np.searchsorted(keys, own), len(keys) - 1)
    met = keys[which] == own
    return np.bincount(which[met], weights[met], minlength=len(keys))


def _hashed(function, rows, largest, groups=None):
    """Hash rows of a block as among all others.

    Hashes take rows in units of the power of two above the largest entry, so that one
    of the largest of all blocks goes along with the rows of this one.
    """
    parts = []
    for start in range(0, len(rows), HASHED_ROWS):
        own = rows[start : start + HASHED_ROWS]
        others = np.full((1, rows.shape[1]), largest, dtype=np.float64)
        # In float64, which compiled kernels hash.
        given = [np.concatenate([own, others])]
        if groups is not None:
            given.append(np.append(groups[start : start + HASHED_ROWS], 0))
        parts.append(function(*given)[:-1])
    return np.concatenate(parts)
