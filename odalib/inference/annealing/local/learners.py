"""Regression by learners of the user's, one in each cell."""

from copy import deepcopy
from dataclasses import dataclass, replace
from inspect import signature
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from odalib.inference.annealing.bregman import LARGEST_POWER
from odalib.inference.annealing.fit import anneal
from odalib.inference.annealing.groups import group_codes, parents_of
from odalib.inference.annealing.local.association import associate
from odalib.inference.annealing.local.base import (
    Cells,
    LocalModels,
    Partition,
    rise_of_spread,
)
from odalib.inference.annealing.local.folds import folds_of, folds_within
from odalib.inference.annealing.local.moments import (
    as_held_out,
    mean_divergence,
    mixed_errors,
)
from odalib.inference.annealing.local.regression_choice import (
    ENOUGH_ROWS,
    WARMTHS,
    open_number,
    target_scale,
)
from odalib.inference.annealing.rows import RowBlocks
from odalib.inference.annealing.stochastic import step_size
from odalib.inference.annealing.targets import NO_TARGETS, TargetWeight

__all__ = ["CellLearners", "LearnerCells"]

# Associations below this are not worth a prediction.
LEAST_SHARE = 1e-6
# Predictions beyond this, which no target is, have squares that overflow in sums.
LARGEST_PREDICTION = float(np.finfo(float).max) ** LARGEST_POWER


@dataclass(frozen=True)
class CellLearners(LocalModels):
    """Settings of `LearnerCells`, and what was chosen of them.

    Attributes
    ----------
    learner : object
        With ``partial_fit(X, y)`` and ``predict(X)``; copied, never changed.
    blend : bool
        Predict by association; by the winning cell otherwise.
    target : TargetWeight
    warmth : float
    held_out_error : tuple of float, or None
    """

    learner: Any
    blend: bool
    target: TargetWeight = NO_TARGETS
    warmth: float = WARMTHS[0]
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
        """As `LocalModels.tuned`; the temperature of the association alone."""
        target = self.target.measured(batch, settings.divergence)
        spec = replace(self, target=target)
        settings = replace(open_number(batch, settings, parents), local_models=spec)
        folds = folds_of(batch, None, settings.seed, ENOUGH_ROWS)
        folds = folds_within(folds, parents)
        if not folds:
            return settings
        warmths = WARMTHS if self.blend else WARMTHS[:1]
        found = [
            _errors_held_out(spec, fold, settings, warmths, n_jobs) for fold in folds
        ]
        weights = np.concatenate([fold.held_out.weights for fold in folds])
        errors = [np.concatenate(parts) for parts in zip(*found, strict=True)]
        scale = target_scale(batch)
        losses = [weights @ (one / scale).sum(axis=1) for one in errors]
        best = int(np.argmin(losses))
        chosen = replace(
            spec,
            warmth=warmths[best],
            held_out_error=tuple((weights @ errors[best] / weights.sum()).tolist()),
        )
        return replace(settings, local_models=chosen)

    def begin(self, batch, partition, parents, n_jobs):
        """As `LocalModels.begin`."""
        rows, in_cells = (
            RowBlocks(batch.rows, batch.weights, partition.shift, n_jobs, groups)
            for groups in (None, parents)
        )
        n_cells = len(partition.codebook)
        empty = LearnerCells(
            self,
            (self.learner,) * n_cells,
            np.zeros(n_cells),
            np.zeros((n_cells, batch.targets.shape[1])),
            mean_divergence(in_cells, partition),
            rows.total_weight,
        )
        seen = replace(batch, rows=rows.select(slice(None)))
        cells = empty.taught(seen, partition, parents)
        association = cells.association(seen.rows, partition, parents)
        wrong = np.square(
            cells.blend(seen.rows, partition, association) - batch.targets
        )
        wins = associate(seen.rows, partition, parents, None)
        errors = (wins * batch.weights) @ wrong
        errors = as_held_out(errors, cells.taught_weight, self.held_out_error)
        return replace(cells, errors=errors)


@dataclass(frozen=True)
class LearnerCells(Cells):
    """A learner in every cell, taught the rows that the cell wins.

    Rows of a cell whose learner was taught nothing are predicted by that of the nearest
    codevector whose learner was.

    Attributes
    ----------
    spec : CellLearners
    learners : tuple of object
    taught_weight : array of shape (K,)
        Weight of the rows that each was taught; one that was taught none says zero.
    errors : array of shape (K, m)
        Sums of squared errors of the rows that each wins, as they are predicted.
    spread : float
        Mean divergence of rows from their nearest codevector.
    weight : float
    """

    spec: CellLearners
    learners: tuple[Any, ...]
    taught_weight: np.ndarray
    errors: np.ndarray
    spread: float
    weight: float

    @property
    def n_targets(self):
        """Number of values of the regression."""
        return self.errors.shape[1]

    @property
    def temperature(self):
        """Temperature of the association, or None for the nearest codevector."""
        return self.spec.warmth * (self.spread or 1.0) if self.spec.blend else None

    def association(self, block, partition, parents):
        """Association of rows with the cells that predict them, shape (K, n).

        Cells that were taught nothing predict nothing. A row that is near to no others
        is that of the nearest codevector whose learner was taught.
        """
        association = associate(block, partition, parents, self.temperature)
        taught = self.taught_weight > 0
        lost = np.flatnonzero((association[taught] <= LEAST_SHARE).all(axis=0))
        if len(lost):
            above = None if parents is None else parents[lost]
            nearest = self._nearest_taught(block[lost], partition, above)
            association[:, lost] = 0.0
            association[nearest, lost] = 1.0
        return association

    def _nearest_taught(self, rows, partition, parents):
        """Nearest codevector whose learner was taught, shape (n,).

        Below the cell of the row at the resolution above, where one was.
        """
        taught = np.flatnonzero(self.taught_weight)
        among = replace(partition, codebook=partition.codebook.select(taught))
        nearest = np.empty(rows.shape[0], dtype=int)
        in_cell = np.zeros(len(nearest), dtype=bool)
        if parents is not None:
            in_cell = np.isin(parents, parents_of(among.codebook.groups))
        for own, above in (
            (np.flatnonzero(in_cell), parents),
            (np.flatnonzero(~in_cell), None),
        ):
            if len(own):
                above = None if above is None else above[own]
                wins = associate(rows[own], among, above, None)
                nearest[own] = taught[wins.argmax(axis=0)]
        return nearest

    def predict(self, block, partition, parents):
        """Predictions and their variance, each of shape (n, m)."""
        association = self.association(block, partition, parents)
        variance = mixed_errors(self.errors, self.taught_weight)
        return self.blend(block, partition, association), association.T @ variance

    def blend(self, block, partition, association):
        """Predictions of the learners by association, shape (n, m)."""
        rows = _as_they_came(block, partition)
        result = np.zeros((block.shape[0], self.errors.shape[1]))
        share = np.zeros(block.shape[0])
        for cell in np.flatnonzero(self.taught_weight):
            own = np.flatnonzero(association[cell] > LEAST_SHARE)
            if len(own):
                values = _predicted(self.learners[cell], rows[own], self.n_targets)
                result[own] += association[cell, own, np.newaxis] * values
                share[own] += association[cell, own]
        return result / share[:, np.newaxis]

    def learn(self, batch, partition, parents, memory, age):
        """Learners after some more rows, which they are tried on before."""
        association = self.association(batch.rows, partition, parents)
        values = self.blend(batch.rows, partition, association)
        wins = associate(batch.rows, partition, parents, None)
        wrong = (wins * batch.weights) @ np.square(batch.targets - values)
        rows = RowBlocks(batch.rows, batch.weights, groups=parents)
        step = step_size(rows.total_weight, self.weight, memory)
        spread = mean_divergence(rows, partition)
        return replace(
            self.taught(batch, partition, parents),
            errors=self.errors + wrong,
            spread=self.spread + step * (spread - self.spread),
            weight=self.weight + rows.total_weight,
        )

    def taught(self, batch, partition, parents):
        """Learners that have been taught the rows that their cells win."""
        rows = _as_they_came(batch.rows, partition)
        wins = associate(batch.rows, partition, parents, None)
        learners, weight = list(self.learners), self.taught_weight.copy()
        for cell in np.flatnonzero(wins.any(axis=1)):
            own = np.flatnonzero(wins[cell])
            targets = batch.targets[own]
            learners[cell] = _taught(
                learners[cell],
                rows[own],
                targets[:, 0] if targets.shape[1] == 1 else targets,
                batch.weights[own],
            )
            weight[cell] += batch.weights[own].sum()
        return replace(self, learners=tuple(learners), taught_weight=weight)

    def inherit(self, lineage):
        """Learners of the codevectors of a lineage: of those that were taught most."""
        origins = [
            max(
                lineage.indices[start:stop],
                key=lambda cell: self.taught_weight[cell],
                default=None,
            )
            for start, stop in pairwise(lineage.indptr)
        ]
        learners = tuple(
            self.spec.learner if origin is None else self.learners[origin]
            for origin in origins
        )
        return replace(
            self,
            learners=learners,
            taught_weight=lineage @ self.taught_weight,
            errors=lineage @ self.errors,
        )

    def regrouped(self, lineage, before, after):
        """Learners of a coarser codebook, whose cells vary by more."""
        spread = self.spread + rise_of_spread(lineage, before, after)
        return replace(self.inherit(lineage), spread=max(spread, 0.0))


def _as_they_came(block, partition):
    """Rows in the coordinates in which they came, indices of 32 bits if sparse."""
    if partition.shift is not None:
        return block + partition.shift
    if not sp.issparse(block) or block.indices.dtype == np.int32:
        return block
    # Many learners take no others.
    parts = (block.data, block.indices.astype(np.int32), block.indptr.astype(np.int32))
    return sp.csr_matrix(parts, shape=block.shape)


def _taught(learner, rows, targets, weights):
    """Copy of a learner that has been taught some rows."""
    try:
        taught = deepcopy(learner)
    except Exception as error:
        raise ValueError(
            f"local_model={learner!r} cannot be copied, and every cell has a copy: "
            f"{error}"
        ) from error
    weighted = {}
    try:
        if "sample_weight" in signature(taught.partial_fit).parameters:
            weighted = {"sample_weight": weights}
        returned = taught.partial_fit(rows, targets, **weighted)
    except Exception as error:
        raise ValueError(
            f"local_model={learner!r} failed to learn the rows of a cell: {error}"
        ) from error
    # Some learners stay as they are, and return another that has learnt.
    is_learner = hasattr(returned, "partial_fit") and hasattr(returned, "predict")
    return returned if is_learner else taught


def _predicted(learner, rows, n_targets):
    """Predictions of a learner, shape (n, m)."""
    try:
        values = learner.predict(rows)
        if np.iscomplexobj(values) or np.ma.is_masked(values):
            raise ValueError("complex or masked values, which are no predictions")
        values = np.asarray(values, dtype=float)
    except Exception as error:
        raise ValueError(
            f"local_model={learner!r} failed to predict rows of a cell: {error}"
        ) from error
    n_rows = rows.shape[0]
    shapes = [(n_rows, n_targets), *[(n_rows,)] * (n_targets == 1)]
    if values.shape not in shapes:
        raise ValueError(
            f"local_model={learner!r} predicted values of shape {values.shape} for "
            f"{n_rows} rows of {n_targets} targets; it must give {shapes[-1]}."
        )
    if not np.isfinite(values).all():
        raise ValueError(
            f"local_model={learner!r} predicted NaN or infinity. Scale the rows, or "
            "give a learner whose steps are smaller."
        )
    largest = np.abs(values).max(initial=0.0)
    if largest > LARGEST_PREDICTION:
        raise ValueError(
            f"local_model={learner!r} predicted values up to {largest:.3g}, whose "
            "squares overflow. Scale the rows, or give a learner whose steps are "
            "smaller."
        )
    return values.reshape(n_rows, n_targets)


def _errors_held_out(spec, fold, settings, warmths, n_jobs):
    """Squared errors of the rows held out, for each warmth, each (n, m)."""
    learnt, held_out = fold.learnt, fold.held_out
    above, parents = fold.parents
    quick = replace(settings, thorough=False)
    solution = anneal(learnt, quick, n_jobs, groups=group_codes(above, None))
    partition = Partition.of(solution.divergence, solution.codebook, solution.shift)
    spec = replace(spec, held_out_error=None)
    cells = spec.begin(learnt, partition, above, n_jobs)
    rows = RowBlocks(held_out.rows, held_out.weights, partition.shift)
    block = rows.select(slice(None))
    errors = []
    for warmth in warmths:
        tried = replace(cells, spec=replace(spec, warmth=warmth))
        association = tried.association(block, partition, parents)
        values = tried.blend(block, partition, association)
        errors.append(np.square(values - held_out.targets))
    return errors
