"""Predictions of two classes from beliefs about the weights of features."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import ndtr

from odalib import ADFProbitClassifier, EPProbitClassifier

every_kind = pytest.mark.parametrize(
    "model",
    [
        EPProbitClassifier(fit_intercept=False),
        ADFProbitClassifier(fit_intercept=False, random_state=0),
        ADFProbitClassifier(fit_intercept=False, random_state=0, forgetting=0.999),
        ADFProbitClassifier(fit_intercept=False, random_state=0, covariance="diagonal"),
    ],
    ids=["EP", "ADF", "forgetting", "diagonal"],
)


def learnt(model):
    X = np.random.default_rng(0).normal(size=(150, 5))
    return model.fit(X, X[:, 0] - X[:, 1] > 0.3 * X[:, 2])


@every_kind
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_all_answers_decide_alike(model, layout, dtype):
    """Of rows so short that probabilities round to ties and near ties."""
    random = np.random.default_rng(1)
    scale = 10.0 ** -random.integers(0, 18, size=(2000, 1))
    rows = (scale * random.normal(size=(2000, 5))).astype(dtype)
    rows[::50] = 0.0
    X = layout(rows)
    learnt(model)
    probabilities, scores = model.predict_proba(X), model.decision_function(X)
    assert {probabilities.dtype, scores.dtype} == {np.dtype(dtype)}
    labels = model.predict(X)
    np.testing.assert_array_equal(labels, probabilities.argmax(axis=1))
    np.testing.assert_array_equal(labels, scores > 0.0)
    np.testing.assert_array_equal(
        scores == 0.0, probabilities[:, 0] == probabilities[:, 1]
    )
    rtol = 1000.0 * np.finfo(dtype).eps
    np.testing.assert_allclose(probabilities[:, 1], ndtr(scores), rtol=rtol)


@every_kind
def test_rows_of_several_blocks(model):
    rows = np.random.default_rng(2).normal(size=(70_000, 5))
    learnt(model)
    mean, variance = model.latent_mean_and_variance(rows)
    expected = ndtr(mean / np.sqrt(1.0 + variance))
    found = model.predict_proba(rows)
    np.testing.assert_allclose(found[:, 1], expected, rtol=1e-12)
    rows[-1, 2] = 1e150
    with pytest.raises(ValueError, match=r"up to 1e\+150, whose squares"):
        model.predict_proba(rows)


@every_kind
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    ("value", "words"), [(np.nan, "contains NaN"), (-np.inf, "contains infinity")]
)
def test_values_that_are_no_numbers_are_refused(model, layout, value, words):
    """In the words of scikit-learn, also beside values that are too large."""
    rows = np.random.default_rng(3).normal(size=(100, 5))
    rows[40, 1], rows[80, 3] = 1e200, value
    with pytest.raises(ValueError, match=words):
        learnt(model).predict_proba(layout(rows))
