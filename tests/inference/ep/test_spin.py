"""Spins through the same engine: adaptive TAP, and enumeration of all states."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odalib.inference.ep import infer
from odalib.inference.ep.gaussians import Covariance, Precision
from odalib.inference.ep.likelihood import Cavity
from odalib.inference.ep.solvers.problem import Sites
from odalib.inference.ep.spin import Spin
from tests.oracles.gaussian_latent import enumerate_ising

solvers = pytest.mark.parametrize("solver", ["sequential", "parallel", "double_loop"])


def sherrington_kirkpatrick(seed, n, beta, field=0.3):
    random = np.random.default_rng(seed)
    upper = np.triu(random.normal(size=(n, n)) * beta / math.sqrt(n), 1)
    return upper + upper.T, field * random.normal(size=n)


def adaptive_tap(couplings, fields, tol=1e-13):
    """Damped iteration of the equations of Opper and Winther, and its log Z.

    ``S = (Lambda - J)^-1``, ``V = Lambda - 1 / S_ii``, ``a = (J m)_i - V_i m_i``,
    ``m = tanh(B + a)``, ``Lambda = V + 1 / (1 - m^2)``.
    """
    n = len(fields)
    m, V = np.tanh(fields), np.zeros(n)
    for _ in range(20_000):
        a = couplings @ m - V * m
        new = np.tanh(fields + a)
        L = V + 1.0 / (1.0 - new**2)
        S = np.linalg.inv(np.diag(L) - couplings)
        moved = max(np.abs(new - m).max(), np.abs(L - 1.0 / np.diag(S) - V).max())
        m = 0.5 * (m + new)
        V = 0.5 * (V + L - 1.0 / np.diag(S))
        if moved < tol:
            break
    a = couplings @ m - V * m
    gamma = m / (1.0 - m**2) - a
    combined, pull = L - V, gamma + a
    log_partition = (
        (np.log(2.0 * np.cosh(fields + a)) + 0.5 * V).sum()
        + 0.5 * n * math.log(2.0 * math.pi)
        - 0.5 * np.linalg.slogdet(np.diag(L) - couplings)[1]
        + 0.5 * gamma @ S @ gamma
        - 0.5 * (np.log(2.0 * math.pi / combined) + pull**2 / combined).sum()
    )
    return m, V, a, S, log_partition


@solvers
@pytest.mark.parametrize("beta", [0.3, 0.5, 1.0])
def test_expectation_propagation_is_adaptive_tap(beta, solver):
    couplings, fields = sherrington_kirkpatrick(1, 10, beta)
    inference = infer(
        Precision(-couplings, fields),
        Spin(len(fields)),
        solver=solver,
        tol=1e-8,
        max_iter=2000,
    )
    assert inference.converged
    m, V, a, S, log_partition = adaptive_tap(couplings, fields)
    np.testing.assert_allclose(inference.mean, m, rtol=0, atol=1e-7)
    np.testing.assert_allclose(inference.variance, 1.0 - m**2, rtol=0, atol=1e-7)
    np.testing.assert_allclose(inference.cavity.precision, -V, rtol=0, atol=1e-7)
    np.testing.assert_allclose(inference.cavity.shift, fields + a, rtol=0, atol=1e-7)
    np.testing.assert_allclose(inference.posterior.covariance(), S, rtol=0, atol=1e-7)
    assert inference.log_evidence == pytest.approx(log_partition, abs=1e-8)


@solvers
def test_cavities_may_be_improper(solver):
    """The Onsager term ``V`` is positive: no spin's cavity is a Gaussian."""
    couplings, fields = sherrington_kirkpatrick(2, 10, 0.5)
    inference = infer(
        Precision(-couplings, fields), Spin(len(fields)), solver=solver, max_iter=2000
    )
    assert inference.converged
    assert (inference.cavity.precision < 0).all()
    assert inference.n_improper == 0


@given(seed=st.integers(0, 2**16), beta=st.floats(0.05, 0.3))
def test_magnetisations_are_near_those_of_all_states(seed, beta):
    couplings, fields = sherrington_kirkpatrick(seed, 10, beta)
    inference = infer(Precision(-couplings, fields), Spin(len(fields)), tol=1e-8)
    assert inference.converged
    exact = enumerate_ising(couplings, fields)
    np.testing.assert_allclose(inference.mean, exact.magnetisations, rtol=0, atol=0.015)
    assert inference.log_evidence == pytest.approx(exact.log_partition, abs=0.015)
    response = inference.posterior.covariance()
    np.testing.assert_allclose(response, exact.correlations, rtol=0, atol=0.05)


@given(seed=st.integers(0, 2**16), beta=st.floats(0.05, 1.0))
def test_solvers_agree(seed, beta):
    """The parallel one need not converge where couplings are strong."""
    couplings, fields = sherrington_kirkpatrick(seed, 10, beta)
    model, likelihood = Precision(-couplings, fields), Spin(len(fields))
    one = infer(model, likelihood, solver="sequential", tol=1e-11, max_iter=1000)
    assert one.converged
    for solver in ("auto", "parallel") if beta < 0.7 else ("auto",):
        other = infer(model, likelihood, solver=solver, tol=1e-11, max_iter=1000)
        assert other.converged
        np.testing.assert_allclose(one.mean, other.mean, rtol=0, atol=1e-8)
        np.testing.assert_allclose(one.variance, other.variance, rtol=0, atol=1e-8)
        assert one.log_evidence == pytest.approx(other.log_evidence, abs=1e-8)


def test_slopes_of_the_log_partition_are_the_moments():
    """``d log Z / d B_i = m_i`` and ``d log Z / d J_ij = S_ij + m_i m_j``."""
    couplings, fields = sherrington_kirkpatrick(3, 6, 0.6)

    def log_partition(couplings, fields):
        return infer(
            Precision(-couplings, fields), Spin(len(fields)), tol=1e-12
        ).log_evidence

    step = 1e-4
    inference = infer(Precision(-couplings, fields), Spin(len(fields)), tol=1e-12)
    second = inference.posterior.covariance() + np.outer(inference.mean, inference.mean)
    for i in range(6):
        shift = step * (np.arange(6) == i)
        slope = log_partition(couplings, fields + shift)
        slope -= log_partition(couplings, fields - shift)
        assert slope / (2.0 * step) == pytest.approx(inference.mean[i], abs=1e-7)
        for j in range(i):
            shift = np.zeros((6, 6))
            shift[i, j] = shift[j, i] = step
            slope = log_partition(couplings + shift, fields)
            slope -= log_partition(couplings - shift, fields)
            assert slope / (2.0 * step) == pytest.approx(second[i, j], abs=1e-7)


def test_uncoupled_spins_are_exact():
    fields = np.array([-2.0, 0.0, 0.3, 5.0])
    inference = infer(Precision(np.zeros((4, 4)), fields), Spin(4))
    np.testing.assert_allclose(inference.mean, np.tanh(fields), rtol=1e-9, atol=1e-12)
    expected = np.log(2.0 * np.cosh(fields)).sum()
    assert inference.log_evidence == pytest.approx(expected, abs=1e-9)


def test_a_covariance_is_refused_by_name():
    with pytest.raises(ValueError, match=r"Covariance takes no site.* Spin may be"):
        infer(Covariance(np.eye(3)), Spin(3))


def test_moments_of_a_spin_by_definition():
    cavity = Cavity(np.array([0.7, -0.4]), np.array([0.3, -1.2]), np.array([1.0, 2.0]))
    match = Spin(2).match(cavity)
    states = np.array([-1.0, 1.0])
    logs = np.multiply.outer(cavity.shift, states) - 0.5 * cavity.precision[:, None]
    masses = np.exp(logs)
    norm = masses.sum(axis=1)
    mean = masses @ states / norm
    away = states - mean[:, None]
    second, third, fourth = (
        (masses * away**power).sum(axis=1) / norm for power in (2, 3, 4)
    )
    close = {"rtol": 1e-12, "atol": 1e-14}
    np.testing.assert_allclose(match.log_norm, np.log(norm), **close)
    np.testing.assert_allclose(match.mean, mean, **close)
    np.testing.assert_allclose(match.variance, second, **close)
    cumulants = Spin(2).higher_cumulants(cavity)
    np.testing.assert_allclose(cumulants[0], third, **close)
    np.testing.assert_allclose(cumulants[1], fourth - 3.0 * second**2, **close)


@pytest.mark.parametrize("field", [3.0, 20.0, 100.0, 800.0])
def test_spins_in_strong_fields(field):
    """Sites of precision up to exp(1600): what couples to them does not cancel.

    The pair is exact to second order in the variance of the strong spin.
    """
    couplings = np.array([[0.0, 0.6], [0.6, 0.0]])
    fields = np.array([field, 0.2])
    inference = infer(Precision(-couplings, fields), Spin(2), tol=1e-9)
    assert inference.converged
    exact = enumerate_ising(couplings, fields)
    strong = 1.0 / np.cosh(min(field, 300.0)) ** 2
    np.testing.assert_allclose(
        inference.mean, exact.magnetisations, rtol=0, atol=strong + 1e-12
    )
    assert inference.log_evidence == pytest.approx(
        exact.log_partition, rel=1e-14, abs=strong + 1e-12
    )


def test_cavities_of_precise_sites_do_not_cancel():
    """Against a direct solution for the other latent values alone."""
    random = np.random.default_rng(0)
    P = 0.3 * random.normal(size=(5, 5))
    P = P + P.T
    h = random.normal(size=5)
    for scale in (1.0, 1e8, 1e15, 1e30):
        sites = Sites(
            scale * random.uniform(3.0, 5.0, 5), scale * random.normal(size=5)
        )
        posterior = Precision(P, h).posterior(sites.precision, sites.shift)
        cavity = posterior.cavity(sites.precision, sites.shift)
        for i in range(5):
            rest = np.arange(5) != i
            inner = P[np.ix_(rest, rest)] + np.diag(sites.precision[rest])
            pull = h[rest] + sites.shift[rest]
            precision = P[i, i] - P[i, rest] @ np.linalg.solve(inner, P[rest, i])
            shift = h[i] - P[i, rest] @ np.linalg.solve(inner, pull)
            assert cavity.precision[i] == pytest.approx(precision, rel=1e-10)
            assert cavity.shift[i] == pytest.approx(shift, rel=1e-10)
