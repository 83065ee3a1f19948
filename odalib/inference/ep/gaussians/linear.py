"""Latent values ``f = X w`` of weights with a Gaussian prior, in the smaller space."""

from functools import cached_property

import numpy as np

from odalib.inference.ep.gaussians.covariance import (
    Covariance,
    CovariancePosterior,
    check_covariance,
)
from odalib.inference.ep.gaussians.model import (
    GaussianModel,
    LostDefiniteness,
    MovingPosterior,
    Posterior,
)
from odalib.inference.ep.gaussians.rows import (
    column_squares,
    dense,
    scale_rows,
    stack_rows,
    unit_factor,
)
from odalib.inference.ep.gaussians.weights import (
    DenseBelief,
    RowsBelief,
    dense_factor,
    learnt,
    prior_belief,
)

# So many weights may have a precision of their own where Gram space would not do.
DENSE_WEIGHTS = 1000

__all__ = ["GramSpace", "WeightSpace", "linear_map", "of_any_sign"]


def linear_map(X, belief):
    """Model of ``f = X w``, in the smaller of weight space and Gram space.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d), float64
    belief : RowsBelief or DenseBelief
        Prior of the weights.

    Returns
    -------
    WeightSpace or GramSpace
        Gram space where the rows, with those that the belief already holds, are
        fewer than the weights; but of up to `DENSE_WEIGHTS` of these not where rows
        differ so little, beside their size, that products of them lose it.
    """
    n_rows, n_weights = X.shape
    if isinstance(belief, RowsBelief) and n_rows + belief.rows.shape[0] < n_weights:
        gram = GramSpace(X, belief)
        if n_weights > DENSE_WEIGHTS or keeps_digits(gram.covariance):
            return gram
    return WeightSpace(X, belief.as_dense())


def keeps_digits(covariance):
    """Whether the differences of rows survive in their covariances."""
    return bool((np.diag(covariance) > 0).all()) and unit_factor(covariance)[1]


def of_any_sign(model):
    """Give the same prior as a model that takes site precisions of any sign."""
    if model.any_sign:
        return model
    check_covariance(model.covariance)
    values, vectors = np.linalg.eigh(model.covariance)
    # Rounding has made the smallest eigenvalues of a semidefinite matrix negative.
    kept = values > 0
    factor = vectors[:, kept] * np.sqrt(values[kept])
    prior = prior_belief(np.ones(factor.shape[1])).as_dense()
    return WeightSpace(factor, prior, model.mean)


class WeightSpace(GaussianModel):
    """``f = X w`` through the d x d precision of the weights; no n x n array.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d), float64
    belief : DenseBelief
    prior_mean : array of shape (n,), default=None
        Of the latent values, where it is not ``X @ belief.mean``.
    """

    def __init__(self, X, belief, prior_mean=None):
        self.n_sites = X.shape[0]
        self.X = X
        self.belief = belief
        self.prior_mean = X @ belief.mean if prior_mean is None else prior_mean

    def posterior(self, precision, shift):
        return WeightPosterior(self, precision, shift)


class WeightPosterior(Posterior):
    """Posterior of `WeightSpace`.

    Attributes
    ----------
    belief : DenseBelief
        The weights, given prior and sites: the prior of what comes next.
    """

    def __init__(self, model, precision, shift):
        self._model = model
        prior, X = model.belief, model.X
        factor = dense_factor(prior, X, precision)
        residual = shift - precision * model.prior_mean
        step = DenseBelief(prior.mean, factor).times(residual @ X)
        self.belief = DenseBelief(prior.mean + step, factor)
        moved = X @ step
        self.mean = model.prior_mean + moved
        self.log_normaliser = float(
            0.5 * (prior.log_determinant - self.belief.log_determinant)
            + model.prior_mean @ (shift - 0.5 * precision * model.prior_mean)
            + 0.5 * residual @ moved
        )

    @cached_property
    def variance(self):
        """Marginal variances of the latent values, shape (n,)."""
        return self.belief.latent(self._model.X)[1]

    def learnt(self):
        """Tell what the data say of every weight; see `learnt`."""
        return learnt(self._model.belief, self.belief)

    def respond(self, shift):
        return self._model.X @ self.belief.times(shift @ self._model.X)

    def covariance(self):
        projected = dense(self._model.X @ self.belief.root)
        return projected @ projected.T

    def moving(self):
        return WeightMoving(self._model.X, self.mean, self.belief.root.copy())


class WeightMoving(MovingPosterior):
    """Mean and root of the covariance of the weights, updated by blocks of rows.

    The covariance is ``root root'``, so that no variance turns negative, however
    much narrower than its prior the posterior has become.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    mean : array of shape (n,)
        Of the latent values.
    root : array of shape (d, d)
        Taken over, so hand in a copy.
    """

    def __init__(self, X, mean, root):
        self._X, self._mean, self._root = X, mean, root
        self._step = np.zeros(len(root))

    def _project(self, sites):
        """Latent means of a block, and its rows times the root."""
        rows = self._X[sites]
        return self._mean[sites] + rows @ self._step, dense(rows @ self._root)

    def block(self, sites):
        mean, projected = self._project(sites)
        return mean, projected @ projected.T

    def local(self, sites):
        mean, projected = self._project(sites)
        rows = np.transpose(np.linalg.qr(projected.T, mode="r"))
        return WeightMoving(rows, mean, np.eye(rows.shape[1]))

    def update(self, sites, precision, shift):
        mean, projected = self._project(sites)
        if len(projected) == 1:
            length = np.sqrt(projected @ projected.T)
            if length == 0.0:
                return
            basis = projected.T / length
        else:
            basis, length = np.linalg.qr(projected.T)
        # The covariance becomes root (I + P' dT P)^-1 root', P the rows projected.
        narrowing = np.eye(len(length)) + (length * precision) @ length.T
        if not np.isfinite(narrowing).all():
            raise LostDefiniteness(
                "The latent values have grown beyond floats. Scale the features, or "
                "use a narrower prior."
            )
        values, vectors = np.linalg.eigh(narrowing)
        if values[0] <= 0:
            raise LostDefiniteness(
                "The precision of the weights is not positive definite any more."
            )
        shrunk = (vectors * values**-0.5) @ vectors.T
        self._root += (self._root @ basis) @ (shrunk - np.eye(len(length))) @ basis.T
        pull = length @ (shift - precision * mean)
        self._step += self._root @ (basis @ (shrunk @ pull))


class GramSpace(Covariance):
    """``f = X w`` through the n x n covariance of the latent values; no d x d array.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d), float64
    belief : RowsBelief
    """

    def __init__(self, X, belief):
        mean, covariance = belief.latent_covariance(X)
        super().__init__(covariance, mean)
        self.X = X
        self.belief = belief

    def posterior(self, precision, shift):
        return GramPosterior(self, precision, shift)


class GramPosterior(CovariancePosterior):
    """Posterior of `GramSpace`, which knows the weights too."""

    @cached_property
    def belief(self):
        """The weights, given prior and sites: the prior of what comes next."""
        prior, X = self._model.belief, self._model.X
        return RowsBelief(
            prior.mean + prior.times(self.weights @ X),
            prior.variances,
            stack_rows(prior.rows, scale_rows(X, self._root)),
        )

    def learnt(self):
        """Tell what the data say of every weight, as `learnt`."""
        variances = self._model.belief.variances
        pulled = self.weights @ self._model.X
        inner = self._inverse_factor @ scale_rows(self._model.X, self._root)
        return variances * pulled**2, variances * column_squares(inner)
