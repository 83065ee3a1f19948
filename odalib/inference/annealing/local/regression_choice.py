"""Choosing how cells regress by what predicts rows held out best."""

from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

import numpy as np
import scipy.sparse as sp

from odalib.inference.annealing.divergences import Mahalanobis, SquaredEuclidean
from odalib.inference.annealing.fit import anneal
from odalib.inference.annealing.groups import group_codes
from odalib.inference.annealing.local.base import Partition
from odalib.inference.annealing.local.folds import folds_of, folds_within, number_for
from odalib.inference.annealing.local.regression_trials import (
    Judged,
    Trial,
    global_errors,
)
from odalib.inference.annealing.rows import RowBlocks
from odalib.inference.annealing.targets import target_spread

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
# Ratio of the numbers of codevectors that the path is judged at.
PATH_RATIO = 2
# Folds are held out until so many rows have been predicted.
ENOUGH_ROWS = 1000
# Codevectors for each distinct row, where the number is open.
ROW_SHARE = 1.0 / 6.0
# Rounds in which a metric is learnt from the slopes in the one before, and the part of
# the identity it is mixed with.
METRIC_ROUNDS, METRIC_FLOOR = 3, 0.03


def choose_regression(spec, batch, settings, n_jobs, parents=None):
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
    parents : array of int of shape (n,) or None
        Cell of every row at the resolution above, whose children alone predict it.

    Returns
    -------
    Settings
    """
    settings = replace(open_number(batch, settings, parents), local_models=spec)
    folds = folds_of(batch, None, settings.seed, ENOUGH_ROWS)
    in_cells = folds_within(folds, parents)
    if not in_cells:
        return settings
    scale = target_scale(batch)
    if spec.slopes:
        spec = replace(spec, global_ridge=_choose_global_ridge(spec, folds, scale))
    rounds = [_Round.of(spec, settings, in_cells, scale, n_jobs)]
    if _learns_metric(spec, batch, settings) and target_spread(batch)[2].any():
        for _ in range(METRIC_ROUNDS):
            metric = _metric_of_slopes(batch, rounds[-1], scale, n_jobs, parents)
            if metric is None:
                break
            learnt = replace(settings, divergence=metric)
            rounds.append(_Round.of(spec, learnt, in_cells, scale, n_jobs))
            if rounds[-1].loss > rounds[-2].loss:
                break
    return _best_round(rounds).with_path(spec, scale)


def open_number(batch, settings, parents=None):
    """Give settings a number of codevectors where it is open: by the rows there are.

    At least one for each cell at the resolution above.
    """
    schedule = settings.schedule
    if not settings.choose:
        return settings
    least = 1 if parents is None else len(np.unique(parents))
    number = number_for(batch, ROW_SHARE, schedule.n_codevectors, least)
    schedule = replace(schedule, n_codevectors=number)
    return replace(settings, schedule=schedule, choose=False)


def target_scale(batch):
    """Variance of every target, or one where it is constant, shape (m,)."""
    return np.square(target_spread(batch)[1])


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
    # In units of the largest, a power of two, whose squares no float overflows.
    gain = np.ldexp(gain, -np.frexp(np.abs(gain).max())[1])
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
    trials : list of Trial
    errors : array of shape (n,)
        Squared error of every row held out, of the targets in units of their spread.
    weights : array of shape (n,)
    loss : float
    """

    settings: Any
    trials: list[Trial]
    errors: np.ndarray
    weights: np.ndarray
    loss: float

    @classmethod
    def of(cls, spec, settings, folds, scale, n_jobs):
        trials = [Trial.of(fold, spec, settings, n_jobs) for fold in folds]
        weights = np.concatenate([trial.held_out.weights for trial in trials])
        best = _judge(trials, spec, scale)
        chosen = replace(
            spec,
            warmth=1.0 if best.warmth is None else best.warmth,
            ridge=best.ridge,
            held_out_error=_mean_error(weights, best),
        )
        settings = replace(settings, local_models=chosen)
        errors = (best.errors / scale).sum(axis=1)
        return cls(settings, trials, errors, weights, best.loss)

    def with_path(self, spec, scale):
        """Add to the settings what predicts best with fewer codevectors."""
        chosen = self.settings.local_models
        size = self.settings.schedule.n_codevectors
        by_size = [(size, chosen.warmth, chosen.ridge, chosen.held_out_error)]
        while size > 1:
            size //= PATH_RATIO
            trials = [trial.merged(size) for trial in self.trials]
            best = _judge(trials, spec, scale)
            warmth = 1.0 if best.warmth is None else best.warmth
            error = _mean_error(self.weights, best)
            by_size.append((size, warmth, best.ridge, error))
        chosen = replace(chosen, by_size=tuple(by_size))
        return replace(self.settings, local_models=chosen)


def _mean_error(weights, judged):
    """Mean squared error of every target in the rows held out."""
    return tuple((weights @ judged.errors / weights.sum()).tolist())


def _judge(trials, spec, scale):
    """Best warmth and ridge for the rows that trials hold out."""
    warmths = WARMTHS if spec.blend else (None,)
    ridges = RIDGES if spec.ridge is None else (spec.ridge,)
    return Judged.best_of(trials, spec, warmths, ridges, scale)


def _choose_global_ridge(spec, folds, scale):
    """Ridge of the linear fit to all rows that predicts best."""

    def loss(ridge):
        return sum(
            fold.held_out.weights
            @ (global_errors(fold, spec.axes, ridge) / scale).sum(axis=1)
            for fold in folds
        )

    return min(GLOBAL_RIDGES, key=loss)


def _metric_of_slopes(batch, previous, scale, n_jobs, parents):
    """Divergence of the average outer product of slopes, or None where they are zero.

    Features are taken in units of their spread, and the identity in these is mixed in.
    """
    settings = previous.settings
    spec = settings.local_models
    groups = group_codes(parents, None)
    solution = anneal(batch, replace(settings, thorough=False), n_jobs, groups=groups)
    partition = Partition.of(solution.divergence, solution.codebook, solution.shift)
    cells = spec.begin(batch, partition, parents, n_jobs)
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
