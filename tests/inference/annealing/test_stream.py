"""Streams: cuts change nothing, nothing is changed in place, everything pickles."""

import pickle
from dataclasses import fields, replace
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from odalib.inference.annealing import stream as module
from odalib.inference.annealing.codebook import Codebook
from odalib.inference.annealing.draws import row_uniforms
from odalib.inference.annealing.fit import fit_rows
from odalib.inference.annealing.stochastic import stochastic_step
from odalib.inference.annealing.stream import Stream, WarmUp

from .problems import make_settings

N_ROWS, BATCH, WARM_UP = 700, 24, 96
FLOAT = np.dtype(float)


@pytest.fixture(autouse=True)
def small_windows(monkeypatch):
    """Warm-up, windows and steps that a few hundred rows go through many times."""
    monkeypatch.setattr(module, "WARM_UP_ROWS", WARM_UP)
    monkeypatch.setattr(module, "WARM_UP_RATIO", 2)
    monkeypatch.setattr(module, "WINDOW_ROWS", 50)
    monkeypatch.setattr(module, "STEP_ROWS", 16)


def mixture(n_rows=N_ROWS, seed=0):
    random = np.random.default_rng(seed)
    centres = 8.0 * random.normal(size=(5, 2))
    x = centres[random.integers(5, size=n_rows)] + random.normal(size=(n_rows, 2))
    return x, random.uniform(0.1, 2.0, size=n_rows)


def settings_of(**changes):
    defaults = {"n_codevectors": 5, "stream_batch_size": BATCH}
    return make_settings(**(defaults | changes))


def in_full(value):
    """Numbers and arrays, and codebooks by their parts."""
    if isinstance(value, Codebook):
        return in_full(value.points), in_full(value.weights)
    return np.asarray(value).tolist()


def bits(state):
    """Everything a state publishes and goes on from."""
    model = state.model
    quantiser = model.quantiser
    published = [
        quantiser.codevectors,
        quantiser.weights,
        quantiser.temperature,
        model.n_iter,
        model.n_seen,
        model.stop_reason,
        *[codebook.points for codebook in model.hierarchy],
    ]
    if isinstance(state, Stream):
        held = {field.name for field in fields(Stream)}
        held -= {"settings", "dtype", "solution", "queue"}
        published += [getattr(state, name) for name in sorted(held)]
        published += [sum(len(weights) for _, weights in state.queue)]
    return pickle.dumps([in_full(value) for value in published])


def learnt(state, x, weights, cuts):
    bounds = [0, *sorted(set(cuts)), len(weights)]
    for start, stop in pairwise(bounds):
        state = state.learn(x[start:stop], weights[start:stop])
    return state


@pytest.mark.parametrize(
    "changes",
    [{}, {"memory": 60.0}, {"choose": True}, {"divergence": "kullback_leibler"}],
    ids=["decreasing", "constant", "choose", "KL"],
)
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
def test_cuts_change_no_bit(layout, changes):
    x, weights = mixture()
    x, settings = layout(np.abs(x)), settings_of(**changes)
    whole = bits(WarmUp(settings, FLOAT).learn(x, weights))
    assert whole != bits(WarmUp(settings, FLOAT).learn(x[:-1], weights[:-1]))
    regular = [range(step, N_ROWS, step) for step in (1, 7, BATCH, WARM_UP, 300)]
    for cuts in [*regular, [95, 96, 97, 119, 120, 121]]:
        assert bits(learnt(WarmUp(settings, FLOAT), x, weights, cuts)) == whole


@given(
    cuts=st.lists(st.integers(1, N_ROWS - 1), max_size=8), last=st.integers(1, N_ROWS)
)
def test_no_cut_changes_a_bit_at_any_time(cuts, last):
    x, weights = (part[:last] for part in mixture())
    start = WarmUp(settings_of(), FLOAT)
    cuts = [cut for cut in cuts if cut < last]
    assert bits(learnt(start, x, weights, cuts)) == bits(start.learn(x, weights))


def test_asking_in_between_changes_no_bit():
    x, weights = mixture()
    asked, silent = (WarmUp(settings_of(), FLOAT) for _ in range(2))
    for start in range(0, N_ROWS, 13):
        piece = slice(start, start + 13)
        asked, silent = (
            asked.learn(x[piece], weights[piece]),
            silent.learn(x[piece], weights[piece]),
        )
        assert asked.model.n_seen == pytest.approx(weights[: start + 13].sum())
    assert bits(asked) == bits(silent)


@pytest.mark.parametrize("n_rows", [1, 50, 95, 96, 130, 400])
def test_learning_leaves_the_old_state_alone(n_rows):
    x, weights = mixture()
    old = WarmUp(settings_of(), FLOAT).learn(x[:n_rows], weights[:n_rows])
    before, held = bits(old), pickle.dumps(old)
    x.flags.writeable = weights.flags.writeable = False
    old.learn(x[n_rows:], weights[n_rows:])
    old.learn(x[n_rows : n_rows + 5], weights[n_rows : n_rows + 5])
    assert bits(old) == before
    assert pickle.dumps(old) == held


@pytest.mark.parametrize("n_rows", [60, WARM_UP + 10], ids=["warm-up", "stream"])
def test_rows_that_wait_are_copies(n_rows):
    x, weights = mixture(n_rows)
    state = WarmUp(settings_of(), FLOAT).learn(x, weights)
    expected = bits(WarmUp(settings_of(), FLOAT).learn(x.copy(), weights.copy()))
    x[:], weights[:] = 0.0, 1.0
    assert bits(state) == expected


@pytest.mark.parametrize("n_rows", [1, 60, 96, 99, 222, 700])
def test_a_pickle_goes_on_as_if_nothing_had_been(n_rows):
    x, weights = mixture()
    state = WarmUp(settings_of(), FLOAT).learn(x[:n_rows], weights[:n_rows])
    state.model  # noqa: B018 - what is cached is not carried along
    copy = pickle.loads(pickle.dumps(state))
    assert "model" not in vars(copy)
    assert bits(copy) == bits(state)
    more = mixture(300, seed=1)
    assert bits(copy.learn(*more)) == bits(state.learn(*more))


def test_the_model_has_learnt_the_rows_that_wait():
    x, weights = mixture(WARM_UP + 2 * BATCH + 10)
    state = WarmUp(settings_of(), FLOAT).learn(x, weights)
    assert sum(len(waiting) for _, waiting in state.queue) == 10
    assert state.n_seen == pytest.approx(weights.sum(), rel=1e-12)
    assert state.age == pytest.approx(weights[:-10].sum(), rel=1e-12)
    flushed = state.flushed()
    assert flushed.queue == ()
    assert flushed.age == pytest.approx(weights.sum(), rel=1e-12)
    np.testing.assert_array_equal(
        flushed.model.quantiser.codevectors, state.model.quantiser.codevectors
    )
    without = WarmUp(settings_of(), FLOAT).learn(x[:-10], weights[:-10])
    assert (
        without.model.quantiser.codevectors != state.model.quantiser.codevectors
    ).any()
    assert flushed.flushed() is flushed


def test_a_stream_begins_with_the_fit_of_its_first_rows():
    x, weights = mixture(WARM_UP + 5)
    state = WarmUp(settings_of(), FLOAT).learn(x, weights)
    assert isinstance(state, Stream)
    solution = fit_rows(x[:WARM_UP], weights[:WARM_UP], settings_of())
    np.testing.assert_array_equal(state.codebook.points, solution.codebook.points)
    assert state.age == pytest.approx(weights[:WARM_UP].sum(), rel=1e-12)
    assert isinstance(
        WarmUp(settings_of(n_codevectors=60), FLOAT).learn(x, weights), WarmUp
    )


def test_warm_up_anneals_ever_more_rarely(monkeypatch):
    """And finishes on the rows since by hard assignments."""
    x, weights = mixture(WARM_UP)
    sizes, original = [], module.fit_rows

    def watched(rows, *arguments):
        sizes.append(rows.shape[0])
        return original(rows, *arguments)

    monkeypatch.setattr(module, "fit_rows", watched)
    state = WarmUp(settings_of(n_codevectors=3), FLOAT)
    for n in range(70):
        state = state.learn(x[[n]], weights[[n]])
        model = state.model
        assert model.n_seen == pytest.approx(weights[: n + 1].sum(), rel=1e-12)
        points, labels = (
            model.quantiser.codevectors,
            model.quantiser.assign(x[: n + 1], 1)[0],
        )
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
    """One batch of 24 rows: steps of 16 and 8, with the random signs of a new level."""
    x, weights = mixture(WARM_UP + BATCH)
    old = WarmUp(settings_of(), FLOAT).learn(x[:WARM_UP], weights[:WARM_UP])
    new = old.learn(x[WARM_UP:], weights[WARM_UP:])
    codebook, age, axis = old.codebook, old.age, 0.0
    for rows in (slice(WARM_UP, WARM_UP + 16), slice(WARM_UP + 16, None)):
        block, weight = x[rows] - old.solution.shift, weights[rows].sum()
        codebook, moments = stochastic_step(
            block,
            weights[rows],
            old.solution.divergence,
            codebook,
            old.solution.temperature,
            weight / (age + weight),
            2.0 * row_uniforms(block, 0) - 1.0,
        )
        age, axis = age + weight, axis + moments.axis
    assert new.n_steps == 2
    np.testing.assert_allclose(new.codebook.points, codebook.points, rtol=1e-12)
    np.testing.assert_allclose(new.axis_sums, axis, rtol=1e-12)


def test_number_of_codevectors_is_filled_up_again():
    x, weights = mixture()
    state = WarmUp(settings_of(), FLOAT).learn(x[:200], weights[:200])
    poorer = replace(state.solution, codebook=state.codebook.select(np.arange(3)))
    stream = Stream.begin(settings_of(), poorer, state.n_seen, FLOAT)
    assert len(stream.codebook) == 3
    assert len(stream.learn(x[200:], weights[200:]).codebook) == 5


def test_constant_steps_follow_drift():
    """Centres that move 60 widths: within a memory of the present, not the mean."""
    random = np.random.default_rng(0)
    drift = np.linspace(0.0, 60.0, 6000)[:, np.newaxis]
    x = (
        drift
        + 20.0 * random.integers(2, size=(6000, 1))
        + random.normal(size=(6000, 1))
    )
    state = WarmUp(settings_of(n_codevectors=2, memory=200.0), FLOAT)
    points = state.learn(x, np.ones(6000)).model.quantiser.codevectors
    # The mean of an exponential memory of N rows lags N steps of the drift.
    np.testing.assert_allclose(np.sort(points[:, 0]), [58.0, 78.0], atol=1.5)
