"""Prior variances of the weights of a linear classifier."""

from numbers import Real

import numpy as np
import scipy.sparse as sp

__all__ = ["check_latent_range", "weight_variances", "with_intercept"]

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


def with_intercept(rows):
    """Rows with a last feature that is one."""
    ones = np.ones((rows.shape[0], 1), dtype=rows.dtype)
    if sp.issparse(rows):
        return sp.hstack([rows, ones], format="csr")
    return np.hstack([rows, ones])


def check_latent_range(X, variances):
    """Raise ValueError where variances of latent values would overflow."""
    values = X.data if sp.issparse(X) else X
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    limit = np.sqrt(LARGEST / (variances.max() * len(variances)))
    if largest > limit:
        raise ValueError(
            f"X holds values up to {largest:.3g}, whose squares times the prior "
            f"variance overflow; scale X so that they stay below {limit:.0e}."
        )
