"""Means of rows as they came, for codevectors of other features."""

from dataclasses import dataclass, replace

import numpy as np

from odalib.inference.annealing.codebook import collect_cells
from odalib.inference.annealing.rows import RowBlocks

__all__ = ["CellMeans"]


@dataclass(frozen=True)
class CellMeans:
    """Sums over the rows of every cell.

    Attributes
    ----------
    weight : array of shape (K,)
    total : array of shape (K, d)
    """

    weight: np.ndarray
    total: np.ndarray

    @classmethod
    def of(cls, rows, weights, labels, n_codevectors, n_jobs=1):
        """Take sums of rows, given the cell of each."""
        blocks = RowBlocks(rows, weights, n_jobs=n_jobs)
        cells = collect_cells(blocks, labels, n_codevectors)
        return cls(cells.weight, cells.total)

    @property
    def points(self):
        """Means, shape (K, d)."""
        weight = np.where(self.weight > 0, self.weight, 1.0)
        return self.total / weight[:, np.newaxis]

    def learn(self, rows, weights, labels):
        """Add some more rows."""
        new = CellMeans.of(rows, weights, labels, len(self.weight))
        return CellMeans(self.weight + new.weight, self.total + new.total)

    def inherit(self, lineage):
        """Pass sums on to the codevectors of a lineage."""
        return replace(self, weight=lineage @ self.weight, total=lineage @ self.total)
