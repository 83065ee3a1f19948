"""What expectation propagation asks of a likelihood, and what it hands to it."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

__all__ = ["Cavity", "Likelihood", "Match"]


@dataclass(frozen=True)
class Cavity:
    """Marginals of the posterior without one copy of each site.

    Kept as the ratios that exist for every posterior: neither a latent value
    without variance nor an improper cavity needs an infinite number. With
    posterior mean ``mu``, variance ``s2`` and site ``tau``, ``nu``::

        precision = 1 / s2 - tau = share / s2       variance = s2 / share
        shift = mu / s2 - nu = lift / s2            mean = lift / share

    Attributes
    ----------
    share : array of shape (n,)
        ``1 - tau s2``; positive where the cavity is a proper Gaussian.
    lift : array of shape (n,)
        ``mu - s2 nu``.
    posterior_variance : array of shape (n,)
        ``s2``.
    """

    share: np.ndarray
    lift: np.ndarray
    posterior_variance: np.ndarray

    @classmethod
    def of(cls, mean, variance, precision, shift):
        """Remove sites from posterior marginals, all of shape (n,)."""
        return cls(1.0 - precision * variance, mean - variance * shift, variance)

    @classmethod
    def gaussian(cls, mean, variance):
        """Proper cavities of given means and variances (zero allowed)."""
        return cls(np.ones_like(variance), mean, variance)

    def of_sites(self, sites):
        """Cavities of some of the sites."""
        return Cavity(
            self.share[sites], self.lift[sites], self.posterior_variance[sites]
        )

    @cached_property
    def mean(self):
        """Mean, shape (n,); of proper cavities."""
        return self.lift / self.share

    @cached_property
    def variance(self):
        """Variance, shape (n,); of proper cavities."""
        return self.posterior_variance / self.share

    @cached_property
    def precision(self):
        """Natural parameter of ``-f^2 / 2``, of either sign."""
        return self.share / self.posterior_variance

    @cached_property
    def shift(self):
        """Natural parameter of ``f``."""
        return self.lift / self.posterior_variance


@dataclass(frozen=True)
class Match:
    """Tilted distributions (cavity times likelihood) and the sites that match them.

    Attributes
    ----------
    log_norm : array of shape (n,)
        Log integral of the likelihood under the cavity; see `Likelihood`.
    mean, variance : array of shape (n,)
        Of the tilted distributions.
    precision, shift : array of shape (n,)
        Sites ``exp(-precision f^2 / 2 + shift f)`` which, times the cavity, have
        that mean and variance: ``1 / variance - cavity.precision`` and
        ``mean / variance - cavity.shift``, in whatever form does not cancel.
    """

    log_norm: np.ndarray
    mean: np.ndarray
    variance: np.ndarray
    precision: np.ndarray
    shift: np.ndarray


class Likelihood(ABC):
    """Factors of one latent value each, known by the moments they produce.

    Attributes
    ----------
    n_sites : int
    proper_cavities : bool
        Whether cavities are normalised Gaussians, as continuous likelihoods need.
        False for discrete latent values, whose cavity is
        ``exp(-precision f^2 / 2 + shift f)`` at the values that ``f`` takes and
        may be improper; ``log_norm`` is then with respect to that.
    log_concave : bool
        Whether the precisions of all sites are known not to be negative.
    """

    n_sites: int
    proper_cavities = True
    log_concave = True

    def log_combined(self, cavity, precision, shift):
        """Log integral of sites under their cavities, measured as ``log_norm`` is.

        Parameters
        ----------
        cavity : Cavity
        precision, shift : array of shape (n,)

        Returns
        -------
        log_combined : array of shape (n,)
        """
        if self.proper_cavities:
            mean, variance = cavity.mean, cavity.variance
            spread = 1.0 + precision * variance
            square = shift * (shift * variance + 2.0 * mean) - precision * mean**2
            return 0.5 * (square / spread - np.log(spread))
        precision = precision + cavity.precision
        shift = shift + cavity.shift
        return 0.5 * (np.log(2.0 * np.pi / precision) + shift**2 / precision)

    @abstractmethod
    def match(self, cavity: Cavity, sites: slice | np.ndarray = slice(None)) -> Match:
        """Tilted moments of the given sites, and the sites that match them.

        Parameters
        ----------
        cavity : Cavity
            Of the given sites, shape (m,).
        sites : slice or array of int, default=slice(None)
            Which sites, m of them.

        Returns
        -------
        Match
        """

    def curvature(self, latent: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Differentiate the log likelihood, where every site allows it.

        Parameters
        ----------
        latent : array of shape (n,)

        Returns
        -------
        gradient, precision : array of shape (n,), or None
            The first derivative, and minus the second: the site of Laplace's method
            is ``precision`` and ``gradient + precision latent``. That sum cancels
            where the likelihood is nearly Gaussian; `match` to cavities without
            variance gives the same site and does not. None, the default, where some
            latent value is discrete or its likelihood a step.
        """
        return None
