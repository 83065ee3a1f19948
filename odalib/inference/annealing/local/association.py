"""Association of rows with the children of their cell, blended or by the nearest."""

import numpy as np

from odalib.inference.annealing.groups import members_by_parent
from odalib.kernels import annealing as kernels

__all__ = ["associate"]

# Associations below this say nothing and cost as much as others.
NEGLIGIBLE = 1e-9


def associate(block, partition, parents, temperature):
    """Association of rows with codevectors, shape (K, n); columns sum to one.

    Parameters
    ----------
    block : array or CSR matrix of shape (n, d)
        In the coordinates of the partition.
    partition : Partition
    parents : array of int of shape (n,) or None
        Cells at the resolution above; others' children are not associated.
    temperature : float or None
        None takes the nearest codevector alone.
    """
    codebook = partition.codebook
    gradients, offsets = codebook.planes(partition.divergence)
    association = np.zeros((len(codebook), block.shape[0]))
    for members, own in members_by_parent(codebook.groups, parents, block.shape[0]):
        rows = block[own]
        if temperature is None:
            labels, _ = kernels.nearest(rows, gradients[members], offsets[members])
            part = np.zeros((len(offsets[members]), rows.shape[0]))
            part[labels, np.arange(len(labels))] = 1.0
        else:
            part, _ = kernels.gibbs_association(
                rows,
                gradients[members],
                offsets[members],
                np.log(codebook.weights[members]),
                1.0 / temperature,
            )
            part[part < NEGLIGIBLE] = 0.0
        if isinstance(members, slice):
            return part
        association[np.ix_(members, own)] = part
    return association
