"""Couplings and fields that maximise a penalised objective of rows of spins."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

__all__ = ["FIELD_PRECISION", "Fit", "Objective", "Penalty", "Settings", "maximise"]

Penalty = Literal["l1", "l2"]
Floats = NDArray[np.float64]

# Precision of the prior of a field: as weak as keeps that of a constant spin finite.
FIELD_PRECISION = 1.0
# Pairs of steps and gradients that stand for the curvature.
MEMORY = 20


class Objective(ABC):
    """Concave function of fields and couplings that rows of spins define.

    Parameters
    ----------
    spins : ndarray of int8 of shape (n_samples, n)
        Entries -1 and 1.
    weights : ndarray of shape (n_samples,)
        Positive; a weight of w is w copies of the row.
    """

    def __init__(self, spins: NDArray[np.int8], weights: Floats):
        self.total = float(weights.sum())
        self.means = weights @ spins / self.total
        # Of the rows, how many tell of a spin.
        self.shares = np.ones_like(self.means)

    @classmethod
    def of_completed(
        cls,
        spins: NDArray[np.int8],
        weights: Floats,
        observed: NDArray[np.bool_],
    ) -> "Objective":
        """Objective of rows in which what was missing has been filled in.

        Parameters
        ----------
        spins : ndarray of int8 of shape (n_samples, n)
            Entries -1 and 1.
        weights : ndarray of shape (n_samples,)
        observed : ndarray of bool of shape (n_samples, n)
            Entries that have not been filled in; an objective that is a sum over the
            spins of a row leaves out the others.

        Returns
        -------
        Objective
        """
        return cls(spins, weights)

    @abstractmethod
    def evaluate(
        self, fields: Floats, couplings: Floats
    ) -> tuple[float, Floats, Floats]:
        """Evaluate the objective, a sum over rows.

        Parameters
        ----------
        fields : ndarray of shape (n,)
        couplings : ndarray of shape (n, n)

        Returns
        -------
        value : float
        of_fields : ndarray of shape (n,)
            Gradient.
        of_pairs : ndarray of shape (n, n)
            Gradient in the couplings above the diagonal, each of which stands below
            it too; the rest is not read.
        """


@dataclass(frozen=True)
class Fit:
    """Maximum of a penalised objective.

    Attributes
    ----------
    couplings : ndarray of shape (n, n)
        Symmetric, zero diagonal.
    fields : ndarray of shape (n,)
    converged : bool
        Whether the gradient met the tolerance.
    n_iter : int
        Iterations of the optimiser.
    gradient : float
        Largest entry of the gradient, as `Settings.tol` has it, leaving out those that
        the L1 penalty holds at zero.
    """

    couplings: Floats
    fields: Floats
    converged: bool
    n_iter: int
    gradient: float


@dataclass(frozen=True)
class Settings:
    """What is added to an objective, and how near its maximum is near enough.

    Attributes
    ----------
    alpha : float
        Precision of the normal prior of a coupling (L2), or rate of its Laplace prior
        (L1). Not negative.
    penalty : {'l2', 'l1'}, default='l2'
        With ``'l1'`` a coupling is exactly zero unless the rows pull at it by more
        than ``alpha``.
    max_iter : int, default=1000
        Iterations of L-BFGS, at the most.
    tol : float, default=1e-5
        Largest entry of the gradient that counts as converged, per unit of weight and
        in the parameters of `_Coordinates`, whose curvature is near one.
    """

    alpha: float
    penalty: Penalty = "l2"
    max_iter: int = 1000
    tol: float = 1e-5


def maximise(objective: Objective, settings: Settings, start: Fit | None = None) -> Fit:
    """Maximise an objective less ``alpha R(J) + sum_i B_i^2 / 2``.

    ``R = sum_(i<j) J_ij^2 / 2`` or ``R = sum_(i<j) |J_ij|``: the maximum is the mode
    under a prior, which counts for less as rows become more.

    Parameters
    ----------
    objective : Objective
    settings : Settings
    start : Fit, default=None
        Where to begin; None for independent, unbiased spins.

    Returns
    -------
    Fit
    """
    coordinates = _Coordinates(objective, settings)
    begin = np.zeros(coordinates.size)
    if start is not None:
        begin = coordinates.of(start.fields, start.couplings)

    def without_penalty(parameters):
        """Negative of all but the penalty of the couplings, and its gradient."""
        fields, couplings = coordinates.model(parameters)
        value, of_fields, of_pairs = objective.evaluate(fields, couplings)
        value = FIELD_PRECISION / 2 * fields @ fields - value
        of_fields = FIELD_PRECISION * fields - of_fields
        return value, coordinates.gradient(of_fields, -of_pairs)

    minimise = _with_l1 if settings.penalty == "l1" else _with_l2
    parameters, gradient, n_iter = minimise(
        without_penalty, begin, coordinates.pair_scale, objective.total, settings
    )
    fields, couplings = coordinates.model(parameters)
    largest = float(np.abs(gradient).max())
    return Fit(couplings, fields, largest <= settings.tol, n_iter, largest)


class _Coordinates:
    """Parameters of which all have a curvature near one, and none leans on another.

    They are the local fields of spins at their means, ``B_i + sum_j J_ij m_j``, then
    the couplings above the diagonal, each times the root of its curvature per unit of
    weight where spins are independent. In fields and couplings as they are, columns
    that are mostly zero make a long narrow valley.
    """

    def __init__(self, objective, settings):
        self.means = objective.means
        n = len(self.means)
        self.pairs = np.triu_indices(n, 1)
        self.size = n + len(self.pairs[0])
        variances = 1.0 - self.means**2
        prior = FIELD_PRECISION / objective.total
        self.field_scale = np.sqrt(variances * objective.shares + prior)
        both = np.multiply.outer(variances, variances)
        both = (both * np.add.outer(objective.shares, objective.shares))[self.pairs]
        if settings.penalty == "l2":
            prior += settings.alpha / objective.total
        self.pair_scale = np.sqrt(both + prior)

    def model(self, parameters):
        """Fields and the symmetric matrix of couplings."""
        n = len(self.means)
        couplings = np.zeros((n, n))
        couplings[self.pairs] = parameters[n:] / self.pair_scale
        couplings += couplings.T
        return parameters[:n] / self.field_scale - couplings @ self.means, couplings

    def of(self, fields, couplings):
        """Parameters of a model."""
        local = fields + couplings @ self.means
        return np.append(
            local * self.field_scale, couplings[self.pairs] * self.pair_scale
        )

    def gradient(self, of_fields, of_pairs):
        """Gradient in the parameters, given that in fields and in pairs."""
        i, j = self.pairs
        shared = of_fields[i] * self.means[j] + of_fields[j] * self.means[i]
        return np.append(
            of_fields / self.field_scale, (of_pairs[i, j] - shared) / self.pair_scale
        )


def _with_l2(without_penalty, begin, scale, total, settings):
    """Minimum, its gradient per unit of weight, and the iterations to it."""
    n = len(begin) - len(scale)

    def penalised(parameters):
        value, gradient = without_penalty(parameters)
        upper = parameters[n:] / scale
        value += settings.alpha / 2 * upper @ upper
        gradient[n:] += settings.alpha * upper / scale
        return value / total, gradient / total

    found = _lbfgs(penalised, begin, None, settings)
    return found.x, found.jac, int(found.nit)


def _with_l1(without_penalty, begin, scale, total, settings):
    """Minimum, its gradient per unit of weight, and the iterations to it.

    A coupling is the difference of two parts that are not negative, of which the
    penalty is smooth; it is zero exactly where the bounds hold both.
    """
    n_pairs = len(scale)
    n = len(begin) - n_pairs
    rates = settings.alpha / np.append(scale, scale)

    def joined(parts):
        fields, positive, negative = np.split(parts, [n, n + n_pairs])
        return np.append(fields, positive - negative)

    def penalised(parts):
        value, gradient = without_penalty(joined(parts))
        value += rates @ parts[n:]
        gradient = np.append(gradient, -gradient[n:])
        gradient[n:] += rates
        return value / total, gradient / total

    parts = np.concatenate(
        [begin[:n], np.maximum(begin[n:], 0.0), np.maximum(-begin[n:], 0.0)]
    )
    bounds = [(None, None)] * n + [(0.0, None)] * (2 * n_pairs)
    found = _lbfgs(penalised, parts, bounds, settings)
    held = (found.x == 0.0) & (found.jac > 0.0)
    held[:n] = False
    return joined(found.x), found.jac[~held], int(found.nit)


def _lbfgs(objective, begin, bounds, settings):
    """Minimise until the gradient meets the tolerance or rounding ends the descent."""
    return minimize(
        objective,
        begin,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={
            "maxiter": settings.max_iter,
            "maxfun": 20 * settings.max_iter,
            "maxcor": MEMORY,
            "gtol": settings.tol,
            "ftol": 0.0,
        },
    )
