"""Hard assignments, exchanges and hierarchies."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from odalib.inference.annealing.codebook import Codebook, assign
from odalib.inference.annealing.merging import merge_down
from odalib.inference.annealing.refine import exchange, harden, hierarchy
from tests.oracles.divergences import CLOSED_FORMS, draw_rows

from .problems import make_problem, mean_codebook, random_codebook, random_problem

names = pytest.mark.parametrize("name", CLOSED_FORMS)


def distortion_of(name, x, weights, labels):
    """Sum of weighted divergences from the means of cells."""
    d, total = CLOSED_FORMS[name], 0.0
    for label in np.unique(labels):
        inside = np.flatnonzero(labels == label)
        mean = np.average(x[inside], axis=0, weights=weights[inside])
        total += sum(weights[n] * d(x[n], mean) for n in inside)
    return total


def lowest_distortion(problem, codebook):
    """Sum of weighted divergences from the nearest codevector."""
    _, affinity = assign(problem.rows, problem.divergence, codebook)
    return problem.total_phi - problem.rows.row_weights @ affinity


@given(
    name=st.sampled_from(list(CLOSED_FORMS)),
    seed=st.integers(0, 2**16),
    n_codevectors=st.integers(1, 6),
)
def test_hard_steps_never_raise_the_distortion(name, seed, n_codevectors):
    problem, x, _ = random_problem(name, (25, 2), seed)
    codebook = random_codebook(x, n_codevectors, seed)
    path = [lowest_distortion(problem, codebook)]
    for n_steps in range(1, 7):
        partition = harden(problem, codebook, n_codevectors, n_steps, -1.0)
        assert partition.n_steps == n_steps
        path += [partition.distortion, lowest_distortion(problem, partition.codebook)]
    assert (np.diff(path) <= 1e-12 * np.abs(problem.phi).sum()).all()


@names
def test_partition_is_what_it_says(name):
    problem, x, weights = random_problem(name)
    partition = harden(problem, random_codebook(x, 5), 5, 100, 1e-12)
    assert partition.converged
    assert sorted(set(partition.labels)) == list(range(5))
    for i in range(5):
        inside = partition.labels == i
        mean = np.average(x[inside], axis=0, weights=weights[inside])
        np.testing.assert_allclose(partition.codebook.points[i], mean, rtol=1e-12)
        share = weights[inside].sum() / weights.sum()
        assert partition.codebook.weights[i] == pytest.approx(share, rel=1e-12)
        assert partition.cells.weight[i] == pytest.approx(
            weights[inside].sum(), rel=1e-12
        )
    expected = distortion_of(name, x, weights, partition.labels)
    assert partition.distortion == pytest.approx(expected, rel=1e-9)
    # Converged: the nearest codevector of every row is its own.
    labels, _ = assign(problem.rows, problem.divergence, partition.codebook)
    np.testing.assert_array_equal(labels, partition.labels)


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("wanted", [3, 5, 6, 9])
@names
def test_as_many_codevectors_as_distinct_rows(name, wanted, layout):
    """Six distinct rows, each several times, and a start that knows two of them."""
    distinct = draw_rows(name, 6, 2, 3)
    x = np.repeat(distinct, [1, 2, 3, 4, 5, 6], axis=0)
    problem = make_problem(layout(x), name)
    start = Codebook(distinct[:2], np.array([0.5, 0.5]))
    partition = harden(problem, start, wanted, 100, 0.0)
    assert len(partition.codebook) == len(set(partition.labels)) == min(wanted, 6)
    if wanted >= 6:
        assert partition.distortion == pytest.approx(0.0, abs=1e-11)
        # Equal rows stay together.
        assert len(set(zip(partition.labels, x[:, 0], strict=True))) == 6


def test_empty_cells_are_refilled_with_the_farthest_rows():
    """One of each cell, and of the cells those with the largest weighted loss."""
    x = np.array([[0.0], [1.0], [4.0], [100.0], [103.0], [200.0], [205.0]])
    weights = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 9.0, 1.0])
    start = Codebook(np.array([[0.5], [100.0], [200.0], [-900.0]]), np.full(4, 0.25))
    problem = make_problem(x, "squared_euclidean", weights)
    # Losses: 12.25 for 4, 9 for 103, 25 for 205.
    four = harden(problem, start, 4, 1, 0.0)
    assert [set(x[four.labels == i, 0]) for i in range(4)] == [
        {0.0, 1.0, 4.0},
        {100.0, 103.0},
        {200.0},
        {205.0},
    ]
    five = harden(problem, start, 5, 1, 0.0)
    assert {frozenset(x[five.labels == i, 0]) for i in range(5)} == {
        frozenset({0.0, 1.0}),
        frozenset({4.0}),
        frozenset({100.0, 103.0}),
        frozenset({200.0}),
        frozenset({205.0}),
    }


def test_weights_decide_which_row_is_farthest():
    x = np.array([[0.0], [1.0], [-2.0]])
    problem = make_problem(x, "squared_euclidean", np.array([1.0, 9.0, 1.0]))
    partition = harden(problem, Codebook(np.zeros((1, 1)), np.ones(1)), 2, 1, 0.0)
    assert partition.labels.tolist() == [0, 1, 0]


@given(
    name=st.sampled_from(list(CLOSED_FORMS)),
    seed=st.integers(0, 2**16),
    n_codevectors=st.integers(1, 6),
)
def test_exchanges_never_make_it_worse(name, seed, n_codevectors):
    problem, x, weights = random_problem(name, (25, 2), seed)
    random = np.random.default_rng(seed)
    start = random_codebook(x, n_codevectors, seed)
    found = harden(problem, start, n_codevectors, 9, 1e-4)
    for _ in range(3):
        better = exchange(problem, found, 1e-4, random)
        assert better.distortion <= found.distortion
        assert len(better.codebook) == n_codevectors
        assert better.n_steps >= found.n_steps
        found = better
    expected = distortion_of(name, x, weights, found.labels)
    assert found.distortion == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("seed", range(5))
def test_exchange_leaves_a_local_minimum(seed, layout):
    """Two codevectors on one of three groups and one between the others."""
    random = np.random.default_rng(seed)
    groups = np.repeat([0, 1, 2], 20)
    x = np.array([[0.0, 0.0], [9.0, 0.0], [90.0, 0.0]])[groups] + random.normal(
        size=(60, 2)
    )
    problem = make_problem(layout(x), "squared_euclidean")
    start = Codebook(
        np.array([[4.5, 0.0], [90.0, 1.0], [90.0, -1.0]]), np.full(3, 1 / 3)
    )
    stuck = harden(problem, start, 3, 100, 0.0)
    assert len(set(stuck.labels[groups == 2])) == 2
    found = exchange(problem, stuck, 1e-4, random)
    assert len(set(zip(groups, found.labels, strict=True))) == 3


@pytest.mark.parametrize(
    ("n_codevectors", "sizes"),
    [
        (1, [1]),
        (4, [4, 3, 2, 1]),
        (72, [72, 69, 66, *range(64, 0, -1)]),
    ],
)
def test_hierarchy_holds_codebooks_of_every_size(n_codevectors, sizes):
    """Above 64, of every size that is 97 % of the next larger."""
    problem, x, weights = random_problem("squared_euclidean", (150, 2))
    start = harden(problem, random_codebook(x, n_codevectors), n_codevectors, 20, 1e-4)
    levels = hierarchy(problem, start.codebook)
    assert [len(level) for level in levels] == sizes
    assert levels[0] is start.codebook
    mean = mean_codebook(x, weights)
    np.testing.assert_allclose(levels[-1].points, mean.points, rtol=1e-10)


@names
def test_hierarchy_betters_plain_merging(name):
    """At every size at least as good as the next larger merged down to it."""
    problem, x, _ = random_problem(name)
    start = harden(problem, random_codebook(x, 8), 8, 20, 1e-4)
    levels, gained = hierarchy(problem, start.codebook), False
    for larger, level in pairwise(levels):
        merged, _ = merge_down(larger, problem.divergence, len(level))
        plain, found = (
            lowest_distortion(problem, merged),
            lowest_distortion(problem, level),
        )
        assert found <= plain * (1.0 + 1e-12)
        gained = gained or found < plain * (1.0 - 1e-3)
        assert level.weights.sum() == pytest.approx(1.0, rel=1e-12)
    assert gained
