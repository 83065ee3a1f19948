"""Critical temperatures and axes against dense eigenvalues, and splitting."""

import math

import numpy as np
import pytest
from scipy.special import softmax

from odalib.inference.annealing import rows
from odalib.inference.annealing.bifurcation import cell_axes, gibbs_axes, split
from odalib.inference.annealing.codebook import Codebook, assign, collect_cells
from odalib.inference.annealing.divergences import as_divergence
from tests.oracles.divergences import NAMES, critical_temperature

from .problems import make_problem, mean_codebook, random_codebook, random_problem

MANY = 400


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks of 16 rows, so that there are several."""
    monkeypatch.setattr(rows, "MAX_BLOCK", 16)


def precision_of(problem):
    return getattr(problem.divergence, "precision", None)


def signed(directions, like):
    """Directions turned to the side of others."""
    return directions * np.sign(np.einsum("ij,ij->i", directions, like))[:, None]


def fixed_point(problem, codebook, temperature):
    for _ in range(MANY):
        codebook = problem.moments(codebook, temperature).codebook(codebook)
    return codebook


@pytest.mark.parametrize("name", NAMES)
def test_gibbs_axes_are_leading_eigenvectors(name):
    """Of every codevector, under an association that is worked out here."""
    problem, x, weights = random_problem(name)
    hottest, _ = critical_temperature(name, x, weights, precision_of(problem))
    temperature = 0.3 * hottest
    codebook = fixed_point(problem, random_codebook(x, 3), temperature)
    assert len(np.unique(codebook.points.round(6), axis=0)) > 1
    gradients, offsets = codebook.planes(problem.divergence)
    divergences = problem.phi[:, None] + offsets - x @ gradients.T
    association = softmax(np.log(codebook.weights) - divergences / temperature, axis=1)
    moments = problem.moments(codebook, temperature, problem.signs)
    axes = gibbs_axes(problem, codebook, temperature, moments, MANY)
    for i in range(3):
        critical, axis = critical_temperature(
            name, x, weights * association[:, i], precision_of(problem)
        )
        assert axes.critical[i] == pytest.approx(critical, rel=1e-9)
        direction = signed(axes.directions[[i]], axis[None])[0]
        np.testing.assert_allclose(direction, axis, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_cell_axes_are_leading_eigenvectors(name):
    problem, x, weights = random_problem(name)
    labels, _ = assign(problem.rows, problem.divergence, random_codebook(x, 3))
    cells = collect_cells(problem.rows, labels, 3)
    codebook = Codebook(
        cells.total / cells.weight[:, None], cells.weight / cells.weight.sum()
    )
    axes = cell_axes(problem, codebook, cells, labels, MANY)
    for i in range(3):
        inside = labels == i
        critical, axis = critical_temperature(
            name, x[inside], weights[inside], precision_of(problem)
        )
        assert axes.critical[i] == pytest.approx(critical, rel=1e-9)
        direction = signed(axes.directions[[i]], axis[None])[0]
        np.testing.assert_allclose(direction, axis, rtol=1e-4, atol=1e-5)


def test_closed_form_for_the_squared_euclidean_divergence():
    """Four points on a cross: covariance diag(9/2, 1/2), critical temperature 9."""
    x = np.array([[3.0, 0.0], [-3.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    problem, codebook = make_problem(x, "squared_euclidean"), mean_codebook(x)
    moments = problem.moments(codebook, 1.0, problem.signs)
    axes = gibbs_axes(problem, codebook, 1.0, moments, 40)
    assert axes.critical[0] == pytest.approx(9.0, rel=1e-12)
    direction = np.abs(axes.directions[0])
    np.testing.assert_allclose(direction, [math.sqrt(0.5), 0.0], atol=1e-12)


def test_power_iteration_approaches_from_below():
    problem, x, weights = random_problem("squared_euclidean")
    codebook = mean_codebook(x, weights)
    exact, _ = critical_temperature("squared_euclidean", x, weights)
    moments = problem.moments(codebook, 1.0, problem.signs)
    found = [
        gibbs_axes(problem, codebook, 1.0, moments, n_passes).critical[0]
        for n_passes in range(1, 30)
    ]
    assert (np.diff(found) >= -1e-13 * exact).all()
    assert 0.0 < found[0] < found[-1] <= exact * (1.0 + 1e-12)


def test_without_passes_directions_are_random_combinations_of_rows():
    problem, x, weights = random_problem("squared_euclidean")
    codebook = mean_codebook(x, weights)
    moments = problem.moments(codebook, 1.0, problem.signs)
    axes = gibbs_axes(problem, codebook, 1.0, moments, 0)
    expected = (weights * problem.signs) @ (x - codebook.points[0])
    expected /= math.sqrt(2.0 * expected @ expected)
    np.testing.assert_allclose(axes.directions[0], expected, rtol=1e-11)


def test_cells_symmetric_under_permutations_have_an_axis():
    """Rows that draw alike cancel in the random sums: variance 1/2 along (1, -1)."""
    x = np.array([[1.0, 0.0], [0, 1], [9, 8], [8, 9], [20, 1], [4, 23]])
    problem, labels = make_problem(x, "squared_euclidean"), np.repeat([0, 1, 2], 2)
    cells = collect_cells(problem.rows, labels, 3)
    codebook = Codebook(cells.total / 2.0, np.full(3, 1.0 / 3.0))
    axes = cell_axes(problem, codebook, cells, labels, 2)
    np.testing.assert_allclose(axes.critical, [1.0, 1.0, 370.0], rtol=1e-12)
    np.testing.assert_allclose(np.abs(axes.directions[:2]), 0.5, rtol=1e-12)


def test_equal_rows_have_no_axis():
    x = np.repeat([[1.0, 2.0], [4.0, 0.5]], 5, axis=0)
    problem, labels = make_problem(x, "kullback_leibler"), np.repeat([0, 1], 5)
    codebook = Codebook(x[[0, 5]], np.array([0.5, 0.5]))
    axes = cell_axes(
        problem, codebook, collect_cells(problem.rows, labels, 2), labels, 3
    )
    np.testing.assert_array_equal(axes.critical, 0.0)
    np.testing.assert_array_equal(axes.directions, 0.0)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("chosen", [[1, 1, 1], [0, 1, 0], [1, 0, 1]])
def test_splitting_keeps_mean_and_weights(name, chosen):
    problem, x, _ = random_problem(name)
    codebook, chosen = random_codebook(x, 3), np.array(chosen, dtype=bool)
    before = codebook.points.copy()
    directions = np.random.default_rng(1).normal(size=(3, 3))
    doubled = split(
        codebook, problem.divergence, directions, np.array([1e-4, 0.02, 3e-3]), chosen
    )
    n_kept, n_split = 3 - chosen.sum(), chosen.sum()
    np.testing.assert_array_equal(doubled.points[:n_kept], before[~chosen])
    first, second = doubled.points[n_kept:].reshape(2, n_split, 3)
    np.testing.assert_allclose((first + second) / 2.0, before[chosen], rtol=1e-13)
    assert (np.abs(first - second).max(axis=1) > 1e-4).all()
    weights = np.r_[
        codebook.weights[~chosen], np.tile(codebook.weights[chosen] / 2.0, 2)
    ]
    np.testing.assert_array_equal(doubled.weights, weights)
    np.testing.assert_array_equal(codebook.points, before)


def test_step_has_the_asked_length():
    """Squared steps are divergences, to second order twice the Hessian's length."""
    codebook = Codebook(np.array([[2.0, 0.5]]), np.ones(1))
    divergence = as_divergence("kullback_leibler")
    direction = np.array([[1.0, 0.0]]) * math.sqrt(2.0)
    assert divergence.hessian_product(codebook.points, direction)[0] @ direction[0] == (
        pytest.approx(1.0)
    )
    doubled = split(codebook, divergence, direction, np.array([0.01]), np.ones(1, bool))
    np.testing.assert_allclose(
        doubled.points[0] - [2.0, 0.5], 0.1 * direction[0], rtol=1e-13
    )


@pytest.mark.parametrize(
    ("name", "points", "expected"),
    [
        ("kullback_leibler", [[2.0, 0.5], [0.0, 3.0]], [[1.0, 0.25], [0.0, -1.0]]),
        ("itakura_saito", [[2.0, 0.5], [0.1, 3.0]], [[1.0, 0.25], [0.05, -1.0]]),
        ("logistic", [[0.75, 0.5], [0.0, 0.9]], [[0.125, 0.25], [0.0, -0.05]]),
        ("squared_euclidean", [[2.0, 0.5], [0.0, 3.0]], [[8.0, 6.0], [2.0, -1.0]]),
    ],
)
def test_steps_go_half_way_to_the_end_of_the_domain_at_most(name, points, expected):
    """Every coordinate by itself: one on the boundary holds back no other."""
    codebook = Codebook(np.array(points), np.array([0.5, 0.5]))
    directions = np.array([[4.0, 3.0], [2.0, -1.0]])
    divergence = as_divergence(name)
    doubled = split(
        codebook, divergence, directions, np.array([4.0, 1.0]), np.ones(2, dtype=bool)
    )
    divergence.check_domain(doubled.points)
    np.testing.assert_allclose(doubled.points[:2] - points, expected, rtol=1e-12)
    np.testing.assert_allclose(points - doubled.points[2:], expected, rtol=1e-12)


def test_steps_out_of_the_domain_of_a_user_are_halved():
    """Each by itself, as often as it takes and no more; to none on the boundary."""

    class Diamond:
        """Squared Euclidean divergence where ``|x_1| + |x_2| <= 1``."""

        phi = staticmethod(lambda rows: (rows**2).sum(axis=1))
        gradient = staticmethod(lambda points: 2.0 * points)
        hessian_diagonal = staticmethod(lambda points: np.full_like(points, 2.0))

        def check_domain(self, rows):
            if (np.abs(rows).sum(axis=1) > 1.0).any():
                raise ValueError("outside the diamond")

    codebook = Codebook(
        np.array([[0.0, 0.0], [0.5, 0.0], [1.0, 0.0]]), np.full(3, 1 / 3)
    )
    directions = np.array([[0.3, 0.4], [3.0, 0.0], [0.0, 1.0]])
    doubled = split(
        codebook,
        as_divergence(Diamond()),
        directions,
        np.ones(3),
        np.ones(3, dtype=bool),
    )
    steps = doubled.points[:3] - codebook.points
    np.testing.assert_allclose(
        steps, [[0.3, 0.4], [0.375, 0.0], [0.0, 0.0]], rtol=1e-14
    )
