"""Laws of single classifiers, on rows and labels that contradict each other."""

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

from .comparing import answers, assert_close, assert_finite
from .kinds import of_kind
from .lawful import seeds

# Multiples of 1/8: their sums are exact, and rows often coincide.
eighths = st.integers(-80, 80).map(lambda i: i / 8.0)
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


@of_kind("weights and repetition", ADFProbitClassifier)
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


@of_kind("weights and repetition", EPProbitClassifier, EPGaussianProcessClassifier)
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


@of_kind("scaling and shift")
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
