"""EPProbitClassifier: streams, refusals, warnings and representations."""

import pickle
import re
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.preprocessing import scale
from sklearn.utils._param_validation import InvalidParameterError

from odalib import EPProbitClassifier

from .conformance.comparing import leaves
from .oracles.gaussian_latent import probit_by_quadrature
from .oracles.textbook_ep import probit, textbook_ep, weight_posterior
from .problems import noisy_plane

IRIS, SPECIES = load_iris(return_X_y=True)
SHUFFLED = np.random.default_rng(0).permutation(150)
TIGHT = 1e-11


def in_parts(model, X, y, n_parts, **kwargs):
    for rows in np.array_split(np.arange(len(X)), n_parts):
        model.partial_fit(X[rows], y[rows], classes=np.unique(y), **kwargs)
    return model


# Streams


def test_what_was_learnt_is_the_prior_of_what_follows():
    """Batch by batch by the textbook, from the posterior of the batch before."""
    X, y = noisy_plane(36, 2)
    model = EPProbitClassifier(0.7, intercept_variance=2.0, tol=TIGHT)
    design = np.c_[X, np.ones(36)]
    mean, covariance, log_evidence = np.zeros(3), np.diag([0.7, 0.7, 2.0]), 0.0
    for rows in np.split(np.arange(36), [12, 20]):
        model.partial_fit(X[rows], y[rows], classes=[0, 1])
        A = design[rows]
        result = textbook_ep(
            A @ covariance @ A.T,
            probit(np.where(y[rows], 1.0, -1.0)),
            prior_mean=A @ mean,
        )
        mean, covariance = weight_posterior(A, covariance, mean, result)
        log_evidence += result.log_evidence
        np.testing.assert_allclose(np.r_[model.coef_[0], model.intercept_], mean, 1e-7)
        np.testing.assert_allclose(model.covariance_[0], covariance, rtol=1e-7)
        np.testing.assert_allclose(model.log_evidence_, [log_evidence], rtol=1e-8)
        # Reports are of the rows of the call.
        np.testing.assert_allclose(model.site_shift_[0], result.site_shift, rtol=1e-6)


@pytest.mark.parametrize(("n_parts", "atol"), [(1, 0.01), (2, 0.03)])
def test_the_evidence_of_a_stream_is_near_the_truth(n_parts, atol):
    X, y = noisy_plane(40, 1)
    model = in_parts(EPProbitClassifier(2.0), X, y, n_parts)
    design = np.c_[X, np.ones(40)]
    exact = probit_by_quadrature(design, np.where(y, 1.0, -1.0), np.diag([2.0, 10.0]))
    assert model.log_evidence_[0] == pytest.approx(exact.log_evidence, abs=atol)
    found = np.r_[model.coef_[0], model.intercept_]
    np.testing.assert_allclose(found, exact.mean, atol=0.1 * exact.sd.max())


@pytest.mark.parametrize("shape", [(60, 4), (12, 30)], ids=["weights", "gram"])
def test_one_call_with_all_rows_is_a_fit(shape):
    X, y = noisy_plane(*shape)
    weight = np.resize([1.0, 2.0, 0.5, 0.0], len(X))
    fitted = EPProbitClassifier().fit(X, y, weight)
    streamed = EPProbitClassifier().partial_fit(X, y, [0, 1], weight)
    for name in ("coef_", "intercept_", "log_evidence_", "site_precision_"):
        np.testing.assert_array_equal(getattr(streamed, name), getattr(fitted, name))
    np.testing.assert_array_equal(
        streamed.posterior_covariance(), fitted.posterior_covariance()
    )


@pytest.mark.parametrize(("n_parts", "atol"), [(2, 0.05), (8, 0.1), (150, 0.15)])
def test_cutting_a_stream_costs_little(n_parts, atol):
    X, y = IRIS[SHUFFLED], SPECIES[SHUFFLED]
    whole = EPProbitClassifier().fit(X, y)
    cut = in_parts(EPProbitClassifier(), X, y, n_parts)
    np.testing.assert_allclose(cut.predict_proba(X), whole.predict_proba(X), atol=atol)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_a_problem_without_rows_stays_as_it_was(multi_class):
    model = EPProbitClassifier(multi_class=multi_class)
    rows = np.flatnonzero(SPECIES < 2)
    model.partial_fit(IRIS[rows], SPECIES[rows], classes=[0, 1, 2])
    if multi_class == "ovr":
        assert (model.n_iter_ > 0).all()
        return
    before = model.coef_.copy(), model.covariance_.copy(), model.log_evidence_.copy()
    rows = np.flatnonzero(SPECIES == 2)
    model.partial_fit(IRIS[rows], SPECIES[rows])
    # Of the pairs (0, 1), (0, 2) and (1, 2).
    for old, new in zip(
        before, (model.coef_, model.covariance_, model.log_evidence_), strict=True
    ):
        np.testing.assert_array_equal(new[0], old[0])
        assert (new[1:] != old[1:]).all()
    assert model.n_iter_[0] == 0
    assert model.solver_[0] is None
    assert model.residuals_[0] == []
    assert (model.site_precision_[0] == 0).all()
    assert model.loo_predict_proba().shape == (50, 3)
    assert model.converged_ is True


@pytest.mark.parametrize("prior_variance", ["evidence", "ard"])
def test_a_stream_has_no_evidence_to_choose_by(prior_variance):
    X, y = noisy_plane(40, 3)
    model = EPProbitClassifier(prior_variance)
    before = leaves(vars(model))
    with pytest.raises(ValueError, match="evidence of all rows, which a stream does"):
        model.partial_fit(X, y, classes=[0, 1])
    assert leaves(vars(model)) == before
    # From a fit it goes on, with the variances found there.
    found = model.fit(X, y).prior_variance_.copy()
    model.partial_fit(X[:20], y[:20])
    np.testing.assert_array_equal(model.prior_variance_, found)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("prior_variance", 2.0),
        ("prior_variance", np.ones(3)),
        ("prior_variance", "evidence"),
        ("fit_intercept", False),
        ("intercept_variance", 1.0),
        ("multi_class", "ovr"),
    ],
)
def test_what_a_stream_rests_on_cannot_change(name, value):
    X, y = noisy_plane(40, 3)
    model = EPProbitClassifier().partial_fit(X, y, classes=[0, 1])
    model.set_params(**{name: value})
    before = leaves(vars(model))
    with pytest.raises(ValueError, match=f"{name} cannot change in mid-stream"):
        model.partial_fit(X, y)
    assert leaves(vars(model)) == before
    assert hasattr(model.fit(X, y), "coef_")


def test_an_array_of_variances_that_changes_in_place_is_noticed():
    X, y = noisy_plane(40, 3)
    variances = np.ones(3)
    model = EPProbitClassifier(variances).partial_fit(X, y, classes=[0, 1])
    variances[1] = 5.0
    with pytest.raises(ValueError, match="prior_variance cannot change"):
        model.partial_fit(X, y)


def test_the_way_to_the_fixed_point_may_change():
    X, y = noisy_plane(40, 3)
    model = EPProbitClassifier(tol=TIGHT).partial_fit(X, y, classes=[0, 1])
    plain = pickle.loads(pickle.dumps(model)).partial_fit(X, y)
    model.set_params(solver="sequential", max_iter=500).partial_fit(X, y)
    assert model.solver_ == ["sequential"]
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-8)
    with pytest.raises(InvalidParameterError, match="solver"):
        model.set_params(solver="magic").partial_fit(X, y)


# Refusals


@pytest.mark.parametrize(
    ("prior_variance", "match"),
    [
        (0.0, "must be a float in the range"),
        (-1.0, "must be a float in the range"),
        (np.nan, "must be a float in the range|positive and finite"),
        (np.inf, "must be a float in the range"),
        ("guess", "must be a float in the range.*'ard', 'evidence'|'evidence', 'ard'"),
        (None, "must be a float in the range"),
        ([1.0, 2.0], r"shape is \(2,\) where X has 3 features"),
        ([[1.0, 2.0, 3.0]], r"shape is \(1, 3\)"),
        ([1.0, 0.0, 1.0], "positive and finite, got 0.0 for feature 1"),
        ([1.0, 1.0, -2.0], "positive and finite, got -2.0 for feature 2"),
        ([np.nan, 1.0, 1.0], "positive and finite, got nan for feature 0"),
    ],
)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_bad_prior_variances(prior_variance, match, method):
    X, y = noisy_plane(20, 3)
    model = EPProbitClassifier(prior_variance)
    classes = {"classes": [0, 1]} if method == "partial_fit" else {}
    with pytest.raises(ValueError, match=match):
        getattr(model, method)(X, y, **classes)
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"intercept_variance": 0.0}, "intercept_variance"),
        ({"intercept_variance": np.inf}, "intercept_variance|positive and finite"),
        ({"multi_class": "both"}, "multi_class"),
        ({"solver": "single_pass"}, "solver"),
        ({"max_iter": 0}, "max_iter"),
        ({"tol": 0.0}, "tol"),
        ({"fit_intercept": "yes"}, "fit_intercept"),
    ],
)
def test_bad_parameters(params, match):
    with pytest.raises(ValueError, match=match):
        EPProbitClassifier(**params).fit(*noisy_plane(20, 3))


X20, Y20 = noisy_plane(20, 3)


def with_one(values, position, value):
    out = np.array(values, dtype=float)
    out[position] = value
    return out


BAD_ROWS = {
    "NaN": (with_one(X20, (3, 1), np.nan), Y20, None, "NaN"),
    "infinity": (with_one(X20, (3, 1), np.inf), Y20, None, "infinity"),
    "a huge value": (with_one(X20, (3, 1), 1e200), Y20, None, "overflow; scale X"),
    "no rows": (X20[:0], Y20[:0], None, "0 sample"),
    "a column less": (X20[:, :2], Y20, None, "X has 2 features, but"),
    "labels too few": (X20, Y20[1:], None, "inconsistent numbers of samples"),
    "a label of NaN": (X20, with_one(Y20, 2, np.nan), None, "NaN"),
    "a label unseen": (X20, with_one(Y20, 2, 7), None, r"none of the classes.*\[7.0\]"),
    "two label columns": (X20, np.c_[Y20, Y20], None, "1d array"),
    "no labels": (X20, None, None, "requires y to be passed"),
    "negative weight": (X20, Y20, with_one(np.ones(20), 4, -1e-9), "[Nn]egative"),
    "no weight": (X20, Y20, np.zeros(20), "zero"),
    "weight of NaN": (X20, Y20, with_one(np.ones(20), 4, np.nan), "NaN"),
    "weights too few": (X20, Y20, np.ones(19), "shape"),
}


@pytest.mark.parametrize(("X", "y", "weight", "match"), BAD_ROWS.values(), ids=BAD_ROWS)
def test_a_refused_batch_changes_nothing(X, y, weight, match):
    model = EPProbitClassifier().partial_fit(X20, Y20, classes=[0, 1])
    before = leaves(vars(model))
    with pytest.raises(ValueError, match=match):
        model.partial_fit(X, y, sample_weight=weight)
    assert leaves(vars(model)) == before


@pytest.mark.parametrize(
    ("y", "weight", "match"),
    [
        (np.full(20, "spam"), None, "all of one class, 'spam'.*partial_fit"),
        (Y20, Y20.astype(float), "all of one class, 1"),
        (X20[:, 0], None, "Unknown label type: continuous"),
        (np.array(["a", None] * 10, dtype=object), None, "NoneType, str"),
    ],
)
def test_labels_that_make_no_classes(y, weight, match):
    model = EPProbitClassifier()
    with pytest.raises(ValueError, match=match):
        model.fit(X20, y, sample_weight=weight)
    assert not hasattr(model, "n_features_in_")


def test_classes_of_a_stream():
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        EPProbitClassifier().partial_fit(X20, Y20)
    with pytest.raises(ValueError, match="announces no two classes"):
        EPProbitClassifier().partial_fit(X20, Y20, classes=[1, 1])
    model = EPProbitClassifier().partial_fit(X20, Y20, classes=[1, 0])
    with pytest.raises(ValueError, match=r"\[0, 1, 2\] differ .* \[0, 1\]"):
        model.partial_fit(X20, Y20, classes=[0, 1, 2])


def test_nothing_is_answered_before_a_fit():
    for name in ("predict", "predict_proba", "latent_mean_and_variance"):
        with pytest.raises(NotFittedError):
            getattr(EPProbitClassifier(), name)(X20)
    for name in ("loo_predict_proba", "posterior_covariance"):
        with pytest.raises(NotFittedError):
            getattr(EPProbitClassifier(), name)()
    assert not hasattr(EPProbitClassifier(), "covariance_")


def test_predicted_rows_are_checked_too():
    model = EPProbitClassifier().fit(X20, Y20)
    for X, _, _, match in list(BAD_ROWS.values())[:5]:
        with pytest.raises(ValueError, match=match):
            model.predict_proba(X)


# Warnings and representations


@pytest.mark.parametrize("solver", ["auto", "parallel", "sequential", "double_loop"])
def test_what_did_not_converge_says_how_far_it_is(solver):
    X, y = scale(IRIS), SPECIES
    model = EPProbitClassifier(solver=solver, max_iter=1, tol=1e-9)
    with pytest.warns(ConvergenceWarning, match="did not converge in 3 of 3") as said:
        model.fit(X, y)
    assert len(said) == 1
    # It points at the caller.
    assert said[0].filename == __file__
    message = str(said[0].message)
    residual = max(r[-1] for r in model.residuals_)
    assert f"the residual is {residual:.3g}" in message
    assert re.search(r"after 1 iterations of solver '\w+'", message)
    assert "solver='auto'" in message
    assert model.converged_ is False
    assert np.isfinite(model.predict_proba(X)).all()


def test_a_warning_that_is_an_error_changes_nothing():
    X, y = noisy_plane(40, 3)
    model = EPProbitClassifier().partial_fit(X, y, classes=[0, 1])
    model.set_params(max_iter=1, tol=1e-9)
    before = leaves(vars(model))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ConvergenceWarning):
            model.partial_fit(X, y)
        with pytest.raises(ConvergenceWarning):
            model.fit(X, y)
    assert leaves(vars(model)) == before


@pytest.mark.parametrize("shape", [(60, 4), (12, 30)], ids=["weights", "gram"])
def test_representations(shape):
    X, y = noisy_plane(*shape)
    model = EPProbitClassifier(tol=1e-7)
    assert repr(model) == "EPProbitClassifier(tol=1e-07)"
    assert "EPProbitClassifier" in model._repr_html_()
    model.fit(X, y)
    assert "EPProbitClassifier" in model._repr_html_()
    # scikit-learn from 1.9 on shows the fitted attributes, and so reads them all.
    public = [name for name in dir(model) if name.endswith("_") and name[0] != "_"]
    readable = {name for name in public if hasattr(model, name)}
    assert "coef_" in readable
    assert ("covariance_" in readable) == (shape != (12, 30))


def test_copies_are_the_same_bits_and_clones_know_nothing():
    X, y = scale(load_breast_cancer().data[:80]), load_breast_cancer().target[:80]
    model = EPProbitClassifier("evidence").fit(X, y)
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(
        copied.predict_log_proba(X), model.predict_log_proba(X)
    )
    np.testing.assert_array_equal(copied.loo_predict_proba(), model.loo_predict_proba())
    assert not hasattr(clone(model), "coef_")
