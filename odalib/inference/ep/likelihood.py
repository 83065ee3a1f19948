"""What expectation propagation asks of a likelihood, and what it hands to it."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

__all__ = ["Cavity", "Expectation", "Likelihood", "Match"]

# Step of difference quotients, in tilted deviations.
NUDGE = 1e-2


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


@dataclass(frozen=True)
class Expectation:
    """Log likelihoods expected under Gaussians, and the sites that they ask for.

    Attributes
    ----------
    log_likelihood : array of shape (n,)
        ``E[log l(f)]``.
    precision, shift : array of shape (n,)
        ``-E[(log l)''(f)]``, and ``E[(log l)'(f)] + precision * E[f]``: the site of
        the same expected derivatives.
    """

    log_likelihood: np.ndarray
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
        """Log integral of sites under their normalised cavities.

        Parameters
        ----------
        cavity : Cavity
        precision, shift : array of shape (n,)

        Returns
        -------
        log_combined : array of shape (n,)
        """
        mean, variance = cavity.mean, cavity.variance
        spread = 1.0 + precision * variance
        square = shift * (shift * variance + 2.0 * mean) - precision * mean**2
        return 0.5 * (square / spread - np.log(spread))

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

    def match_in_turn(
        self,
        mean: np.ndarray,
        covariance: np.ndarray,
        sites: slice,
        precision: np.ndarray,
        shift: np.ndarray,
    ) -> int | None:
        """Match single copies of sites one after the other, where a kernel can.

        Parameters
        ----------
        mean : array of shape (b,)
        covariance : array of shape (b, b)
            Of the latent values of the sites, in Fortran order; both are taken over.
        sites : slice
            Which sites.
        precision, shift : array of shape (b,)
            Of the sites; updated in place.

        Returns
        -------
        n_improper : int or None
            Sites of improper cavities, which stay as they are. None, the default,
            where there is no kernel for some of the sites, and nothing has changed.
        """
        return None

    def higher_cumulants(self, cavity: Cavity) -> tuple[np.ndarray, np.ndarray]:
        """Third and fourth cumulants of the tilted distributions of all sites.

        They are what the variance does as the shift of the cavity moves, and shape
        steps only: a difference quotient is exact enough.

        Parameters
        ----------
        cavity : Cavity

        Returns
        -------
        third, fourth : array of shape (n,)
        """
        variance = self.match(cavity).variance
        width = NUDGE / np.sqrt(variance)
        above, below = (
            self.match(
                replace(
                    cavity,
                    lift=cavity.lift + sign * width * cavity.posterior_variance,
                )
            ).variance
            for sign in (1.0, -1.0)
        )
        third = (above - below) / (2.0 * width)
        return third, (above - 2.0 * variance + below) / width**2

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

    def expect(self, mean: np.ndarray, variance: np.ndarray) -> Expectation | None:
        """Expect the log likelihood under a Gaussian of every site.

        Parameters
        ----------
        mean, variance : array of shape (n,)

        Returns
        -------
        Expectation or None
            None, the default, where some likelihood is zero for latent values that a
            Gaussian reaches: of a discrete latent value, and of a step.
        """
        return None
