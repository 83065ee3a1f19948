"""Rows of spins with all that may stand in the place of what is missing."""

import numpy as np
from numpy.typing import NDArray

from odalib.inference.pairwise.distinct import distinct_rows
from odalib.inference.pairwise.exact import all_states
from odalib.inference.pairwise.gibbs import complete
from odalib.inference.pairwise.penalised_fit import Fit

__all__ = ["Completion"]

# Draws in all, each in its own chain, shared out by weight; and those of every row at
# the least.
N_COPIES, FEWEST_COPIES = 20_000, 8
# Sweeps over the missing spins in a round.
SWEEPS = 3


class Completion:
    """Incomplete rows, in several copies that fill them.

    Where a row has no more completions than it would have draws, each completion is
    there once, with its probability for weight, and nothing is left to chance.

    Parameters
    ----------
    spins : ndarray of int8 of shape (m, n)
        Distinct rows: entries -1 and 1, and 0 where one is missing.
    weights : ndarray of shape (m,)
        Positive.
    rng : numpy.random.Generator
        Draws what is missing.

    Attributes
    ----------
    spins : ndarray of int8 of shape (k, n)
        Entries -1 and 1.
    observed : ndarray of bool of shape (k, n)
    weights : ndarray of shape (k,)
    """

    def __init__(
        self,
        spins: NDArray[np.int8],
        weights: NDArray[np.float64],
        rng: np.random.Generator,
    ):
        n_copies = np.ceil(weights * (N_COPIES / weights.sum())).astype(int)
        n_copies = np.maximum(n_copies, FEWEST_COPIES)
        n_missing = (spins == 0).sum(axis=1)
        listed = n_missing <= np.log2(n_copies)
        n_copies[listed] = 1 << n_missing[listed]
        self.row = np.repeat(np.arange(len(spins)), n_copies)
        self.of_row = weights
        self.spins = spins[self.row]
        self.observed = self.spins != 0
        self.weights = (weights / n_copies)[self.row]
        self.listed = listed[self.row]
        self.begins = np.cumsum(n_copies) - n_copies
        self.rng = rng
        for row in np.flatnonzero(listed & (n_missing > 0)):
            place = slice(self.begins[row], self.begins[row] + n_copies[row])
            states = all_states(n_missing[row]).astype(np.int8)
            self.spins[place, spins[row] == 0] = states

    def update(self, fit: Fit) -> None:
        """Draw, and weigh what is listed, under other parameters.

        Parameters
        ----------
        fit : Fit
        """
        drawn = ~self.listed
        if drawn.any():
            self.spins[drawn] = complete(
                self.spins[drawn],
                fit.couplings,
                fit.fields,
                self.rng,
                SWEEPS,
                missing=~self.observed[drawn],
            )
        listed = self.spins[self.listed].astype(np.float64)
        energies = np.zeros(len(self.spins))
        energies[self.listed] = np.einsum(
            "ri,ri->r", listed, listed @ fit.couplings / 2 + fit.fields
        )
        energies -= np.maximum.reduceat(energies, self.begins)[self.row]
        shares = np.exp(energies)
        shares /= np.add.reduceat(shares, self.begins)[self.row]
        self.weights = self.of_row[self.row] * shares

    def distinct(
        self,
    ) -> tuple[NDArray[np.int8], NDArray[np.float64], NDArray[np.bool_]]:
        """Rows that are the same taken together.

        Returns
        -------
        spins : ndarray of int8 of shape (j, n)
        weights : ndarray of shape (j,)
        observed : ndarray of bool of shape (j, n)
        """
        rows, which = distinct_rows(np.hstack([self.spins, self.observed]))
        n_spins = self.spins.shape[1]
        sums = np.bincount(which, self.weights).astype(np.float64)
        return rows[:, :n_spins], sums, rows[:, n_spins:] == 1
