"""Exact answers for small models that expectation propagation approximates."""

import itertools
import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_ndtr, logsumexp, roots_legendre

__all__ = [
    "Enumerated",
    "Posterior",
    "enumerate_ising",
    "log_orthant_evidence",
    "orthant_probability",
    "probit_by_quadrature",
]

PATH_NODES, PATH_WEIGHTS = roots_legendre(60)


@dataclass(frozen=True)
class Posterior:
    log_evidence: float
    mean: np.ndarray
    covariance: np.ndarray

    @property
    def sd(self):
        return np.sqrt(np.diag(self.covariance))


def probit_by_quadrature(
    X,
    y,
    prior_covariance,
    prior_mean=None,
    *,
    row_weights=None,
    noise_variance=1.0,
    points=61,
    deviations=9.0,
):
    """Evidence and moments of one to three probit weights on a dense grid.

    The trapezoidal rule converges faster than any power for integrands like these;
    the grid is laid along the axes of the posterior, of which a first grid around the
    mode, then each grid in turn, gives a better estimate.

    Parameters
    ----------
    X : array of shape (n, d)
    y : array of shape (n,)
        Of -1 and 1.
    prior_covariance : array of shape (d, d)
    prior_mean : array of shape (d,), default=None
    row_weights : array of shape (n,), default=None
        Powers of the likelihoods.
    noise_variance : float, default=1.0
    points : int, default=61
        Along each axis.
    deviations : float, default=9.0
        How far the last grids reach.

    Returns
    -------
    Posterior
    """
    d = X.shape[1]
    prior_mean = np.zeros(d) if prior_mean is None else prior_mean
    row_weights = np.ones(len(y)) if row_weights is None else row_weights
    prior_precision = np.linalg.inv(prior_covariance)
    log_prior_norm = -0.5 * (
        d * math.log(2.0 * math.pi) + np.linalg.slogdet(prior_covariance)[1]
    )
    signed = (y / math.sqrt(noise_variance))[:, np.newaxis] * X

    def log_joint(w):
        deviation = w - prior_mean
        quadratic = np.einsum("...i,ij,...j", deviation, prior_precision, deviation)
        return log_prior_norm - 0.5 * quadratic + log_ndtr(w @ signed.T) @ row_weights

    mode = minimize(lambda w: -log_joint(w), prior_mean, method="BFGS")
    mean, covariance = mode.x, mode.hess_inv
    unit = np.linspace(-1.0, 1.0, points)
    corners = np.stack(np.meshgrid(*d * [unit], indexing="ij"), axis=-1).reshape(-1, d)
    # Wide at first: a skew posterior reaches farther than its curvature tells.
    for reach in (2.0 * deviations, deviations, deviations):
        axes = np.linalg.cholesky(covariance)
        grid = mean + reach * corners @ axes.T
        logs = log_joint(grid)
        top = logs.max()
        masses = np.exp(logs - top)
        total = masses.sum()
        mean = masses @ grid / total
        covariance = np.einsum("k,ki,kj", masses, grid - mean, grid - mean) / total
        log_cell = d * math.log(2.0 * reach / (points - 1))
        log_cell += np.linalg.slogdet(axes)[1]
    return Posterior(top + math.log(total) + log_cell, mean, covariance)


def orthant_probability(correlation):
    """``P(u > 0)`` of centred Gaussians, for up to five of them.

    Closed up to three. Beyond, along ``R(t) = I + t (R - I)`` the derivative is a sum
    over pairs of the bivariate density at zero times the orthant probability of the
    others given zeros (Plackett), which is smooth in t.

    Parameters
    ----------
    correlation : array of shape (n, n)

    Returns
    -------
    float
    """
    n = len(correlation)
    pairs = list(itertools.combinations(range(n), 2))
    if n <= 3:
        angles = math.fsum(math.asin(correlation[pair]) for pair in pairs)
        return 0.5**n + angles / (math.pi * 2.0 ** (n - 1))
    rise = 0.0
    for node, weight in zip(PATH_NODES, PATH_WEIGHTS, strict=True):
        t = 0.5 * (1.0 + node)
        on_path = t * correlation + (1.0 - t) * np.eye(n)
        for i, j in pairs:
            rest = [k for k in range(n) if k not in (i, j)]
            density = 1.0 / (2.0 * math.pi * math.sqrt(1.0 - on_path[i, j] ** 2))
            given = conditional_correlation(on_path, rest, [i, j])
            rise += (
                0.5 * weight * correlation[i, j] * density * orthant_probability(given)
            )
    return 0.5**n + rise


def conditional_correlation(covariance, rest, given):
    cross = covariance[np.ix_(rest, given)]
    inner = np.linalg.inv(covariance[np.ix_(given, given)])
    conditional = covariance[np.ix_(rest, rest)] - cross @ inner @ cross.T
    sd = np.sqrt(np.diag(conditional))
    return conditional / np.outer(sd, sd)


def log_orthant_evidence(covariance, y, noise_variance=1.0):
    """Log evidence of probit labels of latent values with mean zero.

    ``Z = P(u > 0)``, ``u ~ N(0, noise I + diag(y) K diag(y))``.
    """
    total = noise_variance * np.eye(len(y)) + np.outer(y, y) * covariance
    sd = np.sqrt(np.diag(total))
    return math.log(orthant_probability(total / np.outer(sd, sd)))


@dataclass(frozen=True)
class Enumerated:
    log_partition: float
    magnetisations: np.ndarray
    correlations: np.ndarray


def enumerate_ising(couplings, fields):
    """All states of ``exp(x'Jx / 2 + B'x)``, x of -1 and 1.

    Returns
    -------
    Enumerated
        ``correlations`` are covariances of the spins.
    """
    states = np.array(list(itertools.product((-1.0, 1.0), repeat=len(fields))))
    logs = 0.5 * np.einsum("ki,ij,kj->k", states, couplings, states) + states @ fields
    log_partition = logsumexp(logs)
    masses = np.exp(logs - log_partition)
    mean = masses @ states
    second = np.einsum("k,ki,kj->ij", masses, states, states)
    return Enumerated(log_partition, mean, second - np.outer(mean, mean))
