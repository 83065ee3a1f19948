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

from odalib.inference.ep.likelihood import Cavity
from odalib.inference.ep.probit import Probit
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

    def learn(self, rows, y, weights):
        """Belief after some more rows; this one stays as it is.

        Parameters
        ----------
        rows : array or CSR matrix of shape (n, d)
            Each entry of a CSR matrix stored once.
        y : array of shape (n,)
            -1.0 or 1.0.
        weights : array of shape (n,)
            A weight is the row so many times in succession, at the cost of as many
            updates; what it has beyond a whole number, r, is one observation of
            ``likelihood^r``.

        Returns
        -------
        Belief
        """
        counts = np.floor(weights).astype(np.intp)
        rests = weights - counts
        rows = self._prepared(rows)
        belief, start = self._copied(), 0
        for last in np.flatnonzero(rests).tolist():
            part = slice(start, last + 1)
            belief = belief._seen(rows[part], y[part], counts[part])
            belief = belief._seen_once(rows[last : last + 1], y[last], rests[last])
            start = last + 1
        return belief._seen(rows[start:], y[start:], counts[start:])

    @abstractmethod
    def _prepared(self, rows):
        """Rows as the kernels take them."""

    @abstractmethod
    def _copied(self):
        """Belief in arrays of its own, to be written to."""

    @abstractmethod
    def _seen(self, rows, y, counts):
        """Belief after rows so many times, in the same arrays."""

    @abstractmethod
    def _seen_once(self, rows, label, power):
        """Belief after ``likelihood^power`` of one row, in the same arrays."""

    def _step(self, label, mean, variance, power):
        """As `kernels.probit_step`, of the likelihood to a power in (0, 1)."""
        likelihood = Probit(np.array([label]), self.noise_variance, np.array([power]))
        cavity = Cavity.gaussian(np.array([mean]), np.array([variance]))
        match = likelihood.match(cavity)
        gain = (match.mean.item() - mean) / variance
        return gain, match.variance.item() / variance


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
        return rows @ self.mean, np.einsum("ij,ij->i", projected, projected)

    def _prepared(self, rows):
        return _dense(rows)

    def _copied(self):
        return replace(self, mean=self.mean.copy(), root=self.root.copy(order="F"))

    def _seen(self, rows, y, counts):
        kernels.learn_root(self.mean, self.root, rows, y, counts, self.noise_variance)
        return self

    def _seen_once(self, rows, label, power):
        projected, variance = kernels.look_root(self.root, rows[0])
        if variance > kernels.CERTAIN:
            step = self._step(label, float(rows[0] @ self.mean), variance, power)
            kernels.move_root(self.mean, self.root, projected, variance, *step)
        return self


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
        products = rows @ self.covariance
        if sp.issparse(rows):
            variance = np.asarray(rows.multiply(products).sum(axis=1)).ravel()
        else:
            variance = np.einsum("ij,ij->i", rows, products)
        return rows @ self.mean, variance

    def learn(self, rows, y, weights):
        """Belief after some more rows; see `Belief.learn`.

        Each observation is forgotten as a row is, one of ``likelihood^r`` by
        ``forgetting^r``.
        """
        belief = super().learn(rows, y, weights)
        # The kernels keep the lower triangle only.
        lower = np.tril(belief.covariance)
        return replace(belief, covariance=lower + np.tril(lower, -1).T)

    def _prepared(self, rows):
        return _dense(rows)

    def _copied(self):
        covariance = self.covariance.copy(order="F")
        return replace(self, mean=self.mean.copy(), covariance=covariance)

    def _seen(self, rows, y, counts):
        kernels.learn_covariance(
            self.mean,
            self.covariance,
            self.prior.mean,
            self.prior.variance,
            self.forgetting,
            rows,
            y,
            counts,
            self.noise_variance,
        )
        return self

    def _seen_once(self, rows, label, power):
        direction, variance = kernels.look_covariance(self.covariance, rows[0])
        if variance > kernels.CERTAIN:
            step = self._step(label, float(rows[0] @ self.mean), variance, power)
            kernels.move_covariance(
                self.mean, self.covariance, direction, variance, *step
            )
        kept = self.forgetting**power
        kernels.relax(
            self.mean, self.covariance, self.prior.mean, self.prior.variance, kept
        )
        return self


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
        The time: observations up to here.
    """

    forgetting: float
    touched_mean: np.ndarray
    touched_variance: np.ndarray
    touched: np.ndarray
    clock: float

    @cached_property
    def moments(self):
        """Mean (d,) and variance (d,)."""
        now = self._copied()
        now._relax(slice(None))
        return now.touched_mean, now.touched_variance

    def latent(self, rows):
        """Mean and variance of ``w'x`` for every row; see `Belief.latent`."""
        mean, variance = self.moments
        squares = rows.multiply(rows) if sp.issparse(rows) else np.square(rows)
        return rows @ mean, squares @ variance

    def _prepared(self, rows):
        return sp.csr_array(rows, dtype=np.float64)

    def _copied(self):
        return replace(
            self,
            touched_mean=self.touched_mean.copy(),
            touched_variance=self.touched_variance.copy(),
            touched=self.touched.copy(),
        )

    def _relax(self, features):
        kernels.relax_features(
            self.touched_mean,
            self.touched_variance,
            self.touched,
            self.clock,
            self.prior.mean,
            self.prior.variance,
            self.forgetting,
            features,
        )

    def _seen(self, rows, y, counts):
        clock = kernels.learn_diagonal(
            self.touched_mean,
            self.touched_variance,
            self.touched,
            self.clock,
            self.prior.mean,
            self.prior.variance,
            self.forgetting,
            (rows.data, rows.indices, rows.indptr),
            y,
            counts,
            self.noise_variance,
        )
        return replace(self, clock=clock)

    def _seen_once(self, rows, label, power):
        features, values = rows.indices, rows.data
        self._relax(features)
        mean, variance = self.touched_mean, self.touched_variance
        parts, total = kernels.look_diagonal(variance, features, values)
        if total > kernels.CERTAIN:
            step = self._step(label, float(mean[features] @ values), total, power)
            kernels.move_diagonal(mean, variance, features, values, parts, *step)
        return replace(self, clock=self.clock + power)


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
    rows = rows.toarray() if sp.issparse(rows) else rows
    return np.asarray(rows, dtype=np.float64)
