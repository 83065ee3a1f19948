"""Streams: cuts change nothing, nothing is changed in place, everything pickles."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from odalib.inference.annealing import fit
from odalib.inference.annealing import layer as layer_module
from odalib.inference.annealing.batch import Batch
from odalib.inference.annealing.divergences import DIVERGENCES
from odalib.inference.annealing.draws import row_uniforms
from odalib.inference.annealing.fit import fit_rows
from odalib.inference.annealing.layer import Layer
from odalib.inference.annealing.local.base import NO_CELLS
from odalib.inference.annealing.stochastic import stochastic_step
from odalib.inference.annealing.stream import Stream
from odalib.inference.annealing.warm_up import WarmUp

from .streams import (
    BATCH,
    N_ROWS,
    WARM_UP,
    begin,
    bits,
    learnt,
    mixture,
    settings_of,
    shrink_windows,
)


@pytest.fixture(autouse=True)
def small_windows(monkeypatch):
    shrink_windows(monkeypatch)


def with_rows(batch, layout):
    return replace(batch, rows=layout(np.abs(batch.rows)))


@pytest.mark.parametrize(
    "changes",
    [{}, {"memory": 60.0}, {"choose": True}, {"divergence": "kullback_leibler"}],
    ids=["decreasing", "constant", "choose", "KL"],
)
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
def test_cuts_change_no_bit(layout, changes):
    batch, start = with_rows(mixture(), layout), begin(settings_of(**changes))
    whole = bits(start.learn(batch))
    assert whole != bits(start.learn(batch[:-1]))
    regular = [range(step, N_ROWS, step) for step in (1, 7, BATCH, WARM_UP, 300)]
    for cuts in [*regular, [95, 96, 97, 119, 120, 121]]:
        assert bits(learnt(start, batch, cuts)) == whole


@pytest.mark.parametrize("divergence", list(DIVERGENCES))
@pytest.mark.parametrize("size", [1, 3])
def test_cuts_change_no_bit_where_every_few_rows_are_a_step(divergence, size):
    batch = with_rows(mixture(), lambda rows: 0.01 + rows / (1.0 + rows.max()))
    start = begin(settings_of(divergence=divergence, stream_batch_size=size))
    whole = start.learn(batch)
    assert whole.n_steps == (N_ROWS - WARM_UP) // size
    for cuts in (range(1, N_ROWS), range(50, N_ROWS, 50), [120, 121, 200]):
        assert bits(learnt(start, batch, cuts)) == bits(whole)


@pytest.mark.parametrize("size", [2, 16, 17, 31, 33, 47])
@pytest.mark.parametrize("divergence", ["squared_euclidean", "kullback_leibler"])
def test_cuts_change_no_bit_whatever_is_left_of_a_batch(divergence, size):
    """Steps are of 16 rows at the most here; what is left may be one row."""
    batch = with_rows(mixture(), lambda rows: 0.01 + rows)
    start = begin(settings_of(divergence=divergence, stream_batch_size=size))
    whole = bits(start.learn(batch))
    for cuts in (range(1, N_ROWS), range(50, N_ROWS, 50), [120, 121, 200]):
        assert bits(learnt(start, batch, cuts)) == whole


@given(
    cuts=st.lists(st.integers(1, N_ROWS - 1), max_size=8), last=st.integers(1, N_ROWS)
)
def test_no_cut_changes_a_bit_at_any_time(cuts, last):
    batch, start = mixture()[:last], begin()
    cuts = [cut for cut in cuts if cut < last]
    assert bits(learnt(start, batch, cuts)) == bits(start.learn(batch))


def test_asking_in_between_changes_no_bit():
    batch = mixture()
    asked, silent = begin(), begin()
    for start in range(0, N_ROWS, 13):
        piece = batch[start : start + 13]
        asked, silent = asked.learn(piece), silent.learn(piece)
        seen = batch.weights[: start + 13].sum()
        assert asked.model.n_seen == pytest.approx(seen)
    assert bits(asked) == bits(silent)


@pytest.mark.parametrize("n_rows", [1, 50, 95, 96, 130, 400])
def test_learning_leaves_the_old_state_alone(n_rows):
    batch = mixture()
    old = begin().learn(batch[:n_rows])
    before, held = bits(old), pickle.dumps(old)
    batch.rows.flags.writeable = batch.weights.flags.writeable = False
    old.learn(batch[n_rows:])
    old.learn(batch[n_rows : n_rows + 5])
    assert bits(old) == before
    assert pickle.dumps(old) == held


@pytest.mark.parametrize("n_rows", [60, WARM_UP + 10], ids=["warm-up", "stream"])
def test_rows_that_wait_are_copies(n_rows):
    batch = mixture(n_rows)
    state, expected = begin().learn(batch), bits(begin().learn(mixture(n_rows)))
    batch.rows[:], batch.weights[:] = 0.0, 1.0
    assert bits(state) == expected


@pytest.mark.parametrize("n_rows", [1, 60, 96, 99, 222, 700])
def test_a_pickle_goes_on_as_if_nothing_had_been(n_rows):
    state = begin().learn(mixture()[:n_rows])
    state.model  # noqa: B018 - what is cached is not carried along
    copy = pickle.loads(pickle.dumps(state))
    assert "model" not in vars(copy)
    assert bits(copy) == bits(state)
    more = mixture(300, seed=1)
    assert bits(copy.learn(more)) == bits(state.learn(more))


def test_the_model_has_learnt_the_rows_that_wait():
    batch = mixture(WARM_UP + 2 * BATCH + 10)
    weights = batch.weights
    state = begin().learn(batch)
    assert sum(map(len, state.queue)) == 10
    assert state.n_seen == pytest.approx(weights.sum(), rel=1e-12)
    assert state.layers[0].age == pytest.approx(weights[:-10].sum(), rel=1e-12)
    flushed = state.flushed()
    assert flushed.queue == ()
    assert flushed.layers[0].age == pytest.approx(weights.sum(), rel=1e-12)
    codevectors = state.model.quantiser.codevectors
    np.testing.assert_array_equal(flushed.model.quantiser.codevectors, codevectors)
    without = begin().learn(batch[:-10]).model.quantiser.codevectors
    assert (without != codevectors).any()
    assert flushed.flushed() is flushed


def test_a_stream_begins_with_the_fit_of_its_first_rows():
    batch = mixture(WARM_UP + 5)
    state, first = begin().learn(batch), batch[:WARM_UP]
    assert isinstance(state, Stream)
    solution = fit_rows(first.rows, first.weights, settings_of())
    np.testing.assert_array_equal(state.codebook.points, solution.codebook.points)
    assert state.layers[0].age == pytest.approx(first.weights.sum(), rel=1e-12)
    assert isinstance(begin(settings_of(n_codevectors=60)).learn(batch), WarmUp)


def test_a_stream_waits_for_as_many_distinct_rows_as_codevectors():
    """Four distinct rows for five codevectors wait as four, with their weights."""
    rows, which = mixture(4).rows, np.arange(200) % 4
    state = begin().learn(Batch(rows[which], 1.0 + which))
    assert isinstance(state, WarmUp)
    (piece,) = state.pieces
    # 96 become four; with 92 more they are 96, and become four; 12 more.
    assert len(piece) == 16
    for row, weight in zip(rows, 50.0 * np.arange(1.0, 5.0), strict=True):
        assert piece.weights[(piece.rows == row).all(axis=1)].sum() == weight
    fifth = mixture(WARM_UP, seed=1)
    assert isinstance(state.learn(fifth), Stream)


def test_warm_up_anneals_ever_more_rarely(monkeypatch):
    """And finishes on the rows since by hard assignments."""
    batch = mixture(WARM_UP)
    x, weights = batch.rows, batch.weights
    sizes, original = [], fit.fit_rows

    def watched(rows, *arguments):
        sizes.append(rows.shape[0])
        return original(rows, *arguments)

    monkeypatch.setattr(fit, "fit_rows", watched)
    state = begin(settings_of(n_codevectors=3))
    for n in range(70):
        state = state.learn(batch[[n]])
        model = state.model
        assert model.n_seen == pytest.approx(weights[: n + 1].sum(), rel=1e-12)
        points = model.quantiser.codevectors
        labels, _ = model.quantiser.assign(x[: n + 1], 1)
        assert len(points) == min(n + 1, 3)
        for i in range(len(points)):
            inside = labels == i
            mean = np.average(
                x[: n + 1][inside], axis=0, weights=weights[: n + 1][inside]
            )
            # Hard assignment has nearly settled: at tol 1e-4 of the distortion.
            assert np.linalg.norm(mean - points[i]) < 1.0
    growth = np.array(sizes[1:]) / sizes[:-1]
    assert sizes[0] == 1
    assert sizes[-1] > 60
    assert (growth > 1.05).all()


def test_a_batch_is_taken_in_steps_whose_sums_are_kept():
    """One batch of 24 rows: two steps of 12, with the random signs of a new level."""
    batch = mixture(WARM_UP + BATCH)
    old = begin().learn(batch[:WARM_UP])
    new, (before,) = old.learn(batch[WARM_UP:]), old.layers
    codebook, age, axis = before.codebook, before.age, 0.0
    for rows in (slice(WARM_UP, WARM_UP + 12), slice(WARM_UP + 12, None)):
        block, weights = batch.rows[rows] - before.solution.shift, batch.weights[rows]
        codebook, moments = stochastic_step(
            block,
            weights,
            before.solution.divergence,
            codebook,
            before.solution.temperature,
            weights.sum() / (age + weights.sum()),
            2.0 * row_uniforms(block, 0) - 1.0,
        )
        age, axis = age + weights.sum(), axis + moments.axis
    assert new.n_steps == 2
    np.testing.assert_allclose(new.codebook.points, codebook.points, rtol=1e-12)
    np.testing.assert_allclose(new.layers[0].axis_sums, axis, rtol=1e-12)


def test_number_of_codevectors_is_filled_up_again():
    batch, settings = mixture(), settings_of()
    state = begin(settings).learn(batch[:200])
    (layer,) = state.layers
    poorer = replace(layer.solution, codebook=state.codebook.select(np.arange(3)))
    layer = Layer(settings, poorer, poorer.codebook, NO_CELLS, None, 0, state.n_seen)
    stream = Stream(settings, state.dtype, (layer,), state.n_seen)
    assert len(stream.codebook) == 3
    assert len(stream.learn(batch[200:]).codebook) == 5


def test_a_stream_whose_codebook_changes_learns_fast_again(monkeypatch):
    """It averages over no more than the first rows of a level from then on."""
    monkeypatch.setattr(layer_module, "INITIAL_AGE", 10.0)
    batch, settings = mixture(), settings_of()
    state = begin(settings).learn(batch[:200])
    (layer,) = state.layers
    poorer = replace(layer.solution, codebook=state.codebook.select(np.arange(3)))
    layer = Layer(settings, poorer, poorer.codebook, NO_CELLS, None, 0, 1e6)
    stream = Stream(settings, state.dtype, (layer,), state.n_seen)
    before, after = stream.learn(batch[200:296]), stream.learn(batch[200:])
    learnt = batch.weights[200:296].sum()
    assert before.layers[0].age == pytest.approx(1e6 + learnt, rel=1e-12)
    assert after.layers[0].age <= 10.0 + batch.weights[296:].sum()


def test_constant_steps_follow_drift():
    """Centres that move 60 widths: within a memory of the present, not the mean."""
    random = np.random.default_rng(0)
    drift = np.linspace(0.0, 60.0, 6000)[:, np.newaxis]
    x = (
        drift
        + 20.0 * random.integers(2, size=(6000, 1))
        + random.normal(size=(6000, 1))
    )
    state = begin(settings_of(n_codevectors=2, memory=200.0))
    points = state.learn(Batch(x, np.ones(6000))).model.quantiser.codevectors
    # The mean of an exponential memory of N rows lags N steps of the drift.
    np.testing.assert_allclose(np.sort(points[:, 0]), [58.0, 78.0], atol=1.5)
