"""The longest plateau, on paths made by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from odalib.inference.annealing.plateau import longest_plateau


def levels_of(sizes, cooling=0.5):
    return [
        SimpleNamespace(temperature=cooling**i, codebook=np.empty(size))
        for i, size in enumerate(sizes)
    ]


@pytest.mark.parametrize(
    ("sizes", "number", "last", "strength"),
    [
        ([1, 1, 1, 2, 3, 3, 3, 5, 8], 3, 6, 3.0),
        ([1, 2, 2, 2, 4, 4, 5], 2, 3, 1.5),
        # One codevector does not count, however long.
        ([1, 1, 1, 1, 2, 2, 3, 4], 2, 5, 2.0),
        # Cut short by the end of the path: as far as it goes.
        ([1, 2, 2, 4, 4, 4, 4], 4, 6, 1.5),
        # Runs of the same number apart are two.
        ([1, 2, 2, 3, 3, 3, 2, 2, 4], 3, 5, 1.5),
    ],
)
def test_longest_run(sizes, number, last, strength):
    plateau = longest_plateau(levels_of(sizes), 30)
    assert plateau.n_codevectors == number
    assert plateau.temperature == 0.5**last
    assert plateau.strength == pytest.approx(strength, rel=1e-12)


def test_numbers_above_the_largest_are_not_taken():
    plateau = longest_plateau(levels_of([1, 2, 2, 3, 6, 6, 6, 6, 7]), 5)
    assert plateau.n_codevectors == 2
    assert plateau.strength == pytest.approx(2.0, rel=1e-12)


@pytest.mark.parametrize("sizes", [[1], [1, 1, 1]])
def test_one_codevector_where_there_are_never_more(sizes):
    plateau = longest_plateau(levels_of(sizes), 30)
    assert plateau.n_codevectors == 1
    assert plateau.temperature == 0.5 ** (len(sizes) - 1)
    assert plateau.strength == np.inf


def test_strength_without_a_rival():
    assert longest_plateau(levels_of([1, 3, 3]), 30).strength == np.inf


def test_length_is_over_log_temperature_not_over_levels():
    """Two levels while the temperature falls a thousandfold, three while twofold."""
    levels = levels_of([1, 2, 2, 3, 3, 3, 4])
    for level, temperature in zip(
        levels, [9e3, 8e3, 80.0, 8.0, 7.0, 6.0, 4.0], strict=True
    ):
        level.temperature = temperature
    plateau = longest_plateau(levels, 30)
    assert plateau.n_codevectors == 2
    assert plateau.strength == pytest.approx(np.log(1000.0) / np.log(2.0), rel=1e-12)
