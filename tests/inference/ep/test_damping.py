"""Damping of parallel updates, by itself: extrapolation ends most cycles without it."""

import numpy as np
import pytest

from odalib.inference.ep.probit import Probit
from odalib.inference.ep.solve import infer
from odalib.inference.ep.solvers import parallel
from odalib.inference.ep.solvers.problem import Sites

from .problems import wide


def test_damped_sites_are_weighted_means_of_natural_parameters():
    """A quarter of the way, which is exact in floats."""
    sites = Sites(np.array([1.0, 4.0]), np.array([-2.0, 8.0]))
    moved = sites.towards(np.array([5.0, 0.0]), np.array([2.0, 4.0]), 0.25)
    np.testing.assert_array_equal(moved.precision, [2.0, 3.0])
    np.testing.assert_array_equal(moved.shift, [-1.0, 7.0])


def test_steps_halve_down_to_a_quarter_where_the_residual_does_not():
    """After every 20 iterations, and the third time the run is given up."""
    damping, shares, stalled = parallel.Damping(), [], []
    for _ in range(61):
        stalled.append(damping.stalls(1.0))
        shares.append(damping.share)
    assert shares == [1.0] * 20 + [0.5] * 20 + [0.25] * 21
    assert stalled == [False] * 60 + [True]


def test_a_residual_that_halves_is_not_damped():
    damping = parallel.Damping()
    assert not any(damping.stalls(0.5 ** (k // 19)) for k in range(200))
    assert damping.share == 1.0
    damping.retreat(1)
    assert damping.share == 0.5
    damping.retreat(5)
    assert damping.share == 0.25


@pytest.mark.parametrize("seed", range(3))
def test_damping_ends_a_cycle_that_nothing_extrapolates(seed, monkeypatch):
    """Its end is that of sequential updates, which have no cycle."""
    monkeypatch.setattr(
        parallel, "accelerate", lambda anderson, counts, iterate, target: target
    )
    problem = wide(seed, 30, 2, variance=100.0)
    likelihood, model = Probit(problem.y), problem.model()
    inference = infer(model, likelihood, solver="parallel", tol=1e-9)
    assert inference.converged
    assert inference.n_iter > 20
    expected = infer(model, likelihood, solver="sequential", tol=1e-9)
    np.testing.assert_allclose(inference.mean, expected.mean, rtol=1e-6)
    np.testing.assert_allclose(inference.variance, expected.variance, rtol=1e-6)
