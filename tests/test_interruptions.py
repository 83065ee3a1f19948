"""Interrupts and errors of the user's code, beside those that every estimator meets."""

import copy
import os
import subprocess
import sys
from itertools import count

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import SGDRegressor
from sklearn.preprocessing import StandardScaler

from odalib import (
    ADFProbitClassifier,
    EPGaussianProcessClassifier,
    EPProbitClassifier,
    IsingModel,
    ODAClassifier,
    ODAClusterer,
    ODARegressor,
    PathSearchCV,
)
from odalib.streaming import StreamingPipeline, fit_stream
from tests.conformance.cases import ScaledEuclidean
from tests.conformance.comparing import answers, leaves
from tests.conformance.interrupting import interrupted, paused, points_of

RANDOM = np.random.default_rng(0)
LABELS = np.arange(60) % 2
GROUPS = np.arange(60) % 3
ROWS = RANDOM.standard_normal((60, 2)) + 4.0 * LABELS[:, np.newaxis]


def assert_whole_or_nothing(model, call, n_points):
    """An interrupt anywhere leaves the model as it was or as the call makes it."""
    call(copy.deepcopy(model))
    counted = copy.deepcopy(model)
    total = len(points_of(lambda: call(counted), counted))
    before, after = leaves(model), leaves(counted)
    n_after = 0
    for at in np.linspace(0, total - 1, n_points, dtype=int):
        tried = copy.deepcopy(model)
        place = interrupted(lambda it=tried: call(it), tried, at, KeyboardInterrupt)
        found = leaves(tried)
        assert found in (before, after), place
        n_after += found == after
    assert n_after < n_points


def test_an_interrupted_pipeline_has_no_step_ahead_of_the_others():
    pipeline = StreamingPipeline(
        [("scaler", StandardScaler()), ("classifier", ADFProbitClassifier())]
    ).partial_fit(ROWS[:30], LABELS[:30], classes=[0, 1])
    assert_whole_or_nothing(
        pipeline, lambda it: it.partial_fit(ROWS[30:], LABELS[30:]), 80
    )


@pytest.mark.parametrize("caches", [False, True])
def test_a_pipeline_whose_fit_is_interrupted_is_as_before(caches, tmp_path):
    pipeline = StreamingPipeline(
        [
            ("scaler", StandardScaler()),
            ("classifier", ADFProbitClassifier(random_state=0)),
        ],
        memory=str(tmp_path) if caches else None,
    ).fit(ROWS[:30], LABELS[:30])
    assert_whole_or_nothing(pipeline, lambda it: it.fit(ROWS[30:], LABELS[30:]), 20)


def test_a_pipeline_whose_last_step_refuses_has_no_fitted_step():
    pipeline = StreamingPipeline(
        [("scaler", StandardScaler()), ("classifier", ADFProbitClassifier())]
    )
    with pytest.raises(ValueError, match="all of one class"):
        pipeline.fit(ROWS, np.zeros(len(ROWS)))
    assert not hasattr(pipeline[0], "mean_")
    clusters = StreamingPipeline([("scaler", StandardScaler()), ("c", ODAClusterer(0))])
    with pytest.raises(ValueError, match="n_clusters"):
        clusters.fit_predict(ROWS)
    assert not hasattr(clusters[0], "mean_")


def test_an_interrupted_search_keeps_what_it_had_found():
    search = PathSearchCV(ODAClusterer(3, random_state=0), values=[1, 2], cv=2)
    search.fit(ROWS)
    search.set_params(refit=False)
    # Its times differ from fit to fit, and so cannot be compared.
    before = leaves(search)
    total = len(points_of(lambda: copy.deepcopy(search).fit(ROWS[:40]), search))
    for at in np.linspace(0, total - 1, 12, dtype=int)[:-1]:
        place = interrupted(
            lambda: search.fit(ROWS[:40]), search, at, KeyboardInterrupt
        )
        assert leaves(search) == before, place


def test_a_stream_that_goes_on_from_a_checkpoint_is_taken_over_at_once(tmp_path):
    path = tmp_path / "checkpoint"
    fit_stream(ODAClusterer(2, random_state=0), ROWS, batch_size=20, checkpoint=path)
    assert_whole_or_nothing(
        ODAClusterer(2, random_state=0),
        lambda it: fit_stream(it, ROWS, batch_size=20, checkpoint=path),
        200,
    )


def test_the_step_that_ends_the_warm_up_of_a_stream():
    rows = np.random.default_rng(1).standard_normal((2050, 2))
    model = ODAClusterer(2, random_state=0).partial_fit(rows[:2040])
    assert_whole_or_nothing(model, lambda it: it.partial_fit(rows[2040:]), 12)


def test_labels_that_were_interrupted_are_there_when_asked_for_again():
    model = ODAClusterer(2, random_state=0).fit(ROWS).partial_fit(ROWS)
    right = copy.deepcopy(model).labels_
    asked = copy.deepcopy(ODAClusterer(2, random_state=0).fit(ROWS))
    total = len(points_of(lambda: asked.partial_fit(ROWS).labels_, asked))
    for back in range(1, 30):
        asked = ODAClusterer(2, random_state=0).fit(ROWS)
        interrupted(
            lambda it=asked: it.partial_fit(ROWS).labels_,
            asked,
            total - back,
            KeyboardInterrupt,
        )
        np.testing.assert_array_equal(asked.labels_, right)


class Failing:
    """Counts calls of the user's code, and fails in the last."""

    def __init__(self, n_calls, error):
        # Of all threads, which this does not mix up.
        self.calls, self.n_calls, self.error = count(1), n_calls, error

    def __deepcopy__(self, memo):
        return self

    def __call__(self):
        if next(self.calls) == self.n_calls:
            raise self.error("of the user's code")


class FailingDivergence(ScaledEuclidean):
    count = Failing(-1, ValueError)

    def phi(self, X):
        self.count()
        return super().phi(X)


class FailingLearner(SGDRegressor):
    count = Failing(-1, ValueError)

    def partial_fit(self, X, y, sample_weight=None):
        self.count()
        return super().partial_fit(X, y, sample_weight)


class Search:
    count = Failing(-1, ValueError)


def optimizer(objective, start, bounds):
    Search.count()
    return start, objective(start, eval_gradient=False)


USERS = {
    "divergence": (
        ODAClusterer(2, divergence=FailingDivergence(2.0)),
        FailingDivergence,
    ),
    "learner": (
        ODARegressor(3, local_model=FailingLearner(random_state=0)),
        FailingLearner,
    ),
    "optimizer": (
        # In threads, one for each pair of classes.
        EPGaussianProcessClassifier(
            1.0 * RBF(1.0), optimizer=optimizer, multi_class="one_vs_one", n_jobs=2
        ),
        Search,
    ),
}


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("name", USERS)
def test_errors_of_the_users_code_change_nothing(monkeypatch, name, error):
    model, code = USERS[name]
    generator = np.random.RandomState(3)
    model = copy.deepcopy(model).set_params(random_state=generator)
    model.fit(ROWS, GROUPS)
    counting = Failing(-1, error)
    monkeypatch.setattr(code, "count", counting)
    copy.deepcopy(model).fit(ROWS, GROUPS)
    n_calls = next(counting.calls) - 1
    before = leaves(model)
    for n in {1, (n_calls + 1) // 2, n_calls}:
        monkeypatch.setattr(code, "count", Failing(n, error))
        with pytest.raises((error, ValueError), match="of the user's code"):
            model.fit(ROWS, GROUPS)
        assert leaves(model) == before


@pytest.mark.parametrize("event", ["setup", "begin", "end", "teardown"])
def test_errors_of_callbacks_change_nothing(event):
    pytest.importorskip(
        "sklearn.callback", reason="scikit-learn has callbacks from 1.9 on"
    )
    model = ODAClusterer(2, random_state=np.random.RandomState(0)).fit(ROWS)
    before = leaves(model)
    model.set_callbacks(FailingCallback(event))
    with pytest.raises(OSError, match=event):
        model.fit(ROWS[:30])
    model.set_callbacks()
    if event == "teardown":
        # scikit-learn tears down what has ended.
        assert len(model.labels_) == 30
    else:
        assert leaves(model) == before


class FailingCallback:
    def __init__(self, event):
        self.event = event

    def _reach(self, event, *, at_last=True):
        if event == self.event and at_last:
            raise OSError(event)

    def setup(self, estimator, context):
        self._reach("setup")

    def on_fit_task_begin(self, estimator, context):
        self._reach("begin")

    def on_fit_task_end(self, estimator, context):
        self._reach("end", at_last=context.task_name == "fit")

    def teardown(self, estimator, context):
        self._reach("teardown")


SPINS = (ROWS > 2.0).astype(float)
STATES = {
    "ODAClusterer": (ODAClusterer(2, random_state=0), ROWS),
    "ODAClassifier": (ODAClassifier(4, metric=None, polish=None), ROWS),
    "ODARegressor": (ODARegressor(3, metric=None), ROWS),
    "ADFProbitClassifier": (ADFProbitClassifier(random_state=0), ROWS),
    "EPProbitClassifier": (EPProbitClassifier(), ROWS),
    "EPGaussianProcessClassifier": (EPGaussianProcessClassifier(), ROWS),
    "IsingModel": (IsingModel(), SPINS),
}


@pytest.mark.parametrize("name", STATES)
def test_an_answer_is_of_the_state_before_or_after_another_fit(name):
    """The other fit comes at any point of an answer, as from another thread."""
    model, rows = STATES[name]
    # Classes and their number change, and the scale.
    model = copy.deepcopy(model).fit(rows[:40], LABELS[:40])
    other = copy.deepcopy(model).fit(rows[:30] % 2.0, 7 + np.arange(30) % 3)
    asked = rows[:5]
    before, after = answers(copy.deepcopy(model), asked), answers(other, asked)
    state, replaced = vars(model).copy(), vars(other).copy()
    for method in before:
        if method == "std":
            continue
        total = len(points_of(lambda m=method: getattr(model, m)(asked), model))
        for at in np.linspace(0, total - 1, 6, dtype=int):
            model.__dict__ = state.copy()

            def swap():
                model.__dict__ = replaced.copy()

            found = leaves(
                paused(lambda m=method: getattr(model, m)(asked), model, at, swap)
            )
            assert found in (leaves(before[method]), leaves(after[method])), method


def test_a_child_of_a_fork_waits_for_no_thread_that_it_does_not_have():
    if not hasattr(os, "fork"):
        return
    script = """
import os, threading, numpy as np
from odalib import ADFProbitClassifier
from odalib.estimators._state import turn_of
model = ADFProbitClassifier()
held = threading.Event()
def hold():
    with turn_of(model):
        held.set()
        threading.Event().wait()
threading.Thread(target=hold, daemon=True).start()
held.wait()
child = os.fork()
if child == 0:
    model.partial_fit([[0.0], [1.0]], [0, 1], classes=[0, 1])
    os._exit(7)
os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], timeout=60, check=False
    )
    assert ended.returncode == 7
