"""Local models from sums over rows: against rows, pseudo-rows and plain loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odalib.inference.annealing.lineage import (
    joined_by,
    merged_into,
    selected,
    split_of,
)
from odalib.inference.annealing.local.linear_fits import (
    CellSums,
    Coefficients,
    cell_sums,
    fit_cells,
    fit_globally,
)
from tests.oracles.regressions import blended, constants, global_line, local_lines

FIELDS = ("weight", "z", "y", "zz", "zy")


def random_rows(n_rows=70, n_features=3, n_targets=2, n_cells=4, seed=0):
    """Features, targets that are curved in them, and the association times weights."""
    random = np.random.default_rng(seed)
    z = random.normal(size=(n_rows, n_features)) * [10.0, 1.0, 0.1][:n_features] + 2.0
    curved = np.sin(z @ random.normal(size=(n_features, n_targets)))
    y = curved + random.normal(size=(n_rows, n_targets)) + z.sum(axis=1)[:, np.newaxis]
    association = random.dirichlet(np.full(n_cells, 0.4), size=n_rows).T
    return z, y, association * random.uniform(0.2, 3.0, n_rows)


def cells_of(sums, ridge, global_ridge, rounding=0.0):
    """Local models, where features that vary by less than some number are constant."""
    n_features = sums.z.shape[1]
    return fit_cells(sums, ridge, global_ridge, np.full(n_features, rounding))


def line_of(sums, ridge, rounding=0.0):
    return fit_globally(sums, ridge, np.full(sums.z.shape[1], rounding))


def assert_same_sums(found, expected, rtol=1e-12):
    for name in FIELDS:
        one, other = getattr(found, name), getattr(expected, name)
        scale = np.abs(other).max(initial=0.0)
        np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol * scale)


@given(
    n_rows=st.integers(1, 30),
    n_features=st.integers(0, 3),
    n_targets=st.integers(1, 3),
    n_cells=st.integers(1, 5),
    seed=st.integers(0, 999),
)
def test_sums_are_those_of_loops(n_rows, n_features, n_targets, n_cells, seed):
    random = np.random.default_rng(seed)
    z = random.normal(size=(n_rows, n_features))
    y = random.normal(size=(n_rows, n_targets))
    association = random.random((n_cells, n_rows)) * random.integers(
        2, size=(n_cells, n_rows)
    )
    expected = CellSums.zeros(n_cells, n_features, n_targets)
    for k in range(n_cells):
        for n in range(n_rows):
            share = association[k, n]
            expected.weight[k] += share
            for i in range(n_features):
                expected.z[k, i] += share * z[n, i]
                for j in range(n_features):
                    expected.zz[k, i, j] += share * z[n, i] * z[n, j]
                for j in range(n_targets):
                    expected.zy[k, i, j] += share * z[n, i] * y[n, j]
            for j in range(n_targets):
                expected.y[k, j] += share * y[n, j]
    assert_same_sums(cell_sums(association, z, y), expected)


@given(cut=st.integers(0, 70), seed=st.integers(0, 99))
def test_sums_of_blocks_add_up(cut, seed):
    z, y, association = random_rows(seed=seed)
    parts = (
        cell_sums(association[:, rows], z[rows], y[rows])
        for rows in (slice(cut), slice(cut, None))
    )
    first, second = parts
    assert_same_sums(first + second, cell_sums(association, z, y))


def test_a_weight_is_a_repetition():
    z, y, association = random_rows()
    copies = np.arange(len(z)) % 4
    repeated = np.repeat(np.arange(len(z)), copies)
    weighted = cell_sums(association * copies, z, y)
    assert_same_sums(
        weighted, cell_sums(association[:, repeated], z[repeated], y[repeated])
    )
    factors = np.array([0.5, 2.0, 0.0, 3.0])
    scaled = cell_sums(association * factors[:, np.newaxis], z, y)
    assert_same_sums(cell_sums(association, z, y).scaled(factors), scaled)


def test_lineages_conserve_sums():
    """Split, merged and joined cells hold what the old ones did, all in all."""
    z, y, association = random_rows()
    sums = cell_sums(association, z, y)
    chosen = np.array([True, False, True, False])
    merging = np.array([1, 0, 1, 2, 0, 3])
    lineage = merged_into(merging) @ split_of(chosen)
    for one in (split_of(chosen), joined_by(4, 2), merged_into(merging[:4]), lineage):
        passed = sums.inherit(one)
        for name in FIELDS:
            before, after = getattr(sums, name), getattr(passed, name)
            assert after.shape == (one.shape[0], *before.shape[1:])
            scale = np.abs(before).max()
            np.testing.assert_allclose(
                after.sum(axis=0), before.sum(axis=0), rtol=1e-12, atol=1e-12 * scale
            )
    # Merged cells are the cell of the rows of both.
    merged = sums.inherit(merged_into(np.array([0, 1, 0, 1])))
    together = np.stack(
        [association[0] + association[2], association[1] + association[3]]
    )
    assert_same_sums(merged, cell_sums(together, z, y))
    # Each half is like the whole, of half the weight.
    halves = sums.inherit(split_of(np.array([False, False, False, True])))
    last = cell_sums(association[[0, 1, 2, 3, 3]] * 1.0, z, y)
    assert_same_sums(halves, last.scaled(np.array([1.0, 1.0, 1.0, 0.5, 0.5])))
    kept = sums.inherit(selected(np.array([True, False, True, True])))
    assert_same_sums(kept, cell_sums(association[[0, 2, 3]], z, y))


@pytest.mark.parametrize("global_ridge", [0.0, 1.0, 1000.0])
@pytest.mark.parametrize("ridge", [0.01, 1.0, 100.0])
def test_local_models_are_least_squares_with_rows_of_the_global_fit(
    ridge, global_ridge
):
    z, y, association = random_rows()
    slopes, intercepts = local_lines(z, y, association, ridge, global_ridge)
    found = cells_of(cell_sums(association, z, y), ridge, global_ridge)
    np.testing.assert_allclose(found.slope, slopes, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(found.intercept, intercepts, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("ridge", [0.0, 10.0])
def test_global_fit_is_least_squares_with_rows_of_the_mean(ridge):
    z, y, association = random_rows()
    slope, intercept, scale = line_of(cell_sums(association, z, y), ridge)
    expected = global_line(z, y, association.sum(axis=0), ridge)
    np.testing.assert_allclose(slope, expected[0], rtol=1e-7)
    np.testing.assert_allclose(intercept, expected[1], rtol=1e-7)
    np.testing.assert_allclose(scale, expected[2], rtol=1e-10)
    if ridge == 0.0:
        # Without a draw, plain least squares up to the least spread of 1e-6.
        root = np.sqrt(association.sum(axis=0))[:, np.newaxis]
        design = root * np.hstack([z, np.ones((len(z), 1))])
        plain = np.linalg.lstsq(design, root * y, rcond=None)[0]
        np.testing.assert_allclose(slope, plain[:-1], rtol=1e-4)


def test_little_ridge_leaves_a_cell_its_own_fit_and_much_the_global_one():
    z, y, association = random_rows()
    sums = cell_sums(association, z, y)
    own = cells_of(sums, 1e-9, 0.0)
    for k, share in enumerate(association):
        root = np.sqrt(share)[:, np.newaxis]
        design = root * np.hstack([z, np.ones((len(z), 1))])
        plain = np.linalg.lstsq(design, root * y, rcond=None)[0]
        np.testing.assert_allclose(own.slope[k], plain[:-1], rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(own.intercept[k], plain[-1], rtol=1e-6, atol=1e-6)
    slope, intercept, _ = line_of(sums, 0.0)
    drawn = cells_of(sums, 1e12, 0.0)
    for k in range(len(association)):
        np.testing.assert_allclose(drawn.slope[k], slope, rtol=1e-6)
        np.testing.assert_allclose(drawn.intercept[k], intercept, rtol=1e-6)


@pytest.mark.parametrize("ridge", [0.1, 1.0, 100.0])
def test_constants_are_means_drawn_to_the_mean_of_all(ridge):
    z, y, association = random_rows()
    found = cells_of(cell_sums(association, z[:, :0], y), ridge, 1.0)
    assert found.slope.shape == (4, 0, 2)
    expected = constants(y, association, ridge)
    np.testing.assert_allclose(found.intercept, expected, rtol=1e-12)


def test_features_that_say_nothing_new_or_nothing_at_all():
    """A copy, a multiple, a constant: predictions are those without them."""
    z, y, association = random_rows()
    few = cells_of(cell_sums(association, z, y), 1.0, 0.0)
    # Rounding is all that the variance of a constant is.
    wide = np.hstack([z, np.full((len(z), 1), 1e5 + 0.1)])
    sums = cell_sums(association, wide, y)
    slope, _, scale = line_of(sums, 0.0, 0.05)
    np.testing.assert_array_equal(slope[3], 0.0)
    np.testing.assert_array_equal(scale[3], 1.0)
    assert (line_of(sums, 0.0)[2][3] < 0.05) and (line_of(sums, 0.0)[2][3] != 1.0)
    found = cells_of(sums, 1.0, 0.0, 0.05)
    np.testing.assert_allclose(found.slope[:, :3], few.slope, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(
        found.blend(association, wide), few.blend(association, z), rtol=1e-4, atol=1e-4
    )
    exact = np.hstack([z, np.zeros((len(z), 1))])
    found = cells_of(cell_sums(association, exact, y), 1.0, 0.0)
    np.testing.assert_allclose(found.slope[:, :3], few.slope, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(found.slope[:, 3], 0.0)
    wide = np.hstack([z, z[:, :1], -3.0 * z[:, 1:2]])
    found = cells_of(cell_sums(association, wide, y), 1e-3, 0.0)
    few = cells_of(cell_sums(association, z, y), 1e-3, 0.0)
    np.testing.assert_allclose(
        found.blend(association, wide), few.blend(association, z), rtol=1e-3, atol=1e-3
    )
    # The copies share the slope.
    np.testing.assert_allclose(found.slope[:, 0], found.slope[:, 3], rtol=1e-3)


def test_cells_without_rows_have_the_global_fit():
    z, y, association = random_rows()
    association[1] = 0.0
    for features in (z, z[:, :0]):
        sums = cell_sums(association, features, y)
        slope, intercept, _ = line_of(sums, 1.0)
        found = cells_of(sums, 0.5, 1.0)
        np.testing.assert_allclose(found.slope[1], slope, rtol=1e-12)
        np.testing.assert_allclose(found.intercept[1], intercept, rtol=1e-12)
        # And no others' change for it.
        without = cells_of(cell_sums(association[[0, 2, 3]], features, y), 0.5, 1.0)
        np.testing.assert_allclose(found.slope[[0, 2, 3]], without.slope, rtol=1e-9)


def test_cells_of_one_row_or_equal_rows_have_the_slope_of_all():
    z, y, association = random_rows()
    association = np.zeros_like(association)
    association[0, :40], association[1, 40:] = 1.0, 1.0
    association[2, 50], association[1, 50] = 2.0, 0.0
    association[3, 60:62], association[1, 60:62] = 1.0, 0.0
    z[61] = z[60]
    sums = cell_sums(association, z, y)
    slope, _, _ = line_of(sums, 0.0)
    found = cells_of(sums, 1.0, 0.0)
    np.testing.assert_allclose(found.slope[2:], [slope] * 2, rtol=1e-7, atol=1e-8)
    # Through the mean of the cell, but for the draw of 0.3 rows.
    expected = local_lines(z, y, association, 1.0, 0.0)[1]
    np.testing.assert_allclose(found.intercept, expected, rtol=1e-7, atol=1e-7)


def test_linear_targets_leave_no_error():
    """Of a line nothing is lost, however few the rows or strong the ridge."""
    z, _, association = random_rows()
    line = np.array([[0.5, -1.0], [2.0, 0.0], [30.0, 4.0]])
    y = z @ line + [3.0, -40.0]
    for ridge in (0.01, 1.0, 100.0):
        found = cells_of(cell_sums(association, z, y), ridge, 0.0)
        # The least spread draws by 1e-6.
        np.testing.assert_allclose(found.slope, [line] * 4, rtol=1e-4, atol=1e-4)


def test_units_of_features_and_targets_change_nothing():
    z, y, association = random_rows()
    found = cells_of(cell_sums(association, z, y), 1.0, 10.0)
    units, unit = np.array([1e4, 1e-3, 7.0]), np.array([100.0, 1e-2])
    other = cells_of(cell_sums(association, z * units, y * unit), 1.0, 10.0)
    np.testing.assert_allclose(
        other.slope * units[:, np.newaxis] / unit, found.slope, rtol=1e-7
    )
    np.testing.assert_allclose(other.intercept / unit, found.intercept, rtol=1e-7)


@pytest.mark.parametrize("n_features", [0, 1, 3])
def test_blend_is_that_of_loops(n_features):
    z, _, association = random_rows()
    association = association / association.sum(axis=0)
    random = np.random.default_rng(1)
    models = Coefficients(
        random.normal(size=(4, n_features, 2)), random.normal(size=(4, 2))
    )
    z = z[:, :n_features]
    expected = blended(z, models.slope, models.intercept, association)
    np.testing.assert_allclose(models.blend(association, z), expected, rtol=1e-11)
