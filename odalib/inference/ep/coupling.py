"""From the log probabilities of two-class problems to those of all classes."""

from itertools import combinations
from math import isqrt

import numpy as np

__all__ = ["couple", "normalise"]


def normalise(log_weights):
    """Log probabilities proportional to the given weights, row by row.

    Parameters
    ----------
    log_weights : array of shape (n, k)
        Finite.

    Returns
    -------
    log_probabilities : array of shape (n, k)
        ``log_weights - log sum exp(log_weights)``, also the largest of a row to full
        relative precision, however near to zero.
    """
    every_row = np.arange(len(log_weights))
    largest = log_weights.argmax(axis=1)
    shifted = log_weights - log_weights[every_row, largest, np.newaxis]
    others = np.exp(shifted)
    others[every_row, largest] = 0.0
    return shifted - np.log1p(others.sum(axis=1, keepdims=True))


def couple(log_first, log_second):
    """Class probabilities from those of all pairs of classes.

    With ``r_ij`` the probability of class i where only i and j are possible, class i
    is preferred to every other with ``prod_(j != i) r_ij`` if its contests are
    independent; of that, given that some class is preferred to every other,
    ``p_i = prod_(j != i) r_ij / sum_k prod_(j != k) r_kj``.

    Of probabilities that all pairs agree with it makes sharper ones. Such pairs are
    not what two-class problems give, most of which know neither of their classes in
    a row: where pairs are made to agree as nearly as they can, as in Wu, Lin & Weng
    (2004), those outvote the problems that do know. The log loss of held-out rows is
    then 1.1 to 2.5 times as large (iris, wine and digits, standardised).

    Parameters
    ----------
    log_first, log_second : array of shape (n, k (k - 1) / 2)
        ``log r_ij`` and ``log r_ji`` of the pairs (0, 1), (0, 2), ..., (k - 2, k - 1).
        Finite.

    Returns
    -------
    log_probabilities : array of shape (n, k)
        Every row sums to one in probability.

    References
    ----------
    T.-F. Wu, C.-J. Lin and R. C. Weng, "Probability estimates for multi-class
    classification by pairwise coupling", JMLR 5, 2004.
    """
    n_rows, n_pairs = log_first.shape
    n_classes = (1 + isqrt(1 + 8 * n_pairs)) // 2
    log_weights = np.zeros((n_rows, n_classes))
    for pair, (i, j) in enumerate(combinations(range(n_classes), 2)):
        log_weights[:, i] += log_first[:, pair]
        log_weights[:, j] += log_second[:, pair]
    return normalise(log_weights)
