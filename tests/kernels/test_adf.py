"""Scalar steps against many digits, loops over rows against matrices spelled out."""

import numpy as np
import pytest
import scipy.sparse as sp

from odalib.inference.ep.likelihood import Cavity
from odalib.inference.ep.probit import Probit
from odalib.kernels.reference.adf import (
    learn_covariance,
    learn_diagonal,
    learn_factor,
    relax_features,
)
from odalib.kernels.reference.probit import probit_step
from tests.oracles.tilted import normal_cdf, probit_match, quadrature_match

Z = [-1e8, -1e4, -300.0, -20.0, -3.01, -3.0, -2.99, -0.5, 0.0, 1.0, 8.99, 9.01, 20.0]


# One observation of one latent value


def relative_step(match, mean, variance):
    """Gain and kept of a match of many digits, for the label 1."""
    gain = (match["mean"] - mean) / variance
    return float(gain), float(match["variance"] / variance)


@pytest.mark.parametrize("label", [-1.0, 1.0])
@pytest.mark.parametrize("noise", [0.0, 1.0, 9.0])
@pytest.mark.parametrize("variance", [1e-8, 1.0, 1e10])
def test_step_to_many_digits(variance, noise, label):
    scale = np.sqrt(variance + noise)
    for z in Z:
        gain, kept = probit_step(label, label * z * scale, variance, noise)
        expected = relative_step(probit_match(z, variance, noise), z * scale, variance)
        np.testing.assert_allclose(kept, expected[1], rtol=1e-12)
        # The mean that z stands for has digits of its own.
        known = abs(z) * scale / variance
        np.testing.assert_allclose(
            label * gain, expected[0], rtol=1e-12, atol=4e-16 * known
        )


@pytest.mark.parametrize(
    ("mean", "variance", "power"),
    [(0.3, 2.0, 0.5), (-4.0, 50.0, 0.9), (-60.0, 0.5, 0.25), (2.0, 1e4, 1e-3)],
)
def test_power_step_to_many_digits(mean, variance, power):
    match = quadrature_match(normal_cdf, mean, variance, power, digits=30)
    gain, kept = probit_step(1.0, mean, variance, 1.0, power)
    expected = relative_step(match, mean, variance)
    np.testing.assert_allclose((gain, kept), expected, rtol=1e-9)


def test_power_step_agrees_with_the_likelihood():
    """Over ten decades, in standard deviations of the result."""
    random = np.random.default_rng(0)
    n = 400
    label = random.choice([-1.0, 1.0], n)
    mean = random.choice([-1.0, 1.0], n) * 10.0 ** random.uniform(-3, 3, n)
    variance = 10.0 ** random.uniform(-6, 4, n)
    noise = 10.0 ** random.uniform(-2, 2, n)
    power = random.choice([1e-6, 0.1, 0.5, 0.9, 1.0 - 1e-9], n)
    match = Probit(label, noise, power).match(Cavity.gaussian(mean, variance))
    steps = [
        probit_step(*arguments)
        for arguments in zip(
            *(a.tolist() for a in (label, mean, variance, noise, power)), strict=True
        )
    ]
    gain, kept = np.transpose(steps)
    np.testing.assert_allclose(kept, match.variance / variance, rtol=2e-9)
    deviation = np.sqrt(match.variance)
    error = np.abs(mean + variance * gain - match.mean)
    assert (error < 2e-8 * deviation + 1e-14 * np.abs(mean)).all()


def test_powers_are_continuous_at_both_ends():
    whole = probit_step(1.0, -2.0, 3.0, 1.0)
    np.testing.assert_allclose(
        probit_step(1.0, -2.0, 3.0, 1.0, 1.0 - 1e-12), whole, rtol=1e-10
    )
    np.testing.assert_allclose(
        probit_step(1.0, -2.0, 3.0, 1.0, 1e-12), (0.0, 1.0), atol=1e-10
    )
    assert probit_step(1.0, 300.0, 1.0, 1.0, 0.5) == (0.0, 1.0)


def test_a_step_equals_its_powers():
    assert probit_step(1.0, -2.0, 3.0, 0.0, 0.5) == probit_step(1.0, -2.0, 3.0, 0.0)


def test_a_step_leaves_alone_what_it_contradicts_beyond_all_numbers():
    assert probit_step(1.0, -1.0, 1e-302, 0.0) == (0.0, 1.0)
    gain, kept = probit_step(1.0, -1.0, 1e-278, 0.0)
    assert np.isfinite(gain)
    assert 0.0 < kept < 1e-270


# Rows


class Case:
    """Random rows with zeros, weights of all kinds, and a prior."""

    def __init__(self, d=4, n=30, noise=1.0, forgetting=0.9):
        random = np.random.default_rng(d)
        self.rows = random.normal(size=(n, d)) * (random.random((n, d)) < 0.7)
        self.rows[5] = 0.0
        self.y = random.choice([-1.0, 1.0], n)
        self.weights = random.choice([1.0, 2.0, 3.0, 0.4, 1.7], n)
        self.noise = noise
        self.forgetting = forgetting
        self.prior_mean = random.normal(size=d)
        self.prior_variance = random.uniform(0.5, 3.0, d)

    def powers(self, i):
        whole = int(self.weights[i])
        rest = self.weights[i] - whole
        return [1.0] * whole + [rest] * int(rest > 0)

    def slowly(self, *, diagonal=False):
        """Mean and covariance, spelled out in matrices."""
        m, covariance = self.prior_mean.copy(), np.diag(self.prior_variance)
        for i, (x, label) in enumerate(zip(self.rows, self.y, strict=True)):
            for power in self.powers(i):
                variance = x @ covariance @ x
                if variance > 0.0:
                    gain, kept = probit_step(label, x @ m, variance, self.noise, power)
                    direction = covariance @ x
                    m = m + gain * direction
                    covariance = covariance - (1 - kept) / variance * np.outer(
                        direction, direction
                    )
                    if diagonal:
                        covariance = np.diag(np.diag(covariance))
                f = self.forgetting**power
                m = self.prior_mean + f * (m - self.prior_mean)
                covariance = f**2 * covariance + (1 - f**2) * np.diag(
                    self.prior_variance
                )
        return m, covariance


@pytest.mark.parametrize("d", [1, 4, 9])
@pytest.mark.parametrize("noise", [1.0, 0.3])
def test_factor(d, noise):
    case = Case(d, noise=noise, forgetting=1.0)
    mean = case.prior_mean.copy()
    factor, variances = np.asfortranarray(np.eye(d)), case.prior_variance.copy()
    learn_factor(mean, factor, variances, case.rows, case.y, case.weights, case.noise)
    covariance = factor * variances @ factor.T
    expected_mean, expected = case.slowly()
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(covariance, expected, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("d", [1, 4, 9])
def test_covariance(d):
    case = Case(d)
    mean = case.prior_mean.copy()
    covariance = np.asfortranarray(np.diag(case.prior_variance))
    above = np.triu_indices(d, 1)
    covariance[above] = np.nan
    learn_covariance(
        mean,
        covariance,
        case.prior_mean,
        case.prior_variance,
        case.forgetting,
        case.rows,
        case.y,
        case.weights,
        case.noise,
    )
    expected_mean, expected = case.slowly()
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(
        np.tril(covariance), np.tril(expected), rtol=1e-11, atol=1e-13
    )
    assert np.isnan(covariance[above]).all()


@pytest.mark.parametrize("forgetting", [1.0, 0.9])
def test_diagonal(forgetting):
    """Features rest for several rows, and forget at once what they did not then."""
    case = Case(9, forgetting=forgetting)
    mean, variance = case.prior_mean.copy(), case.prior_variance.copy()
    touched = np.zeros(9)
    prior = (case.prior_mean, case.prior_variance, forgetting)
    rows = sp.csr_array(case.rows)
    clock = learn_diagonal(
        mean,
        variance,
        touched,
        0.0,
        *prior,
        (rows.data, rows.indices, rows.indptr),
        np.arange(len(case.y)),
        case.y,
        case.weights,
        case.noise,
        False,
    )
    np.testing.assert_allclose(clock, case.weights.sum(), rtol=1e-14)
    relax_features(mean, variance, touched, clock, *prior, slice(None))
    expected_mean, expected = case.slowly(diagonal=True)
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(variance, np.diag(expected), rtol=1e-12)


def test_a_diagonal_row_touches_its_own_features_only():
    mean, variance, touched = np.zeros(6), np.ones(6), np.zeros(6)
    rows = (np.array([1.0, -2.0]), np.array([1, 4]), np.array([0, 0, 2]))
    prior = (np.zeros(6), np.full(6, 4.0), 0.5)
    clock = learn_diagonal(
        mean,
        variance,
        touched,
        3.0,
        *prior,
        rows,
        np.arange(2),
        np.ones(2),
        np.ones(2),
        1.0,
        False,
    )
    assert clock == 5.0
    assert touched.tolist() == [0, 4.0, 0, 0, 4.0, 0]
    assert np.flatnonzero(mean).tolist() == [1, 4]
    np.testing.assert_array_equal(variance[[0, 2, 3, 5]], 1.0)


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e8])
def test_variances_stay_positive(scale):
    """Wide priors, features of any size, labels that contradict each other."""
    random = np.random.default_rng(0)
    x = random.normal(size=(2000, 3)) * scale
    y = random.choice([-1.0, 1.0], 2000)
    ones = np.ones(2000)
    factor, variances = np.asfortranarray(np.eye(3)), np.full(3, 1e6)
    learn_factor(np.zeros(3), factor, variances, x, y, ones, 1.0)
    root = factor * np.sqrt(variances)
    assert np.linalg.svd(root, compute_uv=False).min() > 0.0
    rows = sp.csr_array(x)
    variance = np.full(3, 1e6)
    learn_diagonal(
        np.zeros(3),
        variance,
        np.zeros(3),
        0.0,
        np.zeros(3),
        np.full(3, 1e6),
        1.0,
        (rows.data, rows.indices, rows.indptr),
        np.arange(2000),
        y,
        ones,
        1.0,
        False,
    )
    assert (variance > 0.0).all()


def test_a_contradicted_step_never_ends_in_no_number():
    """Without noise, opposite labels of one row: the belief ends up certain."""
    rows = np.tile([[1.0, 2.0]], (200, 1))
    y = np.tile([-1.0, 1.0], 100)
    mean, factor, variances = np.zeros(2), np.asfortranarray(np.eye(2)), np.ones(2)
    learn_factor(mean, factor, variances, rows, y, np.ones(200), 0.0)
    root = factor * np.sqrt(variances)
    assert np.isfinite(mean).all()
    assert np.isfinite(root).all()
    np.testing.assert_allclose(np.linalg.norm(rows[0] @ root), 0.0, atol=1e-100)
