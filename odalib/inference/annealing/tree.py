"""Codevectors of all resolutions, each a child of one before, and how rows descend."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from odalib.inference.annealing.census import Census
from odalib.inference.annealing.groups import parents_of
from odalib.inference.annealing.local.base import Cells, Partition
from odalib.inference.annealing.quantiser import Quantiser
from odalib.inference.annealing.schedule import Settings

__all__ = ["Tree", "TreeLevel"]


@dataclass(frozen=True)
class TreeLevel:
    """Codevectors of one resolution.

    Attributes
    ----------
    settings : Settings
    quantiser : Quantiser
    cells : Cells
    census : Census or None
    """

    settings: Settings
    quantiser: Quantiser
    cells: Cells
    census: Census | None

    @classmethod
    def of_layer(cls, layer, dtype):
        """Level that publishes a layer."""
        quantiser = Quantiser.of(layer.partition, layer.solution.temperature, dtype)
        return cls(layer.settings, quantiser, layer.cells, layer.census)

    @property
    def partition(self):
        """Cells in which the local models were learnt."""
        quantiser = self.quantiser
        return Partition(quantiser.divergence, quantiser.codebook, quantiser.shift)

    @property
    def parents(self):
        """Codevector at the resolution above of each, shape (K,)."""
        groups = self.quantiser.groups
        if groups is None:
            return np.zeros(self.quantiser.n_codevectors, dtype=int)
        return parents_of(groups)

    def children(self, parent):
        """Index of the codevectors below a cell; of all for None."""
        return slice(None) if parent is None else np.flatnonzero(self.parents == parent)

    @property
    def points(self):
        """Codevectors in the features of the rows as they came, shape (K, d)."""
        points = self.quantiser.codevectors
        if self.census is None or self.settings.features is None:
            return points
        return self.census.points.astype(points.dtype)

    def n_samples(self, n_seen):
        """Weight of the rows that were nearest to each codevector, shape (K,)."""
        if self.census is None:
            return n_seen * self.quantiser.weights
        return self.census.descended


@dataclass(frozen=True)
class Tree:
    """Levels from coarse to fine; the leaves are the codevectors of the last.

    Attributes
    ----------
    levels : tuple of TreeLevel
    """

    levels: tuple[TreeLevel, ...]

    @property
    def finest(self):
        """Level whose codevectors are the leaves."""
        return self.levels[-1]

    def descend(self, X, n_jobs):
        """Cells of the rows at every resolution.

        Returns
        -------
        labels : list of arrays of int of shape (n,)
        divergence : array of shape (n,)
            From the codevector at the finest resolution, in its features.
        """
        labels, parents = [], None
        ways = zip(self.levels, self._fruitful, self._quantisers, strict=True)
        for level, fruitful, quantiser in ways:
            rows = level.settings.view(X)
            nearest, divergence = quantiser.assign(rows, n_jobs, parents)
            parents = fruitful[nearest]
            labels.append(parents)
        return labels, divergence

    @cached_property
    def _quantisers(self):
        """Quantiser of each level that knows these alone."""
        return [
            level.quantiser.restricted(fruitful)
            for level, fruitful in zip(self.levels, self._fruitful, strict=True)
        ]

    @cached_property
    def _fruitful(self):
        """Codevectors of each level that leaves descend from, as index arrays.

        One that no row was nearest to when its children were annealed has none, and
        no row descends to it.
        """
        fruitful = [np.arange(self.finest.quantiser.n_codevectors)]
        for level in self.levels[:0:-1]:
            fruitful.append(np.unique(level.parents[fruitful[-1]]))
        return fruitful[::-1]

    def above(self, X, n_jobs):
        """Rows at the finest resolution, and their cells at the one above, or None."""
        parents = None
        if len(self.levels) > 1:
            parents = self.descend(X, n_jobs)[0][-2]
        return self.finest.settings.view(X), parents

    def assign(self, X, n_jobs):
        """Leaf of every row, and the divergence from it: two (n,)."""
        labels, divergence = self.descend(X, n_jobs)
        return labels[-1], divergence

    def divergences(self, X, n_jobs):
        """Divergence of every row from every leaf in its features, shape (n, K)."""
        finest = self.finest
        return finest.quantiser.divergences(finest.settings.view(X), n_jobs)

    def association(self, X, n_jobs, *, log=False):
        """Probability of every leaf, or its logarithm, shape (n, K).

        The product of the Gibbs associations along the way down, each with the
        children of one codevector.
        """
        if len(self.levels) == 1:
            rows = self.finest.settings.view(X)
            return self.finest.quantiser.association(rows, n_jobs, log=log)
        result = np.zeros((X.shape[0], 1))
        ways = zip(self.levels, self._fruitful, self._quantisers, strict=True)
        for level, fruitful, quantiser in ways:
            parents = level.parents[fruitful]
            rows = level.settings.view(X)
            own = quantiser.association_of_children(rows, parents, n_jobs)
            above, result = result, np.full((len(own), len(level.parents)), -np.inf)
            result[:, fruitful] = above[:, parents] + own
        result = result.astype(X.dtype)
        return result if log else np.exp(result)

    def log_density(self, X, n_jobs):
        """Log density under the mixture of the leaves, in their features: (n,)."""
        finest = self.finest
        return finest.quantiser.log_density(finest.settings.view(X), n_jobs)
