"""Pairwise coupling against enumeration of the outcomes of all contests."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp

from odalib.inference.ep.coupling import couple, normalise


def pairs(n_classes):
    return list(combinations(range(n_classes), 2))


def random_pairs(n_classes, n_rows=40, smallest=1e-3):
    """Probabilities of the first of every pair, not of any one model."""
    random = np.random.default_rng(n_classes)
    return random.uniform(smallest, 1 - smallest, (n_rows, len(pairs(n_classes))))


def enumerate_contests(first, n_classes):
    """Probability that each class wins all of its contests, given that one does.

    Over the outcomes of all contests, each an independent draw.
    """
    total = np.zeros(n_classes)
    for outcome in product((True, False), repeat=len(first)):
        probability = np.prod(np.where(outcome, first, 1.0 - first))
        wins = np.zeros(n_classes, dtype=int)
        for won, (i, j) in zip(outcome, pairs(n_classes), strict=True):
            wins[i if won else j] += 1
        total[wins == n_classes - 1] += probability
    return total / total.sum()


@pytest.mark.parametrize("n_classes", [2, 3, 4, 5])
def test_the_winner_of_all_contests(n_classes):
    first = random_pairs(n_classes, n_rows=10)
    coupled = couple(np.log(first), np.log1p(-first))
    expected = [enumerate_contests(row, n_classes) for row in first]
    np.testing.assert_allclose(np.exp(coupled), expected, rtol=1e-12)


def test_three_classes_by_hand():
    """r_01 = 3/4, r_02 = 4/5, r_12 = 2/3: weights 3/5, 1/6 and 1/15, of 5/6."""
    first = np.array([[3 / 4, 4 / 5, 2 / 3]])
    weights = Fraction(3, 5), Fraction(1, 6), Fraction(1, 15)
    expected = [float(weight / sum(weights)) for weight in weights]
    coupled = couple(np.log(first), np.log1p(-first))
    np.testing.assert_allclose(np.exp(coupled[0]), expected, rtol=1e-14)


def test_two_classes_are_what_their_only_pair_says():
    first = random_pairs(2)
    coupled = couple(np.log(first), np.log1p(-first))
    np.testing.assert_allclose(np.exp(coupled), np.hstack([first, 1 - first]))


@given(st.permutations(range(5)))
def test_names_of_the_classes_do_not_matter(order):
    """Class c is renamed to ``order[c]``; each pair keeps its probabilities."""
    first = random_pairs(5)
    renamed = np.empty((len(first), 5, 5))
    for pair, (i, j) in enumerate(pairs(5)):
        renamed[:, order[i], order[j]] = np.log(first[:, pair])
        renamed[:, order[j], order[i]] = np.log1p(-first[:, pair])
    i, j = np.transpose(pairs(5))
    coupled = couple(renamed[:, i, j], renamed[:, j, i])
    expected = couple(np.log(first), np.log1p(-first))
    np.testing.assert_allclose(coupled[:, order], expected, rtol=1e-12)


def test_a_class_that_wins_by_far_and_those_that_lose():
    """Class 2 beats both others by exp(100000), which are alike."""
    lost, won = np.full((1, 1), -1e5), np.full((1, 1), -1e-300)
    even = np.full((1, 1), np.log(0.5))
    coupled = couple(np.hstack([even, lost, lost]), np.hstack([even, won, won]))
    np.testing.assert_allclose(coupled[0, :2], np.log(0.5) - 1e5, rtol=1e-15)
    assert coupled[0, 2] == 0.0


def test_the_largest_log_probability_keeps_its_digits():
    """Against the complement, which is small."""
    log_weights = np.array([[0.0, -40.0, -50.0], [-700.0, 0.0, -45.0]])
    expected = -np.exp([logsumexp([-40.0, -50.0]), logsumexp([-700.0, -45.0])])
    found = normalise(log_weights)
    np.testing.assert_allclose(found[[0, 1], [0, 1]], expected, rtol=1e-12)
    np.testing.assert_allclose(found[0, 1:], [-40.0, -50.0], rtol=1e-15)


def test_normalise_by_exact_sums():
    np.testing.assert_allclose(
        normalise(np.log([[1.0, 2.0, 5.0], [3.0, 3.0, 3.0]])),
        np.log([[0.125, 0.25, 0.625], [1 / 3, 1 / 3, 1 / 3]]),
        rtol=1e-15,
    )


def test_normalise_does_not_overflow_or_write():
    given = np.array([[-1e300, 1e300], [-1e5, -1e5]])
    before = given.copy()
    np.testing.assert_allclose(
        normalise(given), [[-2e300, 0.0], [-np.log(2), -np.log(2)]], rtol=1e-15
    )
    np.testing.assert_array_equal(given, before)
