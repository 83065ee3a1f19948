"""The tree as users read it: nodes, parents, what they have seen, and paths."""

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp

from .trees import (
    SetVote,
    chain,
    descend_slowly,
    grow_tree,
    labelled_rows,
    lonely_rows,
)

VOTE = SetVote(("bayes",), 0.0, False)


@cache
def model_of(kind):
    """Model, and the codevectors that every row of the fit passes, (levels, n)."""
    batch = lonely_rows() if kind == "lonely" else labelled_rows()
    resolutions = {
        "flat": [(None, 5)],
        "plain": [(None, 3), (None, 7), (None, 15)],
        "features": [((2,), 3), ((0, 1), 7), (None, 15)],
        "classes": [((2,), 4), ((0, 1), 7), (None, 20)],
        "lonely": [((0,), 3), (None, 9)],
    }[kind]
    spec = VOTE if kind in ("classes", "lonely") else None
    _, model = grow_tree(batch, chain(resolutions, local_models=spec))
    labels = [descend_slowly(model.tree, row)[0] for row in batch.rows]
    return model, np.array(labels).T, batch


kinds = pytest.mark.parametrize(
    "kind", ["flat", "plain", "features", "classes", "lonely"]
)


@kinds
def test_nodes_are_numbered_level_by_level(kind):
    model, _, _ = model_of(kind)
    tree, levels = model.summary, model.tree.levels
    sizes = [level.quantiser.n_codevectors for level in levels]
    assert tree.n_levels == len(sizes)
    assert tree.n_codevectors == sizes
    assert tree.n_leaves == sizes[-1]
    assert tree.n_nodes == 1 + sum(sizes)
    assert tree.parent[0] == -1
    node, above = 1, 0
    for depth, level in enumerate(levels):
        assert tree.first_nodes[depth] == node
        for i, parent in enumerate(level.parents):
            assert tree.level[node + i] == depth + 1
            assert tree.parent[node + i] == above + parent
        above, node = node, node + sizes[depth]
    for node in range(tree.n_nodes):
        expected = [i for i in range(tree.n_nodes) if tree.parent[i] == node]
        assert tree.children(node).tolist() == expected
    shape = " > ".join(map(str, sizes))
    assert repr(tree) == f"AnnealingTree({tree.n_nodes} nodes, codevectors {shape})"


@kinds
def test_nodes_tell_what_rows_passed(kind):
    """Where cells are settled; a codevector weighs what its rows do."""
    model, labels, batch = model_of(kind)
    tree, weights = model.summary, batch.weights
    assert tree.n_samples[0] == pytest.approx(weights.sum(), rel=1e-12)
    for first, own, size in zip(
        tree.first_nodes, labels, tree.n_codevectors, strict=True
    ):
        passed = np.bincount(own, weights, minlength=size)
        if kind != "plain":
            found = tree.n_samples[first : first + size]
            np.testing.assert_allclose(found, passed, rtol=1e-10)
    for node in range(tree.n_nodes):
        children = tree.children(node)
        if len(children):
            total = tree.n_samples[children].sum()
            assert total == pytest.approx(tree.n_samples[node], rel=1e-10)


@kinds
def test_status(kind):
    model, _, _ = model_of(kind)
    tree = model.summary
    found = [tree.status(node) for node in range(tree.n_nodes)]
    assert found[0] == "root"
    for node in range(1, tree.n_nodes):
        n_children = (tree.parent == node).sum()
        if tree.level[node] == tree.n_levels:
            assert found[node] == "leaf"
        else:
            assert found[node] == ["empty", "closed", "open"][min(n_children, 2)]
    assert ("empty" in found) == (kind == "lonely")
    if kind == "classes":
        assert {"open", "closed"} <= set(found)


@kinds
def test_paths_of_rows(kind):
    model, labels, batch = model_of(kind)
    tree = model.summary
    found, _ = model.tree.descend(batch.rows, 1)
    paths = tree.paths(found)
    assert isinstance(paths, sp.csr_matrix)
    expected = np.zeros((120, tree.n_nodes), dtype=int)
    expected[:, 0] = 1
    for first, own in zip(tree.first_nodes, labels, strict=True):
        expected[np.arange(120), first + own] = 1
    np.testing.assert_array_equal(paths.toarray(), expected)
    # A way down: the parent of every node but the root is on it.
    for row in paths:
        passed = set(row.indices)
        assert all(tree.parent[node] in passed for node in passed - {0})


@kinds
def test_what_is_published_of_codevectors(kind):
    model, _, _ = model_of(kind)
    tree, levels = model.summary, model.tree.levels
    for place, level in enumerate(levels):
        quantiser = level.quantiser
        assert tree.codevectors[place] is quantiser.codevectors
        np.testing.assert_array_equal(tree.points[place], level.points)
        assert tree.temperature[place] == quantiser.temperature
    if kind not in ("classes", "lonely"):
        assert tree.classes is None
        return
    names = np.array(["b", "a", "c"])
    labelled = tree.labelled(names)
    for place, level in enumerate(levels):
        codes = level.quantiser.groups % 2**20
        np.testing.assert_array_equal(tree.classes[place], codes)
        np.testing.assert_array_equal(labelled.classes[place], names[codes])
    assert set(labelled.classes[0]) == set(names)
