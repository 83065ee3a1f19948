"""Exact answers by enumeration: every state of up to 24 spins."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

__all__ = ["MOST_SPINS", "ExactMoments", "enumerate_states"]

# Twice as many states for every further spin: of so many, a second's work.
MOST_SPINS = 24
# Entries of the table of states that are held at a time.
BLOCK = 1 << 20


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
    makes, and from which products with the halves' states make all moments. It is made
    twice, in blocks of rows: for the log partition function, and for the masses.

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
    across = J[left, right] @ columns.T
    of_rows = log_weights_within(rows, J[left, left], fields[left])
    of_columns = log_weights_within(columns, J[right, right], fields[right])
    step = max(1, BLOCK // len(columns))
    blocks = [slice(begin, begin + step) for begin in range(0, len(rows), step)]

    def log_weights(block):
        table = rows[block] @ across
        table += of_rows[block, np.newaxis]
        table += of_columns
        return table

    log_partition = np.logaddexp.reduce([log_sum(log_weights(one)) for one in blocks])
    row_masses, column_masses = np.empty(len(rows)), np.zeros(len(columns))
    # Of every column, the masses times the states of the rows.
    shared = np.zeros((n // 2, len(columns)))
    for block in blocks:
        masses = log_weights(block)
        masses -= log_partition
        np.exp(masses, out=masses)
        row_masses[block] = masses.sum(axis=1)
        column_masses += masses.sum(axis=0)
        shared += rows[block].T @ masses

    magnetisations = np.concatenate([row_masses @ rows, column_masses @ columns])
    rows -= magnetisations[left]
    columns -= magnetisations[right]
    covariances = np.empty((n, n))
    covariances[left, left] = rows.T @ (row_masses[:, np.newaxis] * rows)
    covariances[right, right] = columns.T @ (column_masses[:, np.newaxis] * columns)
    covariances[left, right] = shared @ columns
    covariances[right, left] = covariances[left, right].T
    return ExactMoments(magnetisations, covariances, float(log_partition))


def log_sum(table):
    """Log of the sum of the exponentials of a table, which is written to."""
    largest = table.max()
    table -= largest
    return largest + np.log(np.exp(table, out=table).sum())


def all_states(n):
    """All states of n spins, shape (2^n, n)."""
    return 1.0 - 2.0 * ((np.arange(1 << n)[:, np.newaxis] >> np.arange(n)) & 1)


def log_weights_within(states, J, fields):
    """``x'Jx / 2 + B'x`` of every state, shape (len(states),)."""
    return 0.5 * np.einsum("si,si->s", states @ J, states) + states @ fields
