"""Codevectors move to where that lowers the distortion, and only there."""

import math

import numpy as np
import pytest

from odalib.inference.annealing.bifurcation import Axes
from odalib.inference.annealing.codebook import Codebook
from odalib.inference.annealing.divergences import as_divergence
from odalib.inference.annealing.relocate import refill_and_exchange
from tests.oracles.divergences import squared_euclidean

DIVERGENCE = as_divergence("squared_euclidean")
# A pair 1 apart, of which merging costs 1/8, and two codevectors on their own.
POINTS = np.array([[0.0, 0.0], [1.0, 0.0], [50.0, 0.0], [0.0, 80.0]])
CODEBOOK = Codebook(POINTS, np.full(4, 0.25))
DIRECTIONS = np.array([[0.0, math.sqrt(0.5)]] * 4)


def moved(critical, n_codevectors):
    axes = Axes(np.array(critical), DIRECTIONS)
    return refill_and_exchange(CODEBOOK, axes, DIVERGENCE, n_codevectors)


def assert_stays(critical, n_codevectors):
    codebook, lineage = moved(critical, n_codevectors)
    assert codebook is CODEBOOK
    assert lineage is None


def gain(critical):
    """Of splitting a Gaussian of variance v = T / 2 by its middle: w 2 v / pi."""
    return 0.25 * critical / math.pi


def test_gain_is_that_of_halving_a_gaussian():
    """Against the mean of the half normal distribution: 2 / pi of the variance."""
    random = np.random.default_rng(0)
    x = 3.0 * random.normal(size=200_000)
    variance = x.var()
    lowered = variance - np.mean((np.abs(x) - np.abs(x).mean()) ** 2)
    assert lowered * 0.25 == pytest.approx(gain(2.0 * variance), rel=5e-3)


def test_room_is_filled_with_what_gains_most():
    filled, lineage = moved([1.0, 2.0, 5.0, 4.0], 6)
    assert len(filled) == 6
    np.testing.assert_array_equal(filled.points[:2], POINTS[:2])
    step = math.sqrt(5.0 / math.pi * 0.5)
    np.testing.assert_allclose(filled.points[2], [50.0, step], rtol=1e-12)
    np.testing.assert_allclose(filled.points[4], [50.0, -step], rtol=1e-12)
    np.testing.assert_allclose(filled.weights, [0.25, 0.25, *[0.125] * 4])
    halves = [[0, 0, 0.5, 0], [0, 0, 0, 0.5]]
    expected = [[1, 0, 0, 0], [0, 1, 0, 0], *halves, *halves]
    np.testing.assert_array_equal(lineage.toarray(), expected)


def test_a_pair_is_merged_where_splitting_another_gains_more():
    """The rise is the weighted divergence from the common mean, 1/8."""
    rise = 2 * 0.25 * squared_euclidean([0.0, 0.0], [0.5, 0.0])
    assert rise == 0.125
    enough = 1.21 * rise / gain(1.0)
    exchanged, lineage = moved([0.0, 0.0, enough, 0.1], 4)
    assert len(exchanged) == 4
    np.testing.assert_allclose(exchanged.points[0], [0.5, 0.0], rtol=1e-14)
    np.testing.assert_array_equal(exchanged.points[1], POINTS[3])
    np.testing.assert_allclose(exchanged.points[2:, 0], 50.0)
    np.testing.assert_allclose(exchanged.weights, [0.5, 0.25, 0.125, 0.125])
    expected = [[1, 1, 0, 0], [0, 0, 0, 1], [0, 0, 0.5, 0], [0, 0, 0.5, 0]]
    np.testing.assert_array_equal(lineage.toarray(), expected)
    short = 1.19 * rise / gain(1.0)
    assert_stays([0.0, 0.0, short, 0.1], 4)


def test_a_codevector_that_splits_is_not_merged():
    """The only pair that costs little holds the codevector that gains."""
    assert_stays([9.0, 0.0, 0.1, 0.1], 4)


def test_nothing_is_gained_from_codevectors_without_spread():
    assert_stays([0.0, 0.0, 0.0, 0.0], 9)


def test_its_arguments_stay_as_they_are():
    before = CODEBOOK.points.copy(), CODEBOOK.weights.copy()
    moved([0.0, 0.0, 9.0, 9.0], 5)
    np.testing.assert_array_equal(CODEBOOK.points, before[0])
    np.testing.assert_array_equal(CODEBOOK.weights, before[1])
