"""All resolutions in memory, coarse to fine: each cell anneals into children."""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest
from typing import Any

import numpy as np

from odalib.inference.annealing.batch import Batch
from odalib.inference.annealing.census import Census
from odalib.inference.annealing.closing import class_weights, classes_with_leaves
from odalib.inference.annealing.codebook import Codebook, collect_cells
from odalib.inference.annealing.descent import nearest_child, nearest_of_group
from odalib.inference.annealing.fit import anneal, finish_on
from odalib.inference.annealing.groups import group_codes, parents_of
from odalib.inference.annealing.layer import Layer
from odalib.inference.annealing.local.base import Partition
from odalib.inference.annealing.rows import RowBlocks
from odalib.inference.annealing.schedule import OPEN_NUMBER, Settings

__all__ = ["fit_layers", "learn_level", "refit_layers"]


def fit_layers(batch, settings, n_jobs=1, on_level=None):
    """Anneal every resolution on the rows, each in the cells of the one before.

    All cells of a resolution are annealed together, at one temperature, so that
    codevectors go where the divergence from them is largest.

    Parameters
    ----------
    batch : Batch
    settings : Settings
        Of the coarsest resolution.
    n_jobs : int
    on_level : callable, default=None
        Called after every level with the Level, and a function that returns the
        layers, were this the last; annealing stops where it returns True.

    Returns
    -------
    tuple of Layer
    """
    layers: tuple[Layer, ...] = ()
    parents = None
    settings = settings.bound_to(batch.rows, batch.weights)
    settings = _with_numbers(settings, batch)
    for depth, level in enumerate(settings.chain):
        seen = replace(batch, rows=level.view(batch.rows))
        if settings.finer is not None:
            # Cells of a tree are many and small; its leaves are not the place to
            # look for the last percent.
            level = replace(level, thorough=False)
        build = _Builder(batch, seen, level, parents, depth, n_jobs).tuned()

        def report(level_found, solution, build=build, layers=layers):
            def found():
                return (*layers, build.layer(solution())[0])

            return on_level is not None and on_level(level_found, found)

        solution = build.fit(report)
        layer, parents = build.layer(solution)
        layers = (*layers, layer)
        if solution.stop_reason == "callback":
            break
    return layers


def _with_numbers(settings, batch):
    """Give every resolution a number of codevectors.

    Open numbers are of a geometric series to the last, from the number of classes or
    from the cube root of the last: few codevectors near the root cost the divergence
    less than many.
    """
    chain = settings.chain
    last = chain[-1].schedule.n_codevectors
    first = last ** (1.0 / 3.0)
    if settings.local_models.by_class:
        first = len(np.unique(batch.targets))
    numbers: list[int] = []
    for place, level in enumerate(chain):
        number = level.schedule.n_codevectors
        if number == OPEN_NUMBER:
            share = place / (len(chain) - 1)
            number = int(np.ceil(first ** (1.0 - share) * last**share - 1e-9))
        numbers.append(max([number, *numbers]))
    numbered = None
    for level, number in zip(chain[::-1], numbers[::-1], strict=True):
        numbered = replace(_with_number(level, number), finer=numbered)
    return numbered


def refit_layers(batch, layers):
    """Layers for more rows: the finest by hard assignments, in the cells of the others.

    Cells that have children stay, or these would be in the wrong ones.
    """
    refitted: tuple[Layer, ...] = ()
    parents = None
    for layer, finer in zip_longest(layers, layers[1:]):
        seen = replace(batch, rows=layer.settings.view(batch.rows))
        build = _Builder(batch, seen, layer.settings, parents, layer.depth, 1)
        solution = layer.solution
        if layer.grows:
            solution = build.refit(solution)
        layer, _ = build.layer(solution)
        if finer is not None:
            parents = _cells_with_children(build, layer, finer)
        refitted = (*refitted, layer)
    return refitted


def learn_level(batch, settings, solution, parents, depth, n_jobs):
    """Layer of a level of the path, whose local models learn all rows as in a fit.

    Parameters
    ----------
    batch : Batch
    settings : Settings
        Of the fit, at this resolution.
    solution : Solution
        Of the level.
    parents : array of int of shape (n,) or None
        Cell of every row at the resolution above.
    depth : int
    n_jobs : int

    Returns
    -------
    Layer
    """
    spec = settings.local_models.resized(len(solution.codebook))
    settings = replace(settings, local_models=spec)
    seen = replace(batch, rows=settings.view(batch.rows))
    layer, _ = _Builder(batch, seen, settings, parents, depth, n_jobs).layer(solution)
    return layer


def _cells_with_children(build, layer, finer):
    """Nearest codevector of every row among those that have children, shape (n,)."""
    fruitful = np.unique(parents_of(finer.codebook.groups))
    partition = layer.partition
    partition = replace(partition, codebook=partition.codebook.select(fruitful))
    return fruitful[nearest_child(build.seen.rows, partition, build.parents)]


@dataclass(frozen=True)
class _Builder:
    """Builds the layer of one resolution.

    Attributes
    ----------
    batch : Batch
        Rows as they came.
    seen : Batch
        Rows at this resolution.
    settings : Settings
    parents : array of int of shape (n,) or None
        Cells at the resolution above.
    depth : int
    n_jobs : int
    n_closed : int
        Cells whose codevectors the settings do not number.
    """

    batch: Batch
    seen: Batch
    settings: Settings
    parents: Any
    depth: int
    n_jobs: int
    n_closed: int = 0

    @cached_property
    def groups(self) -> Any:
        """Group of every row, or None."""
        by_class = self.settings.local_models.by_class
        return group_codes(self.parents, self.batch.targets if by_class else None)

    @cached_property
    def _closed(self):
        """Codebook of the cells that are not to be told apart further, or None.

        One codevector each, of the weight of all rows, at the mean of those of the
        class that most are of, in the coordinates of the rows.
        """
        if self.parents is None or not self.settings.local_models.by_class:
            return None
        seen, with_leaves = self.seen, self._with_leaves
        cells = np.flatnonzero(with_leaves.sum(axis=1) == 1)
        if not len(cells):
            return None
        groups = group_codes(cells, with_leaves[cells].argmax(axis=1))
        own = np.flatnonzero(np.isin(self.groups, groups))
        rows = RowBlocks(seen.rows[own], seen.weights[own])
        labels = np.searchsorted(groups, self.groups[own])
        sums = collect_cells(rows, labels, len(groups))
        points = sums.total / sums.weight[:, np.newaxis]
        weight = np.bincount(self.parents, seen.weights)[cells]
        return Codebook(points, weight / seen.weights.sum(), groups)

    @cached_property
    def _with_leaves(self):
        """Which classes have codevectors in which cells, shape (n_cells, n_classes)."""
        number = self.settings.schedule.n_codevectors
        return classes_with_leaves(class_weights(self.parents, self.seen), number)

    @cached_property
    def _open(self):
        """Rows of the cells that anneal, of the classes that have leaves there."""
        if self.parents is None or not self.settings.local_models.by_class:
            return _Rows(self.seen, self.groups, self.parents)
        with_leaves = self._with_leaves
        is_open = with_leaves & (with_leaves.sum(axis=1) > 1)[:, np.newaxis]
        return self._rows(is_open[self.parents, self.seen.targets])

    def _rows(self, chosen):
        """Take some of the rows."""
        return _Rows(self.seen[chosen], self.groups[chosen], self.parents[chosen])

    def tuned(self):
        """Builder with what its local models choose on rows held out.

        Its settings number the codevectors of open cells alone.
        """
        opened, settings = self._open, self.settings
        n_closed = 0 if self._closed is None else len(self._closed)
        if n_closed:
            number = settings.schedule.n_codevectors - n_closed
            settings = _with_number(settings, max(number, 1))
        if len(opened.seen):
            settings = settings.local_models.tuned(
                opened.seen, settings, self.n_jobs, opened.parents
            )
        tuned = replace(self, settings=settings, n_closed=n_closed)
        tuned.__dict__.update(_closed=self._closed, _open=opened)
        return tuned

    def fit(self, on_level):
        """Solution of all cells, those closed with a codevector each."""
        opened = self._open
        if len(opened.seen):
            solution = anneal(
                opened.seen, self.settings, self.n_jobs, on_level, opened.groups
            )
            return self._completed(solution)
        rows = self._rows(np.isin(self.groups, self._closed.groups))
        settings = _with_number(self.settings, len(self._closed))
        solution = anneal(rows.seen, settings, self.n_jobs, groups=rows.groups)
        order = np.searchsorted(self._closed.groups, solution.codebook.groups)
        weights = self._closed.weights[order]
        codebook = solution.codebook.moved(
            solution.codebook.points, weights / weights.sum()
        )
        return replace(solution, codebook=codebook, hierarchy=[codebook])

    def refit(self, solution):
        """Solution for these rows by hard assignments."""
        number = len(solution.codebook)
        if self.parents is None and not self.settings.choose:
            number = self.settings.schedule.n_codevectors
        seen, groups = self.seen, self.groups
        if groups is not None:
            known = np.isin(groups, solution.codebook.groups)
            seen, groups = seen[known], groups[known]
        rows = self.settings.local_models.annealed(seen)
        return finish_on(rows, seen.weights, solution, self.settings, number, groups)

    def _completed(self, solution):
        """Solution with the codevectors of the closed cells."""
        closed = self._closed
        if closed is None:
            return solution
        if solution.shift is not None:
            closed = closed.moved(closed.points - solution.shift, closed.weights)

        def complete(codebook):
            share = 1.0 - closed.weights.sum()
            weights = np.append(share * codebook.weights, closed.weights)
            return Codebook(
                np.concatenate([codebook.points, closed.points]),
                weights / weights.sum(),
                np.append(codebook.groups, closed.groups),
            )

        return replace(
            solution,
            codebook=complete(solution.codebook),
            levels=[
                replace(level, codebook=complete(level.codebook))
                for level in solution.levels
            ],
            hierarchy=[complete(codebook) for codebook in solution.hierarchy],
        )

    def layer(self, solution):
        """Layer that begins with a solution, and the cells of the rows.

        Returns
        -------
        layer : Layer
        labels : array of int of shape (n,), or None where nothing needs them
        """
        spec, seen = self.settings.local_models, self.seen
        parents = self.parents
        if self.groups is not None:
            known = np.isin(self.groups, solution.codebook.groups)
            if not known.all():
                seen = seen[known]
                parents = None if parents is None else parents[known]
        partition = Partition.of(solution.divergence, solution.codebook, solution.shift)
        cells = spec.begin(seen, partition, parents, self.n_jobs)
        codebook = spec.finish(seen, solution, cells, self.n_jobs, parents)
        number = self.settings.schedule.n_codevectors + self.n_closed
        layer = Layer(
            _with_number(self.settings, number),
            solution,
            codebook,
            cells,
            None,
            self.depth,
            float(self.seen.weights.sum()),
        )
        by_class, finer = spec.by_class, self.settings.finer
        sees_other = self.settings.features is not None
        if not (by_class or sees_other or finer is not None):
            return layer, None
        labels = nearest_child(
            self.seen.rows, layer.partition, self.parents, self.n_jobs
        )
        if by_class or sees_other:
            layer = replace(layer, census=self._census(layer, labels))
        return layer, labels

    def _census(self, layer, labels):
        """Count the rows of each codevector, which its weight does not tell."""
        own = nearest_of_group(
            self.seen.rows, layer.partition, self.groups, labels, self.n_jobs
        )
        sees_other = self.settings.features is not None
        n_features = self.batch.rows.shape[1] if sees_other else 0
        census = Census.empty(len(layer.codebook), n_features)
        return census.learn(self.batch, labels, own, self.n_jobs)


@dataclass(frozen=True)
class _Rows:
    """Rows at a resolution, their groups, and their cells at the one above."""

    seen: Batch
    groups: Any
    parents: Any


def _with_number(settings, number):
    """Give settings another number of codevectors."""
    schedule = replace(settings.schedule, n_codevectors=number)
    return replace(settings, schedule=schedule)
