"""Rows held out inside a fit, by what they hold."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from odalib.inference.annealing.batch import Batch
from odalib.inference.annealing.draws import distinct_rows, row_phases, uniforms_of
from odalib.inference.annealing.rows import RowBlocks

__all__ = ["Fold", "folds_of", "folds_within", "number_for", "untied"]

# Rows fall into this many parts or more, none of more than PART_ROWS. Each turn holds
# one part out and learns from the next ones, and turns end when enough was held out.
N_PARTS, PART_ROWS, HELD_OUT = 5, 2500, 5000


@dataclass(frozen=True)
class Fold:
    """One turn of holding out.

    Attributes
    ----------
    learnt, held_out : Batch
    learnt_places, places : array of int
        Of the rows learnt and held out, in the batch they are of.
    parents : tuple of two arrays of int, or of two None
        Cells of the rows learnt and held out, at the resolution above.
    """

    learnt: Batch
    held_out: Batch
    learnt_places: np.ndarray
    places: np.ndarray
    parents: tuple[Any, Any] = (None, None)

    def cells(self, parents):
        """Cells of the rows learnt and held out: two arrays of int, or two None."""
        if parents is None:
            return None, None
        return parents[self.learnt_places], parents[self.places]

    def within(self, parents):
        """Fold whose rows held out are in cells of rows learnt.

        Parameters
        ----------
        parents : array of int of shape (n,) or None
            Cell of every row of the batch at the resolution above.
        """
        if parents is None:
            return self
        learnt, held_out = self.cells(parents)
        met = np.isin(held_out, learnt)
        return replace(
            self,
            held_out=self.held_out[met],
            places=self.places[met],
            parents=(learnt, held_out[met]),
        )


def folds_of(batch, classes, seed, enough=HELD_OUT):
    """Hold out a part of the rows in turns, and learn from the others.

    Which part a row is in is decided by what it holds: equal rows are in the same,
    whatever their number and order. Parts are even within classes, and the only row
    of a class is never held out.

    Parameters
    ----------
    batch : Batch
    classes : array of int of shape (n,) or None
    seed : int
    enough : int
        Turns end when so many distinct rows have been held out.

    Returns
    -------
    list of Fold
        Empty where no row can be held out.
    """
    if classes is None:
        classes = np.zeros(len(batch), dtype=int)
    ranks, n_distinct = _ranks(batch, classes, seed)
    n_parts = max(N_PARTS, int(np.ceil(n_distinct / PART_ROWS)))
    n_turns = min(N_PARTS, int(np.ceil(enough * n_parts / n_distinct)))
    part = np.where(ranks < 0, -1, ranks % n_parts)
    folds = []
    for turn in range(n_turns):
        ahead = (part - turn) % n_parts
        places = np.flatnonzero((part >= 0) & (ahead == 0))
        learnt = np.flatnonzero((part < 0) | ((ahead > 0) & (ahead < N_PARTS)))
        if len(places) and len(learnt):
            folds.append(Fold(batch[learnt], batch[places], learnt, places))
    return folds


def folds_within(folds, parents):
    """Hold out rows of cells that other rows are in.

    Parameters
    ----------
    folds : list of Fold
    parents : array of int of shape (n,) or None
        Cell of every row at the resolution above.

    Returns
    -------
    list of Fold
        Each with some row held out.
    """
    folds = [fold.within(parents) for fold in folds]
    return [fold for fold in folds if len(fold.places)]


def number_for(batch, share, most, least=1):
    """Give a number of codevectors that is a share of that of the distinct rows.

    Parameters
    ----------
    batch : Batch
    share : float
    most, least : int
    """
    distinct, _ = distinct_rows(batch.rows, batch.weights)
    return max(min(int(share * len(distinct)), most), least)


def untied(loss):
    """Loss to ten digits, so that rounding does not decide between equal ones."""
    return float(f"{loss:.10g}")


def _ranks(batch, classes, seed):
    """Rank of every row among the distinct ones of its class, in a random order.

    Returns
    -------
    ranks : array of int of shape (n,)
        -1 for the only row of a class.
    n_distinct : int
        Of all classes.
    """
    rows = RowBlocks(batch.rows, batch.weights)
    mean, scale = rows.mean_and_scale()
    phases = np.concatenate(
        rows.map(lambda block, _: row_phases(block, mean, scale or 1.0, seed), 1)
    )
    uniforms = uniforms_of(phases, 0)
    ranks, n_distinct = np.empty(len(batch), dtype=int), 0
    for code in np.unique(classes):
        own = np.flatnonzero(classes == code)
        distinct, rank = np.unique(uniforms[own], return_inverse=True)
        ranks[own] = rank if len(distinct) > 1 else -1
        n_distinct += len(distinct)
    return ranks, n_distinct
