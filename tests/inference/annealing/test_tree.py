"""Rows descend a tree: against brute force, and probabilities along the way."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import log_softmax

from odalib.inference.annealing import rows as module
from odalib.inference.annealing.codebook import Codebook
from odalib.inference.annealing.groups import parents_of
from tests.oracles.divergences import CLOSED_FORMS, draw_rows
from tests.oracles.grouped import nearest_of_group

from .trees import (
    SetVote,
    chain,
    descend_slowly,
    grow_tree,
    labelled_rows,
    lonely_rows,
)

names = pytest.mark.parametrize("name", CLOSED_FORMS)
layouts = pytest.mark.parametrize(
    "layout", [np.asarray, sp.csr_matrix], ids=["", "csr"]
)
RESOLUTIONS = [((2,), 3), ((0, 1), 7), (None, 15)]


@cache
def model_of(name, *, classes=False):
    spec = SetVote(("bayes",), 0.0, False) if classes else None
    settings = chain(RESOLUTIONS, divergence=name, local_models=spec)
    return grow_tree(labelled_rows(name), settings)[1]


@cache
def lonely_model():
    settings = chain(
        [((0,), 3), (None, 9)], local_models=SetVote(("bayes",), 0.0, False)
    )
    return grow_tree(lonely_rows(), settings)[1]


@layouts
@names
def test_rows_descend_to_the_nearest_child(name, layout, monkeypatch):
    """Among the children of their cell, level by level; in blocks of eight rows."""
    monkeypatch.setattr(module, "MAX_BLOCK", 8)
    tree, x = model_of(name).tree, draw_rows(name, 40, 3, 9)
    labels, divergence = tree.descend(layout(x), 1)
    for n, row in enumerate(x):
        expected, apart = descend_slowly(tree, row, name)
        assert [own[n] for own in labels] == expected
        least = apart[-1][expected[-1]]
        assert divergence[n] == pytest.approx(least, rel=1e-7, abs=1e-10)
    # Somewhere else a leaf is nearer to some rows than those of their cell.
    free = tree.divergences(layout(x), 1).argmin(axis=1)
    assert (free != labels[-1]).any()
    leaves, same = tree.assign(layout(x), 1)
    np.testing.assert_array_equal(leaves, labels[-1])
    np.testing.assert_array_equal(same, divergence)
    np.testing.assert_array_equal(tree.cells(layout(x), 1), labels)
    _, cells = tree.above(layout(x), 1)
    np.testing.assert_array_equal(cells, labels[-2])


def association_slowly(tree, x, name):
    """Log of the product of associations with the children down to every leaf."""
    _, apart = descend_slowly(tree, x, name)
    result = np.zeros(1)
    for level, distances in zip(tree.levels, apart, strict=True):
        quantiser = level.quantiser
        logits = np.log(quantiser.weights) - np.array(distances) / quantiser.temperature
        own = np.empty(len(logits))
        for parent in np.unique(level.parents):
            children = level.parents == parent
            own[children] = log_softmax(logits[children])
        result = result[level.parents] + own
    return result


@layouts
@names
def test_probability_of_leaves_is_the_product_along_the_way(name, layout, monkeypatch):
    monkeypatch.setattr(module, "MAX_BLOCK", 8)
    tree, x = model_of(name).tree, draw_rows(name, 30, 3, 9)
    expected = np.array([association_slowly(tree, row, name) for row in x])
    found = tree.association(layout(x), 1, log=True)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)
    found = tree.association(layout(x), 1)
    np.testing.assert_allclose(found, np.exp(expected), rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-10)
    assert tree.association(x.astype(np.float32), 1).dtype == np.float32


def test_no_row_descends_to_a_codevector_without_leaves():
    tree = lonely_model().tree
    top, bottom = tree.levels
    assert top.quantiser.n_codevectors == 3
    lonely = set(range(3)) - set(bottom.parents)
    assert len(lonely) == 1
    x = np.stack([np.linspace(-0.1, 0.1, 20), np.sin(np.arange(20.0))], axis=1)
    nearest = np.abs(x[:, :1] - top.quantiser.codevectors[:, 0]).argmin(axis=1)
    assert set(nearest) & lonely
    labels, _ = tree.descend(x, 1)
    for n, row in enumerate(x):
        assert [own[n] for own in labels] == descend_slowly(tree, row)[0]
    found = tree.association(x, 1)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    cells = np.stack([found[:, bottom.parents == i].sum(axis=1) for i in range(3)])
    np.testing.assert_array_equal(cells[list(lonely)], 0.0)


def test_one_level_is_its_quantiser():
    _, model = grow_tree(labelled_rows(), chain([(None, 6)]))
    tree, x = model.tree, draw_rows("squared_euclidean", 30, 3, 9)
    quantiser = tree.finest.quantiser
    for ours, plain in [
        (tree.assign(x, 1), quantiser.assign(x, 1)),
        ((tree.divergences(x, 1),), (quantiser.divergences(x, 1),)),
        ((tree.association(x, 1),), (quantiser.association(x, 1),)),
        ((tree.log_density(x, 1),), (quantiser.log_density(x, 1),)),
    ]:
        for one, other in zip(ours, plain, strict=True):
            np.testing.assert_array_equal(one, other)
    same, cells = tree.above(x, 1)
    assert same is x
    assert cells is None


def test_density_and_divergences_are_those_of_the_leaves_in_their_features():
    batch = labelled_rows()
    settings = chain([(None, 3), ((0, 2), 8)])
    tree, x = (
        grow_tree(batch, settings)[1].tree,
        draw_rows("squared_euclidean", 9, 3, 9),
    )
    quantiser = tree.finest.quantiser
    assert quantiser.codevectors.shape == (8, 2)
    d = ((x[:, np.newaxis, [0, 2]] - quantiser.codevectors) ** 2).sum(axis=2)
    np.testing.assert_allclose(tree.divergences(x, 1), d, rtol=1e-9)
    temperature = quantiser.temperature
    density = np.exp(-d / temperature) @ quantiser.weights / (np.pi * temperature)
    np.testing.assert_allclose(np.exp(tree.log_density(x, 1)), density, rtol=1e-9)


@pytest.mark.parametrize("classes", [False, True])
def test_same_bits_for_every_number_of_threads(classes, monkeypatch):
    monkeypatch.setattr(module, "MAX_BLOCK", 8)
    tree = model_of("kullback_leibler", classes=classes).tree
    x = draw_rows("kullback_leibler", 100, 3, 9)
    for method in (tree.association, tree.divergences, tree.log_density):
        np.testing.assert_array_equal(method(x, 1), method(x, 3))
    for one, other in zip(tree.descend(x, 1)[0], tree.descend(x, 3)[0], strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize("size", [14, 9, 7])
def test_smaller_trees_keep_every_cell_and_all_rows(size, classes):
    """Leaves go whole into those of their cell; with them the sums over their rows."""
    model = model_of("squared_euclidean", classes=classes)
    old = model.tree.finest.quantiser
    groups = np.unique(old.groups)
    if size < len(groups):
        with pytest.raises(ValueError, match=f"holds {len(groups)} to 15"):
            model.at_size(size)
        return
    smaller = model.at_size(size)
    new = smaller.quantiser
    assert new.n_codevectors == size
    assert smaller.tree.levels[:-1] == model.tree.levels[:-1]
    # Merging conserves the weight of every cell and class.
    weights = [
        quantiser.weights @ (quantiser.groups[:, np.newaxis] == groups)
        for quantiser in (old, new)
    ]
    np.testing.assert_allclose(*weights, rtol=1e-10)
    x = draw_rows("squared_euclidean", 30, 3, 9)
    labels, _ = smaller.tree.descend(x, 1)
    for n, row in enumerate(x):
        expected, _ = descend_slowly(smaller.tree, row)
        assert [own[n] for own in labels] == expected


def test_census_of_a_smaller_tree_is_of_the_leaves_that_went_into_it():
    batch = labelled_rows()
    _, model = grow_tree(batch, chain([((2,), 3), ((0, 1), 12)]))
    before, after = model.tree.finest, model.at_size(5).tree.finest
    leaves = model.tree.descend(batch.rows, 1)[0][-1]
    points = before.quantiser.codevectors, after.quantiser.codevectors
    apart = ((points[0][:, np.newaxis] - points[1]) ** 2).sum(axis=2)
    apart[before.parents[:, np.newaxis] != after.parents] = np.inf
    went = apart.argmin(axis=1)[leaves]
    for i in range(5):
        inside = went == i
        weights = batch.weights[inside]
        mean = np.average(batch.rows[inside], axis=0, weights=weights)
        np.testing.assert_allclose(after.points[i], mean, rtol=1e-10)
        assert after.n_samples(0.0)[i] == pytest.approx(weights.sum(), rel=1e-12)


@names
def test_votes_of_smaller_sizes_know_how_far_rows_are(name):
    """From the codevectors that those of their cells went into, row by row."""
    batch = labelled_rows(name)
    spec = SetVote(("bayes",), 0.0, False)
    settings = chain([(None, 9)], divergence=name, local_models=spec, tol=0.0)
    (layer,), model = grow_tree(batch, settings)
    smaller, d = model.at_size(5), CLOSED_FORMS[name]
    fine, coarse = model.quantiser, smaller.quantiser
    own, _ = nearest_of_group(d, batch.rows, batch.targets, published(fine))
    went, _ = nearest_of_group(d, fine.codevectors, fine.groups, published(coarse))
    apart = [
        d(row, mu)
        for row, mu in zip(batch.rows, coarse.codevectors[went[own]], strict=True)
    ]
    expected = np.average(apart, weights=batch.weights)
    assert smaller.tree.finest.cells.spread == pytest.approx(expected, rel=1e-7)
    assert smaller.tree.finest.cells.spread > 1.1 * layer.cells.spread


def published(quantiser):
    """Codevectors in the units of the data, with their groups."""
    return Codebook(quantiser.codevectors, quantiser.weights, quantiser.groups)


def test_levels_by_temperature_keep_the_coarse_cells():
    model = model_of("squared_euclidean")
    path = model.path
    for level, temperature in enumerate(path.temperature):
        found = model.at_temperature(temperature)
        assert found.tree.levels[:-1] == model.tree.levels[:-1]
        np.testing.assert_allclose(
            found.quantiser.codevectors, path.codebooks[level], rtol=1e-13
        )
        cells = parents_of(path.groups[level])
        np.testing.assert_array_equal(found.tree.finest.parents, cells)
        assert set(cells) == set(range(7))


def test_a_level_without_groups_hangs_from_the_root():
    _, model = grow_tree(labelled_rows(), chain([(None, 6)]))
    level = model.tree.finest
    np.testing.assert_array_equal(level.parents, np.zeros(6))
    assert level.children(None) == slice(None)
    tree = model_of("squared_euclidean").tree
    second = tree.levels[1]
    children = [set(second.children(cell)) for cell in range(3)]
    assert set.union(*children) == set(range(7))
    for cell, own in enumerate(children):
        assert {second.parents[i] for i in own} == {cell}
    bare = replace(second, census=None)
    assert bare.points is second.quantiser.codevectors
    np.testing.assert_array_equal(bare.n_samples(8.0), 8.0 * bare.quantiser.weights)
