"""Expectation propagation as textbooks print it: one site at a time, dense, slow.

Sites are ``Z_i N(f_i; m_i, v_i)``, kept as means and variances; after every single
site the posterior is formed anew from ``(K + diag v)^-1``; the evidence is the
Gaussian integral of the product of all sites. Nothing is guarded against
cancellation, so problems must be mild: no site may come out without precision.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import log_expit, log_ndtr, roots_legendre

__all__ = [
    "Textbook",
    "logistic_power",
    "probit",
    "probit_power",
    "repeated",
    "textbook_ep",
    "weight_posterior",
]

NODES, NODE_WEIGHTS = roots_legendre(400)


@dataclass(frozen=True)
class Textbook:
    """Posterior of the latent values, sites and cavities after the last sweep."""

    log_evidence: float
    mean: np.ndarray
    covariance: np.ndarray
    site_mean: np.ndarray
    site_variance: np.ndarray
    cavity_mean: np.ndarray
    cavity_variance: np.ndarray

    @property
    def site_precision(self):
        return 1.0 / self.site_variance

    @property
    def site_shift(self):
        return self.site_mean / self.site_variance


def normal_density(x):
    return math.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)


def probit(y, noise_variance=1.0):
    """``Phi(y_i f_i / sqrt(noise))``: log integral, mean and variance when tilted."""

    def tilted(i, m, v):
        root = math.sqrt(noise_variance + v)
        z = y[i] * m / root
        log_integral = float(log_ndtr(z))
        ratio = normal_density(z) / math.exp(log_integral)
        mean = m + y[i] * v * ratio / root
        return log_integral, mean, v - v * v * ratio * (z + ratio) / root**2

    return tilted


def by_quadrature(log_likelihood, m, v):
    """Tilted moments by Gauss-Legendre over fourteen deviations to either side."""
    width = 14.0 * math.sqrt(v)
    f = m + width * NODES
    log_values = log_likelihood(f) - 0.5 * (f - m) ** 2 / v
    top = log_values.max()
    masses = NODE_WEIGHTS * np.exp(log_values - top)
    total = masses.sum()
    mean = masses @ f / total
    variance = masses @ (f - mean) ** 2 / total
    scale = width / math.sqrt(2.0 * math.pi * v)
    return top + math.log(total * scale), mean, variance


def probit_power(y, power, noise_variance=1.0):
    """The same for ``Phi(y_i f_i / sqrt(noise)) ** power_i``."""
    sd = math.sqrt(noise_variance)
    return lambda i, m, v: by_quadrature(
        lambda f: power[i] * log_ndtr(y[i] * f / sd), m, v
    )


def logistic_power(y, power):
    """The same for ``(1 / (1 + exp(-y_i f_i))) ** power_i``."""
    return lambda i, m, v: by_quadrature(lambda f: power[i] * log_expit(y[i] * f), m, v)


def repeated(covariance, y, copies, prior_mean=None):
    """The problem with each row written down as often as its weight says."""
    rows = [i for i, copy in enumerate(copies) for _ in range(copy)]
    prior_mean = np.zeros(len(y)) if prior_mean is None else prior_mean
    return covariance[np.ix_(rows, rows)], y[rows], prior_mean[rows], rows


def posterior(covariance, prior_mean, site_mean, variance_of_copies):
    """Gaussian prior times the sites that have been visited."""
    seen = np.flatnonzero(np.isfinite(variance_of_copies))
    if seen.size == 0:
        return prior_mean.copy(), covariance.copy()
    observed = covariance[np.ix_(seen, seen)] + np.diag(variance_of_copies[seen])
    gain = covariance[:, seen] @ np.linalg.inv(observed)
    mean = prior_mean + gain @ (site_mean[seen] - prior_mean[seen])
    return mean, covariance - gain @ covariance[seen]


def without_one_copy(mean, variance, site_mean, site_variance):
    """Mean and variance of the cavity."""
    if math.isinf(site_variance):
        return mean, variance
    cavity_variance = 1.0 / (1.0 / variance - 1.0 / site_variance)
    return (
        cavity_variance * (mean / variance - site_mean / site_variance),
        cavity_variance,
    )


def log_normal(x, mean, covariance):
    deviation = x - mean
    sign, log_determinant = np.linalg.slogdet(covariance)
    assert sign > 0
    quadratic = deviation @ np.linalg.solve(covariance, deviation)
    return -0.5 * (len(x) * math.log(2.0 * math.pi) + log_determinant + quadratic)


def log_site_constant(log_integral, m, v, site_mean, site_variance):
    """Log Z_i: site and likelihood have the same integral under the cavity."""
    total = v + site_variance
    return log_integral + 0.5 * (
        math.log(2.0 * math.pi * total) + (m - site_mean) ** 2 / total
    )


def log_copies_constant(copies, site_variance):
    """Log of ``N(f; m, v) ** copies`` over ``N(f; m, v / copies)``."""
    return 0.5 * (
        math.log(2.0 * math.pi * site_variance / copies)
        - copies * math.log(2.0 * math.pi * site_variance)
    )


def textbook_ep(
    covariance, tilted, *, prior_mean=None, copies=None, tol=1e-13, max_sweeps=500
):
    """Sweep over the sites in order until no posterior moment moves.

    Parameters
    ----------
    covariance : array of shape (n, n)
        Of the latent values.
    tilted : callable
        ``(i, m, v)`` to the log integral of likelihood i under ``N(m, v)``, and mean
        and variance of their product.
    prior_mean : array of shape (n,), default=None
        None for zero.
    copies : array of shape (n,), default=None
        Each site enters the posterior to this power, and leaves the cavity once.
    tol : float, default=1e-13
        Largest change of a mean or covariance over a sweep, in prior deviations.
    max_sweeps : int, default=500

    Returns
    -------
    Textbook
    """
    n = len(covariance)
    prior_mean = np.zeros(n) if prior_mean is None else prior_mean
    copies = np.ones(n) if copies is None else copies
    site_mean, site_variance = np.zeros(n), np.full(n, np.inf)
    mean, sigma = posterior(covariance, prior_mean, site_mean, site_variance)
    scale = np.sqrt(np.diag(covariance))
    for _ in range(max_sweeps):
        mean_before, sigma_before = mean, sigma
        for i in range(n):
            m, v = without_one_copy(
                mean[i], sigma[i, i], site_mean[i], site_variance[i]
            )
            _, tilted_mean, tilted_variance = tilted(i, m, v)
            site_variance[i] = 1.0 / (1.0 / tilted_variance - 1.0 / v)
            site_mean[i] = site_variance[i] * (tilted_mean / tilted_variance - m / v)
            mean, sigma = posterior(
                covariance, prior_mean, site_mean, site_variance / copies
            )
        moved = max(
            np.abs((mean - mean_before) / scale).max(),
            np.abs((sigma - sigma_before) / np.outer(scale, scale)).max(),
        )
        if moved < tol:
            break
    cavities = np.array(
        [
            without_one_copy(mean[i], sigma[i, i], site_mean[i], site_variance[i])
            for i in range(n)
        ]
    )
    sites = site_mean, site_variance
    return Textbook(
        log_evidence(covariance, tilted, prior_mean, copies, sites, cavities),
        mean,
        sigma,
        *sites,
        *cavities.T,
    )


def log_evidence(covariance, tilted, prior_mean, copies, sites, cavities):
    """Log integral of the prior times all copies of all sites, constants included."""
    total = 0.0
    for i, (m, v) in enumerate(cavities):
        site_mean, site_variance = sites[0][i], sites[1][i]
        log_integral = tilted(i, m, v)[0]
        total += copies[i] * log_site_constant(
            log_integral, m, v, site_mean, site_variance
        )
        total += log_copies_constant(copies[i], site_variance)
    noise = np.diag(sites[1] / copies)
    return total + log_normal(sites[0], prior_mean, covariance + noise)


def weight_posterior(X, prior_covariance, prior_mean, result, copies=None):
    """Mean and covariance of w, ``f = X w``, given the sites of `textbook_ep`."""
    copies = np.ones(len(X)) if copies is None else copies
    precision = np.linalg.inv(prior_covariance)
    shift = precision @ prior_mean
    for x, weight, m, v in zip(
        X, copies, result.site_mean, result.site_variance, strict=True
    ):
        precision = precision + weight * np.outer(x, x) / v
        shift = shift + weight * m * x / v
    covariance = np.linalg.inv(precision)
    return covariance @ shift, covariance
