"""Faults that users of other libraries reported, asked of every regressor."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.linear_model import SGDRegressor
from sklearn.model_selection import GridSearchCV, learning_curve
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from odalib import ODARegressor, Resolution

from .cases import ScaledEuclidean, blobs, every_regressor
from .comparing import (
    answers,
    assert_close,
    assert_finite,
    assert_same_bits,
    assert_same_model,
    leaves,
)

KIND = "reported cases"
ESTIMATORS = (ODARegressor,)


def plane(n_samples=150):
    """Three groups in the plane, and a plane above them."""
    X, _ = blobs(n_samples)
    return X, X @ [1.0, -2.0] + 3.0


@every_regressor
def test_fit_and_predict_take_different_dtypes(estimator):
    """pycaret#3774, statsmodels#8156: "Buffer dtype mismatch" in predict."""
    X, y = plane()
    for fitted in ("f4", "f8", ">f8"):
        model = clone(estimator).fit(X.astype(fitted), y.astype(fitted))
        for asked in ("f4", "f8", ">f8"):
            assert model.score(X.astype(asked), y) > 0.95


@every_regressor
@pytest.mark.parametrize("kind", ["u1", "u2", "i2", "i8"])
def test_whole_numbers_do_not_overflow(estimator, kind):
    """hdbscan#71, hdbscan#119, scikit-learn#14314: bytes wrap around."""
    X = np.random.RandomState(0).randint(0, 256, (60, 5)).astype(kind)
    y = X[:, 0]
    whole = clone(estimator).fit(X, y)
    real = clone(estimator).fit(X.astype(float), y.astype(float))
    assert_same_bits(answers(whole, X), answers(real, X.astype(float)), kind)


@every_regressor
@pytest.mark.filterwarnings("ignore:X has .* distinct rows")
@pytest.mark.parametrize("constant", [0.0, 14.62, -1e6])
def test_a_constant_column_does_no_harm(estimator, constant):
    """scikit-learn#17794, #24732: division by the variance of a constant."""
    y = np.arange(40) % 2 - 0.25
    spread = np.random.RandomState(0).randn(40)
    for X in (np.c_[np.full(40, constant), spread], np.full((40, 2), constant)):
        model = clone(estimator).fit(X, y)
        assert_finite(model, X, "a constant column")
        assert_finite(model, X + 1.0, "a constant that has changed")
    np.testing.assert_allclose(model.predict(X), 0.25, rtol=1e-9)


@every_regressor
@pytest.mark.parametrize("power", [100, 160, 307])
def test_a_stream_of_huge_values_is_learnt_or_refused(estimator, power):
    """scikit-learn#5602: running sums reach infinity without a word."""
    model = clone(estimator)
    for seed in range(3):
        X = np.random.RandomState(seed).rand(100, 2) * 10.0**power
        y = np.random.RandomState(seed).rand(100) * 10.0**power
        before = leaves(vars(model))
        try:
            model.partial_fit(X, y)
        except ValueError as error:
            assert "scal" in str(error)
            assert leaves(vars(model)) == before
            return
        assert_finite(model, X, "huge values")


@every_regressor
@pytest.mark.parametrize("offset", [1e3, 1e6])
def test_far_from_the_origin_digits_are_kept(estimator, offset):
    """scikit-learn#9354: of rows and targets at a large offset."""
    X, y = plane()
    near = clone(estimator).fit(X, y)
    far = clone(estimator).fit(X + offset, y + offset)
    expected = near.predict(X) + offset
    np.testing.assert_allclose(far.predict(X + offset), expected, atol=1e-2)


@every_regressor
@pytest.mark.parametrize("kind", ["f4", "f8", "i8"])
def test_inputs_of_the_caller_are_left_alone(estimator, kind, tmp_path):
    """scikit-learn#17203, #5481: weights in place; read-only memory maps."""
    X, y = plane(60)
    weight = np.random.RandomState(0).randint(1, 4, 60).astype(kind)
    given = {"X": X, "y": y, "w": weight}
    held = pickle.loads(pickle.dumps(given))
    model = clone(estimator).fit(X, y, sample_weight=weight)
    model.partial_fit(X, y, sample_weight=weight).score(X, y, sample_weight=weight)
    assert_same_bits(given, held, "an input was written to")
    for name, array in given.items():
        np.save(tmp_path / f"{name}.npy", array)
    A, b, w = (np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in "Xyw")
    mapped = clone(estimator).fit(A, b, sample_weight=w)
    mapped.partial_fit(A, b, sample_weight=w)
    assert_same_bits(answers(mapped, A), answers(model, X), "memory maps")


@every_regressor
def test_sparse_batches_follow_dense_ones(estimator):
    """scikit-learn#2455: a format that one method takes and one does not."""
    X, y = plane()
    mixed = clone(estimator).partial_fit(X, y).partial_fit(sp.csr_matrix(X), y)
    plain = clone(estimator).partial_fit(X, y).partial_fit(X, y)
    assert_close(answers(mixed, X), answers(plain, X), "sparse", rtol=1e-5)
    for form in (sp.csr_array, sp.coo_array, sp.csc_matrix, sp.lil_matrix):
        assert clone(estimator).fit(form(X), y).score(form(X), y) > 0.95


@every_regressor
@pytest.mark.parametrize("edges", [[50, 100, 150], [1, 2], [2, 149], [150]])
def test_a_call_may_have_few_rows(estimator, edges):
    """scikit-learn#12234, #30224: a first, later or last chunk is small."""
    X, y = plane(151)
    model = clone(estimator)
    for rows in np.split(np.arange(151), edges):
        model.partial_fit(X[rows], y[rows])
    assert model.score(X, y) > 0.9


@every_regressor
def test_a_column_of_targets_is_one_of_several(estimator):
    """gama#63, river#1246: y of shape (n, 1), as a frame of one column gives."""
    X, y = plane(60)
    model = clone(estimator).fit(X, pd.DataFrame({"t": y}))
    plain = clone(estimator).fit(X, pd.Series(y))
    assert model.predict(X).shape == (60, 1)
    np.testing.assert_array_equal(model.predict(X)[:, 0], plain.predict(X))
    assert plain.predict(X).shape == (60,)


@every_regressor
@pytest.mark.filterwarnings("ignore:X has .* distinct rows")
def test_contradictory_rows_have_their_mean(estimator):
    """GPy#463: the same rows with other targets, and one far off."""
    X = np.r_[np.repeat([[0.0, 0], [1, 1]], 20, axis=0), [[60.0, 60]]]
    y = np.r_[np.arange(40) % 2, 50.0]
    model = clone(estimator).fit(X, y)
    assert_finite(model, X, "contradictory rows")
    assert_finite(model, np.array([[1e4, -1e4], [-1e8, 1e8]]), "far rows")
    np.testing.assert_allclose(model.predict(X[:40]), 0.5, atol=0.2)


@every_regressor
def test_a_batch_without_weight_leaves_the_state(estimator):
    """scikit-learn#33436, #15531: weights of zero and below."""
    X, y = plane(60)
    for model in (clone(estimator), clone(estimator).partial_fit(X, y)):
        before = leaves(vars(model))
        for weight, match in ((np.zeros(60), "zero"), (-np.ones(60), "[Nn]egative")):
            with pytest.raises(ValueError, match=match):
                model.partial_fit(X + 5, y, sample_weight=weight)
        assert leaves(vars(model)) == before


@every_regressor
def test_columns_that_change_between_batches_are_refused(estimator):
    """scikit-learn#12430, #3833: swapped or missing columns."""
    X, y = plane(60)
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = clone(estimator).partial_fit(frame, y)
    before = leaves(vars(model))
    for bad in (frame[["b", "a"]], frame[["a"]]):
        with pytest.raises(ValueError, match="feature names should match"):
            model.partial_fit(bad, y)
    assert leaves(vars(model)) == before


@every_regressor
@pytest.mark.parametrize("n_fitted", [0, 60])
def test_pickles_in_mid_stream_change_nothing(estimator, n_fitted):
    """scikit-learn#21228, #14107: what follows a pickle, or a fit, differs."""
    X, y = plane()
    a, b = clone(estimator), clone(estimator)
    if n_fitted:
        a.partial_fit(X[::-1], y).fit(X[:n_fitted], y[:n_fitted])
        b.fit(X[:n_fitted], y[:n_fitted])
    for rows in np.split(np.arange(150), 5):
        a.partial_fit(X[rows], y[rows])
        b = pickle.loads(pickle.dumps(b.partial_fit(X[rows], y[rows])))
    assert_same_model(a, b, X, "a stream interrupted by pickles")


def test_a_search_over_parameters_that_hold_arrays():
    """scikit-learn#29277, #15096: arrays in parameters compared by ==."""
    X, y = plane(60)
    learners = ["constant", SGDRegressor(random_state=0)]
    maps = [Resolution(np.array([0])), np.array([1])]
    grid = [
        {
            "odaregressor__divergence": [ScaledEuclidean([1.0, 2.0]), "mahalanobis"],
            "odaregressor__local_model": learners,
        },
        {"odaregressor__resolutions": [None, maps, [Resolution(np.array([1]))]]},
    ]
    regressor = ODARegressor(4, metric=None, random_state=0)
    pipeline = make_pipeline(StandardScaler(), regressor)
    assert "ODARegressor" in repr(pipeline)
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(X, y)
    assert len(search.cv_results_["params"]) == 7
    assert search.best_score_ > 0.9
    assert "ODARegressor" in repr(search.best_estimator_)


@every_regressor
def test_a_learning_curve_by_increments(estimator):
    """scikit-learn#22981: classes= is passed to what knows no classes."""
    X, y = plane(90)
    _, *scores = learning_curve(
        estimator,
        X,
        y,
        exploit_incremental_learning=True,
        train_sizes=[0.5, 1.0],
        cv=3,
    )
    assert np.min(scores) > 0.8


@every_regressor
def test_a_plain_data_set_is_learnt(estimator):
    """sklvq#75: fit on a plain data set fails on the current stack."""
    X, y = load_diabetes(return_X_y=True)
    assert clone(estimator).fit(X, y).score(X, y) > 0.3
