"""The rows that levels of a path learn, and the numbers that paths hold."""

from contextlib import nullcontext

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.datasets import load_iris
from sklearn.metrics import make_scorer, r2_score
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from odalib import ODAClassifier, ODAClusterer, ODARegressor, PathSearchCV, Resolution
from odalib.model_selection.levels import rows_of_fit

from .common import CV, X, Y, scores_of

IRIS, SPECIES = load_iris(return_X_y=True)
RNG = np.random.default_rng(0)
TOWNS = RNG.integers(0, 40, (150, 1)).astype(float)
NOISE = RNG.standard_normal(150)
WEIGHTS = RNG.integers(1, 4, 150).astype(float)
FOLDS = KFold(3, shuffle=True, random_state=0)
PLAIN = {"metric": None, "random_state": 0}


class MeanTarget(TransformerMixin, BaseEstimator):
    """Gives the mean target of a town, while it is fitted that of the other rows."""

    def fit(self, X, y):
        self.towns_, self.which_ = np.unique(X[:, 0], return_inverse=True)
        self.counts_ = np.bincount(self.which_)
        self.sums_ = np.bincount(self.which_, y)
        return self

    def fit_transform(self, X, y):
        self.fit(X, y)
        others = self.counts_[self.which_] - 1.0
        return ((self.sums_[self.which_] - y) / np.maximum(others, 1.0))[:, np.newaxis]

    def transform(self, X):
        same = X == self.towns_
        return (same @ self.sums_ / np.maximum(same @ self.counts_, 1))[:, np.newaxis]


class HasTransformed(TransformerMixin, BaseEstimator):
    """Gives rows that are far off where it is fitted, and counts what it is asked."""

    n_transformed = 0

    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def fit_transform(self, X, y=None):
        return self.fit(X, y).transform(X) + 100.0

    def transform(self, X):
        HasTransformed.n_transformed += len(X)
        return X


def level_by_hand(regressor, number, train, test, weights=None):
    """Score of a level that has learnt what the encoder gave while it was fitted."""
    encoder = MeanTarget()
    rows = encoder.fit_transform(TOWNS[train], NOISE[train])
    taught = {"X": rows, "y": NOISE[train], "sample_weight": weights}
    level = clone(regressor).fit(*taught.values()).at(n_codevectors=number, **taught)
    return level.score(encoder.transform(TOWNS[test]), NOISE[test])


@pytest.mark.parametrize("cached", [True, False], ids=["memory", "no memory"])
def test_levels_learn_the_rows_that_the_last_step_was_fitted_to(cached, tmp_path):
    """Those of an encoder of the target, which leave each row itself out."""
    regressor = ODARegressor(9, **PLAIN)
    pipeline = make_pipeline(
        MeanTarget(), regressor, memory=str(tmp_path) if cached else None
    )
    for searched in (pipeline, Pipeline([("inner", pipeline)])):
        search = PathSearchCV(searched, values=[3, 9], cv=FOLDS, refit=False)
        found = scores_of(search.fit(TOWNS, NOISE))[0]
        expected = [
            level_by_hand(regressor, 3, train, test)
            for train, test in FOLDS.split(TOWNS)
        ]
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("routed", [True, False])
def test_weights_of_the_last_step_reach_its_levels(routed):
    regressor = ODARegressor(9, **PLAIN)
    name = "odaregressor__sample_weight"
    with config_context(enable_metadata_routing=routed):
        asks, scorer = regressor, make_scorer(r2_score)
        if routed:
            name = "sample_weight"
            scorer = scorer.set_score_request(sample_weight=False)
            asks = clone(regressor).set_fit_request(sample_weight=True)
        search = PathSearchCV(
            make_pipeline(MeanTarget(), asks),
            values=[3, 9],
            scoring=scorer,
            cv=FOLDS,
            refit=False,
        )
        found = scores_of(search.fit(TOWNS, NOISE, **{name: WEIGHTS}))[0]
    expected = [
        level_by_hand(regressor, 3, train, test, WEIGHTS[train])
        for train, test in FOLDS.split(TOWNS)
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_rows_of_a_fit_are_not_transformed_again():
    HasTransformed.n_transformed = 0
    pipeline = make_pipeline(HasTransformed(), ODAClassifier(6, **PLAIN))
    search = PathSearchCV(
        pipeline, values=[3, 6], cv=FOLDS, scoring="accuracy", refit=False
    )
    search.fit(IRIS, SPECIES)
    # In each fold the rows of the fit once, and those held out for both numbers.
    assert HasTransformed.n_transformed == 3 * 100 + 2 * 150


@pytest.mark.parametrize("number", [2, 3])
def test_what_is_noted_of_a_fit_leaves_nothing_behind(number):
    """Also where it fails: two codevectors are too few for three classes."""
    pipeline = make_pipeline(StandardScaler(), ODAClassifier(number, **PLAIN))
    with (
        nullcontext() if number == 3 else pytest.raises(ValueError, match="is less"),
        rows_of_fit(pipeline) as noted,
    ):
        pipeline.fit(IRIS, SPECIES, odaclassifier__sample_weight=WEIGHTS)
    assert "fit" not in vars(pipeline[-1])
    assert list(noted) == ["X", "y", "sample_weight"]
    np.testing.assert_array_equal(noted["X"], pipeline[0].transform(IRIS))


def test_without_values_numbers_end_at_the_rows_of_a_fold():
    regressor = ODARegressor(**PLAIN)
    rows = np.linspace(0.0, 3.0, 15)[:, np.newaxis]
    search = PathSearchCV(regressor, cv=FOLDS, refit=False)
    search.fit(rows, np.sin(rows[:, 0]))
    assert search.cv_results_["param_n_codevectors"].tolist() == list(range(1, 11))
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_without_values_numbers_begin_where_all_paths_do():
    """A tree has a leaf below every node; that a path holds no fewer is no failure."""
    tree = ODAClusterer(8, resolutions=[[2], None], random_state=0)
    search = PathSearchCV(tree, cv=CV, scoring="adjusted_rand_score").fit(X, Y)
    numbers = search.cv_results_["param_n_clusters"].tolist()
    least = 1
    for train, _ in CV.split(X):
        fitted = clone(tree).fit(X[train])
        tops = fitted.tree_.parent[-fitted.n_clusters_ :]
        least = max(least, len(np.unique(tops)))
    assert least > 1
    assert numbers == list(range(least, 9))
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_params_["n_clusters"] == numbers[search.best_index_]


def test_without_values_no_number_is_below_that_of_a_resolution():
    """Though it finds but three codevectors, and the paths begin there."""
    coarse = Resolution([0], n_codevectors=4)
    tree = ODAClusterer(6, resolutions=[coarse, None], random_state=0)
    search = PathSearchCV(tree, cv=CV).fit(np.c_[Y, X])
    assert search.cv_results_["param_n_clusters"].tolist() == [4, 5, 6]


def test_a_number_that_is_given_and_on_no_path_is_told():
    tree = ODAClusterer(6, resolutions=[[2], None], random_state=0)
    search = PathSearchCV(tree, values=[1, 6], cv=CV)
    with pytest.warns(UserWarning, match=r"n_clusters=1 is not .*; take \d at least"):
        search.fit(X)
    with pytest.raises(ValueError, match=r"10 is not .*; fit with a larger"):
        search.best_estimator_.at(n_clusters=10)


def test_what_predict_takes_is_passed_on():
    search = PathSearchCV(ODARegressor(4, **PLAIN), values=[2, 4], cv=FOLDS)
    search.fit(IRIS, IRIS[:, 0])
    found = search.predict(IRIS[:5], return_std=True)
    expected = search.best_estimator_.predict(IRIS[:5], return_std=True)
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(TypeError, match=r"ODAClusterer.predict\(\) got an unexpected"):
        PathSearchCV(ODAClusterer(2), cv=CV).fit(X).predict(X, return_std=True)
