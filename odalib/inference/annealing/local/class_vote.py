"""Settings of a vote for classes, and the fit of one."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from odalib.inference.annealing.groups import group_codes
from odalib.inference.annealing.local.base import LocalModels, Partition, nearest_size
from odalib.inference.annealing.local.polish import log_likelihood, polish_pass
from odalib.inference.annealing.local.vote import Vote, spread_sums
from odalib.inference.annealing.local.vote_choice import choose_vote
from odalib.inference.annealing.rows import RowBlocks

__all__ = ["ClassVote"]


@dataclass(frozen=True)
class ClassVote(LocalModels):
    """Settings of `Vote`, and what was chosen of them.

    Attributes
    ----------
    decisions : tuple of {'bayes', 'nearest'}
        To choose from; the first is taken where no row can be held out.
    metric_features : float
        Compare rows in the metric of their cells, shrunk as predicts best, if they
        are dense, have so many features at the most, and the divergence is the
        squared Euclidean one.
    polish : bool
        Polish the codevectors, with as many passes as predict best.
    has_metric : bool
        Whether a metric has been learnt, for some number of codevectors.
    shrinkage : float or None
    coldness : float
    by_size : tuple of (int, str, float or None, float)
        Number of codevectors, and decision, shrinkage and coldness that predicted
        best with it, before any polish.
    n_passes : int
    polish_coldness : float
    climbs : bool
        End the polish where the likelihood of the rows falls: where rows held out did
        not tell how many passes are good.
    """

    decisions: tuple[str, ...]
    metric_features: float
    polish: bool
    has_metric: bool = False
    shrinkage: float | None = None
    coldness: float = 1.0
    by_size: tuple[Any, ...] = ()
    n_passes: int = 0
    polish_coldness: float = 1.0
    climbs: bool = False

    by_class = True
    # What is chosen on rows held out makes annealing dear.
    anchor_growth = 0.5

    def tuned(self, batch, settings, n_jobs, parents=None):
        """As `LocalModels.tuned`; also the number of codevectors, where it is open."""
        spec, number = choose_vote(self, batch, settings, n_jobs, parents)
        schedule = replace(settings.schedule, n_codevectors=number)
        return replace(settings, local_models=spec, schedule=schedule, choose=False)

    def resized(self, number):
        """As `LocalModels.resized`; polished as the number of the fit is."""
        if not self.by_size:
            return self
        _, decision, shrinkage, coldness = nearest_size(self.by_size, number)
        if self.n_passes == 0:
            decisions = (decision,)
            return replace(
                self, decisions=decisions, shrinkage=shrinkage, coldness=coldness
            )
        rise = self.coldness / self.polish_coldness
        return replace(
            self,
            shrinkage=shrinkage,
            coldness=coldness * rise,
            polish_coldness=coldness,
            climbs=True,
        )

    def begin(self, batch, partition, parents, n_jobs):
        """As `LocalModels.begin`."""
        groups = group_codes(parents, batch.targets)
        rows = RowBlocks(batch.rows, batch.weights, partition.shift, n_jobs, groups)
        within, spread = spread_sums(rows, partition, covariance=self.has_metric)
        weight = rows.total_weight
        return Vote(
            decision=self.decisions[0],
            coldness=self.coldness,
            shrinkage=self.shrinkage,
            within=None if within is None else within / weight,
            spread=spread / weight,
            weight=weight,
            by_size=self.by_size,
        )

    def finish(self, batch, solution, cells, n_jobs, parents):
        """As `LocalModels.finish`: polish the codevectors."""
        partition = Partition.of(solution.divergence, solution.codebook, solution.shift)
        passes = self.polished(batch, partition, cells, n_jobs, parents)
        books = [partition.codebook, *passes]
        return books[-1]

    def polished(self, batch, partition, vote, n_jobs, parents):
        """Codebooks after each of the passes of the polish."""
        rows = RowBlocks(batch.rows, batch.weights, partition.shift, n_jobs)
        judged = *self.judged(partition, vote), parents
        codebook, height = partition.codebook, -np.inf
        if self.climbs:
            height = log_likelihood(rows, batch.targets, codebook, *judged)
        for _ in range(self.n_passes):
            codebook = polish_pass(rows, batch.targets, codebook, *judged)
            if self.climbs:
                before = height
                height = log_likelihood(rows, batch.targets, codebook, *judged)
                if height < before:
                    return
            yield codebook

    def judged(self, partition, vote):
        """Divergence and temperature of the votes that a polish betters."""
        temperature = replace(vote, coldness=self.polish_coldness).temperature
        return vote.divergence(partition), temperature
