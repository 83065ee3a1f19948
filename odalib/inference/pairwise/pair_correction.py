"""What adaptive TAP gains from treating every pair of spins exactly."""

import numpy as np

from odalib.inference.ep.spin import Spin, log_two_cosh
from odalib.inference.pairwise.spin_pairs import SpinPairs

__all__ = ["correct_pairs"]

# Rows of the table of pairs at a time.
BLOCK = 128


def correct_pairs(inference):
    """Sum over all pairs what the four states say that two single spins do not.

    A pair has the block of the covariance S of the Gaussian, with inverse P. Without
    the two sites, of precisions Lambda and shifts gamma, it is in the field of all
    others, ``exp(-x' (P - diag(Lambda)) x / 2 + (P mu - gamma)' x)``. Its four states
    summed, over the Gaussian integral of the pair, less the same of both single spins,
    is a term of the correction, and their covariance corrects that of the Gaussian
    (the second order of Opper, Paquet and Winther 2013, with whole pairs).

    Everything is written with what pairs add to the cavities of single spins, in which
    precise sites do not cancel.

    Parameters
    ----------
    inference : Inference
        Of spins.

    Returns
    -------
    correction : float
        To add to the log partition function.
    covariances : array of shape (n, n)

    Raises
    ------
    ValueError
        For other latent values than spins, and for spins that are locked together.
    """
    likelihood = inference.problem.likelihood
    if not isinstance(likelihood, Spin):
        raise ValueError(
            "The pair correction sums over the four states of two spins, and site="
            f"{type(likelihood).__name__} has other values. Leave site=None, or use "
            "the result without the correction."
        )
    S, mean, variance = (
        inference.posterior.covariance(),
        inference.mean,
        inference.variance,
    )
    field = inference.cavity.shift
    covariances = np.empty_like(S)
    correction = 0.0
    for start in range(0, len(mean), BLOCK):
        rows = slice(start, start + BLOCK)
        # Of a spin and itself there is no pair.
        beside = np.arange(len(mean))[rows, np.newaxis] != np.arange(len(mean))
        shared = np.where(beside, S[rows], 0.0)
        one = (
            mean[rows, np.newaxis],
            variance[rows, np.newaxis],
            field[rows, np.newaxis],
        )
        gain, covariances[rows] = gain_of_pairs(shared, one, (mean, variance, field))
        # Every pair comes twice.
        correction += 0.5 * float(gain.sum(where=beside))
    covariances.flat[:: len(mean) + 1] = 1.0 - mean**2
    return correction, covariances


def gain_of_pairs(shared, one, other):
    """Term of every pair in the correction, and the covariance of its four states.

    Parameters
    ----------
    shared : array of shape (b, n)
        Covariances of the Gaussian.
    one, other : (array, array, array)
        Means and variances of the Gaussian, and cavity fields; of shape (b, 1) and
        (n,).

    Returns
    -------
    gain, covariance : array of shape (b, n)
    """
    (mean, variance, field), (mean2, variance2, field2) = one, other
    coupling = shared / variance / variance2
    square = coupling**2 * variance * variance2
    if not (square < 1.0).all():
        raise ValueError(
            "The pair correction divides by what a spin says that another does not, "
            "and spins are locked together. Use method='exact', or the result without "
            "the correction."
        )
    coupling /= 1.0 - square
    # What the pair adds to precision times variance, of either spin.
    added = square / (1.0 - square)
    pairs = SpinPairs(
        coupling,
        field + added * (mean / variance) - coupling * mean2,
        field2 + added * (mean2 / variance2) - coupling * mean,
    )
    gain = pairs.log_sum - log_two_cosh(field) - log_two_cosh(field2)
    gain += coupling * mean * mean2 - 0.5 * np.log1p(-square)
    gain -= 0.5 * added * ((1.0 + mean**2) / variance + (1.0 + mean2**2) / variance2)
    return gain, pairs.covariance
