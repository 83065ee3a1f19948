"""Trees of codevectors for the tests of annealing, and how rows descend them."""

from dataclasses import dataclass, replace

import numpy as np

from odalib.inference.annealing.batch import Batch
from odalib.inference.annealing.grown import fit_layers
from odalib.inference.annealing.local.base import LocalModels
from odalib.inference.annealing.local.class_vote import ClassVote
from odalib.inference.annealing.model import Model
from tests.oracles.divergences import CLOSED_FORMS, draw_rows

from .problems import make_settings

__all__ = [
    "Columns",
    "SetVote",
    "chain",
    "descend_slowly",
    "grow_tree",
    "labelled_rows",
    "lonely_rows",
]


@dataclass(frozen=True)
class Columns:
    """Features that are some columns of the rows."""

    places: tuple

    name = "what a map gives"

    def bind(self, rows, weights=None):
        return self

    def __call__(self, rows):
        return rows[:, list(self.places)]


class SetVote(ClassVote):
    """A vote whose settings are not chosen but as they are given."""

    def tuned(self, batch, settings, n_jobs, parents=None):
        return settings


def chain(resolutions, *, local_models=None, **changes):
    """Settings of resolutions, each columns or None and a number of codevectors."""
    settings = None
    for places, number in reversed(resolutions):
        settings = replace(
            make_settings(n_codevectors=number, **changes),
            features=None if places is None else Columns(places),
            finer=settings,
            local_models=LocalModels() if local_models is None else local_models,
        )
    return settings


def labelled_rows(name="squared_euclidean", n_rows=120, n_features=3, seed=0):
    """Rows of three classes that overlap, with random weights."""
    x, random = draw_rows(name, n_rows, n_features, seed), np.random.default_rng(seed)
    cuts = np.quantile(x[:, 0], [0.4, 0.8])
    classes = np.searchsorted(cuts, x[:, 0] * random.uniform(0.7, 1.3, n_rows))
    return Batch(x, random.uniform(0.5, 2.0, n_rows), classes)


def lonely_rows():
    """Three classes on either side of zero, where one of them has its mean.

    Of three codevectors in the first feature, no row is nearest to that of this class.
    """
    side = np.linspace(5.0, 6.0, 20)
    x = [-side, side, -side - 0.25, side - 0.15, -side + 0.15, side + 0.25]
    classes = np.repeat([0, 1, 2], 40)
    x = np.stack([np.concatenate(x), classes - 1.0 + np.sin(np.arange(120.0))], axis=1)
    return Batch(x, np.ones(120), classes)


def grow_tree(batch, settings, n_jobs=1):
    """Layers of a batch, and their model."""
    layers = fit_layers(batch, settings, n_jobs)
    n_seen = float(batch.weights.sum())
    return layers, Model.from_layers(layers, np.dtype(float), n_seen)


def descend_slowly(tree, x, name="squared_euclidean"):
    """Cells of one row at all resolutions, each the nearest child that has leaves.

    Returns
    -------
    labels : list of int
    apart : list of lists
        Divergences from all codevectors of each resolution.
    """
    fertile = [set(range(tree.finest.quantiser.n_codevectors))]
    for level in reversed(tree.levels[1:]):
        fertile.append({int(level.parents[i]) for i in fertile[-1]})
    labels, apart, cell = [], [], 0
    for level, leaves in zip(tree.levels, reversed(fertile), strict=True):
        row = (
            x
            if level.settings.features is None
            else x[list(level.settings.features.places)]
        )
        distances = [CLOSED_FORMS[name](row, mu) for mu in level.quantiser.codevectors]
        children = [i for i in leaves if level.parents[i] == cell]
        cell = min(children, key=lambda i: distances[i])
        labels.append(cell)
        apart.append(distances)
    return labels, apart
