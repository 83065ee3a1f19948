"""Settings of regression in cells, and the fit of it."""

from dataclasses import dataclass, replace

import numpy as np

from odalib.inference.annealing.local.association import associate
from odalib.inference.annealing.local.axes import slope_axes
from odalib.inference.annealing.local.base import LocalModels, nearest_size
from odalib.inference.annealing.local.linear_fits import CellSums, cell_sums
from odalib.inference.annealing.local.moments import (
    MomentCells,
    as_held_out,
    mean_divergence,
    offset_of,
)
from odalib.inference.annealing.local.regression_choice import choose_regression
from odalib.inference.annealing.rows import RowBlocks
from odalib.inference.annealing.targets import NO_TARGETS, TargetWeight

__all__ = ["CellRegression", "errors_of", "sums_of"]

# Where nothing can be held out, the rows that draw every cell to the global fit.
DEFAULT_RIDGE = 1.0


@dataclass(frozen=True)
class CellRegression(LocalModels):
    """Settings of `MomentCells`, and what was chosen of them.

    Attributes
    ----------
    slopes : bool
        Linear models; constants otherwise.
    blend : bool
        Predict by association; by the winning cell otherwise.
    metric_features : float
        Compare rows in the metric of the slopes, where that predicts rows held out
        better, if they are dense, have so many features at the most, and the
        divergence is the squared Euclidean one.
    ridge : float or None
        None takes what predicts rows held out best.
    target : TargetWeight
    global_ridge : float
    warmth : float
    by_size : tuple of (int, float, float, tuple of float)
        Number of codevectors, warmth and ridge that predicted best with it, and the
        mean squared error of every target in rows held out.
    held_out_error : tuple of float, or None
        Mean squared error of every target in rows held out.
    """

    slopes: bool
    blend: bool
    metric_features: float
    ridge: float | None
    target: TargetWeight = NO_TARGETS
    global_ridge: float = 0.0
    warmth: float = 1.0
    by_size: tuple[tuple[int, float, float, tuple[float, ...]], ...] = ()
    held_out_error: tuple[float, ...] | None = None

    # What is chosen on rows held out makes annealing dear.
    anchor_growth = 0.5

    def annealed(self, batch):
        """As `LocalModels.annealed`: with targets, where they have weight."""
        return self.target.joined(batch)

    def divergence(self, divergence):
        """As `LocalModels.divergence`."""
        return self.target.divergence(divergence)

    def tuned(self, batch, settings, n_jobs, parents=None):
        """As `LocalModels.tuned`; also the metric, and an open number."""
        target = self.target.measured(batch, settings.divergence)
        spec = replace(self, target=target)
        return choose_regression(spec, batch, settings, n_jobs, parents)

    def resized(self, number):
        """As `LocalModels.resized`."""
        if not self.by_size:
            return self
        _, warmth, ridge, error = nearest_size(self.by_size, number)
        return replace(self, warmth=warmth, ridge=ridge, held_out_error=error)

    def begin(self, batch, partition, parents, n_jobs):
        """As `LocalModels.begin`."""
        rows, in_cells = (
            RowBlocks(batch.rows, batch.weights, partition.shift, n_jobs, groups)
            for groups in (None, parents)
        )
        targets = batch.targets
        centre = batch.weights @ targets / rows.total_weight
        spread = mean_divergence(in_cells, partition)
        cells = self.untaught(rows, centre, spread, len(partition.codebook))
        cells = replace(cells, sums=sums_of(rows, targets, cells, partition, parents))
        errors = errors_of(rows, targets, cells, partition, parents)
        errors = as_held_out(errors, cells.sums.weight, self.held_out_error)
        return replace(cells, errors=errors)

    def untaught(self, rows, centre, spread, n_cells):
        """Local models of no rows yet.

        Parameters
        ----------
        rows : RowSums
            Those that will be learnt, which tell axes and offsets.
        centre : array of shape (m,)
            Mean of their targets.
        spread : float
            Their mean divergence from the nearest codevector.
        n_cells : int

        Returns
        -------
        MomentCells
        """
        axes = self.axes(rows)
        offset, rounding = offset_of(rows, axes)
        return MomentCells(
            axes=axes,
            offset=offset,
            centre=centre,
            rounding=rounding,
            ridge=DEFAULT_RIDGE if self.ridge is None else self.ridge,
            global_ridge=self.global_ridge,
            warmth=self.warmth if self.blend else None,
            sums=CellSums.zeros(n_cells, len(offset), len(centre)),
            errors=np.zeros((n_cells, len(centre))),
            spread=spread,
            weight=rows.total_weight,
            by_size=self.by_size,
        )

    def axes(self, rows):
        """Directions of the slopes, see `slope_axes`; none for constants."""
        if not self.slopes:
            return np.zeros((rows.n_features, 0))
        return slope_axes(rows)


def sums_of(rows, targets, cells, partition, parents=None):
    """Sum over rows what local models are learnt from.

    Parameters
    ----------
    rows : RowBlocks
        In the coordinates of the partition.
    targets : array of shape (n, m)
    cells : MomentCells
    partition : Partition
    parents : array of int of shape (n,) or None

    Returns
    -------
    CellSums
    """

    def on_block(block, weights, span):
        share = weights * _association(block, cells, partition, parents, span)
        return cell_sums(share, cells.project(block), targets[span] - cells.centre)

    return rows.reduce(on_block, len(partition.codebook))


def errors_of(rows, targets, cells, partition, parents=None):
    """Sum squared errors of rows by cell, shape (K, m); as for `sums_of`."""

    def on_block(block, weights, span):
        share = _association(block, cells, partition, parents, span)
        values = cells.coefficients.blend(share, cells.project(block))
        return (weights * share) @ np.square(targets[span] - cells.centre - values)

    return rows.reduce(on_block, len(partition.codebook))


def _association(block, cells, partition, parents, span):
    own = None if parents is None else parents[span]
    return associate(block, partition, own, cells.temperature)
