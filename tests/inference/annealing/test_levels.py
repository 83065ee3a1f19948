"""Levels of a path that learn rows: local models and polish as a fit makes them."""

from dataclasses import replace

import numpy as np
import pytest

from odalib.inference.annealing.batch import Batch
from odalib.inference.annealing.groups import MAX_CLASSES, group_codes
from odalib.inference.annealing.local.base import LocalModels
from odalib.inference.annealing.local.class_vote import ClassVote
from odalib.inference.annealing.local.polish import log_likelihood
from odalib.inference.annealing.local.voting import class_log_probabilities
from odalib.inference.annealing.rows import RowBlocks
from odalib.inference.annealing.stream import Stream, restart

from .regressions import curved_batch, regression_settings, spec_of
from .streams import begin, shrink_windows
from .tree_streams import assert_sound, classes_in_time
from .tree_streams import settings_of as tree_settings
from .trees import SetVote, chain, grow_tree, labelled_rows


@pytest.fixture(autouse=True)
def small_windows(monkeypatch):
    shrink_windows(monkeypatch)


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


@pytest.mark.parametrize("shape", ["flat", "two"])
def test_a_class_that_came_late_is_at_every_level(shape):
    """With a codevector at the weighted mean of those that it has now."""
    batch = classes_in_time()
    state = begin(tree_settings(shape, True)).learn(batch)
    model = state.model
    temperature = model.path.temperature[0]
    level = model.at_temperature(temperature)
    early = set(model.solution.levels[0].codebook.groups)
    late = set(model.codebook.groups) - early
    assert {int(group) % MAX_CLASSES for group in late} >= {3}
    groups = level.codebook.groups
    assert set(groups) == early | late
    for group in late:
        own = model.codebook.groups == group
        weights = model.codebook.weights[own]
        mean = weights @ model.codebook.points[own] / weights.sum()
        (place,) = np.flatnonzero(groups == group)
        np.testing.assert_allclose(level.codebook.points[place], mean, rtol=1e-9)
        assert level.codebook.weights[place] == pytest.approx(weights.sum(), rel=1e-9)
    assert level.codebook.weights.sum() == pytest.approx(1.0, rel=1e-12)
    # Such a level goes on, and learns rows of all classes.
    rows = batch.rows[batch.targets == 3]
    for taught in (None, batch):
        stream = restart(state, level, state.settings, taught)
        found = class_log_probabilities(stream.model.tree, rows, 4, 1)
        assert (found.argmax(axis=1) == 3).mean() > 0.5
        assert_sound(stream.learn(batch), rows)


def test_rows_of_a_class_that_no_codevector_is_of_teach_nothing():
    """It was announced, but has not come yet."""
    batch = classes_in_time(first_of_last=1000)
    state = begin(tree_settings("flat", True)).learn(batch)
    level = state.model.at_size(4)
    strange = replace(batch, targets=np.where(np.arange(len(batch)) % 5, 3, 0))
    known = strange[strange.targets == 0]
    with_strangers, without = (
        restart(state, level, state.settings, rows).layers[0].cells
        for rows in (strange, known)
    )
    assert with_strangers.spread == without.spread
    assert with_strangers.weight == without.weight


def test_a_polish_that_nobody_judged_ends_where_the_likelihood_falls():
    """A cold vote on labels that are noise, whose passes overshoot."""
    batch, random = labelled_rows(n_rows=60), np.random.default_rng(3)
    batch = replace(batch, targets=random.integers(3, size=60))
    spec = SetVote(("bayes",), 0.0, True, coldness=8.0, n_passes=64)
    spec = replace(spec, polish_coldness=8.0)
    (layer,), _ = grow_tree(
        batch, chain([(None, 9)], local_models=replace(spec, n_passes=0))
    )
    partition, vote = layer.partition, layer.cells
    rows = RowBlocks(batch.rows, batch.weights, partition.shift)

    def height(codebook):
        return log_likelihood(
            rows, batch.targets, codebook, partition.divergence, temperature
        )

    temperature = replace(vote, coldness=8.0).temperature
    every = list(spec.polished(batch, partition, vote, 1, None))
    climbed = list(replace(spec, climbs=True).polished(batch, partition, vote, 1, None))
    heights = [height(codebook) for codebook in [partition.codebook, *every]]
    falls = np.flatnonzero(np.diff(heights) < 0)
    assert len(every) == 64
    assert len(climbed) == falls[0] < 64
    for one, other in zip(climbed, every, strict=False):
        np.testing.assert_array_equal(one.points, other.points)
    truth = [
        log_p[c]
        for log_p, c in zip(
            class_log_probabilities_of(partition, batch, temperature),
            batch.targets,
            strict=True,
        )
    ]
    assert heights[0] == pytest.approx(batch.weights @ truth, rel=1e-9)


def class_log_probabilities_of(partition, batch, temperature):
    """By loops: the votes of codevectors by Bayes, row by row."""
    codebook, x = partition.codebook, batch.rows - partition.shift
    result = []
    for row in x:
        apart = ((codebook.points - row) ** 2).sum(axis=1)
        votes = codebook.weights * np.exp((apart.min() - apart) / temperature)
        by_class = np.bincount(codebook.groups, votes, minlength=3)
        result.append(np.log(by_class / by_class.sum()))
    return result
