"""Assumed-density filtering of probit observations, row by row.

A row x is seen with the label y = +-1: the likelihood of the weights w is
``Phi(y w'x / sqrt(noise_variance))``. It meets the Gaussian belief about w through
the latent value ``f = w'x`` alone. With mean m and variance v of f and ``c = C x``, the
moments of the product are those of::

    mean + gain c          C - (1 - kept) c c' / v

where ``gain`` and ``kept``, the share of v that is left, come from `probit_step`. A
row of weight w is seen so many times in succession, and once more by its likelihood
to the power of what w has beyond a whole number.

A belief is held in one of three ways, each with its kernel, which works in place:

factor
    Any U and v with ``C = U diag(v) U'``: what is left of a variance is known to the
    digits of U, and C cannot lose its definiteness by rounding.
covariance
    C itself, its lower triangle. After every observation it relaxes towards the
    prior, ``mean <- m0 + f (mean - m0)`` and ``C <- f^2 C + (1 - f^2) C0``, which
    bounds it from below; a factor would have to be made anew each time.
diagonal
    Variances of independent weights. A row reads and writes the features it has; the
    relaxations due to the others wait until they are touched.
"""

from itertools import chain, repeat
from math import sqrt

import numpy as np
from scipy.linalg.blas import dger, dsymv, dsyr

from odalib.kernels.reference.probit import probit_step

__all__ = ["learn_covariance", "learn_diagonal", "learn_factor", "relax_features"]

# Up to this variance a latent value is certain, and learning ends before numbers
# underflow.
CERTAIN = 1e-280


def learn_factor(mean, factor, variances, rows, y, weights, noise_variance):
    """Learn rows one after the other, in place; the covariance by its factors.

    By Potter's square root, which leaves the variances as they are and fills the
    factor; another way to the same covariance may keep a triangle and change both.

    Parameters
    ----------
    mean : array of shape (d,)
    factor : array of shape (d, d)
        In Fortran order.
    variances : array of shape (d,)
        The covariance is ``factor @ diag(variances) @ factor.T``.
    rows : array of shape (n, d) or (n, d - 1)
        In float64; where they have one feature less than there are weights, the last
        is one, as of an intercept.
    y : array of shape (n,)
        -1.0 or 1.0.
    weights : array of shape (n,)
        Positive.
    noise_variance : float
        Zero for the step likelihood.
    """
    for row, label, weight in zip(
        _complete(rows, len(mean)), y.tolist(), weights.tolist(), strict=True
    ):
        projected = row @ factor
        scaled = variances * projected
        variance = float(projected @ scaled)
        if variance <= CERTAIN:
            continue
        latent = float(row @ mean)
        # C x keeps its direction: copies of a row are a matter of two numbers.
        gain, kept = 0.0, 1.0
        for power in _powers(weight):
            more, share = probit_step(
                label, latent, kept * variance, noise_variance, power
            )
            latent += more * kept * variance
            gain += more * kept
            kept *= share
        direction = factor @ scaled
        mean += gain * direction
        shrinkage = (1.0 - sqrt(kept)) / variance
        dger(-shrinkage, direction, projected, a=factor, overwrite_a=True)


def learn_covariance(
    mean,
    covariance,
    prior_mean,
    prior_variance,
    forgetting,
    rows,
    y,
    weights,
    noise_variance,
):
    """Learn rows one after the other and forget, in place.

    Parameters are those of `learn_factor`, and

    covariance : array of shape (d, d)
        In Fortran order; the lower triangle is read and written.
    prior_mean, prior_variance : array of shape (d,)
        What the belief relaxes to.
    forgetting : float
        Of the difference from the prior mean, what is left after one observation.
    """
    variances = np.einsum("ii->i", covariance)
    for row, label, weight in zip(
        _complete(rows, len(mean)), y.tolist(), weights.tolist(), strict=True
    ):
        for power in _powers(weight):
            direction = dsymv(1.0, covariance, row, lower=True)
            variance = float(row @ direction)
            if variance > CERTAIN:
                latent = float(row @ mean)
                gain, kept = probit_step(label, latent, variance, noise_variance, power)
                mean += gain * direction
                loss = (kept - 1.0) / variance
                dsyr(loss, direction, a=covariance, lower=True, overwrite_a=True)
            left = forgetting**power
            mean *= left
            mean += (1.0 - left) * prior_mean
            left *= left
            covariance *= left
            variances += (1.0 - left) * prior_variance


def learn_diagonal(
    mean,
    variance,
    touched,
    clock,
    prior_mean,
    prior_variance,
    forgetting,
    rows,
    visits,
    y,
    weights,
    noise_variance,
    has_intercept,
):
    """Learn sparse rows one after the other, in place; weights are independent.

    Parameters are those of `learn_covariance`, and

    variance : array of shape (d,)
    touched : array of shape (d,)
        The time at which mean and variance of a feature are as they stand;
        relaxations since then are due.
    clock : float
        The time: weight of the observations up to here.
    rows : tuple of arrays
        The entries ``(data, indices, indptr)`` of a CSR matrix in float64, each entry
        stored once.
    visits : array of int64 of shape (n,)
        Rows in the order in which they are learnt; y and weights are of the visits.
    has_intercept : bool
        Whether the last weight is of a feature that is one in every row, and is not
        among the entries.

    Returns
    -------
    clock : float
        The time after these rows.
    """
    data, indices, indptr = rows
    ends = indptr.tolist()
    for row, label, weight in zip(
        visits.tolist(), y.tolist(), weights.tolist(), strict=True
    ):
        entries = slice(ends[row], ends[row + 1])
        features, values = indices[entries], data[entries]
        if has_intercept:
            features = np.append(features, len(mean) - 1)
            values = np.append(values, 1.0)
        for power in _powers(weight):
            relax_features(
                mean,
                variance,
                touched,
                clock,
                prior_mean,
                prior_variance,
                forgetting,
                features,
            )
            before = variance[features]
            parts = before * values * values
            total = float(parts.sum())
            if total > CERTAIN:
                latent = float(mean[features] @ values)
                gain, kept = probit_step(label, latent, total, noise_variance, power)
                mean[features] += gain * before * values
                # 1 - (1 - kept) part / total, as a sum of what cannot be negative.
                others = (total - parts) / total
                variance[features] = before * (kept + (1.0 - kept) * others)
            clock += power
    return clock


def relax_features(
    mean, variance, touched, clock, prior_mean, prior_variance, forgetting, features
):
    """Make up for the relaxations that are due to some features, in place.

    Parameters are those of `learn_diagonal`, and

    features : array of int of shape (m,) or slice
        Which features.
    """
    if forgetting == 1.0:
        return
    left = forgetting ** (clock - touched[features])
    centre, widest = prior_mean[features], prior_variance[features]
    mean[features] = left * mean[features] + (1.0 - left) * centre
    left *= left
    variance[features] = left * variance[features] + (1.0 - left) * widest
    touched[features] = clock


def _complete(rows, n_features):
    """Rows with all of their features."""
    missing = n_features - rows.shape[1]
    if missing not in (0, 1):
        raise ValueError(
            f"Rows have {rows.shape[1]} features, and the belief {n_features}; the "
            "last, a constant, alone may be missing."
        )
    return np.hstack([rows, np.ones((len(rows), missing))]) if missing else rows


def _powers(weight):
    """One for every whole unit of a weight, and the rest."""
    whole = int(weight)
    rest = weight - whole
    return chain(repeat(1.0, whole), repeat(rest, int(rest > 0.0)))
