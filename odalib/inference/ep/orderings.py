"""Orders in which to visit rows that are all at hand, and beliefs from several."""

from dataclasses import replace

import numpy as np

from odalib.inference.annealing.draws import row_keys, row_uniforms
from odalib.inference.ep.adf import RelaxingBelief, RootBelief, factors

__all__ = ["average", "draw_order"]


def draw_order(X, codes, weights, seed):
    """Order of visits to rows, drawn by what they hold and not by where they stand.

    A row of weight w is visited as w rows of weight one would be, each at a time of
    its own, and once more for what w has beyond a whole number: all copies one after
    the other, as where classes overlap on few distinct rows, would be as bad an order
    as there is.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    codes : array of int of shape (n,)
        Classes of the rows.
    weights : array of shape (n,)
        Positive.
    seed : int
        Another seed draws an independent order.

    Returns
    -------
    visits : array of int of shape (m,)
        Rows in the order of visits, ``m`` at most the sum of the weights, rounded up
        one by one.
    shares : array of shape (m,)
        Weights of the visits, in (0, 1].
    """
    counts = np.floor(weights).astype(np.intp)
    rests = weights - counts
    in_part = np.flatnonzero(rests)
    visits = np.concatenate([np.repeat(np.arange(len(counts)), counts), in_part])
    shares = np.concatenate([np.ones(counts.sum()), rests[in_part]])
    hashes = row_uniforms(X, seed)
    # Rows that hash alike (copies, and rows that hold the same numbers in another
    # order) are told apart by their place in a list that their order does not change.
    keys = (shares, codes[visits], row_keys(X)[visits], hashes[visits])
    listed = np.lexsort(keys)
    visits, shares = visits[listed], shares[listed]
    hashes = hashes[visits]
    is_first = np.append(True, hashes[1:] != hashes[:-1])
    place = np.arange(len(hashes)) - np.flatnonzero(is_first)[np.cumsum(is_first) - 1]
    order = np.argsort(row_uniforms(np.column_stack([hashes, place]), seed))
    return visits[order], shares[order]


def average(beliefs):
    """Gaussian of the moments of an equal mixture of beliefs of one kind.

    What the orders of the rows disagree about counts as uncertainty. Means and
    covariances averaged alone, and natural parameters averaged, gave means as good
    but probabilities less good on data (log loss on ionosphere with a prior variance
    of 100, over ten orders: .314; covariances .345, natural parameters .398, one
    order .386).

    Parameters
    ----------
    beliefs : list of Belief
        At least one, all from the same prior and the same rows.

    Returns
    -------
    Belief
    """
    first = beliefs[0]
    if len(beliefs) == 1:
        return first
    means, covariances = zip(*(belief.moments for belief in beliefs), strict=True)
    mean = np.mean(means, axis=0)
    deviations = means - mean
    if isinstance(first, RootBelief):
        # By a QR decomposition, that roots keep their digits.
        stacked = np.vstack([*(belief.root.T for belief in beliefs), deviations])
        root = np.linalg.qr(stacked / np.sqrt(len(beliefs))).R.T
        factor, variances = factors(root)
        return replace(first, mean=mean, factor=factor, variances=variances)
    spread = np.mean(covariances, axis=0)
    if isinstance(first, RelaxingBelief):
        spread += deviations.T @ deviations / len(beliefs)
        return replace(first, mean=mean, covariance=spread)
    spread += np.mean(deviations**2, axis=0)
    settled = np.full_like(first.touched, first.clock)
    return replace(
        first, touched_moments=np.column_stack([mean, spread]), touched=settled
    )
