"""PosteriorDisplay: dots and intervals are the moments of the weights."""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from scipy.stats import norm
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import scale

from odalib import (
    ADFProbitClassifier,
    EPGaussianProcessClassifier,
    EPProbitClassifier,
)
from odalib.inspection import PosteriorDisplay

DATA = load_iris()
X, SPECIES = scale(DATA.data), DATA.target_names[DATA.target]
TWO = DATA.target > 0


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def binary():
    return EPProbitClassifier().fit(X[TWO], SPECIES[TWO])


def assert_drawn(display, panel, mean, deviation, level=0.95):
    """Dots of a panel stand at means, intervals reach to their quantiles."""
    rows = np.arange(len(mean))
    dots = display.points_[panel].get_offsets()
    np.testing.assert_allclose(dots, np.c_[mean, rows], rtol=1e-12)
    tail = (1.0 - level) / 2.0
    ends = norm.ppf([[tail], [1.0 - tail]], mean, deviation).T
    segments = np.array(display.intervals_[panel].get_segments())
    np.testing.assert_allclose(segments[:, :, 0], ends, rtol=1e-9)
    np.testing.assert_array_equal(segments[:, :, 1], np.c_[rows, rows])


def test_intervals_are_quantiles_of_the_posterior(binary):
    deviation = np.sqrt(np.diag(binary.covariance_[0]))[:4]
    display = PosteriorDisplay.from_estimator(binary, features=range(4), level=0.8)
    assert_drawn(display, 0, binary.coef_[0], deviation, level=0.8)
    assert len(display.axes_) == 1
    assert display.axes_[0].get_xlabel() == "weight, 80% interval"
    assert display.axes_[0].figure is display.figure_


def test_surest_features_stand_on_top(binary):
    surest = np.abs(binary.coef_[0]) / np.sqrt(np.diag(binary.covariance_[0]))[:4]
    order = np.argsort(-surest)
    display = PosteriorDisplay.from_estimator(
        binary, feature_names=DATA.feature_names, max_features=3
    )
    expected = [DATA.feature_names[column] for column in order[:3]]
    assert display.feature_names == expected
    (axes,) = display.axes_
    assert [label.get_text() for label in axes.get_yticklabels()] == expected
    bottom, top = axes.get_ylim()
    assert bottom > 2 and top < 0


def test_dots_are_filled_where_the_interval_leaves_zero_out():
    display = PosteriorDisplay(
        mean=np.array([[1.0, 1.0, -1.0, -1.0]]),
        standard_deviation=np.array([[0.5, 0.52, 0.5, 0.52]]),
        feature_names=list("abcd"),
        sides=[("no", "yes")],
    ).plot()
    faces = display.points_[0].get_facecolors()[:, :3]
    is_hollow = (faces == to_rgb("white")).all(axis=1)
    # 1.96 standard deviations are 0.98 and 1.02.
    np.testing.assert_array_equal(is_hollow, [False, True, False, True])


def test_pairs_of_classes_are_panels_named_by_what_weights_speak_for():
    model = EPProbitClassifier().fit(X, SPECIES)
    display = PosteriorDisplay.from_estimator(model, features=[2, 0])
    assert display.sides == [
        ("setosa", "versicolor"),
        ("setosa", "virginica"),
        ("versicolor", "virginica"),
    ]
    deviation = np.sqrt(np.diagonal(model.covariance_, axis1=1, axis2=2))
    for panel, axes in enumerate(display.axes_):
        assert_drawn(
            display, panel, model.coef_[panel, [2, 0]], deviation[panel, [2, 0]]
        )
        negative, positive = display.sides[panel]
        assert f"\N{LEFTWARDS ARROW} {negative}" in axes.get_title()
        assert f"{positive} \N{RIGHTWARDS ARROW}" in axes.get_title()
    last = PosteriorDisplay.from_estimator(model, features=[2, 0], problems=[2])
    assert_drawn(last, 0, model.coef_[2, [2, 0]], deviation[2, [2, 0]])


def test_classes_against_the_rest():
    model = EPProbitClassifier(multi_class="ovr").fit(X, SPECIES)
    display = PosteriorDisplay.from_estimator(model)
    assert display.sides == [("the rest", name) for name in DATA.target_names]


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_beliefs_of_assumed_density_filtering(covariance):
    model = ADFProbitClassifier(covariance=covariance, random_state=0)
    model.fit(X[TWO], SPECIES[TWO])
    variance = model.covariance_[0]
    variance = np.diag(variance) if covariance == "full" else variance
    display = PosteriorDisplay.from_estimator(model, features=[3, 1])
    assert_drawn(display, 0, model.coef_[0, [3, 1]], np.sqrt(variance[[3, 1]]))


def test_more_features_than_rows():
    model = EPProbitClassifier().fit(X[TWO].T[:, :8], [0, 1, 0, 1])
    with pytest.raises(AttributeError):
        model.covariance_  # noqa: B018
    deviation = np.sqrt(np.diag(model.posterior_covariance()[0]))
    display = PosteriorDisplay.from_estimator(model, features=[7, 0])
    assert_drawn(display, 0, model.coef_[0, [7, 0]], deviation[[7, 0]])


def test_without_intercept_and_by_names_of_a_frame():
    frame = pd.DataFrame(X[TWO], columns=["a", "b", "cost ($)", "gain ($)"])
    model = EPProbitClassifier(fit_intercept=False).fit(frame, SPECIES[TWO])
    display = PosteriorDisplay.from_estimator(model, features=["gain ($)", "a", 2])
    deviation = np.sqrt(np.diag(model.covariance_[0]))
    assert_drawn(display, 0, model.coef_[0, [3, 0, 2]], deviation[[3, 0, 2]])
    single = PosteriorDisplay.from_estimator(model, features="b")
    assert_drawn(single, 0, model.coef_[0, [1]], deviation[[1]])
    assert display.feature_names == ["gain ($)", "a", "cost ($)"]
    # A pair of dollar signs is no formula.
    label = display.axes_[0].get_yticklabels()[0]
    assert label.get_text() == r"gain (\$)"
    display.figure_.draw_without_rendering()


def test_draws_into_given_axes(binary):
    figure, (axes, other) = plt.subplots(2)
    display = PosteriorDisplay.from_estimator(binary, ax=axes)
    assert display.figure_ is figure
    assert list(display.axes_) == [axes]
    assert display.plot() is display
    assert display.figure_ is not figure
    with pytest.raises(ValueError, match="1 axes, and ax holds 2"):
        display.plot(ax=[axes, other])


def test_refuses_what_has_no_posterior_of_weights(binary):
    with pytest.raises(NotFittedError):
        PosteriorDisplay.from_estimator(EPProbitClassifier())
    with pytest.raises(TypeError, match="LogisticRegression has none"):
        PosteriorDisplay.from_estimator(LogisticRegression().fit(X, SPECIES))
    process = EPGaussianProcessClassifier(RBF(), optimizer=None)
    with pytest.raises(TypeError, match="EPGaussianProcessClassifier has none"):
        PosteriorDisplay.from_estimator(process.fit(X[TWO][::5], SPECIES[TWO][::5]))
    with pytest.raises(TypeError, match="Of a pipeline, give the last step"):
        PosteriorDisplay.from_estimator(make_pipeline(binary))


@pytest.mark.parametrize(
    "options, message",
    [
        ({"features": [4]}, "no feature 4; X has columns 0 to 3"),
        ({"features": [True]}, "no feature True"),
        ({"features": ["x7"]}, "no feature 'x7'; there are x0, x1, x2, x3"),
        ({"feature_names": ["a"]}, "holds 1 names, and X has 4 features"),
        ({"feature_names": "abcd"}, "is one name; give a list"),
        ({"problems": [1]}, "no problem 1 of two classes; they are 0: virginica"),
        ({"problems": []}, "problems is empty"),
        ({"max_features": 0}, "must be at least 1"),
        ({"level": 1.0}, "between 0 and 1"),
    ],
)
def test_refuses_options_that_do_not_fit(binary, options, message):
    with pytest.raises(ValueError, match=message):
        PosteriorDisplay.from_estimator(binary, **options)


def test_refuses_a_number_of_features_that_is_none(binary):
    with pytest.raises(TypeError, match="max_features"):
        PosteriorDisplay.from_estimator(binary, max_features=2.0)


def test_more_problems_than_fit_into_a_picture_have_to_be_chosen():
    rng = np.random.default_rng(0)
    model = ADFProbitClassifier(random_state=0)
    model.fit(rng.standard_normal((40, 2)), np.arange(40) % 6)
    with pytest.raises(ValueError, match=r"15 problems .* such as \[0, 14\]"):
        PosteriorDisplay.from_estimator(model)
    assert len(PosteriorDisplay.from_estimator(model, problems=[14, 0]).axes_) == 2


def test_without_matplotlib_the_error_says_what_to_install(binary, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("matplotlib")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"PosteriorDisplay needs matplotlib"):
        PosteriorDisplay.from_estimator(binary)
