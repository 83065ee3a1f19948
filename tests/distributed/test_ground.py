"""What a fit rests on, found in rounds, against the same found in memory."""

import dask.array as da
import numpy as np
import pytest

from odalib.distributed._blocks import Blocks
from odalib.distributed._ground import DistantRows, distant_ground
from odalib.inference.annealing.codebook import Codebook
from odalib.inference.annealing.draws import priority_sample
from odalib.inference.annealing.fit import SAMPLE_SIZE, Ground
from odalib.inference.annealing.local.axes import slope_axes
from odalib.inference.annealing.refine import harden
from odalib.inference.annealing.rows import RowBlocks
from tests.oracles.divergences import draw_rows

from ..inference.annealing.problems import make_settings

N_ROWS = 3 * SAMPLE_SIZE // 2


def both_grounds(client, X, weights, settings, groups=None, n_blocks=4):
    """Ground of rows in memory, and of the same rows on workers."""
    expected = Ground.of_rows(X, weights, settings, 1, groups)
    size = -(-len(X) // n_blocks)
    parts = [
        None if one is None else da.from_array(one, chunks=(size, *one.shape[1:]))
        for one in (X, groups, weights)
    ]
    blocks = Blocks.of(*parts, client).usable()
    n_groups = None if groups is None else groups.max() + 1
    return expected, distant_ground(blocks, settings, n_groups=n_groups)


def problem(case, n_rows=N_ROWS):
    random = np.random.default_rng(3)
    X = draw_rows("squared_euclidean", n_rows, 3, 0)
    weights = random.uniform(0.2, 2.0, size=n_rows)
    if case == "equal rows":
        # Some 4,000 distinct ones, most of them in every block.
        X = np.round(3.0 * X)
    # Of another power of two than all other blocks.
    X[7] *= 30.0
    groups = None
    if case == "groups":
        groups = (random.random(n_rows) * 3).astype(np.int64)
        groups[[5, 4000]] = 3
        weights[[5, 4000]] = 1e-3
    return X, weights, groups


@pytest.mark.parametrize("case", ["plain", "equal rows", "groups"])
def test_ground_is_that_of_memory(threads, case):
    X, weights, groups = problem(case)
    settings = make_settings()
    expected, found = both_grounds(threads, X, weights, settings, groups)
    np.testing.assert_allclose(found.shift, expected.shift, atol=1e-14)
    np.testing.assert_allclose(
        found.whole.total_phi, expected.whole.total_phi, rtol=1e-12
    )
    own, other = found.problem.rows, expected.problem.rows
    assert own.n_rows == other.n_rows
    every = slice(None)
    np.testing.assert_allclose(own.select(every), other.select(every), atol=1e-13)
    np.testing.assert_allclose(own.row_weights, other.row_weights, rtol=1e-9)
    if groups is not None:
        np.testing.assert_array_equal(own.groups, other.groups)
        assert 3 in own.groups


@pytest.mark.parametrize("case", ["plain", "groups"])
def test_hard_steps_are_those_of_memory_empty_cells_too(threads, case):
    X, weights, groups = problem(case)
    settings = make_settings()
    expected, found = both_grounds(threads, X, weights, settings, groups)
    near = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 0.0], [-1.0, 0.0, 1.0], [0, 1, 0]])
    points = np.concatenate([near, near + 500.0])
    own = None if groups is None else np.tile(np.arange(4), 2)
    codebook = Codebook(points, np.full(8, 0.125), own)
    for n_steps in (1, 4):
        one, other = (
            harden(ground.whole, codebook, 7, n_steps, 0.0)
            for ground in (expected, found)
        )
        assert len(one.codebook) == len(other.codebook) == 7
        assert other.labels is None
        np.testing.assert_allclose(
            other.codebook.points, one.codebook.points, atol=1e-10
        )
        np.testing.assert_allclose(
            other.codebook.weights, one.codebook.weights, rtol=1e-10
        )
        np.testing.assert_allclose(other.distortion, one.distortion, rtol=1e-10)
        if groups is not None:
            np.testing.assert_array_equal(other.codebook.groups, one.codebook.groups)


def test_rows_far_away_tell_what_rows_tell(threads):
    random = np.random.default_rng(0)
    X = random.standard_normal((300, 130)) * np.linspace(0.5, 3.0, 130)
    weights = random.uniform(0.5, 2.0, size=300)
    shift = X.mean(axis=0) + 0.1
    parts = [da.from_array(one, chunks=(70, *one.shape[1:])) for one in (X, weights)]
    blocks = Blocks.of(parts[0], None, parts[1], threads)
    found, expected = DistantRows(blocks, shift), RowBlocks(X, weights, shift)
    for one, other in ((found, expected), (found.leading(5), expected.leading(5))):
        for own, value in zip(
            one.mean_and_scale(), other.mean_and_scale(), strict=True
        ):
            np.testing.assert_allclose(own, value, rtol=1e-10)
        np.testing.assert_allclose(one.covariance(), other.covariance(), atol=1e-12)
    axes, expected_axes = slope_axes(found), slope_axes(expected)
    # The same up to signs, which rounding may turn.
    turned = np.sign(np.sum(axes * expected_axes, axis=0))
    np.testing.assert_allclose(axes * turned, expected_axes, atol=1e-6)


def test_row_of_a_missed_group_stands_for_rows_left_out_before():
    weights, groups = np.array([5.0, 4.0, 1.0, 2.0]), np.array([0, 0, 1, 1])
    ones = np.ones(4)
    for totals, missed in ((None, 3.0), (np.array([9.0, 70.0]), 70.0)):
        kept, sampled = priority_sample(weights, ones, ones, 1, groups, totals)
        np.testing.assert_array_equal(kept, [0, 3])
        np.testing.assert_array_equal(sampled, [5.0, missed])
