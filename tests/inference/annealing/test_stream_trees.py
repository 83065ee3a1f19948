"""Streams down a tree, and of rows with classes."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from odalib.inference.annealing import layer as layer_module
from odalib.inference.annealing import stream as stream_module
from odalib.inference.annealing.batch import Batch
from odalib.inference.annealing.codebook import Codebook
from odalib.inference.annealing.groups import MAX_CLASSES
from odalib.inference.annealing.local.voting import class_log_probabilities
from odalib.inference.annealing.merging import merge_down
from odalib.inference.annealing.stochastic import stochastic_step
from odalib.inference.annealing.stream import Stream
from odalib.inference.annealing.warm_up import WarmUp
from tests.oracles.divergences import draw_rows

from .streams import BATCH, WARM_UP, begin, bits, learnt, shrink_windows
from .trees import SetVote, chain, descend_slowly, grow_tree

VOTE, N_ROWS = SetVote(("bayes",), 0.0, False), 330


@pytest.fixture(autouse=True)
def small_windows(monkeypatch):
    shrink_windows(monkeypatch)


def classes_in_time(n_rows=N_ROWS, first_of_last=205, seed=0):
    """Rows of three features and four classes, of which one comes late."""
    random = np.random.default_rng(seed)
    y = random.integers(4, size=n_rows)
    y[:first_of_last] = y[:first_of_last] % 3
    centres = 4.0 * np.random.default_rng(7).normal(size=(4, 3))
    x = centres[y] + random.normal(size=(n_rows, 3))
    return Batch(x, random.uniform(0.1, 2.0, size=n_rows), y)


RESOLUTIONS = {
    "flat": [(None, 6)],
    "two": [((0,), 4), (None, 12)],
    "three": [((2,), 4), ((0, 1), 8), (None, 14)],
}
shapes = pytest.mark.parametrize("shape", RESOLUTIONS)
with_classes = pytest.mark.parametrize("classes", [False, True], ids=["", "classes"])


def settings_of(shape, classes, **changes):
    spec = VOTE if classes else None
    settings = {"stream_batch_size": BATCH, "local_models": spec}
    return chain(RESOLUTIONS[shape], **(settings | changes))


@pytest.mark.parametrize(
    ("shape", "classes", "memory"),
    [
        ("flat", True, None),
        ("two", False, None),
        ("two", True, 60.0),
        ("three", True, None),
    ],
)
def test_cuts_change_no_bit(shape, classes, memory):
    batch, start = classes_in_time(), begin(settings_of(shape, classes, memory=memory))
    whole = start.learn(batch)
    assert isinstance(whole, Stream)
    whole = bits(whole)
    assert whole != bits(start.learn(batch[:-1]))
    for cuts in [range(7, N_ROWS, 7), [95, 96, 97, 119, 120, 121, 200, 210]]:
        assert bits(learnt(start, batch, cuts)) == whole


@shapes
@pytest.mark.parametrize("n_rows", [60, 99, 215])
def test_a_pickle_goes_on_as_if_nothing_had_been(shape, n_rows):
    state = begin(settings_of(shape, True)).learn(classes_in_time()[:n_rows])
    state.model  # noqa: B018 - what is cached is not carried along
    copy = pickle.loads(pickle.dumps(state))
    assert bits(copy) == bits(state)
    more = classes_in_time(150, 0, seed=1)
    assert bits(copy.learn(more)) == bits(state.learn(more))


@pytest.mark.parametrize(
    ("shape", "classes"), [("flat", True), ("two", False), ("three", True)]
)
def test_size_does_not_grow_with_the_rows(shape, classes):
    """Pickled, after 250 rows and after ten times as many, without the queue."""
    batch = classes_in_time(2500, 0)
    early = begin(settings_of(shape, classes)).learn(batch[:250])
    late = early.learn(batch[250:])
    assert sum(map(len, early.queue)) < BATCH
    sizes = [len(pickle.dumps(replace(state, queue=()))) for state in (early, late)]
    # A level holds other arrays at its beginning than at its end.
    held = sum(layer.codebook.points.nbytes for layer in late.layers)
    assert sizes[1] <= sizes[0] + 3 * held + 200


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


@shapes
@with_classes
def test_a_tree_is_sound_at_any_time(shape, classes):
    """Row by row while it warms up, and batch by batch ever after."""
    batch, state = classes_in_time(), begin(settings_of(shape, classes))
    rows = 3.0 * draw_rows("squared_euclidean", 30, 3, 9)
    met = set()
    for start in [*range(0, WARM_UP, 8), *range(WARM_UP, N_ROWS, 39)]:
        stop = start + (8 if start < WARM_UP else 39)
        state = state.learn(batch[start:stop])
        assert_sound(state, rows)
        met |= set(batch.targets[start:stop])
        if classes:
            groups = state.model.tree.levels[0].quantiser.groups
            assert set(groups) == met
    levels = state.model.tree.levels
    for level, (_, number) in zip(levels, RESOLUTIONS[shape], strict=True):
        groups = level.quantiser.groups
        n_groups = 0 if groups is None else len(np.unique(groups))
        # Codevectors with children do not merge for a class that joins their cell.
        limit = max(number, n_groups) if level is levels[-1] else number + n_groups
        assert level.quantiser.n_codevectors <= limit


def two_sides(n_rows, seed=0):
    """Rows at -20 and 20 in the first feature, in three groups in the second."""
    random = np.random.default_rng(seed)
    side = np.where(np.arange(n_rows) % 2, 20.0, -20.0)
    x = np.stack([side, 5.0 * random.integers(3, size=n_rows)], axis=1)
    return Batch(x + random.normal(size=(n_rows, 2)), np.ones(n_rows))


def test_children_learn_from_the_rows_of_their_cell_only(monkeypatch):
    """Of rows on one side, the leaves of the other keep their bits."""
    monkeypatch.setattr(layer_module, "WINDOW_ROWS", 10**6)
    settings = chain([((0,), 2), (None, 6)], stream_batch_size=BATCH)
    state = begin(settings).learn(two_sides(WARM_UP + 3 * BATCH))
    rows = two_sides(400, seed=1)
    right = rows[rows.rows[:, 0] > 0.0]
    after = state.learn(right)
    assert after.n_steps > state.n_steps
    codevectors = state.layers[0].codebook.points + state.layers[0].solution.shift
    other = int(codevectors[:, 0].argmin())
    for place in (0, 1):
        groups = state.layers[place].codebook.groups
        points = [one.layers[place].codebook.points for one in (state, after)]
        own = np.arange(2) == other if place == 0 else groups // MAX_CLASSES == other
        same = (points[0] == points[1]).all(axis=1)
        if place == 1:
            np.testing.assert_array_equal(same, own)
        else:
            np.testing.assert_allclose(points[0][own], points[1][own], atol=1e-9)


def test_leaves_are_filled_up_again_within_their_cells():
    """And follow the groups that rows of a cell come to be in."""
    settings = chain([((0,), 2), (None, 6)], stream_batch_size=BATCH, memory=300.0)
    early, late = two_sides(WARM_UP), two_sides(1500, seed=1)
    early.rows[:, 1] = np.random.default_rng(2).normal(size=WARM_UP)
    state = begin(settings).learn(early).learn(late)
    (top, bottom) = state.model.tree.levels
    assert top.quantiser.n_codevectors == 2
    assert bottom.quantiser.n_codevectors == 6
    for cell in range(2):
        own = bottom.quantiser.codevectors[bottom.parents == cell]
        np.testing.assert_allclose(np.sort(own[:, 1]), [0.0, 5.0, 10.0], atol=0.5)
        side = np.sign(top.quantiser.codevectors[cell, 0])
        assert (np.sign(own[:, 0]) == side).all()


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
    x = np.stack([np.full(16, 60.0), np.arange(16.0)], axis=1)
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


@with_classes
def test_sparse_rows_are_followed_as_dense_ones_are(classes):
    batch = classes_in_time()
    x = np.maximum(batch.rows, 0.0)
    settings = settings_of("two", classes)
    states = [
        begin(settings).learn(replace(batch, rows=layout(x)))
        for layout in (np.asarray, sp.csr_matrix)
    ]
    dense, sparse = (state.model.tree for state in states)
    assert states[1].layers[0].solution.shift is None
    for one, other in zip(dense.levels, sparse.levels, strict=True):
        assert one.quantiser.n_codevectors == other.quantiser.n_codevectors
    np.testing.assert_array_equal(
        sparse.descend(sp.csr_matrix(x), 1)[0][-1], sparse.descend(x, 1)[0][-1]
    )


def test_warm_up_waits_for_enough_rows_of_all_classes_together():
    """A row counts once for every class that it is of."""
    x = np.repeat(draw_rows("squared_euclidean", 3, 2, 0), 200, axis=0)
    y = np.arange(600) % 2
    settings = chain([(None, 6)], stream_batch_size=BATCH, local_models=VOTE)
    state = begin(settings).learn(Batch(x, np.ones(600), y))
    assert isinstance(state, Stream)
    assert isinstance(begin(settings).learn(Batch(x, np.ones(600), 0 * y)), WarmUp)


def test_steps_are_counted_at_every_level():
    batch = classes_in_time(WARM_UP + 2 * BATCH, 0)
    state = begin(settings_of("three", False)).learn(batch)
    size = stream_module.STEP_ROWS
    n_steps = 2 * -(-BATCH // size)
    assert [layer.n_steps for layer in state.layers] == [n_steps] * 3
    assert [layer.depth for layer in state.layers] == [0, 1, 2]
    for layer in state.layers:
        assert layer.age == pytest.approx(batch.weights.sum(), rel=1e-12)
