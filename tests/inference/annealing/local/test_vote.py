"""How codevectors vote for classes, and what a vote learns from rows."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from odalib.inference.annealing.codebook import Codebook
from odalib.inference.annealing.divergences import as_divergence
from odalib.inference.annealing.groups import MAX_CLASSES
from odalib.inference.annealing.local.base import Partition
from odalib.inference.annealing.local.vote import (
    Vote,
    class_logits,
    learnt_precision,
    log_softmax,
    spread_sums,
)
from odalib.inference.annealing.rows import RowBlocks
from tests.oracles.divergences import CLOSED_FORMS, draw_rows
from tests.oracles.grouped import nearest_of_group
from tests.oracles.votes import class_votes, log_probabilities

from ..problems import random_codebook

names = pytest.mark.parametrize("name", CLOSED_FORMS)
decisions = pytest.mark.parametrize("decision", ["bayes", "nearest"])
CLASSES = np.array([2, 0, 0, 2, 1, 0])


def partition_of(name, shift=None, seed=0):
    plain = random_codebook(draw_rows(name, 30, 2, seed), len(CLASSES), seed)
    codebook = Codebook(plain.points, plain.weights, CLASSES)
    return Partition(as_divergence(name), codebook, shift)


def vote_of(decision="bayes", **changes):
    settings = {"coldness": 2.0, "shrinkage": None, "within": None}
    settings |= {"spread": 1.4, "weight": 50.0}
    return Vote(decision, **(settings | changes))


def divergences(name, x, points):
    return np.array([[CLOSED_FORMS[name](row, mu) for mu in points] for row in x])


@given(
    classes=st.lists(st.integers(0, 4), min_size=1, max_size=8),
    decision=st.sampled_from(["bayes", "nearest"]),
    scale=st.sampled_from([1e-3, 1.0, 300.0]),
    seed=st.integers(0, 999),
)
def test_votes_are_sums_or_maxima_over_codevectors_of_a_class(
    classes, decision, scale, seed
):
    """Also where every term underflows: the largest are about -1000."""
    random = np.random.default_rng(seed)
    apart = scale * random.uniform(0.0, 9.0, size=(7, len(classes)))
    weights = random.dirichlet(np.full(len(classes), 0.5)) + 1e-12
    offset = random.normal(size=7)
    affinity = (offset[:, np.newaxis] - apart / 0.7).T
    before = affinity.copy()
    logits = class_logits(affinity, weights, np.array(classes), 5, decision)
    np.testing.assert_array_equal(affinity, before)
    expected = [class_votes(row, weights, classes, 5, 0.7, decision) for row in apart]
    expected = np.array(expected).T + offset
    np.testing.assert_allclose(logits, expected, rtol=1e-11, atol=1e-11)


@decisions
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix], ids=["", "csr"])
@names
def test_vote_of_rows(name, layout, decision):
    """The temperature is the spread over the coldness, 1.4 / 2."""
    partition, vote = partition_of(name), vote_of(decision)
    x, codebook = draw_rows(name, 20, 2, 7), partition.codebook
    affinity = vote.affinity(layout(x), partition, slice(None))
    logits = vote.logits(affinity, codebook, slice(None), 4)
    found = log_softmax(logits)
    for n, row in enumerate(divergences(name, x, codebook.points)):
        votes = class_votes(row, codebook.weights, CLASSES, 4, 0.7, decision)
        expected = log_probabilities(votes)
        np.testing.assert_allclose(found[:, n], expected, rtol=1e-9, atol=1e-12)
    assert np.isneginf(found[3]).all()


@names
def test_nearest_vote_is_for_the_class_of_the_nearest_codevector(name):
    partition = partition_of(name)
    x = draw_rows(name, 60, 2, 7)
    for members in (slice(None), np.array([0, 3, 4])):
        vote = vote_of("nearest", coldness=1e-3)
        affinity = vote.affinity(x, partition, members)
        winner = vote.logits(affinity, partition.codebook, members, 3).argmax(axis=0)
        apart = divergences(name, x, partition.codebook.points[members])
        expected = CLASSES[members][apart.argmin(axis=1)]
        np.testing.assert_array_equal(winner, expected)
        assert len(set(winner)) > 1


def test_groups_of_a_tree_vote_for_their_classes():
    partition = partition_of("squared_euclidean")
    codebook = replace(partition.codebook, groups=CLASSES + 7 * MAX_CLASSES)
    affinity = np.random.default_rng(0).normal(size=(6, 5))
    one, other = (
        vote_of().logits(affinity, book, slice(None), 3)
        for book in (codebook, partition.codebook)
    )
    np.testing.assert_array_equal(one, other)


def test_vote_in_the_metric_of_the_cells():
    """Divergence, temperature and all: precision P, and trace(P W) / coldness."""
    within = np.array([[2.0, 0.6], [0.6, 0.5]])
    vote, partition = (
        vote_of(shrinkage=0.2, within=within),
        partition_of("squared_euclidean"),
    )
    precision = 1.25 * np.linalg.inv(0.8 * within + 0.2 * 1.25 * np.eye(2))
    np.testing.assert_allclose(vote.precision, precision, rtol=1e-12)
    temperature = np.trace(precision @ within) / 2.0
    assert vote.temperature == pytest.approx(temperature, rel=1e-12)
    x, codebook = draw_rows("squared_euclidean", 9, 2, 7), partition.codebook
    found = log_softmax(
        vote.logits(vote.affinity(x, partition, slice(None)), codebook, slice(None), 3)
    )
    for n, row in enumerate(x):
        apart = [(row - mu) @ precision @ (row - mu) for mu in codebook.points]
        votes = class_votes(apart, codebook.weights, CLASSES, 3, temperature, "bayes")
        np.testing.assert_allclose(found[:, n], log_probabilities(votes), atol=1e-9)


def test_temperature_where_rows_equal_their_codevectors():
    assert vote_of(spread=0.0).temperature == 0.5
    still = vote_of(spread=0.0, within=np.zeros((2, 2)), shrinkage=0.1)
    assert still.temperature == 0.5
    np.testing.assert_array_equal(still.precision, np.eye(2))


@given(shrinkage=st.floats(0.0, 1.0), seed=st.integers(0, 999), rank=st.integers(1, 4))
def test_learnt_precision(shrinkage, seed, rank):
    """The identity at 1, at 0 the inverse covariance times its mean variance."""
    factor = np.random.default_rng(seed).normal(size=(4, rank))
    within = factor @ factor.T
    mean = np.trace(within) / 4.0
    precision = learnt_precision(within, shrinkage)
    np.testing.assert_allclose(precision, precision.T, rtol=1e-9, atol=1e-12)
    if shrinkage > 1e-3:
        shrunk = (1.0 - shrinkage) * within + shrinkage * mean * np.eye(4)
        np.testing.assert_allclose(
            precision @ shrunk, mean * np.eye(4), atol=1e-6 * mean
        )
    np.testing.assert_allclose(learnt_precision(within, 1.0), np.eye(4), atol=1e-12)
    if rank == 4 and np.linalg.cond(within) < 1e6:
        inverse = mean * np.linalg.inv(within)
        np.testing.assert_allclose(learnt_precision(within, 0.0), inverse, rtol=1e-6)
    # Directions without variance count no more than those with 1e-10 of the mean.
    largest = np.linalg.eigvalsh(learnt_precision(within, 0.0))[-1]
    assert largest <= 1e10 * (1.0 + 1e-6)


@pytest.mark.parametrize(
    ("layout", "covariance"),
    [(np.asarray, True), (np.asarray, False), (sp.csr_matrix, False)],
)
@names
def test_spread_is_summed_about_the_nearest_codevector_of_the_class(
    name, layout, covariance
):
    partition = partition_of(name)
    x, groups = draw_rows(name, 50, 2, 7), np.arange(50) % 3
    weights = np.linspace(0.5, 2.0, 50)
    rows = RowBlocks(layout(x), weights, groups=groups)
    within, spread = spread_sums(rows, partition, covariance=covariance)
    labels, least = nearest_of_group(CLOSED_FORMS[name], x, groups, partition.codebook)
    assert spread == pytest.approx(weights @ least, rel=1e-9)
    if not covariance:
        assert within is None
        return
    expected = np.zeros((2, 2))
    for row, weight, label in zip(x, weights, labels, strict=True):
        apart = row - partition.codebook.points[label]
        expected += weight * np.outer(apart, apart)
    np.testing.assert_allclose(within, expected, rtol=1e-10)


def test_spread_of_rows_on_their_codevectors_is_never_negative():
    """Rounding of the affine form would make it so at some scales."""
    partition = partition_of("kullback_leibler", seed=1)
    for scale in np.geomspace(1e-3, 1e5, 60):
        points = scale * partition.codebook.points
        codebook = replace(partition.codebook, points=points)
        rows = RowBlocks(points, np.ones(6), groups=CLASSES)
        scaled = replace(partition, codebook=codebook)
        _, spread = spread_sums(rows, scaled, covariance=False)
        # No less than the rounding of phi, 1e-12 of it.
        phi = np.abs(partition.divergence.phi(points)).sum()
        assert 0.0 < spread < 1.01e-12 * phi + 1e-12 * scale
