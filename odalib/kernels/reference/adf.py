"""Assumed-density filtering of probit observations, row by row.

A row x is seen with the label y = +-1: the likelihood of the weights w is
``Phi(y w'x / sqrt(noise_variance))``. It meets the Gaussian belief about w through
the latent value ``f = w'x`` alone. With mean m and variance v of f and ``c = C x``, the
moments of the product are those of::

    mean + gain c          C - (1 - kept) c c' / v

where ``gain`` and ``kept``, the share of v that is left, come from `probit_step`.

A belief is held in one of three ways, each with its own kernels, which work in place:

root
    Any S with ``C = S S'`` (Potter's square root): what is left of a variance is
    known to the digits of S, and C cannot lose its definiteness by rounding.
covariance
    C itself, its lower triangle. After every observation it relaxes towards the
    prior, ``mean <- m0 + f (mean - m0)`` and ``C <- f^2 C + (1 - f^2) C0``, which
    bounds it from below; a root would have to be made anew each time.
diagonal
    Variances of independent weights. A row reads and writes the features it has; the
    relaxations due to the others wait until they are touched.
"""

from math import exp, pi, sqrt

import numpy as np
from scipy.linalg.blas import dger, dsymv, dsyr
from scipy.special import erfcx

__all__ = [
    "learn_covariance",
    "learn_diagonal",
    "learn_root",
    "look_covariance",
    "look_diagonal",
    "look_root",
    "move_covariance",
    "move_diagonal",
    "move_root",
    "probit_step",
    "relax",
    "relax_features",
]

# Left of TAIL the continued fraction has converged to 1e-14 at this depth; right of
# ONE, Phi is 1 in floats.
TAIL, DEPTH = -3.0, 50
ONE = 9.0


def probit_step(label, mean, variance, noise_variance):
    """Moments of a latent value that is seen once, relative to those before.

    With ``s^2 = noise_variance + variance``, ``z = label mean / s``,
    ``r = phi(z) / Phi(z)`` and ``q = 1 - r (z + r)``, without the cancellation of
    that difference::

        gain = label r / s      kept = (noise_variance + variance q) / s^2

    Parameters
    ----------
    label : float
        -1.0 or 1.0.
    mean, variance : float
        Of the latent value; the variance is positive.
    noise_variance : float
        Not negative.

    Returns
    -------
    gain : float
        ``(new mean - mean) / variance``.
    kept : float
        ``new variance / variance``, in (0, 1].
    """
    total = noise_variance + variance
    scale = sqrt(total)
    z = label * mean / scale
    if z < TAIL:
        h = z
        for numerator in range(DEPTH, 2, -1):
            h = z + numerator / h
        excess = 1.0 / (2.0 / -h - z)
        ratio = excess - z
        slope = excess * (2.0 / -h - excess)
    else:
        if z > ONE:
            ratio = exp(-0.5 * z * z) / sqrt(2.0 * pi)
        else:
            ratio = sqrt(2.0 / pi) / float(erfcx(-z / sqrt(2.0)))
        slope = 1.0 - ratio * (z + ratio)
    return label * ratio / scale, (noise_variance + variance * slope) / total


def learn_root(mean, root, rows, y, counts, noise_variance):
    """Learn rows one after the other, in place; the covariance by its root.

    Parameters
    ----------
    mean : array of shape (d,)
    root : array of shape (d, d)
        In Fortran order; the covariance is ``root @ root.T``.
    rows : array of shape (n, d)
        In float64.
    y : array of shape (n,)
        -1.0 or 1.0.
    counts : array of int of shape (n,)
        How many times in succession each row is seen.
    noise_variance : float
    """
    for row, label, count in zip(rows, y.tolist(), counts.tolist(), strict=True):
        projected, variance = look_root(root, row)
        # A latent value that is certain teaches nothing, however often it is seen.
        if variance == 0.0:
            continue
        latent = float(row @ mean)
        # C x keeps its direction: copies of a row are a matter of two numbers.
        gain, kept = 0.0, 1.0
        for _ in range(count):
            more, share = probit_step(label, latent, kept * variance, noise_variance)
            latent += more * kept * variance
            gain += more * kept
            kept *= share
        move_root(mean, root, projected, variance, gain, kept)


def look_root(root, row):
    """``root.T @ x``, shape (d,), and the variance of ``w'x``."""
    projected = row @ root
    return projected, float(projected @ projected)


def move_root(mean, root, projected, variance, gain, kept):
    """Take over the moments of one latent value, in place.

    Parameters
    ----------
    mean : array of shape (d,)
    root : array of shape (d, d)
        In Fortran order.
    projected : array of shape (d,)
    variance : float
        As `look_root` gives them; the variance is positive.
    gain, kept : float
        See `probit_step`.
    """
    direction = root @ projected
    mean += gain * direction
    shrinkage = (1.0 - sqrt(kept)) / variance
    dger(-shrinkage, direction, projected, a=root, overwrite_a=True)


def learn_covariance(
    mean,
    covariance,
    prior_mean,
    prior_variance,
    forgetting,
    rows,
    y,
    counts,
    noise_variance,
):
    """Learn rows one after the other and forget, in place.

    Parameters are those of `learn_root`, and

    covariance : array of shape (d, d)
        In Fortran order; the lower triangle is read and written.
    prior_mean, prior_variance : array of shape (d,)
        What the belief relaxes to.
    forgetting : float
        Of the difference from the prior mean, what is left after one observation.
    """
    for row, label, count in zip(rows, y.tolist(), counts.tolist(), strict=True):
        for _ in range(count):
            direction, variance = look_covariance(covariance, row)
            if variance > 0.0:
                latent = float(row @ mean)
                gain, kept = probit_step(label, latent, variance, noise_variance)
                move_covariance(mean, covariance, direction, variance, gain, kept)
            relax(mean, covariance, prior_mean, prior_variance, forgetting)


def look_covariance(covariance, row):
    """``C x``, shape (d,), and the variance of ``w'x``; of the lower triangle."""
    direction = dsymv(1.0, covariance, row, lower=True)
    return direction, float(row @ direction)


def move_covariance(mean, covariance, direction, variance, gain, kept):
    """Take over the moments of one latent value, in place; see `move_root`.

    Parameters
    ----------
    mean : array of shape (d,)
    covariance : array of shape (d, d)
        In Fortran order; the lower triangle is written.
    direction : array of shape (d,)
    variance : float
        As `look_covariance` gives them; the variance is positive.
    gain, kept : float
        See `probit_step`.
    """
    mean += gain * direction
    weight = (kept - 1.0) / variance
    dsyr(weight, direction, a=covariance, lower=True, overwrite_a=True)


def relax(mean, covariance, prior_mean, prior_variance, kept):
    """Relax towards the prior, in place; ``kept`` of the difference of means stays."""
    mean *= kept
    mean += (1.0 - kept) * prior_mean
    covariance *= kept**2
    np.einsum("ii->i", covariance)[...] += (1.0 - kept**2) * prior_variance


def learn_diagonal(
    mean,
    variance,
    touched,
    clock,
    prior_mean,
    prior_variance,
    forgetting,
    rows,
    y,
    counts,
    noise_variance,
):
    """Learn sparse rows one after the other, in place; weights are independent.

    Parameters are those of `learn_covariance`, and

    variance : array of shape (d,)
    touched : array of shape (d,)
        The time at which mean and variance of a feature are as they stand;
        relaxations since then are due.
    clock : float
        The time: observations up to here.
    rows : tuple of arrays
        The entries ``(data, indices, indptr)`` of a CSR matrix of shape (n, d) in
        float64, each entry stored once.

    Returns
    -------
    clock : float
        The time after these rows.
    """
    data, indices, indptr = rows
    ends = indptr.tolist()
    for i, (label, count) in enumerate(zip(y.tolist(), counts.tolist(), strict=True)):
        entries = slice(ends[i], ends[i + 1])
        features, values = indices[entries], data[entries]
        for _ in range(count):
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
            parts, total = look_diagonal(variance, features, values)
            if total > 0.0:
                latent = float(mean[features] @ values)
                gain, kept = probit_step(label, latent, total, noise_variance)
                move_diagonal(mean, variance, features, values, parts, gain, kept)
            clock += 1.0
    return clock


def look_diagonal(variance, features, values):
    """Parts of the variance of ``w'x`` by feature, shape (m,), and their sum."""
    parts = variance[features] * values * values
    return parts, float(parts.sum())


def move_diagonal(mean, variance, features, values, parts, gain, kept):
    """Take over the moments of one latent value, in place; see `move_root`.

    Parameters
    ----------
    mean, variance : array of shape (d,)
    features : array of int of shape (m,)
    values : array of shape (m,)
        What the row has of them.
    parts : array of shape (m,)
        As `look_diagonal` gives them; their sum is positive.
    gain, kept : float
        See `probit_step`.
    """
    before = variance[features]
    mean[features] += gain * before * values
    total = parts.sum()
    # 1 - (1 - kept) part / total, as a sum of what cannot be negative.
    variance[features] = before * (kept + (1.0 - kept) * ((total - parts) / total))


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
    kept = forgetting ** (clock - touched[features])
    centre, widest = prior_mean[features], prior_variance[features]
    mean[features] = kept * mean[features] + (1.0 - kept) * centre
    kept *= kept
    variance[features] = kept * variance[features] + (1.0 - kept) * widest
    touched[features] = clock
