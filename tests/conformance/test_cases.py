"""Faults that users of other libraries reported, of what the rows may be."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from odalib import ODAClusterer

from .cases import (
    DIVERGENCES,
    blobs,
    clusterer,
    every_divergence,
    every_way,
    into_domain,
    slow_divergences,
)
from .comparing import answers, assert_same_bits, leaves

KIND = "reported cases"
ESTIMATORS = (ODAClusterer,)

translation_invariant = pytest.mark.parametrize(
    "divergence", ["squared_euclidean", "mahalanobis"]
)


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
