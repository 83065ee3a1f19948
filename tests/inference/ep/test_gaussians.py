"""Gaussian models against dense formulas, each other, and updates in place."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from odalib.inference.ep.gaussians import Covariance, Precision, linear_map
from odalib.inference.ep.gaussians.covariance import check_covariance
from odalib.inference.ep.gaussians.linear import GramSpace, WeightSpace
from odalib.inference.ep.gaussians.model import LostDefiniteness
from odalib.inference.ep.gaussians.weights import DenseBelief, prior_belief

from .problems import SPACES, random_problem

spaces = pytest.mark.parametrize("space", SPACES)
shapes = pytest.mark.parametrize("shape", [(7, 3), (4, 9)], ids=["tall", "wide"])


def random_sites(n, seed=5, none=()):
    random = np.random.default_rng(seed)
    precision, shift = random.uniform(0.05, 2.0, size=n), random.normal(size=n)
    precision[list(none)] = 0.0
    return precision, shift


def product_by_weights(problem, precision, shift):
    """Mean and covariance of the weights and log integral, by inversion."""
    prior = np.diag(1.0 / problem.variances)
    joint = np.linalg.inv(prior + (problem.X.T * precision) @ problem.X)
    pull = prior @ problem.mean + problem.X.T @ shift
    mean = joint @ pull
    log_integral = 0.5 * (
        np.linalg.slogdet(joint)[1]
        - np.log(problem.variances).sum()
        - problem.mean @ prior @ problem.mean
        + mean @ pull
    )
    return mean, joint, log_integral


@spaces
@shapes
@pytest.mark.parametrize("none", [(), (1, 2)], ids=["all sites", "two without"])
def test_posterior_is_what_inversion_gives(space, shape, none):
    problem = random_problem(3, *shape)
    precision, shift = random_sites(shape[0], none=none)
    mean, joint, log_integral = product_by_weights(problem, precision, shift)
    posterior = problem.model(space).posterior(precision, shift)
    covariance = problem.X @ joint @ problem.X.T
    np.testing.assert_allclose(posterior.mean, problem.X @ mean, rtol=0, atol=1e-12)
    np.testing.assert_allclose(posterior.variance, np.diag(covariance), rtol=1e-11)
    np.testing.assert_allclose(posterior.covariance(), covariance, rtol=0, atol=1e-12)
    assert posterior.log_normaliser == pytest.approx(log_integral, abs=1e-11)


@pytest.mark.parametrize("definite", [True, False])
def test_precision_is_what_inversion_gives(definite):
    """Also with sites that alone keep it definite, and some that are negative."""
    random = np.random.default_rng(2)
    root = random.normal(size=(6, 6))
    prior = root @ root.T + np.eye(6) if definite else root + root.T
    precision, shift = random_sites(6)
    if definite:
        precision[2] = -0.5 * np.linalg.eigvalsh(prior)[0]
    else:
        precision += 1.0 - np.linalg.eigvalsh(prior)[0]
    pull = random.normal(size=6)
    posterior = Precision(prior, pull).posterior(precision, shift)
    covariance = np.linalg.inv(prior + np.diag(precision))
    mean = covariance @ (pull + shift)
    log_integral = 0.5 * (
        6.0 * np.log(2.0 * np.pi)
        + np.linalg.slogdet(covariance)[1]
        + mean @ (pull + shift)
    )
    np.testing.assert_allclose(posterior.mean, mean, rtol=1e-11)
    np.testing.assert_allclose(posterior.variance, np.diag(covariance), rtol=1e-11)
    np.testing.assert_allclose(posterior.covariance(), covariance, atol=1e-12)
    assert posterior.log_normaliser == pytest.approx(log_integral, abs=1e-11)


def test_covariance_and_its_inverse_are_one_model():
    """Their normalisers differ by the prior's own, which a precision leaves out."""
    random = np.random.default_rng(4)
    root = random.normal(size=(5, 5))
    covariance, mean = root @ root.T + np.eye(5), random.normal(size=5)
    inverse = np.linalg.inv(covariance)
    sites = random_sites(5)
    given_covariance = Covariance(covariance, mean).posterior(*sites)
    given_precision = Precision(inverse, inverse @ mean).posterior(*sites)
    np.testing.assert_allclose(given_covariance.mean, given_precision.mean, rtol=1e-11)
    np.testing.assert_allclose(
        given_covariance.variance, given_precision.variance, rtol=1e-11
    )
    own = Precision(inverse, inverse @ mean).posterior(np.zeros(5), np.zeros(5))
    assert given_covariance.log_normaliser == pytest.approx(
        given_precision.log_normaliser - own.log_normaliser, abs=1e-11
    )


@spaces
@shapes
@pytest.mark.parametrize("block", [slice(2, 3), slice(0, 3), slice(3, 40)])
def test_moving_posterior_is_the_posterior_of_the_moved_sites(space, shape, block):
    problem = random_problem(6, *shape)
    n = shape[0]
    precision, shift = random_sites(n)
    model = problem.model(space)
    moving = model.posterior(precision, shift).moving()
    width = len(range(n)[block])
    more, pull = random_sites(width, seed=9)
    # Some of a site is taken away, as EP does.
    more[0] = -0.5 * precision[block][0]
    moving.block(block)
    moving.update(block, more, pull)
    precision[block] += more
    shift[block] += pull
    expected = model.posterior(precision, shift)
    mean, covariance = moving.block(slice(0, n))
    np.testing.assert_allclose(mean, expected.mean, rtol=0, atol=1e-12)
    np.testing.assert_allclose(covariance, expected.covariance(), rtol=0, atol=1e-12)


def test_moving_leaves_the_posterior_alone():
    problem = random_problem(6, 5, 3)
    for space in SPACES:
        posterior = problem.model(space).posterior(*random_sites(5))
        mean, variance = posterior.mean.copy(), posterior.variance.copy()
        posterior.moving().update(slice(0, 2), np.ones(2), np.ones(2))
        np.testing.assert_array_equal(posterior.mean, mean)
        np.testing.assert_array_equal(posterior.variance, variance)


@shapes
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_weights_after_one_batch_are_the_prior_of_the_next(kind, shape):
    """Batch after batch, in either space, as all at once; the normalisers add up."""
    problem = random_problem(8, 3 * shape[0], shape[1])
    precision, shift = random_sites(3 * shape[0])
    mean, covariance, log_integral = product_by_weights(problem, precision, shift)
    belief, total = prior_belief(problem.variances, problem.mean), 0.0
    for batch in np.arange(3 * shape[0]).reshape(3, -1):
        model = linear_map(kind(problem.X[batch]), belief)
        posterior = model.posterior(precision[batch], shift[batch])
        belief, total = posterior.belief, total + posterior.log_normaliser
    np.testing.assert_allclose(belief.mean, mean, rtol=0, atol=1e-11)
    np.testing.assert_allclose(belief.covariance(), covariance, rtol=0, atol=1e-11)
    np.testing.assert_allclose(belief.marginals(), np.diag(covariance), rtol=1e-10)
    assert total == pytest.approx(log_integral, abs=1e-10)
    new = kind(np.random.default_rng(1).normal(size=(4, shape[1])))
    latent_mean, latent_variance = belief.latent(new)
    np.testing.assert_allclose(latent_mean, new @ mean, rtol=0, atol=1e-11)
    np.testing.assert_allclose(
        latent_variance, np.diag(new @ covariance @ new.T), rtol=1e-10
    )


def test_smaller_space_is_chosen_and_kept():
    variances = np.ones(9)
    random = np.random.default_rng(0)
    first = linear_map(random.normal(size=(4, 9)), prior_belief(variances))
    assert isinstance(first, GramSpace)
    belief = first.posterior(*random_sites(4)).belief
    assert isinstance(linear_map(random.normal(size=(4, 9)), belief), GramSpace)
    full = linear_map(random.normal(size=(5, 9)), belief)
    assert isinstance(full, WeightSpace)
    assert isinstance(full.posterior(*random_sites(5)).belief, DenseBelief)
    assert isinstance(
        linear_map(random.normal(size=(9, 9)), prior_belief(variances)), WeightSpace
    )


@pytest.mark.parametrize("shape", [(3000, 4), (4, 3000)], ids=["tall", "wide"])
def test_no_square_of_the_longer_side(shape):
    problem = random_problem(1, *shape)
    sites = random_sites(shape[0])
    tracemalloc.start()
    model = linear_map(problem.X, prior_belief(problem.variances))
    posterior = model.posterior(*sites)
    assert posterior.variance.shape == (shape[0],)
    assert posterior.belief.marginals().shape == (shape[1],)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20 * problem.X.nbytes < 8 * max(shape) ** 2


def test_nearly_collinear_columns_keep_their_digits():
    """Columns 1e-7 apart: the normal equations alone would have lost all of it."""
    random = np.random.default_rng(3)
    column = random.normal(size=20)
    apart = random.normal(size=20)
    X = np.column_stack([column, column + 1e-7 * apart])
    precision, shift = np.full(20, 1e6), random.normal(size=20)
    variances = np.full(2, 1e8)
    posterior = linear_map(X, prior_belief(variances)).posterior(precision, shift)
    # In columns (column, 1e7 times the difference), which are far from collinear.
    to_weights = np.array([[1.0, -1e7], [0.0, 1e7]])
    turned = X @ to_weights
    prior = to_weights.T @ (to_weights / variances[:, np.newaxis])
    covariance = np.linalg.inv(prior + (turned.T * precision) @ turned)
    np.testing.assert_allclose(
        posterior.mean, turned @ covariance @ (turned.T @ shift), rtol=1e-6, atol=1e-12
    )
    np.testing.assert_allclose(
        posterior.variance, np.diag(turned @ covariance @ turned.T), rtol=1e-6
    )


@given(seed=st.integers(0, 2**16), strength=st.floats(-12.0, 12.0))
def test_variance_keeps_its_digits_whatever_the_strength_of_the_sites(seed, strength):
    """Covariance form against weight form, site precisions over 24 decades."""
    problem = random_problem(seed, 4, 6)
    precision = 10.0**strength * random_sites(4, seed)[0]
    shift = np.zeros(4)
    expected = problem.model("weights").posterior(precision, shift)
    posterior = problem.model("covariance").posterior(precision, shift)
    np.testing.assert_allclose(posterior.variance, expected.variance, rtol=1e-8)
    assert (posterior.variance > 0).all()


def test_reduction_and_weights_of_a_covariance():
    """``R = (K + T^-1)^-1`` and ``a = K^-1 (mu - m)``, which the gradients use."""
    problem = random_problem(2, 4, 6)
    precision, shift = random_sites(4)
    posterior = problem.model("covariance").posterior(precision, shift)
    reduction = np.linalg.inv(problem.covariance + np.diag(1.0 / precision))
    np.testing.assert_allclose(posterior.reduction, reduction, rtol=0, atol=1e-12)
    a = np.linalg.solve(problem.covariance, posterior.mean - problem.latent_mean)
    np.testing.assert_allclose(posterior.weights, a, rtol=0, atol=1e-10)
    other = np.random.default_rng(0).normal(size=(4, 3))
    np.testing.assert_allclose(
        posterior.explained(other),
        np.diag(other.T @ reduction @ other),
        rtol=1e-11,
    )


@pytest.mark.parametrize("space", ["weights", "gram"])
def test_what_the_data_tell_of_every_weight(space):
    problem = random_problem(2, 4, 6, centred=True)
    sites = random_sites(4)
    mean, covariance, _ = product_by_weights(problem, *sites)
    moved, told = problem.model(space).posterior(*sites).learnt()
    np.testing.assert_allclose(moved, mean**2 / problem.variances, rtol=1e-10)
    np.testing.assert_allclose(
        told, 1.0 - np.diag(covariance) / problem.variances, rtol=1e-10
    )


def test_lost_definiteness_is_named():
    precision = np.array([1.0, -5.0])
    with pytest.raises(LostDefiniteness, match="not positive definite"):
        Precision(np.eye(2)).posterior(precision, np.zeros(2))
    model = WeightSpace(np.eye(2), prior_belief(np.ones(2)).as_dense())
    with pytest.raises(LostDefiniteness, match="not positive"):
        model.posterior(precision, np.zeros(2))


def test_first_sites_of_a_precision_make_it_definite():
    couplings = np.array([[0.0, 3.0], [3.0, 0.0]])
    start = Precision(-couplings).first_precision()
    assert (np.linalg.eigvalsh(np.diag(start) - couplings) > 0).all()
    np.testing.assert_array_equal(Precision(np.eye(2)).first_precision(), np.zeros(2))


def test_covariance_that_is_none_is_refused():
    with pytest.raises(ValueError, match="not finite"):
        check_covariance(np.array([[1.0, np.nan], [np.nan, 1.0]]))
    with pytest.raises(ValueError, match=r"not symmetric.* by up to 0\.25"):
        check_covariance(np.array([[1.0, 0.5], [0.25, 1.0]]))
    # Eigenvalues 3 and -1, mean variance one.
    with pytest.raises(
        ValueError, match=r"smallest eigenvalue is -1, and a jitter of 1e-08"
    ):
        check_covariance(np.array([[1.0, 2.0], [2.0, 1.0]]))
    with pytest.raises(ValueError, match="not positive definite"):
        check_covariance(-np.eye(3))


def test_covariances_that_rounding_made_indefinite_pass():
    check_covariance(np.ones((3, 3)))
    check_covariance(np.zeros((2, 2)))
    column = np.random.default_rng(0).normal(size=(30, 1))
    check_covariance(1e8 * column @ column.T)
    before = np.eye(2)
    check_covariance(before)
    np.testing.assert_array_equal(before, np.eye(2))
