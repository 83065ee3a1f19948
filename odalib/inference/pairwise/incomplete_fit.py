"""Fits to rows with missing entries: what is missing is filled in, given the rest.

The gradient of the log pseudo-likelihood of complete rows, or of their likelihood, has
mean zero at the true parameters, and so has its mean given what was observed. Where
entries are missing whatever their value (at random), the zero of that conditional mean
is therefore a consistent estimate. It is sought as Monte-Carlo expectation-maximisation
has it: complete the rows under the parameters, fit the completed rows, and so on
(G. Wei and M. Tanner, J. American Statistical Association 85, 1990), with these aids.

- The rounds begin at independent spins that have the observed means, not at fair coins.
- Of the pseudo-likelihood of completed rows, only the conditionals of observed spins
  count: those of spins that were filled in have a gradient of mean zero, and would hold
  the parameters where they are.
- Where few rows tell of a parameter, a round goes beyond the fit to its completed rows,
  by less than twice the step, with which the rounds still converge (B. Peters and H.
  Walker, SIAM J. Applied Mathematics 35, 1978).
- Spins that were never observed keep couplings of zero: they would become hidden units.
- What is drawn makes the parameters walk; the mean over the later half of the rounds is
  taken, and there are more rounds while that mean still drifts.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from odalib.inference.pairwise.completion import Completion
from odalib.inference.pairwise.distinct import distinct_rows
from odalib.inference.pairwise.penalised_fit import (
    FIELD_PRECISION,
    Fit,
    Objective,
    Settings,
    maximise,
)

__all__ = ["MOST_DRIFT", "Completed", "fit_rows"]

Floats = NDArray[np.float64]

# Rounds of completing and fitting after which the drift is looked at.
ROUNDS = (20, 40, 80, 160)
# Drift that counts as none, in standard deviations of the parameters.
MOST_DRIFT = 0.5
# Where nothing is drawn, what drifts has further to go: more rounds, and a drift at
# which they end.
MORE_ROUNDS, LEAST_DRIFT = (320, 640), 0.02
# Steps of a round in units of that to the fit of its completed rows, at the most.
LONGEST_STEP = 1.8
# Iterations of the fit in a round, which need not be more exact than its draws.
ROUND_ITER = 4


@dataclass(frozen=True)
class Completed:
    """A fit, and the complete rows that it is the fit of.

    Attributes
    ----------
    fit : Fit
    spins : ndarray of int8 of shape (m, n)
        Distinct rows, those that were incomplete in several copies.
    weights : ndarray of shape (m,)
    observed : ndarray of bool of shape (m, n)
    drift : float
        Largest change of a parameter, between the means over the last two quarters of
        the rounds, in its standard deviations under the rows and the prior. Zero where
        no entry is missing.
    n_rounds : int
        Of completing and fitting; zero where no entry is missing.
    """

    fit: Fit
    spins: NDArray[np.int8]
    weights: Floats
    observed: NDArray[np.bool_]
    drift: float
    n_rounds: int

    @property
    def converged(self) -> bool:
        """Whether the fit met its tolerance, and the rounds settled."""
        return self.fit.converged and self.drift <= MOST_DRIFT


def fit_rows(
    spins: NDArray[np.int8],
    weights: Floats,
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

    Returns
    -------
    Completed
    """
    spins, which = distinct_rows(spins)
    weights = np.bincount(which, weights).astype(np.float64)
    if spins.all():
        fit = maximise(objective(spins, weights), settings)
        return Completed(fit, spins, weights, spins != 0, 0.0, 0)
    told = _Told(spins, weights, settings)
    completion = Completion(spins, weights, rng)
    rounds = replace(settings, max_iter=min(settings.max_iter, ROUND_ITER))
    fit = told.independent()
    trace: list[Fit] = []
    ends: tuple[int, ...] = ROUNDS
    enough = MOST_DRIFT
    if completion.listed.all():
        ends, enough = ROUNDS + MORE_ROUNDS, LEAST_DRIFT
    for n_rounds in ends:
        while len(trace) < n_rounds:
            completion.update(fit)
            completed = objective.of_completed(*completion.distinct())
            fit = told.beyond(fit, maximise(completed, rounds, fit), completed)
            trace.append(fit)
        third, fourth = n_rounds // 2, n_rounds * 3 // 4
        drift = told.drift(_mean(trace[third:fourth]), _mean(trace[fourth:]))
        if drift <= enough:
            break
    mean = _mean(trace[third:])
    completion.update(mean)
    rows = completion.distinct()
    fit = maximise(objective.of_completed(*rows), settings, mean)
    fit = replace(
        fit,
        couplings=np.where(told.hidden, 0.0, fit.couplings),
        n_iter=fit.n_iter + sum(one.n_iter for one in trace),
    )
    return Completed(fit, *rows, drift, len(trace))


class _Told:
    """How much incomplete rows tell of every parameter.

    Parameters
    ----------
    spins : ndarray of int8 of shape (m, n)
    weights : ndarray of shape (m,)
    settings : Settings
    """

    def __init__(self, spins, weights, settings):
        observed = (spins != 0).astype(np.float64)
        self.sums = weights @ spins
        self.total = float(weights.sum())
        self.of_fields = weights @ observed
        self.of_pairs = 2.0 * (observed.T * weights) @ observed
        never = self.of_fields == 0.0
        self.hidden = np.logical_or.outer(never, never)
        self.means = self.sums / (self.of_fields + FIELD_PRECISION)
        variances = 1.0 - self.means**2
        self.field_errors = 1.0 / np.sqrt(variances * self.of_fields + FIELD_PRECISION)
        # A Laplace prior of rate a has the variance 2 / a^2.
        prior = settings.alpha
        if settings.penalty == "l1":
            prior = settings.alpha**2 / 2.0
        both = np.multiply.outer(variances, variances)
        self.pair_errors = 1.0 / np.sqrt(both * self.of_pairs + prior + FIELD_PRECISION)

    def independent(self):
        """Independent spins of the observed means, under the prior of the fields."""
        n_spins = len(self.sums)
        fields = np.zeros(n_spins)
        for i in np.flatnonzero(self.sums):
            ends = sorted((0.0, self.sums[i] / FIELD_PRECISION))
            fields[i] = brentq(
                lambda field, i=i: (
                    self.sums[i]
                    - self.of_fields[i] * np.tanh(field)
                    - FIELD_PRECISION * field
                ),
                *ends,
            )
        return Fit(np.zeros((n_spins, n_spins)), fields, True, 0, 0.0)

    def beyond(self, before, fit, completed):
        """Go beyond a fit to completed rows where these mostly repeat what was."""
        shares = completed.shares * self.total
        of_fields = _step(shares, self.of_fields)
        of_pairs = _step(np.add.outer(shares, shares), self.of_pairs)
        of_pairs[self.hidden] = 0.0
        couplings = before.couplings + of_pairs * (fit.couplings - before.couplings)
        # Fields at the mean of the others, which a coupling does not shift.
        start = before.fields + before.couplings @ self.means
        end = fit.fields + fit.couplings @ self.means
        fields = start + of_fields * (end - start) - couplings @ self.means
        return replace(fit, couplings=couplings, fields=fields)

    def drift(self, one, other):
        """Largest change of a parameter, in its standard deviations."""
        couplings = other.couplings - one.couplings
        fields = other.fields - one.fields + couplings @ self.means
        return float(
            max(
                np.abs(fields / self.field_errors).max(),
                np.abs(couplings / self.pair_errors).max(),
            )
        )


def _step(counted, told):
    """Length of steps where so many rows count, and so many tell."""
    return np.clip(counted / np.maximum(told, 1.0), 1.0, LONGEST_STEP)


def _mean(fits):
    """Fit at the mean parameters of several."""
    return replace(
        fits[-1],
        couplings=np.mean([fit.couplings for fit in fits], axis=0),
        fields=np.mean([fit.fields for fit in fits], axis=0),
    )
