"""Targets, parameters and widths at the ends of what there is."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from odalib import (
    ADFProbitClassifier,
    EPGaussianProcessClassifier,
    EPProbitClassifier,
    IsingModel,
    ODAClassifier,
    ODAClusterer,
    ODARegressor,
)

from .cases import REGRESSORS, blobs, every_regressor, two_blobs
from .comparing import assert_finite, leaves
from .kinds import of_kind

KIND = "hostile numbers"
ANNEALERS = (ODAClusterer, ODAClassifier, ODARegressor)


def _targets():
    y = np.arange(30) % 3 - 0.5
    return {
        "subnormal": y * 1e-323,
        "of 1e-300": y * 1e-300,
        "of 1e150": y * 1e150,
        "the largest": np.sign(y) * np.finfo(float).max,
        "of a large offset": y + 1e15,
        "one far off": np.where(np.arange(30) == 5, 1e100, y),
        "constant": np.full(30, 1e-100),
        "of all sizes": np.c_[1e-100 * y, y, 1e100 * y],
    }


@of_kind(KIND, ODARegressor)
@every_regressor
@pytest.mark.parametrize("name", _targets())
def test_targets_are_learnt_or_refused(estimator, name):
    """Predictions are finite, or the error says to scale y and nothing has moved."""
    X, _ = blobs(30)
    y = _targets()[name]
    for method in ("fit", "partial_fit"):
        model = clone(estimator)
        before = leaves(vars(model))
        try:
            getattr(model, method)(X, y)
        except ValueError as error:
            assert "y holds values up to" in str(error)
            assert leaves(vars(model)) == before
        else:
            assert_finite(model, X, f"targets {name}")


@of_kind(KIND, *ANNEALERS)
@pytest.mark.parametrize("name", ["max_temperature", "min_temperature"])
@pytest.mark.parametrize("cls", ANNEALERS)
def test_a_temperature_that_divides_nothing_is_refused(cls, name):
    """One whose reciprocal is infinite; before, no codevector was left."""
    X, y = two_blobs()
    with pytest.raises(ValueError, match=f"{name}=5e-324 must be at least"):
        cls(**{name: 5e-324}).fit(X, y)


@of_kind(KIND, EPProbitClassifier)
@pytest.mark.parametrize("factor", [1e-140, 1e-200])
@pytest.mark.parametrize("prior_variance", ["evidence", "ard"])
def test_the_evidence_refuses_features_whose_squares_vanish(prior_variance, factor):
    """Their prior variance is more than a float holds."""
    X, y = two_blobs()
    with pytest.raises(ValueError, match="prior variance by evidence is more than"):
        EPProbitClassifier(prior_variance).fit(X * factor, y)


@of_kind(KIND, EPProbitClassifier)
def test_weights_that_float32_does_not_hold_are_refused():
    """Those of features of 1e-40, whose prior variance is chosen, are of 1e40."""
    X, y = two_blobs()
    X = (X * 1e-40).astype(np.float32)
    with pytest.raises(ValueError, match="float32 does not hold; give X as float64"):
        EPProbitClassifier("evidence").fit(X, y)


@of_kind(KIND, EPProbitClassifier)
def test_covariances_that_float32_does_not_hold_are_no_attribute():
    """The weights of features of 1e-20 fit, their squares do not."""
    X, y = two_blobs()
    model = EPProbitClassifier("evidence").fit((X * 1e-20).astype(np.float32), y)
    assert np.isfinite(model.coef_).all()
    assert not hasattr(model, "covariance_")
    with pytest.raises(ValueError, match="covariances of weights reach"):
        model.posterior_covariance()


@of_kind(KIND, EPProbitClassifier)
@pytest.mark.parametrize("solver", ["auto", "sequential", "blocked"])
def test_a_prior_that_leaves_no_digits_is_refused(solver):
    """An offset of 1e100 is all that latent values are; no evidence is not a number."""
    X, y = two_blobs()
    model = EPProbitClassifier(solver=solver)
    before = leaves(vars(model))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            model.fit(X + 1e100, y)
        except ValueError as error:
            assert "Scale the features, remove their offset" in str(error)
            assert leaves(vars(model)) == before
        else:
            assert np.isfinite(model.log_evidence_).all()


@of_kind(KIND, EPProbitClassifier)
@pytest.mark.parametrize("prior_variance", ["evidence", "ard"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_offsets_that_leave_no_digits_are_named(prior_variance, form):
    """Before, the search for the evidence took minutes, of the double loop."""
    X, y = two_blobs()
    half_range = np.ptp(X[:, 1]) / 2.0
    offset = half_range * np.array([[0.0, 1e11]])
    model = EPProbitClassifier(prior_variance)
    with pytest.raises(ValueError, match=r"Column 1 of X .* Remove the offset"):
        model.fit(form(X + 1.1 * offset), y)
    assert np.isfinite(model.fit(form(X + 0.9 * offset), y).log_evidence_).all()


@of_kind(KIND, *ANNEALERS)
@pytest.mark.parametrize("cls", ANNEALERS)
def test_rows_of_vanishing_weight_are_named(cls):
    """Before, codevectors of no weight were left, and logarithms of zero."""
    X, y = two_blobs()
    weight = np.where(np.arange(len(X)) % 2, 1e-125, 1e90)
    with pytest.raises(ValueError, match="sample_weight goes down to 1e-125 where"):
        cls(2, random_state=0).fit(X, y, sample_weight=weight)
    weight = np.where(np.arange(len(X)) % 2, 1e-5, 1e90)
    model = cls(2, random_state=0).fit(X, y, sample_weight=weight)
    assert_finite(model, X, "weights of 1e-5 and 1e90")


@of_kind(KIND, ODAClassifier, ODARegressor)
@pytest.mark.parametrize("cls", ANNEALERS[1:])
def test_weights_of_more_rows_than_count_are_refused(cls):
    """Before, a tree was certain, and errors of predictions overflowed."""
    X, y = two_blobs()
    with pytest.raises(ValueError, match=r"sample_weight sums to 6e\+251 rows"):
        cls(2, random_state=0).fit(X, y, sample_weight=np.full(len(X), 1e250))


@of_kind(KIND, EPProbitClassifier, EPGaussianProcessClassifier)
@pytest.mark.parametrize(
    "estimator", [EPProbitClassifier(), EPGaussianProcessClassifier(optimizer=None)]
)
def test_copies_beside_which_a_prior_has_no_digits_are_refused(estimator):
    """Before, sweeps over sites of so many copies did not come to an end in minutes."""
    X, y = two_blobs()
    weight = np.where(np.arange(len(X)) == 5, 1e16, 1.0)
    with pytest.raises(ValueError, match="sample_weight goes up to 1e\\+16"):
        clone(estimator).fit(X, y, sample_weight=weight)


@of_kind(KIND, IsingModel)
@pytest.mark.parametrize("weight", [5e-324, 1e250])
def test_weights_beside_which_a_penalty_has_no_digits_are_refused(weight):
    """Before, one over their sum was infinite."""
    X = np.eye(4)
    with pytest.raises(ValueError, match="beside which the penalty"):
        IsingModel().fit(X, sample_weight=np.full(4, weight))


@of_kind(KIND, ODARegressor)
def test_a_row_far_off_in_a_stream_of_targets():
    """Squares of squared errors overflow where the metric is chosen."""
    X, y = blobs(60)
    model = ODARegressor(6, random_state=0).partial_fit(X, y)
    X[7] = 1e100
    assert_finite(model.partial_fit(X, y), X, "a row of 1e100")


WIDE = {
    "clusterer": ODAClusterer(3, random_state=0),
    "codevectors": ODAClassifier(4, metric=None, polish=None, random_state=0),
    "constants": REGRESSORS["constants"],
    "probit": EPProbitClassifier(),
    "diagonal filtering": ADFProbitClassifier(covariance="diagonal", random_state=0),
    "gaussian process": EPGaussianProcessClassifier(optimizer=None),
}


@of_kind(
    KIND,
    *ANNEALERS,
    EPProbitClassifier,
    ADFProbitClassifier,
    EPGaussianProcessClassifier,
)
@pytest.mark.parametrize("estimator", WIDE.values(), ids=WIDE)
def test_ten_thousand_columns(estimator):
    """Nothing is formed of every pair of columns, dense or sparse."""
    y = np.arange(12) % 3
    X = np.zeros((12, 10_000))
    X[:, :3] = 5.0 * np.eye(3)[y]
    X[np.arange(12), 10 + np.arange(12)] = 0.1
    model = clone(estimator).fit(X, y)
    assert_finite(model, X, "10,000 columns")
    if estimator.__sklearn_tags__().input_tags.sparse:
        rows = sp.csr_array(X)
        assert_finite(clone(estimator).fit(rows, y), rows, "10,000 sparse columns")
