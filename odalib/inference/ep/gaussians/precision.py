"""Latent values with a given prior precision, of whatever signature."""

from functools import cached_property

import numpy as np
from scipy.linalg.blas import dtrmv
from scipy.linalg.lapack import dpotrf, dtrtri

from odalib.inference.ep.gaussians.dense import DenseMoving
from odalib.inference.ep.gaussians.model import (
    GaussianModel,
    LostDefiniteness,
    Posterior,
)
from odalib.inference.ep.likelihood import Cavity

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
    """Posterior of `Precision`: ``Sigma = (P + diag(precision))^-1``.

    Held as ``Sigma = d M^-1 d`` with d the inverse root of the diagonal, so that M has
    a unit diagonal, and ``M = L L'``. Sites may be so precise that ``1 - tau s2`` has
    no digits; from L and its inverse it is a sum of squares.
    """

    def __init__(self, model, precision, shift):
        n = model.n_sites
        self._model, self._site_precision, self._site_shift = model, precision, shift
        diagonal = model.precision.diagonal() + precision
        if not (diagonal > 0).all():
            raise LostDefiniteness(
                "The prior precision with the site precisions on its diagonal is not "
                f"positive definite: entry {np.argmin(diagonal > 0)} is not positive."
            )
        self._scale = scale = 1.0 / np.sqrt(diagonal)
        scaled = np.array(model.precision.T, order="F", dtype=np.float64)
        scaled *= scale
        scaled *= scale[:, np.newaxis]
        scaled.flat[:: n + 1] = 1.0
        factor, info = dpotrf(scaled, lower=1, overwrite_a=1)
        if info != 0:
            raise LostDefiniteness(
                f"The prior precision with the site precisions on its diagonal is not "
                f"positive definite: the factorisation broke down at row {info - 1}."
            )
        self._factor = factor
        self._inverse = dtrtri(factor, lower=1)[0]
        pull = model.shift + shift
        self._scaled_mean = self._solve(scale * pull)
        self.mean = scale * self._scaled_mean
        # (M^-1)_ii - 1, from L, whose rows have squares that sum to one.
        own = factor.diagonal() ** 2
        before, after = off_diagonal_squares(factor, self._inverse)
        self._excess = before / own + after
        logs, small = np.log(own), before < 0.5
        logs[small] = np.log1p(-before[small])
        self._log_determinant = float(logs.sum())
        self.log_normaliser = float(
            0.5 * n * np.log(2.0 * np.pi)
            + np.log(scale).sum()
            - 0.5 * self._log_determinant
            + 0.5 * pull @ self.mean
        )

    def _solve(self, values):
        """Product with ``M^-1``."""
        inverse = self._inverse
        return dtrmv(inverse, dtrmv(inverse, values, lower=1), lower=1, trans=1)

    @cached_property
    def variance(self):
        """Marginal variances, shape (n,)."""
        return self._scale**2 * (1.0 + self._excess)

    def cavity(self, precision, shift):
        P, scale = self._model.precision, self._scale
        others = P.diagonal() + (self._site_precision - precision)
        share = others * self.variance - self._excess
        pull = self._model.shift + (self._site_shift - shift)
        coupled = P.diagonal() * self.mean - P @ self.mean
        lift = scale**2 * (pull + coupled - self._excess * shift)
        return Cavity(share, lift, self.variance)

    def log_excess(self, cavity, counts):
        more = 1.0 - counts
        return float(
            0.5 * np.log(2.0 * np.pi) * more.sum()
            + more @ np.log(self._scale)
            - 0.5 * (self._log_determinant + counts @ np.log1p(self._excess))
            + 0.5 * self.mean @ (self._model.shift - counts * cavity.shift)
        )

    def respond(self, shift):
        return self._scale * self._solve(self._scale * shift)

    @cached_property
    def _covariance(self):
        # Twice the work of LAPACK's product of triangles, which takes threads, and
        # their time to wake, for the smallest of matrices.
        scaled = self._inverse.T @ self._inverse
        return self._scale[:, np.newaxis] * scaled * self._scale

    def covariance(self):
        return self._covariance

    def moving(self):
        return DenseMoving(self.mean, self._covariance.copy(order="F"))


def off_diagonal_squares(lower, inverse):
    """Sum the squares beside the diagonal, by rows, and by columns of the inverse.

    Not the whole less the diagonal, which would leave nothing of small entries.
    """
    sums = []
    for matrix, subscripts in ((lower, "ij,ij->i"), (inverse, "ij,ij->j")):
        diagonal = matrix.diagonal().copy()
        np.fill_diagonal(matrix, 0.0)
        sums.append(np.einsum(subscripts, matrix, matrix))
        np.fill_diagonal(matrix, diagonal)
    return sums
