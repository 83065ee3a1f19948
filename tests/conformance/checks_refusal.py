"""Checks of bad input: a clear error, and the estimator as it was before."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import scipy.sparse as sp

from .comparing import (
    ANSWERS,
    assert_finite,
    assert_same_bits,
    learnt,
    leaves,
    needs,
    refused,
)

KIND = "refusals and their words"

_INFINITE = (np.inf, -np.inf)
_READS = (*ANSWERS, "decision_path", "explain")


def _no_numbers(subject):
    """List the values that are no numbers, nor stand for a missing entry."""
    return _INFINITE if subject.has("missing") else (np.nan, *_INFINITE)


def _with_last(X, value):
    bad = X.copy()
    bad[-1, -1] = value
    return bad


def _calls(subject, fitted):
    """Yield every method that reads rows: a name and a function of X and y."""
    yield "fit", lambda X, y: subject.make().fit(X, y)
    if subject.has("partial_fit"):
        yield "partial_fit", lambda X, y: subject.feed(subject.make(), X, y)
    if subject.has("score"):
        yield "score", fitted.score
    for name in _READS:
        if hasattr(fitted, name):
            yield name, partial(_ask, getattr(fitted, name))


def _ask(method, X, y):
    return method(X)


@needs()
def check_values_that_are_no_numbers_are_refused(subject):
    """NaN and infinities are refused by name in every method, dense and sparse."""
    X, y = subject.groups()
    fitted = subject.make().fit(X, y)
    for name, call in _calls(subject, fitted):
        for value in _no_numbers(subject):
            bad = _with_last(X, value)
            with refused("NaN|infinity", f"{value} in {name}"):
                call(bad, y)
            if subject.has("sparse"):
                with refused("NaN|infinity", f"sparse {value} in {name}"):
                    call(sp.csr_array(bad), y)


@needs("domain")
def check_values_outside_of_the_domain_are_named(subject):
    """The error in every method names the row and the domain, dense and sparse."""
    X, y = subject.groups()
    bad = subject.outside(X)
    fitted = subject.make().fit(X, y)
    for name, call in _calls(subject, fitted):
        for Z in [bad] + [sp.csr_array(bad)] * subject.has("sparse"):
            for match in (subject.domain_error, r"\b17\b"):
                with refused(match, f"a value outside of the domain in {name}"):
                    call(Z, y)


def _bad_weights(n_samples):
    ones = np.ones(n_samples)
    yield "negative", "[Nn]egative", np.where(np.arange(n_samples) == 3, -1.0, 1.0)
    yield "all zero", "zero", 0.0 * ones
    yield "NaN", "NaN", np.where(np.arange(n_samples) == 3, np.nan, 1.0)
    yield "infinite", "infinity", np.where(np.arange(n_samples) == 3, np.inf, 1.0)
    yield "too few", "shape", ones[:-1]
    yield "two-dimensional", "1D", np.ones((n_samples, 2))


@needs("sample_weight")
def check_bad_weights_are_refused(subject):
    """Weights that are negative, all zero, not finite or of the wrong shape."""
    X, y = subject.groups()
    for name, match, weight in _bad_weights(len(X)):
        with refused(match, f"{name} weights in fit"):
            subject.make().fit(X, y, sample_weight=weight)
        if subject.has("partial_fit"):
            with refused(match, f"{name} weights in partial_fit"):
                subject.feed(subject.make(), X, y, sample_weight=weight)


def _bad_batches(subject, X, y):
    """Yield calls that must fail: a name and the keywords of the call."""
    # Good rows of several batches come first, and must not be learnt either.
    for value in _no_numbers(subject):
        yield f"{value}", {"X": _with_last(X, value), "y": y}
    if subject.has("domain"):
        yield "a value outside of the domain", {"X": subject.outside(X), "y": y}
    if subject.has("sparse"):
        yield "sparse infinity", {"X": sp.csr_array(_with_last(X, np.inf)), "y": y}
    yield "no rows", {"X": X[:0], "y": y[:0]}
    yield "one dimension", {"X": X[0], "y": y[:1]}
    yield "complex numbers", {"X": X + 1j, "y": y}
    yield "text", {"X": np.full(X.shape, "a"), "y": y}
    if subject.has("sample_weight"):
        for name, _, weight in _bad_weights(len(X)):
            yield f"{name} weights", {"X": X, "y": y, "sample_weight": weight}


def _refuse_untouched(subject, model, name, call):
    before = leaves(vars(model))
    try:
        subject.feed(model, **call)
    except ValueError:
        pass
    else:
        raise AssertionError(f"{name} in partial_fit was accepted")
    after = leaves(vars(model))
    moved = sorted(k for k in before | after if before.get(k) != after.get(k))
    assert not moved, f"a call refused for {name} has moved {moved[:8]}"


@needs("partial_fit")
def check_a_refused_batch_changes_nothing(subject):
    """After a failed ``partial_fit`` every bit is as before, also on the first call."""
    X, y = subject.groups(600)
    narrow = {"X": X[:, :-1], "y": y}
    for _, make in subject.beginnings():
        streaming = subject.feed(make(), X[:301], y[:301])
        learnt(streaming)
        for name, call in [*_bad_batches(subject, X, y), ("a column less", narrow)]:
            _refuse_untouched(subject, streaming, name, call)
    for name, call in _bad_batches(subject, X, y):
        fresh = subject.make()
        _refuse_untouched(subject, fresh, name, call)
        if subject.any_width:
            subject.feed(fresh, X[:, :2], y)
            found = fresh.n_features_in_
            assert found == 2, f"{name} refused fixes the number of features"


@needs("partial_fit")
def check_columns_of_other_names_change_nothing(subject):
    """A frame of swapped, missing or new columns is refused; nothing moves."""
    X, y = subject.groups()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = subject.feed(subject.make(), frame, y)
    learnt(model)
    for name, bad in {
        "swapped columns": frame[["b", "a", "c"]],
        "a missing column": frame[["a", "b"]],
        "a new column": frame.assign(d=1.0),
        "a renamed column": frame.rename(columns={"a": "z"}),
    }.items():
        _refuse_untouched(subject, model, name, {"X": bad, "y": y})
    before = learnt(model)["feature_names_in_"].tolist()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        subject.feed(model, X, y)
    said = [str(w.message) for w in caught if "valid feature names" in str(w.message)]
    assert said, "an array after a frame is taken without a word"
    assert_same_bits(
        model.feature_names_in_.tolist(), before, "an array after a frame drops names"
    )


@needs("unbounded", kind="hostile numbers")
def check_huge_values_are_answered_or_refused(subject):
    """Values whose squares overflow give finite numbers or advice to scale."""
    X, y = subject.groups(30)
    calls = {"fit": lambda Z: subject.make().fit(Z, y)}
    if subject.has("partial_fit"):
        calls["partial_fit"] = lambda Z: subject.feed(subject.make(), Z, y)
    for name, call in calls.items():
        for Z in (X * 1e160, X * 1e305, (X * 1e30).astype(np.float32)):
            try:
                model = call(Z)
            except ValueError as error:
                assert "scal" in str(error), f"{name} of huge values: {error}"
            else:
                assert_finite(model, Z, f"{name} of huge values")
                for part in ("cluster_centers_", "codevectors_", "coef_"):
                    finite = np.isfinite(getattr(model, part, 0.0)).all()
                    assert finite, f"{name}: {part} is not finite"
