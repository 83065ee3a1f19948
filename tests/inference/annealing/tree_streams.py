"""Streams down trees for the tests of annealing, some of rows with classes."""

import numpy as np

from odalib.inference.annealing.batch import Batch
from odalib.inference.annealing.local.voting import class_log_probabilities

from .streams import BATCH
from .trees import SetVote, chain, descend_slowly

__all__ = [
    "RESOLUTIONS",
    "VOTE",
    "assert_sound",
    "classes_in_time",
    "settings_of",
    "two_sides",
]

VOTE = SetVote(("bayes",), 0.0, False)
RESOLUTIONS = {
    "flat": [(None, 6)],
    "two": [((0,), 4), (None, 12)],
    "three": [((2,), 4), ((0, 1), 8), (None, 14)],
}


def classes_in_time(n_rows=330, first_of_last=205, seed=0):
    """Rows of three features and four classes, of which one comes late."""
    random = np.random.default_rng(seed)
    y = random.integers(4, size=n_rows)
    y[:first_of_last] = y[:first_of_last] % 3
    centres = 4.0 * np.random.default_rng(7).normal(size=(4, 3))
    x = centres[y] + random.normal(size=(n_rows, 3))
    return Batch(x, random.uniform(0.1, 2.0, size=n_rows), y)


def settings_of(shape, classes, **changes):
    spec = VOTE if classes else None
    settings = {"stream_batch_size": BATCH, "local_models": spec}
    return chain(RESOLUTIONS[shape], **(settings | changes))


def two_sides(n_rows, seed=0):
    """Rows at -20 and 20 in the first feature, in three groups in the second."""
    random = np.random.default_rng(seed)
    side = np.where(np.arange(n_rows) % 2, 20.0, -20.0)
    x = np.stack([side, 5.0 * random.integers(3, size=n_rows)], axis=1)
    return Batch(x + random.normal(size=(n_rows, 2)), np.ones(n_rows))


def assert_sound(state, rows):
    """Rows descend and are voted on, whatever they are."""
    tree = state.model.tree
    labels, _ = tree.descend(rows, 1)
    for n in range(0, len(rows), 7):
        assert [own[n] for own in labels] == descend_slowly(tree, rows[n])[0]
    for above, level, own in zip(labels, tree.levels[1:], labels[1:], strict=False):
        np.testing.assert_array_equal(level.parents[own], above)
    np.testing.assert_allclose(tree.association(rows, 1).sum(axis=1), 1.0, rtol=1e-9)
    if state.settings.local_models.by_class:
        found = class_log_probabilities(tree, rows, 4, 1)
        np.testing.assert_allclose(np.exp(found).sum(axis=1), 1.0, rtol=1e-9)
