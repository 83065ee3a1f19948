"""One resolution as it follows a stream: a codebook that moves, splits and merges."""

from dataclasses import dataclass, replace

import numpy as np

from odalib.inference.annealing.bifurcation import covectors_of, normalise, split
from odalib.inference.annealing.census import Census
from odalib.inference.annealing.closing import leaves_that_stay
from odalib.inference.annealing.codebook import Codebook, collect_cells
from odalib.inference.annealing.descent import nearest_child, nearest_of_group
from odalib.inference.annealing.draws import row_uniforms
from odalib.inference.annealing.fit import Solution
from odalib.inference.annealing.groups import (
    LEAST_WRONG,
    WRONG_SHARE,
    closed_groups,
    group_codes,
    parents_of,
)
from odalib.inference.annealing.lineage import (
    joined_by,
    merged_into,
    selected,
    split_of,
)
from odalib.inference.annealing.local.base import Cells, Partition
from odalib.inference.annealing.merging import merge_close, merge_down
from odalib.inference.annealing.relocate import HALF_STEP, refill_and_exchange
from odalib.inference.annealing.rows import RowBlocks, as_float64
from odalib.inference.annealing.schedule import Settings
from odalib.inference.annealing.stochastic import (
    INITIAL_AGE,
    follow_batches,
    step_size,
    stochastic_step,
)
from odalib.kernels import annealing as kernels

__all__ = ["Layer"]

# Rows of one window; a level has one for the start and one for every pass of the
# power iteration.
WINDOW_ROWS, WINDOWS = 1024, 3


@dataclass(frozen=True)
class Layer:
    """Where a stream stands at one resolution.

    Attributes
    ----------
    settings : Settings
    solution : Solution
        Of the fit in memory that the layer began with: the divergence, the shift and
        the temperature stay.
    codebook : Codebook
        In shifted coordinates; that of the solution, or polished, and moved since.
    cells : Cells
        Local models.
    census : Census or None
        None where the weights of the codebook tell all.
    depth : int
        Number of coarser resolutions.
    age : float
        Weight of the rows that the codebook averages over.
    level_rows : int
        Rows of the present level.
    axis_sums : array of shape (K, d)
    axis_weight : array of shape (K,)
        Sums for the present pass of the power iteration.
    covectors : array of shape (K, d) or None
        Multipliers of the present pass; None for random signs.
    n_steps : int
    """

    settings: Settings
    solution: Solution
    codebook: Codebook
    cells: Cells
    census: Census | None
    depth: int
    age: float
    level_rows: int = 0
    axis_sums: np.ndarray | float = 0.0
    axis_weight: np.ndarray | float = 0.0
    covectors: np.ndarray | None = None
    n_steps: int = 0

    def with_settings(self, settings):
        """Layer under other settings; what was bound to rows or chosen stays."""
        old = self.settings
        if settings.choose:
            number = old.schedule.n_codevectors
            schedule = replace(settings.schedule, n_codevectors=number)
            settings = replace(settings, schedule=schedule, choose=old.choose)
        kept = replace(
            settings,
            divergence=old.divergence,
            features=old.features,
            finer=old.finer,
            local_models=old.local_models,
        )
        return replace(self, settings=kept)

    @property
    def grows(self):
        """Whether codevectors may split and merge: those without children."""
        return self.settings.finer is None

    @property
    def _wanted(self):
        """Number of codevectors to hold; a chosen one stays."""
        if self.settings.choose:
            return len(self.solution.codebook)
        return self.settings.schedule.n_codevectors

    @property
    def partition(self):
        """Cells in which local models learn."""
        solution = self.solution
        return Partition.of(solution.divergence, self.codebook, solution.shift)

    def take(self, batch, parents):
        """Layer after a batch, and the cells of its rows.

        Parameters
        ----------
        batch : Batch
            Rows as they came.
        parents : array of int of shape (n,) or None
            Their cells at the resolution above.

        Returns
        -------
        layer : Layer
        labels : array of int of shape (n,)
        """
        seen = replace(batch, rows=self.settings.view(batch.rows))
        annealed = self._comparable(self.settings.local_models.annealed(seen))
        n_features = annealed.shape[1] - self.solution.divergence.n_hidden
        rows = annealed[:, :n_features]
        seen = replace(seen, rows=rows)
        by_class = self.settings.local_models.by_class
        groups = group_codes(parents, batch.targets if by_class else None)
        layer = self._opened(seen, parents, groups)
        partition = layer.partition
        labels = nearest_child(rows, replace(partition, shift=None), parents)
        layer = layer._counted(batch, rows, labels, groups)
        if groups is not None:
            known = np.isin(groups, layer.codebook.groups)
            seen, groups, annealed = seen[known], groups[known], annealed[known]
            parents = None if parents is None else parents[known]
        if len(seen) == 0:
            return layer, labels
        cells = layer.cells.learn(
            seen, partition, parents, self.settings.memory, layer.age
        )
        layer = replace(layer, cells=cells)
        return layer._step(annealed, seen.weights, groups), labels

    @property
    def is_plain(self):
        """Whether rows move the codebook and nothing else, and all are alike."""
        settings = self.settings
        return (
            self.grows
            and self.depth == 0
            and self.census is None
            and type(self.cells) is Cells
            and settings.features is None
            and self.codebook.groups is None
        )

    def follow(self, batch, starts):
        """Plain layer after the steps of a batch, at no cost for each.

        Parameters
        ----------
        batch : Batch
        starts : array of int64 of shape (m,)
            Where the rows of each step begin, ascending from zero on.

        Returns
        -------
        Layer
        """
        if len(batch) <= WINDOW_ROWS - self.level_rows % WINDOW_ROWS:
            return self._steps(batch, starts)
        layer, first = self, 0
        bounds = np.append(starts, len(batch))
        while first < len(starts):
            left = WINDOW_ROWS - layer.level_rows % WINDOW_ROWS
            last = int(np.searchsorted(bounds, bounds[first] + left))
            last = min(last, len(starts))
            span = slice(bounds[first], bounds[last])
            layer = layer._steps(batch[span], starts[first:last] - bounds[first])
            first = last
        return layer

    def _steps(self, batch, starts):
        """Layer after steps within a window."""
        rows, shift = batch.rows, self.solution.shift
        if self.covectors is None or not kernels.takes(rows):
            rows, shift = self._comparable(rows), None
        sums = None
        if np.ndim(self.axis_sums) > 0:
            sums = self.axis_sums, self.axis_weight
        codebook, age, (axis, mass) = follow_batches(
            rows,
            batch.weights,
            starts,
            self.solution.divergence,
            self.codebook,
            self.solution.temperature,
            self.age,
            self.settings.memory,
            self._multipliers(rows, starts),
            sums,
            shift,
        )
        return self._observe(
            len(batch),
            axis,
            mass,
            codebook=codebook,
            age=age,
            n_steps=self.n_steps + len(starts),
        )

    def _multipliers(self, rows, starts=(0,)):
        """Those of the present pass of the power iteration; random signs at first."""
        if self.covectors is not None:
            return self.covectors
        return 2.0 * row_uniforms(rows, self.settings.seed, starts) - 1.0

    def _counted(self, batch, rows, labels, groups):
        """Layer whose census knows some more rows."""
        if self.census is None:
            return self
        partition = replace(self.partition, shift=None)
        own = nearest_of_group(rows, partition, groups, labels)
        return replace(self, census=self.census.learn(batch, labels, own))

    def _comparable(self, rows):
        """Rows in the coordinates of the codebook."""
        return as_float64(rows, self.solution.shift)

    def _opened(self, batch, parents, groups):
        """Layer with codevectors for groups that it meets for the first time.

        Every class has one, and every cell one of the class that most of its rows are
        of. A further class of a cell has where it makes more than few of the rows.
        Others merge to make room for it, and where these are of one class and cell
        each, the lightest go.
        """
        if groups is None:
            return self
        codes, which = np.unique(groups, return_inverse=True)
        is_new = ~np.isin(codes, self.codebook.groups)
        if not is_new.any():
            return self
        alive = self.codebook.weights > 0
        if self.grows and not alive.all():
            # What no row has been near for very long has no mean to merge.
            layer = self._begin_level(self.codebook.select(alive), selected(alive))
            return layer._opened(batch, parents, groups)
        weight = np.bincount(which, batch.weights)
        if parents is not None:
            is_new &= self._deserves(codes, weight)
            if not is_new.any():
                return self
        cells = collect_cells(RowBlocks(batch.rows, batch.weights), which, len(codes))
        n_new = np.count_nonzero(is_new)
        # Codevectors that have children stay as they are.
        room = max(self._wanted - n_new, 1) if self.grows else len(self.codebook)
        old, merged = merge_down(self.codebook, self.solution.divergence, room)
        step = step_size(weight.sum(), self.age, self.settings.memory)
        weights = np.append(old.weights, step * weight[is_new] / weight.sum())
        codebook = Codebook(
            np.concatenate(
                [old.points, cells.total[is_new] / weight[is_new, np.newaxis]]
            ),
            weights / weights.sum(),
            np.append(old.groups, codes[is_new]),
        )
        lineage = joined_by(len(old), n_new) @ merged_into(merged)
        if parents is not None and self.grows and len(codebook) > self._wanted:
            stay = leaves_that_stay(codebook, n_new, self._wanted)
            codebook, lineage = codebook.select(stay), selected(stay) @ lineage
        return self._begin_level(codebook, lineage)

    def _deserves(self, codes, weight):
        """Which groups of cells may have a codevector, given their rows in a batch."""
        cells, which = np.unique(parents_of(codes), return_inverse=True)
        total = np.bincount(which, weight)[which]
        many = (weight >= LEAST_WRONG) & (weight > WRONG_SHARE * total)
        most = np.zeros(len(cells))
        np.maximum.at(most, which, weight)
        is_empty = ~np.isin(cells, parents_of(self.codebook.groups))
        return many | (is_empty[which] & (weight == most[which]))

    def _step(self, rows, row_weights, groups):
        """Layer whose codevectors have moved towards the means of a batch."""
        weight = float(row_weights.sum())
        multipliers = self._multipliers(rows) if self.grows else None
        codebook, moments = stochastic_step(
            rows,
            row_weights,
            self.solution.divergence,
            self.codebook,
            self.solution.temperature,
            step_size(weight, self.age, self.settings.memory),
            multipliers,
            groups,
        )
        changed = {
            "codebook": codebook,
            "age": self.age + weight,
            "n_steps": self.n_steps + 1,
        }
        if not self.grows:
            return replace(self, **changed)
        axis, mass = self.axis_sums + moments.axis, self.axis_weight + moments.weight
        return self._observe(len(row_weights), axis, mass, **changed)

    def _observe(self, n_rows, axis, mass, **changed):
        """Layer that has changed, and taken note of where its cells vary."""
        changed["level_rows"] = self.level_rows + n_rows
        windows = changed["level_rows"] // WINDOW_ROWS
        if windows == self.level_rows // WINDOW_ROWS:
            return replace(self, axis_sums=axis, axis_weight=mass, **changed)
        divergence, codebook = self.solution.divergence, changed["codebook"]
        axes = normalise(divergence, codebook, axis, mass)
        if windows == WINDOWS:
            return replace(self, **changed)._end_level(axes)
        changed["covectors"] = covectors_of(divergence, codebook, axes)
        return replace(self, axis_sums=0.0, axis_weight=0.0, **changed)

    def _end_level(self, axes):
        """Layer at the start of a level, its codevectors split, merged and moved."""
        codebook = self.codebook
        kept = self.settings.schedule.not_idle(codebook)
        if not kept.all():
            codebook, axes = codebook.select(kept), axes.select(kept)
        if self.depth > 0 and self.settings.local_models.by_class:
            axes = axes.without(closed_groups(codebook.groups))
        divergence, wanted = self.solution.divergence, self._wanted
        if not self.solution.hardened:
            codebook, lineage = self._bifurcate(codebook, axes)
        elif len(codebook) > wanted:
            codebook, groups = merge_down(codebook, divergence, wanted)
            lineage = merged_into(groups)
        else:
            codebook, lineage = refill_and_exchange(codebook, axes, divergence, wanted)
        if not kept.all():
            passed_on = selected(kept)
            lineage = passed_on if lineage is None else lineage @ passed_on
        return self._begin_level(codebook, lineage)

    def _begin_level(self, codebook, lineage):
        """Layer at the start of a level; a lineage tells that the codebook changed."""
        layer = replace(
            self,
            codebook=codebook,
            level_rows=0,
            axis_sums=0.0,
            axis_weight=0.0,
            covectors=None,
        )
        if lineage is None:
            return layer
        return replace(
            layer,
            age=min(self.age, INITIAL_AGE),
            cells=self.cells.inherit(lineage),
            census=None if self.census is None else self.census.inherit(lineage),
        )

    def _bifurcate(self, codebook, axes):
        """Merge what is nearer than the temperature, split what is past it."""
        divergence, temperature = self.solution.divergence, self.solution.temperature
        chosen = axes.critical > temperature
        room = self.settings.schedule.n_codevectors - len(codebook)
        if chosen.sum() > room:
            chosen[np.argsort(-axes.critical, kind="stable")[max(room, 0) :]] = False
        if chosen.any():
            steps = HALF_STEP * axes.critical
            larger = split(codebook, divergence, axes.directions, steps, chosen)
            return larger, split_of(chosen)
        threshold = self.settings.schedule.merge_tol * temperature
        merged, groups = merge_close(codebook, divergence, threshold)
        lineage = merged_into(groups) if len(merged) < len(groups) else None
        return merged, lineage
