"""PrequentialDisplay: the lines are the curves of the results."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from odalib import ADFProbitClassifier, ODAClusterer
from odalib.inspection import PrequentialDisplay
from odalib.streaming import fit_stream

X = np.random.default_rng(0).standard_normal((600, 2))
Y = np.where(np.arange(600) < 300, X[:, 0] > 0, X[:, 1] > 0)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def stream(scoring, n_rows=600, **options):
    return fit_stream(
        ADFProbitClassifier(**options),
        X[:n_rows],
        target=Y[:n_rows],
        classes=[False, True],
        batch_size=60,
        scoring=scoring,
    )


@pytest.fixture(scope="module")
def result():
    return stream("accuracy")


def assert_line(line, x, y):
    np.testing.assert_array_equal(line.get_xdata(), x)
    np.testing.assert_allclose(line.get_ydata(), y, rtol=1e-12)


def legend(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def test_line_is_the_share_of_rows_predicted_before_they_were_learnt(result):
    model = ADFProbitClassifier()
    right = []
    for start in range(0, 600, 60):
        batch = slice(start, start + 60)
        if start:
            right.append((model.predict(X[batch]) == Y[batch]).sum())
        model.partial_fit(X[batch], Y[batch], classes=[False, True])
    ends = np.arange(120, 601, 60)
    display = PrequentialDisplay.from_results(result)
    assert_line(display.lines_[0], ends, np.cumsum(right) / (ends - 60))
    windowed = PrequentialDisplay.from_results([result], window=1)
    assert_line(windowed.lines_[0], ends, np.array(right) / 60.0)
    assert display.ax_.get_ylabel() == "accuracy"
    assert legend(display) == ["ADFProbitClassifier"]


def test_several_results_have_lines_that_differ_in_grey_too(result):
    results = [result, stream("accuracy", forgetting=0.98)] * 2
    labels = ["a", "b", "price ($) and cost ($)", "d"]
    display = PrequentialDisplay.from_results(results, labels=labels, window=3)
    for line, given in zip(display.lines_, results, strict=True):
        assert_line(line, *given.curve(window=3))
    assert len({line.get_linestyle() for line in display.lines_}) == 4
    assert legend(display) == ["a", "b", r"price (\$) and cost (\$)", "d"]
    display.figure_.draw_without_rendering()


def test_results_of_one_class_are_numbered(result):
    clusterer = fit_stream(
        ODAClusterer(2, random_state=0),
        X,
        target=Y,
        batch_size=300,
        scoring={"accuracy": lambda estimator, X, y: 0.0},
    )
    display = PrequentialDisplay.from_results([result, clusterer, result])
    assert legend(display) == [
        "ADFProbitClassifier 1",
        "ODAClusterer",
        "ADFProbitClassifier 2",
    ]


def test_score_is_chosen_by_name():
    both = stream(["accuracy", "neg_log_loss"])
    display = PrequentialDisplay.from_results(both, score="neg_log_loss")
    assert_line(display.lines_[0], *both.curve("neg_log_loss"))
    assert display.ax_.get_ylabel() == "neg_log_loss"
    with pytest.raises(ValueError, match="There is no score None"):
        PrequentialDisplay.from_results(both)
    with pytest.raises(ValueError, match="There is no score 'r2'"):
        PrequentialDisplay.from_results(both, score="r2")


def test_single_point_is_a_dot():
    display = PrequentialDisplay.from_results(stream("accuracy", n_rows=120))
    assert len(display.lines_[0].get_xdata()) == 1
    assert display.lines_[0].get_marker() == "o"


def test_draws_into_given_axes(result):
    figure, axes = plt.subplots()
    display = PrequentialDisplay.from_results(result, ax=axes)
    assert display.figure_ is figure and display.ax_ is axes
    assert display.plot() is display
    assert display.figure_ is not figure
    assert len(display.lines_) == 1


def test_results_without_scores_say_what_to_give():
    unscored = fit_stream(ODAClusterer(2, random_state=0), X, batch_size=300)
    with pytest.raises(ValueError, match="ODAClusterer has no scores: give scoring"):
        PrequentialDisplay.from_results(unscored)
    with pytest.raises(ValueError, match="more than the first batch"):
        PrequentialDisplay.from_results(stream("accuracy", n_rows=60))


def test_refuses_what_does_not_fit(result):
    with pytest.raises(TypeError, match="got ADFProbitClassifier"):
        PrequentialDisplay.from_results([result.estimator])
    with pytest.raises(ValueError, match="results is empty"):
        PrequentialDisplay.from_results([])
    with pytest.raises(ValueError, match="one for each of the 1 results"):
        PrequentialDisplay.from_results(result, labels=["a", "b"])
    with pytest.raises(ValueError, match="must be a list"):
        PrequentialDisplay.from_results(result, labels="a")
    with pytest.raises(ValueError, match="at least one batch"):
        PrequentialDisplay.from_results(result, window=0)
