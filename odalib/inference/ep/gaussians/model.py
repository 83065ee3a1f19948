"""What expectation propagation asks of a Gaussian model."""

from abc import ABC, abstractmethod

import numpy as np

from odalib.inference.ep.likelihood import Cavity

__all__ = [
    "GaussianModel",
    "LostDefiniteness",
    "MovingPosterior",
    "Posterior",
    "symmetric",
]


class LostDefiniteness(ValueError):
    """Prior times sites is not a Gaussian: its precision is not positive definite.

    By rounding, where a prior is so wide that its smallest digits do not count.
    """


class Posterior(ABC):
    """Latent values under prior times sites, for the sites it was made with.

    Attributes
    ----------
    mean : array of shape (n,)
        Of the latent values.
    log_normaliser : float
        Log integral of the prior times ``exp(-precision f^2 / 2 + shift f)`` of every
        site. A prior of the latent values is normalised; one given by its precision
        is ``exp(-f' P f / 2 + h' f)``.
    """

    mean: np.ndarray
    log_normaliser: float

    @property
    @abstractmethod
    def variance(self) -> np.ndarray:
        """Marginal variances of the latent values, shape (n,)."""

    def cavity(self, precision, shift):
        """Marginals without one copy of each site.

        Parameters
        ----------
        precision, shift : array of shape (n,)
            Of one copy.

        Returns
        -------
        Cavity
        """
        return Cavity.of(self.mean, self.variance, precision, shift)

    def log_excess(self, cavity, counts):
        """Subtract the log integrals of all marginals from the log normaliser.

        Parameters
        ----------
        cavity : Cavity
            Of this posterior.
        counts : array of shape (n,)
            How often each marginal ``exp(-f^2 / (2 s2) + mu f / s2)`` is subtracted:
            as often as its site is in the posterior.

        Returns
        -------
        float
        """
        scale = np.log(2.0 * np.pi * self.variance) + self.mean**2 / self.variance
        return float(self.log_normaliser - 0.5 * counts @ scale)

    @abstractmethod
    def respond(self, shift: np.ndarray) -> np.ndarray:
        """Change of all means, were the shifts of the sites to change so; (n,)."""

    @abstractmethod
    def moving(self) -> "MovingPosterior":
        """Copy that follows changes of some sites at a time."""

    @abstractmethod
    def covariance(self) -> np.ndarray:
        """Covariance of all latent values, shape (n, n)."""


class MovingPosterior(ABC):
    """Posterior that is updated in place as sites change."""

    @abstractmethod
    def block(self, sites: slice) -> tuple[np.ndarray, np.ndarray]:
        """Mean, shape (b,), and covariance, shape (b, b), of some latent values."""

    def dense(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Mean and covariance of all latent values, where they are held as such.

        Who writes to them changes the posterior. None, the default, where others
        than these moments are held.
        """
        return None

    @abstractmethod
    def local(self, sites: slice) -> "MovingPosterior":
        """Posterior of some latent values by themselves, numbered from zero."""

    @abstractmethod
    def update(self, sites: slice, precision: np.ndarray, shift: np.ndarray) -> None:
        """Add to the natural parameters of some sites, shape (b,) each.

        Raises
        ------
        LostDefiniteness
            Where no Gaussian is left.
        """


class GaussianModel(ABC):
    """Gaussian prior of n latent values.

    Attributes
    ----------
    n_sites : int
    any_sign : bool
        Whether site precisions may be negative.
    """

    n_sites: int
    any_sign = True

    @abstractmethod
    def posterior(self, precision: np.ndarray, shift: np.ndarray) -> Posterior:
        """Prior times sites.

        Parameters
        ----------
        precision, shift : array of shape (n,)
            Natural parameters of the sites.

        Raises
        ------
        LostDefiniteness
            Where the sites make the precision lose its positive definiteness.
        """

    def first_precision(self) -> np.ndarray:
        """Site precisions to start from, which give a proper posterior."""
        return np.zeros(self.n_sites)

    def rough(self) -> "GaussianModel":
        """Give the same model to a few digits, where that is cheaper; else itself."""
        return self


def symmetric(lower):
    """Whole of a symmetric matrix whose strict upper triangle is zero."""
    return lower + np.tril(lower, -1).T
