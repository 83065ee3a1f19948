"""Which codevector came from which: sums over rows are passed on, none is lost."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from odalib.inference.annealing.bifurcation import split
from odalib.inference.annealing.divergences import as_divergence
from odalib.inference.annealing.lineage import (
    halves,
    joined_by,
    merged_into,
    selected,
    split_of,
)
from odalib.inference.annealing.merging import merge_down
from tests.oracles.divergences import draw_rows

from .problems import random_codebook

DIVERGENCE = as_divergence("squared_euclidean")


def test_lineages_by_hand():
    kept = np.array([True, False, True])
    np.testing.assert_array_equal(selected(kept).toarray(), [[1, 0, 0], [0, 0, 1]])
    merged = merged_into(np.array([1, 0, 1]))
    np.testing.assert_array_equal(merged.toarray(), [[0, 1, 0], [1, 0, 1]])
    more = merged_into(np.array([1, 0, 1]), 3)
    np.testing.assert_array_equal(more.toarray(), [[0, 1, 0], [1, 0, 1], [0, 0, 0]])
    parts = split_of(np.array([True, False, True]))
    expected = [[0, 1, 0], [0.5, 0, 0], [0, 0, 0.5], [0.5, 0, 0], [0, 0, 0.5]]
    np.testing.assert_array_equal(parts.toarray(), expected)
    joined = joined_by(2, 1)
    np.testing.assert_array_equal(joined.toarray(), [[1, 0], [0, 1], [0, 0]])


@given(
    chosen=st.lists(st.booleans(), min_size=2, max_size=9),
    n_new=st.integers(0, 3),
    seed=st.integers(0, 99),
)
def test_sums_are_conserved_along_a_chain(chosen, n_new, seed):
    """Split, joined and merged again: every column of the product sums to one."""
    chosen, random = np.array(chosen), np.random.default_rng(seed)
    larger = len(chosen) + chosen.sum() + n_new
    groups = np.unique(random.integers(larger, size=larger), return_inverse=True)[1]
    steps = [split_of(chosen), joined_by(larger - n_new, n_new), merged_into(groups)]
    whole, sums = (
        sp.identity(len(chosen), format="csr"),
        random.normal(size=len(chosen)),
    )
    passed = sums
    for step in steps:
        whole, passed = step @ whole, step @ passed
        np.testing.assert_allclose(whole.sum(axis=0), 1.0, rtol=1e-14)
        assert passed.sum() == pytest.approx(sums.sum(), abs=1e-12)
    np.testing.assert_allclose(whole @ sums, passed, rtol=1e-12, atol=1e-14)


def test_lineage_of_a_split_goes_to_its_parts():
    """Halved codevectors: mass times point is that of the parent."""
    x = draw_rows("squared_euclidean", 30, 2, 0)
    codebook, chosen = random_codebook(x, 5), np.array([0, 1, 1, 0, 1], dtype=bool)
    doubled = split(codebook, DIVERGENCE, np.ones((5, 2)), np.full(5, 1e-20), chosen)
    lineage = split_of(chosen)
    np.testing.assert_allclose(lineage @ codebook.weights, doubled.weights, rtol=1e-14)
    moved = lineage @ (codebook.weights[:, np.newaxis] * codebook.points)
    expected = doubled.weights[:, np.newaxis] * doubled.points
    np.testing.assert_allclose(moved, expected, atol=1e-9)


def test_lineage_of_merging_gives_weights_and_means():
    x = draw_rows("squared_euclidean", 30, 2, 0)
    codebook = random_codebook(x, 7)
    merged, groups = merge_down(codebook, DIVERGENCE, 3)
    lineage = merged_into(groups)
    weights = lineage @ codebook.weights
    np.testing.assert_allclose(weights, merged.weights, rtol=1e-13)
    totals = lineage @ (codebook.weights[:, np.newaxis] * codebook.points)
    points = totals / weights[:, np.newaxis]
    np.testing.assert_allclose(points, merged.points, rtol=1e-12)


def test_halves_of_codevectors_are_told_from_those_that_stay():
    """Also where others merge, and where one joins."""
    chosen = np.array([False, True, False])
    assert halves(split_of(chosen)).tolist() == [False, False, True, True]
    merged = merged_into(np.array([0, 0, 1, 2])) @ split_of(chosen)
    assert halves(merged).tolist() == [False, True, True]
    assert not halves(joined_by(2, 2)).any()
    assert not halves(merged_into(np.array([0, 1, 0]), 3)).any()
