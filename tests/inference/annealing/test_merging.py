"""Merging against the enumeration of all pairs, and against sums over rows."""

from itertools import combinations

import numpy as np
import pytest
from scipy.special import xlogy

from odalib.inference.annealing import merging
from odalib.inference.annealing.codebook import Codebook
from odalib.inference.annealing.divergences import as_divergence
from odalib.inference.annealing.merging import (
    distortion_rise,
    merge_close,
    merge_down,
    nearest_divergence,
)
from tests.oracles.divergences import CLOSED_FORMS, draw_rows

from .problems import random_codebook

names = pytest.mark.parametrize("name", CLOSED_FORMS)


def codebook_of(name, n_codevectors=9, seed=0):
    return random_codebook(draw_rows(name, 40, 2, seed), n_codevectors, seed)


def ward(d, points, weights, i, j):
    """Rise of the distortion from d alone: each part against the common mean."""
    mean = (weights[i] * points[i] + weights[j] * points[j]) / (weights[i] + weights[j])
    return weights[i] * d(points[i], mean) + weights[j] * d(points[j], mean)


def closeness(d, points, weights, i, j):
    return min(d(points[i], points[j]), d(points[j], points[i]))


def merge_by_enumeration(codebook, d, cost, stop):
    """Cheapest of all pairs first, until ``stop(cost, number left)``."""
    points, weights = list(codebook.points), list(codebook.weights)
    members = [{i} for i in range(len(weights))]
    while len(points) > 1:
        costs = {
            (i, j): cost(d, points, weights, i, j)
            for i, j in combinations(range(len(points)), 2)
        }
        (i, j), least = min(costs.items(), key=lambda item: item[1])
        if stop(least, len(points)):
            break
        weight = weights[i] + weights[j]
        points[i] = (weights[i] * points[i] + weights[j] * points[j]) / weight
        weights[i], members[i] = weight, members[i] | members[j]
        del points[j], weights[j], members[j]
    groups = [
        next(k for k, m in enumerate(members) if i in m) for i in range(len(codebook))
    ]
    return Codebook(np.array(points), np.array(weights)), groups


def assert_same(merged, expected):
    (codebook, groups), (expected_codebook, expected_groups) = merged, expected
    assert list(groups) == expected_groups
    np.testing.assert_allclose(codebook.points, expected_codebook.points, rtol=1e-12)
    np.testing.assert_allclose(codebook.weights, expected_codebook.weights, rtol=1e-12)


@pytest.mark.parametrize("n_left", [8, 5, 2, 1])
@names
def test_merging_down_takes_the_least_rise_of_all_pairs(name, n_left):
    codebook = codebook_of(name)
    expected = merge_by_enumeration(
        codebook, CLOSED_FORMS[name], ward, lambda _, left: left == n_left
    )
    merged = merge_down(codebook, as_divergence(name), n_left)
    assert len(merged[0]) == n_left
    assert_same(merged, expected)


def test_two_that_merged_cost_what_their_mean_costs():
    """Of weights of one fifth each, merging 0, 1 and 2.1 costs 0.1, then 2 / 15 1.6^2.

    The last two, merged, cost 0.1 times 3.8, which is between that and what a mean
    without its own merge taken off would cost.
    """
    points = np.array([0.0, 1.0, 2.1, 100.0, 100.0 + np.sqrt(3.8)])[:, np.newaxis]
    codebook = Codebook(points, np.full(5, 0.2))
    assert 2.0 / 15.0 * 1.6**2 < 0.1 * 3.8 < 2.0 / 15.0 * 1.6**2 + 2.0 / 3.0 * 0.1
    _, groups = merge_down(codebook, as_divergence("squared_euclidean"), 3)
    assert list(groups) == [0, 0, 0, 1, 2]


@pytest.mark.parametrize("quantile", [0.0, 0.1, 0.4, 1.0])
@names
def test_merging_close_codevectors_takes_the_closest_of_all_pairs(name, quantile):
    codebook, d = codebook_of(name), CLOSED_FORMS[name]
    pairs = combinations(range(9), 2)
    costs = [closeness(d, codebook.points, codebook.weights, *pair) for pair in pairs]
    threshold = np.quantile(costs, quantile)
    merged = merge_close(codebook, as_divergence(name), threshold)
    expected = merge_by_enumeration(
        codebook, d, closeness, lambda least, _: least >= threshold * (1.0 - 1e-9)
    )
    assert_same(merged, expected)
    left = nearest_divergence(merged[0], as_divergence(name))
    assert (left >= threshold * (1.0 - 1e-9)).all()


@names
def test_nearest_divergence(name):
    codebook, d = codebook_of(name), CLOSED_FORMS[name]
    expected = [
        min(closeness(d, codebook.points, None, i, j) for j in range(9) if j != i)
        for i in range(9)
    ]
    result = nearest_divergence(codebook, as_divergence(name))
    np.testing.assert_allclose(result, expected, rtol=1e-9)


def test_a_single_codevector_has_no_neighbour():
    codebook = Codebook(np.ones((1, 2)), np.ones(1))
    divergence = as_divergence("squared_euclidean")
    assert nearest_divergence(codebook, divergence)[0] == np.inf
    merged, groups = merge_close(codebook, divergence, np.inf)
    np.testing.assert_array_equal(merged.points, codebook.points)
    np.testing.assert_array_equal(merged.weights, codebook.weights)
    assert groups.tolist() == [0]


@names
def test_rise_is_what_merging_two_cells_of_rows_costs(name):
    """Sums over rows, of divergences from the means of three cells and of two."""
    x, weights = draw_rows(name, 30, 2, 0), np.linspace(0.5, 2.0, 30)
    cells, d = np.arange(30) % 3, CLOSED_FORMS[name]

    def mean_distortion(labels):
        total = 0.0
        for label in set(labels):
            inside = np.flatnonzero(labels == label)
            mean = np.average(x[inside], axis=0, weights=weights[inside])
            total += sum(weights[n] * d(x[n], mean) for n in inside)
        return total / weights.sum()

    points = [
        np.average(x[cells == i], axis=0, weights=weights[cells == i]) for i in range(3)
    ]
    shares = np.array([weights[cells == i].sum() for i in range(3)]) / weights.sum()
    rise = distortion_rise(Codebook(np.array(points), shares), as_divergence(name))
    before = mean_distortion(cells)
    for i, j in combinations(range(3), 2):
        actual = mean_distortion(np.where(cells == j, i, cells)) - before
        np.testing.assert_allclose([rise[i, j], rise[j, i]], actual, rtol=1e-9)


def test_rise_from_the_boundary_of_the_domain():
    """Zeros in codevectors; ``f(x) = x log x - x`` by hand."""
    codebook = Codebook(np.array([[0.0, 2.0], [4.0, 0.0]]), np.array([0.25, 0.75]))
    merged = np.array([3.0, 0.5])

    def phi(x):
        return (xlogy(x, x) - x).sum()

    expected = (
        0.25 * phi(codebook.points[0]) + 0.75 * phi(codebook.points[1]) - phi(merged)
    )
    rise = distortion_rise(codebook, as_divergence("kullback_leibler"))
    # Codevectors are taken 1e-10 of the mean inside.
    assert rise[0, 1] == pytest.approx(expected, rel=1e-8)


def test_rises_are_worked_out_in_bounded_pieces(monkeypatch):
    codebook = codebook_of("itakura_saito")
    divergence = as_divergence("itakura_saito")
    whole = distortion_rise(codebook, divergence)
    monkeypatch.setattr(merging, "PAIR_ELEMENTS", 50)
    sizes, phi = [], type(divergence).phi

    def watched(self, rows):
        sizes.append(rows.size)
        return phi(self, rows)

    monkeypatch.setattr(type(divergence), "phi", watched)
    np.testing.assert_array_equal(distortion_rise(codebook, divergence), whole)
    assert max(sizes) <= 50


def test_nothing_is_merged_below_the_number_there_is():
    codebook = codebook_of("squared_euclidean")
    for n_left in (9, 20):
        merged, groups = merge_down(
            codebook, as_divergence("squared_euclidean"), n_left
        )
        np.testing.assert_array_equal(merged.points, codebook.points)
        assert groups.tolist() == list(range(9))


def test_merging_leaves_its_argument_alone():
    codebook = codebook_of("squared_euclidean")
    points, weights = codebook.points.copy(), codebook.weights.copy()
    merge_down(codebook, as_divergence("squared_euclidean"), 2)
    merge_close(codebook, as_divergence("squared_euclidean"), np.inf)
    np.testing.assert_array_equal(codebook.points, points)
    np.testing.assert_array_equal(codebook.weights, weights)
