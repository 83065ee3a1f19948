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

__all__ = ["CellRegression"]

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
        n_cells, axes = len(partition.codebook), self.axes(rows)
        offset, rounding = offset_of(rows, axes)
        cells = MomentCells(
            axes=axes,
            offset=offset,
            centre=centre,
            rounding=rounding,
            ridge=DEFAULT_RIDGE if self.ridge is None else self.ridge,
            global_ridge=self.global_ridge,
            warmth=self.warmth if self.blend else None,
            sums=CellSums.zeros(n_cells, len(offset), len(centre)),
            errors=np.zeros((n_cells, len(centre))),
            spread=mean_divergence(in_cells, partition),
            weight=rows.total_weight,
            by_size=self.by_size,
        )

        def associated(block, weights, span):
            own = None if parents is None else parents[span]
            return weights * associate(block, partition, own, cells.temperature)

        def sums_of(block, weights, span):
            share = associated(block, weights, span)
            return cell_sums(share, cells.project(block), targets[span] - centre)

        sums = rows.reduce(sums_of, n_cells)
        fitted = replace(cells, sums=sums)

        def errors_of(block, weights, span):
            share = associated(block, np.ones_like(weights), span)
            values = fitted.coefficients.blend(share, cells.project(block))
            return (weights * share) @ np.square(targets[span] - centre - values)

        errors = rows.reduce(errors_of, n_cells)
        errors = as_held_out(errors, sums.weight, self.held_out_error)
        return replace(fitted, errors=errors)

    def axes(self, rows):
        """Directions of the slopes, see `slope_axes`; none for constants."""
        if not self.slopes:
            return np.zeros((rows.n_features, 0))
        return slope_axes(rows)
