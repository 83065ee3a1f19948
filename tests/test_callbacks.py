"""scikit-learn's callbacks: once per temperature level of a fit."""

import io
from contextlib import redirect_stdout

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV

from odalib import ODAClusterer

callback = pytest.importorskip(
    "sklearn.callback", reason="scikit-learn has callbacks from 1.9 on"
)
IRIS = load_iris().data


class Recorder:
    """Keeps the fitted estimator of every level, and stops at a number of them."""

    def __init__(self, stop_at=None):
        self.stop_at = stop_at
        self.levels, self.events = [], []

    def setup(self, estimator, context):
        self.events.append("setup")

    def on_fit_task_begin(self, estimator, context):
        self.events.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, X, fitted_estimator):
        self.events.append(f"end {context.task_name}")
        if context.task_name == "temperature level":
            assert X.shape == IRIS.shape
            self.levels.append(fitted_estimator)
        return len(self.levels) == self.stop_at

    def teardown(self, estimator, context):
        self.events.append("teardown")


def fit_with(recorder, **parameters):
    model = ODAClusterer(random_state=0, **parameters)
    return model.set_callbacks(recorder).fit(IRIS)


def test_one_task_per_level_between_begin_and_end():
    recorder = Recorder()
    fit_with(recorder, n_clusters=4)
    n_levels = len(recorder.levels)
    inner = ["begin temperature level", "end temperature level"] * n_levels
    assert recorder.events == ["setup", "begin fit", *inner, "end fit", "teardown"]


def test_the_estimator_of_a_level_is_that_level_of_the_path():
    recorder = Recorder()
    model = fit_with(recorder, n_clusters=4)
    path = model.annealing_path_
    # Growth may have gone on past the level that the result was cooled from.
    reached = [level.temperature_ for level in recorder.levels]
    n_shared = int((path.temperature[: len(reached)] == reached[: len(path)]).sum())
    assert n_shared >= 5
    for level, points in zip(
        recorder.levels[:n_shared], path.codebooks[:n_shared], strict=True
    ):
        np.testing.assert_array_equal(level.cluster_centers_, points)
        assert level.predict(IRIS).max() < level.n_clusters_


def test_callbacks_change_no_bit():
    plain = ODAClusterer(4, random_state=0).fit(IRIS)
    watched = fit_with(Recorder(), n_clusters=4)
    np.testing.assert_array_equal(plain.cluster_centers_, watched.cluster_centers_)


def test_a_callback_stops_annealing():
    recorder = Recorder(stop_at=5)
    model = fit_with(recorder, n_clusters=20)
    assert len(recorder.levels) == 5
    assert model.stop_reason_ == "callback"
    assert len(model.annealing_path_) == 5
    assert recorder.events[-1] == "teardown"


def test_a_fit_that_fails_tears_down():
    recorder = Recorder()
    model = ODAClusterer(4, divergence="itakura_saito").set_callbacks(recorder)
    with pytest.raises(ValueError, match="Itakura-Saito"):
        model.fit(IRIS - 5.0)
    assert not recorder.levels


def test_progress_bar_inside_a_grid_search():
    pytest.importorskip("rich", reason="the progress bar draws with rich")
    search = GridSearchCV(ODAClusterer(random_state=0), {"n_clusters": [2, 3]}, cv=2)
    with redirect_stdout(io.StringIO()):
        search.set_callbacks(callback.ProgressBar()).fit(IRIS)
    assert search.best_estimator_.n_clusters_ in (2, 3)
