"""Linear models of cells, fitted to all rows."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from odalib.inference.annealing.batch import Batch
from odalib.inference.annealing.codebook import Codebook
from odalib.inference.annealing.divergences import Mahalanobis, as_divergence
from odalib.inference.annealing.local import axes as axes_module
from odalib.inference.annealing.local.association import associate
from odalib.inference.annealing.local.axes import slope_axes
from odalib.inference.annealing.local.base import Partition
from odalib.inference.annealing.local.moments import (
    as_held_out,
    cell_sums,
    mean_divergence,
    mixed_errors,
)
from odalib.inference.annealing.rows import RowBlocks
from odalib.inference.annealing.targets import WithTargets
from tests.oracles.divergences import CLOSED_FORMS
from tests.oracles.regressions import (
    blended,
    constants,
    local_lines,
    mean_of_nearest,
    slow_association,
)

from .regressions import (
    curved_batch,
    dense,
    partition_of,
    spec_of,
    tree_partition,
)

names = pytest.mark.parametrize("name", CLOSED_FORMS)
D = CLOSED_FORMS["squared_euclidean"]
SHIFT = np.array([30.0, -4.0, 1.0])


@names
@pytest.mark.parametrize("temperature", [None, 0.5, 20.0])
def test_association_is_gibbs_or_the_nearest(name, temperature):
    batch = curved_batch(name)
    partition = partition_of(batch, name)
    expected = slow_association(
        CLOSED_FORMS[name], batch.rows, partition.codebook, temperature
    )
    for rows in (batch.rows, sp.csr_matrix(batch.rows)):
        found = associate(rows, partition, None, temperature)
        # Less than 1e-9 is nothing.
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1.1e-9)
    cold = associate(batch.rows, partition, None, 1e-2)
    assert ((cold == 0.0) | (cold >= 1e-9)).all()
    assert (cold == 0.0).any()


@pytest.mark.parametrize("temperature", [None, 3.0])
def test_association_stays_within_the_cell_above(temperature):
    batch = curved_batch()
    partition = tree_partition(
        partition_of(batch, n_codevectors=6), np.array([2, 0, 2, 1, 0, 0])
    )
    parents = np.arange(len(batch)) % 3
    found = associate(batch.rows, partition, parents, temperature)
    expected = slow_association(
        D, batch.rows, partition.codebook, temperature, parents, [2, 0, 2, 1, 0, 0]
    )
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1.1e-9)
    np.testing.assert_allclose(found.sum(axis=0), 1.0, rtol=1e-8)


@names
@pytest.mark.parametrize("blend", [True, False], ids=["blend", "nearest"])
@pytest.mark.parametrize("slopes", [True, False], ids=["linear", "constant"])
def test_cells_begin_with_all_rows(name, blend, slopes):
    batch = curved_batch(name)
    partition = partition_of(batch, name)
    cells = spec_of(blend=blend, slopes=slopes).begin(batch, partition, None, 1)
    d = CLOSED_FORMS[name]
    spread = mean_of_nearest(d, batch.rows, batch.weights, partition.codebook)
    assert cells.spread == pytest.approx(spread, rel=1e-9)
    assert cells.weight == pytest.approx(batch.weights.sum(), rel=1e-12)
    assert cells.n_targets == 2
    temperature = 1.6 * spread if blend else None
    assert cells.warmth == (1.6 if blend else None)
    if blend:
        assert cells.temperature == pytest.approx(temperature, rel=1e-9)
    else:
        assert cells.temperature is None
    share = slow_association(d, batch.rows, partition.codebook, temperature)
    weighted = share * batch.weights
    np.testing.assert_allclose(
        cells.sums.weight, weighted.sum(axis=1), rtol=1e-7, atol=1e-7
    )
    if slopes:
        slope, intercept = local_lines(batch.rows, batch.targets, weighted, 2.0, 3.0)
    else:
        slope = np.zeros((4, 3, 2))
        intercept = constants(batch.targets, weighted, 2.0)
    found = cells.in_features(None)
    np.testing.assert_allclose(found[0], slope, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found[1], intercept, rtol=1e-5, atol=1e-4)
    expected = blended(batch.rows, slope, intercept, share)
    values, variance = cells.predict(batch.rows, partition, None)
    np.testing.assert_allclose(values, expected, rtol=1e-5, atol=1e-5)
    # The spread of targets about predictions, of each cell and drawn to that of all.
    errors = weighted @ np.square(batch.targets - expected)
    np.testing.assert_allclose(cells.errors, errors, rtol=1e-5)
    by_cell = slow_variance(errors, weighted.sum(axis=1))
    np.testing.assert_allclose(cells.variance, by_cell, rtol=1e-5)
    np.testing.assert_allclose(variance, share.T @ by_cell, rtol=1e-5)


def slow_variance(errors, weight):
    """Mean of the squared errors of a cell and of ten rows with that of all cells."""
    mean = errors.sum(axis=0) / weight.sum()
    return np.array(
        [
            (own + 10.0 * mean) / (heavy + 10.0)
            for own, heavy in zip(errors, weight, strict=True)
        ]
    )


def test_variance_of_cells_by_hand():
    errors, weight = np.array([[6.0], [0.0], [34.0]]), np.array([3.0, 0.0, 17.0])
    # 40 of 20 rows: two a row.
    np.testing.assert_allclose(
        mixed_errors(errors, weight), [[26.0 / 13.0], [2.0], [54.0 / 27.0]]
    )


def test_errors_are_those_of_rows_held_out():
    """Shared out as those of the rows learnt are, or evenly where these are none."""
    errors = np.array([[6.0, 0.0], [2.0, 0.0]])
    weight = np.array([3.0, 1.0])
    found = as_held_out(errors, weight, (10.0, 5.0))
    np.testing.assert_allclose(found, [[30.0, 15.0], [10.0, 5.0]])
    assert as_held_out(errors, weight, None) is errors
    batch = curved_batch()
    cells = spec_of(held_out_error=(1.5, 7.0)).begin(
        batch, partition_of(batch), None, 1
    )
    total = batch.weights.sum() * np.array([1.5, 7.0])
    np.testing.assert_allclose(cells.errors.sum(axis=0), total, rtol=1e-9)


@pytest.mark.parametrize(
    ("layout", "shift"),
    [(np.asarray, None), (np.asarray, SHIFT), (sp.csr_matrix, None)],
    ids=["dense", "shift", "csr"],
)
def test_models_are_those_of_rows_as_they_came(layout, shift):
    batch = curved_batch()
    offset = 0.0 if shift is None else shift
    batch = replace(batch, rows=layout(batch.rows + offset))
    partition = partition_of(batch, shift=shift)
    cells = spec_of().begin(batch, partition, None, 1)
    slope, intercept = cells.in_features(shift)
    block = dense(batch.rows) - offset
    share = associate(block, partition, None, cells.temperature)
    expected = blended(dense(batch.rows), slope, intercept, share)
    rows = block if shift is not None else batch.rows
    values, _ = cells.predict(rows, partition, None)
    np.testing.assert_allclose(values, expected, rtol=1e-9)
    assert not np.allclose(slope[0], slope[1], rtol=0.1)


def many_features(n_rows=300, n_features=140, n_axes=128, gap=0.02, seed=0):
    """Rows that vary mostly along 128 of 140 axes, and those."""
    random = np.random.default_rng(seed)
    scores = random.normal(size=(n_rows, n_features))
    scales = np.geomspace(4.0, 1.0, n_features)
    scales[n_axes:] *= gap
    turned, _ = np.linalg.qr(random.normal(size=(n_features, n_features)))
    return scores * scales @ turned.T + random.normal(size=n_features)


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
def test_slopes_lie_along_the_principal_axes(layout):
    x, weights = many_features(), np.random.default_rng(1).uniform(0.5, 2.0, 300)
    mean = np.average(x, axis=0, weights=weights)
    _, _, principal = np.linalg.svd(np.sqrt(weights)[:, np.newaxis] * (x - mean))
    axes = slope_axes(RowBlocks(layout(x), weights))
    assert axes.shape == (140, 128)
    np.testing.assert_allclose(axes.T @ axes, np.eye(128), atol=1e-12)
    # Cosines of the angles between the two subspaces.
    cosines = np.linalg.svd(axes.T @ principal[:128].T, compute_uv=False)
    np.testing.assert_allclose(cosines, 1.0, atol=1e-9)
    again = slope_axes(RowBlocks(layout(x), weights, n_jobs=2))
    np.testing.assert_array_equal(again, axes)
    assert slope_axes(RowBlocks(layout(x[:, :128]), weights)) is None


def test_axes_hold_nearly_as_much_variance_as_any():
    """Where the spectrum has no gap, subspace iteration need not find the very axes."""
    x = many_features(gap=1.0)
    values = np.linalg.eigvalsh(np.cov(x, rowvar=False, ddof=0))
    axes = slope_axes(RowBlocks(x, np.ones(300)))
    held = np.trace(axes.T @ np.cov(x, rowvar=False, ddof=0) @ axes)
    assert 0.999 * values[-128:].sum() < held <= values[-128:].sum() * (1 + 1e-12)


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
def test_models_along_axes_are_those_of_all_features(layout, monkeypatch):
    """Of three features, two: the third slope is what the axes make of it."""
    monkeypatch.setattr(axes_module, "MOST_SLOPES", 2)
    batch = curved_batch()
    batch = replace(batch, rows=layout(batch.rows))
    partition = partition_of(batch)
    cells = spec_of().begin(batch, partition, None, 1)
    axes = slope_axes(RowBlocks(batch.rows, batch.weights))
    np.testing.assert_array_equal(cells.axes, axes)
    share = associate(batch.rows, partition, None, cells.temperature)
    x = dense(batch.rows)
    slope, intercept = local_lines(
        x @ axes, batch.targets, share * batch.weights, 2.0, 3.0
    )
    found = cells.in_features(None)
    whole = np.einsum("dq,kqm->kdm", axes, slope)
    np.testing.assert_allclose(found[0], whole, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found[1], intercept, rtol=1e-5)
    expected = blended(x, *found, share)
    values, _ = cells.predict(batch.rows, partition, None)
    np.testing.assert_allclose(values, expected, rtol=1e-9)


def test_blocks_and_threads_change_no_bit():
    batch, partition = curved_batch(n_rows=20_000), None
    partition = partition_of(batch, n_codevectors=50)
    one, two = (spec_of().begin(batch, partition, None, n_jobs) for n_jobs in (1, 2))
    for name in ("weight", "z", "y", "zz", "zy"):
        np.testing.assert_array_equal(getattr(one.sums, name), getattr(two.sums, name))
    np.testing.assert_array_equal(one.errors, two.errors)
    # Blocks of 5,242 rows: sums over all rows at once.
    share = associate(batch.rows, partition, None, one.temperature) * batch.weights
    z, y = batch.rows - one.offset, batch.targets - one.centre
    whole = cell_sums(share, z, y)
    np.testing.assert_allclose(one.sums.zy, whole.zy, rtol=1e-8, atol=1e-8)


def test_cells_of_a_tree_learn_rows_of_their_own_cell_only():
    batch, above = curved_batch(), np.array([0, 0, 1, 1, 1])
    partition = tree_partition(partition_of(batch, n_codevectors=5), above)
    parents = (batch.rows[:, 1] > 0.4).astype(int)
    cells = spec_of(ridge=1e-6).begin(batch, partition, parents, 1)
    share = slow_association(
        D, batch.rows, partition.codebook, cells.temperature, parents, above
    )
    slope, intercept = local_lines(
        batch.rows, batch.targets, share * batch.weights, 1e-6, 3.0
    )
    values, _ = cells.predict(batch.rows, partition, parents)
    expected = blended(batch.rows, slope, intercept, share)
    np.testing.assert_allclose(values, expected, rtol=1e-4, atol=1e-4)


def test_hidden_columns_do_not_decide_cells():
    """Codevectors that were annealed with targets, and compared without them."""
    batch = curved_batch()
    points = np.random.default_rng(0).normal(size=(4, 5))
    codebook = Codebook(points, np.full(4, 0.25))
    divergence = WithTargets(as_divergence("squared_euclidean"), 0.5, 2)
    shift = np.arange(5.0)
    partition = Partition.of(divergence, codebook, shift)
    assert partition.divergence is divergence.base
    np.testing.assert_array_equal(partition.codebook.points, points[:, :3])
    np.testing.assert_array_equal(partition.shift, [0.0, 1.0, 2.0])
    plain = Partition.of(divergence.base, codebook, shift)
    assert plain.codebook is codebook
    assert plain.shift is shift
    assert Partition.of(divergence, codebook, None).shift is None
    found = associate(batch.rows, partition, None, 1.0)
    expected = slow_association(D, batch.rows, partition.codebook, 1.0)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1.1e-9)


def test_temperature_where_rows_equal_their_codevectors():
    """Their spread is the rounding of phi, 1e-12 of its mean, which is 12.5."""
    x = np.repeat([[0.0], [5.0]], 4, axis=0)
    codebook = Codebook(np.array([[0.0], [5.0]]), np.full(2, 0.5))
    partition = Partition(as_divergence("squared_euclidean"), codebook, None)
    batch = Batch(x, np.ones(8), x.copy())
    cells = spec_of(slopes=False, ridge=1e-9).begin(batch, partition, None, 1)
    assert cells.spread == pytest.approx(12.5e-12)
    assert cells.temperature == pytest.approx(1.6 * 12.5e-12)
    values, variance = cells.predict(x, partition, None)
    np.testing.assert_allclose(values, x, atol=1e-4)
    np.testing.assert_allclose(variance, 0.0, atol=1e-6)


def test_mean_divergence_is_that_of_loops():
    batch = curved_batch()
    precision = np.array([[2.0, 0.3, 0.0], [0.3, 1.0, 0.0], [0.0, 0.0, 0.5]])
    partition = replace(partition_of(batch), divergence=Mahalanobis(precision))

    def d(x, mu):
        return (x - mu) @ precision @ (x - mu)

    found = mean_divergence(RowBlocks(batch.rows, batch.weights), partition)
    expected = mean_of_nearest(d, batch.rows, batch.weights, partition.codebook)
    assert found == pytest.approx(expected, rel=1e-10)
    # In a tree, the nearest in their own cell.
    cells, parents = np.array([0, 1, 1, 0]), np.arange(80) % 2
    rows = RowBlocks(batch.rows, batch.weights, groups=parents)
    found = mean_divergence(rows, tree_partition(partition, cells))
    within = mean_of_nearest(
        d, batch.rows, batch.weights, partition.codebook, parents, cells
    )
    assert found == pytest.approx(within, rel=1e-10)
    assert within > 1.2 * expected


def test_targets_far_from_zero_keep_their_digits():
    batch = curved_batch()
    far = replace(batch, targets=batch.targets + 1e8)
    partition = partition_of(batch)
    near = spec_of().begin(batch, partition, None, 1)
    cells = spec_of().begin(far, partition, None, 1)
    slope, _ = cells.in_features(None)
    # The targets themselves are rounded to 1e-8.
    np.testing.assert_allclose(slope, near.in_features(None)[0], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(cells.variance, near.variance, rtol=1e-6)


def test_features_far_from_zero_keep_their_digits():
    """Of rows that are not shifted; and a constant has no slope, however far."""
    batch = curved_batch()
    partition = partition_of(batch)
    near = spec_of(blend=False).begin(batch, partition, None, 1)
    far, codebook = batch.rows + 1e6, partition.codebook
    there = replace(
        partition, codebook=Codebook(codebook.points + 1e6, codebook.weights)
    )
    for layout in (np.asarray, sp.csr_matrix):
        moved = replace(batch, rows=layout(far))
        cells = spec_of(blend=False).begin(moved, there, None, 1)
        slope, _ = cells.in_features(None)
        np.testing.assert_allclose(
            slope, near.in_features(None)[0], rtol=1e-6, atol=1e-6
        )
    wide = replace(batch, rows=np.hstack([batch.rows, np.full((80, 1), 1000.1)]))
    points = np.hstack([codebook.points, np.full((4, 1), 1000.1)])
    flat = replace(partition, codebook=Codebook(points, codebook.weights))
    cells = spec_of(blend=False).begin(wide, flat, None, 1)
    slope, _ = cells.in_features(None)
    np.testing.assert_allclose(slope[:, 3], 0.0, atol=1e-6)
    np.testing.assert_allclose(
        slope[:, :3], near.in_features(None)[0], rtol=1e-6, atol=1e-6
    )
