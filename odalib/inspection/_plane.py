"""A plane of two features through the rows, and the cells of codevectors in it."""

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from odalib.inspection._names import columns_of, features_of

__all__ = ["CodebookPanel", "Plane"]

# Points along each side of a picture, and its margins as shares of what is shown.
RESOLUTION, MARGIN = 300, 0.06


@dataclass(frozen=True)
class Plane:
    """Points of a grid in two features; the others stay as they are at one point.

    Attributes
    ----------
    columns : ndarray of int of shape (2,)
    names : list of str of length 2
    base : ndarray of shape (n_features,)
    across, up : ndarray
        Values of the two features.
    """

    columns: np.ndarray
    names: list[str]
    base: np.ndarray
    across: np.ndarray
    up: np.ndarray

    @classmethod
    def of(cls, estimator, features, rows):
        """Plane of two features that holds the codevectors, and the rows if any.

        Raises
        ------
        ValueError
            For features that are no two columns of the estimator.
        """
        tree = estimator.tree_
        points, weights = tree.points[-1], tree.n_samples[tree.first_nodes[-1] :]
        names = features_of(estimator)
        columns = _two_columns(features, names)
        shown = points if rows is None else np.concatenate([points, rows])
        divergence = estimator._state.model.tree.finest.settings.divergence
        across, up = (
            _inside(shown[:, column], divergence.lower, divergence.upper)
            for column in columns
        )
        base = np.average(points, axis=0, weights=weights)
        return cls(columns, [names[column] for column in columns], base, across, up)

    @property
    def rows(self):
        """Points of the grid as rows of X, from bottom left on, line after line."""
        rows = np.tile(self.base, (len(self.up) * len(self.across), 1))
        across, up = np.meshgrid(self.across, self.up)
        rows[:, self.columns] = np.stack([across.ravel(), up.ravel()], axis=1)
        return rows

    def as_grid(self, values):
        """Values of the points, the last axis, as lines of the grid."""
        return values.reshape(*values.shape[:-1], len(self.up), len(self.across))


@dataclass(frozen=True)
class CodebookPanel:
    """One codebook in the plane.

    Attributes
    ----------
    title : str
    codevectors : ndarray of shape (K, 2)
    weights : ndarray of shape (K,)
    classes : ndarray of int of shape (K,) or None
        Of a classifier.
    margins : ndarray of shape (K, n_up, n_across)
        By how much points of the grid are inside of each cell.
    regions : ndarray of shape (n_classes, n_up, n_across)
        By how much the log probability of each class leads; of no length without
        classes.
    """

    title: str
    codevectors: np.ndarray
    weights: np.ndarray
    classes: Any
    margins: np.ndarray
    regions: np.ndarray

    @classmethod
    def of(cls, estimator, temperature, plane):
        """Panel of a fitted estimator."""
        tree, rows = estimator.tree_, plane.rows
        title = f"{tree.n_leaves} codevector{'' if tree.n_leaves == 1 else 's'}"
        if temperature is not None:
            title = f"temperature {temperature:.3g}\n{title}"
        if len(plane.base) > 2:
            title += "\nother features at their mean"
        classes, regions = None, np.empty((0, len(rows)))
        if tree.classes is not None:
            classes = np.searchsorted(estimator.classes_, tree.classes[-1])
            # Infinite for an only class, which matplotlib would leave out.
            largest = np.finfo(float).max
            away = -_without_names(estimator).predict_log_proba(rows).T
            regions = np.minimum(_leads(away), largest)
        return cls(
            title,
            tree.points[-1][:, plane.columns],
            tree.n_samples[tree.first_nodes[-1] :],
            classes,
            plane.as_grid(_cell_margins(estimator, rows)),
            plane.as_grid(regions),
        )


def _without_names(estimator):
    """Estimator that takes points of the plane, whose columns have no names."""
    nameless = copy(estimator)
    vars(nameless).pop("feature_names_in_", None)
    return nameless


def _cell_margins(estimator, rows):
    """By how much rows are inside the cells of the leaves.

    At a level, that is how much farther the nearest of the siblings is than the
    codevector itself, in units of the divergence; over levels, the least of these.
    It is a continuous function of a row, which is zero on the border of a cell.

    Returns
    -------
    margins : ndarray of shape (n_leaves, n)
        Infinite where there are no others.
    """
    summary, tree = estimator.tree_, estimator._state.model.tree
    has_leaves = _nodes_with_leaves(summary)
    above = np.full((1, len(rows)), np.inf)
    for first, level in zip(summary.first_nodes, tree.levels, strict=True):
        divergences = level.quantiser.divergences(level.settings.view(rows), 1).T
        margins = above[level.parents]
        fruitful = has_leaves[first : first + len(level.parents)]
        for parent in np.unique(level.parents[fruitful]):
            own = np.flatnonzero(fruitful & (level.parents == parent))
            margins[own] = np.minimum(margins[own], _leads(divergences[own]))
        above = margins
    return above


def _nodes_with_leaves(tree):
    """Whether rows descend to a node: to one without leaves below it they do not."""
    has_leaves = tree.level == tree.n_levels
    for node in range(tree.n_nodes)[:0:-1]:
        has_leaves[tree.parent[node]] |= has_leaves[node]
    return has_leaves


def _leads(divergences):
    """How much farther the nearest of the others is than each: as the divergences.

    Infinite where there are no others.
    """
    nearest = divergences.argmin(axis=0)[np.newaxis]
    least = np.take_along_axis(divergences, nearest, axis=0)
    others = np.broadcast_to(least, divergences.shape).copy()
    rest = divergences.copy()
    np.put_along_axis(rest, nearest, np.inf, axis=0)
    np.put_along_axis(others, nearest, rest.min(axis=0, keepdims=True), axis=0)
    return others - divergences


def _inside(values, lower, upper):
    """Grid over what the values span and a margin, half way to the ends of a domain."""
    start, end = values.min(), values.max()
    margin = MARGIN * (end - start or 1.0)
    start = max(start - margin, (start + lower) / 2.0)
    end = min(end + margin, (end + upper) / 2.0)
    return np.linspace(start, end, RESOLUTION)


def _two_columns(features, names):
    """Columns as numbers, from a pair of numbers or names, or None for all of two."""
    if features is None:
        if len(names) != 2:
            raise ValueError(
                f"The estimator was fitted to {len(names)} features; a picture shows "
                "two. Name them: features=(0, 1), or by the names of a data frame."
            )
        return np.array([0, 1])
    columns = columns_of(features, names)
    if len(columns) != 2 or columns[0] == columns[1]:
        raise ValueError(f"features={features!r} must be two different features.")
    return np.array(columns)
