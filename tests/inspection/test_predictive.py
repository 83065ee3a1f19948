"""PredictiveProbabilityDisplay: what is drawn is the posterior of the latent value."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import norm
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from odalib import (
    ADFProbitClassifier,
    EPGaussianProcessClassifier,
    EPProbitClassifier,
)
from odalib.inspection import PredictiveProbabilityDisplay
from odalib.streaming import make_streaming_pipeline

DATA = load_iris()
X, SPECIES = DATA.data[::2], DATA.target_names[DATA.target[::2]]
TWO = SPECIES != "setosa"
FRAME = pd.DataFrame(X, columns=["a", "b", "length ($)", "width ($)"])


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def process():
    model = EPGaussianProcessClassifier(4.0 * RBF(1.0), optimizer=None)
    return model.fit(X[TWO, 2:], SPECIES[TWO])


@pytest.fixture(scope="module")
def linear():
    return EPProbitClassifier().fit(X[TWO], SPECIES[TWO])


def draw(*arguments, **options):
    return PredictiveProbabilityDisplay.from_estimator(*arguments, **options)


def band_ends(display):
    """Lower and upper ends of the band, at its values from left to right."""
    (path,) = display.band_.get_paths()
    x, y = path.vertices.T
    return [
        [find(y[x == value]) for value in display.grid[0]] for find in (np.min, np.max)
    ]


def test_curve_is_predict_proba_and_the_band_are_its_quantiles(linear):
    display = draw(linear, X[TWO], features=2, level=0.9)
    values = display.line_.get_xdata()
    rows = np.tile(np.median(X[TWO], axis=0), (len(values), 1))
    rows[:, 2] = values
    np.testing.assert_allclose(
        display.line_.get_ydata(), linear.predict_proba(rows)[:, 1], rtol=1e-12
    )
    mean, variance = linear.latent_mean_and_variance(rows)
    quantiles = norm.cdf(norm.ppf([[0.05], [0.95]], mean, np.sqrt(variance)))
    np.testing.assert_allclose(band_ends(display), quantiles, rtol=1e-9)
    assert display.band_.get_label() == "90% interval"
    assert display.ax_.get_ylabel() == "probability of virginica"
    assert display.ax_.get_xlabel() == "x2"


def test_values_reach_beyond_the_rows_on_both_sides(linear):
    display = draw(linear, X[TWO], features=[3])
    (values,) = display.grid
    low, high = X[TWO, 3].min(), X[TWO, 3].max()
    assert values[0] == pytest.approx(low - 0.15 * (high - low))
    assert values[-1] == pytest.approx(high + 0.15 * (high - low))
    np.testing.assert_allclose(np.diff(values, 2), 0.0, atol=1e-12)


def test_surface_is_predict_proba_over_two_features(process):
    display = draw(process, X[TWO, 2:], level=0.5)
    first, second = display.grid
    assert display.probability.shape == (len(second), len(first))
    # Of a corner and of a point inside, first feature across.
    for up, across in [(0, -1), (20, 30)]:
        row = [[first[across], second[up]]]
        proba = process.predict_proba(row)[0, 1]
        assert display.probability[up, across] == pytest.approx(proba, rel=1e-12)
        mean, variance = process.latent_mean_and_variance(row)
        quartiles = norm.cdf(norm.ppf([0.25, 0.75], mean, np.sqrt(variance)))
        ends = display.lower[up, across], display.upper[up, across]
        np.testing.assert_allclose(ends, quartiles, rtol=1e-9)
    assert display.surface_.zmin == display.probability.min()
    np.testing.assert_allclose(display.surface_.levels, np.linspace(0, 1, 11))
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("x0", "x1")


def test_boundary_is_where_both_classes_are_equally_probable(process):
    display = draw(process, X[TWO, 2:])
    (path,) = display.boundary_.get_paths()
    proba = process.predict_proba(path.vertices)
    np.testing.assert_allclose(proba, 0.5, atol=0.01)


def test_lines_of_uncertainty_are_where_the_band_is_so_wide(process):
    display = draw(process, X[TWO, 2:], level=0.8)
    levels = display.uncertainty_.levels
    assert set(levels) <= {0.2, 0.5, 0.8} and len(levels) >= 2
    for level, path in zip(levels, display.uncertainty_.get_paths(), strict=True):
        mean, variance = process.latent_mean_and_variance(path.vertices)
        tails = norm.ppf([[0.1], [0.9]], mean, np.sqrt(variance))
        lower, upper = norm.cdf(tails)
        np.testing.assert_allclose(upper - lower, level, atol=0.02)


def test_lines_that_there_are_not_are_none():
    grid = [np.array([0.0, 1.0]), np.array([0.0, 1.0, 2.0])]
    display = PredictiveProbabilityDisplay(
        grid=grid,
        mean=np.full((3, 2), 1.0),
        variance=np.full((3, 2), 1e-4),
        feature_names=["a", "b"],
        sides=("no", "yes"),
    ).plot()
    assert display.boundary_ is None and display.uncertainty_ is None
    np.testing.assert_allclose(display.probability, norm.cdf(1.0 / np.sqrt(1.0001)))


def test_rows_stand_at_their_class_or_in_their_place(process, linear):
    is_positive = SPECIES[TWO] == "virginica"
    over_one = draw(linear, X[TWO], SPECIES[TWO], features=2)
    over_two = draw(process, X[TWO, 2:], SPECIES[TWO])
    for side in (0, 1):
        rows = X[TWO][is_positive == bool(side)]
        line = over_one.rows_[side]
        np.testing.assert_array_equal(line.get_xdata(), rows[:, 2])
        np.testing.assert_array_equal(line.get_ydata(), side)
        np.testing.assert_array_equal(over_two.rows_[side].get_xydata(), rows[:, 2:])
        assert line.get_label() == ["versicolor", "virginica"][side]
    assert draw(linear, X[TWO], features=2).rows_ == []


def test_problem_of_many_classes_is_that_of_its_pair():
    model = EPProbitClassifier().fit(X, SPECIES)
    display = draw(model, X, SPECIES, features=[2, 3], problem=1)
    assert display.sides == ("setosa", "virginica")
    row = np.median(X, axis=0)
    row[2:] = display.grid[0][7], display.grid[1][5]
    mean, variance = model.latent_mean_and_variance([row])
    assert display.mean[5, 7] == pytest.approx(mean[0, 1], rel=1e-12)
    assert display.variance[5, 7] == pytest.approx(variance[0, 1], rel=1e-12)
    drawn = [len(line.get_xdata()) for line in display.rows_]
    assert drawn == [25, 25]
    with pytest.raises(ValueError, match="0: versicolor against setosa, 1: virginica"):
        draw(model, X, features=0)
    with pytest.raises(ValueError, match="no problem 3"):
        draw(model, X, features=0, problem=3)


def test_class_against_the_rest_draws_all_rows():
    model = EPGaussianProcessClassifier(RBF(2.0), optimizer=None)
    model.fit(X[::3, 2:], SPECIES[::3])
    display = draw(model, X[:, 2:], SPECIES, problem=0)
    assert display.sides == ("the rest", "setosa")
    assert [len(line.get_xdata()) for line in display.rows_] == [50, 25]


def test_pipelines_are_asked_in_the_units_of_their_rows(linear):
    scaler = StandardScaler().fit(X[TWO])
    inside = EPProbitClassifier().fit(scaler.transform(X[TWO]), SPECIES[TWO])
    display = draw(make_pipeline(scaler, inside), X[TWO], features=1)
    rows = np.tile(np.median(X[TWO], axis=0), (201, 1))
    rows[:, 1] = display.line_.get_xdata()
    proba = inside.predict_proba(scaler.transform(rows))[:, 1]
    np.testing.assert_allclose(display.line_.get_ydata(), proba, rtol=1e-12)


def test_streaming_pipelines():
    pipeline = make_streaming_pipeline(
        StandardScaler(), ADFProbitClassifier(covariance="diagonal")
    )
    pipeline.partial_fit(X[TWO], SPECIES[TWO], classes=["versicolor", "virginica"])
    display = draw(pipeline, X[TWO], features=2)
    rows = np.tile(np.median(X[TWO], axis=0), (201, 1))
    rows[:, 2] = display.line_.get_xdata()
    np.testing.assert_allclose(
        display.line_.get_ydata(), pipeline.predict_proba(rows)[:, 1], rtol=1e-12
    )


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_features_of_data_frames_have_names(make):
    frame = make({name: FRAME[name].to_numpy()[TWO] for name in FRAME})
    model = make_pipeline(StandardScaler(), EPProbitClassifier())
    model.fit(frame, SPECIES[TWO])
    by_name = draw(model, frame, SPECIES[TWO], features=["length ($)", "a"])
    by_number = draw(model, frame, features=[2, 0])
    np.testing.assert_array_equal(by_name.mean, by_number.mean)
    assert by_name.ax_.get_xlabel() == r"length (\$)"
    with pytest.raises(ValueError, match=r"no feature 'c'; there are a, b, length"):
        draw(model, frame, features="c")


def test_draws_into_given_axes(linear, process):
    figure, (first, second) = plt.subplots(2)
    display = draw(linear, X[TWO], features=2, ax=first)
    assert display.figure_ is figure and display.ax_ is first
    assert display.plot() is display
    assert display.figure_ is not figure
    assert draw(process, X[TWO, 2:], ax=second).figure_ is figure


def test_feature_that_never_varies():
    rows = np.c_[X[TWO, 2], np.ones(TWO.sum())]
    model = EPProbitClassifier().fit(rows, SPECIES[TWO])
    (values,) = draw(model, rows, features=1).grid
    assert (values[0], values[-1]) == (0.85, 1.15)


def test_refuses_what_has_no_latent_values(linear):
    with pytest.raises(NotFittedError):
        draw(EPProbitClassifier(), X)
    logistic = LogisticRegression().fit(X[TWO, :2], SPECIES[TWO])
    for estimator in (logistic, make_pipeline(logistic)):
        with pytest.raises(TypeError, match="LogisticRegression has none"):
            draw(estimator, X[:, :2])


@pytest.mark.parametrize(
    "options, message",
    [
        ({}, "X has 4 features, and a picture shows one or two"),
        ({"features": [0, 1, 2]}, "one or two different ones"),
        ({"features": [1, 1]}, "one or two different ones"),
        ({"features": []}, "one or two different ones"),
        ({"features": 4}, "no feature 4; X has columns 0 to 3"),
        ({"features": 0, "problem": 1}, "no problem 1 of two classes"),
        ({"features": 0, "level": 0.0}, "between 0 and 1"),
    ],
)
def test_refuses_options_that_do_not_fit(linear, options, message):
    with pytest.raises(ValueError, match=message):
        draw(linear, X[TWO], **options)


def test_refuses_rows_that_do_not_fit(linear):
    with pytest.raises(ValueError, match="X has 3 features, and the estimator was"):
        draw(linear, X[TWO, :3], features=0)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        draw(linear, X[TWO], SPECIES[TWO][:3], features=0)
    with pytest.raises(ValueError, match="setosa"):
        draw(linear, X, SPECIES, features=0)
