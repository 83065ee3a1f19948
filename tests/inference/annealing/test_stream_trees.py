"""Streams down a tree: cuts, pickles, memory, and what children learn from."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from odalib.inference.annealing import layer as layer_module
from odalib.inference.annealing import stream as stream_module
from odalib.inference.annealing import warm_up
from odalib.inference.annealing.groups import MAX_CLASSES
from odalib.inference.annealing.stream import Stream, restart
from tests.oracles.divergences import draw_rows

from .streams import BATCH, WARM_UP, begin, bits, learnt, shrink_windows
from .tree_streams import (
    RESOLUTIONS,
    assert_sound,
    classes_in_time,
    settings_of,
    two_sides,
)
from .trees import chain

N_ROWS = 330
shapes = pytest.mark.parametrize("shape", RESOLUTIONS)
with_classes = pytest.mark.parametrize("classes", [False, True], ids=["", "classes"])


@pytest.fixture(autouse=True)
def small_windows(monkeypatch):
    shrink_windows(monkeypatch)


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


@pytest.mark.parametrize(
    ("shape", "n_rows"),
    [("flat", 99), ("two", 60), ("two", 215), ("three", 60), ("three", 215)],
)
def test_a_pickle_goes_on_as_if_nothing_had_been(shape, n_rows):
    state = begin(settings_of(shape, True)).learn(classes_in_time()[:n_rows])
    state.model  # noqa: B018 - what is cached is not carried along
    copy = pickle.loads(pickle.dumps(state))
    assert bits(copy) == bits(state)
    more = classes_in_time(90, 0, seed=1)
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


@shapes
@with_classes
def test_a_tree_is_sound_at_any_time(shape, classes):
    """Row by row while it warms up, and batch by batch ever after."""
    batch, state = classes_in_time(), begin(settings_of(shape, classes))
    rows = 3.0 * draw_rows("squared_euclidean", 22, 3, 9)
    met = set()
    for start in [*range(0, WARM_UP, 12), *range(WARM_UP, N_ROWS, 78)]:
        stop = start + (12 if start < WARM_UP else 78)
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


@with_classes
def test_cells_with_children_stay_while_a_stream_warms_up(classes, monkeypatch):
    """As they were annealed; only leaves are fitted to the rows that came since."""
    grown, original = [], warm_up.fit_layers

    def watched(*arguments):
        grown.append(original(*arguments))
        return grown[-1]

    monkeypatch.setattr(warm_up, "fit_layers", watched)
    batch, state, moved = classes_in_time(), begin(settings_of("three", classes)), 0
    for start in range(0, 90, 3):
        state = state.learn(batch[start : start + 3])
        *coarse, finest = state.layers
        for layer, annealed in zip(coarse, grown[-1], strict=False):
            points = annealed.codebook.points
            np.testing.assert_array_equal(layer.codebook.points, points)
            groups = annealed.codebook.groups
            np.testing.assert_array_equal(layer.codebook.groups, groups)
        leaves = [one.codebook.points for one in (finest, grown[-1][-1])]
        moved += not np.array_equal(*leaves)
    assert 3 < len(grown) < 25
    assert moved > 3


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


def test_a_level_of_the_path_has_cells_that_know_the_queue():
    """Rows that wait have opened a cell, which leaves of the level are below."""
    batch = classes_in_time(WARM_UP + 10, WARM_UP)
    settings = settings_of("two", True)
    state = begin(settings).learn(batch)
    assert sum(map(len, state.queue)) == 10
    assert 3 not in state.layers[0].codebook.groups
    model = state.model.at_temperature(state.model.path.temperature[-1])
    level = restart(state, state.model, settings)
    assert 3 in level.layers[0].codebook.groups
    assert level.n_seen == state.n_seen
    assert model.n_seen == state.n_seen
    rows = 3.0 * draw_rows("squared_euclidean", 30, 3, 9)
    assert_sound(level, rows)
    assert_sound(level.learn(batch), rows)


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


def test_steps_are_counted_at_every_level():
    batch = classes_in_time(WARM_UP + 2 * BATCH, 0)
    state = begin(settings_of("three", False)).learn(batch)
    size = stream_module.STEP_ROWS
    n_steps = 2 * -(-BATCH // size)
    assert [layer.n_steps for layer in state.layers] == [n_steps] * 3
    assert [layer.depth for layer in state.layers] == [0, 1, 2]
    for layer in state.layers:
        assert layer.age == pytest.approx(batch.weights.sum(), rel=1e-12)
