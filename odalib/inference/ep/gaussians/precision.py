"""Latent values with a given prior precision, of whatever signature."""

from functools import cached_property

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from odalib.inference.ep.gaussians.dense import DenseMoving
from odalib.inference.ep.gaussians.model import (
    GaussianModel,
    LostDefiniteness,
    Posterior,
    symmetric,
)

__all__ = ["Precision"]


class Precision(GaussianModel):
    """Prior ``exp(-f' P f / 2 + h' f)``, which need not be normalisable itself.

    Parameters
    ----------
    precision : array of shape (n, n)
        ``P``, symmetric.
    shift : array of shape (n,), default=None
        ``h``; None for zeros.
    """

    def __init__(self, precision, shift=None):
        self.n_sites = len(precision)
        self.precision = precision
        self.shift = np.zeros(self.n_sites) if shift is None else shift

    def posterior(self, precision, shift):
        return PrecisionPosterior(self, precision, shift)

    def first_precision(self):
        """Zeros, or what makes ``P`` diagonally dominant where it is not definite."""
        smallest = np.linalg.eigvalsh(self.precision)[0]
        if smallest > 0:
            return np.zeros(self.n_sites)
        return np.full(self.n_sites, 1.0 - smallest)


class PrecisionPosterior(Posterior):
    """Posterior of `Precision`: ``Sigma = (P + diag(precision))^-1``."""

    def __init__(self, model, precision, shift):
        joint = np.array(model.precision, order="F", dtype=np.float64)
        joint.flat[:: model.n_sites + 1] += precision
        factor, info = dpotrf(joint, lower=1, overwrite_a=1)
        if info != 0:
            raise LostDefiniteness(
                f"The prior precision with the site precisions on its diagonal is not "
                f"positive definite: the factorisation broke down at row {info - 1}."
            )
        self._factor = factor
        pull = model.shift + shift
        self.mean = self.covariance() @ pull
        self.log_normaliser = float(
            0.5 * model.n_sites * np.log(2.0 * np.pi)
            - np.log(np.diag(factor)).sum()
            + 0.5 * pull @ self.mean
        )

    @cached_property
    def _covariance(self):
        return symmetric(dpotri(self._factor, lower=1)[0])

    @property
    def variance(self):
        """Marginal variances, shape (n,)."""
        return np.diag(self._covariance)

    def respond(self, shift):
        return self._covariance @ shift

    def covariance(self):
        return self._covariance

    def moving(self):
        return DenseMoving(self.mean, self._covariance.copy(order="F"))
