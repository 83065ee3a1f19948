"""A fitted codebook with its path: what an estimator publishes."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from odalib.inference.annealing.codebook import Codebook
from odalib.inference.annealing.fit import Solution, smallest_above
from odalib.inference.annealing.lineage import merged_into
from odalib.inference.annealing.local.base import Partition
from odalib.inference.annealing.merging import merge_down, nearest_codevectors
from odalib.inference.annealing.path import AnnealingPath
from odalib.inference.annealing.quantiser import Quantiser
from odalib.inference.annealing.summary import AnnealingTree
from odalib.inference.annealing.tree import Tree, TreeLevel

__all__ = ["Model", "NotOnPathError"]


class NotOnPathError(ValueError):
    """The path holds no codebook of the number of codevectors asked for."""


@dataclass(frozen=True)
class Model:
    """A codebook, the path that led to it, and codebooks of every smaller size.

    Attributes
    ----------
    tree : Tree
    solution : Solution
        Of the finest resolution, where its path began and ended.
    codebook : Codebook
        Of the finest resolution, as it was annealed: before a polish.
    hierarchy : list of Codebook
        Large to small, in shifted coordinates.
    n_iter : int
    n_seen : float
    converged : bool
    stop_reason : str
    plateau_strength : float or None
    """

    tree: Tree
    solution: Solution
    codebook: Codebook
    hierarchy: list[Codebook]
    n_iter: int
    n_seen: float
    converged: bool
    stop_reason: str
    plateau_strength: float | None

    @classmethod
    def from_layers(cls, layers, dtype, n_seen):
        """Model of the resolutions as they stand, codevectors in the given dtype."""
        finest = layers[-1]
        solution = finest.solution
        return cls(
            Tree(tuple(TreeLevel.of_layer(layer, dtype) for layer in layers)),
            solution,
            solution.codebook if finest.n_steps == 0 else finest.codebook,
            solution.hierarchy if finest.n_steps == 0 else [finest.codebook],
            sum(layer.solution.n_passes + layer.n_steps for layer in layers),
            n_seen,
            all(layer.solution.converged for layer in layers),
            solution.stop_reason,
            solution.plateau_strength,
        )

    @cached_property
    def path(self):
        """Levels of temperature of the finest resolution."""
        solution = self.solution
        return AnnealingPath(solution.levels, solution.divergence, solution.shift)

    @property
    def quantiser(self):
        """Quantiser of the finest resolution."""
        return self.tree.finest.quantiser

    @cached_property
    def summary(self):
        """The tree as users read it."""
        return AnnealingTree.of(self.tree, self.n_seen)

    def with_codebook(self, codebook, temperature):
        """Model of another codebook at another temperature on the same path.

        The cells of the finest resolution go whole into those of the other codebook.
        """
        *coarse, finest = self.tree.levels
        solution = self.solution
        before, after = (
            Partition.of(solution.divergence, one, solution.shift)
            for one in (self.codebook, codebook)
        )
        new = Quantiser.of(after, temperature, finest.quantiser.codevectors.dtype)
        labels = nearest_codevectors(before.codebook, after.codebook, after.divergence)
        lineage = merged_into(labels, len(codebook))
        census = None if finest.census is None else finest.census.inherit(lineage)
        cells = finest.cells.regrouped(lineage, before, after)
        level = replace(finest, quantiser=new, cells=cells, census=census)
        return replace(self, tree=Tree((*coarse, level)), codebook=codebook)

    def at_size(self, n_codevectors, name="n_clusters"):
        """Model of a number of codevectors.

        Parameters
        ----------
        n_codevectors : int
        name : str, default='n_clusters'
            What messages call it.

        Raises
        ------
        NotOnPathError
            Where the path holds no codebook of that size.
        """
        if n_codevectors == self.quantiser.n_codevectors:
            return self
        largest = len(self.hierarchy[0])
        groups = self.codebook.groups
        least = 1 if groups is None else len(np.unique(groups))
        if not least <= n_codevectors <= largest:
            advice = "fit with a larger number"
            if n_codevectors < least:
                advice = (
                    f"take {least} at least, since every class and every node of a "
                    "tree keeps a codevector"
                )
            raise NotOnPathError(
                f"{name}={n_codevectors} is not on the path, which holds {least} to "
                f"{largest} codevectors; {advice}."
            )
        codebook = smallest_above(
            self.hierarchy, n_codevectors, self.solution.divergence
        )
        # The coldest level that needs no more codevectors.
        reached = np.flatnonzero(self.path.n_codevectors <= n_codevectors)
        grown = np.flatnonzero(self.path.n_codevectors > n_codevectors)
        if len(grown):
            reached = reached[reached < grown[0]]
        level = reached[-1] if len(reached) else 0
        return self.with_codebook(codebook, self.path.temperature[level])

    def at_temperature(self, temperature):
        """Model of the coldest level that is not colder than the temperature.

        Raises
        ------
        ValueError
            For temperatures below the last level's.
        """
        path = self.path
        coldest = path.temperature[-1]
        if not temperature >= coldest:
            raise ValueError(
                f"temperature={temperature!r} is below the last level of the path, "
                f"{coldest:.6g}."
            )
        level = max(int((path.temperature >= temperature).sum()) - 1, 0)
        codebook = self._with_late_groups(self.solution.levels[level].codebook)
        return self.with_codebook(codebook, path.temperature[level])

    def _with_late_groups(self, codebook):
        """Codebook of a level, with one codevector of each group that came later."""
        present = self.codebook
        if codebook.groups is None:
            return codebook
        is_late = ~np.isin(present.groups, codebook.groups)
        if not is_late.any():
            return codebook
        share = present.weights[is_late].sum()
        late = present.select(is_late)
        late, _ = merge_down(late, self.solution.divergence, 1)
        return Codebook(
            np.concatenate([codebook.points, late.points]),
            np.append((1.0 - share) * codebook.weights, share * late.weights),
            np.append(codebook.groups, late.groups),
        )
