"""GridSearchCV over every estimator gives the same scores on every back end."""

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from odalib import (
    ADFProbitClassifier,
    EPGaussianProcessClassifier,
    EPProbitClassifier,
    IsingModel,
    ODAClassifier,
    ODAClusterer,
    ODARegressor,
    PathSearchCV,
)
from tests.conformance.comparing import answers, assert_same_bits

RANDOM = np.random.default_rng(0)
ROWS = RANDOM.standard_normal((40, 3))
LABELS = (ROWS[:, 0] + 0.5 * RANDOM.standard_normal(40) > 0).astype(int)
SEARCHES = {
    "ADFProbitClassifier": (
        ADFProbitClassifier(random_state=0),
        {"prior_variance": [0.1, 1.0]},
    ),
    "EPGaussianProcessClassifier": (
        EPGaussianProcessClassifier(optimizer=None),
        {"solver": ["parallel", "auto"]},
    ),
    "EPProbitClassifier": (EPProbitClassifier(), {"prior_variance": [0.1, 1.0]}),
    "IsingModel": (IsingModel(binarize=0.0), {"alpha": [0.1, 1.0]}),
    "ODAClassifier": (
        ODAClassifier(decision="nearest", metric=None, polish=None, random_state=0),
        {"n_codevectors": [2, 4]},
    ),
    "ODAClusterer": (ODAClusterer(random_state=0), {"n_clusters": [2, 4]}),
    "ODARegressor": (
        ODARegressor(metric=None, random_state=0),
        {"n_codevectors": [2, 4]},
    ),
}


def scores(estimator, grid):
    search = GridSearchCV(estimator, grid, cv=2, error_score="raise")
    return search.fit(ROWS, LABELS).cv_results_["mean_test_score"]


@pytest.fixture(scope="module")
def one_by_one():
    """Scores of every search without a back end."""
    return {name: scores(*search) for name, search in SEARCHES.items()}


@pytest.mark.parametrize("backend", ["loky", "threading", "dask"])
def test_scores_do_not_depend_on_the_back_end(processes, one_by_one, backend):
    options = {"client": processes} if backend == "dask" else {}
    with joblib.parallel_config(backend=backend, n_jobs=2, **options):
        for name, search in SEARCHES.items():
            found = scores(*search)
            np.testing.assert_array_equal(found, one_by_one[name], err_msg=name)


# These compute in parallel themselves.
PARALLEL = {
    "clusterer": ODAClusterer(3, random_state=0),
    "pairs of classes": EPGaussianProcessClassifier(
        optimizer=None, multi_class="one_vs_one"
    ),
    "search": PathSearchCV(ODAClusterer(random_state=0), values=[2, 3], cv=2),
}


@pytest.mark.parametrize("backend", ["loky", "threading", "dask"])
@pytest.mark.parametrize("name", PARALLEL)
def test_a_fit_does_not_depend_on_the_back_end(processes, name, backend):
    model, labels = PARALLEL[name], np.arange(40) % 3
    alone = answers(clone(model).fit(ROWS, labels), ROWS)
    options = {"client": processes} if backend == "dask" else {}
    with joblib.parallel_config(backend=backend, n_jobs=2, **options):
        found = answers(clone(model).set_params(n_jobs=2).fit(ROWS, labels), ROWS)
    assert_same_bits(found, alone, f"answers of a fit with back end {backend}")
