"""Kernels of predictions in NumPy: rows as they came, against planes of codevectors.

As in `odalib.kernels.reference.annealing`, ``d(x, mu_i) = phi(x) + offset_i -
<gradient_i, x>``, with x the row less a shift.
"""

import numpy as np

from odalib.kernels.reference import annealing

__all__ = [
    "centred",
    "class_votes",
    "largest_size",
    "latent_moments",
    "row_sums",
]


def largest_size(rows):
    """Largest absolute value of all entries, a float; of finite numbers.

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


def centred(rows, shift):
    """Rows less the shift; as they are for None."""
    return rows if shift is None else rows - shift
