"""What a fit rests on where the rows are on workers: rounds in place of passes."""

from dataclasses import dataclass
from operator import add
from typing import Any

import numpy as np

from odalib.distributed._sampling import apart_from_first, draw_sample
from odalib.inference.annealing.bregman import BregmanDivergence
from odalib.inference.annealing.codebook import (
    CellSums,
    Codebook,
    assign_and_collect,
    collect_cells,
)
from odalib.inference.annealing.fit import Ground
from odalib.inference.annealing.hard_step import (
    HardStep,
    losses_in_cells,
    needs_refill,
)
from odalib.inference.annealing.problem import Problem
from odalib.inference.annealing.rows import RowBlocks, RowSums

__all__ = ["DistantRows", "Place", "added", "distant_ground"]


@dataclass(frozen=True)
class Place:
    """Where rows are compared with codevectors.

    Attributes
    ----------
    divergence : BregmanDivergence
    shift : array of shape (d,) or None
        Subtracted from rows.
    by_class : bool
        Whether the targets of blocks are groups, each with codevectors of its own.
    """

    divergence: BregmanDivergence
    shift: Any
    by_class: bool

    def groups(self, block):
        """Group of every row of a block, or None."""
        return block[1] if self.by_class else None

    def rows(self, block):
        """Rows of a block, shifted, in float64."""
        return RowBlocks(block[0], block[2], self.shift, groups=self.groups(block))


def distant_ground(blocks, settings, n_jobs=1, n_groups=None):
    """Ground of a fit, found in a few rounds.

    Parameters
    ----------
    blocks : Blocks
        Usable ones, of more rows than anneal.
    settings : Settings
    n_jobs : int
        Threads on the client.
    n_groups : int, default=None
        Number of the groups that the targets of blocks are codes of; None for rows
        that are all alike.

    Returns
    -------
    Ground

    Raises
    ------
    ValueError
        For rows outside the domain of the divergence.
    """
    by_class = n_groups is not None
    bare = Place(settings.divergence, None, by_class)
    totals = blocks.reduce(_totals, bare, n_groups, combine=_Totals.joined)
    if totals.problem is not None:
        raise ValueError(totals.problem)
    total, shift = totals.weight.sum(), None
    if settings.divergence.translation_invariant:
        shift = totals.total.sum(axis=0) / total
    divergence = settings.divergence.bind(DistantRows(blocks, shift))
    place = Place(divergence, shift, by_class)
    means = totals.total / totals.weight[:, np.newaxis]
    first = Codebook(
        means if shift is None else means - shift,
        totals.weight / total,
        np.arange(n_groups) if by_class else None,
    )
    total_phi, apart = blocks.reduce(_apart_sums, first, place, combine=np.add)
    rows, weights, groups = draw_sample(
        blocks, first, apart / total, place, settings.seed
    )
    held = RowBlocks(rows, weights, shift, n_jobs, groups)
    problem = Problem(held, divergence, settings.seed)
    return Ground(divergence, shift, problem, _Whole(blocks, place, float(total_phi)))


@dataclass(frozen=True)
class _Totals:
    """Weight and sum of the rows of every group, and what is wrong with a row."""

    weight: np.ndarray
    total: np.ndarray
    problem: str | None

    def joined(self, other):
        return _Totals(
            self.weight + other.weight,
            self.total + other.total,
            self.problem or other.problem,
        )


def _totals(block, place, n_groups):
    problem = None
    try:
        place.divergence.check_domain(block[0])
    except ValueError as error:
        problem = str(error)
    rows = place.rows(block)
    if rows.groups is None:
        total = rows.reduce(lambda part, weights, _: weights @ part, 1)
        return _Totals(np.array([rows.total_weight]), total[np.newaxis], problem)
    cells = collect_cells(rows, rows.groups, n_groups)
    return _Totals(cells.weight, cells.total, problem)


def _apart_sums(block, first, place):
    """Sum phi over a block, and the divergence from the first codebook."""
    rows, phi, apart, _ = apart_from_first(block, first, place)
    return np.array([rows.row_weights @ phi, rows.row_weights @ apart])


class DistantRows(RowSums):
    """Rows as divergences and local models learn from them; every sum is a round.

    Parameters
    ----------
    blocks : Blocks
    shift : array of shape (d,) or None
        Subtracted from rows.
    n_features : int, default=None
        Columns that are seen, from the first on; None for all.
    """

    def __init__(self, blocks, shift, n_features=None):
        self.n_features = n_features or blocks.n_features
        self.total_weight = blocks.total_weight
        self.shift = None if shift is None else shift[: self.n_features]
        self._blocks = blocks

    def leading(self, n_features):
        """Rows of the first columns."""
        return DistantRows(self._blocks, self.shift, n_features)

    def reduce(self, function, n_codevectors):
        """As `RowSums.reduce`; functions travel to the rows."""
        return self._blocks.reduce(
            _reduced, function, self.shift, self.n_features, n_codevectors, combine=add
        )


def _reduced(block, function, shift, n_features, n_codevectors):
    rows, _, weights = block
    seen = RowBlocks(rows[:, :n_features], weights, shift)
    return seen.reduce(function, n_codevectors)


@dataclass(frozen=True)
class _Whole:
    """All rows, as `harden` takes them.

    Attributes
    ----------
    blocks : Blocks
    place : Place
    total_phi : float
        Weighted sum of phi over the rows.
    """

    blocks: Any
    place: Place
    total_phi: float

    @property
    def divergence(self):
        """Divergence bound to the rows."""
        return self.place.divergence

    def hard_step(self, codebook, n_codevectors):
        """As `Problem.hard_step`; one round, and another where cells are empty."""
        weight, total = self.blocks.reduce(_cells, codebook, self.place, combine=added)
        used = weight > 0
        n_used, groups = int(np.count_nonzero(used)), codebook.groups
        if needs_refill(used, n_codevectors):
            farthest = self.blocks.reduce(
                _farthest, codebook, used, self.place, combine=_Farthest.joined
            )
            weight, total = weight[used], total[used]
            groups = None if groups is None else groups[used]
            n_more = max(n_codevectors - len(weight), 0)
            weight, total, groups = farthest.split_off(weight, total, groups, n_more)
        return HardStep(None, CellSums(weight, total), groups, n_used)


def added(first, second):
    """Add two tuples of arrays."""
    return tuple(one + other for one, other in zip(first, second, strict=True))


def _cells(block, codebook, place):
    """Weight and sum of the rows of every cell."""
    *_, cells = assign_and_collect(place.rows(block), place.divergence, codebook)
    return cells.weight, cells.total


@dataclass(frozen=True)
class _Farthest:
    """Row of every cell that is farthest from its codevector.

    Attributes
    ----------
    loss : array of shape (K,)
        Its weighted divergence; minus infinity where all rows equal the codevector.
    weight : array of shape (K,)
    row : array of shape (K, d)
    """

    loss: np.ndarray
    weight: np.ndarray
    row: np.ndarray

    def joined(self, other):
        """Farther ones of two sets of blocks."""
        is_other = other.loss > self.loss
        return _Farthest(
            np.where(is_other, other.loss, self.loss),
            np.where(is_other, other.weight, self.weight),
            np.where(is_other[:, np.newaxis], other.row, self.row),
        )

    def split_off(self, weight, total, groups, n_more):
        """Cells of their own for the farthest rows; cells that lose all rows go."""
        order = np.argsort(-self.loss, kind="stable")
        taken = order[np.isfinite(self.loss[order])][:n_more]
        weight[taken] -= self.weight[taken]
        total[taken] -= self.weight[taken, np.newaxis] * self.row[taken]
        weight = np.append(weight, self.weight[taken])
        moved = self.weight[taken, np.newaxis] * self.row[taken]
        total = np.concatenate([total, moved])
        if groups is not None:
            groups = np.append(groups, groups[taken])
        left = weight > 0
        return weight[left], total[left], None if groups is None else groups[left]


def _farthest(block, codebook, used, place):
    """Farthest rows of a block, of the cells that are used."""
    rows = place.rows(block)
    labels, affinity, _ = assign_and_collect(rows, place.divergence, codebook)
    apart = rows.phi(place.divergence) - affinity
    labels, loss = losses_in_cells(rows, codebook, labels, apart, used)
    shape = np.count_nonzero(used), rows.n_features
    order = np.argsort(-loss, kind="stable")
    cells, first = np.unique(labels[order], return_index=True)
    best = order[first]
    found = _Farthest(np.full(shape[0], -np.inf), np.zeros(shape[0]), np.zeros(shape))
    found.loss[cells], found.weight[cells] = loss[best], rows.row_weights[best]
    found.row[cells] = rows.select(best)
    return found
