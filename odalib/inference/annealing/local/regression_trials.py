"""Regressions that rows held out judge."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from odalib.inference.annealing.bregman import BregmanDivergence
from odalib.inference.annealing.fit import anneal
from odalib.inference.annealing.groups import group_codes
from odalib.inference.annealing.local.association import associate
from odalib.inference.annealing.local.base import Partition
from odalib.inference.annealing.local.folds import untied
from odalib.inference.annealing.local.linear_fits import (
    cell_sums,
    fit_cells,
    fit_globally,
)
from odalib.inference.annealing.local.moments import (
    along,
    mean_divergence,
    offset_of,
)
from odalib.inference.annealing.merging import merge_down
from odalib.inference.annealing.rows import RowBlocks

__all__ = ["Judged", "Trial", "View", "global_errors"]


@dataclass(frozen=True)
class Judged:
    """What predicts best, and how well.

    Attributes
    ----------
    warmth : float or None
    ridge : float
    errors : array of shape (n, m)
        Squared errors of all rows held out.
    loss : float
        Sum of the weighted errors, of targets in units of their spread.
    """

    warmth: float | None
    ridge: float
    errors: np.ndarray
    loss: float

    @classmethod
    def best_of(cls, trials, spec, warmths, ridges, scale):
        """Best of the candidates for trials that hold out different rows."""
        weights = np.concatenate([trial.held_out.weights for trial in trials])
        judged = []
        for warmth in warmths:
            wrong = [trial.errors(spec, warmth, ridges) for trial in trials]
            for ridge, parts in zip(ridges, zip(*wrong, strict=True), strict=True):
                errors = np.concatenate(parts)
                loss = untied(weights @ (errors / scale).sum(axis=1))
                judged.append(cls(warmth, ridge, errors, loss))
        return min(judged, key=lambda one: one.loss)


@dataclass(frozen=True)
class View:
    """Rows in the coordinates of a partition, and along the axes of slopes.

    Attributes
    ----------
    rows : array or CSR matrix of shape (n, d)
    z : array of shape (n, q)
    y : array of shape (n, m)
        About the mean of the targets learnt.
    weights : array of shape (n,)
    parents : array of int of shape (n,) or None
        Cells at the resolution above.
    """

    rows: np.ndarray | sp.csr_matrix
    z: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    parents: Any

    @classmethod
    def pair(cls, fold, shift, axes_of):
        """Take views of the rows learnt and those held out, and tell rounding."""
        learnt, unseen = (
            RowBlocks(batch.rows, batch.weights, shift)
            for batch in (fold.learnt, fold.held_out)
        )
        axes = axes_of(learnt)
        offset, rounding = offset_of(learnt, axes)
        centre = learnt.row_weights @ fold.learnt.targets / learnt.total_weight
        views = []
        batches = (fold.learnt, fold.held_out)
        both = zip((learnt, unseen), batches, fold.parents, strict=True)
        for rows, batch, parents in both:
            block = rows.select(slice(None))
            z, y = along(block, axes) - offset, batch.targets - centre
            views.append(cls(block, z, y, batch.weights, parents))
        return (*views, rounding)


@dataclass(frozen=True)
class Trial:
    """A partition of the rows of a fold that are learnt from, and those held out."""

    learnt: View
    held_out: View
    rounding: np.ndarray
    partition: Partition
    annealed: Any
    divergence: BregmanDivergence
    spread: float

    @classmethod
    def of(cls, fold, spec, settings, n_jobs):
        """Anneal the rows of a fold."""
        groups = group_codes(fold.parents[0], None)
        settings = replace(settings, thorough=False)
        solution = anneal(fold.learnt, settings, n_jobs, groups=groups)
        partition = Partition.of(solution.divergence, solution.codebook, solution.shift)
        learnt, held_out, rounding = View.pair(fold, partition.shift, spec.axes)
        return cls(
            learnt,
            held_out,
            rounding,
            partition,
            solution.codebook,
            solution.divergence,
            _spread(learnt, partition),
        )

    def merged(self, n_codevectors):
        """Trial of fewer codevectors."""
        annealed, _ = merge_down(self.annealed, self.divergence, n_codevectors)
        partition = Partition.of(self.divergence, annealed, self.partition.shift)
        partition = replace(partition, shift=self.partition.shift)
        spread = _spread(self.learnt, partition)
        return replace(self, annealed=annealed, partition=partition, spread=spread)

    def errors(self, spec, warmth, ridges):
        """Squared errors of the rows held out, for each ridge, each (n, m)."""
        learnt, held_out = self.learnt, self.held_out
        temperature = None if warmth is None else warmth * self.spread
        association = associate(
            learnt.rows, self.partition, learnt.parents, temperature
        )
        sums = cell_sums(association * learnt.weights, learnt.z, learnt.y)
        association = associate(
            held_out.rows, self.partition, held_out.parents, temperature
        )
        return [
            np.square(
                fit_cells(sums, ridge, spec.global_ridge, self.rounding).blend(
                    association, held_out.z
                )
                - held_out.y
            )
            for ridge in ridges
        ]


def _spread(view, partition):
    rows = RowBlocks(view.rows, view.weights, groups=view.parents)
    return mean_divergence(rows, replace(partition, shift=None)) or 1.0


def global_errors(fold, axes_of, ridge):
    """Squared errors of the rows held out by a linear fit to all others, (n, m)."""
    learnt, held_out, rounding = View.pair(fold, None, axes_of)
    sums = cell_sums(learnt.weights[np.newaxis], learnt.z, learnt.y)
    slope, intercept, _ = fit_globally(sums, ridge, rounding)
    return np.square(held_out.z @ slope + intercept - held_out.y)
