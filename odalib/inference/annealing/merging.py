"""Merging codevectors: those that did not part, and down to a given number."""

import numpy as np

from odalib.inference.annealing.codebook import divergence_between
from odalib.inference.annealing.pairs import Pairs
from odalib.kernels import annealing as kernels

__all__ = [
    "distortion_rise",
    "drift",
    "merge_close",
    "merge_down",
    "nearest_codevectors",
    "nearest_divergence",
]

# Elements of a work array over pairs of codevectors and features.
PAIR_ELEMENTS = 2**20


def merge_close(codebook, divergence, threshold):
    """Merge pairs until ``min(d(mu_i, mu_j), d(mu_j, mu_i)) >= threshold`` for all.

    Returns
    -------
    codebook : Codebook
    groups : array of shape (K,)
        Which codevector of the result each one went into.
    """

    def costs(points, weights, mean, index=None):
        gradients, offsets = kernels.tangent_planes(divergence, points, mean)
        points = divergence.interior(points, mean)
        values = divergence.phi(points)
        if index is None:
            return _between(values, offsets, gradients, points)
        return np.minimum(
            values[index] + offsets - gradients @ points[index],
            values + offsets[index] - points @ gradients[index],
        )

    return _agglomerate(codebook, costs, threshold=threshold)


def nearest_divergence(codebook, divergence):
    """Divergence to or from the nearest other codevector, shape (K,)."""
    gradients, offsets = codebook.planes(divergence)
    values, points = codebook.phi(divergence), codebook.inside(divergence)
    between = _between(values, offsets, gradients, points)
    _part(between, codebook.groups)
    return between.min(axis=1)


def nearest_codevectors(codebook, others, divergence):
    """Nearest of some others of its group to each codevector, shape (K,)."""
    gradients, offsets = others.planes(divergence)
    affinity = codebook.inside(divergence) @ gradients.T - offsets
    if codebook.groups is not None:
        affinity[codebook.groups[:, np.newaxis] != others.groups] = -np.inf
    return affinity.argmax(axis=1)


def drift(codebook, before, divergence):
    """Mean divergence of codevectors from the nearest of those before.

    Parameters
    ----------
    codebook, before : Codebook
    divergence : BregmanDivergence

    Returns
    -------
    drift : float
        ``sum_i rho_i min_j d(mu_i, mu_j)`` over those j of the group of i; a group that
        is new does not count.
    """
    if codebook.groups is not None:
        known = np.isin(codebook.groups, before.groups)
        if not known.any():
            return 0.0
        codebook = codebook.select(known)
    nearest = before.select(nearest_codevectors(codebook, before, divergence))
    if divergence.translation_invariant:
        # Of differences, which are exact where the two are near.
        moved = divergence.phi(codebook.points - nearest.points)
    else:
        # Rounding may leave less than zero of what is zero.
        moved = np.maximum(divergence_between(divergence, codebook, nearest), 0.0)
    return float(codebook.weights @ moved)


def _between(values, offsets, gradients, points):
    """``min(d(mu_i, mu_j), d(mu_j, mu_i))`` for all pairs, shape (K, K)."""
    between = values[:, np.newaxis] + offsets - points @ gradients.T
    return np.minimum(between, between.T)


def merge_down(codebook, divergence, n_codevectors):
    """Merge down to a number of codevectors by the least rise of the distortion.

    Ward's rule for a Bregman divergence; one codevector of every group is left.
    Returns as `merge_close`.
    """

    def costs(points, weights, mean, index=None):
        points = divergence.interior(points, mean)
        if index is None:
            return _all_rises(points, weights, divergence)
        return _rises(points, weights, divergence, slice(index, index + 1))[0]

    joined = _joined_rises if divergence.translation_invariant else None
    return _agglomerate(codebook, costs, n_left=n_codevectors, joined=joined)


def distortion_rise(codebook, divergence):
    """Rise of the mean distortion when codevectors i and j merge, shape (K, K).

    Infinite on the diagonal, and for codevectors of two groups.
    """
    points = codebook.inside(divergence)
    rises = _all_rises(points, codebook.weights, divergence)
    _part(rises, codebook.groups)
    return rises


def _all_rises(points, weights, divergence):
    """Rises of all pairs, a few codevectors at a time."""
    n_codevectors = len(points)
    # Where phi is quadratic, no work array is over features.
    size = n_codevectors if divergence.translation_invariant else points.size
    step = max(1, PAIR_ELEMENTS // size)
    return np.concatenate(
        [
            _rises(points, weights, divergence, slice(start, start + step))
            for start in range(0, n_codevectors, step)
        ]
    )


def _rises(points, weights, divergence, span):
    """``w_i phi(mu_i) + w_j phi(mu_j) - (w_i + w_j) phi(mu_ij)`` for a slice of i."""
    own_weights = weights[span, np.newaxis]
    sums = own_weights + weights
    share = own_weights / sums
    if divergence.translation_invariant:
        # phi is quadratic, and the rise w_i w_j / (w_i + w_j) d(mu_i, mu_j).
        return share * weights * _quadratic(points, divergence, span)
    share = share[..., np.newaxis]
    merged = share * points[span, np.newaxis] + (1.0 - share) * points
    at_merged = divergence.phi(merged.reshape(-1, points.shape[1])).reshape(sums.shape)
    own = weights * divergence.phi(points)
    return own[span, np.newaxis] + own - sums * at_merged


def _joined_rises(weights, first, second, of_first, of_second, between):
    """Rises of the pairs of two that have become one, where phi is quadratic.

    Lance and Williams' formula for Ward's rule: for weights a, b, c of the two and of a
    third, ``((a + c) r_ac + (b + c) r_bc - c r_ab) / (a + b + c)``.
    """
    sums = (first + weights) * of_first + (second + weights) * of_second
    return (sums - weights * between) / (first + second + weights)


def _quadratic(points, divergence, span):
    """``d(mu_j, mu_i)`` for a slice of i, where phi is quadratic."""
    values, own = divergence.phi(points), points[span]
    gradients = divergence.gradient(own)
    between = gradients @ points.T
    np.subtract(values, between, out=between)
    between += (np.einsum("ij,ij->i", gradients, own) - values[span])[:, np.newaxis]
    return between


def _agglomerate(codebook, costs, *, threshold=np.inf, n_left=1, joined=None):
    """Merge the cheapest pair until none costs less, or ``n_left`` are left."""
    into = np.arange(len(codebook))
    if len(codebook) <= n_left:
        return codebook, into
    pairs = Pairs(codebook, costs, joined)
    while pairs.n_left > n_left:
        kept, gone, cost = pairs.cheapest()
        if not cost < threshold:
            break
        pairs.merge(kept, gone)
        into[into == gone] = kept
    alive = pairs.alive
    merged = codebook.moved(pairs.points, pairs.weights).select(alive)
    return merged, (np.cumsum(alive) - 1)[into]


def _part(table, groups):
    """Make infinite what a codevector has with itself and with other groups."""
    if groups is not None:
        table[groups[:, np.newaxis] != groups] = np.inf
    np.fill_diagonal(table, np.inf)
