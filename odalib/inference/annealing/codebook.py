"""Codebooks, the statistics that make them, and passes over rows."""

from dataclasses import dataclass

import numpy as np

from odalib.inference.annealing.bregman import tangent_planes
from odalib.kernels.reference import annealing as kernels

__all__ = [
    "CellSums",
    "Codebook",
    "Moments",
    "assign",
    "collect_cells",
    "collect_moments",
    "divergence_between",
]


@dataclass(frozen=True)
class Codebook:
    """Codevectors and their weights.

    Attributes
    ----------
    points : array of shape (K, d)
        Codevectors ``mu_i``.
    weights : array of shape (K,)
        ``rho_i``, summing to one.
    """

    points: np.ndarray
    weights: np.ndarray

    def __len__(self):
        return len(self.weights)

    def planes(self, divergence):
        """Gradients and offsets of the affine form of the divergence."""
        return tangent_planes(divergence, self.points, self.weights @ self.points)

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

        An order that rounding does not decide, so that equivalent fits number
        their codevectors alike.
        """
        order = np.argsort(self.points @ axis, kind="stable")
        return Codebook(self.points[order], self.weights[order])

    def select(self, kept):
        """Codebook of the codevectors in the mask or index array ``kept``."""
        weights = self.weights[kept]
        return Codebook(self.points[kept], weights / weights.sum())


@dataclass(frozen=True)
class Moments:
    """Sums over rows under the Gibbs association; add two to merge their rows.

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

    def __add__(self, other):
        return Moments(
            self.weight + other.weight,
            self.total + other.total,
            self.log_normaliser + other.log_normaliser,
            self.axis + other.axis,
        )

    def codebook(self, previous):
        """Conditional means, and mean associations as weights.

        A codevector with which no row is associated stays where it was.
        """
        weight = self.weight[:, np.newaxis]
        points = np.divide(
            self.total, weight, out=previous.points.copy(), where=weight > 0
        )
        return Codebook(points, self.weight / self.weight.sum())


@dataclass(frozen=True)
class CellSums:
    """Sums over the rows of every cell of a partition; add two to merge rows.

    Attributes
    ----------
    weight : array of shape (K,)
    total : array of shape (K, d)
    """

    weight: np.ndarray
    total: np.ndarray

    def __add__(self, other):
        return CellSums(self.weight + other.weight, self.total + other.total)


def collect_moments(rows, divergence, codebook, temperature, multipliers=None):
    """Moments of all rows under the codebook at a positive temperature.

    Parameters
    ----------
    multipliers : array of shape (n,) or (K, d), default=None
        One number per row, or one covector per codevector; see `Moments.axis`.
    """
    gradients, offsets = codebook.planes(divergence)
    log_weights = np.log(codebook.weights)
    by_row = multipliers is not None and multipliers.ndim == 1

    def on_block(block, weights, span):
        return Moments(
            *kernels.gibbs_sums(
                block,
                weights,
                gradients,
                offsets,
                log_weights,
                1.0 / temperature,
                codebook.points,
                multipliers[span] if by_row else multipliers,
            )
        )

    return rows.reduce(on_block, len(codebook))


def assign(rows, divergence, codebook):
    """Nearest codevector of every row.

    Returns
    -------
    labels : array of shape (n,)
    affinity : array of shape (n,)
        ``phi(x) - d(x, mu_label)``.
    """
    gradients, offsets = codebook.planes(divergence)
    parts = rows.map(
        lambda block, _: kernels.nearest(block, gradients, offsets), len(codebook)
    )
    labels, affinity = zip(*parts, strict=True)
    return np.concatenate(labels), np.concatenate(affinity)


def collect_cells(rows, labels, n_codevectors):
    """Cell sums of a partition of the rows."""
    return rows.reduce(
        lambda block, weights, span: CellSums(
            *kernels.cell_sums(block, weights, labels[span], n_codevectors)
        ),
        n_codevectors,
    )


def divergence_between(divergence, moved, codebook):
    """``d(moved_i, mu_i)``, codevector by codevector, shape (K,)."""
    gradients, offsets = codebook.planes(divergence)
    linear = np.einsum("ij,ij->i", gradients, moved.inside(divergence))
    return moved.phi(divergence) + offsets - linear
