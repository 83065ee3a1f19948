"""From the log probabilities of two-class problems to those of all classes."""

import numpy as np

from odalib.kernels.reference.coupling import (
    classes_of_pairs,
    couple_plainly,
    pair_rates,
)

__all__ = ["couple", "couple_plainly", "least_plain_rate", "normalise"]

# Numbers in the tables of transition rates of a block of rows: 2 MB.
WORK_ELEMENTS = 2**18
# Products of as many rates as there are classes are to stay above this.
LEAST_PRODUCT = 1e-200


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

    With ``r_ij`` the probability of class i where only i and j are possible, finds
    the p with ``p_i = sum_(j != i) (p_i + p_j) r_ij / (k - 1)`` (Wu, Lin & Weng
    2004, first approach): the stationary distribution of the Markov chain that goes
    from j to i with probability ``r_ij / (k - 1)``. If there are probabilities that
    all pairs agree with, it is these.

    Solved by the elimination of Grassmann, Taksar & Heyman (1985), which does not
    subtract, in logarithms: classes of probability exp(-100,000) keep their digits.

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
    W. K. Grassmann, M. I. Taksar and D. P. Heyman, "Regenerative analysis and steady
    state distributions for Markov chains", Operations Research 33, 1985.
    """
    n_rows, n_pairs = log_first.shape
    n_classes = classes_of_pairs(n_pairs)
    log_weights = np.empty((n_rows, n_classes))
    size = max(WORK_ELEMENTS // n_classes**2, 1)
    for start in range(0, n_rows, size):
        rows = slice(start, start + size)
        log_rates = pair_rates(log_first[rows], log_second[rows])
        log_weights[rows] = _log_stationary(log_rates).T
    return normalise(log_weights)


def least_plain_rate(n_classes):
    """Least rate whose products, as long as can come up, keep all of their digits."""
    return LEAST_PRODUCT ** (1.0 / n_classes)


def _log_stationary(log_rates):
    """Log weights of the states of Markov chains, shape (k, n), up to a constant.

    Takes one state after the other out of the chain, from the last. Goes through the
    table in the order of Crout, so that every entry is one sum: of its rate and of
    the detours through the states taken out before.
    """
    n_states = len(log_rates)
    for state in range(n_states - 1, 0, -1):
        left, out = slice(0, state), slice(state + 1, None)
        leaving = log_rates[state, out, np.newaxis] + log_rates[out, left]
        entering = log_rates[left, out].swapaxes(0, 1) + log_rates[out, state, None]
        log_rates[state, left] = _log_sum(log_rates[state, left], leaving)
        log_rates[left, state] = _log_sum(log_rates[left, state], entering)
        # Over the rate of leaving: how much of its weight a state hands to this one.
        log_rates[left, state] -= np.logaddexp.reduce(log_rates[state, left], axis=0)
    log_weights = np.zeros(log_rates.shape[1:])
    for state in range(1, n_states):
        visits = log_weights[:state] + log_rates[:state, state]
        log_weights[state] = np.logaddexp.reduce(visits, axis=0)
    return log_weights


def _log_sum(first, others):
    """``log(exp(first) + sum exp(others))`` over the first axis of ``others``."""
    largest = np.maximum(first, others.max(axis=0, initial=-np.inf))
    total = np.exp(first - largest) + np.exp(others - largest).sum(axis=0)
    return largest + np.log(total)
