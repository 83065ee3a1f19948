"""Laws of the classifiers on data that hypothesis invents."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from odalib import (
    ADFProbitClassifier,
    EPGaussianProcessClassifier,
    EPProbitClassifier,
)

from .comparing import answers, assert_close, assert_finite, assert_same_bits

# Multiples of 1/8: their sums are exact, and rows often coincide.
eighths = st.integers(-80, 80).map(lambda i: i / 8.0)
seeds = st.integers(0, 2**16)
schemes = st.sampled_from(["ovo", "ovr"])
filters = st.fixed_dictionaries(
    {
        "covariance": st.sampled_from(["full", "diagonal"]),
        "forgetting": st.sampled_from([1.0, 0.9]),
        "multi_class": schemes,
        "n_orderings": st.just(1),
        "random_state": st.just(0),
    }
)


@st.composite
def labelled(draw, max_rows=25, n_classes=3):
    """Rows without any structure, and labels of any of the classes."""
    shape = draw(st.tuples(st.integers(2, max_rows), st.integers(1, 4)))
    X = draw(arrays(float, shape, elements=eighths))
    return X, draw(arrays(int, shape[0], elements=st.integers(0, n_classes - 1)))


def of_two_classes(y):
    return len(np.unique(y)) > 1


@given(data=labelled(), params=filters, cuts=st.lists(st.integers(1, 24), max_size=6))
def test_how_a_stream_is_cut_changes_no_bit(data, params, cuts):
    X, y = data
    whole = ADFProbitClassifier(**params).partial_fit(X, y, classes=[0, 1, 2])
    cut = ADFProbitClassifier(**params)
    for rows in np.split(np.arange(len(X)), sorted({c for c in cuts if c < len(X)})):
        cut.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
    assert_same_bits(answers(cut, X), answers(whole, X), f"cuts at {sorted(cuts)}")
    assert_same_bits(cut.covariance_, whole.covariance_, "covariances")


@given(data=labelled(), params=filters, seed=seeds)
def test_a_weight_is_so_many_rows(data, params, seed):
    """Of a filter to rounding, in a stream as in a fit; see also the next."""
    X, y = data
    weight = np.random.default_rng(seed).integers(0, 4, len(X))
    assume(of_two_classes(y[weight > 0]))
    copies = np.arange(len(X)).repeat(weight)
    for method, classes in (("partial_fit", {"classes": [0, 1, 2]}), ("fit", {})):
        weighted, repeated = (ADFProbitClassifier(**params) for _ in "ab")
        getattr(weighted, method)(X, y, sample_weight=weight, **classes)
        getattr(repeated, method)(X[copies], y[copies], **classes)
        assert_close(answers(weighted, X), answers(repeated, X), method)


EXACT = {
    "probit": lambda scheme: EPProbitClassifier(tol=1e-9, multi_class=scheme),
    "gaussian process": lambda scheme: EPGaussianProcessClassifier(
        multi_class={"ovo": "one_vs_one", "ovr": "one_vs_rest"}[scheme]
    ),
}


@pytest.mark.parametrize("make", EXACT.values(), ids=EXACT)
@given(data=labelled(), scheme=schemes, seed=seeds)
def test_order_and_repetition_do_not_matter(make, data, scheme, seed):
    X, y = data
    rng = np.random.default_rng(seed)
    weight = rng.integers(0, 4, len(X))
    assume(of_two_classes(y[weight > 0]))
    mixed = rng.permutation(np.arange(len(X)).repeat(weight))
    weighted = make(scheme).fit(X, y, sample_weight=weight)
    repeated = make(scheme).fit(X[mixed], y[mixed])
    assert_finite(weighted, X, "any rows and labels")
    for method in ("predict_proba", "predict_log_proba"):
        said, expected = getattr(weighted, method)(X), getattr(repeated, method)(X)
        np.testing.assert_allclose(said, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    "make", [EPProbitClassifier, ADFProbitClassifier], ids=["probit", "filtering"]
)
@given(data=labelled(n_classes=2), power=st.integers(-20, 20))
def test_only_rows_times_weights_matter(make, data, power):
    """Rows in another unit, with weights in one over it, are the same problem."""
    X, y = data
    assume(of_two_classes(y))
    factor = 2.0**power
    plain = make(1.0, tol=1e-9) if make is EPProbitClassifier else make(shuffle=False)
    plain.fit(X, y)
    scaled = make(**{**plain.get_params(), "prior_variance": 1.0 / factor**2})
    scaled.fit(X * factor, y)
    np.testing.assert_allclose(scaled.coef_ * factor, plain.coef_, 1e-6, atol=1e-9)
    np.testing.assert_allclose(
        scaled.predict_proba(X * factor), plain.predict_proba(X), rtol=1e-6
    )


@given(data=labelled(), scheme=schemes)
def test_turned_round_classes_turn_the_answers_round(data, scheme):
    X, y = data
    assume(of_two_classes(y))
    for model in (
        EPProbitClassifier(tol=1e-9, multi_class=scheme),
        ADFProbitClassifier(shuffle=False, multi_class=scheme),
    ):
        plain = model.fit(X, y).predict_proba(X)
        turned = model.fit(X, -y).predict_proba(X)
        np.testing.assert_allclose(turned[:, ::-1], plain, rtol=1e-5, atol=1e-9)
