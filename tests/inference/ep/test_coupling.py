"""Pairwise coupling against the equations it solves, and against spanning trees."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp

from odalib.inference.ep.coupling import (
    couple,
    couple_plainly,
    least_plain_rate,
    normalise,
)


def pairs(n_classes):
    return list(combinations(range(n_classes), 2))


def random_pairs(n_classes, n_rows=40, smallest=1e-3):
    """Probabilities of the first of every pair, not of any one model."""
    random = np.random.default_rng(n_classes)
    return random.uniform(smallest, 1 - smallest, (n_rows, len(pairs(n_classes))))


def table(log_first, log_second, n_classes):
    """``log r_ij`` at ``[i, j]`` of one row."""
    log_r = np.full((n_classes, n_classes), -np.inf)
    for p, (i, j) in enumerate(pairs(n_classes)):
        log_r[i, j], log_r[j, i] = log_first[p], log_second[p]
    return log_r


def solve_equations(first, n_classes):
    """The p of ``p_i = sum_j (p_i + p_j) r_ij / (k - 1)`` by least squares."""
    r = np.exp(table(np.log(first), np.log1p(-first), n_classes)) / (n_classes - 1)
    system = np.diag(r.sum(axis=1)) + r - np.eye(n_classes)
    system = np.vstack([system, np.ones(n_classes)])
    return np.linalg.lstsq(system, np.append(np.zeros(n_classes), 1.0))[0]


def log_spanning_trees(log_r, root):
    """Log sum over all trees towards the root; from a to b an edge has ``r_ba``.

    By the Markov chain tree theorem these are the stationary weights.
    """
    others = [i for i in range(len(log_r)) if i != root]
    trees = []
    for targets in product(range(len(log_r)), repeat=len(others)):
        edges = dict(zip(others, targets, strict=True))
        if all(reaches(edges, start, root) for start in others):
            trees.append(sum(log_r[b, a] for a, b in edges.items()))
    return logsumexp(trees)


def reaches(edges, start, root):
    for _ in edges:
        start = edges.get(start, root)
    return start == root


@pytest.mark.parametrize("n_classes", [2, 3, 4, 10, 25])
def test_equations_are_solved(n_classes):
    first = random_pairs(n_classes)
    coupled = couple(np.log(first), np.log1p(-first))
    expected = [solve_equations(row, n_classes) for row in first]
    np.testing.assert_allclose(np.exp(coupled), expected, rtol=1e-11)


@pytest.mark.parametrize("n_classes", [3, 4, 5])
@pytest.mark.parametrize("size", [1.0, 300.0, 1e5])
def test_every_digit_by_spanning_trees(n_classes, size):
    random = np.random.default_rng(n_classes)
    shape = (8, len(pairs(n_classes)))
    log_first, log_second = -random.exponential(size, (2, *shape))
    coupled = couple(log_first, log_second)
    for row in range(len(coupled)):
        log_r = table(log_first[row], log_second[row], n_classes)
        weights = [log_spanning_trees(log_r, root) for root in range(n_classes)]
        expected = np.array(weights) - logsumexp(weights)
        np.testing.assert_allclose(coupled[row], expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("n_classes", [2, 3, 7, 50])
def test_pairs_that_agree_are_recovered(n_classes):
    """From ``r_ij = p_i / (p_i + p_j)``, p of 1e-200 to 1."""
    random = np.random.default_rng(0)
    log_p = normalise(-random.uniform(0.0, 460.0, (20, n_classes)))
    first, second = np.transpose(pairs(n_classes))
    either = np.logaddexp(log_p[:, first], log_p[:, second])
    coupled = couple(log_p[:, first] - either, log_p[:, second] - either)
    np.testing.assert_allclose(coupled, log_p, rtol=1e-12, atol=1e-12)


@given(st.permutations(range(5)))
def test_names_of_the_classes_do_not_matter(order):
    """Class c is renamed to ``order[c]``; each pair keeps its probabilities."""
    first = random_pairs(5)
    log_r = [table(np.log(row), np.log1p(-row), 5) for row in first]
    renamed = np.empty((len(first), 5, 5))
    renamed[:, np.array(order)[:, None], np.array(order)] = log_r
    i, j = np.transpose(pairs(5))
    coupled = couple(renamed[:, i, j], renamed[:, j, i])
    expected = couple(np.log(first), np.log1p(-first))
    np.testing.assert_allclose(coupled[:, order], expected, rtol=1e-12)


def test_a_class_that_wins_by_far_and_those_that_lose():
    """Class 2 beats both others by exp(100000), which are alike."""
    lost, won = np.full((1, 1), -1e5), np.full((1, 1), -1e-300)
    even = np.full((1, 1), np.log(0.5))
    coupled = couple(np.hstack([even, lost, lost]), np.hstack([even, won, won]))
    np.testing.assert_allclose(coupled[0, :2], -1e5, rtol=1e-12)
    assert coupled[0, 2] == 0.0


def test_a_row_does_not_depend_on_those_around_it():
    """Also where rows fill several blocks."""
    first = random_pairs(10, n_rows=6000)
    coupled = couple(np.log(first), np.log1p(-first))
    rows = slice(2500, 5500, 7)
    alone = couple(np.log(first[rows]), np.log1p(-first[rows]))
    np.testing.assert_allclose(alone, coupled[rows], rtol=1e-14)


def test_normalise_by_exact_sums():
    np.testing.assert_allclose(
        normalise(np.log([[1.0, 2.0, 5.0], [3.0, 3.0, 3.0]])),
        np.log([[0.125, 0.25, 0.625], [1 / 3, 1 / 3, 1 / 3]]),
        rtol=1e-15,
    )


def test_normalise_keeps_the_digits_of_the_largest():
    """``log(1 - 2 exp(-90) / (1 + 2 exp(-90)))`` is ``-2 exp(-90)`` to 38 digits."""
    found = normalise(np.array([[-1090.0, -1000.0, -1090.0]]))
    expected = [[-90.0, -2.0 * np.exp(-90.0), -90.0]]
    np.testing.assert_allclose(found, expected, rtol=1e-15)


def test_normalise_does_not_overflow_or_write():
    given = np.array([[-1e300, 1e300], [-1e5, -1e5]])
    before = given.copy()
    np.testing.assert_allclose(
        normalise(given), [[-2e300, 0.0], [-np.log(2), -np.log(2)]], rtol=1e-15
    )
    np.testing.assert_array_equal(given, before)


@pytest.mark.parametrize("n_classes", [2, 3, 4, 10, 25])
def test_without_logarithms_the_same_comes_out(n_classes):
    """Down to the least of rates, and of what they make of the least class."""
    least = least_plain_rate(n_classes)
    random = np.random.default_rng(n_classes)
    shape = 200, len(pairs(n_classes))
    rarer = 0.5 * least ** random.random(shape)
    rarer.flat[:2] = 0.5, least
    is_first = random.random(shape) < 0.5
    first = np.where(is_first, rarer, 1.0 - rarer)
    second = np.where(is_first, 1.0 - rarer, rarer)
    expected = couple(np.log(first), np.log(second))
    found = couple_plainly(first, second)
    np.testing.assert_allclose(np.log(found), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-14)


def test_without_logarithms_no_rows_are_no_rows():
    assert couple_plainly(np.empty((0, 3)), np.empty((0, 3))).shape == (0, 3)
