"""Choosing how cells regress by what predicts rows held out best."""

from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

import numpy as np
import scipy.sparse as sp

from odalib.inference.annealing.divergences import Mahalanobis, SquaredEuclidean
from odalib.inference.annealing.fit import anneal
from odalib.inference.annealing.local.association import associate
from odalib.inference.annealing.local.base import Partition
from odalib.inference.annealing.local.folds import Fold, folds_of, number_for
from odalib.inference.annealing.local.moments import (
    along,
    cell_sums,
    fit_cells,
    fit_globally,
    mean_divergence,
)
from odalib.inference.annealing.rows import RowBlocks

__all__ = [
    "ENOUGH_ROWS",
    "WARMTHS",
    "choose_regression",
    "open_number",
    "target_scale",
]

# Candidates: temperature of the association over the mean divergence from the nearest
# codevector, and rows that draw cells, and all of them, to what is simpler.
WARMTHS = (0.4, 0.8, 1.6, 3.2, 6.4, 12.8)
RIDGES = (0.01, 0.1, 1.0, 10.0, 100.0)
GLOBAL_RIDGES = (0.0, 1.0, 10.0, 100.0, 1000.0)
# Folds are held out until so many rows have been predicted.
ENOUGH_ROWS = 1000
# Codevectors for each distinct row, where the number is open.
ROW_SHARE = 1.0 / 6.0
# Rounds in which a metric is learnt from the slopes in the one before, and the part of
# the identity it is mixed with.
METRIC_ROUNDS, METRIC_FLOOR = 3, 0.03


def choose_regression(spec, batch, settings, n_jobs):
    """Choose settings of the regression by how they predict rows held out.

    The metric in which rows are compared is the average outer product of the slopes
    of the cells, for up to three rounds of annealing, while it betters; it is kept
    where it predicts better than the divergence as given by more than one standard
    error.

    Parameters
    ----------
    spec : CellRegression
    batch : Batch
    settings : Settings
    n_jobs : int

    Returns
    -------
    Settings
    """
    settings = replace(open_number(batch, settings), local_models=spec)
    folds = folds_of(batch, None, settings.seed, ENOUGH_ROWS)
    if not folds:
        return settings
    scale = target_scale(batch)
    if spec.slopes:
        spec = replace(spec, global_ridge=_choose_global_ridge(spec, folds, scale))
    rounds = [_Round.of(spec, settings, folds, scale, n_jobs)]
    if _learns_metric(spec, batch, settings):
        for _ in range(METRIC_ROUNDS):
            metric = _metric_of_slopes(batch, rounds[-1], scale, n_jobs)
            if metric is None:
                break
            learnt = replace(settings, divergence=metric)
            rounds.append(_Round.of(spec, learnt, folds, scale, n_jobs))
            if rounds[-1].loss > rounds[-2].loss:
                break
    return _best_round(rounds).settings


def open_number(batch, settings):
    """Give settings a number of codevectors where it is open: by the rows there are."""
    schedule = settings.schedule
    if not settings.choose:
        return settings
    number = number_for(batch, ROW_SHARE, schedule.n_codevectors)
    schedule = replace(schedule, n_codevectors=number)
    return replace(settings, schedule=schedule, choose=False)


def target_scale(batch):
    """Variance of every target, or one where it is constant, shape (m,)."""
    share = batch.weights / batch.weights.sum()
    variance = share @ np.square(batch.targets - share @ batch.targets)
    return np.where(variance > 0, variance, 1.0)


def _feature_scale(batch):
    """Give the standard deviation of every feature, or one where it is constant."""
    rows = RowBlocks(batch.rows, batch.weights)
    mean, _ = rows.mean_and_scale()
    squares = rows.reduce(
        lambda block, weights, _: weights @ np.square(block - mean), 1
    )
    return np.sqrt(np.where(squares > 0, squares / rows.total_weight, 1.0))


def _learns_metric(spec, batch, settings):
    """Whether rows can be compared in the metric of the slopes."""
    return (
        spec.slopes
        and isinstance(settings.divergence, SquaredEuclidean)
        and not sp.issparse(batch.rows)
        and batch.rows.shape[1] <= spec.metric_features
    )


def _best_round(rounds):
    """Round of the metric that predicts best, where it does by a standard error."""
    first, *learnt = rounds
    if not learnt:
        return first
    best = min(learnt, key=attrgetter("loss"))
    gain = first.errors - best.errors
    total = first.weights.sum()
    mean = first.weights @ gain / total
    # A weight is so many rows, each with an error of its own.
    error = np.sqrt(first.weights @ np.square(gain - mean)) / total
    return best if mean > error else first


@dataclass(frozen=True)
class _Round:
    """A divergence, and what predicts best under it.

    Attributes
    ----------
    settings : Settings
        With all that was chosen.
    errors : array of shape (n,)
        Squared error of every row held out, of the targets in units of their spread.
    weights : array of shape (n,)
    """

    settings: Any
    errors: np.ndarray
    weights: np.ndarray

    @property
    def loss(self):
        """Sum of the weighted errors."""
        return self.weights @ self.errors

    @classmethod
    def of(cls, spec, settings, folds, scale, n_jobs):
        trials = [_Trial.of(fold, spec, settings, n_jobs) for fold in folds]
        weights = np.concatenate([fold.held_out.weights for fold in folds])
        warmths = WARMTHS if spec.blend else (None,)
        ridges = RIDGES if spec.ridge is None else (spec.ridge,)
        best: tuple[Any, ...] = ()
        least = np.inf
        for warmth in warmths:
            wrong = [trial.errors(spec, warmth, ridges) for trial in trials]
            for place, ridge in enumerate(ridges):
                errors = np.concatenate([fold[place] for fold in wrong])
                loss = weights @ (errors / scale).sum(axis=1)
                if loss < least:
                    best, least = (warmth, ridge, errors), loss
        warmth, ridge, errors = best
        chosen = replace(
            spec,
            warmth=1.0 if warmth is None else warmth,
            ridge=ridge,
            held_out_error=tuple((weights @ errors / weights.sum()).tolist()),
        )
        return cls(
            replace(settings, local_models=chosen),
            (errors / scale).sum(axis=1),
            weights,
        )


@dataclass(frozen=True)
class _Trial:
    """A partition of the rows of a fold that are learnt from, and those held out."""

    fold: Fold
    partition: Partition
    axes: np.ndarray | None
    spread: float
    learnt: np.ndarray | sp.csr_matrix
    held_out: np.ndarray | sp.csr_matrix

    @classmethod
    def of(cls, fold, spec, settings, n_jobs):
        quick = replace(settings, thorough=False)
        learnt = fold.learnt
        solution = anneal(learnt, quick, n_jobs)
        partition = Partition.of(solution.divergence, solution.codebook, solution.shift)
        rows = RowBlocks(learnt.rows, learnt.weights, partition.shift, n_jobs)
        held_out = RowBlocks(fold.held_out.rows, fold.held_out.weights, partition.shift)
        return cls(
            fold,
            partition,
            spec.axes(rows),
            mean_divergence(rows, partition) or 1.0,
            rows.select(slice(None)),
            held_out.select(slice(None)),
        )

    def errors(self, spec, warmth, ridges):
        """Squared errors of the rows held out, for each ridge, each (n, m)."""
        learnt, held_out = self.fold.learnt, self.fold.held_out
        temperature = None if warmth is None else warmth * self.spread
        centre = learnt.weights @ learnt.targets / learnt.weights.sum()
        association = associate(self.learnt, self.partition, None, temperature)
        sums = cell_sums(
            association * learnt.weights,
            along(self.learnt, self.axes),
            learnt.targets - centre,
        )
        association = associate(self.held_out, self.partition, None, temperature)
        rows = along(self.held_out, self.axes)
        return [
            np.square(
                fit_cells(sums, ridge, spec.global_ridge).blend(association, rows)
                + centre
                - held_out.targets
            )
            for ridge in ridges
        ]


def _choose_global_ridge(spec, folds, scale):
    """Ridge of the linear fit to all rows that predicts best."""
    losses = np.zeros(len(GLOBAL_RIDGES))
    for fold in folds:
        learnt, held_out = fold.learnt, fold.held_out
        rows = RowBlocks(learnt.rows, learnt.weights)
        axes, mean = spec.axes(rows), rows.mean_and_scale()[0]
        z = along(rows.select(slice(None)), axes)
        offset = mean if axes is None else mean @ axes
        centre = learnt.weights @ learnt.targets / learnt.weights.sum()
        association = learnt.weights[np.newaxis]
        sums = cell_sums(association, z - offset, learnt.targets - centre)
        unseen = RowBlocks(held_out.rows, held_out.weights).select(slice(None))
        unseen = along(unseen, axes) - offset
        for place, ridge in enumerate(GLOBAL_RIDGES):
            slope, intercept, _ = fit_globally(sums, ridge)
            wrong = unseen @ slope + intercept + centre - held_out.targets
            losses[place] += held_out.weights @ (np.square(wrong) / scale).sum(axis=1)
    return GLOBAL_RIDGES[int(np.argmin(losses))]


def _metric_of_slopes(batch, previous, scale, n_jobs):
    """Divergence of the average outer product of slopes, or None where they are zero.

    Features are taken in units of their spread, and the identity in these is mixed in.
    """
    settings = previous.settings
    spec = settings.local_models
    solution = anneal(batch, replace(settings, thorough=False), n_jobs)
    partition = Partition.of(solution.divergence, solution.codebook, solution.shift)
    cells = spec.begin(batch, partition, None, n_jobs)
    slopes = cells.coefficients.slope
    if cells.axes is not None:
        slopes = np.einsum("dq,kqm->kdm", cells.axes, slopes)
    share = cells.sums.weight / cells.sums.weight.sum()
    weighted = slopes * share[:, np.newaxis, np.newaxis] / scale
    product = np.einsum("kdm,kem->de", weighted, slopes)
    spread = _feature_scale(batch)
    product *= np.outer(spread, spread)
    trace = np.trace(product)
    if trace == 0.0:
        return None
    n_features = len(product)
    mixed = product * (n_features / trace) + METRIC_FLOOR * np.eye(n_features)
    return Mahalanobis(mixed / np.outer(spread, spread))
