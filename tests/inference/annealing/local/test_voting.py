"""Probabilities of classes down a tree, and what decided them, row by row."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from odalib.inference.annealing import rows as module
from odalib.inference.annealing.groups import MAX_CLASSES
from odalib.inference.annealing.local.voting import (
    Ballot,
    class_log_probabilities,
    explain_votes,
)
from tests.oracles.divergences import CLOSED_FORMS, draw_rows
from tests.oracles.votes import class_votes, log_probabilities

from ..trees import SetVote, chain, descend_slowly, grow_tree, labelled_rows

names = pytest.mark.parametrize("name", CLOSED_FORMS)
decisions = pytest.mark.parametrize("decision", ["bayes", "nearest"])
RESOLUTIONS = {
    "flat": [(None, 7)],
    "two": [((0,), 5), (None, 14)],
    "three": [((2,), 4), ((0, 1), 10), (None, 18)],
}
shapes = pytest.mark.parametrize("shape", RESOLUTIONS)


@cache
def tree_of(name, shape, decision, **settings):
    spec = SetVote((decision,), 0.0, False, coldness=0.8, **settings)
    settings = chain(RESOLUTIONS[shape], divergence=name, local_models=spec)
    _, model = grow_tree(labelled_rows(name), settings)
    return model.tree


def probabilities_down(tree, x, n_classes, name):
    """What the cells on the way down say of one row, each mixed with what is above."""
    labels, apart = descend_slowly(tree, x, name)
    found, cell = [1.0 / n_classes] * n_classes, 0
    for level, label, distances in zip(tree.levels, labels, apart, strict=True):
        vote, quantiser = level.cells, level.quantiser
        own = [i for i in range(len(distances)) if level.parents[i] == cell]
        votes = class_votes(
            [distances[i] for i in own],
            quantiser.weights[own],
            quantiser.groups[own] % MAX_CLASSES,
            n_classes,
            vote.temperature,
            vote.decision,
        )
        seen = vote.weight * quantiser.weights[own].sum()
        descended, met = level.census.descended[own].sum(), level.census.weight[own]
        # Rows of classes without children in the cell, as far as it is known of what.
        strange = (descended - met.sum()) / (descended + 1.0)
        known = set(quantiser.groups[own] % MAX_CLASSES)
        others = sum(above for c, above in enumerate(found) if c not in known)
        if others == 0.0 or strange < 1e-12:
            strange = 0.0
        chances = [
            (1.0 - strange) * math.exp(log_p)
            if c in known
            else strange * found[c] / others
            for c, log_p in enumerate(log_probabilities(votes))
        ]
        found = [
            (seen * chance + above) / (seen + 1.0)
            for chance, above in zip(chances, found, strict=True)
        ]
        cell = label
    return found


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix], ids=["", "csr"])
@decisions
@shapes
@names
def test_probabilities_down_the_tree(name, shape, decision, layout, monkeypatch):
    """Of four classes, of which the tree knows three; in blocks of eight rows."""
    monkeypatch.setattr(module, "MAX_BLOCK", 8)
    tree, x = tree_of(name, shape, decision), draw_rows(name, 12, 3, 9)
    found = np.exp(class_log_probabilities(tree, layout(x), 4, 1))
    expected = [probabilities_down(tree, row, 4, name) for row in x]
    np.testing.assert_allclose(found, expected, rtol=1e-7)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    assert (found[:, 3] > 0.0).all()


@shapes
def test_probabilities_are_finite_far_from_all_rows(shape):
    tree = tree_of("squared_euclidean", shape, "bayes")
    x = 1e6 * draw_rows("squared_euclidean", 40, 3, 9)
    found = class_log_probabilities(tree, x, 3, 1)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(np.exp(found).sum(axis=1), 1.0, rtol=1e-12)
    # The rest is left to what the votes of W rows cannot know.
    least = -np.log(3.0 * (1.0 + tree.levels[0].cells.weight))
    assert found.min() >= len(RESOLUTIONS[shape]) * least - 1e-12


def test_votes_are_in_the_metric_of_the_cells():
    tree = tree_of("squared_euclidean", "flat", "bayes", has_metric=True, shrinkage=0.3)
    x, (level,) = draw_rows("squared_euclidean", 30, 3, 9), tree.levels
    vote, quantiser = level.cells, level.quantiser
    found = np.exp(class_log_probabilities(tree, x, 3, 1))
    explanation = explain_votes(tree, x, 1)
    for n, row in enumerate(x):
        away = row - quantiser.codevectors
        apart = np.einsum("ij,jk,ik->i", away, vote.precision, away)
        votes = class_votes(
            apart, quantiser.weights, quantiser.groups, 3, vote.temperature, "bayes"
        )
        expected = [
            (vote.weight * math.exp(log_p) + 1.0 / 3.0) / (vote.weight + 1.0)
            for log_p in log_probabilities(votes)
        ]
        np.testing.assert_allclose(found[n], expected, rtol=1e-8)
        own = apart[explanation.codevector[n]]
        assert explanation.divergence[n] == pytest.approx(own, rel=1e-9)


@decisions
@shapes
@names
def test_explanation(name, shape, decision):
    """The leaf with the largest vote for the class that wins in the cell."""
    tree, x = tree_of(name, shape, decision), draw_rows(name, 30, 3, 9)
    level, explanation = tree.finest, explain_votes(tree, x, 1)
    quantiser, vote, lonely = level.quantiser, level.cells, 0
    classes = quantiser.groups % MAX_CLASSES
    for n, row in enumerate(x):
        labels, apart = descend_slowly(tree, row, name)
        cell = labels[-2] if len(labels) > 1 else 0
        own = np.flatnonzero(level.parents == cell)
        apart = np.array(apart[-1])
        votes = class_votes(
            apart[own],
            quantiser.weights[own],
            classes[own],
            3,
            vote.temperature,
            decision,
        )
        winner = int(np.argmax(votes))
        support = -apart / vote.temperature
        if decision == "bayes":
            support = support + np.log(quantiser.weights)
        decider = max(own[classes[own] == winner], key=lambda i: support[i])
        assert explanation.codevector[n] == decider
        near = apart[decider]
        assert explanation.divergence[n] == pytest.approx(near, rel=1e-7, abs=1e-9)
        others = apart[own[classes[own] != winner]]
        margin = others.min() - near if len(others) else math.inf
        assert explanation.margin[n] == pytest.approx(margin, rel=1e-6, abs=1e-9)
        lonely += len(others) == 0
    assert shape == "flat" or lonely > 0
    # A vote for the nearest is for the least divergence.
    assert decision == "bayes" or (explanation.margin >= 0.0).all()


def test_a_flat_vote_explains_what_it_says():
    for decision in ("bayes", "nearest"):
        tree = tree_of("squared_euclidean", "flat", decision)
        x = draw_rows("squared_euclidean", 200, 3, 9)
        said = class_log_probabilities(tree, x, 3, 1).argmax(axis=1)
        groups = tree.finest.quantiser.groups
        np.testing.assert_array_equal(
            groups[explain_votes(tree, x, 1).codevector], said
        )


@shapes
def test_same_bits_for_every_number_of_threads(shape, monkeypatch):
    monkeypatch.setattr(module, "MAX_BLOCK", 8)
    tree, x = tree_of("logistic", shape, "bayes"), draw_rows("logistic", 100, 3, 9)
    alone, together = (class_log_probabilities(tree, x, 3, n) for n in (1, 3))
    np.testing.assert_array_equal(alone, together)
    one, other = (vars(explain_votes(tree, x, n)) for n in (1, 3))
    for field, same in zip(one.values(), other.values(), strict=True):
        np.testing.assert_array_equal(field, same)


def test_a_cell_of_little_weight_is_trusted_little():
    """As its weight falls, the leaves leave the word to the level above."""
    tree = tree_of("squared_euclidean", "two", "bayes")
    x = draw_rows("squared_euclidean", 30, 3, 9)
    top = class_log_probabilities(replace(tree, levels=tree.levels[:1]), x, 3, 1)
    light = replace(tree.finest, cells=replace(tree.finest.cells, weight=1e-9))
    found = class_log_probabilities(
        replace(tree, levels=(tree.levels[0], light)), x, 3, 1
    )
    np.testing.assert_allclose(found, top, atol=1e-6)


@given(
    p=st.lists(st.floats(1e-300, 1.0), min_size=2, max_size=5),
    lapse=st.floats(1e-9, 0.999),
)
def test_a_share_of_doubt_is_mixed_in(p, lapse):
    p = np.array(p) / np.sum(p)
    count = np.arange(len(p))
    planes = np.zeros((len(p), 1)), -np.log(p)
    ballot = Ballot(planes, count, count, adds=True, lapse=lapse, strange=0.0)
    above = np.column_stack([p[::-1], np.full(len(p), 1.0 / len(p))])
    expected = (1.0 - lapse) * p[:, np.newaxis] + lapse * above
    ballot.mix(np.zeros((2, 1)), None, above)
    np.testing.assert_allclose(above, expected, rtol=1e-12)


@pytest.mark.parametrize("strange", [0.0, 0.25])
def test_a_class_that_nobody_votes_for_has_its_share_of_the_doubt(strange):
    planes, one = (np.zeros((1, 1)), np.zeros(1)), np.array([1])
    ballot = Ballot(planes, one, np.array([0]), True, lapse=0.1, strange=strange)
    above = np.array([[0.3], [0.5], [0.2]])
    ballot.mix(np.zeros((1, 1)), None, above)
    expected = [0.03 + 0.9 * strange * 0.6, 0.05 + 0.9 * (1 - strange), 0.02]
    expected[2] += 0.9 * strange * 0.4
    np.testing.assert_allclose(above[:, 0], expected, rtol=1e-14)
