"""One hard assignment of rows in memory, after which no cell is empty."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from odalib.inference.annealing.codebook import (
    CellSums,
    assign_and_collect,
    collect_cells,
)
from odalib.kernels import annealing as kernels

__all__ = ["HardStep", "hard_step", "losses_in_cells", "needs_refill"]

# The mean of equal rows differs from them by rounding, which is less than this.
DISTINCT_TOL = 1e-12


@dataclass(frozen=True)
class HardStep:
    """Cells of a hard assignment, each with rows.

    Attributes
    ----------
    labels : array of shape (n,), or None for rows that live elsewhere
    cells : CellSums
    groups : array of int of shape (K,) or None
        Group that the rows of each cell are of.
    n_used : int
        Codevectors that some row was nearest to.
    """

    labels: Any
    cells: CellSums
    groups: Any
    n_used: int


def needs_refill(used, n_codevectors):
    """Whether cells are empty, or fewer than wanted; ``used`` tells the others."""
    return bool(used.sum() < n_codevectors or not used.all())


def hard_step(problem, codebook, n_codevectors):
    """Assign every row to its nearest codevector, and refill empty cells.

    Parameters
    ----------
    problem : Problem
    codebook : Codebook
    n_codevectors : int
        Cells wanted; there are as many where so many rows are distinct.

    Returns
    -------
    HardStep
    """
    labels, affinity, cells = assign_and_collect(
        problem.rows, problem.divergence, codebook
    )
    used = cells.weight > 0
    if needs_refill(used, n_codevectors):
        labels = _refill(problem, codebook, labels, affinity, used, n_codevectors)
        cells = collect_cells(problem.rows, labels, labels.max() + 1)
    groups = _groups_of_cells(problem, labels, len(cells.weight))
    return HardStep(labels, cells, groups, int(np.count_nonzero(used)))


def _groups_of_cells(problem, labels, n_cells):
    """Group that the rows of each cell are of, shape (K,), or None."""
    if problem.rows.groups is None:
        return None
    groups = np.empty(n_cells, dtype=problem.rows.groups.dtype)
    groups[labels] = problem.rows.groups
    return groups


def _refill(problem, codebook, labels, affinity, used, n_codevectors):
    """Labels without gaps, in which the farthest rows got cells of their own.

    At most one row is taken from every cell, so that those taken are distinct;
    rows that equal their codevector are not.
    """
    apart = problem.phi - affinity
    labels, loss = losses_in_cells(problem.rows, codebook, labels, apart, used)
    n_cells = np.count_nonzero(used)
    order = np.argsort(-loss, kind="stable")
    order = order[: np.count_nonzero(loss > -np.inf)]
    _, first = np.unique(labels[order], return_index=True)
    taken = order[np.sort(first)][: max(n_codevectors - n_cells, 0)]
    labels[taken] = n_cells + np.arange(len(taken))
    return np.unique(labels, return_inverse=True)[1]


def losses_in_cells(rows, codebook, labels, apart, used):
    """Give what rows lose in the cells that are used.

    Parameters
    ----------
    rows : RowBlocks
    codebook : Codebook
    labels : array of int of shape (n,)
        Of the codebook.
    apart : array of shape (n,)
        Divergence of every row from its codevector.
    used : array of bool of shape (K,)

    Returns
    -------
    labels : array of int of shape (n,)
        Of the cells that are used.
    loss : array of shape (n,)
        Weighted divergence; minus infinity for rows that equal their codevector.
    """
    labels = (np.cumsum(used) - 1)[labels]
    points = codebook.points[used]
    distinct = np.concatenate(
        rows.map(
            lambda block, span: kernels.differs_from_own(
                block, points, labels[span], DISTINCT_TOL
            ),
            len(points),
        )
    )
    return labels, np.where(distinct, rows.row_weights * apart, -np.inf)
