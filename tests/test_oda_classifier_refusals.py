"""Bad input to ODAClassifier: errors that name the part, and nothing lost."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.datasets import load_iris
from sklearn.preprocessing import StandardScaler

from odalib import ODAClassifier, Resolution

from .conformance.comparing import leaves

IRIS, SPECIES = load_iris(return_X_y=True)


def few(n_codevectors=6, **params):
    """Classifier that is quick to fit: the divergence as it is, no polish."""
    params = {"metric": None, "polish": None, "random_state": 0, **params}
    return ODAClassifier(n_codevectors, **params)


class FailsToFit(StandardScaler):
    def fit(self, X, y=None):
        raise RuntimeError("this scaler does not fit")


class FailsToTransform(StandardScaler):
    def transform(self, X):
        raise ZeroDivisionError("this scaler does not transform")


class Plain:
    """Transformer that knows nothing of scikit-learn, and fails."""

    def fit(self, X):
        raise RuntimeError("this transformer does not fit")

    def transform(self, X):
        return X


def holed(X):
    return np.where(X > 7.0, np.nan, X)


TARGETS = {
    "one class": (np.full(150, 4), r"all of one class, 4\."),
    "one class of text": (np.full(150, "ham"), "all of one class, 'ham'"),
    "NaN": (np.where(SPECIES == 1, np.nan, SPECIES), "Input y contains NaN"),
    "infinity": (np.where(SPECIES == 1, np.inf, SPECIES), "Input y contains infinity"),
    "None among names": (np.array([None, "a", "b"] * 50), "none is missing"),
    "names and numbers": (np.array([1, "a", "b"] * 50, object), "or all numbers"),
    "continuous": (IRIS[:, 0] / 3.0, "continuous"),
    "two columns": (np.c_[SPECIES, SPECIES], "1d array"),
    "too few": (SPECIES[:-1], "inconsistent numbers of samples"),
    "none": (None, "requires y to be passed"),
    "more classes than codevectors": (
        np.arange(150) % 50,
        "n_codevectors=6 is less than",
    ),
}

PARAMETERS = {
    "codevectors": ({"n_codevectors": 2}, "n_codevectors=2 is less than the 3 classes"),
    "no codevectors": ({"n_codevectors": 0}, "'n_codevectors' parameter"),
    "decision": ({"decision": "vote"}, "'decision' parameter"),
    "metric": ({"metric": "euclidean"}, "'metric' parameter"),
    "metric of a divergence": (
        {"metric": "learned", "divergence": "kullback_leibler"},
        "metric='learned' is for dense X and divergence='squared_euclidean'",
    ),
    "polish": ({"polish": "glvq"}, "'polish' parameter"),
    "weight of a class that is not there": ({"class_weight": {7: 2.0}}, "class_weight"),
    "negative weight of a class": ({"class_weight": {0: -1.0}}, "class_weight"),
    "infinite weight of a class": ({"class_weight": {0: np.inf}}, "class_weight"),
    "weights by a word": ({"class_weight": "even"}, "'class_weight' parameter"),
    "warming": (
        {"max_temperature": 1.0, "min_temperature": 2.0},
        "max_temperature=1.0 is below min_temperature=2.0",
    ),
}

RESOLUTIONS = {
    "no list": (7, "'resolutions' parameter"),
    "text": ("ab", "'resolutions' parameter"),
    "a dict": ({0: None}, "'resolutions' parameter"),
    "empty": ([], "resolutions is empty"),
    "unknown names": ([["petal", "leaf"], None], r"\[0\] names columns .*'petal'"),
    "one unknown name": ([None, "petal"], r"\[1\] names columns .*'petal'"),
    "a number that is none": ([3.5, None], r"resolutions\[0\] must be None, column"),
    "columns out of range": ([[0, 9], None], r"resolutions\[0\] \(\[0, 9\]\) failed"),
    "no columns": ([[], None], r"resolutions\[0\] must be"),
    "an empty slice": ([slice(7, 9), None], r"resolutions\[0\] .*minimum of 1"),
    "a short mask": ([[True, False], None], r"resolutions\[0\]"),
    "fewer rows": ([None, lambda X: X[::2]], r"resolutions\[1\] .*gave 75 rows .*150"),
    "more rows": ([lambda X: np.r_[X, X], None], r"\[0\] .*gave 300 rows for 150"),
    "one dimension": ([lambda X: X[:, 0], None], r"resolutions\[0\]"),
    "NaN": ([holed, None], r"output of resolutions\[0\] contains NaN"),
    "nothing": ([lambda X: None, None], r"resolutions\[0\]"),
    "a function that fails": ([lambda X: X @ X, None], r"resolutions\[0\] .*failed"),
    "no fit": ([FailsToFit(), None], r"\[0\] \(FailsToFit\(\)\) failed: this scaler"),
    "no fit, finer": ([None, Plain()], r"resolutions\[1\] .*this transformer does not"),
    "no transform": (
        [None, None, FailsToTransform()],
        r"resolutions\[2\] \(FailsToTransform\(\)\) failed: this scaler does not",
    ),
    "fewer codevectors later": (
        [Resolution(n_codevectors=5), Resolution(n_codevectors=4), None],
        r"resolutions\[1\] has 4 codevectors, fewer than the 5",
    ),
    "a number of the last": (
        [None, Resolution(n_codevectors=6)],
        r"resolutions\[1\] is the last .* set the number .* of the estimator",
    ),
    "more codevectors first": (
        [Resolution([0], n_codevectors=9), None],
        r"resolutions\[1\] has 6 codevectors, fewer than the 9",
    ),
    "no codevectors": ([Resolution(n_codevectors=0)], r"n_codevectors of .*\[0\]"),
    "half a codevector": ([Resolution(n_codevectors=2.5)], r"n_codevectors of .*\[0\]"),
    "no temperature": (
        [None, Resolution(min_temperature=-1.0)],
        r"min_temperature of resolutions\[1\] must be a positive number",
    ),
    "a temperature by a word": (
        [Resolution(max_temperature="warm"), None],
        r"max_temperature of resolutions\[0\] must be a positive number.*'warm'",
    ),
    "warming": (
        [None, Resolution(max_temperature=1.0, min_temperature=2.0)],
        r"max_temperature=1.0 of resolutions\[1\] is below min_temperature=2.0",
    ),
    "a class": ([StandardScaler, None], r"\[0\] is the class StandardScaler; give an"),
    "a resolution of a resolution": (
        [None, Resolution(Resolution([0]))],
        r"resolutions\[1\] is a Resolution of a Resolution",
    ),
}


def assert_refused(model, call, message):
    """Fail unless the call raises a ValueError and leaves every bit as it was."""
    before = leaves(vars(model))
    with pytest.raises(ValueError, match=message):
        call()
    after = leaves(vars(model))
    moved = [path for path in before | after if before.get(path) != after.get(path)]
    assert not moved, f"the refused call has moved {moved[:5]}"


@pytest.fixture(scope="module")
def fitted():
    return few().fit(IRIS, SPECIES)


def models(fitted):
    """An unfitted model, and one that holds what it has learnt of other rows."""
    known = few()
    vars(known).update(vars(fitted))
    return few(), known


@pytest.mark.parametrize(("y", "message"), TARGETS.values(), ids=TARGETS)
def test_targets(fitted, y, message):
    for model in models(fitted):
        assert_refused(model, lambda model=model: model.fit(IRIS[:, :3], y), message)


@pytest.mark.parametrize(("params", "message"), PARAMETERS.values(), ids=PARAMETERS)
def test_parameters(fitted, params, message):
    for model in models(fitted):
        model.set_params(**params)
        for method in (model.fit, model.partial_fit):
            assert_refused(model, lambda m=method: m(IRIS, SPECIES), message)


def test_the_metric_of_sparse_rows_is_not_learnt():
    with pytest.raises(ValueError, match="metric='learned' is for dense X"):
        few(metric="learned").fit(sp.csr_array(IRIS), SPECIES)


@pytest.mark.parametrize(
    ("resolutions", "message"), RESOLUTIONS.values(), ids=RESOLUTIONS
)
def test_resolutions(fitted, resolutions, message):
    for model in models(fitted):
        model.set_params(resolutions=resolutions)
        assert_refused(model, lambda model=model: model.fit(IRIS, SPECIES), message)


def test_names_need_columns_of_these_names():
    frame = pd.DataFrame(IRIS, columns=list("abcd"))
    model = few(resolutions=[["a", "q"], None])
    with pytest.raises(ValueError, match=r"\[0\] names columns .*\['q'\]"):
        model.fit(frame, SPECIES)
    model.set_params(resolutions=[["a", "b"], None])
    with pytest.raises(ValueError, match=r"\[0\] names columns .*\['a', 'b'\]"):
        model.fit(IRIS, SPECIES)
    assert not hasattr(model, "classes_")


class GivesLess(BaseEstimator):
    """Transformer that gives another number of features, or of rows, later."""

    def __init__(self, rows=None, columns=None):
        self.rows = rows
        self.columns = columns

    def fit(self, X, y=None):
        self.n_fitted_ = len(X)
        return self

    def transform(self, X):
        if len(X) == self.n_fitted_:
            return X
        return X[: self.rows, : self.columns]


@pytest.mark.parametrize(
    ("later", "message"),
    [
        (GivesLess(rows=3), r"resolutions\[0\] .*gave 3 rows for 9"),
        (GivesLess(columns=3), r"resolutions\[0\] .*gave 3 features, and 4 when"),
    ],
    ids=["rows", "features"],
)
def test_maps_that_change_their_mind(later, message):
    model = few(resolutions=[later, None]).fit(IRIS, SPECIES)
    model.predict(IRIS)
    for call in (
        lambda: model.predict(IRIS[:9]),
        lambda: model.apply(IRIS[:9]),
        lambda: model.explain(IRIS[:9]),
        lambda: model.partial_fit(IRIS[:9], SPECIES[:9]),
    ):
        assert_refused(model, call, message)


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_features_outside_of_the_domain_are_refused(method):
    """The rows are within, what a map makes of some is not; also in a stream."""
    message = r"output of resolutions\[0\] .* Kullback-Leibler .* takes x >= 0"
    maps = [lambda X: np.where(X > 7.0, -X, X), None]
    small = IRIS.max(axis=1) < 7.0
    model = few(divergence="kullback_leibler", resolutions=maps)
    assert_refused(model, lambda: getattr(model, method)(IRIS, SPECIES), message)
    getattr(model, method)(IRIS[small], SPECIES[small]).predict(IRIS[small])
    assert_refused(model, lambda: model.predict(IRIS), message)
    assert_refused(model, lambda: model.partial_fit(IRIS, SPECIES), message)


def test_resolutions_stay_in_mid_stream():
    model = few(resolutions=[[0, 1], None]).partial_fit(IRIS, SPECIES)
    model.set_params(resolutions=[[2, 3], None])
    before = leaves(vars(model))
    with pytest.raises(ValueError, match="resolutions cannot change in mid-stream"):
        model.partial_fit(IRIS, SPECIES)
    assert leaves(vars(model)) == before
    model.set_params(resolutions=None)
    with pytest.raises(ValueError, match="resolutions cannot change in mid-stream"):
        model.partial_fit(IRIS, SPECIES)
    assert model.fit(IRIS, SPECIES).tree_.n_levels == 1
