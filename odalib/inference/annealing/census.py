"""What rows each codevector has met, beside those that it averages over."""

from dataclasses import dataclass

import numpy as np

from odalib.inference.annealing.codebook import collect_cells
from odalib.inference.annealing.rows import RowBlocks

__all__ = ["Census"]


@dataclass(frozen=True)
class Census:
    """Counts of the rows of every codevector, and their sums as they came.

    Attributes
    ----------
    descended : array of shape (K,)
        Weight of the rows that were nearest to it, of whatever class.
    weight : array of shape (K,)
        Weight of the rows of its group that were nearest to it.
    total : array of shape (K, d) or (K, 0)
        Sum of these as they came, where it sees other features of them.
    """

    descended: np.ndarray
    weight: np.ndarray
    total: np.ndarray

    @classmethod
    def empty(cls, n_codevectors, n_features):
        """Make a census of no rows; with no features it keeps no sums."""
        zeros = np.zeros(n_codevectors)
        return cls(zeros, zeros, np.zeros((n_codevectors, n_features)))

    def learn(self, batch, labels, own, n_jobs=1):
        """Count some more rows.

        Parameters
        ----------
        batch : Batch
            Rows as they came.
        labels : array of int of shape (n,)
            Nearest codevector of every row.
        own : array of int of shape (n,)
            Nearest of its group, or -1 for a row of a group that has none.
        n_jobs : int
        """
        size = len(self.weight)
        descended = self.descended + np.bincount(labels, batch.weights, minlength=size)
        met = np.flatnonzero(own >= 0)
        weights, own = batch.weights[met], own[met]
        weight = self.weight + np.bincount(own, weights, minlength=size)
        total = self.total
        if total.shape[1] and len(met):
            rows = batch.rows if len(met) == len(batch) else batch.rows[met]
            blocks = RowBlocks(rows, weights, n_jobs=n_jobs)
            total = total + collect_cells(blocks, own, size).total
        return Census(descended, weight, total)

    @property
    def points(self):
        """Mean rows, shape (K, d)."""
        weight = np.where(self.weight > 0, self.weight, 1.0)
        return self.total / weight[:, np.newaxis]

    def inherit(self, lineage):
        """Pass counts on to the codevectors of a lineage."""
        return Census(
            lineage @ self.descended, lineage @ self.weight, lineage @ self.total
        )
