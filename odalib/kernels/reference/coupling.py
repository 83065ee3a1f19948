"""Kernels of many classes in NumPy: all pairs of them, coupled.

Pairs are those of classes (0, 1), (0, 2), ..., positive for the second.
"""

from itertools import combinations
from math import isqrt

import numpy as np

from odalib.kernels.reference.association import (
    both_sides,
    largest_size,
    latent_moments,
)

__all__ = [
    "classes_of_pairs",
    "couple_margins",
    "couple_plainly",
    "pair_rates",
    "sure_winners",
]

# Phi(-z) = 1 / 2 / p(z)^4 to less than the error, for z >= 0; from z^4 down.
LOSS = (0.019527, 0.000344, 0.115194, 0.196854, 1.0)
LOSS_ERROR = 0.00025


def classes_of_pairs(n_pairs):
    """How many classes make up so many pairs; of another number ValueError."""
    n_classes = (1 + isqrt(1 + 8 * n_pairs)) // 2
    if n_classes < 2 or n_classes * (n_classes - 1) // 2 != n_pairs:
        raise ValueError(f"{n_pairs} problems are not all pairs of some classes.")
    return n_classes


def couple_plainly(first, second):
    """As `odalib.inference.ep.coupling.couple`, of probabilities themselves.

    Parameters
    ----------
    first, second : array of shape (n, k (k - 1) / 2)
        ``r_ij`` and ``r_ji`` of the pairs, none below
        `odalib.inference.ep.coupling.least_plain_rate`.

    Returns
    -------
    probabilities : array of shape (n, k)
    """
    weights = _stationary(pair_rates(first, second))
    weights /= weights.sum(axis=0)
    return weights.T


def couple_margins(margins):
    """Class probabilities from the margins of the probits of all pairs.

    Parameters
    ----------
    margins : array of shape (n, n_pairs)
        The z of ``P(positive) = Phi(z)``.

    Returns
    -------
    probabilities : array of shape (n, n_classes)
        As `couple_plainly` of `both_sides`.
    rarest : array of shape (n,)
        Least probability of a side of a pair of every row, which should not be below
        `odalib.inference.ep.coupling.least_plain_rate`.
    """
    negative, positive = both_sides(margins)
    rarest = np.minimum(negative, positive).min(axis=1)
    # Products of rates that are too small to be multiplied leave no number.
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return couple_plainly(negative, positive), rarest


def sure_winners(rows, means, widths, slack):
    """Class of more than half of the coupled probability, where bounds show it.

    With ``q_j`` the probability that class c loses to class j, where only the two are
    possible, the coupled p of all classes fulfil ``p_c sum_j q_j = sum_j p_j (1 -
    q_j)`` (see `odalib.inference.ep.coupling.couple`). The right side is at least
    ``(1 - p_c)(1 - max_j q_j)``, so that ``sum_j q_j + max_j q_j < 1 - slack`` leaves
    c a probability above ``1 / 2 + slack / 4``. Probits have the most of ``q_j``, of
    a class whose means are all positive, at the largest variance. A bound of them that
    is at most 0.0005 too large serves (Abramowitz & Stegun 1964, 26.2.18).

    Parameters
    ----------
    rows : array or CSR matrix of shape (n, d)
    means : array of shape (n_pairs, d) or (n_pairs, d + 1)
        Of the weights, as for `latent_moments`, for the pairs of classes (0, 1),
        (0, 2), ..., positive for the second.
    widths : array of shape (n_pairs,)
        Latent variances are at most so many times the square of a row's length, with
        the feature that is one.
    slack : float
        At least what rounding may make of the sum.

    Returns
    -------
    winners : array of intp of shape (n,)
        -1 where no class is shown to be it.
    largest : float
        Absolute value of all entries; not finite where one is not.
    """
    n_classes, n_features = classes_of_pairs(len(means)), rows.shape[1]
    is_dense = isinstance(rows, np.ndarray)
    values = rows if is_dense else rows.data
    # Where latent values are not finite, the largest value tells.
    with np.errstate(over="ignore", invalid="ignore"):
        roots = np.zeros((*np.shape(means), 0))
        mean, _ = latent_moments(rows, np.asarray(means), roots)
        entries = np.square(rows) if is_dense else rows.multiply(rows)
        squares = np.asarray(entries.sum(axis=1)).reshape(-1, 1)
        squares += np.shape(means)[1] > n_features
        margins = mean / np.sqrt(1.0 + np.asarray(widths) * squares)
        rarer = 0.5 / np.polyval(LOSS, np.abs(margins)) ** 4 + LOSS_ERROR
    losses, worst = np.zeros((2, rows.shape[0], n_classes))
    for pair, (first, second) in enumerate(combinations(range(n_classes), 2)):
        second_wins = margins[:, pair] > 0.0
        for loses, loser in ((second_wins, first), (~second_wins, second)):
            # Whoever loses more often than not is no winner.
            loss = np.where(loses, 1.0, rarer[:, pair])
            losses[:, loser] += loss
            worst[:, loser] = np.maximum(worst[:, loser], loss)
    is_sure = losses + worst < 1.0 - slack
    winners = np.where(is_sure.any(axis=1), is_sure.argmax(axis=1), -1)
    return winners, largest_size(values)


def pair_rates(first, second):
    """Rates of going from class j to class i, or logs, at ``[j, i]``: (k, k, n)."""
    n_classes = classes_of_pairs(first.shape[1])
    # What stays with its class, on the diagonal, is never read.
    rates = np.zeros((n_classes, n_classes, len(first)))
    ahead, behind = np.transpose(list(combinations(range(n_classes), 2)))
    rates[behind, ahead] = first.T
    rates[ahead, behind] = second.T
    return rates


def _stationary(rates):
    """Weights of the states of Markov chains, shape (k, n), up to a constant.

    State by state: what goes through one that is taken out, it hands on in the shares
    of its rates.
    """
    n_states = len(rates)
    for state in range(n_states - 1, 0, -1):
        left = slice(0, state)
        rates[left, state] /= rates[state, left].sum(axis=0)
        for origin in range(state):
            rates[origin, left] += rates[origin, state] * rates[state, left]
    weights = np.empty(rates.shape[1:])
    weights[0] = 1.0
    for state in range(1, n_states):
        weights[state] = np.einsum("in,in->n", weights[:state], rates[:state, state])
    return weights
