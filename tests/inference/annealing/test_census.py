"""Counts of rows by codevector, and their sums as they came: against loops."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from odalib.inference.annealing.batch import Batch
from odalib.inference.annealing.census import Census
from odalib.inference.annealing.codebook import Codebook
from odalib.inference.annealing.descent import nearest_child, nearest_of_group
from odalib.inference.annealing.divergences import as_divergence
from odalib.inference.annealing.groups import MAX_CLASSES
from odalib.inference.annealing.lineage import (
    joined_by,
    merged_into,
    selected,
    split_of,
)
from odalib.inference.annealing.local.base import Partition
from tests.oracles.divergences import CLOSED_FORMS, draw_rows

from .trees import Columns, SetVote, chain, grow_tree, labelled_rows

D = CLOSED_FORMS["squared_euclidean"]


def counted_rows(n_rows=50, n_codevectors=5, seed=0):
    """Rows with weights, the nearest codevector of each, and that of its group."""
    random = np.random.default_rng(seed)
    x = draw_rows("squared_euclidean", n_rows, 3, seed)
    batch = Batch(x, random.uniform(0.5, 2.0, n_rows))
    labels = random.integers(n_codevectors - 1, size=n_rows)
    own = np.where(random.random(n_rows) < 0.3, -1, random.permutation(labels))
    return batch, labels, own


def slow_census(batch, labels, own, n_codevectors=5):
    descended, weight = np.zeros(n_codevectors), np.zeros(n_codevectors)
    total = np.zeros((n_codevectors, 3))
    for x, w, label, of_group in zip(
        batch.rows, batch.weights, labels, own, strict=True
    ):
        descended[label] += w
        if of_group >= 0:
            weight[of_group] += w
            total[of_group] += w * x
    return descended, weight, total


def assert_census(census, expected):
    for found, one in zip(
        (census.descended, census.weight, census.total), expected, strict=True
    ):
        np.testing.assert_allclose(found, one, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("cuts", [(50,), (20, 50), (1, 2, 49, 50)])
def test_counts_are_those_of_loops_however_rows_are_cut(layout, cuts):
    batch, labels, own = counted_rows()
    seen, census, start = replace(batch, rows=layout(batch.rows)), None, 0
    census = first = Census.empty(5, 3)
    for stop in cuts:
        rows = slice(start, stop)
        census, start = census.learn(seen[rows], labels[rows], own[rows]), stop
    expected = slow_census(batch, labels, own)
    assert_census(census, expected)
    # The last codevector has met no row: its mean is the origin.
    assert (census.weight[4], census.descended[4]) == (0.0, 0.0)
    np.testing.assert_array_equal(census.points[4], np.zeros(3))
    np.testing.assert_allclose(
        census.points[:4], expected[2][:4] / expected[1][:4, np.newaxis], rtol=1e-11
    )
    assert_census(first, (np.zeros(5), np.zeros(5), np.zeros((5, 3))))


def test_sums_are_kept_where_they_are_asked_for():
    batch, labels, own = counted_rows()
    census = Census.empty(5, 0).learn(batch, labels, own)
    assert census.total.shape == (5, 0)
    descended, weight, _ = slow_census(batch, labels, own)
    np.testing.assert_allclose(census.descended, descended, rtol=1e-11)
    np.testing.assert_allclose(census.weight, weight, rtol=1e-11)
    nobody = Census.empty(5, 3).learn(batch, labels, np.full(50, -1))
    assert_census(nobody, (descended, np.zeros(5), np.zeros((5, 3))))


def test_threads_change_no_bit():
    batch, labels, own = counted_rows(20_000)
    one, two = (Census.empty(5, 3).learn(batch, labels, own, n) for n in (1, 2))
    np.testing.assert_array_equal(one.total, two.total)


def test_lineages_pass_counts_on_and_lose_none():
    census = Census.empty(5, 3).learn(*counted_rows())
    chosen = np.array([True, False, False, True, False])
    whole = (
        census.descended.sum(),
        census.weight.sum(),
        census.total.sum(axis=0),
    )
    for lineage in (
        split_of(chosen),
        joined_by(5, 2),
        merged_into(np.array([0, 1, 0, 1, 2])),
        merged_into(np.array([0, 1, 0, 1, 2, 0, 2])) @ split_of(chosen),
    ):
        passed = census.inherit(lineage)
        np.testing.assert_allclose(passed.descended.sum(), whole[0], rtol=1e-12)
        np.testing.assert_allclose(passed.weight.sum(), whole[1], rtol=1e-12)
        np.testing.assert_allclose(passed.total.sum(axis=0), whole[2], rtol=1e-11)
    halves = census.inherit(split_of(chosen))
    np.testing.assert_allclose(halves.points[[3, 5]], census.points[[0, 0]])
    dropped = census.inherit(selected(~chosen))
    np.testing.assert_array_equal(dropped.weight, census.weight[~chosen])


def grouped_partition():
    """Two cells above; classes 0 and 1 below the first, 1 below the second."""
    groups = np.array([0, 1, 1, MAX_CLASSES + 1, MAX_CLASSES + 1])
    points = draw_rows("squared_euclidean", 5, 3, 7)
    codebook = Codebook(points, np.full(5, 0.2), groups)
    return Partition(as_divergence("squared_euclidean"), codebook, np.ones(3))


def test_rows_are_nearest_to_children_of_their_cell_and_to_their_group():
    batch, *_ = counted_rows()
    partition = grouped_partition()
    random = np.random.default_rng(1)
    parents, classes = random.integers(2, size=50), random.integers(3, size=50)
    labels = nearest_child(batch.rows, partition, parents)
    groups = parents * MAX_CLASSES + classes
    own = nearest_of_group(batch.rows, partition, groups, labels)
    for n, x in enumerate(batch.rows):
        apart = [D(x - 1.0, mu) for mu in partition.codebook.points]
        children = [0, 1, 2] if parents[n] == 0 else [3, 4]
        assert labels[n] == min(children, key=lambda i: apart[i])
        mates = [i for i in range(5) if partition.codebook.groups[i] == groups[n]]
        assert own[n] == (min(mates, key=lambda i: apart[i]) if mates else -1)
    # Where rows have no groups, the nearest of all it is.
    assert nearest_of_group(batch.rows, partition, None, labels) is labels


def test_layers_begin_with_the_rows_of_the_fit():
    """Of two columns, and of all three: means are of the rows as they came."""
    batch = labelled_rows()
    settings = chain(
        [((0, 1), 4), (None, 12)], local_models=SetVote(("bayes",), 0.0, False)
    )
    layers, _ = grow_tree(batch, settings)
    above = None
    for layer in layers:
        seen = batch.rows[:, :2] if layer is layers[0] else batch.rows
        labels = nearest_child(seen, layer.partition, above)
        groups = batch.targets + (0 if above is None else above * MAX_CLASSES)
        own = nearest_of_group(seen, layer.partition, groups, labels)
        expected = slow_census(batch, labels, own, len(layer.codebook))
        if layer is layers[0]:
            assert isinstance(layer.settings.features, Columns)
            assert_census(layer.census, expected)
        else:
            np.testing.assert_allclose(layer.census.descended, expected[0], rtol=1e-11)
            np.testing.assert_allclose(layer.census.weight, expected[1], rtol=1e-11)
            assert layer.census.total.shape[1] == 0
        above = labels


def test_without_classes_and_features_weights_tell_all():
    batch = replace(labelled_rows(), targets=None)
    (layer,), model = grow_tree(batch, chain([(None, 6)]))
    assert layer.census is None
    counts = model.tree.finest.n_samples(model.n_seen)
    labels = nearest_child(batch.rows, layer.partition, None)
    np.testing.assert_allclose(counts, np.bincount(labels, batch.weights), rtol=1e-9)
