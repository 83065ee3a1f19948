"""Powers of likelihoods, and the logistic one, by quadrature."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp
from numpy.testing import assert_allclose
from scipy.special import expit, log_expit

from odalib.inference.ep.likelihood import Cavity
from odalib.inference.ep.log_concave import LogConcave
from odalib.inference.ep.logistic import Logistic
from odalib.inference.ep.probit import Probit
from tests.oracles import tilted

FIELDS = ("log_norm", "mean", "variance", "precision", "shift")
FACTORS = {Probit: tilted.normal_cdf, Logistic: tilted.logistic}
LIKELIHOODS = pytest.mark.parametrize("likelihood", [Probit, Logistic])

# z, cavity variance, power: narrow and wide beside the bend of the likelihood, on
# both sides of it, across it, and where the site lies outside the tilted support.
CASES = [
    (-1e4, 1e-4, 0.5),
    (-1e4, 1e6, 1e-3),
    (-1e4, 1.0, 0.9),
    (-5.6, 6e5, 0.06),
    (-1.0, 1e6, 0.5),
    (0.0, 1.0, 0.999),
    (0.5, 1e6, 1e-3),
    (2.5, 4e4, 0.4),
    (3.0, 5.0, 0.3),
    (15.0, 1e5, 0.05),
    (30.0, 1e6, 0.01),
    (30.0, 1.0, 0.5),
]


def match(likelihood, mean, variance, power=None, y=1.0):
    mean, variance = np.atleast_1d(mean), np.atleast_1d(variance)
    power = None if power is None else np.full(mean.shape, power)
    matched = likelihood(np.full(mean.shape, y), power=power)
    variance = np.full(mean.shape, variance, dtype=float)
    return matched.match(Cavity.gaussian(mean, variance))


@LIKELIHOODS
@pytest.mark.parametrize(("z", "variance", "power"), CASES)
def test_moments_and_sites(likelihood, z, variance, power):
    mean = float(z * np.sqrt(1 + variance))
    matched = match(likelihood, mean, variance, power)
    exact = tilted.quadrature_match(FACTORS[likelihood], mean, variance, power)
    errors = {
        name: abs(mp.mpf(float(getattr(matched, name)[0])) - exact[name])
        for name in FIELDS
    }
    deviation = mp.sqrt(exact["variance"])
    assert errors["log_norm"] <= 1e-12 * max(1, abs(exact["log_norm"]))
    assert errors["mean"] <= 1e-12 * max(deviation, abs(exact["mean"]))
    assert errors["variance"] <= 1e-12 * exact["variance"]
    assert errors["shift"] <= 1e-11 * exact["shift"]
    # A logistic site of less than this precision is rounding in the oracle.
    assert errors["precision"] <= 1e-11 * exact["precision"] + mp.mpf("1e-55")


def test_the_oracle_agrees_with_the_closed_form():
    exact = tilted.probit_match(1.5, 3.0, 1.0)
    by_quadrature = tilted.quadrature_match(tilted.normal_cdf, 3.0, 3.0, 1.0)
    for name in FIELDS:
        assert abs(by_quadrature[name] / exact[name] - 1) < 1e-40


def test_the_first_power_of_probit_is_the_closed_form():
    z = np.concatenate([-np.logspace(4, -2, 40), [0.0], np.logspace(-2, 1.47, 40)])
    for variance in np.logspace(-4, 6, 11):
        cavity = Cavity.gaussian(z * np.sqrt(1 + variance), np.full(z.shape, variance))
        probit = Probit(np.ones(z.shape))
        closed, by_quadrature = probit.match(cavity), LogConcave.match(probit, cavity)
        deviation = np.sqrt(closed.variance)
        away = np.abs(by_quadrature.mean - closed.mean)
        assert_allclose(by_quadrature.log_norm, closed.log_norm, rtol=1e-12, atol=1e-12)
        assert (away <= 1e-12 * np.maximum(deviation, np.abs(closed.mean))).all()
        assert_allclose(by_quadrature.variance, closed.variance, rtol=1e-12)
        assert_allclose(by_quadrature.precision, closed.precision, rtol=1e-11)
        assert_allclose(by_quadrature.shift, closed.shift, rtol=1e-11)


def test_far_below_zero_the_logistic_is_an_exponential():
    # E[exp(f)] under exp(p f) N(f; m, v), whose mean is m + p v.
    mean, variance, power = np.array([-400.0, -80.0]), 0.8, 0.3
    matched = match(Logistic, mean, variance, power)
    expected = power * np.exp(mean + power * variance + variance / 2)
    assert_allclose(matched.precision, expected, rtol=1e-12)
    assert_allclose(matched.shift, power, rtol=1e-15)


def test_what_is_in_float_a_million_times_as_wide_as_the_bend_is_a_step():
    mean, variance = np.linspace(-2e13, 2e13, 9), 1e26
    step = Probit(np.ones(9), noise_variance=0.0).match(
        Cavity.gaussian(mean, np.full(9, variance))
    )
    for likelihood in (Probit, Logistic):
        matched = match(likelihood, mean, variance, 0.7)
        assert_allclose(matched.log_norm, step.log_norm, rtol=1e-11)
        assert_allclose(matched.mean, step.mean, rtol=1e-11)
        assert_allclose(matched.variance, step.variance, rtol=1e-11)


@LIKELIHOODS
def test_a_value_without_variance_has_the_site_of_laplace(likelihood):
    latent = np.array([-1e3, -5.0, 0.0, 0.5, 20.0])
    matched = match(likelihood, latent, 0.0, 0.4)
    model = likelihood(np.ones(5), power=np.full(5, 0.4))
    gradient, precision = model.curvature(latent)
    assert_allclose(matched.precision, precision, rtol=1e-12)
    assert_allclose(matched.shift, gradient + precision * latent, rtol=1e-8)
    assert (matched.mean == latent).all() and (matched.variance == 0).all()


@LIKELIHOODS
@pytest.mark.parametrize("variance", [0.0, 1e-300, 1.0, 1e30])
def test_far_out_nothing_is_nan(likelihood, variance):
    mean = np.array([-1e300, -1e100, -1e8, 0.0, 1e8, 1e100, 1e300])
    matched = match(likelihood, mean, variance, 0.3)
    assert not np.isnan(matched.log_norm).any()
    for name in FIELDS[1:]:
        assert np.isfinite(getattr(matched, name)).all(), name


HERMITE_NODES, HERMITE_WEIGHTS = np.polynomial.hermite_e.hermegauss(150)
HERMITE_WEIGHTS /= HERMITE_WEIGHTS.sum()

moderate = st.floats(-30, 30)
variances = st.floats(1e-4, 1e6)
powers = st.floats(1e-3, 0.999)


@LIKELIHOODS
@given(mean=moderate, variance=variances, power=powers)
def test_cavity_times_site_has_the_tilted_moments(likelihood, mean, variance, power):
    matched = match(likelihood, mean, variance, power)
    precision = 1 / variance + matched.precision[0]
    combined_mean = (mean / variance + matched.shift[0]) / precision
    deviation = np.sqrt(matched.variance[0])
    assert matched.precision[0] > 0
    assert_allclose(1 / precision, matched.variance[0], rtol=1e-11)
    assert_allclose(combined_mean, matched.mean[0], rtol=1e-11, atol=1e-11 * deviation)


@given(mean=moderate, variance=variances, power=st.one_of(st.none(), powers))
def test_the_other_label_mirrors(mean, variance, power):
    ours = match(Logistic, mean, variance, power)
    mirrored = match(Logistic, -mean, variance, power, y=-1.0)
    for name, sign in zip(FIELDS, (1, -1, 1, 1, -1), strict=True):
        assert getattr(ours, name) == sign * getattr(mirrored, name)


@LIKELIHOODS
@given(mean=moderate, variance=variances)
def test_powers_are_continuous_at_one(likelihood, mean, variance):
    whole = match(likelihood, mean, variance)
    nearly = match(likelihood, mean, variance, 1 - 1e-9)
    deviation = np.sqrt(whole.variance[0])
    assert_allclose(nearly.log_norm, whole.log_norm, rtol=1e-7, atol=1e-12)
    assert_allclose(nearly.mean, whole.mean, rtol=1e-7, atol=1e-7 * deviation)
    for name in ("variance", "precision", "shift"):
        assert_allclose(getattr(nearly, name), getattr(whole, name), rtol=1e-7)


@LIKELIHOODS
@given(mean=moderate, variance=st.floats(1e-4, 10.0))
def test_small_powers_are_a_weak_site(likelihood, mean, variance):
    # To first order in the power, the derivatives of E[log L] under the cavity.
    power = 1e-11
    matched = match(likelihood, mean, variance, power)
    latent = mean + np.sqrt(variance) * HERMITE_NODES
    model = likelihood(np.ones(latent.shape))
    gradient, precision = model.curvature(latent)
    expected_gradient = HERMITE_WEIGHTS @ gradient
    expected_precision = HERMITE_WEIGHTS @ precision
    assert_allclose(matched.precision / power, expected_precision, rtol=1e-7, atol=1e-9)
    shift = expected_gradient + mean * expected_precision
    assert_allclose(matched.shift / power, shift, rtol=1e-7, atol=1e-7)


def test_the_curvature_of_the_logistic():
    y, power = np.array([1.0, -1.0, 1.0]), np.array([1.0, 0.5, 0.25])
    latent = np.array([-300.0, 2.0, 40.0])
    gradient, precision = Logistic(y, power).curvature(latent)
    assert_allclose(gradient, y * power * expit(-y * latent), rtol=1e-14)
    assert_allclose(precision, power * expit(latent) * expit(-latent), rtol=1e-14)


def test_the_logistic_of_a_value_without_variance():
    mean = np.array([-700.0, -2.0, 0.0, 30.0])
    assert_allclose(
        match(Logistic, mean, 0.0).log_norm, log_expit(mean), rtol=1e-13, atol=1e-13
    )


def test_many_sites_are_those_one_by_one():
    draws = np.random.default_rng(0)
    n = 3000
    y, power = draws.choice([-1.0, 1.0], n), draws.uniform(0.01, 1, n)
    mean, variance = draws.normal(size=n) * 5, 10 ** draws.uniform(-3, 5, n)
    likelihood = Logistic(y, power)
    together = likelihood.match(Cavity.gaussian(mean, variance))
    for i in range(0, n, 300):
        one = slice(i, i + 1)
        alone = likelihood.match(Cavity.gaussian(mean[one], variance[one]), one)
        for name in FIELDS:
            assert_allclose(
                getattr(alone, name), getattr(together, name)[one], rtol=1e-13
            )
