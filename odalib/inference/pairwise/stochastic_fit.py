"""Couplings and fields of spins that arrive row by row: stochastic pseudo-likelihood.

After every row the parameters move along the gradient of its log pseudo-likelihood
(`odalib.inference.pairwise.pseudo_likelihood`) and of its share of the prior. Every
parameter has a step of its own, of two over the curvature that the rows have had in it
so far: a Newton step on the diagonal, twice as long because couplings share what a row
says of them. Nothing is to be tuned, and a stream after a fit goes on with the steps
that its rows have left.

Of a row with missing spins only those that were observed are learnt, given several
draws of the others. What a spin that was drawn says of the parameters is nothing on
average, and learning it would feed on noise.
"""

from copy import deepcopy
from dataclasses import dataclass, replace
from math import ceil

import numpy as np
from numpy.typing import NDArray

from odalib.inference.pairwise.gibbs import complete
from odalib.inference.pairwise.penalised_fit import FIELD_PRECISION, Fit
from odalib.inference.pairwise.pseudo_likelihood import PseudoLikelihood

__all__ = ["Stream"]

Floats = NDArray[np.float64]

# In units of the Newton step on the diagonal.
STEP = 2.0
# Ways in which the missing spins of a row are drawn, each by so many sweeps.
DRAWS, SWEEPS = 10, 5


@dataclass(frozen=True)
class Stream:
    """What rows have taught so far.

    Attributes
    ----------
    couplings : ndarray of shape (n, n)
        Symmetric, zero diagonal.
    fields : ndarray of shape (n,)
    curvature : ndarray of shape (n,)
        Of minus the log pseudo-likelihood of the rows, in every field.
    n_seen : float
        Weight of the rows.
    rng : numpy.random.Generator
        Draws what is missing.
    """

    couplings: Floats
    fields: Floats
    curvature: Floats
    n_seen: float
    rng: np.random.Generator

    @classmethod
    def begin(cls, n_spins: int, rng: np.random.Generator) -> "Stream":
        """Independent, unbiased spins, before the first row.

        Parameters
        ----------
        n_spins : int
        rng : numpy.random.Generator

        Returns
        -------
        Stream
        """
        nothing = np.zeros(n_spins)
        return cls(np.zeros((n_spins, n_spins)), nothing, nothing, 0.0, rng)

    @classmethod
    def after(
        cls,
        fit: Fit,
        rows: PseudoLikelihood,
        rng: np.random.Generator,
    ) -> "Stream":
        """State in which a stream goes on after a fit.

        Parameters
        ----------
        fit : Fit
        rows : PseudoLikelihood
            Of the rows of the fit, complete or completed.
        rng : numpy.random.Generator

        Returns
        -------
        Stream
        """
        curvature = rows.curvature(fit.fields, fit.couplings)
        return cls(fit.couplings, fit.fields, curvature, rows.total, rng)

    def learn(self, spins: NDArray[np.int8], weights: Floats, alpha: float) -> "Stream":
        """Learn rows one after another.

        Parameters
        ----------
        spins : ndarray of int8 of shape (n_samples, n)
            Entries -1 and 1, and 0 where one is missing; that is drawn, given the rest
            of its row, while the others are learnt.
        weights : ndarray of shape (n_samples,)
            A weight of w is w visits to the row in turn, the last by what w has beyond
            a whole number.
        alpha : float
            Precision of the prior of a coupling.

        Returns
        -------
        Stream
        """
        after = replace(
            self,
            couplings=self.couplings.copy(),
            fields=self.fields.copy(),
            curvature=self.curvature.copy(),
            # One by one, as the rows come: a sum of sums would round otherwise.
            n_seen=float(sum(weights, start=self.n_seen)),
            rng=deepcopy(self.rng),
        )
        for row, weight in zip(spins, weights, strict=True):
            for visit in range(ceil(weight)):
                after._visit(row, min(weight - visit, 1.0), alpha)
        return after

    def _visit(self, row, share, alpha):
        """Take the step of one row, in place."""
        observed = row != 0
        draws = row[np.newaxis]
        if not observed.all():
            draws = np.repeat(draws, DRAWS, axis=0)
            draws = complete(draws, self.couplings, self.fields, self.rng, SWEEPS)
        spins = draws.astype(np.float64)
        share = share * observed / len(spins)
        mean = np.tanh(self.fields + spins @ self.couplings)
        residual = share * (spins - mean)
        self.curvature[:] += (share * (1.0 - mean**2)).sum(axis=0)
        # The number of spins keeps the first rows from moving a field by more than one
        # row can tell.
        slow = STEP * len(row)
        pull = residual.T @ spins
        pull += pull.T.copy()
        pull *= STEP
        pull /= np.add.outer(self.curvature, self.curvature) + (alpha + slow)
        # Spins that were never observed would become hidden units.
        never = self.curvature == 0.0
        pull[never] = 0.0
        pull[:, never] = 0.0
        np.fill_diagonal(pull, 0.0)
        self.couplings[:] += pull
        self.fields[:] += (
            STEP * residual.sum(axis=0) / (self.curvature + (FIELD_PRECISION + slow))
        )
