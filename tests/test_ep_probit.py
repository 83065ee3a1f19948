"""EPProbitClassifier: what it learns from all rows at once."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import log_ndtr, ndtr
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from odalib import EPProbitClassifier

from .inference.ep.reference_values import PROBIT_REGRESSIONS
from .oracles.textbook_ep import probit, probit_power, textbook_ep, weight_posterior
from .problems import assert_left_out, noisy_plane

IRIS, SPECIES = load_iris(return_X_y=True)
PATIENTS, MALIGNANT = load_breast_cancer(return_X_y=True)
TIGHT = 1e-11
INTERCEPT_VARIANCE = 10.0


def textbook(X, y, prior_variance, weight=None):
    """Mean and covariance of weights, intercept last, and the log evidence."""
    design = np.c_[X, np.ones(len(X))]
    variances = np.r_[np.broadcast_to(prior_variance, X.shape[1]), INTERCEPT_VARIANCE]
    signs = np.where(y, 1.0, -1.0)
    copies, tilted = None, probit(signs)
    if weight is not None:
        copies = np.maximum(weight, 1.0)
        if (weight < 1.0).any():
            tilted = probit_power(signs, np.minimum(weight, 1.0))
    covariance = (design * variances) @ design.T
    result = textbook_ep(covariance, tilted, copies=copies)
    prior_mean = np.zeros(len(variances))
    mean, covariance = weight_posterior(
        design, np.diag(variances), prior_mean, result, copies
    )
    return mean, covariance, result


def assert_posterior(model, mean, covariance, log_evidence, rtol=1e-7):
    """Of a problem of two classes."""
    np.testing.assert_allclose(np.r_[model.coef_[0], model.intercept_], mean, rtol)
    np.testing.assert_allclose(
        model.posterior_covariance()[0],
        covariance,
        rtol,
        atol=rtol * np.abs(covariance).max(),
    )
    np.testing.assert_allclose(model.log_evidence_, [log_evidence], rtol)


# The posterior


@pytest.mark.parametrize("name", PROBIT_REGRESSIONS)
def test_reference_values(name):
    """Of another implementation; their first column is the intercept's."""
    known = PROBIT_REGRESSIONS[name]
    variance = known.variances[0]
    model = EPProbitClassifier(variance, intercept_variance=variance, tol=TIGHT)
    model.fit(known.X[:, 1:], np.where(known.y > 0, "yes", "no"))
    mean = np.r_[model.intercept_, model.coef_[0]]
    sd = np.sqrt(np.diag(model.covariance_[0]))[[-1, *range(len(mean) - 1)]]
    np.testing.assert_allclose(mean, known.ep.mean, rtol=1e-6)
    np.testing.assert_allclose(sd, known.ep.sd, rtol=1e-6)
    np.testing.assert_allclose(model.log_evidence_, [known.ep.log_evidence], atol=1e-6)


WEIGHTS = {
    "none": None,
    "whole": np.resize([1.0, 3.0, 2.0], 20),
    "from one": np.linspace(1.0, 4.0, 20),
    "below one": np.linspace(0.05, 0.95, 20),
    "any": np.linspace(0.1, 3.0, 20),
}


@pytest.mark.parametrize("weight", WEIGHTS.values(), ids=WEIGHTS)
@pytest.mark.parametrize("prior_variance", [0.7, np.array([2.0, 0.1, 1.0])], ids=str)
def test_textbook(prior_variance, weight):
    X, y = noisy_plane(20, 3)
    model = EPProbitClassifier(prior_variance, tol=TIGHT).fit(X, y, weight)
    mean, covariance, result = textbook(X, y, prior_variance, weight)
    assert_posterior(model, mean, covariance, result.log_evidence)
    assert_posterior(model, mean, model.covariance_[0], result.log_evidence)
    np.testing.assert_allclose(model.site_precision_[0], result.site_precision, 1e-6)
    np.testing.assert_allclose(model.site_shift_[0], result.site_shift, 1e-6)
    assert_left_out(model, result)


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_textbook_with_fewer_rows_than_features(layout):
    X, y = noisy_plane(9, 14)
    X[np.abs(X) < 0.5] = 0.0
    model = EPProbitClassifier(0.5, tol=TIGHT).fit(layout(X), y)
    mean, covariance, result = textbook(X, y, 0.5)
    assert_posterior(model, mean, covariance, result.log_evidence)
    with pytest.raises(AttributeError, match="call posterior_covariance"):
        model.covariance_  # noqa: B018 (raises)
    assert not hasattr(model, "covariance_")


def test_probabilities_integrate_over_the_posterior():
    X, y = noisy_plane(30, 3)
    model = EPProbitClassifier().fit(X, y)
    new = np.c_[np.random.default_rng(1).normal(size=(50, 3)), np.ones(50)]
    mean = new @ np.r_[model.coef_[0], model.intercept_]
    variance = np.einsum("ij,jk,ik->i", new, model.covariance_[0], new)
    margin = mean / np.sqrt(1.0 + variance)
    rows = new[:, :3]
    np.testing.assert_allclose(model.predict_proba(rows)[:, 1], ndtr(margin), 1e-10)
    np.testing.assert_allclose(model.predict_log_proba(rows)[:, 0], log_ndtr(-margin))
    np.testing.assert_allclose(model.decision_function(rows), margin, rtol=1e-10)
    latent = model.latent_mean_and_variance(rows)
    np.testing.assert_allclose(latent, [mean, variance], rtol=1e-10)


def test_without_intercept():
    X, y = noisy_plane(30, 3)
    model = EPProbitClassifier(fit_intercept=False, tol=TIGHT).fit(X, y)
    tiny = EPProbitClassifier(intercept_variance=1e-12, tol=TIGHT).fit(X, y)
    np.testing.assert_allclose(model.coef_, tiny.coef_, rtol=1e-8)
    np.testing.assert_allclose(model.covariance_, tiny.covariance_[:, :3, :3], 1e-8)
    assert model.intercept_.tolist() == [0.0]
    assert not hasattr(model, "intercept_variance_")


@pytest.mark.parametrize("n_copies", [2, 5])
def test_a_weight_is_so_many_rows(n_copies):
    X, y = noisy_plane(25, 3)
    weight = np.resize([1, n_copies, 0], 25)
    weighted = EPProbitClassifier(tol=1e-12).fit(X, y, sample_weight=weight)
    copies = np.repeat(np.arange(25), weight)
    repeated = EPProbitClassifier(tol=1e-12).fit(X[copies], y[copies])
    for name in ("coef_", "intercept_", "covariance_", "log_evidence_"):
        np.testing.assert_allclose(
            getattr(weighted, name), getattr(repeated, name), rtol=1e-10, atol=1e-10
        )


@pytest.mark.parametrize("shape", [(60, 4), (12, 30)], ids=["weights", "gram"])
def test_all_solvers_come_to_the_same(shape):
    X, y = noisy_plane(*shape)
    solvers = ("auto", "parallel", "sequential", "blocked")
    models = [EPProbitClassifier(solver=s, tol=TIGHT).fit(X, y) for s in solvers]
    for model, solver in zip(models[1:], solvers[1:], strict=True):
        assert model.solver_ == [solver]
        np.testing.assert_allclose(model.coef_, models[0].coef_, rtol=1e-8)
        np.testing.assert_allclose(model.log_evidence_, models[0].log_evidence_, 1e-9)
    slow = EPProbitClassifier(solver="double_loop", max_iter=1000).fit(X, y)
    np.testing.assert_allclose(slow.coef_, models[0].coef_, atol=1e-5)
    np.testing.assert_allclose(slow.log_evidence_, models[0].log_evidence_, atol=1e-6)


# Evidence


def evidence_at(model, X, y, factor=1.0, intercept_factor=1.0):
    """Log evidence with fixed variances, those found times a factor."""
    other = EPProbitClassifier(
        model.prior_variance_[0] * factor,
        intercept_variance=model.intercept_variance_[0] * intercept_factor,
        tol=TIGHT,
    )
    return other.fit(X, y).log_evidence_[0]


@pytest.mark.parametrize("shape", [(80, 5), (20, 60)], ids=["weights", "gram"])
def test_the_evidence_is_largest(shape):
    X, y = noisy_plane(*shape)
    model = EPProbitClassifier("evidence").fit(X, y)
    assert np.ptp(model.prior_variance_) == 0.0
    top = evidence_at(model, X, y)
    assert model.log_evidence_[0] == pytest.approx(top, abs=1e-6)
    for factors in ((1.3, 1.0), (1 / 1.3, 1.0), (1.0, 1.5), (1.0, 1 / 1.5)):
        assert evidence_at(model, X, y, *factors) < top + 1e-4
    # By its slope in the log of the variance the largest to 1e-4.
    slope = evidence_at(model, X, y, 1.01) - evidence_at(model, X, y, 1 / 1.01)
    assert abs(slope / (2 * np.log(1.01))) < 0.015


def test_the_evidence_of_every_variance_is_largest():
    X, y = noisy_plane(120, 4, seed=3)
    y = ((X[:, 0] - X[:, 2] + np.random.default_rng(4).normal(size=120)) > 0).astype(
        int
    )
    model = EPProbitClassifier("ard").fit(X, y)
    top = evidence_at(model, X, y)
    assert top > EPProbitClassifier("evidence").fit(X, y).log_evidence_[0]
    for j in range(4):
        for factor in (1.3, 1 / 1.3):
            moved = np.where(np.arange(4) == j, factor, 1.0)
            assert evidence_at(model, X, y, moved) < top + 1e-4
    relevant = model.prior_variance_[0] > 1e-2
    assert relevant.tolist() == [True, False, True, False]


def test_the_evidence_does_not_depend_on_where_the_search_starts():
    X, y = noisy_plane(80, 5)
    models = [
        EPProbitClassifier("evidence", intercept_variance=v).fit(X * s, y)
        for v, s in ((10.0, 1.0), (0.01, 1.0), (1e4, 1.0), (10.0, 1e-3), (10.0, 1e3))
    ]
    found = np.array([model.log_evidence_[0] for model in models])
    np.testing.assert_allclose(found, found[0], atol=1e-3)
    scaled = models[-1].prior_variance_ * 1e6
    np.testing.assert_allclose(scaled, models[0].prior_variance_, rtol=0.05)


def test_what_the_evidence_chose_gives_the_fit_with_it():
    X, y = noisy_plane(80, 5)
    model = EPProbitClassifier("evidence", tol=TIGHT).fit(X, y)
    fixed = EPProbitClassifier(
        model.prior_variance_[0],
        intercept_variance=model.intercept_variance_[0],
        tol=TIGHT,
    ).fit(X, y)
    np.testing.assert_allclose(model.coef_, fixed.coef_, rtol=1e-8)
    np.testing.assert_allclose(model.covariance_, fixed.covariance_, rtol=1e-8)


# Several classes


def test_pairs_of_classes_are_learnt_alone():
    model = EPProbitClassifier(tol=TIGHT).fit(IRIS, SPECIES)
    assert model.coef_.shape == (3, 4)
    assert model.covariance_.shape == (3, 5, 5)
    for k, pair in enumerate([(0, 1), (0, 2), (1, 2)]):
        rows = np.isin(SPECIES, pair)
        alone = EPProbitClassifier(tol=TIGHT).fit(IRIS[rows], SPECIES[rows])
        np.testing.assert_allclose(model.coef_[k], alone.coef_[0], rtol=1e-7)
        np.testing.assert_allclose(model.covariance_[k], alone.covariance_[0], 1e-7)
        np.testing.assert_allclose(model.log_evidence_[k], alone.log_evidence_[0])
        assert (model.site_precision_[k] > 0).tolist() == rows.tolist()
        assert (model.site_shift_[k] != 0).tolist() == rows.tolist()
        np.testing.assert_allclose(
            model.site_shift_[k, rows], alone.site_shift_[0], 1e-6
        )


def test_a_class_against_the_rest():
    model = EPProbitClassifier(multi_class="ovr", tol=TIGHT).fit(IRIS, SPECIES)
    for k in range(3):
        alone = EPProbitClassifier(tol=TIGHT).fit(IRIS, SPECIES == k)
        np.testing.assert_allclose(model.coef_[k], alone.coef_[0], rtol=1e-7)
        np.testing.assert_allclose(model.log_evidence_[k], alone.log_evidence_[0])
    mean, variance = model.latent_mean_and_variance(IRIS)
    positive = ndtr(mean / np.sqrt(1.0 + variance))
    np.testing.assert_allclose(
        model.predict_proba(IRIS), positive / positive.sum(axis=1, keepdims=True), 1e-9
    )


def test_pairs_are_better_calibrated_than_one_against_the_rest():
    """Log loss of iris in five folds: about .09 and .22."""
    losses = {}
    for scheme in ("ovo", "ovr"):
        model = make_pipeline(
            StandardScaler(), EPProbitClassifier("evidence", multi_class=scheme)
        )
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        found = cross_val_predict(
            model, IRIS, SPECIES, cv=folds, method="predict_proba"
        )
        losses[scheme] = log_loss(SPECIES, found)
    assert losses["ovo"] == pytest.approx(0.09, abs=0.02)
    assert losses["ovr"] == pytest.approx(0.22, abs=0.02)


def test_shapes_and_reports():
    weight = np.resize([1.0, 0.0, 0.5], 150)
    model = EPProbitClassifier().fit(IRIS, SPECIES, sample_weight=weight)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.intercept_.shape == model.intercept_variance_.shape == (3,)
    assert model.prior_variance_.shape == (3, 4)
    assert model.site_precision_.shape == model.site_shift_.shape == (3, 150)
    assert (model.site_precision_[:, weight == 0] == 0).all()
    assert (model.site_shift_[:, weight == 0] == 0).all()
    assert model.n_iter_.dtype.kind == "i"
    assert [len(r) for r in model.residuals_] == model.n_iter_.tolist()
    assert all(r[-1] <= 1e-6 < r[0] for r in model.residuals_)
    assert model.converged_ is True
    assert model.solver_ == ["parallel"] * 3
    loo = model.loo_predict_proba()
    assert loo.shape == (150, 3)
    absent = weight == 0
    np.testing.assert_allclose(loo[absent], model.predict_proba(IRIS[absent]), 1e-9)


# Leaving rows out


@pytest.mark.parametrize("prior_variance", [0.1, 1.0])
def test_leaving_a_row_out_is_nearly_a_fit_without_it(prior_variance):
    """Within 0.01, where a cavity alone is off by up to 0.03."""
    X, y = scale(PATIENTS[:300, :10]), MALIGNANT[:300]
    model = EPProbitClassifier(prior_variance).fit(X, y)
    found = model.loo_predict_proba()
    # The rows that matter most, and some of the others.
    most = np.argsort(np.abs(found - model.predict_proba(X)).max(axis=1))[-15:]
    rows = np.union1d(most, np.arange(0, 300, 25))
    expected = [
        EPProbitClassifier(prior_variance)
        .fit(np.delete(X, i, axis=0), np.delete(y, i))
        .predict_proba(X[i : i + 1])[0, 1]
        for i in rows
    ]
    np.testing.assert_allclose(found[rows, 1], expected, rtol=0, atol=0.01)
    assert log_loss(y, found) > log_loss(y, model.predict_proba(X))


def test_of_a_weighted_row_one_copy_is_left_out():
    X, y = noisy_plane(40, 3)
    weight = np.where(np.arange(40) % 2, 3.0, 1.0)
    found = EPProbitClassifier().fit(X, y, sample_weight=weight).loo_predict_proba()
    for i in range(0, 40, 3):
        fewer = np.where(np.arange(40) == i, weight - 1.0, weight)
        without = EPProbitClassifier().fit(X, y, sample_weight=fewer)
        expected = without.predict_proba(X[i : i + 1])[0]
        np.testing.assert_allclose(found[i], expected, atol=0.01)


# Space, layouts and precision


def test_many_features_need_no_square_array():
    """An array of 5000 x 5000 would take 200 MB; the rows take 4 MB."""
    X, y = noisy_plane(100, 5000)
    tracemalloc.start()
    try:
        model = EPProbitClassifier(1e-3).fit(X, y)
        model.predict_proba(X)
        model.loo_predict_proba()
        model.partial_fit(X[:50], y[:50])
        model._repr_html_()
        assert not hasattr(model, "covariance_")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 60e6
    assert model.score(X, y) == 1.0


@pytest.mark.parametrize("shape", [(90, 6), (15, 40)], ids=["weights", "gram"])
@pytest.mark.parametrize("prior_variance", [1.0, "evidence"])
def test_sparse_rows_as_dense_ones(shape, prior_variance):
    X, y = noisy_plane(*shape)
    X[np.abs(X) < 0.7] = 0.0
    dense, sparse = (
        EPProbitClassifier(prior_variance, tol=1e-9).fit(rows, y)
        for rows in (X, sp.csr_array(X))
    )
    rtol = 1e-6 if prior_variance == 1.0 else 1e-3
    np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol, atol=rtol)
    np.testing.assert_allclose(sparse.log_evidence_, dense.log_evidence_, rtol)
    np.testing.assert_allclose(
        dense.predict_proba(sp.csr_array(X)), dense.predict_proba(X), rtol=1e-10
    )


def test_float32():
    X, y = noisy_plane(60, 4)
    rows = X.astype(np.float32)
    single = EPProbitClassifier().fit(rows, y)
    double = EPProbitClassifier().fit(rows.astype(np.float64), y)
    for name in ("coef_", "intercept_", "covariance_"):
        assert getattr(single, name).dtype == np.float32
        np.testing.assert_allclose(getattr(single, name), getattr(double, name), 1e-6)
    assert single.loo_predict_proba().dtype == np.float32
    # Computed in float64, from what is kept in float64.
    for method in ("predict_proba", "predict_log_proba", "decision_function"):
        found = getattr(single, method)(rows)
        assert found.dtype == np.float32
        np.testing.assert_allclose(
            found, getattr(double, method)(rows.astype(np.float64)), rtol=1e-6
        )
    assert single.predict_proba(X).dtype == np.float64
