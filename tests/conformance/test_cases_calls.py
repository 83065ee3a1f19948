"""Faults that users of other libraries reported, of weights, streams and tools."""

import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, learning_curve
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from odalib import ODAClusterer

from .cases import (
    DIVERGENCES,
    ScaledEuclidean,
    blobs,
    clusterer,
    every_divergence,
    every_way,
    into_domain,
    slow_divergences,
)
from .comparing import assert_same_model, learnt, leaves

KIND = "reported cases"
ESTIMATORS = (ODAClusterer,)


@pytest.mark.parametrize("n_seen", [0, 60, 600])
def test_a_batch_without_weight_leaves_the_state(n_seen):
    """scikit-learn#33436: weights of zero, used to skip, move the state."""
    X, _ = blobs(60)
    model = clusterer()
    for _ in range(n_seen // 60):
        model.partial_fit(X)
    before = leaves(vars(model))
    with pytest.raises(ValueError, match="zero"):
        model.partial_fit(X + 5, sample_weight=np.zeros(60))
    assert leaves(vars(model)) == before


@pytest.mark.parametrize("method", ["fit", "partial_fit", "score"])
def test_weights_are_taken(method):
    """scikit-learn#15826, #15647: no sample_weight at all."""
    assert (
        "sample_weight" in inspect.signature(getattr(ODAClusterer, method)).parameters
    )


@pytest.mark.parametrize("method", ["fit", "partial_fit", "score", "fit_predict"])
def test_negative_weights_are_refused(method):
    """scikit-learn#15531, #20036: negative weights go in silently."""
    X, _ = blobs(60)
    model = clusterer().fit(X)
    for weight in (-np.ones(60), np.r_[-1e-9, np.ones(59)]):
        with pytest.raises(ValueError, match=r"[Nn]egative"):
            getattr(model, method)(X, sample_weight=weight)


def test_columns_that_change_between_batches_are_refused():
    """scikit-learn#12430, #3833: swapped or missing columns."""
    frame = pd.DataFrame(blobs(60)[0], columns=["a", "b"])
    model = clusterer().partial_fit(frame)
    before = leaves(vars(model))
    for bad in (frame[["b", "a"]], frame[["a"]]):
        with pytest.raises(ValueError, match="feature names should match"):
            model.partial_fit(bad)
    with pytest.raises(ValueError, match="X has 1 features, but"):
        clusterer().partial_fit(frame.to_numpy()).partial_fit(frame[["a"]].to_numpy())
    assert leaves(vars(model)) == before
    with pytest.warns(UserWarning, match="valid feature names"):
        model.partial_fit(frame.to_numpy())


@every_divergence
def test_fit_forgets_and_partial_fit_goes_on(divergence):
    """scikit-learn#14107: state of the one leaks into the other."""
    X, _ = blobs(90)
    X, other = into_domain(X, divergence), into_domain(X[::-1] * 0.3, divergence)
    a = clusterer(divergence).partial_fit(other).fit(X)
    b = clusterer(divergence).fit(X)
    assert_same_model(a, b, X, "fit after partial_fit remembers")
    assert b.partial_fit(X) is b
    assert b.n_samples_seen_ == 180


@pytest.mark.parametrize(
    ("divergence", "params"),
    [
        *((divergence, {}) for divergence in DIVERGENCES),
        ("squared_euclidean", {"batch_size": 16}),
        ("squared_euclidean", {"step": "constant"}),
    ],
    ids=str,
)
@pytest.mark.parametrize("n_fitted", [0, 50])
def test_pickles_in_mid_stream_change_nothing(divergence, params, n_fitted):
    """scikit-learn#21228: what follows a pickle differs."""
    X = 1 / (1 + np.exp(-blobs(150)[0]))
    a, b = (clusterer(divergence, **params) for _ in "ab")
    if n_fitted:
        a, b = a.fit(X[:n_fitted]), b.fit(X[:n_fitted])
    for rows in np.split(X, 5):
        a.partial_fit(rows)
        b = pickle.loads(pickle.dumps(b.partial_fit(rows)))
    assert_same_model(a, b, X, "a stream interrupted by pickles")
    assert not learnt(clone(b))


def test_a_search_over_parameters_that_hold_arrays():
    """scikit-learn#29277, #15096: arrays in parameters compared by ==."""
    X, _ = blobs(60)
    grid = {
        "odaclusterer__divergence": [
            "squared_euclidean",
            ScaledEuclidean([1.0, 2.0]),
            ScaledEuclidean([1.0, 2.0]),
        ],
        "odaclusterer__n_clusters": [2, 3],
    }
    pipeline = make_pipeline(StandardScaler(), clusterer())
    assert "ODAClusterer" in repr(pipeline)
    search = GridSearchCV(pipeline, grid, cv=3).fit(X)
    assert sorted(search.best_params_) == sorted(grid)
    assert search.best_params_["odaclusterer__n_clusters"] == 3
    assert "ODAClusterer" in repr(search.best_estimator_)


@every_divergence
def test_a_learning_curve_by_increments(divergence):
    """scikit-learn#22981: classes= is passed to what knows no classes."""
    X = into_domain(blobs(90)[0], divergence)
    _, *scores = learning_curve(
        clusterer(divergence),
        X,
        blobs(90)[1],
        exploit_incremental_learning=True,
        train_sizes=[0.5, 1.0],
        cv=3,
    )
    assert np.isfinite(scores).all()


@every_divergence
@every_way
def test_a_plain_data_set_is_clustered(divergence, learn):
    """sklvq#75: fit on iris fails on the current stack."""
    X, y = load_iris(return_X_y=True)
    X = MaxAbsScaler().fit_transform(X)
    model = learn(clusterer(divergence), X)
    assert np.isfinite(model.score(X, y))
    assert np.unique(model.predict(X)).tolist() == [0, 1, 2]


@pytest.mark.parametrize("divergence", [d for d in DIVERGENCES if d != "mahalanobis"])
def test_a_plain_data_set_is_clustered_more_tightly_than_by_species(divergence):
    """sklvq#75: the means of the species of iris bound the least mean divergence."""
    X, y = load_iris(return_X_y=True)
    X = MaxAbsScaler().fit_transform(X)
    means = np.array([X[y == species].mean(axis=0) for species in range(3)])
    by_species = slow_divergences(X, means, divergence)[np.arange(150), y].mean()
    assert -clusterer(divergence).fit(X).score(X) < by_species


def test_a_plain_data_set_is_clustered_as_well_as_can_be():
    """sklvq#75: the least sum of squares of iris for three clusters is 78.8514."""
    X, _ = load_iris(return_X_y=True)
    model = clusterer().fit(X)
    np.testing.assert_allclose(model.inertia_, 78.851441, rtol=2e-3)
