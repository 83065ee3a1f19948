"""Directions along which local models slope, where features are many."""

import numpy as np

__all__ = ["slope_axes"]

# Models slope along all features up to this number, and along as many principal axes
# of the rows beyond it: what a cell keeps grows with the square.
MOST_SLOPES = 128
# Passes of the subspace iteration, and axes it carries along beyond those wanted.
SUBSPACE_PASSES, SPARE = 4, 8


def slope_axes(rows):
    """Leading principal axes of the rows, or None where all features are few.

    Parameters
    ----------
    rows : RowBlocks

    Returns
    -------
    axes : array of shape (d, q) or None
        Orthonormal columns.
    """
    n_features = rows.n_features
    if n_features <= MOST_SLOPES:
        return None
    mean, _ = rows.mean_and_scale()
    random = np.random.default_rng(0)
    axes = random.standard_normal((n_features, MOST_SLOPES + SPARE))
    for _ in range(SUBSPACE_PASSES):
        axes, _ = np.linalg.qr(axes)
        offset = mean @ axes

        def on_block(block, weights, _, axes=axes, offset=offset):
            scores = np.asarray(block @ axes) - offset
            weighted = weights[:, np.newaxis] * scores
            return np.asarray(block.T @ weighted) - np.outer(mean, weighted.sum(axis=0))

        axes = rows.reduce(on_block, axes.shape[1])
    left, _, _ = np.linalg.svd(axes, full_matrices=False)
    return left[:, :MOST_SLOPES]
