"""Slopes of a process's log evidence in the hyperparameters of its kernel."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

from odalib import EPGaussianProcessClassifier

N_ROWS, N_INDUCING, STEP = 12, 5, 1e-4


@pytest.mark.parametrize("is_weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("is_induced", [False, True], ids=["exact", "induced"])
def test_slopes_are_those_of_differences(is_induced, is_weighted):
    """Central differences, to what a residual of 1e-6 leaves open.

    Copies of a row have remainders of their own where inducing points are few, so that
    what is said of one copy counts as often as there are copies, not squared.
    """
    random = np.random.default_rng(0)
    X = random.normal(size=(N_ROWS, 2))
    y = X[:, 0] + random.normal(size=N_ROWS) > 0.0
    weights = random.integers(1, 4, N_ROWS) if is_weighted else None
    kernel = 2.0 * RBF([0.7, 1.5]) + WhiteKernel(0.3)
    inducing = random.normal(size=(N_INDUCING, 2)) if is_induced else None
    model = EPGaussianProcessClassifier(
        kernel, optimizer=None, inducing_points=inducing
    ).fit(X, y, sample_weight=weights)
    theta = kernel.theta
    _, slopes = model.log_marginal_likelihood(theta, eval_gradient=True)
    values = [
        [model.log_marginal_likelihood(theta + side * move) for side in (1.0, -1.0)]
        for move in STEP * np.eye(len(theta))
    ]
    differences = np.subtract(*np.transpose(values)) / (2.0 * STEP)
    assert np.abs(differences).min() > 0.01
    np.testing.assert_allclose(slopes, differences, rtol=0.0, atol=1e-5)
