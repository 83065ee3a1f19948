"""Choosing how codevectors vote by what predicts rows held out best."""

from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize_scalar

from odalib.inference.annealing.codebook import Codebook
from odalib.inference.annealing.divergences import SquaredEuclidean
from odalib.inference.annealing.fit import Solution, anneal, smallest_above
from odalib.inference.annealing.groups import (
    MAX_CLASSES,
    group_codes,
    parents_of,
)
from odalib.inference.annealing.local.base import Partition
from odalib.inference.annealing.local.folds import Fold, folds_of, number_for, untied
from odalib.inference.annealing.local.vote import class_logits, log_softmax
from odalib.inference.annealing.rows import RowBlocks

__all__ = ["choose_vote"]

# Candidates: how much of the identity a metric has, how cold a vote is (afterwards
# refined to this part of itself), and how often codevectors are polished.
SHRINKAGES = (1.0, 0.8, 0.6, 0.4, 0.2, 0.1, 0.05)
COLDNESS = tuple(2.0**power for power in range(-4, 9))
MIDDLE = (2, 4)
NEARBY = tuple(2.0 ** (power / 2) for power in range(-2, 3))
REFINED = 0.03
PASSES = (1, 2, 4, 8, 16, 32, 64)
# Where the number of codevectors is to be chosen: at the most so many for each
# distinct row,
# and the ratio of the numbers tried; and that of numbers tried for the path alone.
FEW_ROWS, SIZE_RATIO, PATH_RATIO = 0.25, 1.5, 2.0


def choose_vote(spec, batch, settings, n_jobs, parents=None):
    """Choose settings of a vote, and a number, by how they predict rows held out.

    Parameters
    ----------
    spec : ClassVote
    batch : Batch
    settings : Settings
    n_jobs : int
    parents : array of int of shape (n,) or None
        Cell of every row at the resolution above; votes are judged within it.

    Returns
    -------
    spec : ClassVote
        With one decision. As it was where no row can be held out.
    n_codevectors : int
    """
    groups = group_codes(parents, batch.targets)
    number, n_groups = settings.schedule.n_codevectors, len(np.unique(groups))
    if settings.choose:
        number = number_for(batch, FEW_ROWS, number)
    number = max(number, n_groups)
    if number != settings.schedule.n_codevectors:
        schedule = replace(settings.schedule, n_codevectors=number)
        settings = replace(settings, schedule=schedule)
    trials = [
        _Trial.of(fold, settings, n_jobs, parents)
        for fold in folds_of(batch, groups, settings.seed)
    ]
    if not trials:
        return replace(spec, decisions=spec.decisions[:1]), number
    # Every number is searched, for levels of the path; which is taken may be settled.
    numbers = _numbers_to_try(
        n_groups, number, SIZE_RATIO if settings.choose else PATH_RATIO
    )
    has_metric = _learns_metric(spec, batch, settings)
    found, place = [], {decision: MIDDLE for decision in spec.decisions}
    for size in numbers:
        search = _Search(trials, size, spec, has_metric)
        for decision in spec.decisions:
            candidate, place[decision] = search.descend(decision, place[decision])
            found.append(candidate)
    by_size = _by_size(found)
    if not settings.choose:
        found, numbers = [one for one in found if one.size == number], [number]
    best = min(found, key=attrgetter("loss"))
    if spec.polish:
        starts = [best]
        for size in sorted({numbers[0], numbers[-1]}):
            search = _Search(trials, size, spec, has_metric=False)
            starts.append(search.descend("bayes", MIDDLE)[0])
        for start in starts:
            best = min(best, _polished(trials, start, spec), key=attrgetter("loss"))
    chosen = replace(best.refined(), has_metric=has_metric, by_size=by_size)
    return chosen, best.size


def _learns_metric(spec, batch, settings):
    """Whether rows are compared in the metric of their cells."""
    return (
        isinstance(settings.divergence, SquaredEuclidean)
        and not sp.issparse(batch.rows)
        and batch.rows.shape[1] <= spec.metric_features
    )


class _Search:
    """Search for the metric and the coldness of a number of codevectors."""

    def __init__(self, trials, size, spec, has_metric):
        self.trials, self.size = trials, size
        self.spec = replace(spec, has_metric=has_metric)
        self.shrinkages = SHRINKAGES if has_metric else (None,)
        self._ballots = {}

    def ballots(self, shrinkage):
        """Votes of all trials in a metric."""
        if shrinkage not in self._ballots:
            spec = replace(self.spec, shrinkage=shrinkage)
            self._ballots[shrinkage] = [
                _Ballot.of(trial, partition, trial.vote(partition, spec))
                for trial, partition in self._partitions
            ]
        return self._ballots[shrinkage]

    @cached_property
    def _partitions(self):
        return [(trial, trial.partition(self.size)) for trial in self.trials]

    def descend(self, decision, place):
        """Candidate that no neighbour on the grid betters, and its place there."""
        losses = {}

        def loss(place):
            if place not in losses:
                shrinkage, coldness = place
                ballots = self.ballots(self.shrinkages[shrinkage])
                losses[place] = _loss(ballots, decision, COLDNESS[coldness])
            return losses[place]

        place, previous = (min(place[0], len(self.shrinkages) - 1), place[1]), None
        while place != previous:
            previous = place
            place = min(self._beside(place), key=loss)
        shrinkage, coldness = self.shrinkages[place[0]], COLDNESS[place[1]]
        chosen = replace(
            self.spec,
            decisions=(decision,),
            shrinkage=shrinkage,
            coldness=coldness,
        )
        ballots = self.ballots(shrinkage)
        return _Candidate(loss(place), self.size, chosen, ballots), place

    def _beside(self, place):
        """Place itself first, and those beside it."""
        row, column = place
        beside = [place, (row, column - 1), (row, column + 1)]
        beside += [(row - 1, column), (row + 1, column)]
        return [
            (row, column)
            for row, column in beside
            if 0 <= row < len(self.shrinkages) and 0 <= column < len(COLDNESS)
        ]


@dataclass(frozen=True)
class _Candidate:
    """Settings of a vote, and the loss of rows held out under them."""

    loss: float
    size: int
    spec: Any
    ballots: list[Any]

    def refined(self):
        """Take the best coldness between those tried."""
        decision, middle = self.spec.decisions[0], np.log(self.spec.coldness)
        best = minimize_scalar(
            lambda power: _loss(self.ballots, decision, np.exp(power)),
            bounds=(middle - np.log(2.0), middle + np.log(2.0)),
            method="bounded",
            options={"xatol": REFINED},
        )
        if best.fun < self.loss:
            return replace(self.spec, coldness=float(np.exp(best.x)))
        return self.spec


def _numbers_to_try(least, most, ratio):
    """Numbers of codevectors in a geometric series from ``least`` to ``most``."""
    numbers = [least]
    while numbers[-1] < most:
        numbers.append(min(max(int(ratio * numbers[-1]), numbers[-1] + 1), most))
    return numbers


def _by_size(candidates):
    """Best settings of every number of codevectors, see `ClassVote`."""
    best: dict[int, _Candidate] = {}
    for candidate in sorted(candidates, key=attrgetter("loss"), reverse=True):
        best[candidate.size] = candidate
    return tuple(
        (size, one.spec.decisions[0], one.spec.shrinkage, one.spec.coldness)
        for size, one in sorted(best.items())
    )


def _coldest(ballots, size, spec, coldness):
    """Candidate of every decision, at the coldness that predicts best."""
    for decision in spec.decisions:
        losses = [_loss(ballots, decision, value) for value in coldness]
        best = int(np.argmin(losses))
        chosen = replace(spec, decisions=(decision,), coldness=coldness[best])
        yield _Candidate(losses[best], size, chosen, ballots)


def _loss(ballots, decision, coldness):
    return untied(sum(ballot.loss(decision, coldness) for ballot in ballots))


def _polished(trials, start, spec):
    """Best candidate that polishing leads to."""
    bayes = replace(start.spec, decisions=("bayes",))
    (start,) = _coldest(start.ballots, start.size, bayes, COLDNESS)
    spec = replace(
        start.spec,
        decisions=spec.decisions,
        n_passes=PASSES[-1],
        polish_coldness=start.spec.coldness,
    )
    ballots: dict[int, list[_Ballot]] = {passes: [] for passes in PASSES}
    for trial in trials:
        partition = trial.partition(start.size)
        vote = trial.vote(partition, spec)
        books = spec.polished(
            trial.fold.learnt, partition, vote, trial.n_jobs, trial.learnt_parents
        )
        for passes, codebook in enumerate(books, start=1):
            if passes in ballots:
                moved = replace(partition, codebook=codebook)
                ballots[passes].append(_Ballot.of(trial, moved, vote))
    coldness = [start.spec.coldness * factor for factor in NEARBY]
    return min(
        (
            candidate
            for passes, votes in ballots.items()
            for candidate in _coldest(
                votes, start.size, replace(spec, n_passes=passes), coldness
            )
        ),
        key=attrgetter("loss"),
    )


@dataclass(frozen=True)
class _Trial:
    """A fit without the rows held out, which they judge."""

    fold: Fold
    solution: Solution
    held_out: np.ndarray | sp.csr_matrix
    n_jobs: int
    learnt_parents: np.ndarray | None
    parents: np.ndarray | None

    @classmethod
    def of(cls, fold, settings, n_jobs, parents):
        learnt, held_out = fold.learnt, fold.held_out
        above = fold.cells(parents)
        settings = replace(settings, choose=False)
        groups = group_codes(above[0], learnt.targets)
        solution = anneal(learnt, settings, n_jobs, groups=groups)
        rows = RowBlocks(held_out.rows, held_out.weights, solution.shift)
        return cls(fold, solution, rows.select(slice(None)), n_jobs, *above)

    def partition(self, size):
        """Partition into a number of cells, or the nearest number on the path."""
        codebook = self.solution.codebook
        if size < len(codebook):
            size = max(size, len(np.unique(codebook.groups)))
            codebooks = self.solution.hierarchy
            codebook = smallest_above(codebooks, size, self.solution.divergence)
        return Partition(self.solution.divergence, codebook, self.solution.shift)

    def vote(self, partition, spec):
        """Vote of a partition, as the rows learnt from make it."""
        return spec.begin(self.fold.learnt, partition, self.learnt_parents, self.n_jobs)


@dataclass(frozen=True)
class _Ballot:
    """Votes on the rows that a trial held out, at a coldness of one."""

    affinity: np.ndarray
    codebook: Codebook
    truth: np.ndarray
    weights: np.ndarray
    doubt: float

    @classmethod
    def of(cls, trial, partition, vote):
        codebook, held_out = partition.codebook, trial.fold.held_out
        affinity = replace(vote, coldness=1.0).affinity(
            trial.held_out, partition, slice(None)
        )
        if trial.parents is not None:
            above = parents_of(codebook.groups)[:, np.newaxis]
            affinity[above != trial.parents] = -np.inf
        groups = group_codes(trial.parents, held_out.targets)
        met = np.isin(groups, codebook.groups)
        doubt = 1.0 / (vote.weight + 1.0)
        return cls(
            affinity[:, met],
            codebook,
            held_out.targets[met],
            held_out.weights[met],
            doubt,
        )

    def loss(self, decision, coldness):
        """Sum of ``-log p(c | x)`` over the rows of classes that were learnt.

        Of one row in those learnt from and one more, the label is any: a vote that
        no row held out contradicts would be infinitely cold.
        """
        classes, truth = self.codebook.groups % MAX_CLASSES, self.truth
        logits = class_logits(
            coldness * self.affinity,
            self.codebook.weights,
            classes,
            int(classes.max()) + 1,
            decision,
        )
        log_probability = log_softmax(logits)
        true = log_probability[truth, np.arange(len(truth))]
        near = np.isfinite(log_probability)
        others = np.where(near, log_probability, 0.0).sum(axis=0) / near.sum(axis=0)
        smoothed = (1.0 - self.doubt) * true + self.doubt * others
        return -float(self.weights @ smoothed)
