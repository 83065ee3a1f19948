"""Learners of the user's: each taught the rows of its cell, copied, never changed."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from odalib.inference.annealing.batch import Batch
from odalib.inference.annealing.codebook import Codebook
from odalib.inference.annealing.divergences import as_divergence
from odalib.inference.annealing.fit import anneal
from odalib.inference.annealing.lineage import joined_by, merged_into, split_of
from odalib.inference.annealing.local.base import Partition
from odalib.inference.annealing.local.folds import folds_of
from odalib.inference.annealing.local.learners import CellLearners
from odalib.inference.annealing.targets import TargetWeight
from tests.oracles.divergences import CLOSED_FORMS
from tests.oracles.regressions import mean_of_nearest, slow_association

from .regressions import (
    curved_batch,
    dense,
    partition_of,
    regression_settings,
    tree_partition,
)

D = CLOSED_FORMS["squared_euclidean"]
SHIFT = np.array([30.0, -4.0, 1.0])


class Recorder:
    """Remembers what it was taught, and predicts the mean of the targets."""

    def __init__(self):
        self.taught = []

    def partial_fit(self, X, y, sample_weight=None):
        self.taught.append((X, y, sample_weight))
        return self

    def predict(self, X):
        targets = np.concatenate([y for _, y, _ in self.taught])
        return np.repeat(targets.mean(axis=0)[np.newaxis], X.shape[0], axis=0)

    def everything(self):
        return (np.concatenate(parts) for parts in zip(*self.taught, strict=True))


class Unweighted(Recorder):
    """Knows no weights."""

    def partial_fit(self, X, y):
        return super().partial_fit(X, y)


class Failing(Recorder):
    """Refuses rows, once there are some."""

    def __repr__(self):
        return "Failing()"

    def partial_fit(self, X, y):
        raise RuntimeError("no rows today")


def spec_of(learner=None, **changes):
    defaults = {"blend": True, "warmth": 1.6}
    learner = Recorder() if learner is None else learner
    return CellLearners(learner, **(defaults | changes))


def one_target(batch):
    return replace(batch, targets=batch.targets[:, :1])


def sorted_rows(*columns):
    table = np.column_stack(columns)
    return table[np.lexsort(table.T)]


@pytest.mark.parametrize(
    ("layout", "shift"),
    [(np.asarray, None), (np.asarray, SHIFT), (sp.csr_matrix, None)],
    ids=["dense", "shift", "csr"],
)
@pytest.mark.parametrize("n_targets", [1, 2])
def test_each_is_taught_the_rows_that_its_cell_wins(layout, shift, n_targets):
    """As they came, with their weights, from all rows and from further ones."""
    batch = curved_batch(n_rows=120)
    if n_targets == 1:
        batch = one_target(batch)
    offset = 0.0 if shift is None else shift
    batch = replace(batch, rows=layout(batch.rows + offset))
    partition = partition_of(batch, shift=shift)
    cells = spec_of().begin(batch[:70], partition, None, 1)
    rest = batch[70:]
    if shift is not None:
        rest = replace(rest, rows=rest.rows - shift)
    cells = cells.learn(rest, partition, None, None, 1e9)
    assert cells.n_targets == n_targets
    x = dense(batch.rows)
    wins = slow_association(D, x - offset, partition.codebook, None) > 0
    for cell, learner in enumerate(cells.learners):
        own = wins[cell]
        assert [len(y) for _, y, _ in learner.taught] == [
            own[:70].sum(),
            own[70:].sum(),
        ]
        rows = sp.vstack if layout is sp.csr_matrix else np.concatenate
        taught = dense(rows([part for part, _, _ in learner.taught]))
        targets = np.concatenate([y for _, y, _ in learner.taught])
        weights = np.concatenate([w for _, _, w in learner.taught])
        assert targets.ndim == n_targets
        np.testing.assert_allclose(
            sorted_rows(taught, targets, weights),
            sorted_rows(x[own], batch.targets[own], batch.weights[own]),
            rtol=1e-12,
            atol=1e-12,
        )
    expected = wins @ batch.weights
    np.testing.assert_allclose(cells.taught_weight, expected, rtol=1e-12)
    assert cells.weight == pytest.approx(batch.weights.sum(), rel=1e-12)


def test_in_a_tree_rows_of_their_own_cell_only():
    batch, above = one_target(curved_batch()), np.array([0, 0, 1, 1, 1])
    partition = tree_partition(partition_of(batch, n_codevectors=5), above)
    parents = np.arange(80) % 2
    cells = spec_of().begin(batch, partition, parents, 1)
    wins = slow_association(D, batch.rows, partition.codebook, None, parents, above)
    for cell, learner in enumerate(cells.learners):
        rows, targets, weights = learner.everything()
        own = wins[cell] > 0
        np.testing.assert_array_equal(rows, batch.rows[own])
        np.testing.assert_array_equal(targets, batch.targets[own, 0])
        np.testing.assert_array_equal(weights, batch.weights[own])


def test_weights_are_passed_to_those_that_take_them_only():
    batch, partition = curved_batch(), partition_of(curved_batch())
    cells = spec_of(Unweighted()).begin(batch, partition, None, 1)
    assert all(w is None for one in cells.learners for _, _, w in one.taught)
    cells = spec_of(Recorder()).begin(batch, partition, None, 1)
    assert all(w is not None for one in cells.learners for _, _, w in one.taught)


def test_nothing_that_was_given_is_ever_changed():
    batch, original = curved_batch(), Recorder()
    partition = partition_of(batch)
    cells = spec_of(original).begin(batch[:60], partition, None, 1)
    held = pickle.dumps([one.taught for one in cells.learners])
    later = cells.learn(batch[60:], partition, None, None, 1e9)
    assert original.taught == []
    assert pickle.dumps([one.taught for one in cells.learners]) == held
    assert later.learners[0] is not cells.learners[0]
    # A cell that wins none of the rows keeps its learner as it is.
    wins = slow_association(D, batch.rows, partition.codebook, None)
    first = batch[wins[0] > 0]
    only = cells.learn(first, partition, None, None, 1e9)
    assert only.learners[1:] == cells.learners[1:]
    assert len(only.learners[0].taught) == 2


def blended_means(batch, partition, temperature, new, n_taught=None):
    """Means of cells by association with those that were taught, row by row."""
    rows = batch.rows
    wins = slow_association(D, rows, partition.codebook, None)[:, :n_taught] > 0
    share = slow_association(D, new, partition.codebook, temperature)
    result = np.zeros((len(new), batch.targets.shape[1]))
    for n, own in enumerate(share.T):
        total = 0.0
        for part, won in zip(own, wins, strict=True):
            if won.any() and part > 1e-6:
                result[n] += part * batch.targets[:n_taught][won].mean(axis=0)
                total += part
        if total > 0:
            result[n] /= total
        else:
            taught = np.flatnonzero(wins.any(axis=1))
            apart = [D(new[n], partition.codebook.points[i]) for i in taught]
            won = wins[taught[np.argmin(apart)]]
            result[n] = batch.targets[:n_taught][won].mean(axis=0)
    return result


def test_in_a_tree_the_nearest_that_was_taught_is_of_the_same_parent():
    """Where one was; else of any. Codevectors at 0, 1, 8, 9, 5, the last alone."""
    points = np.array([[0.0], [1.0], [8.0], [9.0], [5.0]])
    above = np.array([0, 0, 1, 1, 2])
    codebook = Codebook(points, np.full(5, 0.2))
    flat = Partition(as_divergence("squared_euclidean"), codebook, None)
    partition = tree_partition(flat, above)
    x = np.array([[0.0], [9.0]])
    batch = Batch(x, np.ones(2), np.array([[10.0], [20.0]]))
    cells = spec_of(blend=False).begin(batch, partition, np.array([0, 1]), 1)
    np.testing.assert_array_equal(cells.taught_weight, [1.0, 0.0, 0.0, 1.0, 0.0])
    new = np.array([[1.0], [6.0], [8.0], [4.0], [5.0]])
    values, _ = cells.predict(new, partition, np.array([0, 0, 1, 2, 2]))
    np.testing.assert_array_equal(values[:, 0], [10.0, 10.0, 20.0, 10.0, 20.0])


@pytest.mark.parametrize("blend", [True, False], ids=["blend", "nearest"])
def test_predictions_are_by_association_with_cells_that_were_taught(blend):
    batch = curved_batch()
    partition = partition_of(batch, n_codevectors=6)
    cells = spec_of(blend=blend).begin(batch[:12], partition, None, 1)
    assert (cells.taught_weight == 0.0).any()
    spread = mean_of_nearest(D, batch.rows[:12], batch.weights[:12], partition.codebook)
    assert cells.spread == pytest.approx(spread, rel=1e-9)
    temperature = 1.6 * spread if blend else None
    values, variance = cells.predict(batch.rows, partition, None)
    expected = blended_means(batch, partition, temperature, batch.rows, 12)
    np.testing.assert_allclose(values, expected, rtol=1e-6, atol=1e-9)
    # Errors of the rows that each cell was taught, drawn to those of all.
    share = slow_association(D, batch.rows, partition.codebook, temperature)
    lost = (share[cells.taught_weight > 0] <= 1e-6).all(axis=0)
    assert lost.any() != blend
    share[:, lost] = cells.association(batch.rows[lost], partition, None)
    wins = slow_association(D, batch.rows[:12], partition.codebook, None)
    wrong = np.square(batch.targets[:12] - expected[:12])
    errors = (wins * batch.weights[:12]) @ wrong
    np.testing.assert_allclose(cells.errors, errors, rtol=1e-5, atol=1e-5)
    mean = errors.sum(axis=0) / cells.taught_weight.sum()
    by_cell = (errors + 10.0 * mean) / (cells.taught_weight[:, np.newaxis] + 10.0)
    np.testing.assert_allclose(variance, share.T @ by_cell, rtol=1e-5)


def test_rows_are_tried_before_they_are_taught():
    batch = curved_batch()
    partition = partition_of(batch)
    cells = spec_of().begin(batch[:60], partition, None, 1)
    piece = batch[60:]
    values, _ = cells.predict(piece.rows, partition, None)
    wins = slow_association(D, piece.rows, partition.codebook, None)
    expected = cells.errors + (wins * piece.weights) @ np.square(piece.targets - values)
    later = cells.learn(piece, partition, None, None, 1e9)
    np.testing.assert_allclose(later.errors, expected, rtol=1e-6)
    own = mean_of_nearest(D, piece.rows, piece.weights, partition.codebook)
    step = piece.weights.sum() / batch.weights.sum()
    spread = cells.spread + step * (own - cells.spread)
    assert later.spread == pytest.approx(spread, rel=1e-9)


def test_errors_are_those_of_rows_held_out():
    batch = curved_batch()
    spec = spec_of(held_out_error=(1.5, 7.0))
    cells = spec.begin(batch, partition_of(batch), None, 1)
    expected = batch.weights.sum() * np.array([1.5, 7.0])
    np.testing.assert_allclose(cells.errors.sum(axis=0), expected, rtol=1e-9)


def test_codevectors_that_split_inherit_and_then_learn_apart():
    batch = curved_batch()
    partition = partition_of(batch)
    cells = spec_of().begin(batch, partition, None, 1)
    halves = cells.inherit(split_of(np.array([False, True, False, False])))
    assert [cells.learners.index(one) for one in halves.learners] == [0, 2, 3, 1, 1]
    assert halves.taught_weight[3] == halves.taught_weight[4]
    assert halves.taught_weight.sum() == pytest.approx(batch.weights.sum())
    np.testing.assert_allclose(halves.errors.sum(axis=0), cells.errors.sum(axis=0))
    codebook, own = partition.codebook, [0, 2, 3, 1, 1]
    points = codebook.points[own].copy()
    points[4] += 0.3
    weights = codebook.weights[own] * [1.0, 1.0, 1.0, 0.5, 0.5]
    finer = replace(partition, codebook=Codebook(points, weights))
    later = halves.learn(batch, finer, None, None, 1e9)
    wins = slow_association(D, batch.rows, finer.codebook, None)
    for cell in (3, 4):
        assert len(later.learners[cell].taught) == 2
        _, targets, _ = later.learners[cell].taught[1]
        np.testing.assert_array_equal(targets, batch.targets[wins[cell] > 0])


def test_merged_codevectors_keep_the_learner_that_was_taught_most():
    batch = curved_batch()
    partition = partition_of(batch)
    cells = spec_of().begin(batch, partition, None, 1)
    most = cells.taught_weight
    merged = cells.inherit(merged_into(np.array([0, 0, 0, 1])))
    assert merged.learners[0] is cells.learners[int(most[:3].argmax())]
    assert merged.learners[1] is cells.learners[3]
    np.testing.assert_allclose(merged.taught_weight, [most[:3].sum(), most[3]])
    joined = cells.inherit(joined_by(4, 1))
    assert joined.learners[:4] == cells.learners
    assert joined.learners[4] is cells.spec.learner
    assert joined.taught_weight[4] == 0.0
    # What has been taught nothing is not asked.
    codebook = partition.codebook
    points = np.concatenate([codebook.points, codebook.points[:1]])
    wider = replace(partition, codebook=Codebook(points, np.full(5, 0.2)))
    values, _ = joined.predict(batch.rows, wider, None)
    assert np.isfinite(values).all()


def test_cells_of_a_coarser_codebook_vary_by_more():
    """By the rise of the mean divergence of the rows of all."""
    batch = curved_batch()
    fine = partition_of(batch)
    wins = slow_association(D, batch.rows, fine.codebook, None)
    weights = wins @ batch.weights
    points = (wins * batch.weights) @ batch.rows / weights[:, np.newaxis]
    shares = weights / weights.sum()
    fine = replace(fine, codebook=Codebook(points, shares))
    both = shares[:2].sum()
    middle = shares[:2] @ points[:2] / both
    codebook = Codebook(np.vstack([middle, points[2:]]), np.append(both, shares[2:]))
    labels = wins.argmax(axis=0)

    def spread(points, labels):
        apart = [D(x, points[i]) for x, i in zip(batch.rows, labels, strict=True)]
        return np.average(apart, weights=batch.weights)

    cells = spec_of().begin(batch, fine, None, 1)
    cells = replace(cells, spread=spread(points, labels))
    into = np.array([0, 0, 1, 2])
    coarse = cells.regrouped(merged_into(into), fine, replace(fine, codebook=codebook))
    expected = spread(codebook.points, into[labels])
    assert coarse.spread == pytest.approx(expected, rel=1e-9)
    assert len(coarse.learners) == 3


class Locked(Recorder):
    """Cannot be copied."""

    def __repr__(self):
        return "Locked()"

    def __deepcopy__(self, memo):
        raise TypeError("cannot pickle a lock")


class Predicting(Recorder):
    """Predicts what it is made of."""

    def __init__(self, value):
        super().__init__()
        self.value = value

    def predict(self, X):
        return self.value(X.shape[0])


class Replaced(Recorder):
    """Stays as it is; `partial_fit` gives the one that has learnt."""

    def partial_fit(self, X, y, sample_weight=None):
        learnt = Recorder()
        learnt.taught = list(self.taught)
        return learnt.partial_fit(X, y, sample_weight)


def test_one_that_cannot_be_copied_or_predicts_no_numbers_is_named():
    batch = one_target(curved_batch())
    partition = partition_of(batch)
    with pytest.raises(ValueError, match=r"local_model=Locked\(\) cannot be copied"):
        spec_of(Locked()).begin(batch, partition, None, 1)
    for value in (
        lambda n: np.full(n, 1.0 + 2.0j),
        lambda n: np.ma.array(np.zeros(n), mask=True),
    ):
        with pytest.raises(ValueError, match=r"local_model=.*complex or masked"):
            spec_of(Predicting(value)).begin(batch, partition, None, 1)


def test_what_partial_fit_returns_goes_on_where_it_is_a_learner():
    batch = one_target(curved_batch())
    partition = partition_of(batch)
    found = spec_of(Replaced()).begin(batch, partition, None, 1)
    expected = spec_of().begin(batch, partition, None, 1)
    assert all(one.taught for one in found.learners)
    for one, other in zip(
        found.predict(batch.rows, partition, None),
        expected.predict(batch.rows, partition, None),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)


def test_one_that_fails_is_named():
    batch = curved_batch()
    with pytest.raises(ValueError, match=r"local_model=Failing\(\).*no rows today"):
        spec_of(Failing()).begin(batch, partition_of(batch), None, 1)


@pytest.mark.parametrize("blend", [True, False], ids=["blend", "nearest"])
def test_the_temperature_that_predicts_rows_held_out_best_is_chosen(blend):
    batch = curved_batch(n_rows=60)
    spec = spec_of(Unweighted(), blend=blend, warmth=99.0)
    settings = regression_settings(spec, n_codevectors=8)
    found = spec.tuned(batch, settings, 1)
    losses, errors, weights = {}, {}, []
    variance = [
        np.average(
            (y - np.average(y, weights=batch.weights)) ** 2, weights=batch.weights
        )
        for y in batch.targets.T
    ]
    for fold in folds_of(batch, None, settings.seed):
        learnt, unseen = fold.learnt, fold.held_out
        weights.append(unseen.weights)
        solution = anneal(learnt, replace(settings, thorough=False))
        shifted = replace(learnt, rows=learnt.rows - solution.shift)
        partition = Partition(
            as_divergence("squared_euclidean"), solution.codebook, None
        )
        spread = mean_of_nearest(D, shifted.rows, learnt.weights, solution.codebook)
        for warmth in (0.4, 0.8, 1.6, 3.2, 6.4, 12.8):
            values = blended_means(
                shifted,
                partition,
                warmth * spread if blend else None,
                unseen.rows - solution.shift,
            )
            wrong = np.square(values - unseen.targets)
            errors.setdefault(warmth, []).append(wrong)
            loss = unseen.weights @ (wrong / variance).sum(axis=1)
            losses[warmth] = losses.get(warmth, 0.0) + loss
    chosen = found.local_models
    best = min(losses, key=losses.get)
    if blend:
        assert chosen.warmth == best
        assert 0.4 < best < 12.8
    expected = np.average(np.concatenate(errors[best]), 0, np.concatenate(weights))
    np.testing.assert_allclose(chosen.held_out_error, expected, rtol=1e-6)
    assert chosen.learner is spec.learner
    assert spec.learner.taught == []


def test_nothing_is_chosen_where_no_row_can_be_held_out():
    batch = curved_batch()[[0, 0]]
    spec = spec_of()
    settings = regression_settings(spec, n_codevectors=50, choose=True)
    found = spec.tuned(batch, settings, 1)
    assert found.local_models == spec
    assert found.schedule.n_codevectors == 1


def test_targets_may_count_while_rows_anneal():
    batch = curved_batch(n_rows=60)
    spec = spec_of(target=TargetWeight(0.5))
    settings = regression_settings(spec, n_codevectors=4)
    found = spec.tuned(batch, settings, 1).local_models
    expected = TargetWeight(0.5).measured(batch, settings.divergence)
    assert found.target == expected
    np.testing.assert_array_equal(found.annealed(batch), expected.joined(batch))
    assert found.divergence(settings.divergence).n_hidden == 2
    plain = spec_of()
    assert plain.annealed(batch) is batch.rows
    assert plain.divergence(settings.divergence) is settings.divergence


def test_rows_that_equal_their_codevectors_are_told_apart_by_the_warmth():
    x = np.repeat([[0.0], [5.0]], 4, axis=0)
    codebook = Codebook(np.array([[0.0], [5.0]]), np.full(2, 0.5))
    partition = Partition(as_divergence("squared_euclidean"), codebook, None)
    cells = spec_of().begin(Batch(x, np.ones(8), x.copy()), partition, None, 1)
    # The rounding of squares of 0 and 25, and a warmth of 1.6 times it.
    found = (cells.spread, cells.temperature)
    np.testing.assert_allclose(found, (1.25e-11, 2e-11), rtol=1e-12)
    values, variance = cells.predict(x, partition, None)
    np.testing.assert_allclose(values, x, atol=1e-4)
    np.testing.assert_allclose(variance, 0.0, atol=1e-4)
