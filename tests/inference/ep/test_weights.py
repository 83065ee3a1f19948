"""Row weights: copies of a site, and powers of a likelihood."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr

from odalib.inference.ep import infer
from odalib.inference.ep.gaussians import Covariance
from odalib.inference.ep.logistic import Logistic
from odalib.inference.ep.probit import Probit
from odalib.inference.ep.weights import split_weights
from tests.oracles.gaussian_latent import probit_by_quadrature
from tests.oracles.textbook_ep import (
    logistic_power,
    probit,
    probit_power,
    repeated,
    textbook_ep,
)

from .problems import LinearProblem, random_problem

SOLVERS = ("auto", "sequential", "blocked", "parallel", "double_loop")


def infer_weighted(
    problem, row_weights, space="weights", likelihood=Probit, **settings
):
    counts, powers = split_weights(row_weights)
    return infer(
        problem.model(space),
        likelihood(problem.y, power=powers),
        counts=counts,
        **settings,
    )


def written_out(problem, rows):
    """The problem with its rows repeated."""
    return LinearProblem(
        problem.X[rows], problem.y[rows], problem.variances, problem.mean
    )


def test_weights_are_split_at_one():
    weights = np.array([0.25, 1.0, 2.5, 3.0])
    counts, powers = split_weights(weights)
    np.testing.assert_array_equal(counts, [1.0, 1.0, 2.5, 3.0])
    np.testing.assert_array_equal(powers, [0.25, 1.0, 1.0, 1.0])


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("space", ["weights", "gram", "covariance"])
def test_copies_are_repeated_rows(space, solver):
    """Evidence and all; to 1e-10, of the double loop 1e-7."""
    problem = random_problem(3, 8, 4)
    copies = np.array([1, 3, 2, 1, 7, 1, 2, 40])
    rows = np.repeat(np.arange(8), copies)
    twice = written_out(problem, rows)
    tol, atol = (1e-9, 1e-7) if solver == "double_loop" else (1e-12, 1e-10)
    counted = infer_weighted(
        problem, copies.astype(float), space, solver=solver, tol=tol
    )
    written = infer(twice.model(space), Probit(twice.y), solver=solver, tol=tol)
    assert counted.converged
    assert written.converged
    np.testing.assert_allclose(counted.mean[rows], written.mean, rtol=0, atol=atol)
    np.testing.assert_allclose(
        counted.variance[rows], written.variance, rtol=0, atol=atol
    )
    np.testing.assert_allclose(
        counted.sites.precision[rows], written.sites.precision, rtol=0, atol=atol
    )
    np.testing.assert_allclose(
        counted.cavity.mean[rows], written.cavity.mean, rtol=0, atol=10 * atol
    )
    assert counted.log_evidence == pytest.approx(written.log_evidence, abs=atol)


@pytest.mark.parametrize("solver", ["auto", "blocked"])
@pytest.mark.parametrize("n_copies", [10, 100])
def test_copies_with_a_wide_prior_are_repeated_rows(n_copies, solver):
    """All copies of a site moved at once overshoot as parallel updates do."""
    problem = LinearProblem(np.ones((1, 1)), np.ones(1), np.full(1, 1e4), np.zeros(1))
    counts = np.full(1, float(n_copies))
    counted = infer_weighted(problem, counts, solver=solver, tol=1e-9)
    twice = written_out(problem, np.zeros(n_copies, dtype=int))
    written = infer(twice.model(), Probit(twice.y), solver="blocked", tol=1e-9)
    assert counted.converged
    assert written.converged
    assert counted.mean[0] == pytest.approx(written.mean[0], rel=1e-6)
    assert counted.variance[0] == pytest.approx(written.variance[0], rel=1e-6)
    assert counted.log_evidence == pytest.approx(written.log_evidence, abs=1e-6)


@pytest.mark.parametrize("n_trials", [1e2, 1e6])
def test_grouped_trials_converge_to_one_posterior(n_trials):
    """A million copies of a site add up a million of its errors."""
    random = np.random.default_rng(0)
    X = np.column_stack([np.ones(8), random.normal(size=(8, 2))])
    successes = n_trials * ndtr(X @ [0.3, 1.0, -0.5])
    problem = LinearProblem(
        np.vstack([X, X]), np.repeat([1.0, -1.0], 8), np.ones(3), np.zeros(3)
    )
    counts = np.maximum(np.append(successes, n_trials - successes), 1.0)
    one, other = (
        infer_weighted(problem, counts, solver=solver)
        for solver in ("parallel", "blocked")
    )
    assert one.converged
    assert other.converged
    apart = (one.mean - other.mean) / np.sqrt(one.variance)
    np.testing.assert_allclose(apart, 0.0, atol=0.003)
    assert one.log_evidence == pytest.approx(other.log_evidence, abs=1e-4)


@given(
    seed=st.integers(0, 2**16),
    weights=st.lists(st.floats(1.0, 6.0), min_size=4, max_size=4),
    solver=st.sampled_from(["sequential", "blocked", "parallel"]),
)
def test_textbook_with_weights_from_one(seed, weights, solver):
    """Any real number of copies, of which the cavity leaves one out."""
    problem, weights = random_problem(seed, 4, 3), np.array(weights)
    oracle = textbook_ep(
        problem.covariance,
        probit(problem.y),
        prior_mean=problem.latent_mean,
        copies=weights,
    )
    inference = infer_weighted(problem, weights, solver=solver, tol=1e-12)
    assert inference.converged
    np.testing.assert_allclose(inference.mean, oracle.mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        inference.variance, np.diag(oracle.covariance), rtol=0, atol=1e-9
    )
    assert inference.log_evidence == pytest.approx(oracle.log_evidence, abs=1e-9)


def test_copies_of_the_textbook_are_repeated_rows():
    problem = random_problem(3, 6, 2)
    copies = np.array([1, 3, 2, 1, 1, 4])
    covariance, y, mean, rows = repeated(
        problem.covariance, problem.y, copies, problem.latent_mean
    )
    written = textbook_ep(covariance, probit(y), prior_mean=mean)
    counted = textbook_ep(
        problem.covariance,
        probit(problem.y),
        prior_mean=problem.latent_mean,
        copies=copies.astype(float),
    )
    np.testing.assert_allclose(counted.mean[rows], written.mean, rtol=0, atol=1e-12)
    assert counted.log_evidence == pytest.approx(written.log_evidence, abs=1e-12)


@given(
    seed=st.integers(0, 2**16),
    weights=st.lists(st.floats(0.05, 3.0), min_size=5, max_size=5),
    kind=st.sampled_from([(Probit, probit_power), (Logistic, logistic_power)]),
)
def test_textbook_with_weights_below_one(seed, weights, kind):
    """One site for the likelihood to that power."""
    likelihood, tilted = kind
    problem, weights = random_problem(seed, 5, 3), np.array(weights)
    oracle = textbook_ep(
        problem.covariance,
        tilted(problem.y, np.minimum(weights, 1.0)),
        prior_mean=problem.latent_mean,
        copies=np.maximum(weights, 1.0),
        tol=1e-12,
    )
    inference = infer_weighted(problem, weights, likelihood=likelihood, tol=1e-11)
    assert inference.converged
    np.testing.assert_allclose(inference.mean, oracle.mean, rtol=0, atol=1e-8)
    np.testing.assert_allclose(
        inference.variance, np.diag(oracle.covariance), rtol=0, atol=1e-8
    )
    assert inference.log_evidence == pytest.approx(oracle.log_evidence, abs=1e-8)


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_weights_are_continuous_at_one(side):
    """From below by powers and from above by copies; the change is of their size."""
    problem = random_problem(3, 6, 2)
    at_one = infer_weighted(problem, np.ones(6), tol=1e-12)
    for step in (1e-3, 1e-6, 1e-9):
        near = infer_weighted(problem, np.full(6, 1.0 + side * step), tol=1e-12)
        np.testing.assert_allclose(near.mean, at_one.mean, rtol=0, atol=5 * step)
        np.testing.assert_allclose(
            near.variance, at_one.variance, rtol=0, atol=5 * step
        )
        assert near.log_evidence == pytest.approx(at_one.log_evidence, abs=10 * step)


def test_vanishing_weights_leave_the_prior():
    problem = random_problem(3, 6, 2)
    inference = infer_weighted(problem, np.full(6, 1e-9), tol=1e-12)
    np.testing.assert_allclose(inference.mean, problem.latent_mean, atol=1e-7)
    np.testing.assert_allclose(
        inference.variance, np.diag(problem.covariance), rtol=1e-7
    )
    assert inference.log_evidence == pytest.approx(0.0, abs=1e-7)


def test_powers_are_proper():
    """Every site precision and cavity variance is positive, however small the power."""
    problem = random_problem(11, 30, 3)
    weights = np.random.default_rng(0).dirichlet(np.ones(30))
    for solver in SOLVERS:
        inference = infer_weighted(problem, weights, solver=solver)
        assert inference.converged
        assert (inference.sites.precision > 0).all()
        assert (inference.cavity.variance > 0).all()
        assert (inference.cavity.variance <= np.diag(problem.covariance) + 1e-9).all()


def test_weighted_evidence_is_near_the_truth():
    problem = random_problem(2, 10, 2)
    weights = np.random.default_rng(0).uniform(0.1, 2.5, size=10)
    inference = infer_weighted(problem, weights, tol=1e-9)
    exact = probit_by_quadrature(
        problem.X,
        problem.y,
        np.diag(problem.variances),
        problem.mean,
        row_weights=weights,
    )
    belief = inference.posterior.belief
    assert inference.log_evidence == pytest.approx(exact.log_evidence, abs=0.01)
    np.testing.assert_allclose(belief.mean, exact.mean, rtol=0, atol=0.01)
    np.testing.assert_allclose(np.sqrt(belief.marginals()), exact.sd, rtol=0.02)


def test_weighted_step_likelihood():
    """Without noise a power below one is the step itself: ``0^p = 0, 1^p = 1``."""
    y = np.array([1.0, -1.0, 1.0])
    covariance = np.array([[1.0, 0.3, 0.1], [0.3, 1.0, -0.2], [0.1, -0.2, 1.0]])
    model = Covariance(covariance)
    plain = infer(model, Probit(y, noise_variance=0.0), tol=1e-10)
    power = np.array([0.3, 1.0, 0.7])
    weighted = infer(model, Probit(y, noise_variance=0.0, power=power), tol=1e-10)
    np.testing.assert_allclose(weighted.mean, plain.mean, rtol=0, atol=1e-8)
    assert weighted.log_evidence == pytest.approx(plain.log_evidence, abs=1e-8)
