"""Predictions from beliefs about the weights of features."""

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
    for answer in (learnt(model).predict_proba, model.predict):
        with pytest.raises(ValueError, match=words):
            answer(layout(rows))


@every_kind
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_of_many_classes_means_decide_where_that_is_sure(
    model, layout, dtype, monkeypatch
):
    """As the probabilities of all rows do; in few rows, and for these, nothing else."""
    random = np.random.default_rng(4)
    centres = 4.0 * random.normal(size=(4, 3))
    y = random.integers(4, size=3000)
    rows = (centres[y] + random.normal(size=(3000, 3))).astype(dtype)
    model.fit(rows[:500].astype(np.float64), y[:500])
    rows[::60] = 0.0
    X = layout(rows)
    expected = model.predict_proba(X).argmax(axis=1)
    asked = []

    def most_probable(self, rows):
        asked.append(rows.shape[0])
        return self._proba(rows).argmax(axis=1)

    monkeypatch.setattr(type(model), "_most_probable", most_probable)
    np.testing.assert_array_equal(model.predict(X), expected)
    has_roots = getattr(model, "covariance", "full") == "full" and (
        getattr(model, "forgetting", 1.0) == 1.0
    )
    assert 50 <= sum(asked) <= (1000 if has_roots else 3000)
    np.testing.assert_array_equal(model.predict(X[:200]), expected[:200])
    assert asked[-1] == 200


@every_kind
@pytest.mark.parametrize(
    ("value", "words"), [(np.nan, "contains NaN"), (1e200, "whose squares")]
)
def test_rows_of_many_classes_are_refused(model, value, words):
    random = np.random.default_rng(5)
    rows, y = random.normal(size=(1000, 3)), random.integers(3, size=1000)
    model.fit(rows, y)
    rows[700, 2] = value
    for answer in (model.predict, model.predict_proba, model.predict_log_proba):
        with pytest.raises(ValueError, match=words):
            answer(rows)


@every_kind
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_wide_beliefs_are_asked_for_their_variances(model, dtype):
    """Of few rows; by means alone, dozens of these would be told other classes."""
    random = np.random.default_rng(1)
    y = np.arange(12) % 4
    model.fit(random.normal(size=(12, 3)) + 2.0 * random.normal(size=(4, 3))[y], y)
    rows = (10.0 * random.normal(size=(3000, 3))).astype(dtype)
    expected = model.predict_proba(rows).argmax(axis=1)
    np.testing.assert_array_equal(model.predict(rows), expected)
