"""Fixed points against another implementation, exact answers and the textbook."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from odalib.inference.ep import infer
from odalib.inference.ep.gaussians import Covariance, linear_map
from odalib.inference.ep.gaussians.weights import prior_belief
from odalib.inference.ep.logistic import Logistic
from odalib.inference.ep.probit import Probit
from tests.oracles.gaussian_latent import (
    log_orthant_evidence,
    orthant_probability,
    probit_by_quadrature,
)
from tests.oracles.textbook_ep import (
    logistic_power,
    probit,
    textbook_ep,
    weight_posterior,
)

from .problems import SPACES, random_problem
from .reference_values import (
    FIVE_LATENT_VALUES,
    FIVE_LATENT_VALUES_GRADIENT,
    FIVE_POINT_LABELS,
    FIVE_POINTS,
    LOG_EVIDENCE_OF_DIGITS_3_AND_5,
    PAIRS,
    PROBIT_REGRESSIONS,
)

SOLVERS = ("auto", "sequential", "blocked", "parallel", "double_loop")
solvers = pytest.mark.parametrize("solver", SOLVERS)
regressions = pytest.mark.parametrize("name", PROBIT_REGRESSIONS)


def infer_regression(regression, **settings):
    model = linear_map(regression.X, prior_belief(regression.variances))
    inference = infer(model, Probit(regression.y), **settings)
    assert inference.converged
    return inference


def squared_distances(points):
    return np.square(points[:, np.newaxis] - points).sum(axis=2)


def rbf(points, length_scale, signal_sd):
    return signal_sd**2 * np.exp(-0.5 * squared_distances(points) / length_scale**2)


@solvers
@regressions
def test_probit_regressions(name, solver):
    regression = PROBIT_REGRESSIONS[name]
    inference = infer_regression(regression, solver=solver, tol=1e-8)
    belief, ep = inference.posterior.belief, regression.ep
    assert inference.log_evidence == pytest.approx(ep.log_evidence, abs=1e-6)
    np.testing.assert_allclose(belief.mean, ep.mean, rtol=0, atol=1e-6)
    np.testing.assert_allclose(np.sqrt(belief.marginals()), ep.sd, rtol=0, atol=1e-6)


@regressions
def test_probit_regressions_at_the_default_tolerance(name):
    """Errors of the size of the tolerance, in posterior deviations."""
    regression = PROBIT_REGRESSIONS[name]
    inference = infer_regression(regression)
    belief, ep = inference.posterior.belief, regression.ep
    assert inference.log_evidence == pytest.approx(ep.log_evidence, abs=1e-6)
    np.testing.assert_allclose((belief.mean - ep.mean) / ep.sd, 0.0, atol=1e-5)


@regressions
def test_distance_from_the_exact_answer_is_the_known_bias(name):
    """No farther than the other implementation was, nor than the exact digits go."""
    regression = PROBIT_REGRESSIONS[name]
    inference = infer_regression(regression, tol=1e-9)
    belief, ep, exact = (
        inference.posterior.belief,
        regression.ep,
        regression.exact,
    )
    bias = abs(ep.log_evidence - exact.log_evidence)
    assert abs(inference.log_evidence - exact.log_evidence) <= 1.001 * bias + 1e-8
    for found, recorded, true in (
        (belief.mean, ep.mean, exact.mean),
        (np.sqrt(belief.marginals()), ep.sd, exact.sd),
    ):
        recorded_bias = np.abs(np.subtract(recorded, true))
        assert (np.abs(found - true) <= 1.001 * recorded_bias + 1e-6).all()


@pytest.mark.parametrize("name", ["A", "B"])
def test_quadrature_gives_the_recorded_exact_values(name):
    """The grid of the oracle against the one that the recorded values came from."""
    regression = PROBIT_REGRESSIONS[name]
    points = 41 if name == "A" else 51
    found = probit_by_quadrature(
        regression.X, regression.y, np.diag(regression.variances), points=points
    )
    exact = regression.exact
    assert found.log_evidence == pytest.approx(exact.log_evidence, abs=3e-7)
    np.testing.assert_allclose(found.mean, exact.mean, rtol=0, atol=5e-6)
    np.testing.assert_allclose(found.sd, exact.sd, rtol=0, atol=5e-6)


@solvers
def test_five_latent_values(solver):
    model = Covariance(rbf(FIVE_POINTS, 2.0, 1.5))
    inference = infer(model, Probit(FIVE_POINT_LABELS), solver=solver, tol=1e-8)
    ep, exact = FIVE_LATENT_VALUES["ep"], FIVE_LATENT_VALUES["exact"]
    assert inference.log_evidence == pytest.approx(ep, abs=1e-6)
    bias = abs(inference.log_evidence - exact)
    assert bias <= 1.001 * abs(ep - exact) + 1e-6
    oracle = log_orthant_evidence(rbf(FIVE_POINTS, 2.0, 1.5), FIVE_POINT_LABELS)
    assert oracle == pytest.approx(exact, abs=5e-6)


def test_slopes_of_the_evidence_of_five_latent_values():
    def log_evidence(logs):
        model = Covariance(rbf(FIVE_POINTS, *np.exp(logs)))
        return infer(model, Probit(FIVE_POINT_LABELS), tol=1e-11).log_evidence

    at, step = np.log([2.0, 1.5]), 1e-4
    for direction, recorded in zip(np.eye(2), FIVE_LATENT_VALUES_GRADIENT, strict=True):
        ahead = log_evidence(at + step * direction)
        behind = log_evidence(at - step * direction)
        assert (ahead - behind) / (2.0 * step) == pytest.approx(recorded, abs=1e-7)


def test_slopes_from_the_posterior_of_a_covariance():
    """``tr[(a a' - R) dK] / 2``, at the fixed point without following the sites."""
    at, step = np.log([2.0, 1.5]), 1e-5
    model = Covariance(rbf(FIVE_POINTS, *np.exp(at)))
    inference = infer(model, Probit(FIVE_POINT_LABELS), tol=1e-11)
    a, reduction = inference.posterior.weights, inference.posterior.reduction
    for direction, recorded in zip(np.eye(2), FIVE_LATENT_VALUES_GRADIENT, strict=True):
        ahead, behind = (
            rbf(FIVE_POINTS, *np.exp(at + sign * step * direction))
            for sign in (1.0, -1.0)
        )
        change = (ahead - behind) / (2.0 * step)
        slope = 0.5 * (a @ change @ a - (reduction * change).sum())
        assert slope == pytest.approx(recorded, abs=1e-8)


@pytest.mark.parametrize("space", ["weights", "gram"])
def test_slopes_from_the_posterior_of_weights(space):
    """Of the log evidence in the log of every prior variance."""
    problem = random_problem(7, 5, 6, centred=True)

    def infer_at(logs):
        model = SPACES[space](problem.X, np.exp(logs))
        return infer(model, Probit(problem.y), tol=1e-12)

    at, step = np.log(problem.variances), 1e-4
    moved, told = infer_at(at).posterior.learnt()
    for i in range(6):
        shift = step * (np.arange(6) == i)
        ahead, behind = infer_at(at + shift), infer_at(at - shift)
        slope = (ahead.log_evidence - behind.log_evidence) / (2.0 * step)
        assert 0.5 * (moved[i] - told[i]) == pytest.approx(slope, abs=1e-8)


@pytest.mark.parametrize("solver", ["auto", "blocked"])
def test_digits_3_and_5(solver):
    features, digits = load_digits(return_X_y=True)
    chosen = np.isin(digits, (3, 5))
    y = np.where(digits[chosen] == 3, 1.0, -1.0)
    model = Covariance(rbf(features[chosen] / 16.0, 2.0, 2.0))
    inference = infer(model, Probit(y), solver=solver)
    assert inference.converged
    recorded = LOG_EVIDENCE_OF_DIGITS_3_AND_5
    assert inference.log_evidence == pytest.approx(recorded, abs=1e-6)


@pytest.mark.parametrize(("correlation", "exact", "ep"), PAIRS)
@pytest.mark.parametrize("share_of_noise", [0.0, 0.05])
def test_two_latent_values(correlation, exact, ep, share_of_noise):
    """However the noise is divided between latent values and likelihood."""
    total = np.array([[1.0, correlation], [correlation, 1.0]])
    likelihood = Probit(np.ones(2), noise_variance=share_of_noise)
    model = Covariance(total - share_of_noise * np.eye(2))
    inference = infer(model, likelihood, tol=1e-9)
    assert math.exp(inference.log_evidence) == pytest.approx(ep, abs=1e-8)
    closed_form = 0.25 + math.asin(correlation) / (2.0 * math.pi)
    assert orthant_probability(total) == pytest.approx(closed_form, abs=1e-15)
    assert exact == pytest.approx(closed_form, abs=1e-8)


@solvers
@pytest.mark.parametrize("space", SPACES)
def test_orthogonal_rows_are_independent_coins(space, solver):
    """Every cavity is the prior, whatever the scales: n tosses of a fair coin."""
    random = np.random.default_rng(0)
    orthogonal = np.linalg.qr(random.normal(size=(6, 6)))[0]
    X = orthogonal[:4] * np.array([[0.1], [1.0], [7.0], [40.0]])
    model = SPACES[space](X, np.full(6, 2.5))
    y = np.array([1.0, -1.0, -1.0, 1.0])
    inference = infer(model, Probit(y), solver=solver)
    assert inference.log_evidence == pytest.approx(-4.0 * math.log(2.0), abs=1e-12)
    assert inference.converged


def compare(inference, oracle, atol=1e-8):
    np.testing.assert_allclose(inference.mean, oracle.mean, rtol=0, atol=atol)
    np.testing.assert_allclose(
        inference.variance, np.diag(oracle.covariance), rtol=0, atol=atol
    )
    np.testing.assert_allclose(
        inference.sites.precision, oracle.site_precision, rtol=0, atol=atol
    )
    np.testing.assert_allclose(
        inference.sites.shift, oracle.site_shift, rtol=0, atol=atol
    )
    np.testing.assert_allclose(
        inference.cavity.mean, oracle.cavity_mean, rtol=0, atol=atol
    )
    np.testing.assert_allclose(
        inference.cavity.variance, oracle.cavity_variance, rtol=0, atol=atol
    )
    assert inference.log_evidence == pytest.approx(oracle.log_evidence, abs=1e-10)


@given(
    seed=st.integers(0, 2**16),
    n=st.integers(1, 9),
    d=st.integers(1, 4),
    scale=st.sampled_from([0.1, 1.0, 4.0]),
    noise=st.sampled_from([0.3, 1.0, 2.0]),
)
def test_textbook(seed, n, d, scale, noise):
    """Non-zero prior means; message passing to 1e-8, double loop to 1e-6."""
    problem = random_problem(seed, n, d, scale)
    oracle = textbook_ep(
        problem.covariance, probit(problem.y, noise), prior_mean=problem.latent_mean
    )
    for solver in ("sequential", "blocked", "parallel"):
        likelihood = Probit(problem.y, noise_variance=noise)
        model = problem.model("weights")
        inference = infer(model, likelihood, solver=solver, tol=1e-11)
        assert inference.converged
        compare(inference, oracle)
        mean, covariance = weight_posterior(
            problem.X, np.diag(problem.variances), problem.mean, oracle
        )
        belief = inference.posterior.belief
        np.testing.assert_allclose(belief.mean, mean, rtol=0, atol=1e-8)
        np.testing.assert_allclose(belief.covariance(), covariance, rtol=0, atol=1e-8)
    inference = infer(model, likelihood, solver="double_loop", tol=1e-8)
    assert inference.converged
    np.testing.assert_allclose(inference.mean, oracle.mean, rtol=0, atol=1e-6)
    np.testing.assert_allclose(
        inference.variance, np.diag(oracle.covariance), rtol=0, atol=1e-6
    )
    assert inference.log_evidence == pytest.approx(oracle.log_evidence, abs=1e-6)


@given(seed=st.integers(0, 2**16), n=st.integers(1, 6), scale=st.floats(0.1, 4.0))
def test_textbook_with_a_logistic_likelihood(seed, n, scale):
    problem = random_problem(seed, n, 3, scale)
    oracle = textbook_ep(
        problem.covariance,
        logistic_power(problem.y, np.ones(n)),
        prior_mean=problem.latent_mean,
        tol=1e-11,
    )
    for solver in ("auto", "sequential"):
        inference = infer(
            problem.model("gram"), Logistic(problem.y), solver=solver, tol=1e-11
        )
        assert inference.converged
        compare(inference, oracle)


@pytest.mark.parametrize("seed", range(4))
def test_evidence_with_a_prior_mean_is_near_the_truth(seed):
    """Twelve noisy labels of two weights, where the bias is small."""
    problem = random_problem(seed, 12, 2)
    inference = infer(problem.model(), Probit(problem.y), tol=1e-9)
    exact = probit_by_quadrature(
        problem.X, problem.y, np.diag(problem.variances), problem.mean
    )
    belief = inference.posterior.belief
    assert inference.log_evidence == pytest.approx(exact.log_evidence, abs=0.015)
    np.testing.assert_allclose(belief.mean, exact.mean, rtol=0, atol=0.005)
    np.testing.assert_allclose(np.sqrt(belief.marginals()), exact.sd, rtol=0.03)


@pytest.mark.parametrize("space", ["weights", "gram"])
def test_evidence_of_a_second_batch_given_the_first(space):
    """The posterior becomes the prior; exact in the second batch's own likelihoods."""
    d = 2 if space == "weights" else 9
    problem = random_problem(4, 7, d)
    first, second = np.arange(4), np.arange(4, 7)
    belief = prior_belief(problem.variances, problem.mean)
    model = linear_map(problem.X[first], belief)
    belief = infer(model, Probit(problem.y[first]), tol=1e-11).posterior.belief
    model = linear_map(problem.X[second], belief)
    inference = infer(model, Probit(problem.y[second]), tol=1e-11)
    X, y = problem.X[second], problem.y[second]
    covariance = belief.covariance()
    oracle = textbook_ep(X @ covariance @ X.T, probit(y), prior_mean=X @ belief.mean)
    compare(inference, oracle)
    if space == "gram":
        # The three latent values take the place of the nine weights.
        latent = np.eye(3), y, X @ covariance @ X.T, X @ belief.mean
        exact = probit_by_quadrature(*latent)
    else:
        exact = probit_by_quadrature(X, y, covariance, belief.mean)
    assert inference.log_evidence == pytest.approx(exact.log_evidence, abs=0.01)


@given(seed=st.integers(0, 2**16), order=st.permutations(range(7)))
def test_order_of_the_sites_does_not_matter(seed, order):
    problem, order = random_problem(seed, 7, 3), np.array(order)
    covariance, mean = problem.covariance, problem.latent_mean
    for solver in ("sequential", "parallel"):
        one = infer(
            Covariance(covariance, mean), Probit(problem.y), solver=solver, tol=1e-11
        )
        other = infer(
            Covariance(covariance[np.ix_(order, order)], mean[order]),
            Probit(problem.y[order]),
            solver=solver,
            tol=1e-11,
        )
        np.testing.assert_allclose(other.mean, one.mean[order], rtol=0, atol=1e-9)
        np.testing.assert_allclose(
            other.variance, one.variance[order], rtol=0, atol=1e-9
        )
        assert other.log_evidence == pytest.approx(one.log_evidence, abs=1e-10)


@given(
    seed=st.integers(0, 2**16),
    flips=st.lists(st.sampled_from([-1.0, 1.0]), min_size=7, max_size=7),
)
def test_flipped_labels_with_flipped_rows_are_the_same_problem(seed, flips):
    problem, flips = random_problem(seed, 7, 3), np.array(flips)
    one = infer(problem.model(), Probit(problem.y), tol=1e-11)
    model = linear_map(
        problem.X * flips[:, np.newaxis], prior_belief(problem.variances, problem.mean)
    )
    other = infer(model, Probit(flips * problem.y), tol=1e-11)
    np.testing.assert_allclose(other.mean, flips * one.mean, rtol=0, atol=1e-10)
    np.testing.assert_allclose(other.variance, one.variance, rtol=0, atol=1e-10)
    assert other.log_evidence == pytest.approx(one.log_evidence, abs=1e-11)


@given(
    seed=st.integers(0, 2**16),
    logs=st.lists(st.floats(-15.0, 15.0), min_size=3, max_size=3),
    space=st.sampled_from(["weights", "gram"]),
)
def test_scaled_features_with_scaled_weights_are_the_same_problem(seed, logs, space):
    problem, scales = random_problem(seed, 7, 3), 10.0 ** np.array(logs)
    one = infer(problem.model(space), Probit(problem.y), tol=1e-11)
    model = SPACES[space](
        problem.X * scales, problem.variances / scales**2, problem.mean / scales
    )
    other = infer(model, Probit(problem.y), tol=1e-11)
    assert other.converged
    np.testing.assert_allclose(other.mean, one.mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(other.variance, one.variance, rtol=0, atol=1e-9)
    assert other.log_evidence == pytest.approx(one.log_evidence, abs=1e-10)


@given(seed=st.integers(0, 2**16), factor=st.floats(0.01, 100.0))
def test_only_signal_over_noise_matters(seed, factor):
    """Latent values and noise variance scaled together leave the evidence."""
    problem = random_problem(seed, 6, 3)
    one = infer(problem.model(), Probit(problem.y), tol=1e-11)
    model = linear_map(
        problem.X, prior_belief(factor * problem.variances, factor**0.5 * problem.mean)
    )
    other = infer(model, Probit(problem.y, noise_variance=factor), tol=1e-11)
    assert other.log_evidence == pytest.approx(one.log_evidence, abs=1e-10)
    np.testing.assert_allclose(other.mean, factor**0.5 * one.mean, rtol=1e-8)
