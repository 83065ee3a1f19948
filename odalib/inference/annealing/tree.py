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

    def cells_above(self, X, n_jobs):
        """Cells of the rows at every resolution but the finest, as `descend`."""
        labels, parents = [], None
        for level, fruitful, quantiser in self._ways()[:-1]:
            rows = level.settings.view(X)
            parents = fruitful[quantiser.nearest(rows, n_jobs, parents)]
            labels.append(parents)
        return labels

    def cells(self, X, n_jobs):
        """Cells of the rows at every resolution, as `descend`."""
        labels = self.cells_above(X, n_jobs)
        parents = labels[-1] if labels else None
        rows = self.finest.settings.view(X)
        return [*labels, self.finest.quantiser.nearest(rows, n_jobs, parents)]

    def descend(self, X, n_jobs):
        """Cells of the rows at every resolution.

        Returns
        -------
        labels : list of arrays of int of shape (n,)
        divergence : array of shape (n,)
            From the codevector at the finest resolution, in its features.
        """
        labels = self.cells_above(X, n_jobs)
        parents = labels[-1] if labels else None
        rows = self.finest.settings.view(X)
        leaves, divergence = self.finest.quantiser.assign(rows, n_jobs, parents)
        return [*labels, leaves], divergence

    def _ways(self):
        """Every level, its codevectors that rows descend to, and their quantiser."""
        return list(zip(self.levels, self._fruitful, self._quantisers, strict=True))

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
        cells = self.cells_above(X, n_jobs)
        return self.finest.settings.view(X), cells[-1] if cells else None

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
        result = np.zeros((X.shape[0], 1)) if log else np.ones((X.shape[0], 1))
        above = np.zeros(1, dtype=int)
        for level, fruitful, quantiser in self._ways():
            rows = level.settings.view(X)
            # Columns are those of the codevectors that leaves descend from.
            parents = np.searchsorted(above, level.parents[fruitful])
            result = quantiser.association_of_children(
                rows, parents, result, n_jobs, log=log
            )
            above = fruitful
        return result.astype(X.dtype, copy=False)

    def log_density(self, X, n_jobs):
        """Log density under the mixture of the leaves, in their features: (n,)."""
        finest = self.finest
        return finest.quantiser.log_density(finest.settings.view(X), n_jobs)
