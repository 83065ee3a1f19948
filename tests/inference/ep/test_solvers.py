"""Solvers: different iterates, one fixed point, and what each of them promises."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odalib.inference.ep import infer
from odalib.inference.ep.gaussians import Covariance, linear_map
from odalib.inference.ep.gaussians.weights import prior_belief
from odalib.inference.ep.likelihood import Cavity
from odalib.inference.ep.probit import Probit
from odalib.inference.ep.solvers.double_loop import LARGEST
from odalib.inference.ep.solvers.problem import Sites
from tests.oracles.textbook_ep import probit, textbook_ep

from .problems import SPACES, random_problem, wide
from .reference_values import PROBIT_REGRESSIONS

MESSAGE_PASSING = ("sequential", "blocked", "parallel")


def assert_same(one, other, atol):
    np.testing.assert_allclose(one.mean, other.mean, rtol=0, atol=atol)
    np.testing.assert_allclose(one.variance, other.variance, rtol=0, atol=atol)
    for name in ("precision", "shift"):
        np.testing.assert_allclose(
            getattr(one.sites, name), getattr(other.sites, name), rtol=0, atol=atol
        )
    assert one.log_evidence == pytest.approx(other.log_evidence, abs=atol)


@given(seed=st.integers(0, 2**16), n=st.integers(1, 40), d=st.integers(1, 12))
def test_one_fixed_point_in_every_space(seed, n, d):
    """Sequential = blocked = parallel, weights = Gram = covariance; double loop."""
    problem = random_problem(seed, n, d)
    likelihood = Probit(problem.y)
    first = infer(problem.model(), likelihood, solver="blocked", tol=1e-11)
    for space in SPACES:
        inference = infer(
            problem.model(space), likelihood, solver="parallel", tol=1e-11
        )
        assert_same(inference, first, 1e-8)
    for space, solver in (
        ("gram", "blocked"),
        ("sparse weights", "blocked"),
        ("covariance", "sequential"),
    ):
        inference = infer(problem.model(space), likelihood, solver=solver, tol=1e-11)
        assert_same(inference, first, 1e-8)
    if n <= 20:
        double = infer(problem.model(), likelihood, solver="double_loop", tol=1e-8)
        assert double.converged
        assert_same(double, first, 1e-6)


@pytest.mark.parametrize("space", SPACES)
def test_sequential_iterates_are_those_of_the_textbook(space):
    """By rank-one updates and by blocks: after one sweep, and after two."""
    problem = random_problem(1, 70, 3)
    for n_sweeps in (1, 2):
        oracle = textbook_ep(
            problem.covariance,
            probit(problem.y),
            prior_mean=problem.latent_mean,
            max_sweeps=n_sweeps,
        )
        for solver in ("sequential", "blocked"):
            inference = infer(
                problem.model(space),
                Probit(problem.y),
                solver=solver,
                max_iter=n_sweeps,
            )
            assert not inference.converged
            assert (inference.n_iter, inference.solver) == (n_sweeps, solver)
            np.testing.assert_allclose(
                inference.sites.precision, oracle.site_precision, rtol=0, atol=1e-10
            )
            np.testing.assert_allclose(
                inference.sites.shift, oracle.site_shift, rtol=0, atol=1e-10
            )


def test_parallel_iterate_matches_all_sites_to_one_posterior():
    problem = random_problem(1, 20, 3)
    random = np.random.default_rng(0)
    start = Sites(random.uniform(0.1, 0.5, size=20), random.normal(size=20))
    likelihood, model = Probit(problem.y), problem.model()
    moved = infer(model, likelihood, solver="parallel", start=start, max_iter=2)
    posterior = model.posterior(start.precision, start.shift)
    cavity = Cavity.of(posterior.mean, posterior.variance, start.precision, start.shift)
    match = likelihood.match(cavity)
    np.testing.assert_allclose(moved.sites.precision, match.precision, rtol=1e-13)
    np.testing.assert_allclose(moved.sites.shift, match.shift, rtol=1e-13)


def test_updates_differ_and_fixed_points_do_not():
    problem = random_problem(1, 12, 3)
    likelihood, model = Probit(problem.y), problem.model()
    start = Sites(np.full(12, 0.3), np.zeros(12))
    solvers = ("sequential", "parallel", "double_loop")
    early = {
        solver: infer(model, likelihood, solver=solver, start=start, max_iter=2)
        for solver in solvers
    }
    late = {
        solver: infer(model, likelihood, solver=solver, tol=1e-9) for solver in solvers
    }
    for one, other in itertools.combinations(solvers, 2):
        apart = early[one].sites.precision - early[other].sites.precision
        assert np.abs(apart).max() > 1e-3
        assert_same(late[one], late[other], 1e-7)


def undamped_residuals(model, likelihood, n_iterations):
    """Of parallel updates from no sites."""
    n = model.n_sites
    precision, shift, residuals = np.zeros(n), np.zeros(n), []
    for _ in range(n_iterations):
        posterior = model.posterior(precision, shift)
        match = likelihood.match(
            Cavity.of(posterior.mean, posterior.variance, precision, shift)
        )
        change = match.precision - precision
        residuals.append(np.abs(change * posterior.variance).max())
        precision, shift = match.precision, match.shift
    return residuals


def test_parallel_leaves_the_cycle_of_undamped_updates():
    problem = wide(0, 30, 2, variance=100.0)
    likelihood, model = Probit(problem.y), problem.model()
    assert min(undamped_residuals(model, likelihood, 100)) > 0.04
    inference = infer(model, likelihood, solver="parallel", tol=1e-9)
    assert inference.converged
    assert_same(inference, infer(model, likelihood, solver="blocked", tol=1e-9), 1e-6)


@pytest.mark.parametrize("solver", ["auto", *MESSAGE_PASSING, "double_loop"])
@pytest.mark.parametrize("space", SPACES)
def test_what_a_result_carries(space, solver):
    """The residual is of the sites returned; moments match to that."""
    problem = random_problem(5, 10, 4)
    likelihood = Probit(problem.y)
    inference = infer(problem.model(space), likelihood, solver=solver, tol=1e-7)
    assert inference.converged
    assert inference.solver == ("parallel" if solver == "auto" else solver)
    assert inference.n_iter == len(inference.residuals)
    assert inference.residuals[-1] <= 1e-7 < min(inference.residuals[:-1])
    assert inference.n_improper == 0
    sd, match = np.sqrt(inference.variance), likelihood.match(inference.cavity)
    change = match.precision - inference.sites.precision
    pull = match.shift - inference.sites.shift - change * inference.mean
    residual = max(np.abs(pull * sd).max(), np.abs(change * sd**2).max())
    assert residual == pytest.approx(inference.residuals[-1], rel=1e-4, abs=1e-13)
    np.testing.assert_allclose((match.mean - inference.mean) / sd, 0.0, atol=1e-6)
    np.testing.assert_allclose(match.variance / inference.variance, 1.0, atol=1e-6)
    again = Cavity.of(
        inference.mean,
        inference.variance,
        inference.sites.precision,
        inference.sites.shift,
    )
    np.testing.assert_allclose(inference.cavity.mean, again.mean, rtol=1e-12)
    np.testing.assert_allclose(inference.cavity.variance, again.variance, rtol=1e-12)


@pytest.mark.parametrize("solver", ["auto", *MESSAGE_PASSING, "double_loop"])
def test_warm_start_is_where_it_was(solver):
    problem = random_problem(5, 10, 4)
    likelihood, model = Probit(problem.y), problem.model()
    cold = infer(model, likelihood, solver=solver)
    warm = infer(model, likelihood, solver=solver, start=cold.sites)
    assert warm.converged
    assert warm.n_iter == 1
    np.testing.assert_allclose(warm.mean, cold.mean, rtol=0, atol=1e-5)


@pytest.mark.parametrize("solver", ["auto", *MESSAGE_PASSING, "double_loop"])
def test_too_few_iterations_are_owned_up_to(solver):
    problem = random_problem(5, 10, 4)
    inference = infer(problem.model(), Probit(problem.y), solver=solver, max_iter=2)
    assert not inference.converged
    assert inference.n_iter == 2
    assert inference.residuals[-1] > 1e-6
    assert np.isfinite(inference.log_evidence)


def test_auto_goes_on_where_the_parallel_solver_stalls():
    """Labels that a very wide prior separates."""
    problem = wide(0, 30, 2, variance=1e10)
    likelihood, model = Probit(problem.y), problem.model()
    stalled = infer(model, likelihood, solver="parallel")
    assert not stalled.converged
    assert stalled.n_iter < 200
    assert stalled.residuals[-1] > 0.01
    inference = infer(model, likelihood)
    assert (inference.converged, inference.solver) == (True, "blocked")


def test_single_pass_is_one_sweep():
    problem = random_problem(5, 70, 4)
    likelihood, model = Probit(problem.y), problem.model()
    once = infer(model, likelihood, solver="single_pass")
    oracle = textbook_ep(
        problem.covariance,
        probit(problem.y),
        prior_mean=problem.latent_mean,
        max_sweeps=1,
    )
    np.testing.assert_allclose(once.mean, oracle.mean, rtol=0, atol=1e-10)
    np.testing.assert_allclose(
        once.variance, np.diag(oracle.covariance), rtol=0, atol=1e-10
    )
    assert once.solver == "single_pass"


def free_energies(model, likelihood, n_steps):
    """``-log Z_q(s - r) - log Z_r(r) + log Z_s(s)`` after outer steps.

    The separators s are the marginals of the posterior that the step began with, r
    the sites it ended with.
    """
    n, energies = model.n_sites, []
    sites = Sites(np.full(n, 0.1), np.zeros(n))
    for _ in range(n_steps):
        before = model.posterior(sites.precision, sites.shift)
        moved = infer(
            model, likelihood, solver="double_loop", start=sites, max_iter=1, tol=1e-12
        )
        sites = moved.sites
        cavity = Cavity.of(before.mean, before.variance, sites.precision, sites.shift)
        log_z_q = likelihood.match(cavity).log_norm + log_integral(cavity)
        log_z_s = log_integral(before)
        energies.append(
            float((log_z_s - log_z_q).sum() - moved.posterior.log_normaliser)
        )
    return energies


def log_integral(marginals):
    """Of ``exp(-f^2 / (2 v) + m f / v)``, up to the same constant."""
    return 0.5 * (np.log(marginals.variance) + marginals.mean**2 / marginals.variance)


@pytest.mark.parametrize("name", ["A", "B"])
def test_free_energy_of_the_double_loop_never_rises(name):
    """On separable labels (B) too; in the end it is minus the log evidence."""
    regression = PROBIT_REGRESSIONS[name]
    likelihood = Probit(regression.y)
    model = linear_map(regression.X, prior_belief(regression.variances))
    energies = free_energies(model, likelihood, 40)
    assert (np.diff(energies) < 1e-10).all()
    assert energies[0] > energies[-1] + 1.0
    if name == "A":
        assert -energies[-1] == pytest.approx(regression.ep.log_evidence, abs=0.01)


def test_sizes_that_do_not_agree_are_refused():
    likelihood = Probit(np.ones(3))
    with pytest.raises(ValueError, match="2 latent values, the likelihood 3 sites"):
        infer(Covariance(np.eye(2)), likelihood)
    with pytest.raises(ValueError, match="counts 2 entries"):
        infer(Covariance(np.eye(3)), likelihood, counts=np.ones(2))


def test_double_loop_says_how_many_sites_are_too_many():
    n = LARGEST + 1
    model = linear_map(np.ones((n, 1)), prior_belief(np.ones(1)))
    with pytest.raises(ValueError, match=rf"double_loop.* up to {LARGEST} .* are {n}"):
        infer(model, Probit(np.ones(n)), solver="double_loop")
    assert infer(model, Probit(np.ones(n))).converged
