"""Beliefs about the weights of a linear map, before and after data."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.linalg import qr
from scipy.linalg.lapack import dpotrf, dtrtri

from odalib.inference.ep.gaussians.model import LostDefiniteness
from odalib.inference.ep.gaussians.rows import (
    column_squares,
    dense,
    row_products,
    scale_columns,
    scale_rows,
    spans,
    unit_factor,
)
from odalib.inference.saving import SavesFields

__all__ = [
    "DenseBelief",
    "RowsBelief",
    "WeightBelief",
    "add_gram",
    "add_rows",
    "dense_factor",
    "gram_factor",
    "learnt",
    "prior_belief",
    "stacked_factor",
]


class WeightBelief:
    """Gaussian belief ``N(mean, C)`` about d weights.

    Attributes
    ----------
    mean : array of shape (d,)
    """

    mean: np.ndarray

    def latent(self, rows):
        """Mean and variance of ``f = x' w`` of every row, shape (n,) each."""
        raise NotImplementedError

    def marginals(self):
        """Variance of every weight, shape (d,)."""
        raise NotImplementedError

    def covariance(self):
        """Covariance of the weights, shape (d, d)."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class RowsBelief(SavesFields, WeightBelief):
    """Independent weights that fewer rows than weights have told something about.

    The precision is ``diag(1 / variances) + Z' Z``: nothing of size (d, d) is
    formed, and nothing is lost that the rows have told.

    Parameters
    ----------
    mean : array of shape (d,)
    variances : array of shape (d,)
        Prior variances.
    rows : array or CSR matrix of shape (r, d)
        ``Z``: rows of the data times the roots of their site precisions.
    """

    mean: np.ndarray
    variances: np.ndarray
    rows: np.ndarray | sp.csr_array

    @cached_property
    def _scaled_rows(self):
        """``Z diag(variances)``, shape (r, d)."""
        return scale_columns(self.rows, self.variances)

    @cached_property
    def _inverse_factor(self):
        """Inverse of the Cholesky factor of ``I + Z diag(variances) Z'``."""
        if self.rows.shape[0] == 0:
            return np.empty((0, 0))
        gram = dense(self._scaled_rows @ self.rows.T)
        gram.flat[:: len(gram) + 1] += 1.0
        factor, info = dpotrf(gram, lower=1, overwrite_a=1)
        if info != 0:
            raise LostDefiniteness(
                "What the rows tell of the weights is lost in rounding: the prior is "
                "too wide for them. Scale the features, or use a narrower prior."
            )
        return dtrtri(factor, lower=1)[0]

    def _told(self, covariance):
        """Whitened covariance of ``Z w`` with something, shape (r, m).

        Its squares are what the rows have taken from prior variances.
        """
        return self._inverse_factor @ dense(covariance)

    def times(self, vector):
        """``C vector``, shape (d,)."""
        told = self._told(self._scaled_rows @ vector[:, np.newaxis])[:, 0]
        back = self._inverse_factor.T @ told
        return self.variances * vector - back @ self._scaled_rows

    def latent_covariance(self, rows):
        """Mean, shape (n,), and covariance, shape (n, n), of ``f = X w``."""
        covariance = dense(scale_columns(rows, self.variances) @ rows.T)
        told = self._told(self._scaled_rows @ rows.T)
        covariance -= told.T @ told
        return rows @ self.mean, covariance

    def latent(self, rows):
        variance = np.empty(rows.shape[0])
        for span in spans(rows):
            block = rows[span]
            prior = row_products(scale_columns(block, self.variances), block)
            told = column_squares(self._told(self._scaled_rows @ block.T))
            variance[span] = prior - told
        return rows @ self.mean, variance

    def marginals(self):
        return self.variances - column_squares(self._told(self._scaled_rows))

    def covariance(self):
        told = self._told(self._scaled_rows)
        return np.diag(self.variances) - told.T @ told

    def as_dense(self):
        """Give the same belief, as a triangular factor of its precision."""
        return DenseBelief(
            self.mean, stacked_factor(np.diag(self.variances**-0.5), [self.rows])
        )


@dataclass(frozen=True, eq=False)
class DenseBelief(WeightBelief):
    """Weights of any covariance, by the triangular factor of their precision.

    Parameters
    ----------
    mean : array of shape (d,)
    factor : array of shape (d, d)
        Upper triangular ``F``: the precision is ``F' F``.
    """

    mean: np.ndarray
    factor: np.ndarray = field(repr=False)

    @cached_property
    def root(self):
        """``F^-1``: the covariance is ``root root'``, shape (d, d)."""
        return dtrtri(np.asfortranarray(self.factor), lower=0)[0]

    @cached_property
    def log_determinant(self):
        """Of the precision."""
        return 2.0 * float(np.log(np.abs(np.diag(self.factor))).sum())

    def times(self, vector):
        """``C vector``, shape (d,)."""
        return self.root @ (self.root.T @ vector)

    def latent(self, rows):
        variance = np.empty(rows.shape[0])
        for span in spans(rows):
            projected = rows[span] @ self.root
            variance[span] = row_products(projected, projected)
        return rows @ self.mean, variance

    def marginals(self):
        return row_products(self.root, self.root)

    def covariance(self):
        return self.root @ self.root.T

    def as_dense(self):
        """Itself."""
        return self


def learnt(prior, belief):
    """Tell what data say of every weight, in units of its prior variance v.

    Parameters
    ----------
    prior : DenseBelief
        Of independent weights of mean zero.
    belief : DenseBelief
        About the same weights, given the data.

    Returns
    -------
    moved, told : array of shape (d,)
        ``mean^2 / v`` and ``1 - V_jj / v``, whose difference is twice the slope of
        the log evidence in ``log v`` at the fixed point of EP.
    """
    precision = np.diag(prior.factor) ** 2
    told = 1.0 - belief.marginals() * precision
    return belief.mean**2 * precision, told


def prior_belief(variances, mean=None):
    """Independent weights about which no data have told anything.

    Parameters
    ----------
    variances : array of shape (d,)
        Positive.
    mean : array of shape (d,), default=None
        None for zeros.
    """
    mean = np.zeros(len(variances)) if mean is None else mean
    return RowsBelief(mean, variances, np.empty((0, len(variances))))


def dense_factor(belief, X, precision):
    """Triangular factor of the precision with the sites of more rows, shape (d, d).

    By Cholesky of the normal equations, in columns of unit scale; where these have
    lost half of their digits, by QR of the rows themselves, which squares nothing.

    Raises
    ------
    LostDefiniteness
        Where sites of negative precision leave no positive definite matrix.
    """
    if not precision.any():
        return belief.factor
    negative = bool((precision < 0).any())
    total = add_gram(belief.factor.T @ belief.factor, X, precision)
    factor = gram_factor(total, negative)
    return add_rows(belief.factor, X, precision) if factor is None else factor


def add_gram(total, X, precision):
    """Add ``X' diag(precision) X`` to a matrix of shape (d, d), and return it."""
    negative = bool((precision < 0).any())
    for span in spans(X):
        total += weighted_gram(X[span], precision[span], negative)
    return total


def gram_factor(total, negative=False):
    """Triangular factor of a precision; None where it has lost half of its digits.

    With ``negative`` precisions in it there is no better way: what there is is
    returned, and LostDefiniteness raised where there is nothing.
    """
    if (np.diag(total) > 0).all():
        factor, exact = unit_factor(total)
        if exact or (negative and factor is not None):
            return factor
    if negative:
        raise LostDefiniteness(
            "The prior precision of the weights with the precisions of the sites is "
            "not positive definite."
        )
    return None


def add_rows(factor, X, precision):
    """Triangular factor with the sites of more rows, without forming squares."""
    roots = np.sqrt(precision)
    blocks = (scale_rows(X[span], roots[span]) for span in spans(X))
    return stacked_factor(factor, blocks)


def stacked_factor(factor, blocks):
    """R of the QR factorisation of blocks of rows below a triangular factor."""
    for block in blocks:
        if block.shape[0]:
            factor = qr(
                np.vstack([factor, dense(block)]), mode="r", check_finite=False
            )[0][: len(factor)]
    return factor


def weighted_gram(rows, weights, negative):
    """``X' diag(weights) X`` of a block of rows, shape (d, d)."""
    if negative:
        return dense(rows.T @ scale_rows(rows, weights))
    rows = scale_rows(rows, np.sqrt(weights))
    return dense(rows.T @ rows)
