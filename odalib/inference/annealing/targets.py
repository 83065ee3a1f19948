"""Targets of a regression in the divergence, so that cells are cut where y changes."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from odalib.inference.annealing.bregman import BregmanDivergence
from odalib.inference.annealing.codebook import Codebook, assign
from odalib.inference.annealing.rows import RowBlocks

__all__ = ["NO_TARGETS", "TargetWeight", "WithTargets", "target_spread"]

# Targets whose spread is this part of their mean are constant up to rounding.
CONSTANT = 1e-12


class WithTargets(BregmanDivergence):
    """``(1 - w) d(x, mu) + w ||y - nu||^2`` of rows that end with their targets.

    Rows are compared by it while they anneal, and without their targets ever after.

    Parameters
    ----------
    base : BregmanDivergence
        Of the features.
    weight : float
        w, from 0 to 1.
    n_targets : int
    """

    def __init__(self, base, weight, n_targets):
        self.base, self.weight, self.n_hidden = base, weight, n_targets
        self.name = base.name
        self.translation_invariant = base.translation_invariant
        self.lower, self.upper = base.lower, base.upper

    @property
    def visible(self):
        """Divergence of the features alone."""
        return self.base

    def phi(self, rows):
        """Evaluate the convex function at every row."""
        features, targets = self._parts(rows)
        return (1.0 - self.weight) * self.base.phi(features) + self.weight * np.square(
            targets
        ).sum(axis=1)

    def gradient(self, points):
        """Differentiate ``phi`` at every point."""
        features, targets = self._parts(points)
        return np.hstack(
            [
                (1.0 - self.weight) * self.base.gradient(features),
                2.0 * self.weight * targets,
            ]
        )

    def hessian_product(self, points, vectors):
        """Multiply vectors by the Hessians of ``phi``."""
        features, _ = self._parts(points)
        along, across = self._parts(vectors)
        return np.hstack(
            [
                (1.0 - self.weight) * self.base.hessian_product(features, along),
                2.0 * self.weight * across,
            ]
        )

    def check_domain(self, rows):
        """Refuse rows whose features are outside the domain."""
        self.base.check_domain(self._parts(rows)[0])

    def interior(self, points, mean):
        """Move points off the boundary of the domain of the features."""
        features, targets = self._parts(points)
        n_features = features.shape[1]
        return np.hstack([self.base.interior(features, mean[:n_features]), targets])

    def shorten(self, points, steps):
        """Shorten steps that leave the domain of the features."""
        features, _ = self._parts(points)
        along, across = self._parts(steps)
        return np.hstack([self.base.shorten(features, along), across])

    def bind(self, rows):
        """Learn from the features of the rows."""
        features = rows.leading(rows.n_features - self.n_hidden)
        return WithTargets(self.base.bind(features), self.weight, self.n_hidden)

    def _parts(self, rows):
        """Features, and targets as a dense array."""
        features, targets = rows[:, : -self.n_hidden], rows[:, -self.n_hidden :]
        return features, targets.toarray() if sp.issparse(targets) else targets


@dataclass(frozen=True)
class TargetWeight:
    """What targets count for while rows anneal.

    Attributes
    ----------
    weight : float
        From 0, where they count nothing, to 1, where nothing else does.
    centre, unit : tuple of float
        What is subtracted from every target, and the factor that makes targets vary
        as much as rows; zero for targets that do not vary.
    """

    weight: float
    centre: tuple[float, ...] = ()
    unit: tuple[float, ...] = ()

    def measured(self, batch, divergence):
        """Weight with the units of a batch.

        The mean squared distance of targets from their mean becomes the mean
        divergence of the rows from theirs, every target counting the same.
        """
        if self.weight == 0.0:
            return self
        rows = RowBlocks(batch.rows, batch.weights)
        divergence = divergence.bind(rows)
        mean, _ = rows.mean_and_scale()
        _, affinity = assign(rows, divergence, Codebook(mean[np.newaxis], np.ones(1)))
        share = batch.weights / batch.weights.sum()
        apart = max(float(share @ (rows.phi(divergence) - affinity)), 0.0)
        centre, spread, varies = target_spread(batch)
        unit = np.where(varies, np.sqrt(apart / len(spread)) / spread, 0.0)
        return TargetWeight(self.weight, tuple(centre.tolist()), tuple(unit.tolist()))

    def joined(self, batch):
        """Rows of a batch, with their targets as further columns if these count."""
        if self.weight == 0.0:
            return batch.rows
        targets = (batch.targets - np.array(self.centre)) * np.array(self.unit)
        if sp.issparse(batch.rows):
            return sp.hstack([batch.rows, sp.csr_matrix(targets)], format="csr")
        return np.hstack([batch.rows, targets])

    def divergence(self, base):
        """Divergence of such rows."""
        if self.weight == 0.0:
            return base
        return WithTargets(base, self.weight, len(self.unit))


def target_spread(batch):
    """Mean and spread of every target.

    Returns
    -------
    mean : array of shape (m,)
    spread : array of shape (m,)
        Standard deviation, or one where the target does not vary.
    varies : array of bool of shape (m,)
    """
    share = batch.weights / batch.weights.sum()
    mean = share @ batch.targets
    spread = np.sqrt(share @ np.square(batch.targets - mean))
    varies = spread > CONSTANT * np.abs(mean)
    return mean, np.where(varies, spread, 1.0), varies


NO_TARGETS = TargetWeight(0.0)
