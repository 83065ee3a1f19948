"""AnnealingPathDisplay: the drawn data are those of the path."""

import sys
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from odalib import ODAClassifier, ODAClusterer, ODARegressor
from odalib.inspection import AnnealingPathDisplay

X = load_iris().data


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def model():
    return ODAClusterer(n_clusters=6, random_state=0).fit(X)


def assert_line(line, x, y):
    np.testing.assert_array_equal(line.get_xdata(), x)
    np.testing.assert_array_equal(line.get_ydata(), y)


def test_lines_hold_the_data_of_the_path(model):
    display = AnnealingPathDisplay.from_estimator(model)
    path = model.annealing_path_
    assert_line(display.number_line_, path.temperature, path.n_codevectors)
    assert_line(display.distortion_line_, path.temperature, path.distortion)
    assert_line(display.free_energy_line_, path.temperature, path.free_energy)
    assert_line(display.result_, [model.temperature_], [6])
    # A level holds from its temperature down to the next.
    assert display.number_line_.get_drawstyle() == "steps-post"


def test_dots_stand_where_the_number_of_codevectors_rises(model):
    display = AnnealingPathDisplay.from_estimator(model)
    path = model.annealing_path_
    number = path.n_codevectors
    risen = [i for i in range(1, len(path)) if number[i] > number[i - 1]]
    assert len(risen) >= 3
    assert_line(display.splits_, path.temperature[risen], number[risen])


def test_shading_begins_where_codevectors_were_merged_and_held(model):
    display = AnnealingPathDisplay.from_estimator(model)
    path = model.annealing_path_
    first_held = int(np.argmax(path.n_codevectors)) + 1
    while path.n_codevectors[first_held] != 6:
        first_held += 1
    assert set(path.n_codevectors[first_held:]) == {6}
    assert len(display.held_spans_) == 2
    for axes, span in zip(display.axes_, display.held_spans_, strict=True):
        edges = span.get_x(), span.get_x() + span.get_width()
        assert max(edges) == pytest.approx(path.temperature[first_held])
        assert min(edges) == pytest.approx(axes.get_xlim()[1])
    labels = [text.get_text() for text in display.axes_[0].get_legend().get_texts()]
    assert "merged to 6, then held" in labels


def test_path_that_only_grows_is_not_shaded():
    grown = ODAClusterer(n_clusters=20, min_temperature=1.0, random_state=0).fit(X)
    assert (np.diff(grown.annealing_path_.n_codevectors) >= 0).all()
    assert AnnealingPathDisplay.from_estimator(grown).held_spans_ == []


def test_temperature_falls_from_left_to_right_on_a_logarithmic_axis(model):
    display = AnnealingPathDisplay.from_estimator(model)
    for axes in display.axes_:
        assert axes.get_xscale() == "log"
        left, right = axes.get_xlim()
        assert left > model.annealing_path_.temperature.max()
        assert right < model.annealing_path_.temperature.min()


def test_level_of_a_path_is_marked_on_the_whole_path(model):
    level = model.at(n_clusters=2)
    display = AnnealingPathDisplay.from_estimator(level)
    assert_line(display.result_, [level.temperature_], [2])
    assert len(display.number_line_.get_xdata()) == len(model.annealing_path_)


def test_draws_into_given_axes(model):
    figure, axes = plt.subplots(2)
    display = AnnealingPathDisplay.from_estimator(model, ax=axes)
    assert display.figure_ is figure
    assert list(display.axes_) == list(axes)
    again = display.plot()
    assert again is display
    assert display.figure_ is not figure
    with pytest.raises(ValueError, match="draws into 2 axes, and ax holds 1"):
        display.plot(ax=axes[0])


@pytest.mark.parametrize("rows", [np.ones((5, 2)), X[:40]], ids=["equal", "few"])
def test_draws_without_complaint(rows, tmp_path):
    display = AnnealingPathDisplay.from_estimator(
        ODAClusterer(random_state=0).fit(rows)
    )
    display.figure_.savefig(tmp_path / "path.png")
    assert (tmp_path / "path.png").stat().st_size > 0


@pytest.mark.parametrize("size", [(6.4, 4.8), (3.2, 2.4)], ids=["usual", "small"])
@pytest.mark.parametrize("number", [4, 60])
def test_numbers_of_codevectors_are_told_in_figures_of_any_size(size, number):
    grown = ODAClusterer(number, random_state=0).fit(X)
    figure, axes = plt.subplots(2, figsize=size, layout="constrained")
    AnnealingPathDisplay.from_estimator(grown, ax=axes)
    figure.draw_without_rendering()
    low, high = axes[0].get_ylim()
    labels = [
        label
        for label in axes[0].get_yticklabels()
        if low <= label.get_position()[1] <= high
    ]
    assert len(labels) >= 2
    spans = [label.get_window_extent() for label in labels]
    for label, (below, above) in zip(labels, pairwise([*spans, None]), strict=True):
        assert float(label.get_text()) == label.get_position()[1]
        assert above is None or below.y1 <= above.y0


def test_draws_the_path_of_classes_and_of_targets():
    classifier = ODAClassifier(7, random_state=0).fit(X, load_iris().target)
    regressor = ODARegressor(5, random_state=0).fit(X[:, 1:], X[:, 0])
    for estimator, number in [(classifier, 7), (regressor, 5)]:
        display = AnnealingPathDisplay.from_estimator(estimator)
        path = estimator.annealing_path_
        assert_line(display.number_line_, path.temperature, path.n_codevectors)
        assert_line(display.result_, [estimator.temperature_], [number])


def test_draws_the_path_of_a_stream(tmp_path):
    stream = ODAClusterer(n_clusters=3, random_state=0).partial_fit(X)
    display = AnnealingPathDisplay.from_estimator(stream)
    assert_line(display.result_, [stream.temperature_], [3])


def test_without_matplotlib_the_error_says_what_to_install(model, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("matplotlib")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'odalib\[plot\]'"):
        AnnealingPathDisplay.from_estimator(model)


def test_estimators_without_a_path_are_named(model):
    with pytest.raises(NotFittedError):
        AnnealingPathDisplay.from_estimator(ODAClusterer())
    with pytest.raises(TypeError, match="KMeans has none"):
        AnnealingPathDisplay.from_estimator(KMeans(2, random_state=0).fit(X))
    with pytest.raises(TypeError, match="Of a pipeline, give the last step"):
        AnnealingPathDisplay.from_estimator(make_pipeline(model))
