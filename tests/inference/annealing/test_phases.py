"""Numbers drawn for rows that rounding does not change."""

import numpy as np
import pytest
import scipy.sparse as sp

from odalib.inference.annealing.draws import (
    INNER_FREQUENCY,
    OUTER_FREQUENCY,
    row_phases,
    uniforms_of,
)

from .test_draws import assert_uniform, assert_unrelated, grid_of_rows, rows_with_zeros

MEAN, SCALE = np.linspace(-0.5, 2.0, 5), 1.7


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
def test_phases_by_their_formula(layout):
    x = rows_with_zeros(30)
    outer, inner, offset = np.random.default_rng(7).uniform(1.0, 2.0, size=3)
    expected = [
        outer
        * OUTER_FREQUENCY
        * sum(
            np.sin(inner * INNER_FREQUENCY * (entry - mean) / SCALE + offset)
            for entry, mean in zip(row, MEAN, strict=True)
        )
        for row in x
    ]
    phases = row_phases(layout(x), MEAN, SCALE, 7)
    np.testing.assert_allclose(phases, expected, rtol=1e-13, atol=1e-8)


def numbers_of(x, turn=0, seed=7):
    scale = np.sqrt(np.mean((x - x.mean(axis=0)) ** 2))
    return uniforms_of(row_phases(x, x.mean(axis=0), scale, seed), turn)


def test_shift_units_and_order_change_numbers_by_rounding_only():
    x = rows_with_zeros()
    rows = np.random.default_rng(1).permutation(200)
    columns = np.random.default_rng(2).permutation(5)
    numbers = numbers_of(x)
    for same in (x + 10.0, 1e-7 * x, 3e9 * x, x[:, columns]):
        np.testing.assert_allclose(numbers_of(same), numbers, atol=1e-7, rtol=0.0)
    np.testing.assert_allclose(numbers_of(x[rows]), numbers[rows], atol=1e-8)


@pytest.mark.parametrize("turn", [0, 1, 2, 30])
def test_numbers_are_uniform(turn):
    for x in (grid_of_rows(), np.random.default_rng(0).normal(size=(4000, 3))):
        assert_uniform(numbers_of(x, turn))


def test_another_turn_or_seed_gives_other_numbers():
    x = grid_of_rows()
    drawn = [numbers_of(x, 0), numbers_of(x, 1), numbers_of(x, 2), numbers_of(x, 0, 8)]
    for i, numbers in enumerate(drawn):
        for others in drawn[:i]:
            assert_unrelated(numbers, others)


def test_neighbours_draw_unrelated_numbers():
    """Rows a ten-thousandth of the scale apart."""
    x = np.random.default_rng(0).normal(size=(4000, 2))
    together = numbers_of(np.concatenate([x, x + 1e-4]))
    assert_unrelated(together[:4000], together[4000:])


def test_numbers_are_never_zero():
    """For logarithms and quotients of them."""
    assert uniforms_of(np.array([1.0, 3.0, 0.0]), 0).tolist() == [
        np.finfo(float).tiny,
        np.finfo(float).tiny,
        1.0,
    ]
