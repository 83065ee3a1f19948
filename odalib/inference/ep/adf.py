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
from odalib.inference.saving import SavesFields
from odalib.kernels import adf as kernels

__all__ = [
    "Belief",
    "DiagonalBelief",
    "Prior",
    "RelaxingBelief",
    "RootBelief",
    "begin",
    "factors",
    "with_forgetting",
]

# Numbers that are made dense at a time: 4 MB.
BLOCK_ELEMENTS = 2**19


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
class Belief(SavesFields, ABC):
    """Gaussian belief about the weights of a probit model after some rows.

    Attributes
    ----------
    prior : Prior
    noise_variance : float
        Of the probit; zero for the step likelihood.
    has_intercept : bool
        Whether the last weight is of a feature that is one in every row, and no
        column of them.
    """

    prior: Prior
    noise_variance: float
    has_intercept: bool

    @property
    @abstractmethod
    def moments(self):
        """Mean (d,), and covariance (d, d) or, of independent weights, (d,)."""

    @abstractmethod
    def marginals(self):
        """Variance of every weight, shape (d,)."""

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
    def learn(self, rows, y, weights, visits=None):
        """Belief after some more rows; this one stays as it is.

        Parameters
        ----------
        rows : array or CSR matrix of shape (m, d)
            Each entry of a CSR matrix stored once.
        y : array of shape (n,)
            -1.0 or 1.0.
        weights : array of shape (n,)
            Positive. A weight is the row so many times in succession, at the cost of
            as many updates; what it has beyond a whole number, r, is one observation
            of ``likelihood^r``, which is forgotten as the r-th part of a row.
        visits : array of int64 of shape (n,), default=None
            Rows in the order in which they are learnt; None for all, as they stand.

        Returns
        -------
        Belief
        """

    def _blocks(self, rows, y, weights, visits):
        """Dense rows in float64, labels and weights of the visits, block by block."""
        size = max(BLOCK_ELEMENTS // len(self.prior.mean), 1)
        for start in range(0, len(y), size):
            span = slice(start, start + size)
            block = dense(rows[span if visits is None else visits[span]])
            block = np.ascontiguousarray(block, dtype=np.float64)
            yield block, y[span], weights[span]


@dataclass(frozen=True)
class RootBelief(Belief):
    """All covariances, ``factor @ diag(variances) @ factor.T``; nothing is forgotten.

    Attributes
    ----------
    mean : array of shape (d,)
    factor : array of shape (d, d)
    variances : array of shape (d,)
    """

    mean: np.ndarray
    factor: np.ndarray
    variances: np.ndarray
    forgetting = 1.0

    @cached_property
    def root(self):
        """Root R of the covariance ``R R'``, shape (d, d)."""
        return self.factor * np.sqrt(self.variances)

    @cached_property
    def moments(self):
        """Mean (d,) and covariance (d, d)."""
        return self.mean, self.root @ self.root.T

    def marginals(self):
        """Variance of every weight, shape (d,)."""
        return row_products(self.root, self.root)

    def latent(self, rows):
        """Mean and variance of ``w'x`` for every row; see `Belief.latent`."""
        n = rows.shape[1]
        mean, projected = rows @ self.mean[:n], rows @ self.root[:n]
        if self.has_intercept:
            mean, projected = mean + self.mean[-1], projected + self.root[-1]
        return mean, row_products(projected, projected)

    def learn(self, rows, y, weights, visits=None):
        """Belief after some more rows; see `Belief.learn`."""
        mean, variances = self.mean.copy(), self.variances.copy()
        factor = self.factor.copy(order="F")
        for block in self._blocks(rows, y, weights, visits):
            kernels.learn_factor(mean, factor, variances, *block, self.noise_variance)
        return replace(self, mean=mean, factor=factor, variances=variances)


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

    def marginals(self):
        """Variance of every weight, shape (d,)."""
        return np.diag(self.covariance)

    def latent(self, rows):
        """Mean and variance of ``w'x`` for every row; see `Belief.latent`."""
        if self.has_intercept:
            rows = np.hstack([dense(rows), np.ones((rows.shape[0], 1))])
        return rows @ self.mean, row_products(rows, rows @ self.covariance)

    def learn(self, rows, y, weights, visits=None):
        """Belief after some more rows; see `Belief.learn`."""
        mean, covariance = self.mean.copy(), self.covariance.copy(order="F")
        for block in self._blocks(rows, y, weights, visits):
            kernels.learn_covariance(
                mean,
                covariance,
                self.prior.mean,
                self.prior.variance,
                self.forgetting,
                *block,
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
    touched_moments : array of shape (d, 2)
        Mean and variance of every weight at the time in ``touched``.
    touched : array of shape (d,)
        When a weight was last looked at; what it has forgotten since is due.
    clock : float
        The time: weight of the observations up to here.
    """

    forgetting: float
    touched_moments: np.ndarray
    touched: np.ndarray
    clock: float

    @cached_property
    def moments(self):
        """Mean (d,) and variance (d,)."""
        moments, touched = self._copies()
        mean, variance = moments.T
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

    @property
    def mean(self):
        """Mean (d,)."""
        return self.moments[0]

    def marginals(self):
        """Variance of every weight, shape (d,)."""
        return self.moments[1]

    def latent(self, rows):
        """Mean and variance of ``w'x`` for every row; see `Belief.latent`."""
        mean, variance = self.moments
        squares = rows.multiply(rows) if sp.issparse(rows) else np.square(rows)
        if not self.has_intercept:
            return rows @ mean, squares @ variance
        return rows @ mean[:-1] + mean[-1], squares @ variance[:-1] + variance[-1]

    def learn(self, rows, y, weights, visits=None):
        """Belief after some more rows; see `Belief.learn`."""
        if not (sp.issparse(rows) and rows.dtype == np.float64):
            rows = sp.csr_array(rows, dtype=np.float64)
        moments, touched = self._copies()
        clock = kernels.learn_diagonal(
            *moments.T,
            touched,
            self.clock,
            self.prior.mean,
            self.prior.variance,
            self.forgetting,
            (rows.data, rows.indices, rows.indptr),
            np.arange(len(y)) if visits is None else visits,
            y,
            weights,
            self.noise_variance,
            self.has_intercept,
        )
        return replace(self, touched_moments=moments, touched=touched, clock=clock)

    def _copies(self):
        """Copy what kernels write to: times only where something is forgotten."""
        stays = self.forgetting == 1.0 and self.touched.flags.writeable
        touched = self.touched if stays else self.touched.copy()
        return self.touched_moments.copy(), touched


def begin(
    prior, covariance, forgetting=1.0, noise_variance=1.0, *, has_intercept=False
):
    """Belief before the first row.

    Parameters
    ----------
    prior : Prior
    covariance : {'full', 'diagonal'}
    forgetting : float, default=1.0
        In (0, 1].
    noise_variance : float, default=1.0
    has_intercept : bool, default=False
        See `Belief`.

    Returns
    -------
    Belief
    """
    kind = (prior, noise_variance, has_intercept)
    if covariance == "diagonal":
        never = np.zeros_like(prior.mean)
        moments = np.column_stack([prior.mean, prior.variance])
        return DiagonalBelief(*kind, forgetting, moments, never, 0.0)
    unit = np.eye(len(prior.mean))
    belief = RootBelief(*kind, prior.mean, unit, prior.variance)
    return with_forgetting(belief, forgetting)


def with_forgetting(belief, forgetting):
    """Return the same belief, to forget at another pace from here on."""
    if belief.forgetting == forgetting:
        return belief
    mean, covariance = belief.moments
    if isinstance(belief, DiagonalBelief):
        return replace(
            belief,
            forgetting=forgetting,
            touched_moments=np.column_stack([mean, covariance]),
            touched=np.full_like(belief.touched, belief.clock),
        )
    kind = (belief.prior, belief.noise_variance, belief.has_intercept)
    if forgetting == 1.0:
        return RootBelief(*kind, mean, *factors(np.linalg.cholesky(covariance)))
    return RelaxingBelief(*kind, forgetting, mean, covariance)


def factors(root):
    """Factors of the covariance ``root @ root.T``, of a lower triangular root.

    Parameters
    ----------
    root : array of shape (d, d)

    Returns
    -------
    factor : array of shape (d, d)
        With ones on its diagonal, unless the root has a zero there.
    variances : array of shape (d,)
    """
    scale = np.diagonal(root)
    if not scale.all():
        return root, np.ones(len(root))
    return root / scale, scale**2
