"""EvidenceDisplay: the lines are the log evidence of classifiers that are refitted."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import scale

from odalib import ADFProbitClassifier, EPProbitClassifier
from odalib.inspection import EvidenceDisplay

DATA = load_iris()
X, SPECIES = scale(DATA.data)[::3], DATA.target_names[DATA.target[::3]]
TWO = SPECIES != "setosa"
VARIANCES = [0.1, 1.0, 10.0]


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def assert_line(line, x, y):
    np.testing.assert_allclose(line.get_xdata(), x, rtol=1e-9)
    np.testing.assert_allclose(line.get_ydata(), y, rtol=1e-6)


def evidence(variance, X=X[TWO], y=SPECIES[TWO], **options):
    return EPProbitClassifier(variance, **options).fit(X, y).log_evidence_


def test_evidence_of_two_rows_is_the_probability_of_an_orthant():
    """Both rows say that w + noise > 0, each with noise of its own."""
    variances = np.array([0.01, 0.1, 1.0])
    display = EvidenceDisplay.from_estimator(
        EPProbitClassifier(fit_intercept=False),
        np.array([[1.0], [-1.0]]),
        [1, 0],
        prior_variances=variances,
    )
    correlation = variances / (1.0 + variances)
    exact = np.log(0.25 + np.arcsin(correlation) / (2.0 * np.pi))
    assert_line(display.lines_[0], variances, display.log_evidence[0])
    # Expectation propagation is not exact for two rows.
    np.testing.assert_allclose(display.log_evidence[0], exact, atol=0.002)


def test_line_is_the_evidence_of_clones_and_marks_stand_on_it():
    estimator = EPProbitClassifier(3.0, intercept_variance=2.0, tol=1e-8)
    display = EvidenceDisplay.from_estimator(
        estimator, X[TWO], SPECIES[TWO], prior_variances=VARIANCES[::-1]
    )
    options = {"intercept_variance": 2.0, "tol": 1e-8}
    expected = [evidence(variance, **options)[0] for variance in VARIANCES]
    (line,), (best,), (own,) = display.lines_, display.best_, display.own_
    assert_line(line, VARIANCES, expected)
    largest = int(np.argmax(expected))
    assert_line(best, [VARIANCES[largest]], [expected[largest]])
    assert_line(own, [3.0], evidence(3.0, **options))
    assert display.ax_.get_xscale() == "log"
    assert not hasattr(estimator, "coef_")
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["best of those tried", "the estimator's own"]


def test_own_prior_by_evidence_is_the_summit_of_its_line():
    """Clones take over the variance of the intercept that was found with it."""
    estimator = EPProbitClassifier("evidence")
    own = EPProbitClassifier("evidence").fit(X[TWO], SPECIES[TWO])
    found = own.prior_variance_[0, 0]
    display = EvidenceDisplay.from_estimator(
        estimator, X[TWO], SPECIES[TWO], prior_variances=found * np.array([0.5, 1, 2])
    )
    below, at, above = display.lines_[0].get_ydata()
    assert max(below, above) < at
    assert_line(display.own_[0], [found], [at])
    assert_line(display.best_[0], [found], [at])


def test_one_variance_per_feature_is_a_level_line():
    variances = [0.5, 1.0, 2.0, 4.0]
    display = EvidenceDisplay.from_estimator(
        EPProbitClassifier(variances), X[TWO], SPECIES[TWO], prior_variances=VARIANCES
    )
    own = evidence(variances)[0]
    assert_line(display.own_[0], [0.1, 10.0], [own, own])
    assert np.isnan(display.own_prior_variance).all()
    legend = display.ax_.get_legend().get_texts()
    assert legend[-1].get_text() == "the estimator's own, one per feature"


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_problems_of_many_classes_are_lines_of_their_own(multi_class):
    estimator = EPProbitClassifier(multi_class=multi_class)
    display = EvidenceDisplay.from_estimator(
        estimator, X, SPECIES, prior_variances=VARIANCES
    )
    expected = np.transpose(
        [evidence(v, X, SPECIES, multi_class=multi_class) for v in VARIANCES]
    )
    for line, values in zip(display.lines_, expected, strict=True):
        assert_line(line, VARIANCES, values)
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    first = {"ovo": "versicolor against setosa", "ovr": "setosa against the rest"}
    assert labels[0] == first[multi_class]
    assert len(labels) == 5
    last = EvidenceDisplay.from_estimator(
        estimator, X, SPECIES, prior_variances=VARIANCES, problems=[2]
    )
    assert_line(last.lines_[0], VARIANCES, expected[2])


def test_default_variances_follow_the_units_of_the_rows():
    options = {"fit_intercept": False}
    first, second = (
        EvidenceDisplay.from_estimator(
            EPProbitClassifier(1.0 / unit**2, **options), unit * X[TWO], SPECIES[TWO]
        )
        for unit in (1.0, 10.0)
    )
    assert len(first.prior_variances) == 15
    np.testing.assert_allclose(
        second.prior_variances, first.prior_variances / 100.0, rtol=1e-12
    )
    np.testing.assert_allclose(second.log_evidence, first.log_evidence, rtol=1e-6)
    mean_square = (X[TWO] ** 2).sum(axis=1).mean()
    assert first.prior_variances[0] == pytest.approx(0.01 / mean_square)
    assert first.prior_variances[-1] == pytest.approx(1000.0 / mean_square)


def test_default_variances_reach_beyond_the_own():
    display = EvidenceDisplay.from_estimator(
        EPProbitClassifier(1e4), X[TWO], SPECIES[TWO]
    )
    assert display.prior_variances[-1] == pytest.approx(1e5)


def test_frames_and_sparse_rows():
    dense, frame, sparse = (
        EvidenceDisplay.from_estimator(
            EPProbitClassifier(), rows, SPECIES[TWO], prior_variances=VARIANCES
        )
        for rows in (X[TWO], pd.DataFrame(X[TWO]), sp.csr_array(X[TWO]))
    )
    np.testing.assert_array_equal(frame.log_evidence, dense.log_evidence)
    np.testing.assert_allclose(sparse.log_evidence, dense.log_evidence, rtol=1e-9)


def test_draws_into_given_axes():
    figure, axes = plt.subplots()
    display = EvidenceDisplay.from_estimator(
        EPProbitClassifier(),
        X[TWO],
        SPECIES[TWO],
        prior_variances=VARIANCES,
        ax=axes,
    )
    assert display.figure_ is figure and display.ax_ is axes
    assert display.plot() is display
    assert display.figure_ is not figure
    assert len(display.lines_) == 1


def test_refuses_estimators_without_evidence():
    for wrong in (ADFProbitClassifier(), make_pipeline(EPProbitClassifier())):
        with pytest.raises(TypeError, match=f"{type(wrong).__name__} does not"):
            EvidenceDisplay.from_estimator(wrong, X, SPECIES)


@pytest.mark.parametrize("variances", [[1.0], [1.0, 1.0], [0.0, 1.0], [1.0, np.inf]])
def test_refuses_variances_that_are_none(variances):
    with pytest.raises(ValueError, match="two numbers or more, positive and finite"):
        EvidenceDisplay.from_estimator(
            EPProbitClassifier(), X, SPECIES, prior_variances=variances
        )


def test_refuses_rows_and_problems_that_do_not_fit():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        EvidenceDisplay.from_estimator(EPProbitClassifier(), X, SPECIES[:5])
    with pytest.raises(ValueError, match="zero everywhere"):
        EvidenceDisplay.from_estimator(
            EPProbitClassifier(), np.zeros((2, 2)), ["a", "b"]
        )
    with pytest.raises(ValueError, match="no problem 3"):
        EvidenceDisplay.from_estimator(
            EPProbitClassifier(), X, SPECIES, prior_variances=VARIANCES, problems=[3]
        )
