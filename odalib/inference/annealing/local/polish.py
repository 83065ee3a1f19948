"""Codevectors moved to where their votes predict the classes best."""

import numpy as np
from scipy.special import logsumexp

from odalib.inference.annealing.groups import MAX_CLASSES, parents_of
from odalib.kernels import annealing as kernels

__all__ = ["log_likelihood", "polish_pass", "polish_sums", "polished_by"]

# Rows that a codevector is held back by, in units of those that pull on it: at two,
# weights stay positive.
INERTIA = 2.0


def polish_pass(rows, classes, codebook, divergence, temperature, parents=None):
    """One step towards a larger likelihood of the classes, ``sum log p(c | x)``.

    With ``q`` the association of a row with the codevectors of its class and ``p``
    that with all, codevectors move by
    ``sum (q - p)(x - mu) / (sum (q - p) + 2 max(sum q, sum p))``. It is a step along
    the natural gradient, in which the Hessian of ``phi`` cancels, and so the same for
    every Bregman divergence (the extended Baum-Welch rule; as robust soft learning
    vector quantisation does by gradient steps). Where votes are cold a step may be too
    long; rows held out decide how many are taken.

    Parameters
    ----------
    rows : RowBlocks
    classes : array of int of shape (n,)
    codebook : Codebook
    divergence : BregmanDivergence
    temperature : float
    parents : array of int of shape (n,) or None
        Cell of every row at the resolution above, whose children alone vote.

    Returns
    -------
    Codebook
    """
    sums = polish_sums(rows, classes, codebook, divergence, temperature, parents)
    return polished_by(sums, codebook, divergence)


def polish_sums(rows, classes, codebook, divergence, temperature, parents=None):
    """Sum over rows what a step of the polish rests on; as for `polish_pass`.

    Returns
    -------
    own, all_rows : arrays of shape (K,)
        ``sum q`` and ``sum p``.
    total : array of shape (K, d)
        ``sum (q - p) x``.
    """
    logits_of = _logits(codebook, divergence, temperature, classes, parents)

    def on_block(block, row_weights, span):
        logits, of_class = logits_of(block, span)
        association, within = _softmax(logits), _softmax(of_class)
        association *= row_weights
        within *= row_weights
        pull = within - association
        return slice(None), (
            within.sum(axis=1),
            association.sum(axis=1),
            kernels.weighted_sums(pull, block),
        )

    return rows.reduce_cells(on_block, len(codebook))


def polished_by(sums, codebook, divergence):
    """Codebook after the step that sums over all rows make, see `polish_sums`."""
    own, all_rows, total = sums
    held = INERTIA * np.maximum(own, all_rows)
    # One that no row is associated with stays where it is.
    held[held == 0.0] = 1.0
    pull = (own - all_rows)[:, np.newaxis]
    moves = (total - pull * codebook.points) / (pull + held[:, np.newaxis])
    moves = divergence.shorten(codebook.points, moves)
    weights = codebook.weights * (own + held) / (all_rows + held)
    return codebook.moved(codebook.points + moves, weights / weights.sum())


def log_likelihood(rows, classes, codebook, divergence, temperature, parents=None):
    """``sum log p(c | x)``, which a polish climbs; as for `polish_pass`."""
    logits_of = _logits(codebook, divergence, temperature, classes, parents)

    def on_block(block, row_weights, span):
        logits, of_class = logits_of(block, span)
        true = logsumexp(of_class, axis=0) - logsumexp(logits, axis=0)
        return row_weights @ true

    return float(rows.reduce(on_block, len(codebook)))


def _logits(codebook, divergence, temperature, classes, parents):
    """Give a function of a block: logits of all codevectors, and of those of the class.

    Each is of shape (K, n), minus infinity where a codevector is not meant.
    """
    gradients, offsets = codebook.planes(divergence)
    log_weights = np.log(codebook.weights)
    own_class, above = codebook.groups % MAX_CLASSES, parents_of(codebook.groups)

    def of_block(block, span):
        logits = kernels.negative_divergence(
            block, gradients / temperature, offsets / temperature - log_weights
        )
        if parents is not None:
            logits[above[:, np.newaxis] != parents[span]] = -np.inf
        other = own_class[:, np.newaxis] != classes[span]
        return logits, np.where(other, -np.inf, logits)

    return of_block


def _softmax(logits):
    values = np.exp(logits - logits.max(axis=0))
    return values / values.sum(axis=0)
