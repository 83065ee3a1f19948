"""Every kernel against double loops written from its defining formula."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from odalib.kernels.reference import annealing as kernels

SHAPES = [(1, 1, 1), (7, 3, 2), (40, 1, 5), (23, 9, 4)]
LAYOUTS = {"dense": np.asarray, "csr": sp.csr_matrix}
shapes = pytest.mark.parametrize("shape", SHAPES, ids=str)
layouts = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)


def dot(a, b):
    return math.fsum(x * y for x, y in zip(a, b, strict=True))


class Case:
    """Random rows, about half of the entries zero, and a random codebook."""

    def __init__(self, shape, layout):
        n, n_codevectors, d = shape
        random = np.random.default_rng(n)
        self.x = random.normal(size=(n, d)) * (random.random((n, d)) < 0.5)
        self.rows = layout(self.x)
        self.row_weights = random.uniform(0.1, 3.0, size=n)
        self.gradients = random.normal(size=(n_codevectors, d))
        self.offsets = random.normal(size=n_codevectors)
        self.codevectors = random.normal(size=(n_codevectors, d))
        self.weights = random.dirichlet(np.ones(n_codevectors))
        self.labels = random.integers(n_codevectors, size=n)
        self.by_row = random.normal(size=n)
        self.by_codevector = random.normal(size=(n_codevectors, d))

    def affinity(self, i, n):
        """``phi(x) - d(x, mu_i)``."""
        return dot(self.gradients[i], self.x[n]) - self.offsets[i]

    def association(self, beta):
        """``p_i(x)`` and ``sum_i rho_i exp(-beta (d(x, mu_i) - phi(x)))``."""
        table = np.array(
            [
                [
                    self.weights[i] * math.exp(beta * self.affinity(i, n))
                    for n in range(len(self.x))
                ]
                for i in range(len(self.weights))
            ]
        )
        return table / table.sum(axis=0), table.sum(axis=0)

    def multiplier(self, multipliers, i, n):
        if multipliers.ndim == 1:
            return multipliers[n]
        return dot(multipliers[i], self.x[n] - self.codevectors[i])

    @property
    def gibbs_arguments(self):
        return self.gradients, self.offsets, np.log(self.weights)


@layouts
@shapes
def test_negative_divergence(shape, layout):
    case = Case(shape, layout)
    values = kernels.negative_divergence(case.rows, case.gradients, case.offsets)
    expected = [[case.affinity(i, n) for n in range(shape[0])] for i in range(shape[1])]
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-14)
    assert values.flags.c_contiguous


@layouts
@shapes
def test_weighted_sums(shape, layout):
    case = Case(shape, layout)
    coefficients = np.random.default_rng(1).normal(size=(shape[1], shape[0]))
    expected = [
        sum(coefficients[i, n] * case.x[n] for n in range(shape[0]))
        for i in range(shape[1])
    ]
    result = kernels.weighted_sums(coefficients, case.rows)
    np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("beta", [0.3, 2.0])
@layouts
@shapes
def test_gibbs_association(shape, layout, beta):
    case = Case(shape, layout)
    expected, total = case.association(beta)
    association, log_normaliser = kernels.gibbs_association(
        case.rows, *case.gibbs_arguments, beta
    )
    np.testing.assert_allclose(association, expected, rtol=1e-12)
    np.testing.assert_allclose(log_normaliser, np.log(total), rtol=1e-12, atol=1e-13)
    log_association, log_normaliser = kernels.gibbs_association(
        case.rows, *case.gibbs_arguments, beta, log=True
    )
    np.testing.assert_allclose(log_association, np.log(expected), rtol=1e-11)
    np.testing.assert_allclose(log_normaliser, np.log(total), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("exponent", [-300, -150, -20, 0, 20, 150, 300])
@layouts
def test_association_at_extreme_temperatures(layout, exponent):
    """Two codevectors: ``p_0 = 1 / (1 + exp(-z))``, ``z`` up to 1e300."""
    x = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0]])
    gradients = np.array([[0.5, 0.0], [-0.5, 0.0]])
    offsets, weights = np.zeros(2), np.array([0.25, 0.75])
    beta = 10.0**exponent
    arguments = layout(x), gradients, offsets, np.log(weights), beta
    association, log_normaliser = kernels.gibbs_association(*arguments)
    log_association, same_normaliser = kernels.gibbs_association(*arguments, log=True)
    z = beta * x[:, 0] + math.log(1.0 / 3.0)
    log_expected = np.array([-np.logaddexp(0.0, -z), -np.logaddexp(0.0, z)])
    np.testing.assert_allclose(association, np.exp(log_expected), rtol=1e-12)
    np.testing.assert_allclose(log_association, log_expected, rtol=1e-12)
    np.testing.assert_allclose(association.sum(axis=0), 1.0, rtol=4e-16)
    half = beta * x[:, 0] / 2.0
    expected = np.logaddexp(math.log(0.25) + half, math.log(0.75) - half)
    np.testing.assert_allclose(log_normaliser, expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(same_normaliser, log_normaliser)


@pytest.mark.parametrize("multipliers", [None, "by_row", "by_codevector"])
@layouts
@shapes
def test_gibbs_sums(shape, layout, multipliers):
    case, beta = Case(shape, layout), 1.3
    if multipliers is not None:
        multipliers = getattr(case, multipliers)
    association, total = case.association(beta)
    weight, sums, log_normaliser, axis = kernels.gibbs_sums(
        case.rows,
        case.row_weights,
        *case.gibbs_arguments,
        beta,
        case.codevectors,
        multipliers,
    )
    expected_axis = np.zeros_like(axis)
    expected_sums = np.zeros_like(sums)
    for i in range(shape[1]):
        for n in range(shape[0]):
            share = case.row_weights[n] * association[i, n]
            expected_sums[i] += share * case.x[n]
            if multipliers is not None:
                share *= case.multiplier(multipliers, i, n)
                expected_axis[i] += share * (case.x[n] - case.codevectors[i])
    np.testing.assert_allclose(weight, association @ case.row_weights, rtol=1e-12)
    np.testing.assert_allclose(sums, expected_sums, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(axis, expected_axis, rtol=1e-11, atol=1e-12)
    expected = dot(case.row_weights, np.log(total))
    assert log_normaliser == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("multipliers", ["by_row", "by_codevector"])
@layouts
@shapes
def test_cell_axis_sums(shape, layout, multipliers):
    case = Case(shape, layout)
    multipliers = getattr(case, multipliers)
    result = kernels.cell_axis_sums(
        case.rows, case.row_weights, case.labels, case.codevectors, multipliers
    )
    expected = np.zeros_like(case.codevectors)
    for n, i in enumerate(case.labels):
        share = case.row_weights[n] * case.multiplier(multipliers, i, n)
        expected[i] += share * (case.x[n] - case.codevectors[i])
    np.testing.assert_allclose(result, expected, rtol=1e-11, atol=1e-12)


@layouts
@shapes
def test_nearest(shape, layout):
    case = Case(shape, layout)
    labels, values = kernels.nearest(case.rows, case.gradients, case.offsets)
    for n in range(shape[0]):
        affinities = [case.affinity(i, n) for i in range(shape[1])]
        assert labels[n] == affinities.index(max(affinities))
        assert values[n] == pytest.approx(max(affinities), rel=1e-12, abs=1e-14)


def test_nearest_takes_the_first_of_equals():
    rows, gradients = np.ones((2, 1)), np.array([[0.0], [1.0], [1.0]])
    labels, _ = kernels.nearest(rows, gradients, np.zeros(3))
    assert labels.tolist() == [1, 1]


@layouts
@shapes
def test_cell_sums(shape, layout):
    """The last of the cells is always empty."""
    case = Case(shape, layout)
    n_cells = shape[1] + 1
    weight, total = kernels.cell_sums(case.rows, case.row_weights, case.labels, n_cells)
    expected_weight, expected = np.zeros(n_cells), np.zeros((n_cells, shape[2]))
    for n, i in enumerate(case.labels):
        expected_weight[i] += case.row_weights[n]
        expected[i] += case.row_weights[n] * case.x[n]
    assert isinstance(total, np.ndarray)
    np.testing.assert_allclose(weight, expected_weight, rtol=1e-12)
    np.testing.assert_allclose(total, expected, rtol=1e-12, atol=1e-13)


def test_kernels_leave_the_rows_alone():
    case = Case((7, 3, 2), np.asarray)
    case.rows.flags.writeable = case.row_weights.flags.writeable = False
    kernels.gibbs_sums(
        case.rows,
        case.row_weights,
        *case.gibbs_arguments,
        1.0,
        case.codevectors,
        case.by_row,
    )
    kernels.cell_axis_sums(
        case.rows, case.row_weights, case.labels, case.codevectors, case.by_codevector
    )


@layouts
@shapes
def test_own_products(shape, layout):
    case = Case(shape, layout)
    expected = [
        dot(case.by_codevector[label], row)
        for label, row in zip(case.labels, case.x, strict=True)
    ]
    actual = kernels.own_products(case.rows, case.by_codevector, case.labels)
    np.testing.assert_allclose(actual, expected, atol=1e-12)


@layouts
def test_differs_from_own(layout):
    points = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]])
    x = np.array(
        [
            [0.0, 2.0, 0.0],
            [0.0, 2.0 * (1 + 1e-13), 0.0],
            [0.0, 2.0 * (1 + 1e-11), 0.0],
            [1e-300, 2.0, 0.0],
            [1.0, 0.0, 3.0],
            [1.0, 0.0, 0.0],
            [0.0, 0.0, 0.0],
        ]
    )
    labels = np.array([0, 0, 0, 0, 1, 1, 1])
    differs = kernels.differs_from_own(layout(x), points, labels, 1e-12)
    assert differs.tolist() == [False, False, True, True, False, True, True]
