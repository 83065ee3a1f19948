"""Critical temperatures of codevectors, their axes, and splitting.

A codevector ceases to be a minimum of the free energy at the temperature
``T_i = eigmax(hessian phi(mu_i) C_i)``, ``C_i`` the covariance of the rows under
its association (Mavridis & Baras, bifurcation theorem): ``2 eigmax(C_i)`` for the
squared Euclidean divergence.
"""

from dataclasses import dataclass

import numpy as np

from odalib.inference.annealing.codebook import Codebook, cells_of_block
from odalib.kernels import annealing as kernels

__all__ = ["Axes", "cell_axes", "covectors_of", "gibbs_axes", "normalise", "split"]

# Random sums this small beside those of other codevectors have cancelled.
CANCELLED = 1e-8


@dataclass(frozen=True)
class Axes:
    """Leading axes of the codevectors.

    Attributes
    ----------
    critical : array of shape (K,)
        Critical temperatures, in units of the divergence. A power iteration
        approaches them from below.
    directions : array of shape (K, d)
        Axes v with ``v' hessian phi(mu) v = 1``; zero where the rows of a
        codevector do not vary.
    """

    critical: np.ndarray
    directions: np.ndarray

    def select(self, kept):
        """Axes of the codevectors in the mask or index array ``kept``."""
        return Axes(self.critical[kept], self.directions[kept])

    def without(self, closed):
        """Axes with no critical temperature for those in the mask ``closed``."""
        return Axes(np.where(closed, 0.0, self.critical), self.directions)


def gibbs_axes(problem, codebook, temperature, moments, n_passes):
    """Axes of the covariances under the Gibbs association.

    Parameters
    ----------
    moments : Moments
        Collected with the random signs of the rows as multipliers, under the same
        codebook and temperature.
    n_passes : int
        Power iterations; each is a pass over the rows. With none, the directions
        are random combinations of the rows about their codevector.
    """
    axes = _first_axes(problem, codebook, moments.axis, moments.weight)
    for _ in range(n_passes):
        covectors = covectors_of(problem.divergence, codebook, axes)
        moments = problem.moments(codebook, temperature, covectors)
        axes = normalise(problem.divergence, codebook, moments.axis, moments.weight)
    return axes


def cell_axes(problem, codebook, cells, labels, n_passes):
    """Axes of the covariances of the cells of a partition."""

    def axis_sums(multipliers):
        by_row = multipliers.ndim == 1

        def on_block(block, weights, span):
            members, own = cells_of_block(problem.rows, labels, span)
            factors = multipliers[span] if by_row else multipliers[members]
            points = codebook.points[members]
            return members, (
                kernels.cell_axis_sums(block, weights, own, points, factors),
            )

        return problem.rows.reduce_cells(on_block, len(codebook))[0]

    axes = _first_axes(problem, codebook, axis_sums(problem.signs), cells.weight)
    for _ in range(n_passes):
        sums = axis_sums(covectors_of(problem.divergence, codebook, axes))
        axes = normalise(problem.divergence, codebook, sums, cells.weight)
    return axes


def _first_axes(problem, codebook, drawn, weight):
    """Where the power iteration starts.

    In a cell that is symmetric about its mean under permutations of the columns the
    random sums of the rows cancel, and a random direction serves.
    """
    axes = normalise(problem.divergence, codebook, drawn, weight)
    cancelled = axes.critical <= CANCELLED * axes.critical.max()
    if not cancelled.any():
        return axes
    sums = np.where(cancelled[:, np.newaxis], problem.direction, drawn)
    return normalise(problem.divergence, codebook, sums, weight)


def covectors_of(divergence, codebook, axes):
    """Hessian of ``phi`` times the axes: multipliers of the next power iteration."""
    return divergence.hessian_product(codebook.inside(divergence), axes.directions)


def normalise(divergence, codebook, axis_sums, weight):
    """Axes from the sums of one pass of the power iteration on ``C hessian``."""
    # Squares of sums that are squares already overflow where the data do not.
    vectors, scale = kernels.scaled_means(axis_sums, weight)
    curvature = divergence.hessian_product(codebook.inside(divergence), vectors)
    directions, critical = kernels.unit_axes(vectors, curvature, scale)
    return Axes(critical, directions)


def split(codebook, divergence, directions, squared_steps, chosen):
    """Replace each chosen codevector by two beside it, of half its weight.

    Parameters
    ----------
    directions : array of shape (K, d)
        Of unit length in the Hessian of ``phi``.
    squared_steps : array of shape (K,)
        Squared lengths of the steps to either side, in units of the divergence;
        shorter where they would leave its domain.
    chosen : bool array of shape (K,)

    Returns
    -------
    Codebook
        The others first, in their order, then all first parts, all second parts.
    """
    parents = codebook.points[chosen]
    steps = np.sqrt(squared_steps[chosen])[:, np.newaxis] * directions[chosen]
    steps = divergence.shorten(parents, steps)
    half = codebook.weights[chosen] / 2.0
    groups = codebook.groups
    if groups is not None:
        groups = np.concatenate([groups[~chosen], groups[chosen], groups[chosen]])
    return Codebook(
        np.concatenate([codebook.points[~chosen], parents + steps, parents - steps]),
        np.concatenate([codebook.weights[~chosen], half, half]),
        groups,
    )
