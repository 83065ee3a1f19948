"""The descent where it is hard: very precise sites, and several fixed points."""

import numpy as np
import pytest

from odalib import infer_ising
from tests.oracles.gaussian_latent import enumerate_ising

from .models import model, sk, sparse_graph


@pytest.mark.parametrize("field", [1.0, 6.0, 8.0, 10.0, 15.0, 20.0, 50.0, 300.0, 800.0])
def test_one_spin_in_a_strong_field(field):
    """Of a variance down to nothing: separators know no digit of its cavity."""
    inference = infer_ising(np.zeros((1, 1)), [field], "double_loop")
    assert inference.converged and inference.n_iter < 30
    assert inference.magnetisations == pytest.approx([np.tanh(field)], abs=1e-15)
    exact = np.logaddexp(field, -field)
    assert inference.log_partition == pytest.approx(exact, rel=1e-14)


@pytest.mark.parametrize("n_down", range(5))
def test_spins_that_are_locked_together(n_down):
    """Eight spins with all couplings one: any fixed point, and a stationary one."""
    J = np.ones((8, 8)) - np.eye(8)
    B = np.where(np.arange(8) < n_down, -0.2, 0.2)
    inference = infer_ising(J, B, "double_loop")
    assert inference.converged and inference.n_iter < 60
    gaussian = inference.solution.inference
    mean = inference.magnetisations
    assert np.abs(gaussian.mean - mean).max() < 1e-8
    assert np.diag(inference.correlations) == pytest.approx(1.0 - mean**2, rel=1e-6)


@pytest.mark.parametrize("field", [20.0, 100.0, 300.0, 600.0])
def test_some_spins_in_strong_fields(field):
    """What couples to them is a model of the others alone, in fields."""
    J, B = model(sk, 3, 12, 0.5)
    B[:3] = field, -field, field
    inference = infer_ising(J, B, "double_loop")
    assert inference.converged
    exact = enumerate_ising(J[3:, 3:], B[3:] + J[3:, :3] @ [1.0, -1.0, 1.0])
    np.testing.assert_allclose(
        inference.magnetisations[3:], exact.magnetisations, rtol=0, atol=0.01
    )


@pytest.mark.parametrize("seed", range(3))
def test_strong_couplings_of_a_sparse_graph(seed):
    J, B = model(sparse_graph, seed, 30, 3.0)
    inference = infer_ising(J, B, "double_loop")
    assert inference.converged and inference.n_iter <= 200
