"""What a path tells of its levels."""

import numpy as np
import pytest

from odalib.inference.annealing.codebook import Codebook
from odalib.inference.annealing.divergences import as_divergence
from odalib.inference.annealing.path import AnnealingPath, Level

DIVERGENCE = as_divergence("squared_euclidean")


def level(number):
    codebook = Codebook(
        np.full((number, 2), 1.5 * number), np.full(number, 1.0 / number)
    )
    return Level(
        temperature=8.0 / number,
        codebook=codebook,
        distortion=0.5,
        entropy=0.25,
        free_energy=0.125,
        n_passes=number,
        n_samples=10.0 * number,
    )


@pytest.mark.parametrize("shift", [None, np.array([10.0, -1.0])])
def test_a_path_is_columns_of_its_levels_in_the_units_of_the_data(shift):
    path = AnnealingPath([level(1), level(2), level(4)], DIVERGENCE, shift)
    assert len(path) == 3
    np.testing.assert_array_equal(path.temperature, [8.0, 4.0, 2.0])
    np.testing.assert_array_equal(path.n_codevectors, [1, 2, 4])
    np.testing.assert_array_equal(path.distortion, 0.5)
    np.testing.assert_array_equal(path.entropy, 0.25)
    np.testing.assert_array_equal(path.free_energy, 0.125)
    np.testing.assert_array_equal(path.n_samples, [10.0, 20.0, 40.0])
    assert path.n_codevectors.dtype.kind == "i"
    for number, points, weights in zip(
        (1, 2, 4), path.codebooks, path.weights, strict=True
    ):
        expected = np.full((number, 2), 1.5 * number) + (
            0.0 if shift is None else shift
        )
        np.testing.assert_array_equal(points, expected)
        np.testing.assert_array_equal(weights, 1.0 / number)


def test_representation():
    path = AnnealingPath([level(1), level(4), level(2)], DIVERGENCE, None)
    text = "AnnealingPath(3 levels, temperature 8 to 4, 1 to 4 codevectors)"
    assert repr(path) == text
    assert repr(AnnealingPath([], DIVERGENCE, None)) == "AnnealingPath(0 levels)"
