"""Linear models of cells as further rows come, and as cells split and merge."""

from dataclasses import replace

import numpy as np
import pytest

from odalib.inference.annealing.batch import Batch
from odalib.inference.annealing.codebook import Codebook
from odalib.inference.annealing.divergences import as_divergence
from odalib.inference.annealing.lineage import joined_by, merged_into, split_of
from odalib.inference.annealing.local import moments
from odalib.inference.annealing.local.association import associate
from odalib.inference.annealing.local.base import Partition
from odalib.inference.annealing.local.linear_fits import cell_sums, fit_globally
from tests.oracles.divergences import CLOSED_FORMS, draw_rows
from tests.oracles.regressions import (
    local_lines,
    mean_of_nearest,
    slow_association,
)

from .regressions import (
    curved_batch,
    partition_of,
    spec_of,
)

names = pytest.mark.parametrize("name", CLOSED_FORMS)
D = CLOSED_FORMS["squared_euclidean"]


@pytest.mark.parametrize("slopes", [True, False], ids=["linear", "constant"])
def test_what_is_learnt_in_batches_is_a_fit_to_all_rows(slopes):
    """Of an old partition, where the nearest cell does not depend on the spread."""
    batch = curved_batch(n_rows=400)
    partition = partition_of(batch)
    spec = spec_of(blend=False, slopes=slopes)
    whole = spec.begin(batch, partition, None, 1)
    cells = spec.begin(batch[:50], partition, None, 1)
    for start, stop in ((50, 51), (51, 180), (180, 400)):
        cells = cells.learn(batch[start:stop], partition, None, None, 1e9)
    for found, expected in zip(
        cells.in_features(None), whole.in_features(None), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(cells.sums.weight, whole.sums.weight, rtol=1e-12)
    assert cells.spread == pytest.approx(whole.spread, rel=1e-10)
    assert cells.weight == pytest.approx(whole.weight, rel=1e-12)


def test_rows_are_tried_before_they_are_learnt():
    """At the temperature and by the models before, on the rows of each batch."""
    batch = curved_batch(n_rows=120)
    partition = partition_of(batch)
    cells = spec_of().begin(batch[:60], partition, None, 1)
    errors, sums = cells.errors, cells.sums
    for rows in (slice(60, 90), slice(90, 120)):
        piece = batch[rows]
        values, _ = cells.predict(piece.rows, partition, None)
        share = slow_association(D, piece.rows, partition.codebook, 1.6 * cells.spread)
        weighted = share * piece.weights
        errors = errors + weighted @ np.square(piece.targets - values)
        z, y = piece.rows - cells.offset, piece.targets - cells.centre
        sums = sums + cell_sums(weighted, z, y)
        cells = cells.learn(piece, partition, None, None, 1e9)
        np.testing.assert_allclose(cells.errors, errors, rtol=1e-6)
        np.testing.assert_allclose(cells.sums.zy, sums.zy, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("memory", [None, 600.0, 4096.0])
def test_models_average_over_fewer_rows_than_the_partition(memory):
    """In all over ``s n (n / r)^(p - 1)`` of n, shared out by the weights of cells."""
    random, n_rows, size = np.random.default_rng(0), 12_000, 200
    x = random.choice([0.0, 10.0], p=[0.8, 0.2], size=(n_rows, 1))
    y, weights = random.normal(size=(n_rows, 1)), random.uniform(0.5, 1.5, n_rows)
    shares = np.array([0.85, 0.15])
    codebook = Codebook(np.array([[0.0], [10.0]]), shares)
    partition = Partition(as_divergence("squared_euclidean"), codebook, None)
    batch = Batch(x, weights, y)
    spec = spec_of(blend=False, slopes=False, ridge=1e-9)
    cells = spec.begin(batch[:size], partition, None, 1)
    own = np.stack([x[:, 0] < 5.0, x[:, 0] > 5.0]) * weights
    held, age = own[:, :size].sum(axis=1), weights[:size].sum()
    totals = own[:, :size] @ (y[:size, 0] - cells.centre)
    for start in range(size, n_rows, size):
        rows = slice(start, start + size)
        cells = cells.learn(batch[rows], partition, None, memory, age)
        horizon = age if memory is None else min(age, memory)
        held += own[:, rows].sum(axis=1)
        totals += own[:, rows] @ (y[rows, 0] - cells.centre)
        for k in range(2):
            most = moments.LOCAL_SHARE * horizon * shares[k]
            most *= (horizon / moments.LOCAL_ROWS) ** (moments.LOCAL_POWER - 1.0)
            most = max(most, moments.ROWS_PER_SLOPE)
            if held[k] > most:
                totals[k] *= most / held[k]
                held[k] = most
        age += weights[rows].sum()
    np.testing.assert_allclose(cells.sums.weight, held, rtol=1e-9)
    found = cells.in_features(None)[1][:, 0]
    np.testing.assert_allclose(found - cells.centre, totals / held, atol=1e-9)
    if memory is None:
        assert held.sum() < 0.25 * n_rows
    else:
        assert 0.2 * memory < held.sum() < 0.4 * memory


def effective_rows(age, memory=None, slopes=False):
    """Weight of the sums of four cells, of which many rows have come."""
    batch = curved_batch()
    partition = partition_of(batch)
    cells = spec_of(blend=False, slopes=slopes).begin(batch, partition, None, 1)
    old = replace(cells, sums=cells.sums.scaled(np.full(4, 1e12)))
    return old.learn(batch, partition, None, memory, age).sums.weight


def test_the_ratio_of_the_steps_goes_to_zero():
    """Local models over partition: 10^-0.2 for ten times the rows."""
    ages = 10.0 ** np.arange(3, 9)
    ratios = np.array([effective_rows(age).sum() / age for age in ages])
    assert (ratios < 0.5).all()
    np.testing.assert_allclose(ratios[2:] / ratios[1:-1], 10.0**-0.2, rtol=1e-9)
    # A memory is the age of the partition at the most.
    np.testing.assert_array_equal(
        effective_rows(1e7, memory=1e5), effective_rows(1e5, memory=1e7)
    )


def test_no_cell_averages_over_fewer_rows_than_it_needs():
    least = moments.ROWS_PER_SLOPE
    np.testing.assert_allclose(effective_rows(1.0), [least] * 4)
    np.testing.assert_allclose(effective_rows(1.0, slopes=True), [4.0 * least] * 4)


def test_no_cell_averages_over_more_rows_than_the_partition_remembers():
    """However many it needs: those before were of other cells."""
    weights = partition_of(curved_batch()).codebook.weights
    found = effective_rows(1e9, memory=100.0, slopes=True)
    np.testing.assert_allclose(found, 100.0 * weights)
    assert (found < moments.ROWS_PER_SLOPE * 4).all()


def test_errors_and_spread_are_forgotten_as_models_are():
    batch = curved_batch(n_rows=800)
    partition = partition_of(batch)
    cells = spec_of(blend=False).begin(batch[:400], partition, None, 1)
    piece = batch[400:]
    later = cells.learn(piece, partition, None, 300.0, 1e9)
    share = slow_association(D, piece.rows, partition.codebook, None) * piece.weights
    values, _ = cells.predict(piece.rows, partition, None)
    errors = cells.errors + share @ np.square(piece.targets - values)
    held = cells.sums.weight + share.sum(axis=1)
    kept = later.sums.weight / held
    assert kept.min() < 0.5
    np.testing.assert_allclose(later.errors, kept[:, np.newaxis] * errors, rtol=1e-9)
    # Steps of the partition: ``1 - (1 - 1/N)^w`` for w of N.
    own = mean_of_nearest(D, piece.rows, piece.weights, partition.codebook)
    heavy = piece.weights.sum()
    step = 1.0 - (1.0 - 1.0 / 300.0) ** heavy
    assert step > 1.2 * heavy / (heavy + cells.weight)
    expected = cells.spread + step * (own - cells.spread)
    assert later.spread == pytest.approx(expected, rel=1e-9)


def test_halves_begin_with_the_model_of_the_whole_as_that_of_few_rows():
    """What the whole was says little of a half: it counts for eight rows."""
    batch = curved_batch()
    partition = partition_of(batch)
    cells = spec_of(blend=False, ridge=1e-6).begin(batch, partition, None, 1)
    chosen = np.array([False, True, False, False])
    # Fewer than sixteen rows are too few to be forgotten.
    for weight, expected in ((100.0, 8.0), (10.0, 5.0)):
        factors = np.array([1.0, weight / cells.sums.weight[1], 1.0, 1.0])
        before = replace(
            cells,
            sums=cells.sums.scaled(factors),
            errors=cells.errors * factors[:, np.newaxis],
        )
        halves = before.inherit(split_of(chosen))
        np.testing.assert_allclose(halves.sums.weight[3:], expected, rtol=1e-12)
        np.testing.assert_array_equal(
            halves.sums.weight[:3], cells.sums.weight[[0, 2, 3]]
        )
        slope, intercept = before.in_features(None)
        found = halves.in_features(None)
        for half in (3, 4):
            np.testing.assert_allclose(found[0][half], slope[1], rtol=1e-4, atol=1e-4)
            np.testing.assert_allclose(found[1][half], intercept[1], rtol=1e-4)
            np.testing.assert_allclose(
                halves.errors[half] / expected, before.errors[1] / weight, rtol=1e-9
            )
    assert halves.spread == cells.spread


def test_merged_cells_are_those_of_the_rows_of_both():
    batch = curved_batch()
    partition = partition_of(batch)
    cells = spec_of(blend=False, ridge=1e-6).begin(batch, partition, None, 1)
    merged = cells.inherit(merged_into(np.array([0, 0, 1, 2])))
    share = associate(batch.rows, partition, None, None)
    together = np.stack([share[0] + share[1], share[2], share[3]]) * batch.weights
    expected = local_lines(batch.rows, batch.targets, together, 1e-6, 3.0)
    for one, other in zip(merged.in_features(None), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)
    assert merged.spread == cells.spread
    errors = cells.errors[0] + cells.errors[1]
    np.testing.assert_allclose(merged.errors[0], errors, rtol=1e-12)


@pytest.mark.parametrize(
    "lineage",
    [joined_by(4, 2), merged_into(np.array([0, 0, 1, 1]), 3)],
    ids=["joined", "nothing went into the last"],
)
def test_cells_that_inherit_nothing_begin_with_the_global_fit(lineage):
    batch = curved_batch()
    cells = spec_of().begin(batch, partition_of(batch), None, 1)
    found = cells.inherit(lineage)
    own = np.flatnonzero(np.diff(lineage.indptr) == 0)
    np.testing.assert_array_equal(found.sums.weight[own], 0.0)
    assert found.sums.weight.sum() == pytest.approx(cells.sums.weight.sum())
    slope, intercept, _ = fit_globally(cells.sums, 3.0, np.zeros(3))
    for cell in own:
        np.testing.assert_allclose(found.coefficients.slope[cell], slope, rtol=1e-9)
        np.testing.assert_allclose(
            found.coefficients.intercept[cell], intercept, rtol=1e-9, atol=1e-9
        )
        # And the variance of all.
        mean = cells.errors.sum(axis=0) / cells.sums.weight.sum()
        np.testing.assert_allclose(found.variance[cell], mean, rtol=1e-9)


@names
def test_merged_cells_vary_by_what_their_rows_do(name):
    """Of all rows about the means of the cells that theirs went into, row by row."""
    x, random = draw_rows(name, 60, 2, 0), np.random.default_rng(0)
    weights, labels = random.uniform(0.5, 2.0, 60), x[:, 0].argsort().argsort() // 12
    groups = np.array([1, 0, 0, 2, 1])

    def means(labels, n_cells):
        points = [
            np.average(x[labels == i], axis=0, weights=weights[labels == i])
            for i in range(n_cells)
        ]
        shares = np.bincount(labels, weights) / weights.sum()
        return Codebook(np.array(points), shares)

    def spread(codebook, labels):
        apart = [
            CLOSED_FORMS[name](row, codebook.points[i])
            for row, i in zip(x, labels, strict=True)
        ]
        return np.average(apart, weights=weights)

    fine, coarse = means(labels, 5), means(groups[labels], 3)
    before, after = (
        Partition(as_divergence(name), codebook, None) for codebook in (fine, coarse)
    )
    batch = Batch(x, weights, x.copy())
    cells = replace(
        spec_of().begin(batch, before, None, 1), spread=spread(fine, labels)
    )
    found = cells.regrouped(merged_into(groups), before, after)
    expected = spread(coarse, groups[labels])
    assert found.spread == pytest.approx(expected, rel=1e-9)
    assert expected > 1.02 * cells.spread
    assert found.sums.weight.sum() == pytest.approx(weights.sum(), rel=1e-8)


@pytest.mark.parametrize("blend", [True, False], ids=["blend", "nearest"])
def test_merged_cells_regress_as_predicts_best_with_about_as_many(blend):
    """In ratio, five are nearer to eight than to three."""
    batch = curved_batch()
    partition = partition_of(batch, n_codevectors=8)
    table = ((8, 1.6, 2.0, (3.0, 0.0)), (3, 0.8, 100.0, (12.0, 5.0)))
    cells = spec_of(blend=blend, by_size=table).begin(batch, partition, None, 1)
    fixed = spec_of(blend=blend).begin(batch, partition, None, 1)
    assert (cells.warmth, cells.ridge) == (1.6 if blend else None, 2.0)
    for number, warmth, ridge in ((5, 1.6, 2.0), (4, 0.8, 100.0), (1, 0.8, 100.0)):
        lineage = merged_into(np.minimum(np.arange(8), number - 1))
        shares = partition.codebook.weights
        weights = lineage @ shares
        points = lineage @ (shares[:, np.newaxis] * partition.codebook.points)
        codebook = Codebook(points / weights[:, np.newaxis], weights)
        after = replace(partition, codebook=codebook)
        found = cells.regrouped(lineage, partition, after)
        assert (found.warmth, found.ridge) == (warmth if blend else None, ridge)
        # Errors are four times those of eight codevectors, or unknown in ratio.
        rise = [1.0 if number == 5 else 4.0, 1.0]
        expected = rise * (lineage @ cells.errors)
        np.testing.assert_allclose(found.errors, expected, rtol=1e-12)
        # What was not chosen stays.
        found = fixed.regrouped(lineage, partition, after)
        assert (found.warmth, found.ridge) == (fixed.warmth, fixed.ridge)
