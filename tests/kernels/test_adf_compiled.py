"""The kernels that serve, compiled or not, against those in NumPy."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from odalib.kernels import adf as serving
from odalib.kernels.reference import adf as reference

# Vectors hold eight numbers; covariances from 200 weights on are updated in blocks of
# 64 steps, factors from 500 on by pairs of rows.
SIZES = [1, 3, 4, 5, 8, 9, 16, 23, 24, 33, 200, 203, 501]
sizes = pytest.mark.parametrize("d", SIZES)
WEIGHTS = [1.0, 1.0, 2.0, 3.0, 0.4, 1.7, 1e-3, 70.2]


class Problem:
    """Rows with zeros, one of them all zeros, weights of all kinds, and a prior."""

    def __init__(self, d, n=90, seed=0, noise=1.0, scale=1.0, weights=WEIGHTS):
        random = np.random.default_rng([d, n, seed])
        self.rows = scale * random.normal(size=(n, d)) * (random.random((n, d)) < 0.8)
        self.rows[n // 2] = 0.0
        self.y = random.choice([-1.0, 1.0], n)
        self.weights = random.choice(weights, n)
        self.noise = noise
        self.prior = random.normal(size=d), random.uniform(0.5, 3.0, d) / scale**2

    def factor(self, kernels, rows=None):
        """Mean and covariance after `learn_factor`, the deviations of weights one."""
        mean, variances = (part.copy() for part in self.prior)
        factor = np.eye(len(mean), order="F")
        rows = self.rows if rows is None else rows
        kernels.learn_factor(
            mean, factor, variances, rows, self.y, self.weights, self.noise
        )
        return self.scaled(mean, factor * variances @ factor.T)

    def covariance(self, kernels, rows=None, forgetting=0.97):
        """Mean and covariance after `learn_covariance`."""
        mean, variances = (part.copy() for part in self.prior)
        covariance = np.asfortranarray(np.diag(variances))
        above = np.triu_indices(len(mean), 1)
        covariance[above] = np.nan
        kernels.learn_covariance(
            mean,
            covariance,
            *self.prior,
            forgetting,
            self.rows if rows is None else rows,
            self.y,
            self.weights,
            self.noise,
        )
        assert np.isnan(covariance[above]).all()
        return self.scaled(mean, np.tril(covariance))

    def diagonal(self, kernels, forgetting=0.97, index_dtype=np.int32, **options):
        """Means, variances, times and clock after `learn_diagonal`."""
        moments = np.column_stack(self.prior)
        touched = np.zeros(len(moments))
        rows = sp.csr_array(self.rows)
        visits = np.random.default_rng(1).permutation(len(self.y))
        has_intercept = options.get("has_intercept", False)
        if has_intercept:
            rows = sp.csr_array(self.rows[:, :-1])
        clock = kernels.learn_diagonal(
            *moments.T,
            touched,
            2.0,
            *self.prior,
            forgetting,
            (
                rows.data,
                rows.indices.astype(index_dtype),
                rows.indptr.astype(index_dtype),
            ),
            visits,
            self.y,
            self.weights,
            self.noise,
            has_intercept,
        )
        width = np.sqrt(self.prior[1])
        return moments[:, 0] / width, moments[:, 1] / width**2, touched, clock

    def scaled(self, mean, covariance):
        """Moments in units of the deviations of the prior."""
        width = np.sqrt(self.prior[1])
        return mean / width, covariance / np.outer(width, width)


def assert_close(found, expected, tol=1e-11):
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=tol, atol=tol)


@sizes
@pytest.mark.parametrize("noise", [1.0, 0.3])
@pytest.mark.parametrize("n", [90, 61, 1])
def test_factor(d, noise, n):
    problem = Problem(d, n, noise=noise)
    assert_close(problem.factor(serving), problem.factor(reference))


@sizes
@pytest.mark.parametrize("noise", [1.0, 0.3])
def test_covariance(d, noise):
    problem = Problem(d, noise=noise)
    assert_close(problem.covariance(serving), problem.covariance(reference))


@sizes
@pytest.mark.parametrize("forgetting", [1.0, 0.97])
@pytest.mark.parametrize("index_dtype", [np.int32, np.int64])
def test_diagonal(d, forgetting, index_dtype):
    problem = Problem(d)
    kind = {"forgetting": forgetting, "index_dtype": index_dtype}
    assert_close(
        problem.diagonal(serving, **kind), problem.diagonal(reference, **kind), 1e-10
    )


@given(
    d=st.integers(1, 30),
    n=st.integers(1, 40),
    seed=st.integers(0, 2**16),
    scale=st.sampled_from([1e-100, 1e-3, 1.0, 1e3, 1e100]),
    noise=st.sampled_from([1e-2, 1.0, 30.0]),
)
def test_any_rows(d, n, seed, scale, noise):
    """Whatever their unit, with labels that contradict each other."""
    problem = Problem(d, n, seed, noise, scale)
    assert_close(problem.factor(serving), problem.factor(reference), 1e-9)
    assert_close(problem.covariance(serving), problem.covariance(reference), 1e-9)
    assert_close(problem.diagonal(serving), problem.diagonal(reference), 1e-9)


@given(
    mean=st.floats(-50.0, 50.0),
    log_variance=st.floats(-12.0, 8.0),
    log_noise=st.floats(-4.0, 4.0),
    power=st.one_of(st.just(1.0), st.floats(1e-6, 1.0)),
    label=st.sampled_from([-1.0, 1.0]),
)
def test_one_observation(mean, log_variance, log_noise, power, label):
    """In every regime of the probit, and of the quadrature of its powers."""
    variance, noise = np.exp(log_variance), np.exp(log_noise)
    found, expected = [], []
    for kernels, results in ((serving, found), (reference, expected)):
        m, v = np.array([mean]), np.array([variance])
        factor = np.eye(1, order="F")
        kernels.learn_factor(
            m, factor, v, np.ones((1, 1)), np.array([label]), np.array([power]), noise
        )
        results += [m[0], factor[0, 0] ** 2 * v[0]]
    tol = 1e-11 if power == 1.0 else 1e-8
    np.testing.assert_allclose(found[1], expected[1], rtol=tol)
    deviation = np.sqrt(expected[1])
    assert abs(found[0] - expected[0]) < tol * deviation + 4e-15 * abs(mean)


@pytest.mark.parametrize("d", [4, 9, 203, 501])
def test_rows_without_their_last_feature_have_one_there(d):
    problem = Problem(d)
    problem.rows[:, -1] = 1.0
    part = np.ascontiguousarray(problem.rows[:, :-1])
    for kernels in (serving, reference):
        for learn in (problem.factor, problem.covariance):
            assert_close(learn(kernels, part), learn(kernels), 1e-14)
        assert_close(
            problem.diagonal(kernels, has_intercept=True), problem.diagonal(kernels)
        )


def test_rows_that_cannot_be_written_to():
    problem = Problem(6)
    expected = problem.factor(serving), problem.covariance(serving)
    for array in (problem.rows, problem.y, problem.weights, *problem.prior):
        array.flags.writeable = False
    assert_close(problem.factor(serving), expected[0], 0)
    assert_close(problem.covariance(serving), expected[1], 0)
    problem.diagonal(serving)


def test_a_factor_that_is_no_triangle():
    """As the kernel in NumPy leaves it: it goes on from there."""
    problem = Problem(5)
    results = []
    for first in (reference, serving):
        mean, variances = (part.copy() for part in problem.prior)
        factor = np.eye(5, order="F")
        for kernels in (first, serving):
            kernels.learn_factor(
                mean, factor, variances, problem.rows, problem.y, problem.weights, 1.0
            )
        results.append((mean, factor * variances @ factor.T))
    assert_close(*results)


@pytest.mark.parametrize("d", [3, 40, 210, 501])
def test_the_same_bits_every_time(d):
    problem = Problem(d)
    for learn in (problem.factor, problem.covariance, problem.diagonal):
        assert_close(learn(serving), learn(serving), 0)


@pytest.mark.parametrize("d", [3, 8, 21])
def test_how_rows_are_cut_changes_no_bit(d):
    """Of a factor and a covariance too small to be updated several rows at a time."""
    problem = Problem(d)
    whole = problem.factor(serving), problem.covariance(serving)
    mean, variances = (part.copy() for part in problem.prior)
    other, covariance = mean.copy(), np.asfortranarray(np.diag(variances))
    factor = np.eye(d, order="F")
    for rows in np.array_split(np.arange(len(problem.y)), 7):
        data = problem.rows[rows], problem.y[rows], problem.weights[rows], 1.0
        serving.learn_factor(mean, factor, variances, *data)
        serving.learn_covariance(other, covariance, *problem.prior, 0.97, *data)
    assert_close(problem.scaled(mean, factor * variances @ factor.T), whole[0], 0)
    assert_close(problem.scaled(other, np.tril(covariance)), whole[1], 0)


def test_a_contradicted_step_never_ends_in_no_number():
    """Without noise, opposite labels of one row: it becomes certain of its value."""
    rows = np.tile([[1.0, 2.0]], (200, 1))
    y = np.tile([-1.0, 1.0], 100)
    mean, factor, variances = np.zeros(2), np.eye(2, order="F"), np.ones(2)
    serving.learn_factor(mean, factor, variances, rows, y, np.ones(200), 0.0)
    assert np.isfinite([*mean, *factor.ravel(), *variances]).all()
    assert (rows[0] @ factor) ** 2 @ variances < 1e-100
    assert abs(rows[0] @ mean) < 1e-15


def test_no_rows_change_nothing():
    mean, factor, variances = np.ones(4), np.eye(4, order="F"), np.full(4, 2.0)
    covariance = np.asfortranarray(np.diag(variances))
    none = np.empty((0, 4)), np.empty(0), np.empty(0), 1.0
    serving.learn_factor(mean, factor, variances, *none)
    serving.learn_covariance(mean, covariance, mean, variances, 0.9, *none)
    np.testing.assert_array_equal(mean, 1.0)
    np.testing.assert_array_equal(factor, np.eye(4))
    np.testing.assert_array_equal(covariance, np.diag(variances))


@pytest.mark.parametrize("short", ["y", "weights"])
def test_rows_that_do_not_fit_are_refused(short):
    problem = Problem(4)
    setattr(problem, short, getattr(problem, short)[:-1])
    for learn in (problem.factor, problem.covariance, problem.diagonal):
        with pytest.raises(ValueError):
            learn(serving)


@pytest.mark.parametrize("n_columns", [2, 5])
def test_features_that_do_not_fit_are_refused(n_columns):
    problem = Problem(4)
    rows = np.ones((len(problem.y), n_columns))
    for learn in (problem.factor, problem.covariance):
        with pytest.raises(ValueError):
            learn(serving, rows)


@pytest.mark.parametrize("scale", [1e12, 1e18, 1e20, 1e60, 1e100])
@pytest.mark.parametrize("kernels", [serving, reference], ids=["serving", "reference"])
def test_powers_of_a_probit_that_is_a_step_beside_the_variance(kernels, scale):
    """A step equals all its powers, so that half a row is a whole one."""
    random = np.random.default_rng(0)
    rows = scale * random.normal(size=(50, 2))
    labels = random.choice((-1.0, 1.0), size=50)
    means = []
    for weight in (0.5, 1.0):
        mean, factor, variances = np.zeros(2), np.eye(2, order="F"), np.ones(2)
        kernels.learn_factor(
            mean, factor, variances, rows, labels, np.full(50, weight), 1.0
        )
        means.append(mean)
    np.testing.assert_allclose(means[0], means[1], rtol=1e-6)


@pytest.mark.parametrize("kernels", [serving, reference], ids=["serving", "reference"])
@pytest.mark.parametrize("n_features", [2, 5])
def test_rows_that_lack_more_than_the_constant_are_refused(kernels, n_features):
    rows, labels, weights = np.ones((3, n_features)), np.ones(3), np.ones(3)
    mean, factor, variances = np.zeros(4), np.eye(4, order="F"), np.ones(4)
    with pytest.raises(ValueError):
        kernels.learn_factor(mean, factor, variances, rows, labels, weights, 1.0)
    np.testing.assert_array_equal(mean, np.zeros(4))
