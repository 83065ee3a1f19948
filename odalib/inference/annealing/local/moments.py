"""Regression: constants or linear models in cells, from sums over their rows."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from odalib.inference.annealing.codebook import assign
from odalib.inference.annealing.groups import parents_of
from odalib.inference.annealing.lineage import halves
from odalib.inference.annealing.local.association import associate
from odalib.inference.annealing.local.base import (
    Cells,
    beyond_rounding,
    nearest_size,
    rise_of_spread,
)
from odalib.inference.annealing.local.linear_fits import (
    CellSums,
    cell_sums,
    fit_cells,
)
from odalib.inference.annealing.rows import RowBlocks
from odalib.inference.annealing.stochastic import step_size
from odalib.inference.saving import SavesFields

__all__ = [
    "MomentCells",
    "along",
    "as_held_out",
    "mean_divergence",
    "mixed_errors",
    "offset_of",
]

# Features whose spread is this part of their mean are constant up to rounding.
CONSTANT = 1e-10
# Rows of the mean squared error of all cells that every cell's is mixed with.
ERROR_ROWS = 10.0
# Local models average over fewer rows than the partition, so that they see it as
# standing still: where it averages over n, all cells together average over
# LOCAL_SHARE n (n / LOCAL_ROWS) ** (LOCAL_POWER - 1), so that the ratio of the steps
# goes to zero; but none over fewer than ROWS_PER_SLOPE for each number it learns, as
# far as the partition remembers so many of its cell.
LOCAL_SHARE, LOCAL_ROWS, LOCAL_POWER, ROWS_PER_SLOPE = 0.25, 2048.0, 0.8, 30.0
# Rows that what a codevector inherits by a split counts for: it says little of the
# half that it becomes.
INHERITED_ROWS = 8.0


@dataclass(frozen=True)
class MomentCells(SavesFields, Cells):
    """Linear models of the cells of a partition, or constants.

    Attributes
    ----------
    axes : array of shape (d, q) or None
        Directions along which models slope; None for the features themselves.
    offset : array of shape (q,)
    centre : array of shape (m,)
        Subtracted from rows along the axes and from targets, which keeps digits.
    rounding : array of shape (q,)
        Features that vary by less are constant.
    ridge, global_ridge : float
        See `fit_cells`.
    warmth : float or None
        Temperature of the association over the mean divergence of rows from their
        nearest codevector; None for the nearest codevector alone.
    sums : CellSums
    errors : array of shape (K, m)
        Sums of squared errors of rows that were not yet learnt.
    spread : float
        Mean divergence of rows from their nearest codevector.
    weight : float
        Of the rows behind that.
    by_size : tuple of (int, float, float, tuple of float)
        Number of codevectors, and warmth, ridge and mean squared errors of about as
        many.
    """

    axes: np.ndarray | None
    offset: np.ndarray
    centre: np.ndarray
    rounding: np.ndarray
    ridge: float
    global_ridge: float
    warmth: float | None
    sums: CellSums
    errors: np.ndarray
    spread: float
    weight: float
    by_size: tuple[tuple[int, float, float, tuple[float, ...]], ...] = ()

    @property
    def n_targets(self):
        """Number of values of the regression."""
        return len(self.centre)

    @cached_property
    def coefficients(self):
        """Linear models, in the coordinates of the axes."""
        return fit_cells(self.sums, self.ridge, self.global_ridge, self.rounding)

    @cached_property
    def variance(self):
        """Mean squared error of every cell, drawn to that of all, shape (K, m)."""
        return mixed_errors(self.errors, self.sums.weight)

    @property
    def temperature(self):
        """Temperature of the association, or None for the nearest codevector."""
        # Where rows equal their codevectors, any temperature says the same of them.
        return None if self.warmth is None else self.warmth * (self.spread or 1.0)

    def in_features(self, shift):
        """Slopes (K, d, m) and intercepts (K, m) for rows as they came."""
        slope = self.coefficients.slope
        intercept = self.coefficients.intercept
        intercept = intercept - np.einsum("q,kqm->km", self.offset, slope)
        if self.axes is not None:
            slope = np.einsum("dq,kqm->kdm", self.axes, slope)
        intercept = intercept + self.centre
        if shift is not None:
            intercept = intercept - np.einsum("d,kdm->km", shift, slope)
        return slope, intercept

    def project(self, block):
        """Rows along the axes, dense and about their mean, shape (n, q)."""
        return along(block, self.axes) - self.offset

    def predict(self, block, partition, parents):
        """Predictions and their variance, each of shape (n, m)."""
        association = associate(block, partition, parents, self.temperature)
        values = self.coefficients.blend(association, self.project(block))
        return values + self.centre, association.T @ self.variance

    def learn(self, batch, partition, parents, memory, age):
        """Models after some more rows, which they are tried on before."""
        association = associate(batch.rows, partition, parents, self.temperature)
        z, y = self.project(batch.rows), batch.targets - self.centre
        wrong = np.square(y - self.coefficients.blend(association, z))
        association *= batch.weights
        kept = self._kept(partition, association.sum(axis=1), memory, age)
        weight = float(batch.weights.sum())
        rows = RowBlocks(batch.rows, batch.weights, groups=parents)
        spread = mean_divergence(rows, partition)
        step = step_size(weight, self.weight, memory)
        return replace(
            self,
            sums=self.sums.scaled(kept) + cell_sums(association, z, y).scaled(kept),
            errors=kept[:, np.newaxis] * (self.errors + association @ wrong),
            spread=self.spread + step * (spread - self.spread),
            weight=self.weight + weight,
        )

    def _kept(self, partition, weight, memory, age):
        """Tell what is kept of the sums of every cell after rows of some weight.

        See `LOCAL_SHARE`.
        """
        horizon = age if memory is None else min(age, memory)
        most = LOCAL_SHARE * horizon * (horizon / LOCAL_ROWS) ** (LOCAL_POWER - 1.0)
        least = ROWS_PER_SLOPE * (self.sums.z.shape[1] + 1)
        weights = partition.codebook.weights
        if memory is not None:
            # Rows before those that the partition remembers are of other cells.
            least = np.minimum(least, memory * weights)
        most = np.maximum(most * weights, least)
        held = self.sums.weight + weight
        return np.divide(most, held, out=np.ones_like(held), where=held > most)

    def inherit(self, lineage):
        """Models of the codevectors of a lineage."""
        sums = self.sums.inherit(lineage)
        few = halves(lineage) & (sums.weight > INHERITED_ROWS)
        factors = np.ones_like(sums.weight)
        factors[few] = INHERITED_ROWS / sums.weight[few]
        return replace(
            self,
            sums=sums.scaled(factors),
            errors=factors[:, np.newaxis] * (lineage @ self.errors),
        )

    def regrouped(self, lineage, before, after):
        """Models of a coarser codebook, whose cells vary by more."""
        spread = self.spread + rise_of_spread(lineage, before, after)
        cells = replace(self.inherit(lineage), spread=max(spread, 0.0))
        if not self.by_size:
            return cells
        _, warmth, ridge, error = nearest_size(self.by_size, len(after.codebook))
        *_, finer_error = nearest_size(self.by_size, len(before.codebook))
        rise = np.divide(
            error, finer_error, out=np.ones(len(error)), where=np.array(finer_error) > 0
        )
        return replace(
            cells,
            warmth=None if self.warmth is None else warmth,
            ridge=ridge,
            errors=rise * cells.errors,
        )


def mixed_errors(errors, weight):
    """Mean squared error of every cell, drawn to that of all, shape (K, m)."""
    mean = errors.sum(axis=0) / weight.sum()
    return (errors + ERROR_ROWS * mean) / (weight[:, np.newaxis] + ERROR_ROWS)


def as_held_out(errors, weight, held_out_error):
    """Scale sums of the errors of rows learnt from to those of rows held out.

    Parameters
    ----------
    errors : array of shape (K, m)
    weight : array of shape (K,)
    held_out_error : tuple of m floats, or None
        Mean squared errors; None leaves the sums as they are.
    """
    if held_out_error is None:
        return errors
    total = weight.sum() * np.array(held_out_error)
    found = errors.sum(axis=0)
    evenly = np.outer(weight / weight.sum(), total)
    factors = np.divide(total, found, out=np.zeros_like(found), where=found > 0)
    return np.where(found > 0, errors * factors, evenly)


def offset_of(rows, axes):
    """Mean of rows along axes, and what is rounding beside the rows as they came.

    Parameters
    ----------
    rows : RowBlocks
    axes : array of shape (d, q) or None

    Returns
    -------
    offset : array of shape (q,)
    rounding : array of shape (q,)
    """
    mean, _ = rows.mean_and_scale()
    whole = mean if rows.shift is None else mean + rows.shift
    if axes is None:
        return mean, CONSTANT * np.abs(whole)
    return mean @ axes, CONSTANT * np.abs(whole @ axes)


def along(block, axes):
    """Rows along axes, or as they are for None; dense."""
    if axes is not None:
        return np.asarray(block @ axes)
    return block if isinstance(block, np.ndarray) else block.toarray()


def mean_divergence(rows, partition):
    """Weighted mean divergence of rows from their nearest codevector.

    Parameters
    ----------
    rows : RowBlocks
        In the coordinates of the partition; by their cells at the resolution above,
        whose children alone are near, where there is one.
    partition : Partition
    """
    divergence, codebook = partition.divergence, partition.codebook
    if rows.groups is not None:
        codebook = replace(codebook, groups=parents_of(codebook.groups))
    _, affinity = assign(rows, divergence, codebook)
    apart = beyond_rounding(rows.phi(divergence), affinity)
    return float(rows.row_weights @ apart / rows.total_weight)
