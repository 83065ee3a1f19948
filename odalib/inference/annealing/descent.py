"""Cells of rows: the nearest codevector among those that a row may descend to."""

from dataclasses import replace

import numpy as np

from odalib.inference.annealing.codebook import assign
from odalib.inference.annealing.groups import parents_of
from odalib.inference.annealing.rows import RowBlocks

__all__ = ["nearest_child", "nearest_of_group"]


def nearest_child(rows, partition, parents, n_jobs=1):
    """Nearest codevector of every row among the children of its cell, shape (n,).

    Parameters
    ----------
    rows : array or CSR matrix of shape (n, d)
        The shift of the partition is still to be subtracted.
    partition : Partition
    parents : array of int of shape (n,) or None
    n_jobs : int
    """
    codebook = partition.codebook
    if parents is not None:
        codebook = replace(codebook, groups=parents_of(codebook.groups))
    return _nearest(rows, replace(partition, codebook=codebook), parents, n_jobs)


def nearest_of_group(rows, partition, groups, labels, n_jobs=1):
    """Nearest codevector of its group for every row, or -1 where that has none.

    Parameters
    ----------
    rows : array or CSR matrix of shape (n, d)
        The shift of the partition is still to be subtracted.
    partition : Partition
    groups : array of int of shape (n,) or None
    labels : array of int of shape (n,)
        Nearest of all that the row may descend to.
    n_jobs : int
    """
    if groups is None:
        return labels
    own = np.full(len(groups), -1)
    met = np.flatnonzero(np.isin(groups, partition.codebook.groups))
    if len(met):
        own[met] = _nearest(rows[met], partition, groups[met], n_jobs)
    return own


def _nearest(rows, partition, groups, n_jobs):
    blocks = RowBlocks(rows, np.ones(rows.shape[0]), partition.shift, n_jobs, groups)
    labels, _ = assign(blocks, partition.divergence, partition.codebook)
    return blocks.restore(labels)
