"""Prior variances of the weights of a linear classifier."""

from numbers import Real

import numpy as np
import scipy.sparse as sp

from odalib.kernels.association import (
    largest_size,
    probit_sides,
    row_sums,
    sure_winners,
)

__all__ = [
    "check_latent_range",
    "checked_winners",
    "mean_and_bound",
    "sides_by_root",
    "weight_variances",
    "with_intercept",
]

# Of a variance, so that its products with others stay floats.
LARGEST = 1e250


def weight_variances(prior_variance, intercept_variance, n_features):
    """Prior variances of all weights, that of the intercept last.

    Parameters
    ----------
    prior_variance : float or array-like of shape (n_features,)
    intercept_variance : float or None
        None where there is no intercept.
    n_features : int

    Returns
    -------
    variances : array of shape (n_features,) or (n_features + 1,)

    Raises
    ------
    ValueError
        For variances that are not positive and finite, and for another number of
        them than of features.
    """
    if isinstance(prior_variance, Real):
        variances = np.full(n_features, float(prior_variance))
    else:
        variances = np.array(prior_variance, dtype=np.float64)
        if variances.shape != (n_features,):
            raise ValueError(
                "prior_variance holds one variance for every feature, but its shape "
                f"is {variances.shape} where X has {n_features} features."
            )
    bad = np.flatnonzero(~((variances > 0.0) & np.isfinite(variances)))
    if len(bad):
        raise ValueError(
            "prior_variance must be positive and finite, got "
            f"{variances[bad[0]]} for feature {bad[0]}."
        )
    if intercept_variance is None:
        return variances
    return np.append(variances, intercept_variance)


def mean_and_bound(rows, weights, variances, fit_intercept):
    """Latent mean of every row, (n,), and a bound of the variances.

    Parameters
    ----------
    rows : array or CSR matrix of shape (n, d)
    weights : array of shape (d,) or (d + 1,)
        Mean of the weights, of the intercept last if there is one.
    variances : array of the same shape
        Prior variances.
    fit_intercept : bool

    Raises
    ------
    ValueError
        As `check_latent_range`.
    """
    slope, intercept = (weights[:-1], weights[-1]) if fit_intercept else (weights, 0.0)
    mean, largest = row_sums(rows, slope, intercept)
    return mean, _bound_of_variance(largest, variances)


def sides_by_root(rows, belief, variances):
    """Probabilities of two classes, (n, 2).

    Parameters
    ----------
    rows : array or CSR matrix of shape (n, d)
        Which may hold what is not finite.
    belief : belief
        About the weights, of a ``mean`` and a ``root`` R of its covariance ``R R'``;
        if they have one more than features, that is of the intercept.
    variances : array of shape (d,) or (d + 1,)
        Prior variances.

    Raises
    ------
    ValueError
        As `check_latent_range`, and for values that are not finite.
    """
    rows = rows.astype(np.float64, copy=False)
    sides, largest = probit_sides(rows, belief.mean, belief.root)
    _bound_of_variance(largest, variances)
    return sides


def checked_winners(rows, means, widths, slack, variances):
    """Classes that are sure to be the most probable, and -1 for others, (n,).

    Parameters
    ----------
    rows : array or CSR matrix of shape (n, d)
        Which may hold what is not finite.
    means, widths, slack
        As for `odalib.kernels.reference.coupling.sure_winners`.
    variances : array of shape (d,) or (d + 1,)
        Prior variances.

    Raises
    ------
    ValueError
        As `check_latent_range`, and for values that are not finite.
    """
    rows = rows.astype(np.float64, copy=False)
    winners, largest = sure_winners(rows, means, widths, slack)
    _bound_of_variance(largest, variances)
    return winners


def with_intercept(rows):
    """Rows with a last feature that is one."""
    ones = np.ones((rows.shape[0], 1), dtype=rows.dtype)
    if sp.issparse(rows):
        return sp.hstack([rows, ones], format="csr")
    return np.hstack([rows, ones])


def check_latent_range(X, variances):
    """Raise ValueError where variances of latent values would overflow."""
    _bound_of_variance(largest_size(X.data if sp.issparse(X) else X), variances)


def _bound_of_variance(largest, variances):
    """Bound of the latent variance of rows whose entries are at most so large."""
    limit = np.sqrt(LARGEST / (variances.max() * len(variances)))
    if not largest <= limit:
        raise ValueError(
            f"X holds values up to {largest:.3g}, whose squares times the prior "
            f"variance overflow; scale X so that they stay below {limit:.0e}."
        )
    # The intercept has a feature that is one.
    return max(largest, 1.0) ** 2 * variances.max() * len(variances)
