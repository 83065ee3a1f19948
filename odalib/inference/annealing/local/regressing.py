"""Predictions of rows that descend a tree to the local models of its leaves."""

import numpy as np

from odalib.inference.annealing.rows import RowBlocks

__all__ = ["predictions"]


def predictions(tree, X, n_jobs):
    """Blended predictions and the variance of targets about them.

    Parameters
    ----------
    tree : Tree
    X : array or CSR matrix of shape (n, d)
    n_jobs : int

    Returns
    -------
    values : array of shape (n, m)
    variance : array of shape (n, m)
        Both as float64: they go by the targets, which a narrower X may not hold.
    """
    X, parents = tree.above(X, n_jobs)
    partition, cells = tree.finest.partition, tree.finest.cells
    rows = RowBlocks(X, np.ones(X.shape[0]), partition.shift, n_jobs)

    def on_block(block, span):
        own = None if parents is None else parents[span]
        return cells.predict(block, partition, own)

    parts = zip(*rows.map(on_block, len(partition.codebook)), strict=True)
    values, variance = (np.concatenate(part).astype(float) for part in parts)
    return values, variance
