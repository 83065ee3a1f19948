"""Exact answers by enumeration: every state of up to twenty spins."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp

__all__ = ["MOST_SPINS", "ExactMoments", "enumerate_states"]

# Twice as many states for every further spin: of so many, a table of 8 MB.
MOST_SPINS = 20


@dataclass(frozen=True)
class ExactMoments:
    """Moments of spins and their log partition function, exact up to rounding.

    Attributes
    ----------
    magnetisations : array of shape (n,)
        ``E[x_i]``.
    covariances : array or CSR array of shape (n, n)
        ``E[x_i x_j] - E[x_i] E[x_j]``: of all pairs, or on the edges and the
        diagonal.
    log_partition : float
        ``log sum_x exp(x'Jx / 2 + B'x)``.
    """

    magnetisations: np.ndarray
    covariances: np.ndarray | sp.csr_array
    log_partition: float


def enumerate_states(couplings):
    """Sum over all states.

    The spins are cut in two halves. The logarithms of the weights of all states are
    then a table, states of one half by states of the other, that one matrix product
    makes, and from which products with the halves' states make all moments.

    Parameters
    ----------
    couplings : Couplings
        Of at most `MOST_SPINS` spins.

    Returns
    -------
    ExactMoments
        Covariances of all pairs.

    Raises
    ------
    ValueError
        For more spins.
    """
    n = couplings.n_spins
    if n > MOST_SPINS:
        raise ValueError(
            f"method='exact' enumerates the states of at most {MOST_SPINS} spins; J "
            f"has {n}, and {n} spins have 2^{n} states. Use another method."
        )
    J, fields = couplings.dense(), couplings.fields
    left, right = slice(None, n // 2), slice(n // 2, None)
    rows, columns = all_states(n // 2), all_states(n - n // 2)
    log_weights = rows @ J[left, right] @ columns.T
    log_weights += log_weights_within(rows, J[left, left], fields[left])[:, np.newaxis]
    log_weights += log_weights_within(columns, J[right, right], fields[right])
    log_partition = logsumexp(log_weights)
    masses = np.exp(log_weights - log_partition)

    of_rows, of_columns = masses.sum(axis=1), masses.sum(axis=0)
    magnetisations = np.concatenate([of_rows @ rows, of_columns @ columns])
    rows -= magnetisations[left]
    columns -= magnetisations[right]
    covariances = np.empty((n, n))
    covariances[left, left] = rows.T @ (of_rows[:, np.newaxis] * rows)
    covariances[right, right] = columns.T @ (of_columns[:, np.newaxis] * columns)
    covariances[left, right] = rows.T @ masses @ columns
    covariances[right, left] = covariances[left, right].T
    return ExactMoments(magnetisations, covariances, float(log_partition))


def all_states(n):
    """All states of n spins, shape (2^n, n)."""
    return 1.0 - 2.0 * ((np.arange(1 << n)[:, np.newaxis] >> np.arange(n)) & 1)


def log_weights_within(states, J, fields):
    """``x'Jx / 2 + B'x`` of every state, shape (len(states),)."""
    return 0.5 * np.einsum("si,si->s", states @ J, states) + states @ fields
