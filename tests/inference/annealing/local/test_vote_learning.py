"""What a vote learns from rows: spread, covariance and temperature, as they come."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from odalib.inference.annealing.batch import Batch
from odalib.inference.annealing.codebook import Codebook
from odalib.inference.annealing.divergences import as_divergence
from odalib.inference.annealing.groups import MAX_CLASSES
from odalib.inference.annealing.lineage import merged_into, split_of
from odalib.inference.annealing.local import vote as module
from odalib.inference.annealing.local.base import Partition
from odalib.inference.annealing.local.class_vote import ClassVote
from odalib.inference.annealing.local.vote import Vote, log_softmax, spread_sums
from odalib.inference.annealing.rows import RowBlocks
from tests.oracles.divergences import CLOSED_FORMS, draw_rows
from tests.oracles.grouped import nearest_of_group
from tests.oracles.votes import class_votes, log_probabilities

# Of the partition; a vote goes by its own.
AGE = 7.0
names = pytest.mark.parametrize("name", CLOSED_FORMS)
SPEC = ClassVote(
    ("bayes", "nearest"), np.inf, False, has_metric=True, shrinkage=0.5, coldness=3.0
)


def cells_of(name, n_rows=60, seed=0):
    """Rows, each in one of five cells with mean and class, as a batch and partition."""
    x, random = draw_rows(name, n_rows, 2, seed), np.random.default_rng(seed)
    weights = random.uniform(0.5, 2.0, n_rows)
    labels = x[:, 0].argsort().argsort() * 5 // n_rows
    classes = np.array([0, 1, 1, 2, 0])
    points = np.array(
        [
            np.average(x[labels == i], axis=0, weights=weights[labels == i])
            for i in range(5)
        ]
    )
    shares = np.bincount(labels, weights) / weights.sum()
    codebook = Codebook(points, shares, classes)
    batch = Batch(x, weights, classes[labels])
    return batch, labels, Partition(as_divergence(name), codebook, None)


@names
def test_a_vote_begins_with_all_rows(name):
    batch, _, partition = cells_of(name)
    vote = SPEC.begin(batch, partition, None, 1)
    assert (vote.decision, vote.coldness, vote.shrinkage) == ("bayes", 3.0, 0.5)
    assert vote.weight == pytest.approx(batch.weights.sum(), rel=1e-12)
    labels, least = nearest_of_group(
        CLOSED_FORMS[name], batch.rows, batch.targets, partition.codebook
    )
    mean = np.average(least, weights=batch.weights)
    assert vote.spread == pytest.approx(mean, rel=1e-9)
    apart = batch.rows - partition.codebook.points[labels]
    expected = (apart.T * batch.weights) @ apart / batch.weights.sum()
    np.testing.assert_allclose(vote.within, expected, rtol=1e-10)
    # In the coordinates of a partition with a shift, as a fit has them.
    if name == "squared_euclidean":
        shift = np.array([30.0, -4.0])
        moved = replace(batch, rows=batch.rows + shift)
        again = SPEC.begin(moved, replace(partition, shift=shift), None, 1)
        assert again.spread == pytest.approx(vote.spread, rel=1e-10)


def test_without_a_metric_no_covariance_is_kept():
    batch, _, partition = cells_of("squared_euclidean")
    spec = replace(SPEC, has_metric=False, shrinkage=None)
    vote = spec.begin(batch, partition, None, 1)
    assert vote.within is None
    vote = vote.learn(batch, partition, None, None, AGE)
    assert vote.within is None


@pytest.mark.parametrize("cut", [1, 13, 59])
def test_spread_learnt_in_two_batches_is_that_of_both(cut):
    batch, _, partition = cells_of("squared_euclidean")
    whole = SPEC.begin(batch, partition, None, 1)
    first = SPEC.begin(batch[:cut], partition, None, 1)
    found = first.learn(batch[cut:], partition, None, None, AGE)
    assert found.spread == pytest.approx(whole.spread, rel=1e-11)
    assert found.weight == pytest.approx(whole.weight, rel=1e-12)
    np.testing.assert_allclose(found.within, whole.within, rtol=1e-10)


def test_spread_follows_the_last_rows_where_memory_is_short():
    """A step of ``1 - (1 - 1/N)^w`` where that is more than ``w / (age + w)``."""
    batch, _, partition = cells_of("squared_euclidean")
    old, new = batch[:40], batch[40:]
    first = replace(SPEC.begin(old, partition, None, 1), weight=1e9)
    found = first.learn(new, partition, None, 25.0, AGE)
    step = 1.0 - (1.0 - 1.0 / 25.0) ** new.weights.sum()
    own = SPEC.begin(new, partition, None, 1)
    expected = first.spread + step * (own.spread - first.spread)
    assert found.spread == pytest.approx(expected, rel=1e-6)
    expected = first.within + step * (own.within - first.within)
    np.testing.assert_allclose(found.within, expected, rtol=1e-6)


def test_spread_of_a_tree_is_about_codevectors_of_the_own_cell():
    batch, _, partition = cells_of("squared_euclidean")
    parents = np.arange(60) % 2
    codebook = partition.codebook
    groups = np.concatenate([codebook.groups, codebook.groups + MAX_CLASSES])
    points = np.concatenate([codebook.points, codebook.points + 2.0])
    tree = Codebook(points, np.tile(codebook.weights / 2.0, 2), groups)
    partition = replace(partition, codebook=tree)
    vote = SPEC.begin(batch, partition, parents, 1)
    own = batch.targets + parents * MAX_CLASSES
    _, least = nearest_of_group(
        CLOSED_FORMS["squared_euclidean"], batch.rows, own, tree
    )
    mean = np.average(least, weights=batch.weights)
    assert vote.spread == pytest.approx(mean, rel=1e-10)
    again = vote.learn(batch, partition, parents, None, AGE)
    assert again.spread == pytest.approx(mean, rel=1e-10)


def trial_losses(vote, batch, partition, parents):
    """Loss of a colder, this and a warmer vote, row by row."""
    codebook, losses = partition.codebook, []
    cells = codebook.groups // MAX_CLASSES
    for factor in (2.0**0.5, 1.0, 2.0**-0.5):
        total = 0.0
        for n, x in enumerate(batch.rows):
            own = np.flatnonzero(cells == (0 if parents is None else parents[n]))
            apart = [((x - codebook.points[i]) ** 2).sum() for i in own]
            votes = class_votes(
                apart,
                codebook.weights[own],
                codebook.groups[own] % MAX_CLASSES,
                4,
                vote.temperature / factor,
                vote.decision,
            )
            loss = -log_probabilities(votes)[batch.targets[n]]
            total += batch.weights[n] * loss
        losses.append(total)
    return losses


def tree_of(partition):
    """Cells 0 and 1, which know two classes each."""
    groups = partition.codebook.groups + np.array([0, 1, 0, 1, 1]) * MAX_CLASSES
    return replace(partition, codebook=replace(partition.codebook, groups=groups))


@pytest.mark.parametrize("decision", ["bayes", "nearest"])
@pytest.mark.parametrize("tree", [False, True], ids=["flat", "tree"])
def test_rows_are_tried_before_they_are_learnt(decision, tree, monkeypatch):
    """By the loss at three temperatures, over the weight of two batches."""
    monkeypatch.setattr(module, "TRIAL_ROWS", 70.0)
    batch, _, partition = cells_of("squared_euclidean")
    parents = None
    if tree:
        partition = tree_of(partition)
        own = np.random.default_rng(1).integers(5, size=60)
        parents, classes = np.divmod(partition.codebook.groups[own], MAX_CLASSES)
        batch = replace(batch, targets=classes)
    vote = Vote(decision, 1.5, None, None, spread=1.2, weight=80.0)
    losses = np.zeros(3)
    for rows in (slice(0, 40), slice(40, 60)):
        piece, own = batch[rows], None if parents is None else parents[rows]
        losses += trial_losses(vote, piece, partition, own)
        vote, before = vote.learn(piece, partition, own, None, AGE), vote
        if rows.start == 0:
            np.testing.assert_allclose(vote.trial[:3], losses, rtol=1e-9)
            assert vote.trial[3] == pytest.approx(piece.weights.sum(), rel=1e-12)
            assert vote.coldness == before.coldness
    factor = (2.0**0.5, 1.0, 2.0**-0.5)[int(np.argmin(losses))]
    assert factor != 1.0
    assert vote.coldness == pytest.approx(1.5 * factor, rel=1e-12)
    assert vote.trial == (0.0,) * 4


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_temperature_moves_to_where_it_predicts(noise, monkeypatch):
    """Ever colder where classes are apart, warmer where labels contradict the vote."""
    monkeypatch.setattr(module, "TRIAL_ROWS", 100.0)
    random = np.random.default_rng(0)
    y = random.integers(2, size=1000)
    x = 6.0 * y[:, np.newaxis] + random.normal(size=(1000, 1))
    y = np.where(random.random(1000) < noise, 1 - y, y)
    codebook = Codebook(np.array([[0.0], [6.0]]), np.full(2, 0.5), np.array([0, 1]))
    partition = Partition(as_divergence("squared_euclidean"), codebook, None)
    start = 1e-2 if noise == 0.0 else 50.0
    vote = Vote("bayes", start, None, None, spread=1.0, weight=1000.0)
    path = [start]
    for row in range(0, 1000, 50):
        rows = slice(row, row + 50)
        vote = vote.learn(
            Batch(x[rows], np.ones(50), y[rows]), partition, None, None, AGE
        )
        path.append(vote.coldness)
    # Ten trials, each after two batches.
    steps = np.diff(np.log2(path))
    assert (steps[::2] == 0.0).all()
    np.testing.assert_allclose(steps[1::2], 0.5 if noise == 0.0 else -0.5, rtol=1e-9)


@names
def test_merged_cells_vary_by_what_their_rows_do(name):
    """Of all rows about the means of the cells that theirs went into, row by row."""
    batch, labels, before = cells_of(name)
    x, weights, groups = batch.rows, batch.weights, np.array([1, 0, 0, 2, 1])

    def variation(own):
        """Covariance and mean divergence about a point for every row."""
        apart = [CLOSED_FORMS[name](row, mu) for row, mu in zip(x, own, strict=True)]
        within = ((x - own).T * weights) @ (x - own) / weights.sum()
        return within, np.average(apart, weights=weights)

    into = groups[labels]
    points = np.array(
        [np.average(x[into == i], axis=0, weights=weights[into == i]) for i in range(3)]
    )
    coarse = Codebook(points, np.bincount(groups, before.codebook.weights), None)
    within, spread = variation(before.codebook.points[labels])
    fine = Vote("bayes", 1.0, 0.5, within, spread, weights.sum())
    after = replace(before, codebook=coarse)
    vote = fine.regrouped(merged_into(groups), before, after)
    within, spread = variation(points[into])
    assert vote.spread == pytest.approx(spread, rel=1e-9)
    assert vote.spread > 1.05 * fine.spread
    np.testing.assert_allclose(vote.within, within, rtol=1e-10)
    # Codevectors that split are as near to the rows for all one knows.
    assert fine.inherit(split_of(np.ones(5, dtype=bool))) is fine


@pytest.mark.parametrize(("number", "entry"), [(1, 0), (2, 0), (3, 1), (5, 1)])
def test_other_sizes_vote_as_was_best_for_about_as_many(number, entry):
    """On a scale of ratios: three are nearer to six than to one."""
    by_size = (
        (1, "nearest", 0.1, 7.0),
        (6, "bayes", None, 3.0),
        (9, "bayes", 0.8, 2.0),
    )
    _, _, before = cells_of("squared_euclidean")
    vote = Vote("bayes", 1.0, 0.5, np.eye(2), 1.0, 60.0, by_size)
    groups = np.minimum(np.arange(5), number - 1)
    points = np.zeros((number, 2))
    after = replace(before, codebook=Codebook(points, np.full(number, 1.0 / number)))
    found = vote.regrouped(merged_into(groups), before, after)
    chosen = (found.decision, found.shrinkage, found.coldness)
    assert chosen == by_size[entry][1:]


@given(st.lists(st.floats(-700.0, 700.0), min_size=2, max_size=6))
def test_probabilities_of_logits(values):
    logits = np.array(values)[:, np.newaxis]
    found = log_softmax(logits)[:, 0]
    np.testing.assert_allclose(found, special.log_softmax(values), atol=1e-12)
    table = np.stack([logits[:, 0], logits[::-1, 0]], axis=1)
    np.testing.assert_array_equal(log_softmax(table)[:, 0], found)


def test_spread_sums_take_groups_without_rows():
    batch, _, partition = cells_of("squared_euclidean")
    some = batch[batch.targets != 1]
    rows = RowBlocks(some.rows, some.weights, groups=some.targets)
    _, spread = spread_sums(rows, partition, covariance=False)
    _, least = nearest_of_group(
        CLOSED_FORMS["squared_euclidean"], some.rows, some.targets, partition.codebook
    )
    assert spread == pytest.approx(some.weights @ least, rel=1e-10)
