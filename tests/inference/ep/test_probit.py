"""The probit likelihood in closed form, against 60 digits and more."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp
from numpy.testing import assert_allclose

from odalib.inference.ep.likelihood import Cavity
from odalib.inference.ep.mills import mills
from odalib.inference.ep.probit import Probit, log_predictive
from tests.oracles import tilted

FIELDS = ("log_norm", "mean", "variance", "precision", "shift")
TOLERANCE = 3e-13

draws = np.random.default_rng(0)
Z = np.concatenate(
    [
        -np.logspace(-3, 8, 45),
        np.linspace(-12, 37, 50),
        draws.uniform(-40, 37, 50),
        draws.uniform(-3.2, -2.8, 10),
        draws.uniform(6, 10, 20),
        [-1e8, -3.0, np.nextafter(-3.0, 0.0), 0.0, 9.0, 37.0],
    ]
)
# Cavity variance and noise whose sum is a square of a power of two: z is then exact.
VARIANCES_AND_NOISES = [
    (2.0**-27, 1 - 2.0**-27),
    (0.25, 0.75),
    (3.0, 1.0),
    (2.0**26 - 1.0, 1.0),
    (4.0, 0.0),
    (2.0**-26, 0.0),
    (2.0**-30, 4.0 - 2.0**-30),
]


def relative_error(values, exact):
    """Largest relative error, zero where both are zero."""
    return max(
        float(abs(mp.mpf(float(value)) - truth) / abs(truth) if truth else abs(value))
        for value, truth in zip(values, exact, strict=True)
    )


def match(mean, variance, y=1.0, noise_variance=1.0, power=None):
    mean, variance = np.atleast_1d(mean).astype(float), np.atleast_1d(variance)
    y = np.full(mean.shape, y)
    power = None if power is None else np.full(mean.shape, power)
    variance = np.full(mean.shape, variance, dtype=float)
    likelihood = Probit(y, noise_variance, power)
    return likelihood.match(Cavity.gaussian(mean, variance))


@pytest.mark.parametrize("name", [*mills(np.zeros(1))._fields])
def test_functions_of_z(name):
    values = getattr(mills(Z), name)
    index = mills(Z)._fields.index(name)
    exact = [tilted.mills(z)[0][index] for z in Z]
    assert relative_error(values, exact) <= 2e-13
    assert (values > 0).all()


def test_functions_keep_the_shape_of_z():
    for name, values in mills(Z[:150].reshape(3, 50))._asdict().items():
        assert_allclose(values.ravel(), getattr(mills(Z[:150]), name), rtol=1e-15)


@pytest.mark.parametrize(("variance", "noise"), VARIANCES_AND_NOISES)
def test_moments_and_sites(variance, noise):
    z = Z[::2]
    scale = np.sqrt(variance + noise)
    assert scale**2 == variance + noise
    matched = match(z * scale, variance, noise_variance=noise)
    exact = [tilted.probit_match(value, variance, noise) for value in z]
    for name in ("log_norm", "variance", "precision", "shift"):
        truth = [row[name] for row in exact]
        assert relative_error(getattr(matched, name), truth) <= TOLERANCE, name
    # The mean has a zero, near which only its error in deviations can be small.
    for value, row in zip(matched.mean, exact, strict=True):
        size = max(abs(row["mean"]), mp.sqrt(row["variance"]))
        assert abs(value - row["mean"]) <= TOLERANCE * size


def test_site_precision_needs_no_clipping():
    z = np.concatenate([Z, draws.uniform(-1e8, 37, 1000), draws.uniform(-30, 37, 1000)])
    for variance in (0.0, 1e-8, 0.3, 1.0, 1e3, 1e8):
        precision = match(z * np.sqrt(1 + variance), variance).precision
        assert (precision > 0).all() and (precision < 1).all()


moderate = st.floats(-30, 30)
variances = st.floats(1e-3, 1e6)


@given(mean=moderate, variance=variances, noise=st.sampled_from([0.0, 0.3, 1.0, 5.0]))
def test_cavity_times_site_has_the_tilted_moments(mean, variance, noise):
    matched = match(mean, variance, noise_variance=noise)
    precision = 1 / variance + matched.precision[0]
    combined_mean = (mean / variance + matched.shift[0]) / precision
    deviation = np.sqrt(matched.variance[0])
    assert_allclose(1 / precision, matched.variance[0], rtol=1e-11)
    assert_allclose(combined_mean, matched.mean[0], rtol=1e-11, atol=1e-11 * deviation)


@given(mean=moderate, variance=variances, power=st.sampled_from([None, 0.4]))
def test_the_other_label_mirrors(mean, variance, power):
    ours = match(mean, variance, power=power)
    mirrored = match(-mean, variance, y=-1.0, power=power)
    for name, sign in zip(FIELDS, (1, -1, 1, 1, -1), strict=True):
        assert getattr(ours, name) == sign * getattr(mirrored, name)


@given(mean=moderate, variance=variances, noise=st.floats(1e-6, 1e6))
def test_noise_only_sets_the_unit(mean, variance, noise):
    unit = np.sqrt(noise)
    ours = match(mean * unit, variance * noise, noise_variance=noise)
    plain = match(mean, variance)
    assert_allclose(ours.log_norm, plain.log_norm, rtol=1e-10)
    assert_allclose(ours.precision * noise, plain.precision, rtol=1e-10)
    assert_allclose(ours.shift * unit, plain.shift, rtol=1e-10)


def test_noise_that_vanishes_becomes_a_step():
    mean, variance = np.linspace(-6, 6, 13), 2.0
    step = match(mean, variance, noise_variance=0.0)
    for name in FIELDS:
        nearly = getattr(match(mean, variance, noise_variance=1e-14), name)
        assert_allclose(nearly, getattr(step, name), rtol=1e-11, atol=1e-12)


def test_a_known_value_is_left_alone_by_a_step():
    mean = np.array([2.0, -2.0, 0.0, 1e300, -1e300])
    matched = match(mean, 0.0, noise_variance=0.0)
    assert matched.log_norm.tolist() == [0.0, -np.inf, np.log(0.5), 0.0, -np.inf]
    assert matched.mean.tolist() == mean.tolist()
    for name in ("variance", "precision", "shift"):
        assert (getattr(matched, name) == 0.0).all()
    beside = Probit(np.ones(2), noise_variance=0.0).match(
        Cavity.gaussian(np.array([1.0, -1.0]), np.array([0.0, 1.0]))
    )
    assert beside.precision[0] == 0.0
    assert beside.precision[1] == match(-1.0, 1.0, noise_variance=0.0).precision[0]


@pytest.mark.parametrize("variance", [0.0, 1e-300, 1.0, 1e8, 1e300])
@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_far_out_nothing_overflows_but_the_log_norm(variance, noise):
    mean = np.array([-1e300, -1e100, -1e8, 0.0, 1e8, 1e100, 1e300])
    matched = match(mean, variance, noise_variance=noise)
    assert (matched.log_norm <= 0).all()
    for name in FIELDS[1:]:
        assert np.isfinite(getattr(matched, name)).all(), name


def test_sites_are_those_of_their_number():
    y = np.array([1.0, -1.0, 1.0, -1.0, 1.0])
    noise = np.array([1.0, 0.0, 0.5, 1.0, 2.0])
    power = np.array([1.0, 0.5, 0.3, 1.0, 1.0])
    mean, variance = np.linspace(-4, 4, 5), np.linspace(0.5, 3, 5)
    likelihood = Probit(y, noise, power)
    together = likelihood.match(Cavity.gaussian(mean, variance))
    for sites in (slice(1, 4), np.array([4, 2, 0]), slice(2, 3)):
        part = likelihood.match(
            Cavity.gaussian(mean[sites], variance[sites]), sites=sites
        )
        for name in FIELDS:
            expected = getattr(together, name)[sites]
            assert_allclose(getattr(part, name), expected, rtol=1e-14)
    for i in range(5):
        alone = match(mean[i], variance[i], y[i], noise[i], power[i])
        for name in FIELDS:
            assert_allclose(
                getattr(alone, name)[0], getattr(together, name)[i], rtol=1e-14
            )


def test_a_step_has_no_powers():
    mean = np.linspace(-5, 5, 11)
    step, powered = (
        match(mean, 1.5, noise_variance=0.0, power=power) for power in (None, 0.2)
    )
    for name in FIELDS:
        assert (getattr(step, name) == getattr(powered, name)).all()


def test_curvature():
    y, noise, power = np.array([1.0, -1.0, 1.0]), 0.25, np.array([1.0, 0.7, 0.2])
    latent = np.array([-1e4, 3.0, 0.4])
    gradient, precision = Probit(y, noise, power).curvature(latent)
    scaled = y * latent / np.sqrt(noise)
    with mp.workdps(60):
        exact = [tilted.normal_cdf(mp.mpf(float(u))) for u in scaled]
    first = [2 * s * p * row[1] for s, p, row in zip(y, power, exact, strict=True)]
    second = [4 * p * row[2] for p, row in zip(power, exact, strict=True)]
    assert relative_error(gradient, first) <= TOLERANCE
    assert relative_error(precision, second) <= TOLERANCE


def test_sites_of_a_value_without_variance_are_those_of_laplace():
    latent = np.array([-1e6, -40.0, -2.0, 0.0, 3.0])
    gradient, precision = Probit(np.ones(5)).curvature(latent)
    matched = match(latent, 0.0)
    assert_allclose(matched.precision, precision, rtol=1e-13)
    assert_allclose(matched.shift[1:], (gradient + precision * latent)[1:], rtol=1e-10)
    # Where the sum has lost all digits.
    assert_allclose(matched.shift[0], 2e-6, rtol=1e-11)


def test_a_step_has_no_curvature():
    noise = np.array([1.0, 0.0])
    assert Probit(np.ones(2), noise).curvature(np.zeros(2)) is None


def test_log_predictive():
    mean = np.array([-1e8, -3.0, 0.0, 37.0])
    exact = [tilted.mills(z)[1] for z in mean]
    assert relative_error(log_predictive(2 * mean, 3.0, 1.0), exact) <= TOLERANCE
    assert relative_error(log_predictive(-2 * mean, 3.0, -1.0), exact) <= TOLERANCE
    assert relative_error(log_predictive(2 * mean, 4.0, 1.0, 0.0), exact) <= TOLERANCE
    known = log_predictive(np.array([1e300, 1.0, 0.0, -1.0]), 0.0, 1.0, 0.0)
    assert known.tolist() == [0.0, 0.0, np.log(0.5), -np.inf]
    assert np.isfinite(log_predictive(-1e150, 1.0, 1.0))


def test_bad_input():
    y = np.ones(2)
    for noise in (-1.0, np.nan, np.inf, np.array([1.0, -1.0])):
        with pytest.raises(ValueError, match="noise variance must be finite and not"):
            Probit(y, noise)
    for power in ([1.0, 0.0], [1.0, 1.5], [1.0, np.nan]):
        with pytest.raises(ValueError, match="powers of a likelihood must be above 0"):
            Probit(y, power=np.array(power))
