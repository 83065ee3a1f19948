"""When to cool, when to stop: the settings of an annealing run."""

from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp

from odalib.inference.annealing.bregman import BregmanDivergence, check_range
from odalib.inference.annealing.local.base import LocalModels

__all__ = ["OPEN_NUMBER", "FeatureView", "Schedule", "Settings"]

Rows: TypeAlias = np.ndarray | sp.csr_matrix

# Stands for a number of codevectors that the fit is to find.
OPEN_NUMBER = 0

# Cooling of fits that need not be thorough.
QUICK_COOLING = 0.5
# Annealing starts this factor above the first critical temperature.
START = 1.05


@dataclass(frozen=True)
class Schedule:
    """Settings of one annealing run.

    Attributes
    ----------
    n_codevectors : int
        Growth ends with this many (K_max of Algorithm 1). `OPEN_NUMBER` at
        resolutions before the last, whose number follows from the last.
    split : {'critical', 'perturb'}
        Split the codevectors whose critical temperature exceeds the temperature,
        along their axes; or perturb all and merge those that do not part.
    cooling : float
        Factor of the temperature from level to level (gamma).
    max_temperature, min_temperature : float or None
        Of the first and the last level, in units of the divergence; None takes
        the first critical temperature of the data, and no end.
    target_distortion : float or None
        Mean divergence at which growth ends.
    merge_tol : float
        Codevectors nearer than this many temperatures merge (epsilon_n).
    idle_tol : float
        Codevectors of less weight than this are dropped (epsilon_r).
    tol : float or None
        A level has converged when no codevector moves by more than this many
        temperatures (epsilon_c), nor by more than this share of the divergence to
        its nearest neighbour, so that a pair that parts slowly is waited for. None
        takes ``max_steps`` steps.
    max_steps : int
        Fixed-point steps per level.
    axis_passes : int
        Power iterations per level; each is a pass over the rows.
    max_iter : int
        Passes over the rows in all.
    batch_size : int or None
        Rows of a step of stochastic approximation; None for fixed-point steps,
        each from all rows.
    """

    n_codevectors: int
    split: str
    cooling: float
    max_temperature: float | None
    min_temperature: float | None
    target_distortion: float | None
    merge_tol: float
    idle_tol: float
    tol: float | None
    max_steps: int
    axis_passes: int
    max_iter: int
    batch_size: int | None

    def quick(self):
        """Schedule of fewer and cheaper levels, where it takes few steps a level."""
        if self.tol is not None:
            return self
        return replace(
            self,
            cooling=min(self.cooling, QUICK_COOLING),
            max_steps=1,
            axis_passes=1,
        )

    def first_temperature(self, critical):
        """Temperature of the first level, given the first critical temperature."""
        if self.max_temperature is not None:
            return self.max_temperature
        return START * critical

    def not_idle(self, codebook):
        """Which codevectors stay, by their weights; the heaviest of a group does."""
        weights = codebook.weights
        heaviest = weights.max()
        if codebook.groups is not None:
            groups, which = np.unique(codebook.groups, return_inverse=True)
            heaviest = np.zeros(len(groups))
            np.maximum.at(heaviest, which, weights)
            heaviest = heaviest[which]
        return (weights > 0) & (weights >= np.minimum(self.idle_tol, heaviest))

    def stop_reason(self, level, next_temperature, n_passes):
        """Why growth ends after this level, or None."""
        if len(level.codebook) >= self.n_codevectors:
            return "n_clusters"
        if (
            self.target_distortion is not None
            and level.distortion <= self.target_distortion
        ):
            return "target_distortion"
        if self.min_temperature is not None and next_temperature < self.min_temperature:
            return "min_temperature"
        if n_passes >= self.max_iter:
            return "max_iter"
        return None


class FeatureView(Protocol):
    """What a resolution sees of rows."""

    is_ready: bool
    name: str

    def bind(self, rows: Rows, weights: np.ndarray | None = None) -> "FeatureView":
        """Learn from rows and their weights what is needed."""

    def __call__(self, rows: Rows) -> Rows:
        """Give the features of rows."""


@dataclass(frozen=True)
class Settings:
    """Everything that decides what a fit or a stream makes of its rows.

    Attributes
    ----------
    divergence : BregmanDivergence
        Not yet bound to rows.
    schedule : Schedule
        Its ``n_codevectors`` is the number wanted, or the largest to choose from.
    choose : bool
        Choose the number of codevectors from the path.
    tol : float
        Relative fall of the distortion at which hard assignment has converged.
    seed : int
    stream_batch_size : int
        Rows that a stream queues for a step.
    memory : float or None
        Rows that a stream remembers; None averages over all.
    thorough : bool
        Anneal twice and take the better, exchange, and keep codebooks of every
        smaller size; fits that only serve a choice do without.
    local_models : LocalModels
        What is learnt in the cells.
    features : FeatureView or None
        Gives the rows at this resolution; None where they are as they came.
    finer : Settings or None
        Of the next resolution, whose codevectors are children of this one's.
    """

    divergence: BregmanDivergence
    schedule: Schedule
    choose: bool
    tol: float
    seed: int
    stream_batch_size: int
    memory: float | None
    thorough: bool = True
    local_models: LocalModels = field(default_factory=LocalModels)
    features: FeatureView | None = None
    finer: "Settings | None" = None

    def view(self, rows):
        """Rows at this resolution.

        Raises
        ------
        ValueError
            For features outside the domain of the divergence, which are named.
        """
        if self.features is None:
            return rows
        seen = self.features(rows)
        check_range(seen, self.features.name)
        try:
            self.divergence.check_domain(seen)
        except ValueError as error:
            raise ValueError(
                f"For {self.features.name} in place of X: {error}"
            ) from error
        return seen

    def check(self, rows):
        """Refuse rows that a resolution cannot take, as far as it can tell.

        A map that has yet to be fitted cannot.
        """
        for level in self.chain:
            features = level.features
            if features is None:
                level.divergence.check_domain(rows)
            elif features.is_ready:
                replace(level, features=features.bind(rows)).view(rows)

    def bound_to(self, rows, weights):
        """Let features learn from rows and their weights what they need."""
        features, finer = self.features, self.finer
        return replace(
            self,
            features=None if features is None else features.bind(rows, weights),
            finer=None if finer is None else finer.bound_to(rows, weights),
        )

    @property
    def chain(self):
        """Settings of all resolutions, coarse to fine."""
        return (self,) if self.finer is None else (self, *self.finer.chain)
