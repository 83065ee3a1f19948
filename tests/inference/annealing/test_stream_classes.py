"""Streams of rows with classes: those that come late, and cells that know few."""

from dataclasses import replace

import numpy as np
import pytest

from odalib.inference.annealing.batch import Batch
from odalib.inference.annealing.codebook import Codebook
from odalib.inference.annealing.groups import MAX_CLASSES
from odalib.inference.annealing.local.voting import class_log_probabilities
from odalib.inference.annealing.merging import merge_down
from odalib.inference.annealing.stochastic import stochastic_step
from odalib.inference.annealing.stream import Stream
from odalib.inference.annealing.warm_up import WarmUp
from tests.oracles.divergences import draw_rows

from .streams import BATCH, WARM_UP, begin, shrink_windows
from .tree_streams import (
    RESOLUTIONS,
    VOTE,
    assert_sound,
    classes_in_time,
    settings_of,
    two_sides,
)
from .trees import chain, grow_tree

shapes = pytest.mark.parametrize("shape", RESOLUTIONS)


@pytest.fixture(autouse=True)
def small_windows(monkeypatch):
    shrink_windows(monkeypatch)


@pytest.mark.parametrize("number", [6, 3])
def test_a_class_first_met_in_a_step_has_a_codevector(number):
    """At the mean of its rows, in shares of the step; two others merge for it.

    Where there is one of each class, none can.
    """
    settings = chain([(None, number)], stream_batch_size=16, local_models=VOTE)
    batch = classes_in_time(WARM_UP + 16, WARM_UP)
    old = begin(settings).learn(batch[:WARM_UP])
    step = batch[WARM_UP:]
    assert (step.targets == 3).sum() > 1
    (before,), (after,) = old.layers, old.learn(step).layers
    divergence = before.solution.divergence
    merged, _ = merge_down(before.codebook, divergence, number - 1)
    assert len(merged) == max(number - 1, 3)
    rows, own = step.rows - before.solution.shift, step.targets == 3
    weight = step.weights.sum()
    size = weight / (before.age + weight)
    mean = np.average(rows[own], axis=0, weights=step.weights[own])
    weights = np.append(merged.weights, size * step.weights[own].sum() / weight)
    codebook = Codebook(
        np.concatenate([merged.points, mean[np.newaxis]]),
        weights / weights.sum(),
        np.append(merged.groups, 3),
    )
    expected, _ = stochastic_step(
        rows,
        step.weights,
        divergence,
        codebook,
        before.solution.temperature,
        size,
        groups=step.targets,
    )
    np.testing.assert_array_equal(after.codebook.groups, expected.groups)
    np.testing.assert_allclose(after.codebook.points, expected.points, rtol=1e-11)
    np.testing.assert_allclose(after.codebook.weights, expected.weights, rtol=1e-11)
    np.testing.assert_allclose(after.codebook.points[-1], mean, rtol=1e-11)
    descended = after.census.descended.sum()
    assert descended == pytest.approx(batch.weights.sum(), rel=1e-12)


@pytest.mark.parametrize("shape", ["flat", "three"])
def test_a_class_that_comes_late_is_predicted(shape):
    """Nearly as by a tree that is grown of all rows."""
    batch, settings = classes_in_time(900), settings_of(shape, True)
    state, (_, model) = begin(settings).learn(batch), grow_tree(batch, settings)
    test = classes_in_time(300, 0, seed=5)
    rows = test.rows[test.targets == 3]
    followed, grown = (
        class_log_probabilities(tree, rows, 4, 1).argmax(axis=1) == 3
        for tree in (state.model.tree, model.tree)
    )
    assert grown.mean() > 0.9
    assert followed.mean() > 0.8 * grown.mean()


@pytest.mark.parametrize("shape", ["two", "three"])
def test_codevectors_that_have_children_stay_where_a_class_joins(shape):
    """One more for the class, and none of the others merges for it."""
    batch = classes_in_time(230)
    before = begin(settings_of(shape, True)).learn(batch[:200])
    after = before.learn(batch[200:])
    assert 3 in batch.targets
    old, new = (state.layers[0].codebook for state in (before, after))
    assert len(old) == 4
    np.testing.assert_array_equal(new.groups, [*old.groups, 3])
    top = before.model.tree.levels[0].quantiser.codevectors
    near = after.model.tree.levels[0].quantiser.codevectors[:4]
    np.testing.assert_allclose(near, top, atol=1.0)


@shapes
def test_a_class_met_in_the_warm_up_is_known_at_once(shape):
    """Also where its first row came after those that were annealed anew."""
    batch = classes_in_time(WARM_UP - 1, WARM_UP)
    batch.targets[WARM_UP - 4] = 3
    state = begin(settings_of(shape, True))
    for row in range(WARM_UP - 12, WARM_UP - 1):
        start = 0 if row == WARM_UP - 12 else row
        state = state.learn(batch[start : row + 1])
        known = set(state.model.tree.levels[0].quantiser.groups)
        assert known == set(batch.targets[: row + 1])


def on_two_sides_by_class():
    """Warm-up rows: the class is the side."""
    batch = two_sides(WARM_UP)
    return replace(batch, targets=(batch.rows[:, 0] > 0.0).astype(int))


@pytest.mark.parametrize(("every", "known"), [(16, {2}), (4, {0, 2})])
def test_a_new_cell_has_the_class_of_most_of_its_rows(every, known):
    """And others that make three rows of a step and a tenth of the cell's."""
    settings = chain([((0,), 2), (None, 6)], stream_batch_size=16, local_models=VOTE)
    # No row is as near to one codevector as to another.
    x = np.stack([np.full(16, 60.0), np.arange(16.0) ** 1.1], axis=1)
    targets = np.where(np.arange(16) % every, 2, 0)
    late = Batch(x, np.ones(16), targets)
    state = begin(settings).learn(on_two_sides_by_class()).learn(late)
    top, bottom = state.layers
    assert sorted(top.codebook.groups) == [0, 1, 2]
    (new,) = np.flatnonzero(top.codebook.groups == 2)
    groups = bottom.codebook.groups
    assert set(groups[groups // MAX_CLASSES == new] % MAX_CLASSES) == known
    assert len(groups) <= 6
    assert_sound(state, late.rows)


@pytest.mark.parametrize(("n_rows", "joins"), [(2, False), (3, True)])
def test_a_class_joins_a_cell_where_it_makes_more_than_few_rows(n_rows, joins):
    settings = chain([((0,), 2), (None, 6)], stream_batch_size=16, local_models=VOTE)
    early, late = on_two_sides_by_class(), two_sides(16, seed=1)
    right = (late.rows[:, 0] > 0.0).astype(int)
    # The first rows on the right are of the class of the left.
    strange = np.flatnonzero(right)[:n_rows]
    targets = right.copy()
    targets[strange] = 0
    before = begin(settings).learn(early)
    after = before.learn(replace(late, targets=targets))
    groups = after.layers[1].codebook.groups
    new = set(groups) - set(before.layers[1].codebook.groups)
    assert len(new) == int(joins)
    assert len(groups) <= 6
    if joins:
        (own,) = np.flatnonzero(np.isin(groups, list(new)))
        mean = late.rows[strange].mean(axis=0) - after.layers[1].solution.shift
        np.testing.assert_allclose(after.layers[1].codebook.points[own], mean)
    # At the first resolution both are known, and nothing is new.
    assert len(after.layers[0].codebook) == 2


def test_a_codevector_that_no_row_of_its_first_step_is_nearest_to():
    """A class on both sides of the others has its mean where none of its rows is."""
    settings = chain([((0,), 2), (None, 6)], stream_batch_size=16, local_models=VOTE)
    early, late = on_two_sides_by_class(), two_sides(160, seed=1)
    late.rows[:, 0] = np.where(late.rows[:, 0] > 0.0, 20.0, -20.0)
    state = begin(settings).learn(early)
    state = state.learn(replace(late, targets=np.full(160, 2)))
    between = np.stack([np.linspace(-3.0, 3.0, 40), np.zeros(40)], axis=1)
    assert_sound(state, between)
    # Rows that come there later are learnt there.
    more = Batch(between, np.ones(40), np.full(40, 2))
    assert_sound(state.learn(more), between)


def test_a_cell_of_one_class_has_one_leaf_however_wide():
    """On the left one class in three heaps, on the right two classes in each."""
    settings = chain([((0,), 2), (None, 6)], stream_batch_size=BATCH, local_models=VOTE)

    def labelled(batch):
        right = batch.rows[:, 0] > 0.0
        upper = batch.rows[:, 1] - 5.0 * np.round(batch.rows[:, 1] / 5.0) > 0.0
        return replace(batch, targets=np.where(right, 1 + upper, 0))

    early, late = two_sides(WARM_UP), two_sides(900, seed=1)
    early.rows[:, 1] *= np.where(early.rows[:, 0] > 0.0, 1.0, 9.0)
    late.rows[:, 1] *= np.where(late.rows[:, 0] > 0.0, 1.0, 9.0)
    state = begin(settings).learn(labelled(early)).learn(labelled(late))
    _, bottom = state.model.tree.levels
    left = bottom.quantiser.codevectors[:, 0] < 0.0
    assert left.sum() == 1
    assert bottom.quantiser.n_codevectors == 6


def test_warm_up_waits_for_enough_rows_of_all_classes_together():
    """A row counts once for every class that it is of."""
    x = np.repeat(draw_rows("squared_euclidean", 3, 2, 0), 200, axis=0)
    y = np.arange(600) % 2
    settings = chain([(None, 6)], stream_batch_size=BATCH, local_models=VOTE)
    state = begin(settings).learn(Batch(x, np.ones(600), y))
    assert isinstance(state, Stream)
    assert isinstance(begin(settings).learn(Batch(x, np.ones(600), 0 * y)), WarmUp)


def test_a_tree_holds_no_more_leaves_than_it_may_as_classes_join():
    """One of each cell and class at the least; the lightest others go."""
    random = np.random.default_rng(0)
    settings = chain([((0,), 2), (None, 5)], stream_batch_size=16, local_models=VOTE)
    state, groups_met = begin(settings), set()
    for n_classes in (2, 3, 4):
        y = random.integers(n_classes, size=400)
        x = 0.5 * random.normal(size=(400, 3))
        # Two classes at each place of the first feature.
        x[:, 0] += 4.0 * (y % 2)
        x[:, 1] += 4.0 * (y // 2)
        batch = Batch(x, np.ones(400), y)
        for start in range(0, 400, 16):
            state = state.learn(batch[start : start + 16])
            top, leaves = (layer.codebook for layer in state.layers)
            groups_met |= set(leaves.groups)
            assert len(leaves) <= max(5, len(top))
        assert set(leaves.groups // MAX_CLASSES) == set(range(len(top)))
        assert set(leaves.groups % MAX_CLASSES) == set(range(n_classes))
        assert_sound(state, x[:40])
    assert len(groups_met) > 5
