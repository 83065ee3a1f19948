"""The Gaussian variational approximation: its bound, its maximum, what it refuses."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp
from scipy.optimize import minimize
from scipy.special import log_expit, log_ndtr
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF

from odalib import EPGaussianProcessClassifier, EPProbitClassifier
from odalib.inference.ep import infer
from odalib.inference.ep.gaussians import Covariance, Precision
from odalib.inference.ep.likelihood import Expectation, Likelihood, Match
from odalib.inference.ep.logistic import Logistic
from odalib.inference.ep.probit import Probit
from odalib.inference.ep.spin import Spin
from odalib.inference.ep.weights import split_weights
from tests.oracles import tilted
from tests.oracles.gaussian_latent import probit_by_quadrature

from .problems import SPACES, random_problem, wide

LIKELIHOODS = pytest.mark.parametrize("likelihood", [Probit, Logistic])
FACTORS = {Probit: tilted.normal_cdf, Logistic: tilted.logistic}
LOG_FACTORS = {Probit: log_ndtr, Logistic: log_expit}
# Of the standard normal.
NODES, NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(120)
NODE_WEIGHTS = NODE_WEIGHTS / math.sqrt(2.0 * math.pi)


def variational(model, likelihood, **settings):
    settings = {"tol": 1e-10, **settings}
    return infer(model, likelihood, solver="variational", **settings)


def assert_same(one, other, atol):
    np.testing.assert_allclose(one.mean, other.mean, rtol=0, atol=atol)
    np.testing.assert_allclose(one.variance, other.variance, rtol=0, atol=atol)
    assert one.log_evidence == pytest.approx(other.log_evidence, abs=atol)


@LIKELIHOODS
@pytest.mark.parametrize(
    ("mean", "variance"),
    [(-1e4, 1e-4), (-3.0, 1e-8), (0.0, 1e6), (8.0, 2.0)],
)
def test_expectations(likelihood, mean, variance):
    """Against the definition in many digits, narrow and wide, on both sides of zero."""
    expectation = likelihood(np.ones(1)).expect(np.array([mean]), np.array([variance]))
    value, slope, bend = tilted.expectations(FACTORS[likelihood], mean, variance)
    assert abs(expectation.log_likelihood[0] / value - 1) < 1e-12
    # exp(-1e4) is zero in floats.
    assert abs(expectation.precision[0] - bend) < 1e-11 * bend + mp.mpf("1e-300")
    size = abs(slope) + abs(bend * mp.mpf(mean))
    assert abs(expectation.shift[0] - (slope + bend * mean)) < 1e-12 * size


@LIKELIHOODS
def test_expectations_are_those_of_labels_scales_and_powers(likelihood):
    mean, variance = np.array([-0.7, 0.4, 2.0]), np.array([0.5, 2.0, 3.0])
    y, power = np.array([1.0, -1.0, -1.0]), np.array([1.0, 0.3, 0.6])
    expectation = likelihood(y, power=power).expect(mean, variance)
    f = mean[:, np.newaxis] + np.sqrt(variance)[:, np.newaxis] * NODES
    logs = power[:, np.newaxis] * LOG_FACTORS[likelihood](y[:, np.newaxis] * f)
    np.testing.assert_allclose(expectation.log_likelihood, logs @ NODE_WEIGHTS, 1e-8)
    # Stein's identities: E[l'] = E[l (f - m)] / v, E[l''] = E[l ((f - m)^2 - v)] / v^2.
    slope = logs @ (NODE_WEIGHTS * NODES) / np.sqrt(variance)
    bend = -logs @ (NODE_WEIGHTS * (NODES**2 - 1.0)) / variance
    np.testing.assert_allclose(expectation.precision, bend, rtol=1e-6)
    np.testing.assert_allclose(expectation.shift, slope + bend * mean, rtol=1e-6)


def test_noise_of_probit_is_its_scale():
    mean, variance, y = np.array([0.3, -2.0]), np.array([1.0, 4.0]), np.ones(2)
    noisy = Probit(y, 9.0).expect(mean, variance)
    plain = Probit(y).expect(mean / 3.0, variance / 9.0)
    np.testing.assert_allclose(noisy.log_likelihood, plain.log_likelihood, rtol=1e-13)
    np.testing.assert_allclose(noisy.precision, plain.precision / 9.0, rtol=1e-13)
    np.testing.assert_allclose(noisy.shift, plain.shift / 3.0, rtol=1e-13)


@LIKELIHOODS
@pytest.mark.parametrize("seed", [0, 1])
def test_the_maximum_by_another_optimiser(likelihood, seed):
    """Over the mean and the Cholesky factor of all Gaussians of five latent values."""
    problem = random_problem(seed, 5, 6)
    K, m = problem.covariance, problem.latent_mean
    inverse, lower = np.linalg.inv(K), np.tril_indices(5)

    def unpack(values):
        root = np.zeros((5, 5))
        root[lower] = values[5:]
        return values[:5], root

    def negative_bound(values):
        mean, root = unpack(values)
        deviation = np.sqrt((root**2).sum(axis=1))
        f = problem.y[:, np.newaxis] * (
            mean[:, np.newaxis] + deviation[:, np.newaxis] * NODES
        )
        expected = (LOG_FACTORS[likelihood](f) @ NODE_WEIGHTS).sum()
        divergence = 0.5 * (
            np.trace(inverse @ root @ root.T)
            + (mean - m) @ inverse @ (mean - m)
            - 5.0
            + np.linalg.slogdet(K)[1]
            - 2.0 * np.log(np.abs(np.diag(root))).sum()
        )
        return divergence - expected

    start = np.concatenate([m, np.linalg.cholesky(K)[lower]])
    found = minimize(negative_bound, start, method="BFGS", options={"gtol": 1e-6})
    mean, root = unpack(found.x)
    inference = variational(Covariance(K, m), likelihood(problem.y))
    assert inference.converged
    np.testing.assert_allclose(inference.mean, mean, rtol=0, atol=1e-5)
    np.testing.assert_allclose(
        inference.posterior.covariance(), root @ root.T, rtol=0, atol=1e-5
    )
    assert inference.log_evidence == pytest.approx(-found.fun, abs=1e-8)

    # And at the solution itself no direction leads up.
    covariance = inference.posterior.covariance()
    at = np.concatenate([inference.mean, np.linalg.cholesky(covariance)[lower]])
    step = 1e-4
    for direction in np.eye(len(at)):
        rise = negative_bound(at + step * direction)
        rise -= negative_bound(at - step * direction)
        assert abs(rise) / (2.0 * step) < 1e-6


@given(seed=st.integers(0, 2**16), n=st.integers(1, 12), d=st.integers(1, 2))
def test_the_bound_is_below_the_evidence(seed, n, d):
    problem = random_problem(seed, n, d)
    exact = probit_by_quadrature(
        problem.X, problem.y, np.diag(problem.variances), problem.mean
    )
    inference = variational(problem.model(), Probit(problem.y), max_iter=1000)
    assert inference.converged
    assert exact.log_evidence - 0.5 < inference.log_evidence
    assert inference.log_evidence < exact.log_evidence + 1e-9


class GaussianNoise(Likelihood):
    """``N(y; f, variance)``, for which nothing is approximate."""

    def __init__(self, y, variance):
        self.n_sites, self.y, self.noise = len(y), y, variance

    def match(self, cavity, sites=slice(None)):
        y, noise = self.y[sites], self.noise
        total = cavity.variance + noise
        variance = cavity.variance * noise / total
        residual = y - cavity.mean
        return Match(
            -0.5 * (np.log(2.0 * np.pi * total) + residual**2 / total),
            cavity.mean + cavity.variance * residual / total,
            variance,
            np.full(len(y), 1.0 / noise),
            y / noise,
        )

    def expect(self, mean, variance):
        square = (self.y - mean) ** 2 + variance
        return Expectation(
            -0.5 * (np.log(2.0 * np.pi * self.noise) + square / self.noise),
            np.full(self.n_sites, 1.0 / self.noise),
            self.y / self.noise,
        )


@pytest.mark.parametrize("space", SPACES)
def test_gaussian_likelihoods_are_exact(space):
    problem = random_problem(4, 8, 3)
    y, noise = np.linspace(-2.0, 3.0, 8), 0.7
    inference = variational(problem.model(space), GaussianNoise(y, noise))
    K, m = problem.covariance, problem.latent_mean
    total = K + noise * np.eye(8)
    residual = y - m
    solved = np.linalg.solve(total, residual)
    evidence = -0.5 * (
        8.0 * math.log(2.0 * math.pi) + np.linalg.slogdet(total)[1] + residual @ solved
    )
    assert inference.converged
    assert inference.log_evidence == pytest.approx(evidence, abs=1e-10)
    np.testing.assert_allclose(inference.mean, m + K @ solved, rtol=0, atol=1e-10)
    covariance = K - K @ np.linalg.solve(total, K)
    np.testing.assert_allclose(
        inference.posterior.covariance(), covariance, rtol=0, atol=1e-10
    )
    expected = infer(problem.model(space), GaussianNoise(y, noise), tol=1e-12)
    assert inference.log_evidence == pytest.approx(expected.log_evidence, abs=1e-10)


@LIKELIHOODS
@pytest.mark.parametrize("space", [*SPACES, "precision"])
def test_one_maximum_in_every_space(likelihood, space):
    problem = random_problem(2, 6, 9)
    first = variational(problem.model(), likelihood(problem.y))
    if space == "precision":
        precision = np.linalg.inv(problem.covariance)
        pull = precision @ problem.latent_mean
        model = Precision(precision, pull)
    else:
        model = problem.model(space)
    other = variational(model, likelihood(problem.y))
    assert first.converged
    assert other.converged
    if space == "precision":
        # Whose prior is not normalised.
        n, m = len(problem.y), problem.latent_mean
        norm = n * math.log(2.0 * math.pi) - np.linalg.slogdet(precision)[1] + m @ pull
        assert other.log_evidence - 0.5 * norm == pytest.approx(
            first.log_evidence, abs=1e-8
        )
        np.testing.assert_allclose(other.mean, first.mean, rtol=0, atol=1e-8)
    else:
        assert_same(other, first, 1e-8)


@LIKELIHOODS
@pytest.mark.parametrize("space", ["weights", "gram", "covariance"])
def test_weights_are_repetitions(likelihood, space):
    """Whole weights, and parts that add up: of a row there may be half and half."""
    problem = random_problem(3, 8, 4)
    build = SPACES[space]

    def of_rows(rows, row_weights):
        counts, powers = split_weights(row_weights)
        model = build(problem.X[rows], problem.variances, problem.mean)
        return variational(
            model, likelihood(problem.y[rows], power=powers), counts=counts
        )

    weights = np.array([1.0, 3.0, 2.0, 1.0, 7.0, 1.0, 2.5, 40.0])
    whole = of_rows(np.arange(8), weights)
    copies = np.ceil(weights).astype(int)
    rows = np.repeat(np.arange(8), copies)
    parts = np.ones(len(rows))
    parts[rows == 6] = [1.0, 1.0, 0.5]
    parts[rows == 2] = [0.4, 1.6]
    repeated = of_rows(rows, parts)
    assert whole.converged
    assert repeated.converged
    first = np.searchsorted(rows, np.arange(8))
    np.testing.assert_allclose(whole.mean, repeated.mean[first], rtol=0, atol=1e-8)
    assert whole.log_evidence == pytest.approx(repeated.log_evidence, abs=1e-8)


@LIKELIHOODS
def test_the_bound_never_falls(likelihood):
    """Where whole steps overshoot: separable rows under a wide prior."""
    problem = wide(0, 20, 3, variance=1e3)
    runs = [
        variational(problem.model(), likelihood(problem.y), tol=1e-7, max_iter=n)
        for n in (1, 2, 3, 4, 6, 8, 11, 15, 20, 26, 33, 40, 50, 60, 80)
    ]
    assert runs[-1].converged
    assert not runs[3].converged
    assert len(runs[3].residuals) == runs[3].n_iter == 4
    bounds = np.array([run.log_evidence for run in runs])
    assert bounds[-1] > bounds[0] + 0.01
    assert np.diff(bounds).min() > -1e-13 * abs(bounds[0])


def test_sites_to_start_from():
    problem = random_problem(1, 20, 3)
    first = variational(problem.model(), Probit(problem.y))
    again = variational(problem.model(), Probit(problem.y), start=first.sites)
    assert again.n_iter == 1
    assert_same(first, again, 1e-14)


def test_slope_in_the_prior_is_that_with_the_sites_held():
    """``(a a' - R) / 2``, as at the fixed point of expectation propagation."""
    problem = random_problem(5, 6, 8)
    K, likelihood = problem.covariance, Probit(problem.y)
    posterior = variational(Covariance(K), likelihood).posterior
    slope = 0.5 * (np.outer(posterior.weights, posterior.weights) - posterior.reduction)
    change, step = np.outer(np.arange(6.0), np.ones(6)), 1e-4
    change = 0.1 * (change + change.T + np.eye(6))
    ahead = variational(Covariance(K + step * change), likelihood).log_evidence
    behind = variational(Covariance(K - step * change), likelihood).log_evidence
    assert (ahead - behind) / (2.0 * step) == pytest.approx(
        (slope * change).sum(), rel=1e-6
    )


@pytest.mark.parametrize(
    ("model", "likelihood", "name"),
    [
        (Precision(np.eye(3)), Spin(3), "Spin"),
        (Covariance(np.eye(3)), Probit(np.ones(3), 0.0), "Probit"),
    ],
)
def test_what_gaussians_do_not_fit_under_is_refused_by_name(model, likelihood, name):
    pattern = rf"does not take {name}.* needs the posterior's support to cover the Gau"
    with pytest.raises(ValueError, match=pattern):
        infer(model, likelihood, solver="variational")


def test_classifiers_offer_it():
    problem = random_problem(1, 40, 3, centred=True)
    X, y = problem.X, problem.y
    by_propagation = EPProbitClassifier().fit(X, y)
    by_bound = EPProbitClassifier(solver="variational").fit(X, y)
    assert by_bound.converged_
    assert by_bound.solver_ == ["variational"]
    gap = by_propagation.log_evidence_[0] - by_bound.log_evidence_[0]
    assert 0.0 < gap < 0.1
    evidences = [
        EPGaussianProcessClassifier(RBF(2.0), optimizer=None, solver=solver)
        .fit(X, y)
        .log_marginal_likelihood_value_
        for solver in ("variational", "parallel")
    ]
    assert 0.0 < evidences[1] - evidences[0] < 0.1


@pytest.mark.parametrize(
    ("solver", "what"),
    [
        ("variational", "The variational approximation"),
        ("parallel", "Expectation propagation"),
    ],
)
def test_a_warning_names_the_approximation(solver, what):
    random = np.random.default_rng(0)
    X = random.normal(size=(30, 2))
    y = X[:, 0] + random.normal(size=30) > 0
    model = EPProbitClassifier(solver=solver, max_iter=1, prior_variance=10.0)
    with pytest.warns(ConvergenceWarning, match=f"^{what} did not converge in 1 of 1"):
        model.fit(X, y)
