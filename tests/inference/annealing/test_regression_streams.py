"""Streams of regressions: cuts change nothing, everything pickles, nothing piles up."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from odalib.inference.annealing.batch import Batch
from odalib.inference.annealing.groups import parents_of
from odalib.inference.annealing.lineage import selected
from odalib.inference.annealing.local.learners import CellLearners
from odalib.inference.annealing.local.regressing import predictions
from odalib.inference.annealing.local.regression import CellRegression
from odalib.inference.annealing.stream import Stream
from odalib.inference.annealing.targets import TargetWeight
from tests.oracles.regressions import blended, constants, slow_association

from .regressions import spec_of
from .streams import (
    BATCH,
    begin,
    bits,
    learnt,
    mixture,
    settings_of,
    shrink_windows,
)
from .trees import Columns

N_ROWS = 320


class RunningMean:
    """Predicts the mean of what it was taught."""

    def __init__(self):
        self.weight = self.total = 0.0

    def partial_fit(self, X, y, sample_weight):
        self.weight += float(sample_weight.sum())
        self.total += float(sample_weight @ y)
        return self

    def predict(self, X):
        return np.full(X.shape[0], self.total / self.weight)


class SetRegression(CellRegression):
    """A regression whose settings are not chosen but as they are given."""

    def tuned(self, batch, settings, n_jobs, parents=None):
        target = self.target.measured(batch, settings.divergence)
        return replace(settings, local_models=replace(self, target=target))


def set_spec(**changes):
    return SetRegression(**vars(spec_of(**changes)))


TREE, CHOSEN = "tree", "chosen on rows held out"
CASES = {
    "constant, nearest": (set_spec(slopes=False, blend=False), {}),
    "memory": (set_spec(), {"memory": 60.0}),
    "targets": (set_spec(target=TargetWeight(0.4)), {}),
    "KL": (set_spec(), {"divergence": "kullback_leibler"}),
    "learners": (CellLearners(RunningMean(), True), {}),
    TREE: (set_spec(), {}),
    CHOSEN: (spec_of(ridge=None), {}),
}
cases = pytest.mark.parametrize("case", [case for case in CASES if case != CHOSEN])


@pytest.fixture(autouse=True)
def small_windows(monkeypatch):
    shrink_windows(monkeypatch)


def rows_of(n_rows=N_ROWS, seed=0):
    """Rows of five groups with random weights, and two targets."""
    batch, random = mixture(n_rows, seed), np.random.default_rng(seed)
    x = np.abs(batch.rows)
    noise = random.normal(size=(n_rows, 2))
    y = np.stack([np.sin(x[:, 0]) + x[:, 1], x[:, 0] - 4.0], axis=1) + 0.1 * noise
    return Batch(x, batch.weights, y)


def start_of(case):
    spec, changes = CASES[case]
    settings = replace(settings_of(**changes), local_models=spec)
    if case == TREE:
        finer = replace(settings, schedule=replace(settings.schedule, n_codevectors=12))
        settings = replace(
            settings,
            finer=replace(finer, features=Columns((1, 0))),
            features=Columns((0,)),
        )
    return begin(settings)


def batch_of(case, n_rows=N_ROWS, seed=0):
    """Rows as a case takes them: of one target for learners, sparse for one."""
    batch = rows_of(n_rows, seed)
    if case == "learners":
        return replace(batch, targets=batch.targets[:, :1])
    if case == "KL":
        return replace(batch, rows=sp.csr_matrix(batch.rows))
    return batch


def predicted(state, batch):
    return predictions(state.model.tree, batch.rows, 1)


@pytest.mark.parametrize("case", CASES)
def test_cuts_change_no_bit(case):
    batch, start = batch_of(case), start_of(case)
    whole = start.learn(batch)
    assert isinstance(whole, Stream)
    expected, values = bits(whole), predicted(whole, batch)
    assert bits(start.learn(batch[:-1])) != expected
    for cuts in (range(7, N_ROWS, 7), [95, 96, 97, 119, 121, 300]):
        found = learnt(start, batch, cuts)
        assert bits(found) == expected
        for one, other in zip(predicted(found, batch), values, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("case", "n_rows"), [*((case, 150) for case in CASES), ("memory", 60), (TREE, 60)]
)
def test_a_pickle_goes_on_as_if_nothing_had_been(case, n_rows):
    batch = batch_of(case)
    state = start_of(case).learn(batch[:n_rows])
    predicted(state, batch[:5])
    copy = pickle.loads(pickle.dumps(state))
    assert bits(copy) == bits(state)
    more = batch[n_rows:]
    assert bits(copy.learn(more)) == bits(state.learn(more))


@cases
def test_learning_leaves_the_old_state_alone(case):
    batch = batch_of(case)
    old = start_of(case).learn(batch[:150])
    before, held = bits(old), pickle.dumps(old)
    old.learn(batch[150:])
    assert bits(old) == before
    assert pickle.dumps(old) == held


@cases
def test_ten_times_the_rows_take_no_more_memory(case):
    """Nothing that is kept grows with the rows but the digits of counts."""
    batch = batch_of(case, 10 * N_ROWS)
    state = start_of(case).learn(batch[:N_ROWS])
    size = len(pickle.dumps(replace(state, queue=())))
    state = state.learn(batch[N_ROWS:])
    assert len(state.codebook) == (12 if case == TREE else 5)
    assert len(pickle.dumps(replace(state, queue=()))) < 1.1 * size


def test_predictions_are_those_of_the_models_published():
    """Blended by the association with codevectors, with rows as they came."""
    batch = batch_of("memory")
    state = start_of("memory").learn(batch)
    level = state.model.tree.finest
    slope, intercept = level.cells.in_features(level.quantiser.shift)
    share = slow_association(
        lambda x, mu: float((x - mu) @ (x - mu)),
        batch.rows - level.quantiser.shift,
        level.quantiser.codebook,
        level.cells.temperature,
    )
    values, variance = predicted(state, batch)
    expected = blended(batch.rows, slope, intercept, share)
    np.testing.assert_allclose(values, expected, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(variance, share.T @ level.cells.variance, rtol=1e-6)


def test_predictions_of_a_tree_are_of_the_children_of_the_cell_of_a_row():
    batch = batch_of(TREE)
    state = start_of(TREE).learn(batch)
    tree, rows = state.model.tree, batch.rows[:, ::-1]
    labels, _ = tree.descend(batch.rows, 1)
    level = tree.finest
    slope, intercept = level.cells.in_features(level.quantiser.shift)
    parents = parents_of(level.quantiser.groups)
    share = slow_association(
        lambda x, mu: float((x - mu) @ (x - mu)),
        rows - level.quantiser.shift,
        level.quantiser.codebook,
        level.cells.temperature,
        labels[0],
        parents,
    )
    assert len(set(labels[0])) > 1
    assert (parents[labels[1]] == labels[0]).all()
    values, _ = predicted(state, batch)
    expected = blended(rows, slope, intercept, share)
    np.testing.assert_allclose(values, expected, rtol=1e-6, atol=1e-7)
    # Threads change no bit.
    for one, other in zip(
        predictions(tree, batch.rows, 2), predicted(state, batch), strict=True
    ):
        np.testing.assert_array_equal(one, other)


def test_a_warm_up_predicts_as_the_fit_of_its_rows():
    """Constants of the nearest codevectors: shrunk means of the rows near them."""
    spec = spec_of(slopes=False, blend=False, ridge=2.0)
    settings = replace(settings_of(), local_models=spec)
    batch = rows_of(60)
    state = begin(settings).learn(batch)
    quantiser = state.model.quantiser
    labels, _ = quantiser.assign(batch.rows, 1)
    share = (labels == np.arange(5)[:, np.newaxis]) * batch.weights
    values, _ = predicted(state, batch)
    expected = constants(batch.targets, share, 2.0)[labels]
    np.testing.assert_allclose(values, expected, rtol=1e-9)


def test_a_new_cell_of_a_tree_begins_with_the_global_fit():
    """Rows of a cell that had no children open one, whose model learns from there."""
    batch = batch_of(TREE)
    state = start_of(TREE).learn(batch[:200])
    above, below = state.layers
    parents = parents_of(below.codebook.groups)
    kept = parents != parents[0]
    fewer = replace(
        below,
        codebook=below.codebook.select(kept),
        cells=below.cells.inherit(selected(kept)),
        census=below.census.inherit(selected(kept)),
        axis_sums=0.0,
        axis_weight=0.0,
        covectors=None,
    )
    # As many steps before the next level as there are rows.
    fewer = replace(fewer, level_rows=0)
    state = replace(state, layers=(above, fewer), queue=())
    later = state.learn(batch[200 : 200 + BATCH])
    groups = parents_of(later.layers[1].codebook.groups)
    (new,) = np.flatnonzero(groups == parents[0])
    cells = later.layers[1].cells
    values, variance = predicted(later, batch)
    assert np.isfinite(values).all()
    assert (variance > 0).all()
    # It has met the rows of its own cell since.
    labels, _ = later.model.tree.descend(batch.rows[200 : 200 + BATCH], 1)
    own = batch.weights[200 : 200 + BATCH] @ (labels[0] == parents[0])
    assert cells.sums.weight[new] == pytest.approx(own, rel=1e-6)
