"""Kernels of pairwise models in NumPy: a sweep of messages, and a Gibbs sweep.

Of an edge ``(i, j)`` the message from i to j stands in the first half of an array of
messages, and the one from j to i at the same place in the second half.
"""

import numpy as np
from scipy.special import expit

__all__ = ["fields_beside", "gibbs_sweep", "passed_messages"]


def fields_beside(messages, first, second, fields):
    r"""Sum what acts on the source of every message, but for the message back.

    Parameters
    ----------
    messages : array of shape (2 m,)
    first, second : arrays of int of shape (m,)
        Ends of every edge.
    fields : array of shape (n,)
        On every spin, beside the messages.

    Returns
    -------
    total : array of shape (n,)
        Fields and all messages that arrive.
    beside : array of shape (2 m,)
        ``h_(i\j)`` of the message from i to j: the total at i without the message
        from j.
    """
    m = len(first)
    target = np.concatenate([second, first])
    total = fields + np.bincount(target, messages, len(fields))
    beside = np.concatenate([total[first], total[second]])
    beside[:m] -= messages[m:]
    beside[m:] -= messages[:m]
    return total, beside


def passed_messages(messages, first, second, coupling, fields):
    r"""Pass on what every spin was told: one sweep over all edges.

    ``u_(i->j) = atanh(tanh J_ij tanh h_(i\j))``, for numbers of any size.

    Parameters are those of `fields_beside`, and

    coupling : array of shape (m,)
        ``J_ij`` of every edge.

    Returns
    -------
    messages : array of shape (2 m,)
    """
    _, field = fields_beside(messages, first, second, fields)
    coupling = np.concatenate([coupling, coupling])
    # (log cosh (J + h) - log cosh (J - h)) / 2
    more, less = np.abs(coupling + field), np.abs(coupling - field)
    passed = more - less
    np.exp(-2.0 * more, out=more)
    np.exp(-2.0 * less, out=less)
    more -= less
    less += 1.0
    more /= less
    passed += np.log1p(more, out=more)
    passed *= 0.5
    return passed


def gibbs_sweep(spins, local, couplings, uniforms, free=None):
    """Draw every spin once, given all others, in every chain.

    A spin goes up with probability ``expit(2 h)`` in a field of h.

    Parameters
    ----------
    spins : array of shape (n, n_chains)
        -1.0 and 1.0; written to.
    local : array of shape (n_chains, n)
        Fields on the spins of every chain, ``B_i + sum_j J_ij x_j``; kept up to date.
    couplings : array of shape (n, n)
        Symmetric, zero diagonal.
    uniforms : array of shape (n_drawn,)
        A random number in [0, 1) for every spin that is drawn: those of the first
        spin in all chains, then those of the second, and so on.
    free : array of bool of shape (n, n_chains), default=None
        Spins that are drawn; None for all.
    """
    changes, end = np.zeros_like(spins), 0
    for i, coupling in enumerate(couplings):
        drawn = slice(None) if free is None else np.flatnonzero(free[i])
        field = local[drawn, i] + coupling[:i] @ changes[:i, drawn]
        start, end = end, end + len(field)
        up = uniforms[start:end] < expit(2.0 * field)
        changes[i, drawn] = np.where(up, 1.0, -1.0) - spins[i, drawn]
    spins += changes
    local += changes.T @ couplings
