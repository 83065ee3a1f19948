"""How PathSearchCV chooses, and what it says where it cannot."""

import pickle

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.exceptions import (
    ConvergenceWarning,
    FitFailedWarning,
)
from sklearn.model_selection import ShuffleSplit
from sklearn.pipeline import make_pipeline

from odalib import ODAClusterer, PathSearchCV

from .common import (
    CV,
    LARGEST,
    SPLITS,
    X,
    clusterer,
    scores_of,
    silhouette,
)


class FromTable:
    """Scorer that looks up the fold, told by its first row, and the number."""

    def __init__(self, table):
        folds = [X[test][0].tobytes() for _, test in SPLITS]
        self.columns = dict(zip(folds, np.transpose(table), strict=True))

    def __call__(self, estimator, X):
        return self.columns[X[0].tobytes()][estimator.n_clusters_ - 1]


# Means 0, 5, 6, 4. The standard error of the best is 1, that of the others 0, so that
# the margin begins at 5.
TABLE = [[0.0, 0.0, 0.0], [5.0, 5.0, 5.0], [4.0, 7.0, 7.0], [4.0, 4.0, 4.0]]


@pytest.mark.parametrize(
    ("second", "rule", "chosen"),
    [
        (5.0, "one_standard_error", 2),
        (4.99, "one_standard_error", 3),
        (5.0, "best", 3),
        (6.0, "best", 2),
    ],
)
def test_rules_choose_from_hand_made_scores(second, rule, chosen):
    table = np.array(TABLE)
    table[1] = second
    search = PathSearchCV(
        clusterer(), values=range(1, 5), scoring=FromTable(table), cv=CV, rule=rule
    ).fit(X)
    assert search.cv_results_["standard_error_test_score"][2] == pytest.approx(1.0)
    assert search.best_params_ == {"n_clusters": chosen}
    assert search.best_index_ == chosen - 1
    assert search.best_score_ == table[chosen - 1].mean()
    assert search.best_estimator_.n_clusters_ == chosen


def test_default_rule_is_one_standard_error():
    assert PathSearchCV(clusterer()).rule == "one_standard_error"


def test_one_fold_has_no_standard_error():
    one_fold = ShuffleSplit(1, random_state=0)
    with pytest.raises(ValueError, match="at least two folds; cv gave 1"):
        PathSearchCV(clusterer(), cv=one_fold).fit(X)
    search = PathSearchCV(clusterer(), cv=one_fold, rule="best").fit(X)
    assert np.isnan(search.cv_results_["standard_error_test_score"]).all()
    assert search.best_params_ == {"n_clusters": LARGEST}


def test_number_that_a_scorer_refuses_is_never_chosen():
    search = PathSearchCV(clusterer(), values=[1, 2, 3], scoring=silhouette, cv=CV)
    with pytest.warns(UserWarning, match=r"for \[1\] codevectors(?s:.*)of labels is 1"):
        search.fit(X)
    assert np.isnan(search.cv_results_["mean_test_score"]).tolist() == [1, 0, 0]
    assert search.cv_results_["rank_test_score"][0] == 3
    assert search.best_params_ == {"n_clusters": 2}
    with pytest.raises(ValueError, match="Number of labels is 1"):
        search.set_params(error_score="raise").fit(X)


def test_value_beyond_the_path_is_named():
    few = np.repeat([[0.0], [1.0], [5.0]], 20, axis=0)
    search = PathSearchCV(clusterer(), values=[2, 3, 4], cv=CV)
    with (
        pytest.warns(ConvergenceWarning, match="3 distinct rows"),
        pytest.warns(UserWarning, match="n_clusters=4 is not on the path"),
    ):
        search.fit(few)
    assert search.best_params_ == {"n_clusters": 3}


def test_a_score_may_be_an_array_of_one_number():
    search = PathSearchCV(clusterer(), values=[1, 2], cv=CV)
    plain = search.set_params(scoring=lambda model, X: -model.n_clusters_).fit(X)
    expected = scores_of(plain)
    search.set_params(scoring=lambda model, X: np.array(-model.n_clusters_)).fit(X)
    np.testing.assert_array_equal(scores_of(search), expected)


def test_fold_that_cannot_be_fitted():
    class RefusesRow(ODAClusterer):
        def fit(self, X, y=None):
            if (X == first).all(axis=1).any():
                raise RuntimeError("row refused")
            return super().fit(X)

    # The row is held out in one fold, and so it spoils the fits of the two others.
    first = X[41]
    search = PathSearchCV(
        RefusesRow(LARGEST, random_state=0), cv=CV, refit=False, error_score=-99.0
    )
    with pytest.warns(FitFailedWarning, match="2 of 3 fits failed(?s:.*)row refused"):
        search.fit(X)
    assert (scores_of(search) == -99.0).all(axis=0).sum() == 2
    with pytest.raises(RuntimeError, match="row refused"):
        search.set_params(error_score="raise").fit(X)
    with pytest.raises(ValueError, match=r"No number .* to choose(?s:.*)row refused"):
        search.set_params(error_score=np.nan).fit(X)


def test_failed_fit_leaves_the_search_as_it_was():
    search = PathSearchCV(clusterer(), cv=CV).fit(X)
    before = pickle.dumps(search)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        search.fit(np.full_like(X, np.nan))
    assert pickle.dumps(search) == before


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"estimator": KMeans()}, TypeError, r"with a path.*KMeans\(\) has no .* `at`"),
        ({"estimator": make_pipeline(KMeans())}, TypeError, "KMeans.* no method `at`"),
        ({"estimator": "clusterer"}, ValueError, "'estimator' parameter"),
        ({"estimator": clusterer(n_clusters=0)}, ValueError, "n_clusters .* not 0"),
        ({"values": []}, ValueError, "values is empty"),
        ({"values": [2, 0]}, ValueError, "values .* positive integers only, not 0"),
        ({"values": [2.5]}, ValueError, "values .* positive integers only, not 2.5"),
        ({"values": [True]}, ValueError, "values .* positive integers only, not True"),
        ({"values": 3}, ValueError, "'values' parameter"),
        ({"rule": "two_standard_errors"}, ValueError, "'rule' parameter"),
        ({"scoring": "no_such_scorer"}, ValueError, "'scoring' parameter"),
        ({"error_score": "ignore"}, ValueError, "'error_score' parameter"),
        ({"scoring": lambda *_: [1.0]}, ValueError, "one number, not \\[1.0\\]"),
    ],
)
def test_bad_parameters_are_named(params, error, message):
    search = PathSearchCV(**{"estimator": clusterer(), "cv": CV, **params})
    with pytest.raises(error, match=message):
        search.fit(X)
