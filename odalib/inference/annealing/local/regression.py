"""Settings of regression in cells, and the fit of it."""

from dataclasses import dataclass, replace

import numpy as np

from odalib.inference.annealing.local.association import associate
from odalib.inference.annealing.local.axes import slope_axes
from odalib.inference.annealing.local.base import LocalModels
from odalib.inference.annealing.local.moments import (
    MomentCells,
    as_held_out,
    cell_sums,
    mean_divergence,
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
    held_out_error: tuple[float, ...] | None = None

    def annealed(self, batch):
        """As `LocalModels.annealed`: with targets, where they have weight."""
        return self.target.joined(batch)

    def divergence(self, divergence):
        """As `LocalModels.divergence`."""
        return self.target.divergence(divergence)

    def tuned(self, batch, settings, n_jobs):
        """As `LocalModels.tuned`; also the metric, and an open number."""
        target = self.target.measured(batch, settings.divergence)
        spec = replace(self, target=target)
        return choose_regression(spec, batch, settings, n_jobs)

    def begin(self, batch, partition, parents, n_jobs):
        """As `LocalModels.begin`."""
        rows = RowBlocks(batch.rows, batch.weights, partition.shift, n_jobs)
        targets = batch.targets
        centre = batch.weights @ targets / rows.total_weight
        cells = MomentCells(
            axes=self.axes(rows),
            centre=centre,
            ridge=DEFAULT_RIDGE if self.ridge is None else self.ridge,
            global_ridge=self.global_ridge,
            warmth=self.warmth if self.blend else None,
            sums=None,
            errors=None,
            counted=None,
            spread=mean_divergence(rows, partition),
            weight=rows.total_weight,
        )

        def sums_of(block, weights, span):
            own = None if parents is None else parents[span]
            association = associate(block, partition, own, cells.temperature)
            z, y = cells.project(block), targets[span] - centre
            return cell_sums(association * weights, z, y)

        sums = rows.reduce(sums_of, len(partition.codebook))
        cells = replace(cells, sums=sums, counted=sums.weight)

        def errors_of(block, weights, span):
            own = None if parents is None else parents[span]
            association = associate(block, partition, own, cells.temperature)
            values = cells.coefficients.blend(association, cells.project(block))
            wrong = np.square(targets[span] - centre - values)
            return (association * weights) @ wrong

        errors = rows.reduce(errors_of, len(partition.codebook))
        errors = as_held_out(errors, sums.weight, self.held_out_error)
        return replace(cells, errors=errors)

    def axes(self, rows):
        """Directions of the slopes, see `slope_axes`; none for constants."""
        if not self.slopes:
            return np.zeros((rows.n_features, 0))
        return slope_axes(rows)
