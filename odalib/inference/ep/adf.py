"""Assumed-density filtering: one pass over the rows, one update per row, no sites.

The posterior after every row is replaced by the Gaussian of the same moments, with all
covariances (`RootBelief`, `RelaxingBelief`) or without (`DiagonalBelief`). The result
depends on the order of the rows.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from odalib.inference.ep.gaussians.model import symmetric
from odalib.inference.ep.gaussians.rows import dense, row_products
from odalib.kernels.reference import adf as kernels

__all__ = [
    "Belief",
    "DiagonalBelief",
    "Prior",
    "RelaxingBelief",
    "RootBelief",
    "begin",
    "with_forgetting",
]


@dataclass(frozen=True)
class Prior:
    """Independent Gaussian weights.

    Attributes
    ----------
    mean, variance : array of shape (d,)
    """

    mean: np.ndarray
    variance: np.ndarray


@dataclass(frozen=True)
class Belief(ABC):
    """Gaussian belief about the weights of a probit model after some rows.

    Attributes
    ----------
    prior : Prior
    noise_variance : float
        Of the probit; zero for the step likelihood.
    """

    prior: Prior
    noise_variance: float

    @property
    @abstractmethod
    def moments(self):
        """Mean (d,), and covariance (d, d) or, of independent weights, (d,)."""

    @abstractmethod
    def latent(self, rows):
        """Mean and variance of ``w'x`` for every row.

        Parameters
        ----------
        rows : array or CSR matrix of shape (n, d)

        Returns
        -------
        mean, variance : array of shape (n,)
        """

    @abstractmethod
    def learn(self, rows, y, weights):
        """Belief after some more rows; this one stays as it is.

        Parameters
        ----------
        rows : array or CSR matrix of shape (n, d)
            Each entry of a CSR matrix stored once.
        y : array of shape (n,)
            -1.0 or 1.0.
        weights : array of shape (n,)
            Positive. A weight is the row so many times in succession, at the cost of
            as many updates; what it has beyond a whole number, r, is one observation
            of ``likelihood^r``, which is forgotten as the r-th part of a row.

        Returns
        -------
        Belief
        """


@dataclass(frozen=True)
class RootBelief(Belief):
    """All covariances, as ``root @ root.T``; nothing is forgotten.

    Attributes
    ----------
    mean : array of shape (d,)
    root : array of shape (d, d)
    """

    mean: np.ndarray
    root: np.ndarray
    forgetting = 1.0

    @cached_property
    def moments(self):
        """Mean (d,) and covariance (d, d)."""
        return self.mean, self.root @ self.root.T

    def latent(self, rows):
        """Mean and variance of ``w'x`` for every row; see `Belief.latent`."""
        projected = rows @ self.root
        return rows @ self.mean, row_products(projected, projected)

    def learn(self, rows, y, weights):
        """Belief after some more rows; see `Belief.learn`."""
        mean, root = self.mean.copy(), self.root.copy(order="F")
        kernels.learn_root(mean, root, _dense(rows), y, weights, self.noise_variance)
        return replace(self, mean=mean, root=root)


@dataclass(frozen=True)
class RelaxingBelief(Belief):
    """All covariances; earlier rows are forgotten.

    Attributes
    ----------
    forgetting : float
        Of the difference from the prior mean, what is left after one row, below 1.
        It is applied after each row: what is believed is about what comes next.
    mean : array of shape (d,)
    covariance : array of shape (d, d)
    """

    forgetting: float
    mean: np.ndarray
    covariance: np.ndarray

    @property
    def moments(self):
        """Mean (d,) and covariance (d, d)."""
        return self.mean, self.covariance

    def latent(self, rows):
        """Mean and variance of ``w'x`` for every row; see `Belief.latent`."""
        return rows @ self.mean, row_products(rows, rows @ self.covariance)

    def learn(self, rows, y, weights):
        """Belief after some more rows; see `Belief.learn`."""
        mean, covariance = self.mean.copy(), self.covariance.copy(order="F")
        kernels.learn_covariance(
            mean,
            covariance,
            self.prior.mean,
            self.prior.variance,
            self.forgetting,
            _dense(rows),
            y,
            weights,
            self.noise_variance,
        )
        # The kernel keeps the lower triangle only.
        return replace(self, mean=mean, covariance=symmetric(np.tril(covariance)))


@dataclass(frozen=True)
class DiagonalBelief(Belief):
    """Independent weights; what a row costs is the number of its entries.

    Attributes
    ----------
    forgetting : float
        As for `RelaxingBelief`, in (0, 1].
    touched_mean, touched_variance : array of shape (d,)
        Of every weight at the time in ``touched``.
    touched : array of shape (d,)
        When a weight was last looked at; what it has forgotten since is due.
    clock : float
        The time: weight of the observations up to here.
    """

    forgetting: float
    touched_mean: np.ndarray
    touched_variance: np.ndarray
    touched: np.ndarray
    clock: float

    @cached_property
    def moments(self):
        """Mean (d,) and variance (d,)."""
        mean, variance, touched = self._copies()
        kernels.relax_features(
            mean,
            variance,
            touched,
            self.clock,
            self.prior.mean,
            self.prior.variance,
            self.forgetting,
            slice(None),
        )
        return mean, variance

    def latent(self, rows):
        """Mean and variance of ``w'x`` for every row; see `Belief.latent`."""
        mean, variance = self.moments
        squares = rows.multiply(rows) if sp.issparse(rows) else np.square(rows)
        return rows @ mean, squares @ variance

    def learn(self, rows, y, weights):
        """Belief after some more rows; see `Belief.learn`."""
        rows = sp.csr_array(rows, dtype=np.float64)
        mean, variance, touched = self._copies()
        clock = kernels.learn_diagonal(
            mean,
            variance,
            touched,
            self.clock,
            self.prior.mean,
            self.prior.variance,
            self.forgetting,
            (rows.data, rows.indices, rows.indptr),
            y,
            weights,
            self.noise_variance,
        )
        return replace(
            self,
            touched_mean=mean,
            touched_variance=variance,
            touched=touched,
            clock=clock,
        )

    def _copies(self):
        parts = (self.touched_mean, self.touched_variance, self.touched)
        return tuple(part.copy() for part in parts)


def begin(prior, covariance, forgetting=1.0, noise_variance=1.0):
    """Belief before the first row.

    Parameters
    ----------
    prior : Prior
    covariance : {'full', 'diagonal'}
    forgetting : float, default=1.0
        In (0, 1].
    noise_variance : float, default=1.0

    Returns
    -------
    Belief
    """
    if covariance == "diagonal":
        never = np.zeros_like(prior.mean)
        return DiagonalBelief(
            prior, noise_variance, forgetting, prior.mean, prior.variance, never, 0.0
        )
    root = np.diag(np.sqrt(prior.variance))
    return with_forgetting(
        RootBelief(prior, noise_variance, prior.mean, root), forgetting
    )


def with_forgetting(belief, forgetting):
    """Return the same belief, to forget at another pace from here on."""
    if belief.forgetting == forgetting:
        return belief
    mean, covariance = belief.moments
    if isinstance(belief, DiagonalBelief):
        return replace(
            belief,
            forgetting=forgetting,
            touched_mean=mean,
            touched_variance=covariance,
            touched=np.full_like(belief.touched, belief.clock),
        )
    kind = (belief.prior, belief.noise_variance)
    if forgetting == 1.0:
        return RootBelief(*kind, mean, np.linalg.cholesky(covariance))
    return RelaxingBelief(*kind, forgetting, mean, covariance)


def _dense(rows):
    """Rows as a float64 array."""
    return np.asarray(dense(rows), dtype=np.float64)
