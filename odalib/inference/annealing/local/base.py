"""What every local model is to the annealing code."""

from dataclasses import dataclass

import numpy as np

from odalib.inference.annealing.bregman import BregmanDivergence
from odalib.inference.annealing.codebook import Codebook, divergence_between

__all__ = [
    "NO_CELLS",
    "Cells",
    "LocalModels",
    "Partition",
    "beyond_rounding",
    "nearest_size",
    "rise_of_spread",
]


# Divergences of less than this part of their terms are rounding.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Partition:
    """The cells in which local models learn.

    Attributes
    ----------
    divergence : BregmanDivergence
        Bound to rows.
    codebook : Codebook
    shift : array of shape (d,) or None
        Subtracted from rows before they are compared with the codebook.
    """

    divergence: BregmanDivergence
    codebook: Codebook
    shift: np.ndarray | None

    @classmethod
    def of(cls, divergence, codebook, shift):
        """Partition by a codebook that may have been annealed with hidden columns."""
        if divergence.n_hidden:
            codebook = codebook.moved(
                codebook.points[:, : -divergence.n_hidden], codebook.weights
            )
            shift = None if shift is None else shift[: -divergence.n_hidden]
        return cls(divergence.visible, codebook, shift)


class LocalModels:
    """Settings of local models; this one learns none, which makes a clusterer.

    Attributes
    ----------
    by_class : bool
        Whether targets are classes, each with codevectors of its own.
    anchor_growth : float
        Share by which the first rows of a stream grow before they are annealed anew.
    """

    by_class = False
    anchor_growth = 0.1

    def annealed(self, batch):
        """Rows as they are annealed."""
        return batch.rows

    def divergence(self, divergence):
        """Divergence under which they are annealed."""
        return divergence

    def tuned(self, batch, settings, n_jobs, parents=None):
        """Give settings with what is chosen on rows held out.

        Parameters
        ----------
        batch : Batch
            Rows at the resolution of the settings.
        settings : Settings
        n_jobs : int
        parents : array of int of shape (n,) or None
            Cell of every row at the resolution above.

        Returns
        -------
        Settings
        """
        return settings

    def resized(self, number):
        """Give settings for another number of codevectors of the path."""
        return self

    def begin(self, batch, partition, parents, n_jobs):
        """Local models of all rows.

        Parameters
        ----------
        batch : Batch
        partition : Partition
        parents : array of int of shape (n,) or None
            Cell of every row at the resolution above.
        n_jobs : int

        Returns
        -------
        Cells
        """
        return NO_CELLS

    def finish(self, batch, solution, cells, n_jobs, parents):
        """Codebook that the local models make of the one that was annealed."""
        return solution.codebook


class Cells:
    """Local models as they stand, one per codevector; this one holds none."""

    def learn(self, batch, partition, parents, memory, age):
        """Local models after some more rows, see `LocalModels.begin`.

        Parameters
        ----------
        memory : float or None
            Rows that the partition remembers; None where it averages over all.
        age : float
            Rows that it averages over at present.
        """
        return self

    @property
    def n_targets(self):
        """Number of values of a regression."""
        return 0

    def inherit(self, lineage):
        """Local models of the codevectors of a lineage."""
        return self

    def regrouped(self, lineage, before, after):
        """Local models of another codebook of the path.

        Parameters
        ----------
        lineage : CSR matrix of shape (K_new, K_old)
            Which codevector of the other each one went into.
        before, after : Partition
        """
        return self.inherit(lineage)


def rise_of_spread(lineage, before, after):
    """Mean divergence from its new codevector that each cell gains by going into it.

    Parameters
    ----------
    lineage : CSR matrix of shape (K_new, K_old)
    before, after : Partition

    Returns
    -------
    float
    """
    fine = before.codebook
    moved = fine.moved(lineage.T @ after.codebook.points, fine.weights)
    rise = divergence_between(after.divergence, fine, moved)
    return float(fine.weights @ rise)


def beyond_rounding(phi, affinity):
    """Divergences ``phi(x) - affinity``, no less than the rounding of their terms.

    Rows that equal their codevector differ from it by rounding, which must not decide
    how cold a vote or how warm an association is.
    """
    return np.maximum(phi - affinity, ROUNDING * np.abs(phi))


def nearest_size(by_size, number):
    """Entry of a table whose number of codevectors is nearest to a number."""
    return min(by_size, key=lambda entry: abs(np.log(entry[0] / number)))


NO_CELLS = Cells()
