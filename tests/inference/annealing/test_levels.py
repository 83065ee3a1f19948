"""Levels of a path that learn rows: local models and polish as a fit makes them."""

from dataclasses import replace

import numpy as np
import pytest

from odalib.inference.annealing.batch import Batch
from odalib.inference.annealing.groups import MAX_CLASSES, group_codes
from odalib.inference.annealing.local.base import LocalModels
from odalib.inference.annealing.local.class_vote import ClassVote
from odalib.inference.annealing.local.voting import class_log_probabilities
from odalib.inference.annealing.stream import Stream, restart

from .regressions import curved_batch, regression_settings, spec_of
from .trees import SetVote, chain, grow_tree, labelled_rows

VOTES = ((12, "bayes", 0.4, 3.0), (4, "nearest", 0.8, 1.0))
NO_METRIC = ((12, "bayes", None, 3.0), (4, "nearest", None, 1.0))


@pytest.mark.parametrize(
    ("number", "decision", "shrinkage", "coldness"),
    [
        (12, "bayes", 0.4, 3.0),
        (7, "bayes", 0.4, 3.0),
        (6, "nearest", 0.8, 1.0),
        (2, "nearest", 0.8, 1.0),
    ],
)
def test_a_vote_of_another_number(number, decision, shrinkage, coldness):
    """As was chosen for the number that is nearest in ratio."""
    spec = ClassVote(
        ("bayes",), np.inf, True, True, 0.1, 5.0, VOTES, polish_coldness=2.5
    )
    chosen = spec.resized(number)
    assert chosen.decisions == (decision,)
    assert (chosen.shrinkage, chosen.coldness) == (shrinkage, coldness)
    # A polish makes a vote colder, by as much as for the number of the fit.
    polished = replace(spec, n_passes=8).resized(number)
    assert polished.decisions == ("bayes",)
    assert (polished.shrinkage, polished.polish_coldness) == (shrinkage, coldness)
    assert polished.coldness == 2.0 * coldness
    assert polished.n_passes == 8
    nothing = replace(spec, by_size=())
    assert nothing.resized(number) is nothing


def test_a_regression_of_another_number():
    table = ((8, 1.6, 2.0, (3.0, 0.5)), (3, 0.8, 100.0, (12.0, 5.0)))
    spec = spec_of(by_size=table)
    for number, _, warmth, ridge, error in ((5, *table[0]), (4, *table[1])):
        expected = replace(spec, warmth=warmth, ridge=ridge, held_out_error=error)
        assert spec.resized(number) == expected
    assert spec_of().resized(2) == spec_of()
    plain = LocalModels()
    assert plain.resized(2) is plain


def level_of(batch, settings, number):
    """Stream of the level of a number that has learnt rows, and one that has not."""
    layers, model = grow_tree(batch, settings)
    state = Stream(settings, np.dtype(float), layers, batch.weights.sum())
    level = model.at_size(number)
    return restart(state, level, settings, batch), restart(state, level, settings)


def test_a_polished_level():
    """The passes of the fit from the codebook of the path, on the same rows."""
    spec = SetVote(("bayes",), 0.0, True, coldness=2.0, n_passes=4, by_size=NO_METRIC)
    batch = labelled_rows()
    found, plain = level_of(batch, chain([(None, 12)], local_models=spec), 5)
    (layer,), (annealed,) = found.layers, plain.layers
    resized = spec.resized(5)
    partition = annealed.partition
    vote = resized.begin(batch, partition, None, 1)
    *_, expected = resized.polished(batch, partition, vote, 1, None)
    np.testing.assert_array_equal(layer.codebook.points, expected.points)
    np.testing.assert_array_equal(layer.codebook.weights, expected.weights)
    moved = np.abs(expected.points - annealed.codebook.points).max()
    assert moved > 0.01
    assert (layer.cells.coldness, layer.cells.decision) == (2.0, "bayes")
    assert found.n_seen == plain.n_seen


def test_local_models_of_a_level():
    """Learnt in the cells of the path; merged ones differ from them."""
    table = ((9, 1.6, 2.0, (3.0, 0.5)), (3, 0.8, 100.0, (12.0, 5.0)))
    spec, batch = spec_of(by_size=table), curved_batch()
    settings = regression_settings(spec, n_codevectors=9)
    settings = replace(settings, local_models=Fixed(spec))
    found, plain = level_of(batch, settings, 4)
    (layer,), (merged,) = found.layers, plain.layers
    np.testing.assert_array_equal(layer.codebook.points, merged.codebook.points)
    expected = spec.resized(4).begin(batch, merged.partition, None, 1)
    for name in ("slope", "intercept"):
        one, other = (getattr(c.coefficients, name) for c in (layer.cells, expected))
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(layer.cells.variance, expected.variance)
    assert np.abs(merged.cells.coefficients.slope - expected.coefficients.slope).max()


class Fixed(LocalModels):
    """Local models of settings that are given."""

    def __init__(self, spec):
        self.spec = spec

    def resized(self, number):
        return Fixed(self.spec.resized(number))

    def begin(self, *arguments):
        return self.spec.begin(*arguments)


def test_a_level_of_a_tree_learns_in_the_cells_above():
    spec = SetVote(("bayes",), 0.0, True, n_passes=3, by_size=NO_METRIC)
    batch = labelled_rows()
    settings = chain([((0,), 3), (None, 12)], local_models=spec)
    found, plain = level_of(batch, settings, 8)
    top, leaves = found.layers
    assert top is plain.layers[0]
    np.testing.assert_array_equal(
        leaves.codebook.groups, plain.layers[1].codebook.groups
    )
    # Each leaf is polished on the rows of its own cell alone.
    labels = found.model.tree.descend(batch.rows, 1)[0][0]
    for cell in range(3):
        known = np.isin(group_codes(labels, batch.targets), leaves.codebook.groups)
        own = np.flatnonzero((labels == cell) & known)
        alone = Batch(batch.rows[own], batch.weights[own], batch.targets[own])
        before = plain.layers[1].partition
        vote = leaves.cells
        inside = np.flatnonzero(before.codebook.groups // MAX_CLASSES == cell)
        partition = replace(before, codebook=before.codebook.select(inside))
        parents = np.full(len(own), cell)
        *_, expected = spec.resized(8).polished(alone, partition, vote, 1, parents)
        np.testing.assert_allclose(
            leaves.codebook.points[inside], expected.points, rtol=1e-9
        )
    rows = np.exp(class_log_probabilities(found.model.tree, batch.rows, 3, 1))
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, rtol=1e-12)
