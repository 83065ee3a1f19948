"""Hard assignments: the zero-temperature end of annealing, and what betters it."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from odalib.inference.annealing.bifurcation import cell_axes, split
from odalib.inference.annealing.codebook import CellSums, Codebook
from odalib.inference.annealing.merging import merge_down
from odalib.inference.annealing.relocate import HALF_STEP

__all__ = ["Partition", "exchange", "harden", "hierarchy"]

# A round of exchange splits up to MAX_SPLIT cells, ROW_SHARE of the rounds at rows,
# and exchange ends after PATIENCE rounds without a gain. A round that comes within
# MARGIN of a gain gets MORE_STEPS.
MAX_SPLIT, ROW_SHARE, PATIENCE, MAX_ROUNDS = 16, 0.7, 6, 24
FIRST_STEPS, MORE_STEPS, MARGIN, GAIN = 2, 6, 1e-3, 1e-6
# Hierarchies keep every number of codevectors up to this one, and above it every
# number that is this fraction of the next larger, so that storage stays small.
ALL_LEVELS, LEVEL_RATIO = 64, 0.97


@dataclass(frozen=True)
class Partition:
    """A partition of the rows and the codebook of its cell means.

    Attributes
    ----------
    codebook : Codebook
    labels : array of shape (n,), or None for rows that live elsewhere
    cells : CellSums
    distortion : float
        Sum of the weighted divergences of rows from the mean of their cell.
    n_steps : int
        Hard assignment steps that led here.
    converged : bool
    """

    codebook: Codebook
    labels: Any
    cells: CellSums
    distortion: float
    n_steps: int
    converged: bool


def harden(problem, codebook, n_codevectors, max_steps, tol):
    """Hard assignment steps until the distortion falls by no more than ``tol`` of it.

    Every row goes to its nearest codevector, every codevector to the mean of its
    rows. Empty cells are refilled, so that ``n_codevectors`` are left whenever
    there are that many distinct rows.

    Parameters
    ----------
    problem : Problem
        Or another that tells ``divergence`` and ``total_phi`` and takes a
        ``hard_step`` as it does, wherever the rows are.
    codebook : Codebook
    n_codevectors : int
    max_steps : int
    tol : float

    Returns
    -------
    Partition
    """
    distortion, converged, n_steps = np.inf, False, 0
    while n_steps < max_steps and not converged:
        previous = distortion
        step = problem.hard_step(codebook, n_codevectors)
        cells = step.cells
        codebook = Codebook(
            cells.total / cells.weight[:, np.newaxis],
            cells.weight / cells.weight.sum(),
            step.groups,
        )
        distortion = problem.total_phi - float(
            cells.weight @ codebook.phi(problem.divergence)
        )
        n_steps += 1
        settled = previous - distortion <= tol * abs(distortion)
        converged = bool(settled and len(codebook) <= step.n_used)
    return Partition(codebook, step.labels, cells, distortion, n_steps, converged)


def exchange(problem, partition, tol, random):
    """Split some cells, merge as many pairs elsewhere, keep what lowers distortion.

    Moves that neither annealing nor hard assignment makes. Cells are drawn with
    odds proportional to what splitting them can gain, ``weight * T_critical``, and
    split at random either along their axes or by a codevector on one of their
    rows, drawn with odds proportional to its divergence: few rows far out leave no
    trace in where the halves of a cell lie.

    Parameters
    ----------
    problem : Problem
    partition : Partition
    tol : float
        As in `harden`.
    random : numpy.random.Generator

    Returns
    -------
    Partition
    """
    n_codevectors = len(partition.codebook)
    max_split = min(MAX_SPLIT, n_codevectors // 2)
    n_steps, n_failed, axes = partition.n_steps, 0, None
    if max_split == 0:
        return partition
    for turn in range(1, MAX_ROUNDS + 1):
        if axes is None:
            axes = _axes_of_cells(problem, partition)
        cells = _draw_cells(partition, axes, random.integers(1, max_split + 1), random)
        if random.random() < ROW_SHARE:
            larger = _split_at_rows(problem, partition, cells, problem.uniforms(turn))
        else:
            larger = split(
                partition.codebook,
                problem.divergence,
                axes.directions,
                HALF_STEP * axes.critical,
                cells,
            )
        candidate = _merge_back(problem, partition, larger, tol)
        n_steps += candidate.n_steps
        if candidate.distortion < partition.distortion * (1.0 - GAIN):
            partition, axes, n_failed = candidate, None, 0
        else:
            n_failed += 1
            if n_failed == PATIENCE:
                break
    return replace(partition, n_steps=n_steps)


def _axes_of_cells(problem, partition):
    return cell_axes(problem, partition.codebook, partition.cells, partition.labels, 2)


def _draw_cells(partition, axes, n_cells, random):
    """Mask of cells drawn without replacement, by perturbed log odds."""
    log_odds = np.log(np.maximum(axes.critical, np.finfo(float).tiny))
    log_odds += np.log(partition.codebook.weights)
    order = np.argsort(-(log_odds + random.gumbel(size=len(log_odds))))
    drawn = np.zeros(len(log_odds), dtype=bool)
    drawn[order[:n_cells]] = True
    return drawn


def _split_at_rows(problem, partition, cells, uniforms):
    """Codebook with a further codevector on a row of each of the cells."""
    inside = np.flatnonzero(cells[partition.labels])
    labels = partition.labels[inside]
    loss = problem.losses(partition.codebook, partition.labels)[inside]
    # The least of exponential numbers at rates equal to the losses.
    arrival = np.divide(
        -np.log(uniforms[inside]), loss, out=np.full(len(loss), np.inf), where=loss > 0
    )
    order = np.argsort(arrival, kind="stable")
    _, first = np.unique(labels[order], return_index=True)
    points = problem.rows.select(inside[order[first]])
    if sp.issparse(points):
        points = points.toarray()
    codebook = partition.codebook
    weights = np.where(cells, 0.5, 1.0) * codebook.weights
    groups = codebook.groups
    if groups is not None:
        groups = np.concatenate([groups, groups[cells]])
    return Codebook(
        np.concatenate([codebook.points, points]),
        np.concatenate([weights, weights[cells]]),
        groups,
    )


def _merge_back(problem, partition, larger, tol):
    """Partition by the larger codebook, merged to the size of the old one."""
    n_codevectors = len(partition.codebook)
    larger = harden(problem, larger, len(larger), 1, tol).codebook
    merged, _ = merge_down(larger, problem.divergence, n_codevectors)
    first = harden(problem, merged, n_codevectors, FIRST_STEPS, tol)
    if first.converged or first.distortion > partition.distortion * (1.0 + MARGIN):
        return first
    more = harden(problem, first.codebook, n_codevectors, MORE_STEPS, tol)
    return replace(more, n_steps=1 + first.n_steps + more.n_steps)


def hierarchy(problem, codebook):
    """Codebooks of all sizes below the given one: merge, then two hard steps.

    Down to one codevector, or to one of every group.

    Returns
    -------
    list of Codebook
        From large to small, the given codebook first.
    """
    levels = [codebook]
    least = 1 if codebook.groups is None else len(np.unique(codebook.groups))
    while len(codebook) > least:
        target = len(codebook) - 1
        if target >= ALL_LEVELS:
            target = max(ALL_LEVELS, int(LEVEL_RATIO * len(codebook)), least)
        codebook, _ = merge_down(codebook, problem.divergence, target)
        codebook = harden(problem, codebook, target, 2, 0.0).codebook
        levels.append(codebook)
    return levels
