"""Rows that arrive together, with their weights and targets."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from odalib.inference.saving import SavesFields

__all__ = ["Batch", "appended", "join"]


@dataclass(frozen=True)
class Batch(SavesFields):
    """Some rows of a stream, or all rows of a fit.

    Attributes
    ----------
    rows : array or CSR matrix of shape (n, d)
    weights : array of shape (n,)
        Positive.
    targets : array of shape (n,) or (n, m), or None
        Codes of classes, or values of a regression.
    """

    rows: np.ndarray | sp.csr_matrix
    weights: np.ndarray
    targets: Any = None

    def __len__(self):
        return len(self.weights)

    def __getitem__(self, index):
        targets = None if self.targets is None else self.targets[index]
        return Batch(self.rows[index], self.weights[index], targets)

    def kept(self):
        """Copy with float64 rows, for a queue."""
        targets = None if self.targets is None else self.targets.copy()
        rows = self.rows.astype(np.float64)
        return Batch(rows, self.weights.copy(), targets)


def appended(batches, batch):
    """Batches and a copy of another.

    Batches of no more rows than the new one are joined with it, so that their number
    stays logarithmic when rows come one by one.
    """
    new = batch.kept()
    while batches and len(batches[-1]) <= len(new):
        new, batches = join((batches[-1], new)), batches[:-1]
    return (*batches, new)


def join(batches):
    """One batch of the rows of several, in their order."""
    if len(batches) == 1:
        return batches[0]
    rows = [batch.rows for batch in batches]
    if all(sp.issparse(piece) for piece in rows):
        joined = sp.vstack(rows, format="csr")
    else:
        joined = np.concatenate(
            [piece.toarray() if sp.issparse(piece) else piece for piece in rows]
        )
    targets = None
    if batches[0].targets is not None:
        targets = np.concatenate([batch.targets for batch in batches])
    return Batch(joined, np.concatenate([batch.weights for batch in batches]), targets)
