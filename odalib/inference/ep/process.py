"""Latent functions with a covariance, exact or by way of inducing points."""

from functools import cached_property

import numpy as np

from odalib.inference.ep.gaussians import Covariance
from odalib.inference.ep.gaussians.linear import WeightSpace
from odalib.inference.ep.gaussians.rows import column_squares
from odalib.inference.ep.gaussians.weights import prior_belief
from odalib.inference.ep.probit import Probit
from odalib.inference.ep.solve import infer
from odalib.inference.ep.weights import split_weights

__all__ = ["InducedProcess", "InducingBasis", "Process"]

# Eigenvalues of the covariance of inducing points below this share of the largest
# are rounding, and their directions left out.
RANK_TOL = 1e-10


class Process:
    """Gaussian process for one problem of two classes, with all its rows.

    Parameters
    ----------
    covariance : array of shape (n, n)
        Of the latent values of the rows.
    y : array of shape (n,)
        -1.0 or 1.0.
    row_weights : array of shape (n,)
        Positive.
    **options
        Of `infer`.

    Attributes
    ----------
    inference : Inference
    """

    def __init__(self, covariance, y, row_weights, **options):
        counts, powers = split_weights(row_weights)
        self.inference = infer(
            Covariance(covariance), Probit(y, power=powers), counts=counts, **options
        )

    def latent(self, cross, prior_variance):
        """Mean and variance of latent values elsewhere, shape (m,) each.

        Parameters
        ----------
        cross : array of shape (m, n)
            Their prior covariance with the latent values of the rows.
        prior_variance : array of shape (m,)
        """
        posterior = self.inference.posterior
        return (
            cross @ posterior.weights,
            prior_variance - posterior.explained(cross.T),
        )

    @cached_property
    def slope(self):
        """Slope of the log evidence in the entries of the covariance, shape (n, n).

        ``(a a' - R) / 2`` at the fixed point of EP, with ``a`` the weights of the
        rows and ``R = S^(1/2) B^-1 S^(1/2)``.
        """
        posterior = self.inference.posterior
        return 0.5 * (
            np.outer(posterior.weights, posterior.weights) - posterior.reduction
        )


class InducingBasis:
    """Coordinates in which the latent values of m inducing points are independent.

    Parameters
    ----------
    covariance : array of shape (m, m)
        Of the inducing points, without noise.
    """

    def __init__(self, covariance):
        values, vectors = np.linalg.eigh(covariance)
        kept = values > RANK_TOL * max(values[-1], 0.0)
        if not kept.any():
            raise ValueError(
                "The inducing points have no covariance with each other by this kernel "
                "and so tell nothing of other rows; fit without inducing_points."
            )
        self.map = vectors[:, kept] / np.sqrt(values[kept])

    def features(self, cross, prior_variance):
        """Split latent values into what inducing points tell of them, and the rest.

        Parameters
        ----------
        cross : array of shape (n, m)
            Covariance with the inducing points.
        prior_variance : array of shape (n,)

        Returns
        -------
        features : array of shape (n, r)
            ``f = features' w`` plus a remainder, with w standard normal.
        remainder : array of shape (n,)
            Variance of the remainder.
        """
        features = cross @ self.map
        # Negative by rounding, where a row is an inducing point.
        return features, np.maximum(prior_variance - column_squares(features.T), 0.0)


class InducedProcess:
    """Gaussian process whose rows hear of each other through inducing points only.

    The fully independent training conditional: what the inducing points do not tell
    of a latent value is noise of its own, which the probit takes in as such. Costs
    O(n m^2), and leaves no row too certain.

    Parameters
    ----------
    features : array of shape (n, r)
    remainder : array of shape (n,)
        As `InducingBasis` gives them.
    y : array of shape (n,)
    row_weights : array of shape (n,)
    **options
        Of `infer`.

    Attributes
    ----------
    inference : Inference
        Of the latent values without the remainder.
    remainder : array of shape (n,)
        As given.
    """

    def __init__(self, features, remainder, y, row_weights, **options):
        counts, powers = split_weights(row_weights)
        self._features, self.remainder = features, remainder
        self._counts = counts
        prior = prior_belief(np.ones(features.shape[1])).as_dense()
        likelihood = Probit(y, noise_variance=1.0 + remainder, power=powers)
        self.inference = infer(
            WeightSpace(features, prior), likelihood, counts=counts, **options
        )

    def latent(self, features, remainder):
        """Mean and variance of latent values elsewhere, shape (m,) each."""
        mean, variance = self.inference.posterior.belief.latent(features)
        return mean, variance + remainder

    def slopes(self, basis):
        """Slopes of the log evidence in all covariances, as `Process.slope`.

        ``G = (a a' - R) / 2`` as there; with ``A = K_nm K_mm^-1`` and without its
        diagonal, ``d log Z = 2 <G A, dK_nm> - <A' G A, dK_mm> + <diag G, dk_nn>``.

        Parameters
        ----------
        basis : InducingBasis

        Returns
        -------
        cross : array of shape (n, m)
        inducing : array of shape (m, m)
        diagonal : array of shape (n,)
        """
        inference = self.inference
        precision = self._counts * inference.sites.precision
        weights = self._counts * inference.sites.shift - precision * inference.mean
        solved = self._features @ basis.map.T
        root = inference.posterior.belief.root
        projected = (self._features @ root) * precision[:, np.newaxis]
        # Copies of a row have remainders of their own: squares are of one copy each.
        squares = weights**2 / self._counts, column_squares(projected.T) / self._counts
        diagonal = 0.5 * (squares[0] - precision + squares[1])
        cross = 0.5 * (
            np.outer(weights, weights @ solved)
            - precision[:, np.newaxis] * solved
            + projected @ (projected.T @ solved)
        )
        cross -= diagonal[:, np.newaxis] * solved
        return 2.0 * cross, -solved.T @ cross, diagonal
