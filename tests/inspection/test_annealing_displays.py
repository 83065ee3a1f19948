"""What the displays of the annealing family have in common."""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from odalib import ODAClassifier, ODAClusterer, ODARegressor
from odalib.inspection import (
    AnnealingPathDisplay,
    CodebookDisplay,
    PrototypesDisplay,
    TreeDisplay,
)

ROWS, LABELS = load_iris(return_X_y=True)
X = ROWS[:, 2:]
# Each with what it needs beside an estimator, and the number of axes it draws into.
DISPLAYS = {
    AnnealingPathDisplay: ((), 2),
    CodebookDisplay: ((), 1),
    PrototypesDisplay: (((1, 2),), 1),
    TreeDisplay: ((), 1),
}
EVERY = pytest.mark.parametrize("display", DISPLAYS, ids=lambda one: one.__name__)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def model():
    return ODAClusterer(4, resolutions=[[0], None], random_state=0).fit(X)


def draw(display, estimator, **options):
    return display.from_estimator(estimator, *DISPLAYS[display][0], **options)


def axes_of(display):
    return display.axes_ if hasattr(display, "axes_") else [display.ax_]


@EVERY
def test_draws_into_the_axes_that_it_is_given(display, model):
    _, number = DISPLAYS[display]
    figure, axes = plt.subplots(number)
    drawn = draw(display, model, ax=axes)
    assert list(axes_of(drawn)) == list(np.ravel(axes))
    assert drawn.figure_ is figure
    assert drawn.plot() is drawn
    assert drawn.figure_ is not figure
    assert drawn.plot(ax=axes).figure_ is figure


@EVERY
def test_refuses_another_number_of_axes(display, model):
    _, number = DISPLAYS[display]
    _, axes = plt.subplots(3)
    with pytest.raises(ValueError, match=f"draws into {number} axes, and ax holds 3"):
        draw(display, model, ax=axes)


@EVERY
def test_refuses_what_is_no_fitted_annealing_estimator(display, model):
    with pytest.raises(NotFittedError):
        draw(display, ODAClusterer())
    with pytest.raises(TypeError, match=f"{display.__name__}.* KMeans has none"):
        draw(display, KMeans(2, n_init=1, random_state=0).fit(X))
    with pytest.raises(TypeError, match="Of a pipeline, give the last step"):
        draw(display, make_pipeline(model))


@EVERY
def test_without_matplotlib_the_error_says_what_to_install(display, model, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("matplotlib")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=rf"{display.__name__}.*'odalib\[plot\]'"):
        draw(display, model)


FITTED = {
    "one codevector": lambda: ODAClusterer(1).fit(X),
    "equal rows": lambda: ODAClusterer(random_state=0).fit(np.ones((5, 2))),
    "stream": lambda: ODAClusterer(3, random_state=0).partial_fit(X),
    "single precision": lambda: ODAClusterer(3).fit(X.astype(np.float32)),
    "level": lambda: ODAClusterer(6, random_state=0).fit(X).at(n_clusters=2),
    "text labels": lambda: ODAClassifier(4, random_state=0).fit(
        X, np.array(["_one", "two $\\x$", "three"])[LABELS]
    ),
    "one class so far": lambda: ODAClassifier().partial_fit(X[:40], LABELS[:40]),
    "targets": lambda: ODARegressor(4, random_state=0).fit(X, ROWS[:, :2]),
}


@pytest.mark.parametrize("fitted", FITTED)
def test_draws_without_complaint_into_a_small_figure(fitted):
    estimator, size = FITTED[fitted](), (3.2, 2.4)
    for display, (_, number) in DISPLAYS.items():
        figure, axes = plt.subplots(number, figsize=size, layout="constrained")
        draw(display, estimator, ax=axes)
        figure.draw_without_rendering()
