"""PathSearchCV as an estimator: parameters of fit, routing, delegation, copies."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone, is_clusterer
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks

from odalib import PathSearchCV

from .common import (
    CV,
    LARGEST,
    NUMBERS,
    X,
    Y,
    clusterer,
    scores_by_hand,
    scores_of,
)


def weights():
    return np.random.default_rng(0).integers(1, 4, len(X)).astype(float)


def weighted_scores(train, test, score_weight):
    w = weights()
    fitted = clusterer().fit(X[train], sample_weight=w[train])
    levels = [fitted.at(n_clusters=k) for k in NUMBERS]
    return [m.score(X[test], sample_weight=score_weight(w, test)) for m in levels]


def test_weights_go_to_the_fit_and_the_score():
    search = PathSearchCV(clusterer(), cv=CV).fit(X, sample_weight=weights())
    expected = scores_by_hand(
        lambda train, test: weighted_scores(train, test, lambda w, test: w[test])
    )
    np.testing.assert_array_equal(scores_of(search), expected)
    assert search.best_estimator_.n_samples_seen_ == weights().sum()


def test_scorer_that_takes_no_weights_is_named():
    search = PathSearchCV(clusterer(), scoring="adjusted_rand_score", cv=CV)
    with pytest.warns(UserWarning, match="adjusted_rand_score.*no sample_weight"):
        search.fit(X, Y, sample_weight=weights())


def test_weights_reach_the_last_step_of_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), clusterer())
    search = PathSearchCV(pipeline, cv=CV)
    search.fit(X, odaclusterer__sample_weight=weights())
    assert search.best_estimator_[-1].n_samples_seen_ == weights().sum()


def test_groups_go_to_the_splitter():
    groups = np.arange(len(X)) % 10
    search = PathSearchCV(clusterer(), cv=GroupKFold(3)).fit(X, groups=groups)
    splits = list(GroupKFold(3).split(X, groups=groups))
    by_hand = PathSearchCV(clusterer(), cv=splits).fit(X)
    np.testing.assert_array_equal(scores_of(search), scores_of(by_hand))


def test_routing_sends_weights_where_they_are_requested():
    with config_context(enable_metadata_routing=True):
        asks = clusterer().set_fit_request(sample_weight=True)
        both = clone(asks).set_score_request(sample_weight=True)
        fit_only = clone(asks).set_score_request(sample_weight=False)
        weighted = PathSearchCV(both, cv=CV).fit(X, sample_weight=weights())
        plain = PathSearchCV(fit_only, cv=CV).fit(X, sample_weight=weights())
        score = weighted.score(X, sample_weight=weights())
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            PathSearchCV(clusterer(), cv=CV).fit(X, sample_weight=weights())
    for search, score_weight in [
        (weighted, lambda w, test: w[test]),
        (plain, lambda w, test: None),
    ]:
        expected = scores_by_hand(
            lambda train, test, score_weight=score_weight: weighted_scores(
                train, test, score_weight
            )
        )
        np.testing.assert_array_equal(scores_of(search), expected)
    assert score == weighted.best_estimator_.score(X, sample_weight=weights())


def test_routing_sends_groups_to_the_splitter():
    groups = np.arange(len(X)) % 10
    without = PathSearchCV(clusterer(), cv=GroupKFold(3)).fit(X, groups=groups)
    with config_context(enable_metadata_routing=True):
        routed = PathSearchCV(clusterer(), cv=GroupKFold(3)).fit(X, groups=groups)
    np.testing.assert_array_equal(scores_of(routed), scores_of(without))


@pytest.fixture(scope="module")
def fitted():
    frame = pd.DataFrame(X, columns=list("abcd"))
    return PathSearchCV(clusterer(), values=[3, 5], cv=CV).fit(frame)


@pytest.mark.parametrize(
    "method",
    ["predict", "predict_proba", "predict_log_proba", "transform", "score_samples"],
)
def test_methods_are_those_of_the_best_estimator(fitted, method):
    frame = pd.DataFrame(X[:9], columns=list("abcd"))
    expected = getattr(fitted.best_estimator_, method)(frame)
    np.testing.assert_array_equal(getattr(fitted, method)(frame), expected)
    with pytest.raises(NotFittedError):
        getattr(clone(fitted), method)(frame)
    assert not hasattr(PathSearchCV(clusterer(), refit=False), method)
    assert not hasattr(PathSearchCV(StandardScaler()), "predict")


def test_attributes_are_those_of_the_best_estimator(fitted):
    best = clusterer(n_clusters=5).fit(pd.DataFrame(X, columns=list("abcd")))
    np.testing.assert_array_equal(fitted.labels_, best.labels_)
    assert fitted.n_features_in_ == 4
    assert fitted.feature_names_in_.tolist() == list("abcd")
    assert fitted.refit_time_ > 0.0
    assert fitted.n_splits_ == 3
    for name in ("labels_", "n_features_in_", "feature_names_in_"):
        assert not hasattr(clone(fitted), name)


def test_without_refit_the_choice_is_there_and_no_model(fitted):
    chosen = clone(fitted).set_params(refit=False).fit(X)
    assert chosen.best_params_ == fitted.best_params_
    assert not hasattr(chosen, "best_estimator_")
    assert not hasattr(chosen, "labels_")
    with pytest.raises(AttributeError) as caught:
        chosen.predict(X)
    assert "refit=False" in str(caught.value.__cause__)


def test_parameters_copies_and_tags(fitted):
    search = PathSearchCV(clusterer(), values=[3, 5], cv=CV)
    assert search.get_params()["estimator__n_clusters"] == LARGEST
    assert search.set_params(estimator__tol=0.01).estimator.tol == 0.01
    assert clone(fitted).values == [3, 5]
    copied = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copied.labels_, fitted.labels_)
    assert copied.best_params_ == fitted.best_params_
    assert is_clusterer(search)
    assert "PathSearchCV" in search._repr_html_()


@pytest.mark.parametrize(
    "check",
    [
        estimator_checks.check_no_attributes_set_in_init,
        estimator_checks.check_estimators_unfitted,
        estimator_checks.check_estimators_nan_inf,
        estimator_checks.check_estimators_overwrite_params,
        estimator_checks.check_estimators_pickle,
        estimator_checks.check_fit_check_is_fitted,
        estimator_checks.check_dict_unchanged,
        estimator_checks.check_dtype_object,
        estimator_checks.check_fit_score_takes_y,
        estimator_checks.check_fit2d_predict1d,
        estimator_checks.check_methods_subset_invariance,
        estimator_checks.check_n_features_in,
        estimator_checks.check_n_features_in_after_fitting,
        estimator_checks.check_param_validation,
        estimator_checks.check_pipeline_consistency,
        estimator_checks.check_readonly_memmap_input,
    ],
    ids=lambda check: check.__name__,
)
def test_check_of_scikit_learn(check):
    search = PathSearchCV(clusterer(n_clusters=3), cv=2, error_score="raise")
    check("PathSearchCV", search)
