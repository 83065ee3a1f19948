"""What feature maps are given (own rows, weights, names of columns), and give."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from odalib import ODAClassifier, ODAClusterer, ODARegressor
from odalib.estimators._feature_map import FeatureMap

from .conformance.comparing import answers, assert_close, assert_same_bits

IRIS, SPECIES = load_iris(return_X_y=True)
NAMES = list("abcd")
WEIGHTS = np.random.default_rng(0).integers(1, 4, 150)
ESTIMATORS = {
    "clusterer": ODAClusterer(8, random_state=0),
    "classifier": ODAClassifier(8, metric=None, polish=None, random_state=0),
    "regressor": ODARegressor(8, metric=None, random_state=0),
}
every_estimator = pytest.mark.parametrize(
    "estimator", ESTIMATORS.values(), ids=ESTIMATORS
)


def made(estimator, resolutions, X=IRIS, y=SPECIES, **params):
    return clone(estimator).set_params(resolutions=resolutions).fit(X, y, **params)


def less_five(X):
    X -= 5.0
    return X


# Rows of their own


@pytest.mark.parametrize(
    ("in_place", "apart"),
    [
        (StandardScaler(copy=False), StandardScaler()),
        (PCA(2, copy=False), PCA(2)),
        (less_five, lambda X: X - 5.0),
    ],
    ids=["scaler", "pca", "function"],
)
@every_estimator
def test_maps_that_overwrite_rows_change_nothing_else(estimator, in_place, apart):
    """Neither the rows of the caller nor what other levels see of them."""
    rows = IRIS.copy()
    found = made(estimator, [in_place, None, in_place], rows)
    expected = made(estimator, [apart, None, apart])
    np.testing.assert_array_equal(rows, IRIS)
    assert_same_bits(answers(found, rows), answers(expected, IRIS), "answers")
    found.partial_fit(rows, SPECIES)
    np.testing.assert_array_equal(rows, IRIS)


@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_that_are_read_only_are_copied_for_maps_that_write(order):
    rows = np.array(IRIS, order=order)
    rows.setflags(write=False)
    found = made(ESTIMATORS["clusterer"], [less_five, None], rows)
    expected = made(ESTIMATORS["clusterer"], [lambda X: X - 5.0, None], rows)
    assert_same_bits(answers(found, rows), answers(expected, rows), "read-only")


def test_sparse_rows_are_copied_too():
    rows = sp.csr_array(IRIS)
    made(ESTIMATORS["clusterer"], [MaxAbsScaler(copy=False), None], rows).predict(rows)
    np.testing.assert_array_equal(rows.toarray(), IRIS)


def test_rows_that_a_map_keeps_are_its_own():
    kept = []

    def keep(X):
        kept.append(X)
        return X

    rows = IRIS.copy()
    made(ESTIMATORS["clusterer"], [keep, None], rows)
    assert not any(np.shares_memory(one, rows) for one in kept)


# Transformers that know nothing of scikit-learn


class Centring(TransformerMixin):
    """Without the base class it has no tags, by which scikit-learn would go."""

    def fit(self, X, y=None):
        self.mean_ = X.mean(axis=0)
        return self

    def transform(self, X):
        return X - self.mean_


def test_transformers_without_tags_are_fitted_once():
    assert not FeatureMap.of(0, Centring(), None).is_ready
    bound = FeatureMap.of(0, Centring(), None).bind(IRIS)
    np.testing.assert_allclose(bound(IRIS).mean(axis=0), 0.0, atol=1e-14)
    fitted = Centring().fit(IRIS[:50])
    bound = FeatureMap.of(0, fitted, None).bind(IRIS)
    np.testing.assert_array_equal(bound(IRIS), IRIS - IRIS[:50].mean(axis=0))


# Layout


@pytest.mark.parametrize(
    "source",
    [[0, 2], [True, False, True, False], slice(0, 3, 2), np.asfortranarray],
    ids=["numbers", "mask", "slice", "function"],
)
def test_features_are_laid_out_row_by_row(source):
    """As compiled kernels take them: what columns are called by changes no bit."""
    bound = FeatureMap.of(0, source, None).bind(IRIS)
    assert bound(IRIS).flags.c_contiguous


# Weights


def scaled(X, weights):
    return StandardScaler().fit(X, sample_weight=weights).transform(X)


@pytest.mark.parametrize(
    "transformer",
    [
        StandardScaler(),
        make_pipeline(StandardScaler(), PCA(2)),
        Pipeline([("inner", make_pipeline(StandardScaler())), ("no", "passthrough")]),
    ],
    ids=["scaler", "pipeline", "nested"],
)
def test_transformers_that_take_weights_are_fitted_with_them(transformer):
    bound = FeatureMap.of(0, transformer, None).bind(IRIS, WEIGHTS.astype(float))
    expected = scaled(IRIS, WEIGHTS)
    if isinstance(transformer, Pipeline) and transformer.steps[-1][0] == "pca":
        expected = PCA(2).fit_transform(expected)
    np.testing.assert_allclose(bound(IRIS), expected, atol=1e-12)


@pytest.mark.parametrize("requested", [True, False])
def test_pipelines_take_weights_as_routed(requested):
    with config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=requested)
        pipeline = make_pipeline(scaler, PCA(4))
        bound = FeatureMap.of(0, pipeline, None).bind(IRIS, WEIGHTS.astype(float))
    weights = WEIGHTS if requested else None
    expected = PCA(4).fit_transform(scaled(IRIS, weights))
    np.testing.assert_allclose(bound(IRIS), expected, atol=1e-12)


class NoWeights(TransformerMixin, BaseEstimator):
    """Remembers the rows that it was fitted to."""

    def fit(self, X, y=None):
        self.rows_ = X
        return self

    def transform(self, X):
        return X


def test_transformers_that_take_none_are_fitted_to_the_rows():
    bound = FeatureMap.of(0, NoWeights(), None).bind(IRIS, WEIGHTS.astype(float))
    np.testing.assert_array_equal(bound.function.rows_, IRIS)


@every_estimator
def test_a_weight_is_so_many_rows_where_a_scaler_is_fitted_on_the_way(estimator):
    """Answers agree to the rounding of the means and scales."""
    maps = [[2], StandardScaler()]
    found = made(estimator, maps, sample_weight=WEIGHTS)
    often = np.repeat(np.arange(150), WEIGHTS)
    expected = made(estimator, maps, IRIS[often], SPECIES[often])
    assert_close(answers(found, IRIS), answers(expected, IRIS), "copies", rtol=1e-6)


# Names


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("frozen", [True, False])
def test_transformers_that_were_fitted_to_a_frame_are_given_one(frame, frozen):
    """Which they tell by its names, and warn where there are none."""
    named = pd.DataFrame(IRIS, columns=NAMES)
    chosen = ColumnTransformer([("scaled", StandardScaler(), ["c", "d"])]).fit(named)
    model = clone(ESTIMATORS["classifier"])
    model.resolutions = [FrozenEstimator(chosen) if frozen else chosen, None]
    rows = frame(IRIS) if frame is pl.DataFrame else named
    if frame is pl.DataFrame:
        rows = pl.DataFrame(IRIS, schema=NAMES)
    scaler = StandardScaler().fit(IRIS[:, 2:])
    expected = made(
        ESTIMATORS["classifier"], [lambda X: scaler.transform(X[:, 2:]), None], rows
    )
    found = model.fit(rows, SPECIES)
    np.testing.assert_array_equal(found.predict(rows), expected.predict(rows))
    found.partial_fit(rows, SPECIES).apply(rows)


def test_functions_and_transformers_without_names_are_given_arrays():
    seen = []

    def look(X):
        seen.append(type(X))
        return X

    rows = pd.DataFrame(IRIS, columns=NAMES)
    made(ESTIMATORS["clusterer"], [look, StandardScaler()], rows).predict(rows)
    assert set(seen) == {np.ndarray}
