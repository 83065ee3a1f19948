"""Kernels of predictions in NumPy: rows as they came, against planes of codevectors.

As in `odalib.kernels.reference.annealing`, ``d(x, mu_i) = phi(x) + offset_i -
<gradient_i, x>``, with x the row less a shift.
"""

import numpy as np
from scipy.special import log_ndtr, ndtr

from odalib.kernels.reference import annealing

__all__ = [
    "both_sides",
    "centred",
    "class_votes",
    "largest_size",
    "latent_moments",
    "probit_sides",
    "row_sums",
]

# From here on, down to -38.6, the normal distribution function is a small float.
FAR = -37.0


def largest_size(rows):
    """Largest absolute value of all entries; not finite where one is not.

    Parameters
    ----------
    rows : array of shape (n, d)
    """
    return max(float(rows.max(initial=0.0)), -float(rows.min(initial=0.0)))


def row_sums(rows, weights, constant):
    """Weighted sum of every row, and the largest absolute value of all entries.

    Parameters
    ----------
    rows : array or CSR matrix of shape (n, d)
    weights : array of shape (d,)
    constant : float
        Added to every sum.

    Returns
    -------
    sums : array of shape (n,)
    largest : float
        As `largest_size`.
    """
    values = rows if isinstance(rows, np.ndarray) else rows.data
    # Where a sum overflows, the largest value tells.
    with np.errstate(over="ignore", invalid="ignore"):
        return rows @ weights + constant, largest_size(values)


def class_votes(rows, shift, gradients, offsets, starts, adds):
    """Probabilities of classes, from the votes of their codevectors.

    Codevector i votes ``exp(<gradient_i, x> - offset_i)``.

    Parameters
    ----------
    rows, shift, gradients, offsets
        As for `nearest`, the codevectors class by class.
    starts : array of int of shape (n_classes,)
        Where the codevectors of each class begin.
    adds : bool
        Whether the votes for a class are added; else the largest counts alone.

    Returns
    -------
    probabilities : array of shape (n_classes, n)
        Every column sums to one.
    """
    logits = annealing.negative_divergence(centred(rows, shift), gradients, offsets)
    logits -= logits.max(axis=0)
    if not adds:
        logits = np.maximum.reduceat(logits, starts, axis=0)
    votes = np.exp(logits)
    if adds:
        votes = np.add.reduceat(votes, starts, axis=0)
    votes /= votes.sum(axis=0)
    return votes


def latent_moments(rows, means, roots):
    """Mean and variance of ``w' x`` under several beliefs about the weights.

    Parameters
    ----------
    rows : array or CSR matrix of shape (n, d)
    means : array of shape (n_beliefs, d) or (n_beliefs, d + 1)
        Of the weights; the last is of a feature that is one, where there is one more.
    roots : array of shape (n_beliefs, d, q) or (n_beliefs, d + 1, q)
        R of the covariances ``R R'``.

    Returns
    -------
    mean, variance : array of shape (n, n_beliefs)
    """
    n_features = rows.shape[1]
    mean, variance = np.empty((2, rows.shape[0], len(means)))
    for place, (weights, root) in enumerate(zip(means, roots, strict=True)):
        mean[:, place] = rows @ weights[:n_features]
        projected = rows @ root[:n_features]
        if len(weights) > n_features:
            mean[:, place] += weights[-1]
            projected += root[-1]
        variance[:, place] = np.einsum("ij,ij->i", projected, projected)
    return mean, variance


def both_sides(margins):
    """Probabilities of both sides of probits.

    Parameters
    ----------
    margins : array of shape (n, n_problems)
        The z of ``P(positive) = Phi(z)``.

    Returns
    -------
    negative, positive : array of shape (n, n_problems)
        ``Phi(-z)`` and ``Phi(z)``: the less probable one to full relative precision,
        and what it leaves.
    """
    below = -np.abs(margins)
    rarer = ndtr(below)
    # Where the result is subnormal, ndtr has zero.
    is_far = below < FAR
    rarer[is_far] = np.exp(log_ndtr(below[is_far]))
    likelier = 1.0 - rarer
    is_positive = margins > 0.0
    return (
        np.where(is_positive, rarer, likelier),
        np.where(is_positive, likelier, rarer),
    )


def probit_sides(rows, mean, root):
    """Probabilities of both sides of one probit, whose noise has variance one.

    Parameters
    ----------
    rows : array or CSR matrix of shape (n, d)
    mean : array of shape (d,) or (d + 1,)
        Of the weights, as for `latent_moments`.
    root : array of shape (d, q) or (d + 1, q)
        R of the covariance ``R R'``.

    Returns
    -------
    sides : array of shape (n, 2)
        As `both_sides`, the negative side first.
    largest : float
        Absolute value of all entries; not finite where one is not.
    """
    values = rows if isinstance(rows, np.ndarray) else rows.data
    # Where latent values are not finite, the largest value tells.
    with np.errstate(over="ignore", invalid="ignore"):
        latent = latent_moments(rows, np.asarray(mean)[np.newaxis], [root])
        sides = both_sides(latent[0] / np.sqrt(1.0 + latent[1]))
    return np.hstack(sides), largest_size(values)


def centred(rows, shift):
    """Rows less the shift; as they are for None."""
    return rows if shift is None else rows - shift
