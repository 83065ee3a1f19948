"""Merging, hard assignment and the whole fit of rows that fall into groups."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from odalib.inference.annealing import fit as module
from odalib.inference.annealing import refine
from odalib.inference.annealing.codebook import Codebook
from odalib.inference.annealing.divergences import as_divergence
from odalib.inference.annealing.draws import distinct_rows, draw_sample
from odalib.inference.annealing.fit import fit_rows
from odalib.inference.annealing.merging import (
    distortion_rise,
    merge_close,
    merge_down,
    nearest_codevectors,
    nearest_divergence,
)
from odalib.inference.annealing.problem import Problem
from odalib.inference.annealing.refine import exchange, harden, hierarchy
from odalib.inference.annealing.rows import RowBlocks
from tests.oracles.divergences import CLOSED_FORMS, draw_rows
from tests.oracles.grouped import nearest_of_group

from .problems import make_settings, random_codebook

names = pytest.mark.parametrize("name", CLOSED_FORMS)
THREE = np.array([4, 0, 9])


def codebook_of(name, groups, seed=0):
    plain = random_codebook(draw_rows(name, 40, 2, seed), len(groups), seed)
    return Codebook(plain.points, plain.weights, np.array(groups))


def apart(name, points, i, j):
    d = CLOSED_FORMS[name]
    return min(d(points[i], points[j]), d(points[j], points[i]))


@pytest.mark.parametrize("threshold", [0.0, 0.1, 1.0, np.inf])
@names
def test_close_codevectors_merge_as_if_groups_were_by_themselves(name, threshold):
    groups = np.array([4, 0, 4, 9, 4, 0, 4, 0])
    codebook, divergence = codebook_of(name, groups), as_divergence(name)
    merged, went = merge_close(codebook, divergence, threshold)
    np.testing.assert_array_equal(merged.groups[went], groups)
    for group in THREE:
        own, mine = groups == group, merged.groups == group
        share = codebook.weights[own].sum()
        part = Codebook(codebook.points[own], codebook.weights[own] / share)
        alone, where = merge_close(part, divergence, threshold)
        np.testing.assert_allclose(merged.points[mine], alone.points, rtol=1e-12)
        np.testing.assert_array_equal((np.cumsum(mine) - 1)[went[own]], where)
        np.testing.assert_allclose(merged.weights[mine], share * alone.weights)


@names
def test_pairs_are_of_one_group(name):
    groups = np.array([4, 0, 4, 9, 4, 0])
    codebook, divergence = codebook_of(name, groups), as_divergence(name)
    rise, nearest = (
        distortion_rise(codebook, divergence),
        nearest_divergence(codebook, divergence),
    )
    for i, j in combinations(range(6), 2):
        assert np.isinf(rise[i, j]) == np.isinf(rise[j, i]) == (groups[i] != groups[j])
    for i in range(6):
        others = [j for j in range(6) if j != i and groups[j] == groups[i]]
        least = min(
            (apart(name, codebook.points, i, j) for j in others), default=np.inf
        )
        assert nearest[i] == pytest.approx(least, rel=1e-9)


@pytest.mark.parametrize("n_left", [7, 4, 3, 1])
@names
def test_merging_down_leaves_one_of_every_group(name, n_left):
    """And takes the cheapest of all pairs within groups, one after the other."""
    groups = np.array([4, 0, 4, 9, 4, 0, 4, 0])
    codebook, d = codebook_of(name, groups), CLOSED_FORMS[name]
    merged, went = merge_down(codebook, as_divergence(name), n_left)
    assert len(merged) == max(n_left, 3)
    np.testing.assert_array_equal(merged.groups[went], groups)
    members = [{i} for i in range(8)]

    def mean(part):
        part = sorted(part)
        weights = codebook.weights[part]
        return weights.sum(), np.average(codebook.points[part], axis=0, weights=weights)

    def rise(one, other):
        _, together = mean(one | other)
        return sum(
            weight * d(point, together) for weight, point in map(mean, (one, other))
        )

    while len(members) > len(merged):
        pairs = [
            (one, other)
            for one, other in combinations(members, 2)
            if groups[min(one)] == groups[min(other)]
        ]
        one, other = min(pairs, key=lambda pair: rise(*pair))
        members = [part for part in members if part not in (one, other)]
        members.append(one | other)
    found = {frozenset(np.flatnonzero(went == i)) for i in range(len(merged))}
    assert found == set(map(frozenset, members))


@names
def test_nearest_codevectors_are_of_the_same_group(name):
    codebook = codebook_of(name, [4, 0, 4, 9, 4, 0])
    others = codebook_of(name, [9, 4, 0, 4, 0], seed=1)
    found = nearest_codevectors(codebook, others, as_divergence(name))
    expected, _ = nearest_of_group(
        CLOSED_FORMS[name], codebook.points, codebook.groups, others
    )
    np.testing.assert_array_equal(found, expected)


def grouped_rows(name, n_rows=120, seed=0):
    x = draw_rows(name, n_rows, 2, seed)
    groups = np.random.default_rng(seed).choice(THREE, p=[0.6, 0.35, 0.05], size=n_rows)
    return x, groups


def assert_cell_means(name, x, weights, groups, codebook):
    """Every codevector is the mean of the rows of its group that are nearest to it."""
    labels, _ = nearest_of_group(CLOSED_FORMS[name], x, groups, codebook)
    assert set(labels) == set(range(len(codebook)))
    for i in range(len(codebook)):
        inside = labels == i
        mean = np.average(x[inside], axis=0, weights=weights[inside])
        np.testing.assert_allclose(codebook.points[i], mean, rtol=1e-9, atol=1e-12)
        share = weights[inside].sum() / weights.sum()
        assert codebook.weights[i] == pytest.approx(share, rel=1e-9)


@pytest.mark.parametrize("wanted", [3, 7, 30])
@names
def test_hard_assignment_stays_within_groups(name, wanted):
    """Empty cells are refilled with rows of any group, which then stand for it."""
    x, groups = grouped_rows(name, 60)
    weights = np.linspace(0.5, 2.0, 60)
    problem = Problem(RowBlocks(x, weights, groups=groups), as_divergence(name), 0)
    start = problem.first_codebook()
    partition = harden(problem, start, wanted, 200, 0.0)
    assert partition.converged
    assert len(partition.codebook) == wanted
    assert_cell_means(name, x, weights, groups, partition.codebook)
    better = exchange(problem, partition, 0.0, np.random.default_rng(0))
    assert better.distortion <= partition.distortion
    assert len(better.codebook) == wanted
    np.testing.assert_array_equal(
        better.codebook.groups[better.labels], problem.rows.groups
    )
    sizes = [len(codebook) for codebook in hierarchy(problem, better.codebook)]
    assert sizes == list(range(wanted, 2, -1))


@pytest.mark.parametrize("row_share", [0.0, 1.0], ids=["axes", "rows"])
@pytest.mark.parametrize("seed", range(3))
def test_exchange_leaves_a_local_minimum_of_a_group(seed, row_share, monkeypatch):
    """Two codevectors on one of three heaps and one between the others.

    Beside them, a group that has nothing to exchange.
    """
    monkeypatch.setattr(refine, "ROW_SHARE", row_share)
    random = np.random.default_rng(seed)
    heaps = np.repeat([0, 1, 2, 3, 4], 20)
    centres = np.array([[0, 0], [9, 0], [90, 0], [40, 50], [40, 90]])
    x = centres[heaps] + random.normal(size=(100, 2))
    groups = np.where(heaps > 2, 2, 5)
    rows = RowBlocks(x, np.ones(100), groups=groups)
    problem = Problem(rows, as_divergence("squared_euclidean"), seed)
    points = np.array([[40.0, 50.0], [40, 90], [4.5, 0], [90, 1], [90, -1]])
    start = Codebook(points, np.full(5, 0.2), np.array([2, 2, 5, 5, 5]))
    stuck, tried = harden(problem, start, 5, 100, 0.0), []

    def watched(problem, codebook, *arguments):
        tried.append(codebook)
        return harden(problem, codebook, *arguments)

    monkeypatch.setattr(refine, "harden", watched)
    found = exchange(problem, stuck, 1e-4, random)
    # A further codevector on a row is of the group of the row.
    for codebook in tried:
        on_row = (codebook.points[:, np.newaxis] == x).all(axis=2)
        of_codevector, row = np.nonzero(on_row)
        np.testing.assert_array_equal(codebook.groups[of_codevector], groups[row])
    assert len(set(rows.restore(stuck.labels)[heaps == 2])) == 2
    labels = rows.restore(found.labels)
    assert len(set(zip(heaps, labels, strict=True))) == 5
    np.testing.assert_array_equal(found.codebook.groups[labels], groups)


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix], ids=["", "csr"])
@names
def test_a_fit_is_a_fixed_point_of_hard_assignment_within_groups(name, layout):
    x, groups = grouped_rows(name)
    weights = np.random.default_rng(5).uniform(0.5, 2.0, len(x))
    settings = make_settings(divergence=name, n_codevectors=9, tol=0.0)
    solution = fit_rows(layout(x), weights, settings, groups=groups)
    codebook = solution.codebook
    if solution.shift is not None:
        codebook = codebook.moved(codebook.points + solution.shift, codebook.weights)
    assert len(codebook) == 9
    assert_cell_means(name, x, weights, groups, codebook)
    for level in solution.levels:
        assert set(level.codebook.groups) == set(THREE)
    assert [len(book) for book in solution.hierarchy] == list(range(9, 2, -1))
    means = [
        np.average(x[groups == g], axis=0, weights=weights[groups == g]) for g in THREE
    ]
    least = solution.hierarchy[-1]
    order = np.argsort(least.groups)
    shift = 0.0 if solution.shift is None else solution.shift
    np.testing.assert_allclose(
        least.points[order] + shift, np.array(means)[np.argsort(THREE)], rtol=1e-9
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"split": "perturb", "merge_tol": 0.01, "axis_passes": 0, "tol": 1e-4},
        {"batch_size": 16, "max_steps": 20},
        {"idle_tol": 0.2},
        {"min_temperature": 0.3},
    ],
    ids=["perturb", "batches", "idle", "soft"],
)
def test_every_group_keeps_a_codevector_whatever_the_schedule(changes):
    """Also the group of two rows in a hundred, further in than the others are wide."""
    random = np.random.default_rng(0)
    groups = np.repeat([3, 1, 8], [60, 38, 2])
    x = random.normal(size=(100, 2)) * np.repeat([3.0, 2.0, 1e-3], [60, 38, 2])[:, None]
    order = random.permutation(100)
    settings = make_settings(**({"n_codevectors": 6, "max_steps": 50} | changes))
    solution = fit_rows(x[order], np.ones(100), settings, groups=groups[order])
    books = [solution.codebook, *solution.hierarchy]
    books += [level.codebook for level in solution.levels]
    for codebook in books:
        assert set(codebook.groups) == {1, 3, 8}
        assert (codebook.weights > 0).all()
    point = solution.codebook.points[solution.codebook.groups == 8] + solution.shift
    np.testing.assert_allclose(point, [x[-2:].mean(axis=0)], atol=0.01)


@names
def test_one_group_is_as_none(name):
    x, _ = grouped_rows(name)
    settings = make_settings(divergence=name, n_codevectors=7)
    alone = fit_rows(x, np.ones(len(x)), settings)
    group = fit_rows(x, np.ones(len(x)), settings, groups=np.full(len(x), 6))
    np.testing.assert_allclose(group.codebook.points, alone.codebook.points, rtol=1e-9)
    np.testing.assert_allclose(group.codebook.weights, alone.codebook.weights)
    assert set(group.codebook.groups) == {6}
    assert group.n_passes == alone.n_passes
    for one, other in zip(group.levels, alone.levels, strict=True):
        assert one.free_energy == pytest.approx(other.free_energy, rel=1e-9)


@pytest.mark.parametrize("limit", [10_000, 90], ids=["all rows", "a sample"])
@names
def test_neither_order_nor_repetition_of_rows_matters(name, limit, monkeypatch):
    monkeypatch.setattr(module, "SAMPLE_SIZE", limit)
    x, groups = grouped_rows(name)
    copies = np.arange(120) % 3 + 1
    shuffled = np.random.default_rng(1).permutation(np.repeat(np.arange(120), copies))
    settings = make_settings(divergence=name, n_codevectors=6)
    weighted = fit_rows(x, 1.0 * copies, settings, groups=groups)
    plain = fit_rows(
        x[shuffled], np.ones(len(shuffled)), settings, groups=groups[shuffled]
    )
    np.testing.assert_array_equal(plain.codebook.groups, weighted.codebook.groups)
    np.testing.assert_allclose(
        plain.codebook.points, weighted.codebook.points, rtol=1e-6, atol=1e-9
    )


@given(
    sizes=st.lists(st.integers(1, 300), min_size=2, max_size=20),
    seed=st.integers(0, 99),
)
def test_a_sample_misses_no_group(sizes, seed):
    """Fewer rows than there are, from groups of one row and of hundreds."""
    random = np.random.default_rng(seed)
    groups = random.permutation(np.repeat(np.arange(len(sizes)), sizes))
    x = random.normal(size=(len(groups), 2)) * random.uniform(
        0.0, 9.0, (len(groups), 1)
    )
    settings = make_settings(n_codevectors=len(sizes))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SAMPLE_SIZE", len(sizes))
        solution = fit_rows(x, np.ones(len(x)), settings, groups=groups)
    # One codevector each: the mean of all rows of the group, not of a sample.
    means = [x[groups == group].mean(axis=0) for group in range(len(sizes))]
    order = np.argsort(solution.codebook.groups)
    found = solution.codebook.points[order] + solution.shift
    np.testing.assert_allclose(found, means, rtol=1e-9, atol=1e-9)


def test_rows_of_two_groups_are_distinct():
    x = np.array([[1.0, 2.0], [1.0, 2.0], [0.0, 5.0], [1.0, 2.0]])
    weights, groups = np.array([1.0, 2.0, 4.0, 8.0]), np.array([0, 3, 3, 0])
    first, totals = distinct_rows(x, weights, groups)
    assert dict(zip(first.tolist(), totals.tolist(), strict=True)) == {
        0: 9.0,
        1: 2.0,
        2: 4.0,
    }
    first, totals = distinct_rows(x, weights)
    assert dict(zip(first.tolist(), totals.tolist(), strict=True)) == {0: 11.0, 2: 4.0}
    kept, drawn = draw_sample(x, weights, np.ones(4), np.ones(4), 9, groups)
    assert kept.tolist() == [0, 1, 2]
    assert drawn.tolist() == [9.0, 2.0, 4.0]
