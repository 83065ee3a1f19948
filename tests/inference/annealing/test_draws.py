"""Numbers drawn for rows depend on what the rows hold, and on nothing else."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats

from odalib.inference.annealing.draws import draw_sample, row_uniforms

LAYOUTS = {"dense": np.asarray, "csr": sp.csr_matrix}


def rows_with_zeros(n_rows=200, n_features=5, seed=0):
    random = np.random.default_rng(seed)
    x = random.normal(size=(n_rows, n_features)) * random.choice(
        [1.0, 1e-3], n_features
    )
    return x * (random.random(x.shape) < 0.7)


def test_order_of_the_rows_does_not_matter():
    x, order = rows_with_zeros(), np.random.default_rng(1).permutation(200)
    np.testing.assert_array_equal(row_uniforms(x[order], 7), row_uniforms(x, 7)[order])


def test_order_of_the_columns_does_not_matter():
    x, order = rows_with_zeros(), np.random.default_rng(1).permutation(5)
    np.testing.assert_array_equal(row_uniforms(x[:, order], 7), row_uniforms(x, 7))


@pytest.mark.parametrize("exponent", [-900, -20, 1, 20, 900])
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_powers_of_two_do_not_matter(layout, exponent):
    x = rows_with_zeros()
    scaled = layout(np.ldexp(x, exponent))
    np.testing.assert_array_equal(row_uniforms(scaled, 7), row_uniforms(x, 7))


def test_other_factors_matter():
    x = rows_with_zeros()
    x = x[x.any(axis=1)]
    assert (row_uniforms(1.5 * x, 7) != row_uniforms(x, 7)).all()


def test_layout_and_dtype_do_not_matter():
    x = rows_with_zeros().astype(np.float32)
    expected = row_uniforms(x.astype(float), 7)
    large = np.zeros((400, 10), dtype=np.float32)
    large[::2, ::2] = x
    for same in (x, np.asfortranarray(x), large[::2, ::2], x.astype(">f8")):
        np.testing.assert_array_equal(row_uniforms(same, 7), expected)
    for same in (sp.csr_matrix(x), sp.csr_array(x.astype(float))):
        np.testing.assert_array_equal(row_uniforms(same, 7), expected)


def test_signed_and_stored_zeros_are_zeros():
    x = np.array([[0.0, 1.0], [0.0, -2.0]])
    negative = np.where(x == 0.0, -0.0, x)
    stored = sp.csr_matrix((x.ravel(), [0, 1, 0, 1], [0, 2, 4]), shape=(2, 2))
    assert stored.nnz == 4
    np.testing.assert_array_equal(row_uniforms(negative, 7), row_uniforms(x, 7))
    np.testing.assert_array_equal(row_uniforms(stored, 7), row_uniforms(x, 7))


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_long_tables_are_hashed_row_by_row(layout):
    """More rows than one piece of the hash holds."""
    x = rows_with_zeros(n_rows=9000)
    x[0] = 2.0 * np.abs(x).max()
    one_by_one = [row_uniforms(x[[0, i]], 7)[1] for i in range(0, 9000, 500)]
    np.testing.assert_array_equal(row_uniforms(layout(x), 7)[::500], one_by_one)


def test_signs_and_single_bits_matter():
    x = np.array([[1.0, 2.0], [-1.0, 2.0], [np.nextafter(1.0, 2.0), 2.0], [2.0, 2.0]])
    assert len(set(row_uniforms(x, 7))) == 4


def grid_of_rows():
    """Rows as regular as can be."""
    grid = np.stack(np.meshgrid(np.arange(1.0, 71.0), np.arange(-70.0, 0.0)), axis=-1)
    return grid.reshape(-1, 2) / 64.0


def assert_uniform(numbers):
    """At a level of 1e-3."""
    assert numbers.min() > 0.0
    assert numbers.max() <= 1.0
    assert stats.kstest(numbers, "uniform").pvalue > 1e-3


def assert_unrelated(numbers, others):
    """At a level of 1e-3: no correlation of their ranks."""
    assert stats.spearmanr(numbers, others).pvalue > 1e-3


def test_hashed_numbers_are_uniform_and_others_for_every_seed():
    x = grid_of_rows()
    first, second = row_uniforms(x, 7), row_uniforms(x, 8)
    assert_uniform(first)
    assert_uniform(second)
    assert_unrelated(first, second)


def sample_of(x, weights, importance, size, seed):
    return draw_sample(x, weights, importance, row_uniforms(x, seed), size)


def test_priority_sample_by_its_definition():
    """The largest ``w s / u`` stay, at ``max(w, q / s)``, q the largest to go."""
    x, random = rows_with_zeros(50), np.random.default_rng(3)
    weights, importance = random.uniform(0.5, 2.0, 50), random.uniform(0.5, 9.0, 50)
    uniforms = row_uniforms(x, 7)
    indices, drawn = draw_sample(x, weights, importance, uniforms, 20)
    priority = [
        w * s / u for w, s, u in zip(weights, importance, uniforms, strict=True)
    ]
    ranked = sorted(range(50), key=lambda i: -priority[i])
    assert indices.tolist() == sorted(ranked[:20])
    threshold = priority[ranked[20]]
    expected = [max(weights[i], threshold / importance[i]) for i in indices]
    np.testing.assert_allclose(drawn, expected, rtol=1e-14)


def test_priority_sample_is_unbiased():
    """Mean over 2,000 seeds of two weighted sums, within four standard errors."""
    x, random = rows_with_zeros(40), np.random.default_rng(3)
    x[:, 0] += 2.0
    weights, importance = random.uniform(0.5, 2.0, 40), random.uniform(0.2, 9.0, 40)
    truth = np.array([weights.sum(), weights @ x[:, 0] ** 2])
    sums = []
    for seed in range(2000):
        indices, drawn = sample_of(x, weights, importance, 12, seed)
        sums.append([drawn.sum(), drawn @ x[indices, 0] ** 2])
    error = np.std(sums, axis=0) / np.sqrt(len(sums))
    assert (np.abs(np.mean(sums, axis=0) - truth) < 4.0 * error).all()
    assert (error < 0.02 * truth).all()


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("size", [10, 500])
def test_a_weight_is_as_many_rows(layout, size):
    x, copies = rows_with_zeros(60), np.arange(60) % 4 + 1
    importance = np.random.default_rng(3).uniform(0.2, 9.0, 60)
    order = np.random.default_rng(4).permutation(copies.sum())
    repeated = np.repeat(np.arange(60), copies)[order]
    indices, weights = sample_of(layout(x), copies.astype(float), importance, size, 7)
    again, same_weights = sample_of(
        layout(x[repeated]), np.ones(len(repeated)), importance[repeated], size, 7
    )
    by_row = dict(zip(indices, weights, strict=True))
    assert by_row == dict(zip(repeated[again], same_weights, strict=True))
    assert len(indices) == min(size, 60)


def test_rows_with_the_same_entries_in_another_order_are_not_the_same():
    x = np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]])
    indices, weights = sample_of(x, np.ones(3), np.ones(3), 5, 0)
    assert indices.tolist() == [0, 1]
    assert weights.tolist() == [2.0, 1.0]
