"""Fits to rows with missing entries: what is missing is drawn, given the rest.

The gradient of the log pseudo-likelihood of complete rows, or of their likelihood, has
mean zero at the true parameters, and so has its mean given what was observed. Where
entries are missing whatever their value (at random), the zero of that conditional mean
is therefore a consistent estimate. It is sought as Monte-Carlo expectation-maximisation
has it: fill rows by Gibbs sampling under the parameters, fit the filled rows, and so on
(G. Wei and M. Tanner, J. American Statistical Association 85, 1990).
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from odalib.inference.pairwise.distinct import distinct_rows
from odalib.inference.pairwise.gibbs import complete
from odalib.inference.pairwise.penalised_fit import (
    Fit,
    Objective,
    Settings,
    maximise,
)

__all__ = ["Completed", "fit_rows"]

# Draws of every incomplete row, each in its own chain: one for each unit of weight of
# the rows that hold the same, within these limits.
FEWEST_COPIES, MOST_COPIES = 10, 200
# Rounds of drawing and fitting; parameters are the mean over those after the settling.
N_ROUNDS, SETTLING = 40, 20
# Sweeps over the missing spins in a round.
SWEEPS = 5
# Tolerance of the fits, at the least: what is drawn moves them further than that.
ROUND_TOL = 1e-4


@dataclass(frozen=True)
class Completed:
    """A fit, and the complete rows that it is the fit of.

    Attributes
    ----------
    fit : Fit
    spins : ndarray of int8 of shape (m, n)
        Distinct rows, those that were incomplete in several copies.
    weights : ndarray of shape (m,)
    """

    fit: Fit
    spins: NDArray[np.int8]
    weights: NDArray[np.float64]


def fit_rows(
    spins: NDArray[np.int8],
    weights: NDArray[np.float64],
    objective: type[Objective],
    rng: np.random.Generator,
    settings: Settings,
) -> Completed:
    """Fit rows, complete or not.

    Rows that hold the same are taken together and sorted, so that neither their order
    nor the way in which they are repeated changes a draw.

    Parameters
    ----------
    spins : ndarray of int8 of shape (n_samples, n)
        Entries -1 and 1, and 0 where one is missing.
    weights : ndarray of shape (n_samples,)
        Positive; a weight of w is w copies of the row.
    objective : type of Objective
        What is maximised.
    rng : numpy.random.Generator
        Draws what is missing.
    settings : Settings
        Where entries are missing, with a tolerance of at least 1e-4.

    Returns
    -------
    Completed
    """
    spins, weights = _summed(spins, weights)
    whole = (spins != 0).all(axis=1)
    if whole.all():
        fit = maximise(objective(spins, weights), settings)
        return Completed(fit, spins, weights)
    settings = replace(settings, tol=max(settings.tol, ROUND_TOL))
    copied = np.clip(np.ceil(weights), FEWEST_COPIES, MOST_COPIES).astype(int)
    copied[whole] = 1
    weights = np.repeat(weights / copied, copied)
    copies = np.repeat(spins, copied, axis=0)
    missing = copies == 0
    drawn = missing.any(axis=1)
    n_spins = spins.shape[1]
    fit = Fit(np.zeros((n_spins, n_spins)), np.zeros(n_spins), True, 0, 0.0)
    settled: list[Fit] = []
    for done in range(N_ROUNDS):
        copies[drawn] = complete(
            copies[drawn],
            fit.couplings,
            fit.fields,
            rng,
            SWEEPS,
            missing=missing[drawn],
        )
        filled, sums = _summed(copies, weights)
        fit = maximise(objective(filled, sums), settings, fit)
        if done >= SETTLING:
            settled.append(fit)
    mean = Fit(
        np.mean([one.couplings for one in settled], axis=0),
        np.mean([one.fields for one in settled], axis=0),
        all(one.converged for one in settled),
        sum(one.n_iter for one in settled),
        max(one.gradient for one in settled),
    )
    return Completed(mean, filled, sums)


def _summed(spins, weights):
    """Distinct rows and the sums of their weights."""
    rows, which = distinct_rows(spins)
    return rows, np.bincount(which, weights)
