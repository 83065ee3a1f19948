"""EPProbitClassifier on data that break such estimators: always an answer."""

import warnings

import numpy as np
import pytest
from scipy.special import log_ndtr
from sklearn.exceptions import ConvergenceWarning

from odalib import EPProbitClassifier

from .problems import noisy_plane


def make_rows():
    """Rows and labels; one class of two announced where all labels are the same."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    wide = rng.normal(size=(100, 5000))
    separable = (X @ [1.0, -2.0, 0.5] > 0).astype(int)
    noise = rng.integers(0, 2, 40)
    fives = X[:5].repeat(8, axis=0)
    return {
        "separable": (X, separable),
        "one class of two": (X, np.ones(40, int)),
        "duplicated rows": (fives, separable[:5].repeat(8)),
        "duplicated rows that contradict": (fives, np.arange(40) % 2),
        "constant columns": (np.c_[X, np.full(40, 14.62), np.zeros(40)], noise),
        "all rows the same": (np.full((40, 2), 3.0), np.arange(40) % 2),
        "one row": (X[:1], separable[:1]),
        "one wide row": (wide[:1, :50], np.ones(1, int)),
        "5000 features": (wide, (wide[:, 0] > 0).astype(int)),
        "labels are noise": (X, noise),
        "features times 1e8": (1e8 * X, noise),
        "features times 1e8, separable": (1e8 * X, separable),
    }


ROWS = make_rows()


def learn(model, X, y):
    """Fit, or announce both classes where there is one."""
    if len(np.unique(y)) == 2:
        return model.fit(X, y)
    return model.partial_fit(X, y, classes=[0, 1])


def assert_answers(model, X):
    for rows in (X, X.astype(np.float32), 1e3 * X, np.zeros_like(X)):
        for method in ("predict_proba", "predict_log_proba", "decision_function"):
            assert np.isfinite(getattr(model, method)(rows)).all(), method
        mean, variance = model.latent_mean_and_variance(rows)
        assert np.isfinite(mean).all()
        assert (variance >= 0).all()
    loo = model.loo_predict_proba()
    assert np.isfinite(loo).all()
    np.testing.assert_allclose(loo.sum(axis=1), 1.0, rtol=1e-12)
    for name in ("coef_", "intercept_", "log_evidence_", "site_precision_"):
        assert np.isfinite(getattr(model, name)).all(), name
    assert (model.log_evidence_ < 1e-9).all()


@pytest.mark.parametrize("solver", ["auto", "sequential", "parallel"])
@pytest.mark.parametrize("prior_variance", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("kind", ROWS)
def test_every_cell_is_answered(kind, prior_variance, solver):
    """Converged, or with a warning that states the residual; never NaN."""
    X, y = ROWS[kind]
    model = EPProbitClassifier(prior_variance, solver=solver)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        learn(model, X, y)
    residual = max(r[-1] for r in model.residuals_)
    if model.converged_:
        assert said == []
        assert residual <= 1e-6
    else:
        # Parallel updates alone are allowed to stall.
        assert solver == "parallel"
        assert [w.category for w in said] == [ConvergenceWarning]
        assert f"the residual is {residual:.3g}" in str(said[0].message)
    assert_answers(model, X)


@pytest.mark.parametrize("prior_variance", ["evidence", "ard"])
@pytest.mark.parametrize(
    "kind",
    [k for k in ROWS if len(np.unique(ROWS[k][1])) == 2 and k != "5000 features"],
)
def test_the_evidence_is_maximised_on_anything(kind, prior_variance):
    X, y = ROWS[kind]
    model = EPProbitClassifier(prior_variance).fit(X, y)
    assert model.converged_
    assert np.isfinite(model.prior_variance_).all()
    assert (model.prior_variance_ > 0).all()
    assert_answers(model, X)


@pytest.mark.parametrize("weight", [1e-3, 0.5, 1.5, 1e4])
@pytest.mark.parametrize("kind", [k for k in ROWS if k != "5000 features"])
def test_any_weights_are_answered(kind, weight):
    X, y = ROWS[kind]
    model = EPProbitClassifier()
    model.partial_fit(X, y, classes=[0, 1], sample_weight=np.full(len(X), weight))
    assert model.converged_
    assert_answers(model, X)


def test_separable_rows_are_told_apart_by_a_wide_prior():
    """With every row mirrored there is no intercept, and at zero no preference."""
    X, y = ROWS["separable"]
    model = EPProbitClassifier(1e6).fit(X, y)
    assert model.score(X, y) == 1.0
    model.fit(np.r_[X, -X], np.r_[y, 1 - y])
    assert model.score(X, y) == 1.0
    np.testing.assert_allclose(model.intercept_, 0.0, atol=1e-4)
    np.testing.assert_allclose(model.predict_proba(0 * X[:1]), 0.5, atol=1e-4)


def test_certain_weights_have_finite_logarithms_where_probabilities_underflow():
    X, y = ROWS["labels are noise"]
    model = EPProbitClassifier().fit(X, y, sample_weight=np.full(40, 1e6))
    far = 1e6 * X
    margin, logs = model.decision_function(far), model.predict_log_proba(far)
    assert np.abs(margin).max() > 100
    np.testing.assert_allclose(logs.T, log_ndtr([-margin, margin]), rtol=1e-12)
    assert np.isfinite(logs).all()
    assert model.predict_proba(far).min() == 0.0


@pytest.mark.parametrize("n", [1, 3, 10, 100])
def test_the_rule_of_succession(n):
    """An intercept of variance one makes the probability uniform beforehand.

    After n ones the next is one with probability ``(n + 1) / (n + 2)``, and the
    probability of them all is ``1 / (n + 1)``.
    """
    model = EPProbitClassifier(intercept_variance=1.0)
    model.partial_fit(np.zeros((n, 1)), np.ones(n, int), classes=[0, 1])
    found = model.predict_proba([[0.0]])[0, 1]
    assert found == pytest.approx((n + 1) / (n + 2), abs=0.002)
    assert np.exp(model.log_evidence_[0]) == pytest.approx(1 / (n + 1), rel=0.04)


@pytest.mark.parametrize("factor", [1e-8, 1e-3, 1.0, 1e3, 1e8])
def test_scaled_rows_with_a_scaled_prior_are_the_same_problem(factor):
    X, y = ROWS["labels are noise"]
    plain = EPProbitClassifier(tol=1e-10).fit(X, y)
    scaled = EPProbitClassifier(1.0 / factor**2, tol=1e-10).fit(X * factor, y)
    np.testing.assert_allclose(scaled.coef_ * factor, plain.coef_, rtol=1e-7)
    np.testing.assert_allclose(scaled.log_evidence_, plain.log_evidence_, rtol=1e-10)


def test_variances_of_float32_rows_do_not_overflow():
    X, y = noisy_plane(60, 3)
    model = EPProbitClassifier("evidence").fit((1e-30 * X).astype(np.float32), y)
    assert np.isfinite(model.prior_variance_).all()


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e5])
def test_the_evidence_finds_what_an_offset_hides(offset):
    """The intercept takes care of it; the scale is that of what is left."""
    X, y = noisy_plane(400, 2)
    moved = X + np.array([offset, 0.0])
    model = EPProbitClassifier("evidence").fit(moved, y)
    plain = EPProbitClassifier("evidence").fit(X, y)
    assert model.score(moved, y) > plain.score(X, y) - 0.1
    assert model.log_evidence_[0] > 400 * np.log(0.5) + 20.0


def test_a_new_fit_leaves_nothing_of_the_last():
    X, y = noisy_plane(40, 3)
    model = EPProbitClassifier().fit(X, y)
    model.set_params(fit_intercept=False).fit(X, y)
    assert not hasattr(model, "intercept_variance_")
