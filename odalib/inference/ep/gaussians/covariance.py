"""Latent values with a given prior covariance, as in a Gaussian process."""

from functools import cached_property

import numpy as np
from scipy.linalg import get_lapack_funcs
from scipy.linalg.lapack import dpotrf

from odalib.inference.ep.gaussians.dense import DenseMoving
from odalib.inference.ep.gaussians.model import (
    GaussianModel,
    LostDefiniteness,
    Posterior,
    symmetric,
)

__all__ = ["Covariance", "CovariancePosterior", "check_covariance"]

LAPACK = ("potrf", "potrs", "trtri", "lauum")
# A covariance passes that is positive definite once this share of its mean variance
# is added to the diagonal: rounding leaves semidefinite ones so.
JITTER = 1e-8
# Share of its information that a site must give for `1 - share` to keep its digits.
DIVISIBLE = 1e-6
# Latent values from which the price of a factorisation is that of its arithmetic, and
# variances below which no product leaves the range of float32.
MANY, MODERATE = 256, 1e9


class Covariance(GaussianModel):
    """Prior ``N(mean, covariance)`` of the latent values.

    It takes no site of negative precision: ``B = I + S^(1/2) K S^(1/2)``, whose
    eigenvalues are at least one, then serves without the inverse of ``K``, which
    need not exist.

    Parameters
    ----------
    covariance : array of shape (n, n)
        ``K``: symmetric, positive semidefinite (`check_covariance`). In float32, so
        are the factors of the posterior.
    mean : array of shape (n,), default=None
        Prior mean; None for zeros.
    """

    any_sign = False

    def __init__(self, covariance, mean=None):
        self.n_sites = len(covariance)
        self.covariance = covariance
        self.mean = np.zeros(self.n_sites) if mean is None else mean

    def posterior(self, precision, shift):
        return CovariancePosterior(self, precision, shift)

    def rough(self):
        if self.n_sites < MANY or np.diag(self.covariance).max() > MODERATE:
            return self
        return Covariance(self.covariance.astype(np.float32), self.mean)


class CovariancePosterior(Posterior):
    """Posterior of `Covariance`; everything is derived from ``B`` when asked for.

    Attributes
    ----------
    weights : array of shape (n,)
        ``a = K^-1 (mean - prior mean) = shift - precision * mean``.
    """

    def __init__(self, model, precision, shift):
        self._model = model
        self._precision, self._root = precision, np.sqrt(precision)
        root = self._root.astype(model.covariance.dtype)
        scaled = np.multiply(model.covariance, root, order="F")
        scaled *= root[:, np.newaxis]
        scaled.flat[:: len(root) + 1] += 1.0
        self._factor = scaled
        if precision.any():
            self._factor, info = self._lapack[0](scaled, lower=1, overwrite_a=1)
            if info != 0:
                raise LostDefiniteness(
                    f"The covariance of the latent values is not positive definite: "
                    f"the factorisation of I + S^(1/2) K S^(1/2) broke down at row "
                    f"{info - 1}."
                )
        self.weights = self._solve_shift(shift)
        self._moved = model.covariance @ self.weights
        self.mean = model.mean + self._moved
        residual = shift - precision * model.mean
        self.log_normaliser = float(
            -np.log(np.diag(self._factor)).sum()
            + model.mean @ (shift - 0.5 * precision * model.mean)
            + 0.5 * residual @ self._moved
        )

    @property
    def _lapack(self):
        # Looked up each time, since a posterior that holds them does not pickle.
        return get_lapack_funcs(LAPACK, (self._model.covariance,))

    def _solve_shift(self, shift):
        """``K^-1 (mean - prior mean)``, where sites have no precision too."""
        root, given = self._root, self._precision > 0
        residual = shift - self._precision * self._model.mean
        scaled = np.divide(residual, root, out=np.zeros_like(root), where=given)
        weights = root * self._solve(scaled)
        loose = np.where(given, 0.0, residual)
        if loose.any():
            pulled = root * (self._model.covariance @ loose)
            weights += loose - root * self._solve(pulled)
        return weights

    def _solve(self, right):
        """``B^-1 right``."""
        return self._lapack[1](self._factor, right, lower=1)[0]

    @cached_property
    def _inverse_factor(self):
        return self._lapack[2](self._factor, lower=1)[0]

    @cached_property
    def variance(self):
        """Marginal variances, shape (n,).

        ``(1 - (B^-1)_ii) / tau_i``; where that has no digits left,
        ``K_ii - |L^-1 S^(1/2) k_i|^2``.
        """
        prior = np.diag(self._model.covariance)
        share = 1.0 - np.einsum("ij,ij->j", self._inverse_factor, self._inverse_factor)
        by_difference = (share < DIVISIBLE) & (self._precision * prior < 1.0)
        variance = np.divide(
            share, self._precision, out=np.zeros_like(share), where=~by_difference
        )
        columns = np.flatnonzero(by_difference)
        if columns.size:
            variance[columns] = prior[columns] - self.explained(
                self._model.covariance[:, columns]
            )
        return variance

    def explained(self, covariance):
        """``k' R k`` of columns ``k`` of covariances with the latent values.

        ``R = S^(1/2) B^-1 S^(1/2)``; what the sites take from a prior variance.

        Parameters
        ----------
        covariance : array of shape (n, m)

        Returns
        -------
        explained : array of shape (m,)
        """
        inner = self._inverse_factor @ (self._root[:, np.newaxis] * covariance)
        return np.einsum("ij,ij->j", inner, inner)

    @cached_property
    def reduction(self):
        """``R = S^(1/2) B^-1 S^(1/2)``, shape (n, n)."""
        inverse = symmetric(self._lapack[3](self._inverse_factor, lower=1)[0])
        inverse *= self._root
        inverse *= self._root[:, np.newaxis]
        return inverse

    def respond(self, shift):
        pulled = self._root * (self._model.covariance @ shift)
        return self._model.covariance @ (shift - self._root * self._solve(pulled))

    def covariance(self):
        K = self._model.covariance
        inner = self._inverse_factor @ (self._root[:, np.newaxis] * K)
        return K - inner.T @ inner

    def moving(self):
        return DenseMoving(self.mean, self.covariance())


def check_covariance(covariance):
    """Refuse what is no covariance.

    Parameters
    ----------
    covariance : array of shape (n, n)

    Raises
    ------
    ValueError
        For values that are not finite, a matrix that is not symmetric, and one
        that is not positive semidefinite up to rounding: the message says how far,
        and which jitter was tried.
    """
    n = len(covariance)
    if not np.isfinite(covariance).all():
        raise ValueError(
            "The covariance of the latent values is not finite: the kernel overflows, "
            "or is not defined, for these features. Scale them."
        )
    largest = np.abs(covariance).max()
    asymmetry = np.abs(covariance - covariance.T).max()
    if asymmetry > 1e-8 * largest:
        raise ValueError(
            f"The covariance of the latent values is not symmetric: entries differ "
            f"from their mirror images by up to {asymmetry:.3g}."
        )
    jitter = JITTER * max(np.trace(covariance) / n, 0.0)
    shifted = np.array(covariance, order="F")
    shifted.flat[:: n + 1] += jitter
    _, info = dpotrf(shifted, lower=1, overwrite_a=1)
    smallest = np.linalg.eigvalsh(covariance)[0] if info != 0 else 0.0
    if smallest < -jitter:
        raise ValueError(
            f"The covariance of the latent values is not positive definite: its "
            f"smallest eigenvalue is {smallest:.3g}, and a jitter of {jitter:.3g} on "
            f"the diagonal does not mend it. Use a positive definite kernel, or add "
            f"a WhiteKernel to it."
        )
