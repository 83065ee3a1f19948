"""Faults that users reported of other libraries, each widened to its kind."""

import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV, learning_curve
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from odalib import ODAClusterer

from .case_data import (
    DIVERGENCES,
    ScaledEuclidean,
    blobs,
    into_domain,
    slow_divergences,
)
from .comparing import answers, assert_same_bits, assert_same_model, learnt, leaves

every_divergence = pytest.mark.parametrize("divergence", DIVERGENCES)
translation_invariant = pytest.mark.parametrize(
    "divergence", ["squared_euclidean", "mahalanobis"]
)


def clusterer(divergence="squared_euclidean", n_clusters=3, **params):
    return ODAClusterer(n_clusters, divergence=divergence, random_state=0, **params)


def in_thirds(model, X):
    for rows in np.array_split(X, 3):
        model.partial_fit(rows)
    return model


# Ways to learn rows: all at once, as one call of a stream, as several.
LEARN = {
    "fit": lambda model, X: model.fit(X),
    "partial_fit": lambda model, X: model.partial_fit(X),
    "thirds": in_thirds,
}
every_way = pytest.mark.parametrize("learn", LEARN.values(), ids=LEARN)


@every_way
@translation_invariant
@pytest.mark.parametrize(
    ("dtype", "offset"), [("f4", 1e5), ("f4", -1e5), ("f8", 1e6), ("f8", 1e9)]
)
def test_far_from_the_origin_differences_do_not_cancel(
    divergence, learn, dtype, offset
):
    """scikit-learn#9354: groups at an offset that eats float32 collapse."""
    X, y = blobs(300)
    Z = (X / 4 + offset).astype(dtype)
    model = learn(clusterer(divergence), Z)
    assert adjusted_rand_score(y, model.predict(Z)) == 1.0
    assert adjusted_rand_score(y, model.predict_proba(Z).argmax(axis=1)) == 1.0


@every_way
@pytest.mark.parametrize("offset", [0.0, 1e5])
def test_float32_rows_go_to_the_nearest_of_the_published_codevectors(learn, offset):
    """scikit-learn#13410: predict disagrees with the centres it shows."""
    X, _ = blobs(300)
    Z = (X + offset).astype(np.float32)
    model = learn(clusterer(), Z)
    exact = slow_divergences(Z, model.cluster_centers_, "squared_euclidean")
    np.testing.assert_array_equal(model.predict(Z), exact.argmin(axis=1))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("divergence", [d for d in DIVERGENCES if d != "mahalanobis"])
def test_rows_go_to_the_nearest_of_the_published_codevectors(divergence, dtype):
    """scikit-learn#13410 for every divergence: its own formula decides."""
    Z = into_domain(np.random.RandomState(2).randn(300, 4), divergence, 1.0)
    Z = Z.astype(dtype)
    model = clusterer(divergence, n_clusters=12).fit(Z)
    exact = slow_divergences(Z, model.cluster_centers_, divergence)
    # Rows on a border, within rounding, may go either way.
    lost = exact[np.arange(300), model.predict(Z)] - exact.min(axis=1)
    assert lost.max() <= 1e-5 * exact.min(axis=1).mean()
    np.testing.assert_allclose(
        model.transform(Z), exact, rtol=1e-4, atol=1e-5 * exact.max()
    )


@every_divergence
def test_fit_and_predict_take_different_dtypes(divergence):
    """pycaret#3774, statsmodels#8156: "Buffer dtype mismatch" in predict."""
    X, y = blobs()
    X = into_domain(X, divergence)
    for fitted in ("f4", "f8"):
        for asked in ("f4", "f8", ">f8"):
            labels = (
                clusterer(divergence).fit(X.astype(fitted)).predict(X.astype(asked))
            )
            assert adjusted_rand_score(y, labels) == 1.0


@pytest.mark.parametrize("kind", ["u1", "u2", "i2", "i4", "i8"])
@pytest.mark.parametrize("divergence", [d for d in DIVERGENCES if d != "logistic"])
def test_whole_numbers_do_not_overflow(divergence, kind):
    """hdbscan#71, hdbscan#119, scikit-learn#14314: bytes wrap around."""
    X = np.random.RandomState(0).randint(1, 256, (120, 9)).astype(kind)
    a, b = clusterer(divergence).fit(X), clusterer(divergence).fit(X.astype(float))
    np.testing.assert_array_equal(a.predict(X), b.predict(X.astype(float)))
    np.testing.assert_array_equal(a.cluster_centers_, b.cluster_centers_)


@pytest.mark.parametrize("kind", ["?", "u1", "i8"])
def test_truth_values_are_zeros_and_ones(kind):
    """scikit-learn#14314 for yes-no data, which the logistic divergence is for."""
    X = (np.random.RandomState(0).rand(120, 9) < 0.4).astype(kind)
    a, b = clusterer("logistic").fit(X), clusterer("logistic").fit(X.astype(float))
    np.testing.assert_array_equal(a.predict(X), b.predict(X.astype(float)))


@every_way
@every_divergence
@pytest.mark.parametrize("constant", [0.0, 0.3, 1.0])
def test_a_constant_column_does_no_harm(divergence, learn, constant):
    """scikit-learn#17794, #24732: division by the variance of a constant."""
    X, y = blobs(60)
    if divergence == "itakura_saito":
        constant += 0.1
    X = np.c_[np.full(60, constant), into_domain(X, divergence)]
    model = learn(clusterer(divergence), X)
    assert all(np.isfinite(value).all() for value in answers(model, X).values())
    assert adjusted_rand_score(y, model.predict(X)) == 1.0


@every_divergence
@pytest.mark.parametrize("constant", [0.0, 0.3, 1.0])
def test_constant_rows_give_one_codevector(divergence, constant):
    """scikit-learn#24732: nothing varies, and the one distinct row is the codebook."""
    if divergence == "itakura_saito":
        constant += 0.1
    X = np.full((40, 2), constant)
    with pytest.warns(ConvergenceWarning, match="distinct"):
        model = clusterer(divergence).fit(X)
    np.testing.assert_allclose(model.cluster_centers_, X[:1], rtol=1e-12)
    np.testing.assert_array_equal(model.predict_proba(X), np.ones((40, 1)))
    np.testing.assert_allclose(model.inertia_, 0.0, atol=1e-12)


@every_divergence
@pytest.mark.parametrize("power", [100, 160, 307])
def test_a_stream_of_huge_values_is_learnt_or_refused(divergence, power):
    """scikit-learn#5602: running sums reach infinity without a word."""
    model = clusterer(divergence, n_clusters=2)
    factor = 1.0 if divergence == "logistic" else 10.0**power
    for seed in range(3):
        X = (0.1 + 0.9 * np.random.RandomState(seed).rand(100, 1)) * factor
        before = leaves(vars(model))
        try:
            model.partial_fit(X)
        except ValueError as error:
            assert "scal" in str(error)
            assert leaves(vars(model)) == before
            return
        found = answers(model, X) | {"centres": model.cluster_centers_}
        assert all(np.isfinite(value).all() for value in found.values())


@pytest.mark.parametrize("dtype", ["f4", "f8", "u1", ">f8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_read_only_memory_maps_are_read(tmp_path, dtype, order):
    """scikit-learn#5481, #10667: what joblib hands to workers crashes."""
    X, y = blobs()
    np.save(tmp_path / "X.npy", np.asarray(X + 20, dtype=dtype, order=order))
    np.save(tmp_path / "w.npy", np.ones(len(X)))
    A = np.load(tmp_path / "X.npy", mmap_mode="r")
    w = np.load(tmp_path / "w.npy", mmap_mode="r")
    fitted = clusterer().fit(A, sample_weight=w)
    streamed = clusterer().partial_fit(A, sample_weight=w)
    for model in (fitted, streamed):
        assert adjusted_rand_score(y, model.predict(A)) == 1.0


@every_divergence
def test_memory_layout_does_not_matter(divergence):
    """scikit-learn#4507, #4582: Fortran, strided or swapped bytes."""
    X = into_domain(np.random.RandomState(3).randn(150, 2), divergence, 1.0)
    big = np.zeros((300, 4))
    big[::2, ::2] = X
    labels = clusterer(divergence).fit(X).predict(X)
    for A in (np.asfortranarray(X), big[::2, ::2], X[::-1][::-1], X.astype(">f8")):
        found = clusterer(divergence).fit(A).predict(A)
        assert adjusted_rand_score(labels, found) == 1.0


@pytest.mark.parametrize("kind", ["f4", "f8", "i8"])
def test_weights_of_the_caller_are_left_alone(kind):
    """scikit-learn#17203: fit rescales sample_weight in place."""
    X, _ = blobs(60)
    weight = np.random.RandomState(0).randint(1, 9, 60).astype(kind)
    held = weight.copy()
    model = clusterer().fit(X, sample_weight=weight)
    model.partial_fit(X, sample_weight=weight).score(X, sample_weight=weight)
    assert_same_bits(weight, held, "sample_weight was written to")


@every_divergence
def test_sparse_batches_follow_dense_ones(divergence):
    """scikit-learn#2455: a format that one method takes and one does not."""
    X, y = blobs()
    X = into_domain(X, divergence)
    mixed = clusterer(divergence).partial_fit(X).partial_fit(sp.csr_matrix(X))
    plain = clusterer(divergence).partial_fit(X).partial_fit(X)
    np.testing.assert_allclose(
        mixed.cluster_centers_, plain.cluster_centers_, rtol=1e-9
    )
    for form in (sp.csr_array, sp.coo_array, sp.csc_matrix, sp.lil_matrix):
        labels = clusterer(divergence).fit(form(X)).predict(form(X))
        assert adjusted_rand_score(y, labels) == 1.0


@every_divergence
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_fewer_distinct_rows_than_clusters(divergence, dtype):
    """scikit-learn#10059, #28055: copies of a centre, or no end."""
    points = into_domain(np.array([[-6.0, 0], [1, 1], [8, 2]]), divergence)
    X = np.repeat(points, 20, axis=0).astype(dtype)
    with pytest.warns(ConvergenceWarning, match="distinct"):
        model = clusterer(divergence, n_clusters=6).fit(X)
    assert model.n_clusters_ == 3
    assert sorted(np.unique(model.predict(X))) == [0, 1, 2]
    np.testing.assert_allclose(
        np.sort(model.cluster_centers_, axis=0), np.sort(points, axis=0), rtol=1e-5
    )
    np.testing.assert_allclose(model.inertia_, 0.0, atol=1e-4)


@every_divergence
@pytest.mark.parametrize("n_clusters", [2, 12, 15, 16])
@pytest.mark.parametrize("seed", [3, 4])
def test_as_many_clusters_as_asked_for_without_gaps(divergence, n_clusters, seed):
    """scikit-learn#23141, #13476: unused codevectors, gaps in the labels."""
    X = into_domain(np.random.RandomState(seed).randn(16, 3), divergence, 1.0)
    model = clusterer(divergence, n_clusters).fit(X)
    assert model.cluster_centers_.shape == (n_clusters, 3)
    assert np.unique(model.labels_).tolist() == list(range(n_clusters))
    assert (model.cluster_weights_ > 0).all()


@every_divergence
@pytest.mark.parametrize("edges", [[50, 100, 150], [1, 2], [2, 149], [150]])
def test_a_call_may_have_fewer_rows_than_clusters(divergence, edges):
    """scikit-learn#12234, #30224: a first, later or last chunk is small."""
    X, _ = blobs(151)
    X = into_domain(X, divergence)
    model = clusterer(divergence)
    for rows in np.split(X, edges):
        model.partial_fit(rows)
    assert model.predict(X).shape == (151,)
    assert model.n_samples_seen_ == 151


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
    "params", [{}, {"batch_size": 16}, {"step": "constant"}], ids=str
)
@every_divergence
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
