"""Labels of any kind, decompositions, and predictions from latent values."""

import mpmath
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.special import log_ndtr, ndtr
from sklearn.exceptions import DataConversionWarning, NotFittedError

from odalib.estimators._decomposition import Decomposition, Problem
from odalib.estimators._labels import (
    announced_classes,
    classes_of,
    encode,
    read_labels,
    training_rows,
)
from odalib.estimators._multiclass import BaseProbitClassifier
from odalib.inference.ep.coupling import couple
from odalib.inference.ep.sharpness import Sharpness

ONE_HUNDRED_MARGINS = np.random.default_rng(0).normal(scale=3.0, size=(100, 6))


class Fixed(BaseProbitClassifier):
    """Latent means are the first features, latent variances the last ones."""

    def fit(self, X, classes, scheme="ovo"):
        self.n_features_in_ = X.shape[1]
        self.classes_ = np.array(classes)
        self._decomposition = Decomposition(len(classes), scheme)
        return self

    def _latent(self, rows):
        if sparse.issparse(rows):
            rows = rows.toarray()
        return np.hsplit(rows.astype(np.float64), 2)


def fixed(margins, classes, scheme="ovo", variance=0.0):
    """Fitted to rows whose margins are the given ones, and these rows."""
    mean = margins * np.sqrt(1.0 + variance)
    X = np.hstack([mean, np.full_like(mean, variance)]).astype(margins.dtype)
    return Fixed().fit(X, classes, scheme), X


def labels_of(y):
    return read_labels(Fixed(), y)


# Labels


@pytest.mark.parametrize(
    "y",
    [
        ["b", "a", "b", "a"],
        np.array(["b", "a", "b", "a"], dtype=object),
        np.array(["b", "a", "b", "a"], dtype=np.dtypes.StringDType()),
        pd.Series(["b", "a", "b", "a"]),
        pd.Series(["b", "a", "b", "a"], dtype="category"),
        pl.Series(["b", "a", "b", "a"]),
    ],
    ids=["list", "object", "StringDType", "pandas", "categories", "polars"],
)
def test_text(y):
    labels = labels_of(y)
    classes = classes_of(Fixed(), labels)
    assert classes.tolist() == ["a", "b"]
    assert encode(labels, classes).tolist() == [1, 0, 1, 0]


@pytest.mark.parametrize(
    ("y", "kind"),
    [
        (np.array([3, 1, 3, 1], dtype=object), "i"),
        (np.array([1.5, 1.0, 1.5, 1.0], dtype=object), "f"),
        (np.array([True, False, True, False], dtype=object), "b"),
        (np.array([True, False, True, False]), "b"),
        (np.array([3, 1, 3, 1], dtype=np.uint8), "u"),
        (pd.Series([3, 1, 3, 1], dtype="Int64"), "i"),
        (pd.Series([True, False, True, False], dtype="boolean"), "b"),
    ],
)
def test_numbers(y, kind):
    labels = labels_of(y)
    assert labels.dtype.kind == kind
    assert encode(labels, np.unique(labels)).tolist() == [1, 0, 1, 0]


def test_names_are_not_cut():
    classes = announced_classes(Fixed(), ["a", "b", "a-long-name"], None)
    assert classes.tolist() == ["a", "a-long-name", "b"]
    short = labels_of(np.array(["a", "b"]))
    assert classes[encode(short, classes)].tolist() == ["a", "b"]
    long = labels_of(np.array(["a-long-name"]))
    assert classes[encode(long, classes)].tolist() == ["a-long-name"]


def test_a_column_is_taken_with_a_warning():
    with pytest.warns(DataConversionWarning, match="column-vector"):
        labels = labels_of(pd.DataFrame({"t": ["b", "a"]}))
    assert labels.tolist() == ["b", "a"]


@pytest.mark.parametrize(
    ("y", "match"),
    [
        (None, "Fixed requires y to be passed"),
        (np.array(["a", 1, None], dtype=object), "type NoneType, int, str"),
        (pd.Series([1, None, 2], dtype="Int64"), "NaN|none is missing"),
        (np.array([1, None], dtype=object), "type NoneType, int"),
        (np.array([0.0, np.nan]), "y contains NaN"),
        (np.zeros((3, 2)), "1d array"),
    ],
)
def test_what_is_no_label_is_refused(y, match):
    with pytest.raises(ValueError, match=match):
        labels_of(y)


@pytest.mark.parametrize(
    ("labels", "match"),
    [
        (np.array(["spam", "spam"]), "Fixed learns .*one class, 'spam'"),
        (np.array([7]), "one class, 7"),
        (np.array([0.1, 0.2, 0.3]), "Unknown label type: continuous"),
    ],
)
def test_labels_that_make_no_classes_are_refused(labels, match):
    with pytest.raises(ValueError, match=match):
        classes_of(Fixed(), labels)


@pytest.mark.parametrize(
    ("labels", "unseen"),
    [(["a", "z", "y"], r"\['y', 'z'\]"), ([1, 2], r"\[1, 2\]")],
)
def test_an_unseen_label_is_named(labels, unseen):
    with pytest.raises(
        ValueError, match=rf"none of the classes \['a', 'b'\]: {unseen}"
    ):
        encode(np.array(labels), np.array(["a", "b"]))


def test_classes_are_announced_once():
    with pytest.raises(ValueError, match="first call to partial_fit of Fixed"):
        announced_classes(Fixed(), None, None)
    with pytest.raises(ValueError, match=r"\[3\] announces no two classes"):
        announced_classes(Fixed(), [3, 3], None)
    known = announced_classes(Fixed(), [2, 0, 1], None)
    assert known.tolist() == [0, 1, 2]
    assert announced_classes(Fixed(), None, known) is known
    assert announced_classes(Fixed(), np.array([1.0, 2.0, 0.0]), known) is known
    with pytest.raises(ValueError, match=r"\[0, 1\] differ .* \[0, 1, 2\]"):
        announced_classes(Fixed(), [0, 1], known)


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_rows_of_no_weight_are_absent(layout):
    X = np.arange(12.0).reshape(4, 3)
    rows, labels, weights = training_rows(
        Fixed(), layout(X), ["a", "b", "c", "d"], [1.0, 0.0, 0.5, 0.0], reset=True
    )
    np.testing.assert_array_equal(
        np.asarray(rows.todense() if sparse.issparse(rows) else rows), X[[0, 2]]
    )
    assert labels.tolist() == ["a", "c"]
    assert weights.tolist() == [1.0, 0.5]


def test_rows_and_labels_of_different_number_are_refused():
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[3, 2\]"):
        training_rows(Fixed(), np.ones((3, 1)), [0, 1], None, reset=True)


# Decompositions


def test_two_classes_are_one_problem():
    for scheme in ("ovo", "ovr"):
        assert Decomposition(2, scheme).problems == (Problem(1, 0),)


def test_problems_of_pairs():
    codes = np.array([0, 2, 1, 2, 0])
    problems = Decomposition(3, "ovo").problems
    assert [(p.negative, p.positive) for p in problems] == [(0, 1), (0, 2), (1, 2)]
    rows, y = problems[1].rows(codes)
    assert rows.tolist() == [0, 1, 3, 4]
    assert y.tolist() == [-1.0, 1.0, 1.0, -1.0]


def test_problems_against_the_rest():
    codes = np.array([0, 2, 1, 2, 0])
    problems = Decomposition(3, "ovr").problems
    assert [p.positive for p in problems] == [0, 1, 2]
    rows, y = problems[2].rows(codes)
    assert rows.tolist() == [0, 1, 2, 3, 4]
    assert y.tolist() == [-1.0, 1.0, -1.0, 1.0, -1.0]


def test_probabilities_of_pairs_are_coupled():
    """Of the pair (i, j) the second is the positive class."""
    margins = ONE_HUNDRED_MARGINS
    found = Decomposition(4, "ovo").probit_log_probabilities(margins)
    np.testing.assert_array_equal(found, couple(log_ndtr(-margins), log_ndtr(margins)))
    # Class 3 is the positive one of the pairs (0, 3), (1, 3) and (2, 3).
    margins = np.array([[0.0, 0.0, 5.0, 0.0, 5.0, 5.0]])
    found = Decomposition(4, "ovo").probit_probabilities(margins)
    assert found.argmax() == 3


def test_probabilities_against_the_rest_are_normalised():
    margins = ONE_HUNDRED_MARGINS
    positive = ndtr(margins)
    np.testing.assert_allclose(
        Decomposition(6, "ovr").probit_probabilities(margins),
        positive / positive.sum(axis=1, keepdims=True),
        rtol=1e-13,
    )


# Predictions


def test_probability_of_two_classes_integrates_the_latent_value():
    """``P(f + noise > 0)`` for f of mean 1 and variance 3: ``Phi(1 / 2)``."""
    model = Fixed().fit(np.array([[1.0, 3.0]]), ["no", "yes"])
    X = [[1.0, 3.0], [-1.0, 3.0]]
    expected = [[ndtr(-0.5), ndtr(0.5)], [ndtr(0.5), ndtr(-0.5)]]
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-15)
    np.testing.assert_allclose(model.decision_function(X), [0.5, -0.5], rtol=1e-15)
    assert model.predict(X).tolist() == ["yes", "no"]
    mean, variance = model.latent_mean_and_variance(X)
    assert mean.tolist() == [1.0, -1.0]
    assert variance.tolist() == [3.0, 3.0]


@pytest.mark.parametrize("z", [-30.0, -8.5, -1e-3, 5.0, 8.0, 20.0])
def test_digits_of_two_classes(z):
    model, X = fixed(np.array([[z]]), [0, 1])
    with mpmath.workdps(400):
        positive = mpmath.ncdf(mpmath.mpf(z))
        negative = mpmath.ncdf(-mpmath.mpf(z))
        logs = [float(mpmath.log(negative)), float(mpmath.log(positive))]
        expected = [float(negative), float(positive)]
    np.testing.assert_allclose(model.predict_proba(X)[0], expected, rtol=2e-13)
    np.testing.assert_allclose(model.predict_log_proba(X)[0], logs, rtol=2e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("n_classes", "scheme"), [(2, "ovo"), (4, "ovo"), (6, "ovr"), (4, "ovr")]
)
def test_all_answers_decide_alike(dtype, n_classes, scheme):
    """Margins that round to ties and near ties among them."""
    n_problems = len(Decomposition(n_classes, scheme).problems)
    random = np.random.default_rng(n_classes)
    scale = 10.0 ** -random.integers(0, 18, size=(2000, 1))
    margins = (scale * random.normal(size=(2000, n_problems))).astype(dtype)
    model, X = fixed(margins, np.arange(n_classes) * 10, scheme)
    probabilities, scores = model.predict_proba(X), model.decision_function(X)
    logs = model.predict_log_proba(X)
    assert {probabilities.dtype, scores.dtype, logs.dtype} == {np.dtype(dtype)}
    codes = model.predict(X) // 10
    np.testing.assert_array_equal(codes, probabilities.argmax(axis=1))
    if n_classes == 2:
        np.testing.assert_array_equal(codes, scores > 0)
    else:
        np.testing.assert_array_equal(codes, scores.argmax(axis=1))
        # Of near ties the scores follow the probabilities, whose sums over the classes
        # round otherwise than those of logarithms.
        rtol = 2 * n_classes * np.finfo(dtype).eps
        np.testing.assert_allclose(scores, logs, rtol=rtol)
    np.testing.assert_allclose(
        probabilities.sum(axis=1), 1.0, rtol=4 * np.finfo(dtype).eps
    )


@pytest.mark.parametrize(("n_classes", "scheme"), [(2, "ovo"), (3, "ovo"), (4, "ovr")])
def test_far_margins_have_finite_logarithms(n_classes, scheme):
    n_problems = len(Decomposition(n_classes, scheme).problems)
    margins = np.full((3, n_problems), 1e5)
    margins[1], margins[2, 1:] = -1e5, -1e5
    model, X = fixed(margins, range(n_classes), scheme)
    for answer in (model.predict_log_proba(X), model.decision_function(X)):
        assert np.isfinite(answer).all()
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0, rtol=1e-15)


def test_many_rows_are_answered_as_one():
    """Also where they fill several blocks, dense and sparse."""
    margins = np.random.default_rng(1).normal(size=(9000, 3))
    model, X = fixed(margins, "abc")
    expected = couple(log_ndtr(-margins), log_ndtr(margins))
    for rows in (X, sparse.csr_array(X)):
        np.testing.assert_allclose(
            model.predict_log_proba(rows), expected, rtol=1e-13, atol=1e-15
        )
    mean, variance = model.latent_mean_and_variance(X)
    np.testing.assert_array_equal(mean, margins)
    np.testing.assert_array_equal(variance, np.zeros_like(margins))


def test_nothing_is_answered_before_a_fit():
    with pytest.raises(NotFittedError):
        Fixed().predict([[0.0, 0.0]])


@pytest.mark.parametrize("power", [0.1, 30.0, 1e4, 1e6])
def test_no_power_makes_all_probabilities_vanish(power):
    """Classes that are close and always right are sharpened by thousands."""
    decomposition = Decomposition(10, "ovo", Sharpness(np.log(power), 1.0))
    margins = np.random.default_rng(0).uniform(-0.1, 0.1, size=(20, 45))
    # Rates too small to be multiplied are coupled by their logarithms.
    margins[-1, :2] = 37.0, -37.0
    found = decomposition.probit_probabilities(margins)
    expected = np.exp(decomposition.probit_log_probabilities(margins))
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)


def test_extreme_rows_among_others_are_coupled_by_their_logarithms():
    margins = np.random.default_rng(3).normal(size=(60, 6))
    margins[::7] *= 30.0
    model, X = fixed(margins, list("abcd"))
    logs = couple(log_ndtr(-margins), log_ndtr(margins))
    np.testing.assert_allclose(model.predict_proba(X), np.exp(logs), rtol=1e-11)
    np.testing.assert_array_equal(model.predict(X), model.classes_[logs.argmax(axis=1)])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("variance", [0.0, 1e12])
def test_of_two_classes_means_decide_unless_probabilities_are_equal(dtype, variance):
    sizes = 10.0 ** np.arange(-20.0, 4.0)
    margins = np.concatenate([sizes, -sizes, [0.0]])[:, np.newaxis].astype(dtype)
    model, X = fixed(margins, list("ab"), variance=variance)
    probabilities = model.predict_proba(X)
    predicted = model.predict(X)
    np.testing.assert_array_equal(
        predicted, model.classes_[probabilities.argmax(axis=1)]
    )
    tied = probabilities[:, 0] == probabilities[:, 1]
    assert tied.any() and (predicted[tied] == "a").all()
