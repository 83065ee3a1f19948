"""Models in float32, which serve until more digits count."""

import numpy as np
import pytest

from odalib.inference.ep import infer
from odalib.inference.ep.gaussians import Covariance
from odalib.inference.ep.gaussians.covariance import MANY
from odalib.inference.ep.gaussians.linear import WeightSpace
from odalib.inference.ep.gaussians.model import LostDefiniteness
from odalib.inference.ep.gaussians.weights import prior_belief
from odalib.inference.ep.probit import Probit
from odalib.inference.ep.solvers.parallel import ROUGH, laplace_sites
from odalib.inference.ep.solvers.problem import Problem


def process(n=2 * MANY, scale=1.0, seed=0):
    """Covariance of a smooth process on a line, and noisy labels of a draw of it."""
    random = np.random.default_rng(seed)
    x = np.sort(random.uniform(0.0, 10.0, n))
    K = scale * np.exp(-0.5 * (x[:, None] - x) ** 2)
    f = np.linalg.cholesky(K + 1e-8 * scale * np.eye(n)) @ random.normal(size=n)
    return K, np.where(f + random.normal(size=n) > 0, 1.0, -1.0)


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_no_digit_of_the_result_is_rough(scale):
    """Blocked updates, which know of no rough model, agree."""
    K, y = process(scale=scale)
    model = Covariance(K)
    assert model.rough() is not model
    found = infer(model, Probit(y), solver="parallel", tol=1e-8)
    expected = infer(model, Probit(y), solver="blocked", tol=1e-8)
    assert found.converged
    assert found.mean.dtype == found.variance.dtype == np.float64
    np.testing.assert_allclose(found.log_evidence, expected.log_evidence, rtol=1e-9)
    deviation = np.sqrt(expected.variance)
    assert np.abs((found.mean - expected.mean) / deviation).max() < 1e-5
    np.testing.assert_allclose(found.variance, expected.variance, rtol=1e-5)


def test_the_last_iterations_are_not_rough():
    K, y = process()
    found = infer(Covariance(K), Probit(y), solver="parallel")
    assert found.problem.model.covariance.dtype == np.float64
    assert found.n_iter == len(found.residuals) > 2
    assert min(found.residuals[:-1]) <= ROUGH


@pytest.mark.parametrize("max_iter", [1, 2, 3])
def test_few_iterations_end_with_all_digits(max_iter):
    K, y = process()
    found = infer(Covariance(K), Probit(y), solver="parallel", max_iter=max_iter)
    assert not found.converged
    assert found.n_iter == max_iter
    assert found.mean.dtype == np.float64


def test_rough_tolerances_are_met():
    K, y = process()
    found = infer(Covariance(K), Probit(y), solver="parallel", tol=0.05)
    assert found.converged
    assert found.residuals[-1] <= 0.05


def test_what_has_no_rough_model():
    """Few values, variances beyond float32, and models whose products need digits."""
    K, _ = process(MANY - 1)
    wide, _ = process(MANY, scale=1e40)
    rows = np.ones((MANY, 2))
    for model in (
        Covariance(K),
        Covariance(wide),
        WeightSpace(rows, prior_belief(np.ones(2)).as_dense()),
    ):
        assert model.rough() is model


def test_where_roughness_loses_definiteness():
    """A covariance whose small part float32 does not see beside the large."""
    n = MANY
    random = np.random.default_rng(0)
    x = random.normal(size=(n, 3))
    y = np.where(x[:, 0] + random.normal(size=n) > 0, 1.0, -1.0)
    model = Covariance(1e7 * x @ x.T)
    with pytest.raises(LostDefiniteness):
        laplace_sites(Problem(model.rough(), Probit(y), np.ones(n)))
    found = infer(model, Probit(y), solver="parallel")
    weights = WeightSpace(x, prior_belief(np.full(3, 1e7)).as_dense())
    assert found.converged
    np.testing.assert_allclose(
        found.log_evidence, infer(weights, Probit(y)).log_evidence, rtol=1e-6
    )
