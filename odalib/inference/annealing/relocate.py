"""Moving codevectors to where they lower the distortion, from statistics alone."""

import numpy as np

from odalib.inference.annealing.bifurcation import split
from odalib.inference.annealing.lineage import merged_into, split_of
from odalib.inference.annealing.merging import distortion_rise

__all__ = ["HALF_STEP", "refill_and_exchange"]

# Splitting a Gaussian cell along its axis moves the means of its halves by this
# many critical temperatures, squared, and lowers the distortion by as much.
HALF_STEP = 1.0 / np.pi
# A codevector is split, and a pair merged for it, where the gain exceeds the rise by
# this factor; equal Gaussian cells would otherwise take turns.
EXCHANGE_FACTOR = 1.2


def refill_and_exchange(codebook, axes, divergence, n_codevectors):
    """Split codevectors to fill up a codebook, then against merging others.

    Parameters
    ----------
    codebook : Codebook
        Of ``n_codevectors`` or fewer.
    axes : Axes
    divergence : BregmanDivergence
    n_codevectors : int

    Returns
    -------
    codebook : Codebook
    lineage : CSR matrix, or None where nothing is to be gained
    """
    gain = HALF_STEP * codebook.weights * axes.critical
    rise = distortion_rise(codebook, divergence)
    room = n_codevectors - len(codebook)
    chosen = np.zeros(len(codebook), dtype=bool)
    pairs = []
    for candidate in np.argsort(-gain, kind="stable"):
        if gain[candidate] == 0.0:
            break
        rise[candidate] = rise[:, candidate] = np.inf
        if room > 0:
            room -= 1
        else:
            pair = tuple(sorted(divmod(int(rise.argmin()), len(codebook))))
            if not gain[candidate] > EXCHANGE_FACTOR * rise[pair]:
                break
            rise[list(pair)] = rise[:, list(pair)] = np.inf
            pairs.append(pair)
        chosen[candidate] = True
    if not chosen.any():
        return codebook, None
    merged, kept = _merge_pairs(codebook, pairs)
    axes, chosen = axes.select(kept), chosen[kept]
    steps = HALF_STEP * axes.critical
    larger = split(merged, divergence, axes.directions, steps, chosen)
    return larger, split_of(chosen) @ merged_into(_groups(kept, pairs))


def _merge_pairs(codebook, pairs):
    """Codebook with disjoint pairs merged, and the indices that it kept."""
    points, weights = codebook.points.copy(), codebook.weights.copy()
    for kept, gone in pairs:
        weight = weights[kept] + weights[gone]
        share = weights[gone] / weight
        points[kept] += share * (points[gone] - points[kept])
        weights[kept] = weight
    kept = np.setdiff1d(np.arange(len(codebook)), [gone for _, gone in pairs])
    return codebook.moved(points, weights).select(kept), kept


def _groups(kept, pairs):
    """Place among those kept that each codevector went into."""
    groups = np.empty(len(kept) + len(pairs), dtype=int)
    groups[kept] = np.arange(len(kept))
    for survivor, gone in pairs:
        groups[gone] = groups[survivor]
    return groups
