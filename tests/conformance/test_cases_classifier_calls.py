"""Faults that users reported of classifiers, of weights, streams and tools."""

import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.gaussian_process.kernels import RBF, Matern
from sklearn.model_selection import GridSearchCV, learning_curve
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from odalib import EPGaussianProcessClassifier, EPProbitClassifier

from .cases import (
    STREAMS,
    blobs,
    every_classifier,
    every_stream,
    feed,
    two_blobs,
)
from .comparing import assert_same_model, learnt, leaves

KIND = "reported cases"


@every_stream
def test_a_batch_without_weight_leaves_the_state(estimator):
    """scikit-learn#33436: weights of zero, used to skip, move the state."""
    X, y = two_blobs()
    for model in (clone(estimator), feed(clone(estimator), X, y)):
        before = leaves(vars(model))
        with pytest.raises(ValueError, match="zero"):
            feed(model, X + 5, y, sample_weight=np.zeros(len(X)))
        assert leaves(vars(model)) == before


@every_classifier
def test_weights_are_taken(estimator):
    """scikit-learn#15826, #15647: no sample_weight at all."""
    for name in ("fit", "score", "partial_fit"):
        if hasattr(estimator, name):
            parameters = inspect.signature(getattr(estimator, name)).parameters
            assert "sample_weight" in parameters


@every_classifier
def test_negative_weights_are_refused(estimator):
    """scikit-learn#15531, #20036: negative weights go in silently."""
    X, y = two_blobs()
    model = clone(estimator).fit(X, y)
    for weight in (-np.ones(len(X)), np.r_[-1e-9, np.ones(len(X) - 1)]):
        for name in ("fit", "partial_fit"):
            if hasattr(model, name):
                with pytest.raises(ValueError, match=r"[Nn]egative"):
                    getattr(model, name)(X, y, sample_weight=weight)


@every_stream
def test_columns_that_change_between_batches_are_refused(estimator):
    """scikit-learn#12430, #3833: swapped or missing columns."""
    X, y = two_blobs()
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = feed(clone(estimator), frame, y)
    before = leaves(vars(model))
    for bad in (frame[["b", "a"]], frame[["a"]]):
        with pytest.raises(ValueError, match="feature names should match"):
            model.partial_fit(bad, y)
    with pytest.raises(ValueError, match="X has 1 features, but"):
        feed(clone(estimator), X, y).partial_fit(X[:, :1], y)
    assert leaves(vars(model)) == before
    with pytest.warns(UserWarning, match="valid feature names"):
        model.partial_fit(X, y)


@every_stream
def test_fit_forgets_and_partial_fit_goes_on(estimator):
    """scikit-learn#14107: state of the one leaks into the other."""
    X, y = blobs(90)
    a = feed(clone(estimator), X[::-1] * 0.3 + 9, y).fit(X, y)
    b = clone(estimator).fit(X, y)
    assert_same_model(a, b, X, "fit after partial_fit remembers")
    before = b.predict_proba(X)
    assert b.partial_fit(X[:-1] + 1.0, y[:-1]) is b
    assert np.abs(b.predict_proba(X) - before).max() > 1e-4


@every_stream
@pytest.mark.parametrize("n_fitted", [0, 60])
def test_pickles_in_mid_stream_change_nothing(estimator, n_fitted):
    """scikit-learn#21228: what follows a pickle differs."""
    X, y = blobs(150)
    X = 1 / (1 + np.exp(-X))
    a, b = clone(estimator), clone(estimator)
    if n_fitted:
        a, b = a.fit(X[:n_fitted], y[:n_fitted]), b.fit(X[:n_fitted], y[:n_fitted])
    for rows in np.split(np.arange(150), 5):
        feed(a, X[rows], y[rows])
        b = pickle.loads(pickle.dumps(feed(b, X[rows], y[rows])))
    assert_same_model(a, b, X, "a stream interrupted by pickles")
    assert not learnt(clone(b))


@pytest.mark.parametrize(
    ("estimator", "grid"),
    [
        (
            EPProbitClassifier(),
            {"prior_variance": [1.0, "evidence", np.ones(2), np.array([9.0, 0.1])]},
        ),
        (
            EPGaussianProcessClassifier(optimizer=None),
            {
                "kernel": [None, 1.0 * RBF([1.0, 2.0]), Matern(), Matern(2.0)],
                "inducing_points": [None, 5, np.eye(2)],
            },
        ),
    ],
    ids=repr,
)
def test_a_search_over_parameters_that_hold_arrays(estimator, grid):
    """scikit-learn#29277, #15096: arrays in parameters compared by ==."""
    X, y = blobs(60)
    pipeline = make_pipeline(StandardScaler(), estimator)
    step = pipeline.steps[-1][0]
    assert step in repr(pipeline).lower()
    named = {f"{step}__{name}": values for name, values in grid.items()}
    search = GridSearchCV(pipeline, named, cv=3).fit(X, y)
    assert sorted(search.best_params_) == sorted(named)
    assert search.best_score_ > 0.95
    assert type(estimator).__name__ in repr(search.best_estimator_)


@every_stream
def test_a_learning_curve_by_increments(estimator):
    """scikit-learn#22981: classes= is passed to what knows no classes."""
    X, y = blobs(90)
    _, *scores = learning_curve(
        estimator,
        X,
        y,
        exploit_incremental_learning=True,
        train_sizes=[0.5, 1.0],
        cv=3,
    )
    np.testing.assert_array_equal(scores, 1.0)


@every_classifier
def test_a_plain_data_set_is_learnt(estimator):
    """sklvq#75: fit on iris fails on the current stack."""
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    assert clone(estimator).fit(X, y).score(X, y) > 0.8
    if estimator in STREAMS.values():
        order = np.random.RandomState(0).permutation(150)
        model = feed(clone(estimator), X[order], y[order])
        assert model.score(X, y) > 0.8
