"""Statistics that merge, and passes whose results do not depend on threads."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from odalib.inference.annealing.codebook import (
    Codebook,
    Moments,
    assign,
    collect_cells,
    collect_moments,
    divergence_between,
)
from odalib.inference.annealing.divergences import as_divergence
from odalib.inference.annealing.rows import RowBlocks
from tests.oracles.divergences import CLOSED_FORMS, NAMES, draw_rows

from .problems import random_codebook, random_problem


def fields(sums):
    return [np.asarray(value) for value in vars(sums).values()]


def added(parts):
    """Sums over rows that were dealt out, field by field."""
    columns = zip(*map(fields, parts), strict=True)
    return type(parts[0])(*map(sum, columns))


def assert_same(sums, others, **tolerance):
    for one, other in zip(fields(sums), fields(others), strict=True):
        if tolerance:
            np.testing.assert_allclose(one, other, **tolerance)
        else:
            np.testing.assert_array_equal(one, other)


@given(
    name=st.sampled_from(NAMES),
    parts=st.lists(st.integers(0, 3), min_size=24, max_size=24).filter(any),
    multipliers=st.sampled_from([None, "row", "codevector"]),
)
def test_moments_of_parts_add_up(name, parts, multipliers):
    """For every way to deal the rows to some machines."""
    problem, x, weights = random_problem(name, (24, 2))
    codebook, parts = random_codebook(x, 3), np.array(parts)
    by_row = problem.signs if multipliers == "row" else None
    by_codevector = codebook.points - 1.0 if multipliers == "codevector" else None

    def moments(kept):
        factors = by_codevector if by_row is None else by_row[kept]
        return collect_moments(
            RowBlocks(x[kept], weights[kept]),
            problem.divergence,
            codebook,
            0.7,
            factors,
        )

    pieces = [moments(parts == part) for part in np.unique(parts)]
    assert_same(added(pieces), moments(slice(None)), rtol=1e-12, atol=1e-12)


@given(parts=st.lists(st.booleans(), min_size=24, max_size=24))
def test_cell_sums_of_parts_add_up(parts):
    _, x, weights = random_problem("squared_euclidean", (24, 2))
    labels, first = np.arange(24) % 3, np.array([True, *parts[1:-1], False])

    def cells(kept):
        return collect_cells(RowBlocks(x[kept], weights[kept]), labels[kept], 4)

    whole = cells(first | True)
    assert_same(added([cells(first), cells(~first)]), whole, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix])
def test_same_bits_for_every_number_of_threads(layout):
    x = draw_rows("squared_euclidean", 20_000, 4, 0)
    codebook, divergence = random_codebook(x, 40), as_divergence("squared_euclidean")
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(x))
    signs = np.random.default_rng(2).uniform(-1.0, 1.0, len(x))
    alone, together = (RowBlocks(layout(x), weights, n_jobs=n) for n in (1, 2))
    assert len(alone.spans(40)) > 3
    one, other = (
        collect_moments(rows, divergence, codebook, 0.5, signs)
        for rows in (alone, together)
    )
    assert_same(one, other)
    labels, affinity = assign(alone, divergence, codebook)
    for one, other in zip(
        (labels, affinity), assign(together, divergence, codebook), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    assert_same(collect_cells(alone, labels, 40), collect_cells(together, labels, 40))


def test_blocks_leave_no_seam():
    """A pass over several blocks is that over each row by itself."""
    x = draw_rows("kullback_leibler", 9000, 2, 0)
    codebook, divergence = random_codebook(x, 3), as_divergence("kullback_leibler")
    rows, signs = RowBlocks(x, np.ones(9000)), np.linspace(-1.0, 1.0, 9000)
    assert len(rows.spans(3)) == 2
    labels, affinity = assign(rows, divergence, codebook)
    cells = collect_cells(rows, labels, 3)
    for i in range(3):
        assert cells.weight[i] == (labels == i).sum()
        np.testing.assert_allclose(cells.total[i], x[labels == i].sum(axis=0))
    for i in (0, 8191, 8192, 8999):
        losses = [CLOSED_FORMS["kullback_leibler"](x[i], mu) for mu in codebook.points]
        assert labels[i] == np.argmin(losses)
        loss = divergence.phi(x[[i]])[0] - affinity[i]
        assert loss == pytest.approx(min(losses), rel=1e-11)
    split = [
        collect_moments(
            RowBlocks(x[span], np.ones(len(x[span]))),
            divergence,
            codebook,
            0.3,
            signs[span],
        )
        for span in (slice(0, 4000), slice(4000, 9000))
    ]
    whole = collect_moments(rows, divergence, codebook, 0.3, signs)
    assert_same(whole, added(split), rtol=1e-10, atol=1e-10)


def test_codebook_of_moments():
    """Conditional means; a codevector without rows stays where it was."""
    previous = Codebook(np.array([[1.0, 1.0], [5.0, 5.0]]), np.array([0.5, 0.5]))
    moments = Moments(
        np.array([4.0, 0.0]), np.array([[8.0, -2.0], [0.0, 0.0]]), 0.0, None
    )
    codebook = moments.codebook(previous)
    np.testing.assert_array_equal(codebook.points, [[2.0, -0.5], [5.0, 5.0]])
    np.testing.assert_array_equal(codebook.weights, [1.0, 0.0])
    np.testing.assert_array_equal(previous.points[0], [1.0, 1.0])


@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_divergence_between(name):
    x = draw_rows(name, 8, 3, 0)
    codebook = random_codebook(x, 4)
    moved = Codebook(x[:4], codebook.weights)
    result = divergence_between(as_divergence(name), moved, codebook)
    expected = [
        CLOSED_FORMS[name](a, b) for a, b in zip(x[:4], codebook.points, strict=True)
    ]
    np.testing.assert_allclose(result, expected, rtol=1e-11)


def test_selecting_and_ordering():
    codebook = Codebook(np.array([[3.0], [1.0], [2.0]]), np.array([0.5, 0.2, 0.3]))
    ordered = codebook.ordered(np.array([2.0]))
    np.testing.assert_array_equal(ordered.points, [[1.0], [2.0], [3.0]])
    np.testing.assert_array_equal(ordered.weights, [0.2, 0.3, 0.5])
    selected = codebook.select(np.array([True, False, True]))
    np.testing.assert_array_equal(selected.points, [[3.0], [2.0]])
    np.testing.assert_allclose(selected.weights, [0.625, 0.375], rtol=1e-15)
    assert len(selected) == 2


@pytest.mark.parametrize("names", [(0, 1, 2), (9, 4, 7)])
def test_groups_are_ordered_by_their_means_whatever_their_names(names):
    """Means at 4, 2 and 3 on the axis; within a group by the codevectors."""
    groups = np.array(names)[[0, 1, 0, 2, 1]]
    points = np.array([[5.0], [1.0], [3.0], [3.0], [5.0]])
    weights = np.array([0.2, 0.3, 0.2, 0.2, 0.1])
    ordered = Codebook(points, weights, groups).ordered(np.array([1.0]))
    np.testing.assert_array_equal(ordered.points[:, 0], [1.0, 5.0, 3.0, 3.0, 5.0])
    expected = np.array(names)[[1, 1, 2, 0, 0]]
    np.testing.assert_array_equal(ordered.groups, expected)
    np.testing.assert_array_equal(ordered.weights, [0.3, 0.1, 0.2, 0.2, 0.2])
