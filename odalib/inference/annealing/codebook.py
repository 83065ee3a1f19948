"""Codebooks, the statistics that make them, and passes over rows."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from odalib.inference.annealing.rows import scatter_add
from odalib.inference.saving import SavesFields
from odalib.kernels import annealing as kernels

__all__ = [
    "CellSums",
    "Codebook",
    "Moments",
    "assign",
    "assign_and_collect",
    "block_moments",
    "cells_of_block",
    "collect_cells",
    "collect_moments",
    "divergence_between",
]


@dataclass(frozen=True)
class Codebook(SavesFields):
    """Codevectors and their weights.

    Attributes
    ----------
    points : array of shape (K, d)
        Codevectors ``mu_i``.
    weights : array of shape (K,)
        ``rho_i``, summing to one.
    groups : array of int of shape (K,) or None
        Which rows each codevector stands for, such as those of a class: a row of a
        group is associated with codevectors of its group only, and only these merge.
        None where all rows are alike.
    """

    points: np.ndarray
    weights: np.ndarray
    groups: Any = None

    def __len__(self):
        return len(self.weights)

    def members(self, group):
        """Index of the codevectors of a group; of all for None."""
        if group is None:
            return slice(None)
        present, order, bounds = self._by_group
        place = np.searchsorted(present, group)
        if place == len(present) or present[place] != group:
            return order[:0]
        return order[bounds[place] : bounds[place + 1]]

    @cached_property
    def _by_group(self):
        """Groups present, codevectors group by group, and where each group begins."""
        order = np.argsort(self.groups, kind="stable")
        present, starts = np.unique(self.groups[order], return_index=True)
        return present, order, np.append(starts, len(order))

    @property
    def log_weights(self):
        """``log rho_i``; minus infinity where no row is associated at all."""
        return kernels.log_weights(self.weights)

    @property
    def width(self):
        """Largest number of codevectors of a group."""
        if self.groups is None:
            return len(self)
        return int(np.diff(self._by_group[2]).max())

    def moved(self, points, weights):
        """Codebook of the same groups at other points, with other weights."""
        return Codebook(points, weights, self.groups)

    def planes(self, divergence):
        """Gradients and offsets of the affine form of the divergence."""
        return kernels.tangent_planes(
            divergence, self.points, self.weights @ self.points
        )

    def inside(self, divergence):
        """Codevectors moved off the boundary of the domain, shape (K, d).

        A mean may lie beyond the boundary by rounding, and a gradient on it is
        infinite.
        """
        return divergence.interior(self.points, self.weights @ self.points)

    def phi(self, divergence):
        """Convex function at every codevector, shape (K,)."""
        return divergence.phi(self.inside(divergence))

    def ordered(self, axis):
        """Codevectors in the order of their projections on an axis.

        Group by group, in the order of the projections of their means: an order that
        neither rounding nor the names of groups decide, so that equivalent fits
        number their codevectors alike.
        """
        projections = self.points @ axis
        if self.groups is None:
            return self._take(np.argsort(projections, kind="stable"))
        _, which = np.unique(self.groups, return_inverse=True)
        weight = np.bincount(which, self.weights)
        middle = np.bincount(which, self.weights * projections) / weight
        return self._take(np.lexsort((projections, self.groups, middle[which])))

    def select(self, kept):
        """Codebook of the codevectors in the mask or index array ``kept``."""
        taken = self._take(kept)
        return replace(taken, weights=taken.weights / taken.weights.sum())

    def _take(self, index):
        groups = None if self.groups is None else self.groups[index]
        return Codebook(self.points[index], self.weights[index], groups)


@dataclass(frozen=True)
class Moments:
    """Sums over rows under the Gibbs association.

    Attributes
    ----------
    weight : array of shape (K,)
        ``sum_x w p_i(x)``.
    total : array of shape (K, d)
        ``sum_x w p_i(x) x``.
    log_normaliser : float
        ``sum_x w log sum_i rho_i exp(-(d(x, mu_i) - phi(x)) / T)``.
    axis : array of shape (K, d)
        ``sum_x w p_i(x) m_i(x) (x - mu_i)`` for given multipliers m, else zeros:
        a pass of a power iteration over the covariances, or its start.
    """

    weight: np.ndarray
    total: np.ndarray
    log_normaliser: float
    axis: np.ndarray

    def codebook(self, previous):
        """Conditional means, and mean associations as weights.

        A codevector with which no row is associated stays where it was.
        """
        weight = self.weight[:, np.newaxis]
        points = np.divide(
            self.total, weight, out=previous.points.copy(), where=weight > 0
        )
        return previous.moved(points, self.weight / self.weight.sum())


@dataclass(frozen=True)
class CellSums:
    """Sums over the rows of every cell of a partition.

    Attributes
    ----------
    weight : array of shape (K,)
    total : array of shape (K, d)
    """

    weight: np.ndarray
    total: np.ndarray


def collect_moments(rows, divergence, codebook, temperature, multipliers=None):
    """Moments of all rows under the codebook at a positive temperature.

    Parameters
    ----------
    multipliers : array of shape (n,) or (K, d), default=None
        One number per row, or one covector per codevector; see `Moments.axis`.
    """
    moments = block_moments(divergence, codebook, temperature)
    by_row = multipliers is not None and multipliers.ndim == 1

    def on_block(block, weights, span):
        return moments(
            block,
            weights,
            multipliers[span] if by_row else multipliers,
            rows.group(span),
        )

    return Moments(*rows.reduce_cells(on_block, len(codebook), codebook.width))


def block_moments(divergence, codebook, temperature):
    """Give a function that collects the moments of a block of rows of one group.

    Returns
    -------
    moments : callable
        ``moments(block, row_weights, multipliers, group)`` returns the index of the
        codevectors of the group, and their moments as a tuple.
    """
    gradients, offsets = codebook.planes(divergence)
    log_weights = codebook.log_weights

    def moments(block, row_weights, multipliers, group):
        members = codebook.members(group)
        if multipliers is not None and multipliers.ndim == 2:
            multipliers = multipliers[members]
        return members, kernels.gibbs_sums(
            block,
            row_weights,
            gradients[members],
            offsets[members],
            log_weights[members],
            1.0 / temperature,
            codebook.points[members],
            multipliers,
        )

    return moments


def assign(rows, divergence, codebook, planes=None):
    """Nearest codevector of every row, of those of its group where it has one.

    Parameters
    ----------
    rows : RowBlocks
    divergence : BregmanDivergence
    codebook : Codebook
    planes : tuple of arrays, default=None
        Those of the codebook, where they are known.

    Returns
    -------
    labels : array of shape (n,)
    affinity : array of shape (n,)
        ``phi(x) - d(x, mu_label)``.
    """
    gradients, offsets = planes or codebook.planes(divergence)
    labels, affinity = np.empty(rows.n_rows, dtype=np.int64), np.empty(rows.n_rows)

    def on_block(block, span):
        members = codebook.members(rows.group(span))
        own, affinity[span] = kernels.nearest(
            block, gradients[members], offsets[members]
        )
        labels[span] = own if isinstance(members, slice) else members[own]

    rows.map(on_block, codebook.width)
    return labels, affinity


def assign_and_collect(rows, divergence, codebook):
    """Labels and affinities as of `assign`, and the sums of the cells they make.

    Returns
    -------
    labels, affinity : arrays of shape (n,)
    cells : CellSums
    """
    gradients, offsets = codebook.planes(divergence)
    labels, affinity = np.empty(rows.n_rows, dtype=np.int64), np.empty(rows.n_rows)

    def on_block(block, span):
        members = codebook.members(rows.group(span))
        own, affinity[span], *sums = kernels.nearest_cells(
            block, rows.row_weights[span], gradients[members], offsets[members]
        )
        labels[span] = own if isinstance(members, slice) else members[own]
        return members, tuple(sums)

    parts = rows.map(on_block, codebook.width)
    return labels, affinity, CellSums(*scatter_add(parts, len(codebook)))


def collect_cells(rows, labels, n_codevectors):
    """Cell sums of a partition of the rows."""

    def on_block(block, weights, span):
        members, own = cells_of_block(rows, labels, span)
        size = len(range(n_codevectors)[members])
        return members, kernels.cell_sums(block, weights, own, size)

    width = n_codevectors if rows.groups is None else 1
    return CellSums(*rows.reduce_cells(on_block, n_codevectors, width))


def cells_of_block(rows, labels, span):
    """Cells that the rows of a block may be in, and the place of each row's in them.

    Returns
    -------
    members : slice or array of int
    own : array of shape (n,)
    """
    if rows.groups is None:
        return slice(None), labels[span]
    own = labels[span]
    first = int(own.min())
    return slice(first, int(own.max()) + 1), own - first


def divergence_between(divergence, moved, codebook):
    """``d(moved_i, mu_i)``, codevector by codevector, shape (K,)."""
    gradients, offsets = codebook.planes(divergence)
    linear = np.einsum("ij,ij->i", gradients, moved.inside(divergence))
    return moved.phi(divergence) + offsets - linear
