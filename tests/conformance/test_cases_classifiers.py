"""Faults that users of other libraries reported, asked of every classifier."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.gaussian_process.kernels import RBF

from odalib import (
    EPGaussianProcessClassifier,
    EPProbitClassifier,
)

from .cases import (
    STREAMS,
    blobs,
    every_classifier,
    every_latent,
    every_stream,
    feed,
    two_blobs,
)
from .comparing import (
    answers,
    assert_close,
    assert_finite,
    assert_same_bits,
    leaves,
)

KIND = "reported cases"

# Where inducing points are asked for, and rightly.
some_codevectors_fewer = pytest.mark.filterwarnings("ignore:X has .* distinct rows")


def takes_sparse(estimator):
    return estimator.__sklearn_tags__().input_tags.sparse


@every_classifier
def test_fit_and_predict_take_different_dtypes(estimator):
    """pycaret#3774, statsmodels#8156: "Buffer dtype mismatch" in predict."""
    X, y = blobs()
    for fitted in ("f4", "f8", ">f8"):
        model = clone(estimator).fit(X.astype(fitted), y)
        for asked in ("f4", "f8", ">f8"):
            np.testing.assert_array_equal(model.predict(X.astype(asked)), y)


@every_classifier
@pytest.mark.parametrize("kind", ["u1", "u2", "i2", "i8"])
def test_whole_numbers_do_not_overflow(estimator, kind):
    """hdbscan#71, hdbscan#119, scikit-learn#14314: bytes wrap around."""
    X = np.random.RandomState(0).randint(0, 256, (60, 5)).astype(kind)
    y = (X[:, 0] > 127).astype(int)
    whole, real = clone(estimator).fit(X, y), clone(estimator).fit(X.astype(float), y)
    assert_same_bits(answers(whole, X), answers(real, X.astype(float)), kind)


@every_classifier
@some_codevectors_fewer
@pytest.mark.parametrize("constant", [0.0, 14.62, -1e6])
def test_a_constant_column_does_no_harm(estimator, constant):
    """scikit-learn#17794, #24732: division by the variance of a constant."""
    y = np.arange(40) % 2
    spread = np.random.RandomState(0).randn(40)
    for X in (np.c_[np.full(40, constant), spread], np.full((40, 2), constant)):
        model = clone(estimator).fit(X, y)
        assert_finite(model, X, "a constant column")
        assert_finite(model, X + 1.0, "a constant that has changed")


@every_classifier
@some_codevectors_fewer
@pytest.mark.parametrize("n_positive", [1, 20, 39])
def test_constant_rows_have_about_the_shares_of_the_classes(estimator, n_positive):
    """scikit-learn#24732: nothing varies, and probabilities are frequencies."""
    y = np.random.RandomState(0).permutation(np.arange(40) < n_positive).astype(int)
    X = np.full((40, 2), 3.0)
    found = clone(estimator).fit(X, y).predict_proba(X)[:, 1]
    np.testing.assert_allclose(found, n_positive / 40, atol=0.12)
    assert (found == found[0]).all()


@every_classifier
def test_read_only_memory_maps_are_read(estimator, tmp_path):
    """scikit-learn#5481, #10667: what joblib hands to workers crashes."""
    X, y = blobs()
    for name, array in {"X": X, "y": y, "w": np.ones(150)}.items():
        np.save(tmp_path / f"{name}.npy", array)
    A, b, w = (np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in "Xyw")
    models = [clone(estimator).fit(A, b, sample_weight=w)]
    if estimator in STREAMS.values():
        models.append(feed(clone(estimator), A, b, sample_weight=w))
    for model in models:
        np.testing.assert_array_equal(model.predict(A), y)


@every_classifier
def test_memory_layout_does_not_matter(estimator):
    """scikit-learn#4507, #4582: Fortran, strided or swapped bytes."""
    X, y = blobs()
    big = np.zeros((300, 4))
    big[::2, ::2] = X
    plain = clone(estimator).fit(X, y)
    for A in (np.asfortranarray(X), big[::2, ::2], X[::-1][::-1], X.astype(">f8")):
        said = answers(clone(estimator).fit(A, y), A)
        np.testing.assert_array_equal(said["predict"], y)
        # Iterations end within 1e-6 of the fixed point.
        assert_close(said, answers(plain, X), "layout", rtol=1e-5)


@every_classifier
@pytest.mark.parametrize("kind", ["f4", "f8", "i8"])
def test_inputs_of_the_caller_are_left_alone(estimator, kind):
    """scikit-learn#17203: fit rescales sample_weight in place."""
    X, y = blobs(60)
    weight = np.random.RandomState(0).randint(1, 4, 60).astype(kind)
    given = {"X": X, "y": y, "weight": weight}
    held = pickle.loads(pickle.dumps(given))
    model = clone(estimator).fit(X, y, sample_weight=weight)
    model.score(X, y, sample_weight=weight)
    if estimator in STREAMS.values():
        feed(model, X, y, sample_weight=weight)
    assert_same_bits(given, held, "an input was written to")


@every_classifier
def test_sparse_rows_are_taken_or_refused_by_that_name(estimator):
    """scikit-learn#2455: a format that one method takes and one does not."""
    X, y = blobs()
    for form in (sp.csr_array, sp.coo_array, sp.csc_matrix, sp.lil_matrix):
        if not takes_sparse(estimator):
            with pytest.raises(TypeError, match="Sparse data was passed for X, but"):
                clone(estimator).fit(form(X), y)
            continue
        found = clone(estimator).fit(form(X), y).predict(form(X))
        np.testing.assert_array_equal(found, y)


@every_stream
def test_sparse_batches_follow_dense_ones(estimator):
    """scikit-learn#2455: the same in a stream."""
    X, y = blobs()
    mixed = feed(feed(clone(estimator), X, y), sp.csr_matrix(X), y)
    plain = feed(feed(clone(estimator), X, y), X, y)
    assert_close(answers(mixed, X), answers(plain, X), "sparse", rtol=1e-5)


@every_stream
@pytest.mark.parametrize("edges", [[50, 100, 150], [1, 2], [2, 149], [150]])
def test_a_call_may_have_few_rows(estimator, edges):
    """scikit-learn#12234, #30224: a first, later or last chunk is small."""
    X, y = blobs(151)
    model = clone(estimator)
    for rows in np.split(np.arange(151), edges):
        model.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
    np.testing.assert_array_equal(model.predict(X), y)


def contradictory():
    """Two rows twenty times each with both labels, and a mislabelled one far off."""
    rng = np.random.RandomState(0)
    far = rng.randn(20, 2) * 0.1 + 60
    X = np.r_[np.repeat([[0.0, 0], [1, 1]], 20, axis=0), [[60.0, 60]], far]
    return X, np.r_[np.arange(40) % 2, 0, np.ones(20, int)]


@every_classifier
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_contradictory_and_mislabelled_rows(estimator, scale):
    """GPy#463, GPy#414: NaN in the moments of expectation propagation."""
    X, y = contradictory()
    model = clone(estimator).fit(X * scale, y)
    assert_finite(model, X * scale, "contradictory rows")
    assert_finite(model, scale * np.array([[1e4, -1e4], [-1e8, 1e8]]), "far rows")


@pytest.mark.parametrize(
    ("estimator", "atol"),
    [
        (EPProbitClassifier(), 0.02),
        (EPProbitClassifier("evidence"), 0.02),
        (EPGaussianProcessClassifier(), 1e-9),
        (EPGaussianProcessClassifier(inducing_points=3, random_state=0), 1e-6),
    ],
    ids=repr,
)
def test_contradictory_rows_have_probability_one_half(estimator, atol):
    """GPy#463, GPy#414: and far from all rows a Gaussian process is its prior."""
    X, y = contradictory()
    model = clone(estimator).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X[:40]), 0.5, atol=atol)
    if isinstance(estimator, EPGaussianProcessClassifier):
        np.testing.assert_allclose(
            model.predict_proba([[1e4, -1e4]]), [[0.5, 0.5]], rtol=1e-12
        )


@every_stream
@pytest.mark.parametrize("names", [[0, 1, 2], ["egg", "ham", "spam"], [-1.5, 0.5, 7.5]])
def test_an_unseen_label_is_named(estimator, names):
    """scikit-learn#10680, #11759, #6203: a label that was not announced."""
    X, codes = blobs(90)
    y, seen = np.array(names)[codes], codes < 2
    model = clone(estimator).partial_fit(X[seen], y[seen], classes=names[:2])
    before = leaves(vars(model))
    with pytest.raises(ValueError, match=str(names[2])):
        model.partial_fit(X[~seen], y[~seen])
    assert leaves(vars(model)) == before


@every_classifier
def test_numbers_in_an_object_array_are_labels(estimator):
    """scikit-learn#24355: an "unknown" target."""
    X, y = two_blobs()
    for labels in (y, y.astype(bool), 2.0 * y):
        model = clone(estimator).fit(X, labels.astype(object))
        assert model.classes_.tolist() == np.unique(labels).tolist()
        assert model.classes_.dtype.kind == labels.dtype.kind
        np.testing.assert_array_equal(model.predict(X), labels)
        for given in (labels.astype(object), labels.astype(object)[:, None]):
            assert model.score(X, given) == 1.0


@every_classifier
def test_names_of_any_string_dtype_are_kept_whole(estimator):
    """scikit-learn#34946: StringDType; a longer name that comes later."""
    X, codes = two_blobs()
    y = np.array(["a", "b"])[codes]
    for labels in (y, y.astype(object), y.astype(np.dtypes.StringDType())):
        model = clone(estimator).fit(X, labels)
        assert list(map(str, model.classes_)) == ["a", "b"]
        assert list(map(str, model.predict(X))) == y.tolist()
        assert model.score(X, labels) == 1.0
        if estimator in STREAMS.values():
            names = ["a", "b", "a-long-name"]
            model = clone(estimator).partial_fit(X, labels, classes=names)
            model.partial_fit(X[:2] + 50, ["a-long-name", "b"])
            assert list(map(str, model.classes_)) == sorted(names)


@every_classifier
def test_a_column_of_labels_is_taken_with_one_warning(estimator):
    """gama#63, river#1246: y of shape (n, 1), as a frame of one column gives."""
    X, y = two_blobs()
    with pytest.warns(DataConversionWarning) as said:
        model = clone(estimator).fit(X, pd.DataFrame({"t": y}))
    assert len(said) == 1
    np.testing.assert_array_equal(model.predict(X), y)


@every_classifier
@pytest.mark.parametrize("offset", [5.0, 50.0, 5e3])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_probabilities_of_separable_rows_are_none_of_0_and_1(estimator, offset, dtype):
    """scikit-learn#17978, #24365: logarithms of minus infinity, exact zeros."""
    noise = np.random.RandomState(0).randn(60, 2)
    y = np.arange(60) % 2
    X = (noise + offset * (2 * y - 1)[:, None]).astype(dtype)
    model = clone(estimator).fit(X, y)
    probabilities, logs = model.predict_proba(X), model.predict_log_proba(X)
    assert ((probabilities > 0) & (probabilities < 1)).all()
    assert (np.isfinite(logs) & (logs < 0)).all()
    np.testing.assert_array_equal(model.predict(X), y)


@every_stream
@pytest.mark.parametrize("position", [0, 1500, 1999])
def test_one_positive_row_of_many_in_a_stream(estimator, position):
    """scikit-learn#3636: one of 2000, whose share is 5e-4."""
    X, y = np.random.RandomState(0).randn(2000, 3), np.zeros(2000, int)
    y[position] = 1
    model = clone(estimator)
    for rows in np.split(np.arange(2000), 20):
        model.partial_fit(X[rows], y[rows], classes=[0, 1])
    assert_finite(model, X, "one positive row")
    mean = model.predict_proba(X)[:, 1].mean()
    if estimator is STREAMS["forgetting"]:
        # Of a thousand rows that it remembers; it is surprised by the last.
        assert mean < (0.01 if position < 1999 else 0.25)
    elif getattr(estimator, "resolutions", None) is not None:
        # Fewer than three rows of a class have no codevector in a cell of others.
        assert 0.0 < mean < 5e-4 * 5
    elif position == 1500:
        assert 5e-4 / 2 < mean < 5e-4 * 2
    else:
        # One of the first rows, that the prior leaves uncertain, or of the last.
        assert 5e-4 / 5 < mean < 5e-4 * 5
    with pytest.raises(ValueError, match=r"parameter 'class_weight'|is for fit"):
        clone(estimator).set_params(class_weight="balanced").partial_fit(X, y)


@every_latent
def test_latent_means_and_variances_of_any_number_of_classes(estimator):
    """scikit-learn#22226: refused for more than two classes."""
    X, y = blobs(60)
    for labels, shape in ((y % 2, (3,)), (y, (3, 3))):
        mean, variance = clone(estimator).fit(X, labels).latent_mean_and_variance(X[:3])
        assert mean.shape == variance.shape == shape
        assert (variance > 0).all()


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_the_evidence_is_that_of_the_hyperparameters_asked_about(dtype):
    """GPy#988, GPy#296: from the sites of other hyperparameters.

    The values are those of expectation propagation in 50 digits. Another library
    gives -6.32 for the last, and -98.30 where it comes there from the first.
    """
    x = np.random.RandomState(0).randn(30, 1)
    X, y = np.r_[x - 50, x + 50].astype(dtype), np.repeat([0, 1], 30)

    def fitted(variance):
        kernel = variance * RBF(1.0)
        return EPGaussianProcessClassifier(kernel, optimizer=None).fit(X, y)

    expected = {
        1.0: -12.0749530761,
        1e2: -6.44579233702,
        1e4: -6.36155204774,
        1e6: -6.36070369913,
    }
    models = {variance: fitted(variance) for variance in expected}
    rtol = 1e-9 if dtype == "f8" else 1e-5
    for model in models.values():
        for variance, value in expected.items():
            found = model.log_marginal_likelihood(np.log([variance, 1.0]))
            np.testing.assert_allclose(found, value, rtol=rtol)
    warm = fitted(1.0).set_params(warm_start=True)
    for variance, value in expected.items():
        found = models[variance].log_marginal_likelihood_value_
        np.testing.assert_allclose(found, value, rtol=rtol)
        warm.set_params(kernel=variance * RBF(1.0)).fit(X, y)
        np.testing.assert_allclose(
            warm.log_marginal_likelihood_value_, value, rtol=rtol
        )
