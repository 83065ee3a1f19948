"""PathSearchCV scores as a loop over folds does, at the cost of one fit per fold."""

import re
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from odalib import ODAClusterer, PathSearchCV

from .common import (
    CV,
    LARGEST,
    NUMBERS,
    SPLITS,
    X,
    Y,
    clusterer,
    scores_by_hand,
    scores_of,
    silhouette,
)


class Recorder(ODAClusterer):
    """Writes down the rows and the number of every fit."""

    fits: ClassVar[list] = []

    def fit(self, X, y=None, sample_weight=None):
        Recorder.fits.append((len(X), self.n_clusters))
        return super().fit(X, y, sample_weight)


class RecordingScaler(StandardScaler):
    """Writes down the rows of every fit."""

    fits: ClassVar[list] = []

    def fit(self, X, y=None, sample_weight=None):
        RecordingScaler.fits.append(len(X))
        return super().fit(X, y, sample_weight)


@pytest.fixture(autouse=True)
def _forget():
    Recorder.fits.clear()
    RecordingScaler.fits.clear()


def test_scores_are_those_of_a_loop_over_folds():
    def evaluate(train, test):
        fitted = clusterer().fit(X[train])
        return [fitted.at(n_clusters=k).score(X[test]) for k in NUMBERS]

    search = PathSearchCV(clusterer(), cv=CV).fit(X)
    np.testing.assert_array_equal(scores_of(search), scores_by_hand(evaluate))


def test_table_has_the_columns_of_a_grid_search():
    search = PathSearchCV(clusterer(), values=[1, 3, 5], cv=CV).fit(X)
    grid = GridSearchCV(clusterer(), {"n_clusters": [1, 3, 5]}, cv=CV).fit(X)
    table, scores = search.cv_results_, scores_of(search)
    assert set(table) == {*grid.cv_results_, "standard_error_test_score"}
    assert table["params"] == grid.cv_results_["params"]
    assert table["param_n_clusters"].tolist() == [1, 3, 5]
    assert not np.ma.getmaskarray(table["param_n_clusters"]).any()
    np.testing.assert_allclose(table["mean_test_score"], scores.mean(axis=1))
    np.testing.assert_allclose(table["std_test_score"], scores.std(axis=1))
    np.testing.assert_allclose(
        table["standard_error_test_score"], scores.std(axis=1, ddof=1) / np.sqrt(3)
    )
    assert table["rank_test_score"].tolist() == [3, 2, 1]
    assert len(pd.DataFrame(table)) == 3


def test_every_fold_is_fitted_once():
    search = PathSearchCV(Recorder(n_clusters=LARGEST, random_state=0), cv=CV).fit(X)
    assert Recorder.fits == [
        *((len(train), LARGEST) for train, _ in SPLITS),
        (len(X), search.best_params_["n_clusters"]),
    ]


def test_values_are_tried_in_rising_order_and_only_once():
    search = PathSearchCV(Recorder(random_state=0), values=(4, 2, 4), cv=CV).fit(X)
    assert [params["n_clusters"] for params in search.cv_results_["params"]] == [2, 4]
    assert Recorder.fits[:3] == [(len(train), 4) for train, _ in SPLITS]


def test_without_a_number_the_values_go_up_to_max_clusters():
    search = PathSearchCV(ODAClusterer(max_clusters=5, random_state=0), cv=CV).fit(X)
    assert search.cv_results_["param_n_clusters"].tolist() == [1, 2, 3, 4, 5]


def test_number_of_jobs_changes_no_score():
    alone = PathSearchCV(clusterer(), cv=CV).fit(X)
    together = PathSearchCV(clusterer(), cv=CV, n_jobs=2).fit(X)
    np.testing.assert_array_equal(scores_of(alone), scores_of(together))


@pytest.mark.parametrize("container", [sp.csr_array, pd.DataFrame])
def test_other_containers_give_the_same_scores(container):
    dense = PathSearchCV(clusterer(), cv=CV).fit(X)
    other = PathSearchCV(clusterer(), cv=CV).fit(container(X))
    np.testing.assert_allclose(scores_of(other), scores_of(dense), rtol=1e-9)


def test_verbose_prints_a_line_per_fold(capsys):
    PathSearchCV(clusterer(), cv=CV, verbose=1).fit(X)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert all(re.match(r"\[PathSearchCV\] 100 rows .* 8 numbers", li) for li in lines)


@pytest.mark.parametrize("nested", [False, True])
def test_pipeline_is_fitted_once_per_fold_and_scored_as_a_loop_does(nested):
    def evaluate(train, test):
        scaler = StandardScaler().fit(X[train])
        fitted = clusterer().fit(scaler.transform(X[train]))
        rows = scaler.transform(X[test])
        return [fitted.at(n_clusters=k).score(rows) for k in NUMBERS]

    steps = RecordingScaler(), clusterer()
    pipeline = make_pipeline(*steps)
    parameter = "odaclusterer__n_clusters"
    if nested:
        pipeline = Pipeline([("inner", pipeline)])
        parameter = "inner__odaclusterer__n_clusters"
    search = PathSearchCV(pipeline, cv=CV, rule="best").fit(X)
    np.testing.assert_array_equal(scores_of(search), scores_by_hand(evaluate))
    assert RecordingScaler.fits == [*(len(train) for train, _ in SPLITS), len(X)]
    assert search.best_params_ == {parameter: LARGEST}
    assert search.labels_.shape == (len(X),)
    assert not hasattr(steps[0], "mean_")
    assert not hasattr(steps[1], "cluster_centers_")


def test_scorer_with_labels():
    def evaluate(train, test):
        fitted = clusterer().fit(X[train])
        levels = [fitted.at(n_clusters=k) for k in NUMBERS]
        return [adjusted_rand_score(Y[test], m.predict(X[test])) for m in levels]

    search = PathSearchCV(clusterer(), scoring="adjusted_rand_score", cv=CV)
    search.fit(X, Y)
    np.testing.assert_array_equal(scores_of(search), scores_by_hand(evaluate))
    assert search.best_params_ == {"n_clusters": 3}
    assert search.score(X, Y) == adjusted_rand_score(Y, search.labels_)


def test_scorer_may_keep_the_pipelines_it_is_given():
    kept = []

    def scorer(estimator, X):
        kept.append(estimator)
        return 0.0

    pipeline = make_pipeline(StandardScaler(), clusterer())
    PathSearchCV(pipeline, scoring=scorer, cv=CV).fit(X)
    assert [level[-1].n_clusters_ for level in kept] == 3 * NUMBERS
    assert len({id(level[0]) for level in kept}) == 3


def test_scorer_without_labels():
    search = PathSearchCV(clusterer(), values=[2, 3, 4], scoring=silhouette, cv=CV)
    search.fit(X)
    fitted = clusterer(n_clusters=4).fit(X[SPLITS[0][0]])
    held_out = X[SPLITS[0][1]]
    assert search.cv_results_["split0_test_score"].tolist() == [
        silhouette(fitted.at(n_clusters=k), held_out) for k in (2, 3, 4)
    ]
    assert search.best_params_ == {"n_clusters": 2}


@pytest.mark.parametrize("power", [0, 500, 600, -500])
def test_scores_too_large_to_square_have_a_spread(power):
    """In units of any power of two the same number is chosen, by the same scores."""
    factor = 2.0**power

    def search(unit):
        def scorer(estimator, rows, y=None):
            return unit * estimator.score(rows)

        return PathSearchCV(clusterer(), cv=CV, scoring=scorer).fit(X)

    plain, large = search(1.0), search(factor)
    assert large.best_params_ == plain.best_params_
    for name in ("mean_test_score", "std_test_score", "standard_error_test_score"):
        np.testing.assert_array_equal(
            large.cv_results_[name], plain.cv_results_[name] * factor
        )
