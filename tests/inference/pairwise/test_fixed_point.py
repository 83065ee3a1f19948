"""Damping of the plain methods, where whole steps run away from the fixed point."""

import numpy as np
import pytest
from scipy.optimize import brentq

from odalib import infer_ising
from odalib.inference.pairwise.fixed_point import find_fixed_point


@pytest.mark.parametrize("slope", [-1.5, -6.0])
def test_a_line_too_steep_for_whole_steps(slope):
    """``x = 1 + slope x`` at ``1 / (1 - slope)``."""
    end = find_fixed_point(lambda x: 1.0 + slope * x, np.zeros(1), 1e-10, 1000)
    assert end.failure == ""
    np.testing.assert_allclose(end.state, 1.0 / (1.0 - slope), rtol=1e-9)
    assert max(end.residuals) > end.residuals[0]


def test_spins_that_are_all_against_each_other():
    """Ten in a weak field: the one root of ``m = tanh(B - 9 m)``, of slope -8.9."""
    n, field = 10, 0.3
    expected = brentq(lambda m: np.tanh(field - (n - 1) * m) - m, 0.0, 1.0, xtol=1e-14)
    J = np.eye(n) - np.ones((n, n))
    inference = infer_ising(J, np.full(n, field), "mean_field", tol=1e-10)
    assert inference.converged
    np.testing.assert_allclose(inference.magnetisations, expected, rtol=1e-8)
