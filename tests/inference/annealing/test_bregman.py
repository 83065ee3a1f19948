"""Divergences against their closed forms, derivatives and integrals."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.integrate import dblquad, quad

from odalib.inference.annealing.bregman import check_range
from odalib.inference.annealing.divergences import (
    Mahalanobis,
    as_divergence,
)
from odalib.inference.annealing.rows import RowBlocks
from odalib.kernels.annealing import tangent_planes
from tests.oracles.divergences import CLOSED_FORMS, NAMES, draw_rows

PRECISION = np.array([[2.0, -0.5, 0.1], [-0.5, 1.0, 0.3], [0.1, 0.3, 0.7]])
DOMAINS = {
    "squared_euclidean": (-10.0, 10.0),
    "kullback_leibler": (0.125, 10.0),
    "itakura_saito": (0.125, 10.0),
    "logistic": (0.05, 0.95),
}


def make(name):
    return Mahalanobis(PRECISION) if name == "mahalanobis" else as_divergence(name)


def affine_form(divergence, x, points, mean):
    """``phi(x) + offset_i - <gradient_i, x>``, shape (n, K)."""
    gradients, offsets = tangent_planes(divergence, points, mean)
    return divergence.phi(x)[:, np.newaxis] + offsets - x @ gradients.T


def closed_form(name, x, points):
    if name == "mahalanobis":
        return np.array([[(a - b) @ PRECISION @ (a - b) for b in points] for a in x])
    return np.array([[CLOSED_FORMS[name](a, b) for b in points] for a in x])


@pytest.mark.parametrize("name", NAMES)
def test_affine_form_is_the_closed_form(name):
    x, points = draw_rows(name, 40, 3, 0), draw_rows(name, 6, 3, 1)
    result = affine_form(make(name), x, points, points.mean(axis=0))
    np.testing.assert_allclose(
        result, closed_form(name, x, points), rtol=1e-12, atol=1e-13
    )


@pytest.mark.parametrize("name", NAMES)
def test_gradient_is_the_derivative_of_phi(name):
    """By complex steps: no difference is taken, so nothing cancels."""
    divergence, points = make(name), draw_rows(name, 5, 3, 0)
    for column in range(3):
        moved = points.astype(complex)
        moved[:, column] += 1e-30j
        derivative = divergence.phi(moved).imag / 1e-30
        np.testing.assert_allclose(
            divergence.gradient(points)[:, column], derivative, rtol=1e-12, atol=1e-15
        )


@pytest.mark.parametrize("name", NAMES)
def test_hessian_is_the_derivative_of_the_gradient(name):
    divergence, points = make(name), draw_rows(name, 5, 3, 0)
    vectors = np.random.default_rng(1).normal(size=(5, 3))
    step = 1e-5 * vectors * points.min()
    slope = divergence.gradient(points + step) - divergence.gradient(points - step)
    np.testing.assert_allclose(
        divergence.hessian_product(points, step), slope / 2.0, rtol=1e-6, atol=1e-12
    )


@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_mean_is_the_minimiser(name):
    """``sum w d(x, mu) = sum w d(x, mean) + sum w d(mean, mu)`` for every mu."""
    entries = st.floats(*DOMAINS[name])

    @given(
        arrays(float, (6, 2), elements=entries), arrays(float, (1, 2), elements=entries)
    )
    def holds(x, mu):
        weights = np.arange(1.0, 7.0)
        divergence = as_divergence(name)
        mean = (weights @ x / weights.sum())[np.newaxis]
        about_mean = weights @ affine_form(divergence, x, mean, mean[0])
        about_mu = weights @ affine_form(divergence, x, mu, mean[0])
        rise = weights.sum() * closed_form(name, mean, mu)[0]
        assert about_mean >= -1e-9
        np.testing.assert_allclose(about_mu - about_mean, rise, rtol=1e-9, atol=1e-9)

    holds()


@pytest.mark.parametrize(
    ("name", "x"),
    [
        ("kullback_leibler", [[0.0, 1.5], [2.0, 0.0], [0.0, 0.0]]),
        ("logistic", [[0.0, 0.5], [1.0, 0.0], [1.0, 1.0]]),
    ],
)
def test_rows_on_the_boundary(name, x):
    x, points = np.array(x), np.array([[0.3, 0.6], [0.9, 0.2]])
    result = affine_form(as_divergence(name), x, points, points.mean(axis=0))
    np.testing.assert_allclose(result, closed_form(name, x, points), rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "points", "moved"),
    [
        ("kullback_leibler", [[0.0, 1.0], [0.8, 0.0]], [[4e-11, 1.0], [0.8, 5e-11]]),
        ("logistic", [[0.0, 0.5], [0.8, 0.3]], [[4e-11, 0.5], [0.8, 0.3]]),
        ("logistic", [[1.0, 0.5], [0.8, 0.3]], [[1.0 - 1e-11, 0.5], [0.8, 0.3]]),
    ],
)
def test_codevectors_on_the_boundary_are_moved_inside(name, points, moved):
    """By 1e-10 of the distance of the mean of all rows from that end."""
    x, points, moved = np.array([[0.25, 0.5]]), np.array(points), np.array(moved)
    result = affine_form(as_divergence(name), x, points, points.mean(axis=0))
    np.testing.assert_allclose(result, closed_form(name, x, moved), rtol=1e-6)
    assert result.max() > 4.0


@pytest.mark.parametrize(
    ("name", "constants"), [("kullback_leibler", [0.0]), ("logistic", [0.0, 1.0])]
)
def test_constant_column_at_an_end_drops_out(name, constants):
    x, points = draw_rows(name, 5, 2, 0), draw_rows(name, 3, 2, 1)
    divergence = as_divergence(name)
    without = affine_form(divergence, x, points, points.mean(axis=0))
    for value in constants:
        wide, wide_points = (
            np.insert(x, 1, value, axis=1),
            np.insert(points, 1, value, axis=1),
        )
        result = affine_form(divergence, wide, wide_points, wide_points.mean(axis=0))
        np.testing.assert_array_equal(result, without)
        curvature = divergence.hessian_product(wide_points, np.ones((3, 3)))
        np.testing.assert_array_equal(curvature[:, 1], 0.0)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "itakura_saito"])
def test_sparse_phi_is_dense_phi(name):
    x = draw_rows(name, 30, 3, 0)
    x[np.random.default_rng(1).random(x.shape) < 0.4] = 0.0
    divergence = make(name)
    sparse = divergence.phi(sp.csr_matrix(x))
    assert sparse.shape == (30,)
    np.testing.assert_allclose(sparse, divergence.phi(x), rtol=1e-14, atol=1e-14)


def bound_to(x, weights=None):
    weights = np.ones(len(x)) if weights is None else weights
    return Mahalanobis().bind(RowBlocks(x, weights))


def test_learnt_precision_is_the_inverse_of_the_weighted_covariance():
    x, weights = draw_rows("mahalanobis", 50, 3, 0), np.arange(1.0, 51.0)
    covariance = np.cov(x, rowvar=False, aweights=weights, ddof=0)
    precision = bound_to(x, weights).precision
    np.testing.assert_allclose(precision, np.linalg.inv(covariance), rtol=1e-10)
    sparse = bound_to(sp.csr_matrix(x), weights).precision
    np.testing.assert_allclose(sparse, precision, rtol=1e-10)


def test_given_precision_is_kept():
    rows = RowBlocks(np.ones((4, 3)), np.ones(4))
    given_one = Mahalanobis(PRECISION)
    assert given_one.bind(rows) is given_one
    with pytest.raises(ValueError, match=r"X has 2 features.*divergence is for 3"):
        given_one.bind(RowBlocks(np.ones((4, 2)), np.ones(4)))


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_precision_of_a_singular_covariance_is_the_pseudo_inverse(scale):
    x = scale * draw_rows("mahalanobis", 50, 2, 0) @ [[1.0, 2.0, 0.5], [0.0, 1.0, -1.0]]
    covariance = np.cov(x, rowvar=False, ddof=0)
    precision = bound_to(x).precision
    expected = np.linalg.pinv(covariance, rcond=1e-8, hermitian=True)
    np.testing.assert_allclose(
        precision * scale**2, expected * scale**2, rtol=1e-7, atol=1e-9
    )
    # The mean of d(x, mean) is the number of directions in which rows vary.
    away = x - x.mean(axis=0)
    mean = np.einsum("ij,jk,ik->", away, precision, away) / len(x)
    assert mean == pytest.approx(2.0, rel=1e-8)


@pytest.mark.parametrize("temperature", [0.2, 3.0])
def test_log_normaliser_in_one_dimension(temperature):
    for divergence, factor in [
        (as_divergence("squared_euclidean"), 1.0),
        (Mahalanobis([[2.5]]), 2.5),
    ]:
        integral, _ = quad(
            lambda x, factor=factor: np.exp(-factor * x * x / temperature),
            -np.inf,
            np.inf,
        )
        result = divergence.log_normaliser(temperature, 1)
        assert result == pytest.approx(-np.log(integral), rel=1e-9)


def test_log_normaliser_in_two_dimensions():
    temperature = 0.7
    for divergence, precision in [
        (as_divergence("squared_euclidean"), np.eye(2)),
        (Mahalanobis(PRECISION[:2, :2]), PRECISION[:2, :2]),
    ]:

        def density(y, x, precision=precision):
            return np.exp(-np.array([x, y]) @ precision @ [x, y] / temperature)

        integral, _ = dblquad(density, -8.0, 8.0, -8.0, 8.0, epsabs=1e-9)
        result = divergence.log_normaliser(temperature, 2)
        assert result == pytest.approx(-np.log(integral), abs=1e-7)


def test_log_normaliser_of_a_singular_precision_is_that_of_its_subspace():
    axis = np.array([0.6, 0.8])
    integral, _ = quad(lambda x: np.exp(-3.0 * x * x / 0.5), -np.inf, np.inf)
    result = Mahalanobis(3.0 * np.outer(axis, axis)).log_normaliser(0.5, 2)
    assert result == pytest.approx(-np.log(integral), rel=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix])
def test_range(layout, dtype):
    """As large as a thousand squares can be summed, and not much larger."""
    largest = dtype(np.finfo(dtype).max ** 0.45)
    assert np.isfinite(dtype(1e3) * largest * largest)
    check_range(layout(np.array([[0.99 * largest, -0.99 * largest]], dtype=dtype)))
    for sign in (1.0, -1.0):
        x = np.array([[0.0, 1.01 * sign * largest]], dtype=dtype)
        with pytest.raises(ValueError, match=r"X holds values up to .*; scale X"):
            check_range(layout(x))


def test_range_of_nothing():
    check_range(sp.csr_matrix((3, 2)))
