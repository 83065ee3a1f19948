"""Checks of the forms in which rows may arrive, and of their being left alone."""

import copy
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp

from .comparing import (
    answers,
    assert_close,
    assert_finite,
    assert_same_bits,
    assert_same_model,
    assert_same_partition,
    canonical,
    needs,
)

KIND = "dtype and layout"


def _models(subject, X, y, weight=None):
    """Fit, stream, and stream after a fit, as far as the estimator does these."""
    weights = {}
    if weight is not None and subject.has("sample_weight"):
        weights["sample_weight"] = weight
    models = {"fit": subject.make().fit(X, y, **weights)}
    if subject.has("partial_fit"):
        fitted = copy.deepcopy(models["fit"])
        models["partial_fit"] = subject.feed(subject.make(), X, y, **weights)
        models["fit, partial_fit"] = subject.feed(fitted, X, y, **weights)
    return models


def _layouts(X):
    """Yield the same numbers in other memory: a name and the array."""
    strided = np.zeros((2 * X.shape[0], 2 * X.shape[1]), X.dtype)
    strided[::2, ::2] = X
    frozen = X.copy()
    frozen.flags.writeable = False
    yield "Fortran order", np.asfortranarray(X)
    yield "strided", strided[::2, ::2]
    yield "reversed", X[::-1, ::-1].copy()[::-1, ::-1]
    yield "big-endian", X.astype(X.dtype.newbyteorder(">"))
    yield "read-only", frozen
    yield "misaligned", _misaligned(X)


def _misaligned(X):
    buffer = np.zeros(X.nbytes + 1, np.uint8)
    out = buffer[1:].view(X.dtype).reshape(X.shape)
    out[...] = X
    return out


@needs()
def check_memory_layout_does_not_matter(subject):
    """Any order, stride, byte order or alignment gives the same model."""
    X, y = subject.groups()
    models = _models(subject, X, y)
    for name, Z in _layouts(X):
        for how, model in _models(subject, Z, y).items():
            message, plain = f"{how} on {name} rows", models[how]
            rtol = subject.within(1e-9)
            assert_close(canonical(model, X), canonical(plain, X), message, rtol=rtol)
            assert_close(answers(plain, Z), answers(plain, X), f"answers: {message}")


@needs()
def check_memory_maps_are_read(subject):
    """Read-only memory maps, as joblib hands them to workers, give the same bits."""
    X, y = subject.groups()
    arrays = {"X": X, "y": y, "weight": np.ones(len(X))}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for name, array in arrays.items():
            np.save(Path(folder) / name, array)
        maps = {
            name: np.load(Path(folder) / f"{name}.npy", mmap_mode="r")
            for name in arrays
        }
        models = _models(subject, **arrays)
        for how, model in _models(subject, **maps).items():
            message, plain = f"{how} on memory maps", models[how]
            assert_same_model(model, plain, X, message)
            assert_same_bits(answers(model, maps["X"]), answers(plain, X), message)


@needs()
def check_whole_numbers_are_numbers(subject):
    """Integers, booleans and short floats give the model of the same float64."""
    X, y = subject.counts()
    kinds = ["u1", "i4", "u8", "f2"]
    if not subject.has("unbounded"):
        kinds = ["?", "u1", "i8", "f2"]
    models = _models(subject, X, y)
    for Z in (X.astype(kind) for kind in kinds):
        for how, model in _models(subject, Z, y).items():
            message, expected = f"{how} on {Z.dtype}", canonical(models[how], X)
            assert_close(canonical(model, Z), expected, message, rtol=1e-5)


@needs()
def check_float32_is_kept(subject):
    """Codevectors and answers have the dtype of the rows, float32 or float64."""
    X, y = subject.groups()
    for dtype in (np.float32, np.float64):
        Z = X.astype(dtype)
        for how, model in _models(subject, Z, y).items():
            said = canonical(model, Z)
            kept = [
                "transform",
                "predict_proba",
                "predict_log_proba",
                "decision_function",
                "std",
                "cluster_centers_",
                "codevectors_",
            ]
            if subject.has("regressor"):
                kept.append("predict")
            found = {name: said[name].dtype for name in kept if name in said}
            assert set(found.values()) <= {np.dtype(dtype)}, f"{how}: {found}"


@needs(kind="float32 against float64")
def check_float32_agrees_with_float64(subject):
    """Rows in float32 give the same partition and nearly the same numbers."""
    X, y = subject.groups()
    double, single = subject.make().fit(X, y), subject.make().fit(X.astype("f4"), y)
    a, b = canonical(single, X.astype("f4")), canonical(double, X)
    assert_same_partition(
        subject.part(single, X.astype("f4")), subject.part(double, X), "float32"
    )
    # Random choices may depend on the bytes of the rows, and with them where the
    # annealing ends; what is found there may not.
    found = ("transform", "cluster_centers_", "cluster_weights_")
    assert_close(a, {n: b[n] for n in found if n in b}, "float32", rtol=1e-4)


@needs(kind="float32 against float64")
def check_dtypes_may_alternate(subject):
    """Rows of float64, float32 and integer dtype meet in one model."""
    X, y = subject.counts()
    kinds = ["f8", "f4", "u1", ">f8", "f4"]
    labels = subject.part(subject.make().fit(X, y), X)
    for fitted in kinds:
        model = subject.make().fit(X.astype(fitted), y)
        for asked in kinds:
            said = subject.part(model, X.astype(asked))
            assert_same_partition(said, labels, f"fit on {fitted}, predict on {asked}")
            assert_finite(model, X.astype(asked), f"fit on {fitted}, asked {asked}")
    if subject.has("partial_fit"):
        mixed, plain = subject.make(), subject.make()
        for i, kind in enumerate(kinds):
            rows = slice(24 * i, 24 * i + 24)
            subject.feed(mixed, X[rows].astype(kind), y[rows])
            subject.feed(plain, X[rows], y[rows])
        assert_same_partition(
            subject.part(mixed, X), subject.part(plain, X), f"a stream of {kinds}"
        )


@needs()
def check_containers_do_not_matter(subject):
    """Lists, pandas and polars frames give the model of the array."""
    X, y = subject.groups()
    names = ["a", "b", "c"]
    w = np.random.default_rng(7).integers(1, 4, len(X))
    arrays = (X, y, w)
    models = _models(subject, *arrays)
    for name, rows in {
        "list": tuple(part.tolist() for part in arrays),
        "pandas": (pd.DataFrame(X, columns=names), pd.Series(y), pd.Series(w)),
        "polars": (pl.DataFrame(X, schema=names), pl.Series(y), pl.Series(w)),
    }.items():
        for how, model in _models(subject, *rows).items():
            # Frames hold their columns one by one, and order is in the last bits.
            said, expected = answers(model, rows[0]), answers(models[how], X)
            rtol = subject.within(1e-9)
            assert_close(said, expected, f"{how} on {name}", rtol=rtol)


def _sparse_forms(X):
    """Yield X in every sparse format, tidy and untidy: a name and the container."""
    for kind in (
        sp.csr_matrix,
        sp.csr_array,
        sp.csc_matrix,
        sp.coo_array,
        sp.lil_matrix,
        sp.bsr_array,
    ):
        yield kind.__name__, kind(X)
    wide = sp.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype("i8"), wide.indptr.astype("i8")
    yield "csr_array with 64-bit indices", wide
    yield "csr_array in float32", sp.csr_array(X.astype("f4"))
    yield "csr_array out of order", _untidy(X)


def _untidy(X):
    """Store X as CSR with reversed indices, halves of each value, and zeros."""
    n_samples, n_features = X.shape
    columns = np.tile(np.r_[n_features - 1 : -1 : -1, 0:n_features], n_samples)
    rows = np.repeat(np.arange(n_samples), 2 * n_features)
    indptr = np.arange(n_samples + 1) * 2 * n_features
    return sp.csr_array((X[rows, columns] / 2.0, columns, indptr), shape=X.shape)


@needs("sparse")
def check_sparse_rows_give_what_dense_rows_give(subject):
    """Every sparse format, also untidy, agrees with the dense rows."""
    X, y = subject.counts(60)
    if subject.domain in ("real", "non-negative"):
        X[X < X.mean()] = 0.0
    models = _models(subject, X, y)
    for name, Z in _sparse_forms(X):
        rtol = 1e-4 if Z.dtype == np.float32 else subject.within(1e-7)
        for how, model in _models(subject, Z, y).items():
            message, dense = f"{how} on {name}", models[how]
            assert_close(canonical(model, Z), canonical(dense, X), message, rtol=rtol)
            assert_close(answers(dense, Z), answers(dense, X), message, rtol=rtol)
            if subject.has("score"):
                found, expected = dense.score(Z, y), dense.score(X, y)
                np.testing.assert_allclose(found, expected, rtol=rtol, err_msg=message)


@needs("sparse", "partial_fit")
def check_sparse_and_dense_batches_alternate(subject):
    """A sparse batch after a dense one is learnt as its dense rows would be."""
    X, y = subject.counts()
    mixed, plain = subject.make(), subject.make()
    for i, kind in enumerate((np.asarray, sp.csr_matrix, sp.coo_array, np.asarray)):
        rows = slice(30 * i, 30 * i + 30)
        subject.feed(mixed, kind(X[rows]), y[rows])
        subject.feed(plain, X[rows], y[rows])
    assert_close(
        canonical(mixed, X),
        canonical(plain, X),
        "sparse among dense batches",
        rtol=1e-7,
    )


@needs()
def check_inputs_are_left_alone(subject):
    """No call writes to X, y or the weights, dense or sparse, float32 or float64."""
    X, y = subject.counts(36)
    forms = [X, X.astype("f4"), np.asfortranarray(X)]
    if subject.has("sparse"):
        forms += [sp.csr_array(X), _untidy(X), sp.csc_array(X), sp.coo_array(X)]
    for Z in forms:
        weight = np.resize([1.0, 2.0, 3.0], len(y))
        given = {"X": Z, "y": y, "sample_weight": weight}
        untouched = copy.deepcopy(given)
        for model in _models(subject, Z, y, weight).values():
            answers(model, Z)
            if subject.has("score"):
                model.score(Z, y)
        assert_same_bits(given, untouched, "an input was written to")
