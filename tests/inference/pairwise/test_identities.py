"""Identities that hold to rounding: what each approximation is exact for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odalib import infer_ising
from tests.oracles.factorised_ep import factorised_ep
from tests.oracles.gaussian_latent import enumerate_ising

from .models import DENSE, SPARSE, hopfield, model, sk, sparse_graph, tree

families = pytest.mark.parametrize("family", SPARSE + DENSE, ids=lambda f: f.__name__)
seeds = st.integers(0, 2**16)


@given(seed=seeds, beta=st.floats(0.1, 1.5))
def test_belief_propagation_is_exact_on_trees(seed, beta):
    J, B = model(tree, seed, 9, beta)
    inference = infer_ising(J, B, "belief_propagation", tol=1e-13)
    exact = enumerate_ising(J, B)
    assert inference.converged
    close = {"rtol": 0, "atol": 1e-10}
    np.testing.assert_allclose(inference.magnetisations, exact.magnetisations, **close)
    np.testing.assert_allclose(inference.correlations, exact.correlations, **close)
    np.testing.assert_allclose(inference.linear_response(), exact.correlations, **close)
    assert inference.log_partition == pytest.approx(exact.log_partition, abs=1e-10)


@given(seed=seeds, beta=st.floats(0.1, 0.6))
@settings(max_examples=10)
def test_belief_propagation_is_factorised_expectation_propagation(seed, beta):
    J, B = model(sparse_graph, seed, 8, beta)
    inference = infer_ising(J, B, "belief_propagation", tol=1e-13)
    factors = [((i,), lambda x, b=b: np.exp(b * x)) for i, b in enumerate(B)]
    factors += [
        ((i, j), lambda x, y, c=J[i, j]: np.exp(c * x * y))
        for i in range(8)
        for j in range(i)
        if J[i, j]
    ]
    marginals, log_partition = factorised_ep(8, (-1.0, 1.0), factors)
    magnetisations = marginals @ [-1.0, 1.0]
    np.testing.assert_allclose(
        inference.magnetisations, magnetisations, rtol=0, atol=1e-10
    )
    assert inference.log_partition == pytest.approx(log_partition, abs=1e-10)


def test_factorised_expectation_propagation_is_exact_without_loops():
    """The oracle itself, with a factor of three variables of three values."""
    values = (-1.0, 0.0, 2.0)
    factors = [
        ((0, 1, 2), lambda x, y, z: np.exp(0.3 * x * y * z - 0.2 * x + 0.1 * y * y)),
        ((2, 3), lambda z, u: np.exp(-0.4 * z * u + 0.2 * u)),
    ]
    weights = np.array(
        [
            [[[factors[0][1](x, y, z) * factors[1][1](z, u) for u in values]
              for z in values] for y in values] for x in values
        ]
    )  # fmt: skip
    marginals, log_partition = factorised_ep(4, values, factors)
    assert log_partition == pytest.approx(np.log(weights.sum()), abs=1e-13)
    for i in range(4):
        others = tuple(k for k in range(4) if k != i)
        expected = weights.sum(axis=others) / weights.sum()
        np.testing.assert_allclose(marginals[i], expected, rtol=0, atol=1e-13)


@families
@pytest.mark.parametrize("beta", [0.2, 0.5, 1.0])
def test_solvers_of_adaptive_tap_agree(family, beta):
    """Couplings of a tree may be strong enough at 1 for parallel updates to cycle."""
    for seed in range(2):
        J, B = model(family, seed, 10, beta)
        one = infer_ising(J, B, "adaptive_tap", solver="sequential", tol=1e-11)
        assert one.converged
        for solver in ("blocked", "parallel"):
            other = infer_ising(J, B, "adaptive_tap", solver=solver, tol=1e-11)
            assert other.converged or (family, beta, solver) == (tree, 1.0, "parallel")
            if other.converged:
                assert_agree(one, other, 1e-8)


@families
@pytest.mark.parametrize("beta", [0.2, 0.5])
def test_double_loop_ends_where_adaptive_tap_does(family, beta):
    J, B = model(family, 0, 10, beta)
    one = infer_ising(J, B, "adaptive_tap", solver="sequential", tol=1e-11)
    other = infer_ising(J, B, "double_loop", tol=1e-9)
    assert other.converged
    assert other.method == "double_loop"
    assert_agree(one, other, 1e-6)


def assert_agree(one, other, within):
    difference = other.magnetisations - one.magnetisations
    assert np.abs(difference).max() < within
    assert other.log_partition == pytest.approx(one.log_partition, abs=within)


@families
@pytest.mark.parametrize("tol", [1e-4, 1e-8])
def test_moments_match_at_the_fixed_point(family, tol):
    J, B = model(family, 5, 12, 0.7)
    inference = infer_ising(J, B, "adaptive_tap", tol=tol)
    tilted, covariances = inference.magnetisations, inference.correlations
    gaussian = inference.solution.inference
    assert np.abs(gaussian.mean - tilted).max() <= 10 * tol
    assert np.abs(np.diag(covariances) - (1.0 - tilted**2)).max() <= 10 * tol


@families
@pytest.mark.parametrize(
    "method", ["mean_field", "tap", "belief_propagation", "adaptive_tap", "exact"]
)
def test_slopes_of_the_log_partition_are_the_magnetisations(family, method):
    J, B = model(family, 3, 8, 0.2)
    inference = infer_ising(J, B, method, tol=1e-13)
    assert inference.converged
    step = 1e-4
    for i in range(8):
        shift = step * (np.arange(8) == i)
        above, below = (
            infer_ising(J, B + sign * shift, method, tol=1e-13) for sign in (1, -1)
        )
        slope = (above.log_partition - below.log_partition) / (2 * step)
        assert slope == pytest.approx(inference.magnetisations[i], abs=1e-7)
        slopes = (above.magnetisations - below.magnetisations) / (2 * step)
        response = inference.linear_response()[i]
        np.testing.assert_allclose(response, slopes, rtol=0, atol=1e-7)


@pytest.mark.parametrize(("family", "beta"), [(tree, 1.0), (sk, 1.0), (hopfield, 0.7)])
def test_response_of_adaptive_tap_to_fields_where_couplings_are_strong(family, beta):
    """The Gaussian, whose cavities are held, is not the derivative."""
    J, B = model(family, 3, 8, beta)
    how = {"method": "adaptive_tap", "solver": "sequential", "tol": 1e-13}
    inference = infer_ising(J, B, **how)
    step, slopes = 1e-4, np.empty((8, 8))
    for i in range(8):
        shift = step * (np.arange(8) == i)
        above, below = (
            infer_ising(J, B + sign * shift, **how).magnetisations for sign in (1, -1)
        )
        slopes[i] = (above - below) / (2 * step)
    response = inference.linear_response()
    np.testing.assert_allclose(response, slopes, rtol=0, atol=1e-6)
    assert np.abs(inference.correlations - slopes).max() > 0.01
    corrected = inference.pair_corrected().linear_response()
    np.testing.assert_array_equal(corrected, response)


def test_response_of_nearly_fixed_spins():
    """Variances down to 1e-260, in whose powers nothing under- or overflows."""
    J, B = model(sk, 3, 8, 0.5)
    B[:3] = 300.0, -50.0, 20.0
    response = infer_ising(J, B, "adaptive_tap").linear_response()
    free = slice(3, None)
    fields = (B + J[:, :3] @ np.sign(B[:3]))[free]
    rest = infer_ising(J[free, free], fields, "adaptive_tap").linear_response()
    np.testing.assert_allclose(response[free, free], rest, rtol=0, atol=1e-7)
    assert (np.diag(response) > 0).all()


@families
def test_slopes_in_the_couplings_are_the_second_moments(family):
    J, B = model(family, 4, 6, 0.5)
    inference = infer_ising(J, B, "adaptive_tap", tol=1e-13)
    mean = inference.magnetisations
    second = inference.correlations + np.outer(mean, mean)
    step = 1e-4
    for i, j in ((0, 1), (2, 5), (3, 4)):
        shift = np.zeros((6, 6))
        shift[i, j] = shift[j, i] = step
        above, below = (
            infer_ising(J + sign * shift, B, "adaptive_tap", tol=1e-13).log_partition
            for sign in (1, -1)
        )
        assert (above - below) / (2 * step) == pytest.approx(second[i, j], abs=1e-7)


@families
@given(seed=seeds, beta=st.floats(0.1, 2.0))
@settings(max_examples=10)
def test_mean_field_is_a_lower_bound(family, seed, beta):
    J, B = model(family, seed, 9, beta)
    inference = infer_ising(J, B, "mean_field")
    if inference.converged:
        exact = enumerate_ising(J, B).log_partition
        assert inference.log_partition <= exact + 1e-12


def test_mean_field_is_exact_without_couplings():
    B = np.array([-3.0, 0.0, 0.4, 40.0])
    for method in ("mean_field", "tap", "belief_propagation", "adaptive_tap"):
        inference = infer_ising(np.zeros((4, 4)), B, method)
        np.testing.assert_allclose(
            inference.magnetisations, np.tanh(B), rtol=1e-12, atol=1e-12
        )
        expected = np.logaddexp(B, -B).sum()
        assert inference.log_partition == pytest.approx(expected, abs=1e-10)
        np.testing.assert_allclose(
            inference.correlations, np.diag(1.0 / np.cosh(B) ** 2), rtol=1e-9, atol=0
        )
