"""Rows held out: which ones is decided by what they hold, evenly within classes."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from odalib.inference.annealing.batch import Batch
from odalib.inference.annealing.local import folds as module
from odalib.inference.annealing.local.folds import folds_of, number_for


def labelled(n_rows=120, seed=0):
    """Rows with repetitions, of four classes; the last has one distinct row."""
    random = np.random.default_rng(seed)
    distinct = random.normal(size=(n_rows // 2, 3)) * (random.random(3) < 0.8)
    which = random.integers(len(distinct), size=n_rows)
    classes = (which * 7 % 3).astype(int)
    classes[which == which[0]] = 3
    return distinct[which], which, classes


def held_out_in(folds, n_rows):
    """Turn in which every row is held out, -1 for those that never are."""
    turns = np.full(n_rows, -1)
    for turn, fold in enumerate(folds):
        assert (turns[fold.places] == -1).all()
        turns[fold.places] = turn
    return turns


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
def test_every_row_is_held_out_once_or_learnt_from(layout):
    x, which, classes = labelled()
    batch = Batch(layout(x), 1.0 + np.arange(120), classes)
    folds = folds_of(batch, classes, 0)
    assert len(folds) == 5
    turns = held_out_in(folds, 120)
    for turn, fold in enumerate(folds):
        # Weights name the rows.
        assert fold.held_out.weights.tolist() == (1.0 + fold.places).tolist()
        assert fold.learnt.weights.tolist() == (1.0 + fold.learnt_places).tolist()
        assert fold.learnt_places.tolist() == np.flatnonzero(turns != turn).tolist()
        for part in (fold.learnt, fold.held_out):
            places = (part.weights - 1.0).astype(int)
            rows = part.rows.toarray() if sp.issparse(part.rows) else part.rows
            np.testing.assert_array_equal(rows, x[places])
            np.testing.assert_array_equal(part.targets, classes[places])
    # Equal rows together, and the only distinct row of a class never.
    for row in set(which):
        assert len(set(turns[which == row])) == 1
    np.testing.assert_array_equal(turns == -1, classes == 3)


@given(n_rows=st.integers(8, 150), seed=st.integers(0, 999))
def test_parts_are_even_within_classes(n_rows, seed):
    x, which, classes = labelled(n_rows, seed)
    folds = folds_of(Batch(x, np.ones(n_rows), classes), classes, seed)
    turns = held_out_in(folds, n_rows)
    for code in np.unique(classes):
        rows = np.unique(which[classes == code])
        part = [turns[which == row][0] for row in rows]
        if len(rows) == 1:
            assert part == [-1]
        else:
            counts = np.bincount(part, minlength=5)
            assert counts.sum() == len(rows)
            assert counts.max() - counts.min() <= 1


def test_order_and_repetition_do_not_matter():
    """Not where rows stand, nor whether they are repeated or weigh as much."""
    random = np.random.default_rng(4)
    x, classes = random.normal(size=(60, 2)), np.arange(60) % 3
    copies = random.integers(1, 4, size=60)
    turns = held_out_in(folds_of(Batch(x, 1.0 * copies, classes), classes, 3), 60)
    order = random.permutation(np.repeat(np.arange(60), copies))
    repeated = Batch(x[order], np.ones(len(order)), classes[order])
    again = held_out_in(folds_of(repeated, classes[order], 3), len(order))
    np.testing.assert_array_equal(again, turns[order])
    other = held_out_in(folds_of(Batch(x, 1.0 * copies, classes), classes, 4), 60)
    assert (other != turns).sum() > 20


def test_of_many_rows_enough_are_held_out_and_learnt_from(monkeypatch):
    """Two hundred distinct rows in ten parts of twenty; two turns hold out forty.

    Every row is there twice, which counts as once.
    """
    monkeypatch.setattr(module, "PART_ROWS", 20)
    x = np.repeat(np.random.default_rng(0).normal(size=(200, 2)), 2, axis=0)
    folds = folds_of(Batch(x, 1.0 + np.arange(400)), None, 0, enough=40)
    assert [len(fold.held_out) for fold in folds] == [40, 40]
    assert [len(fold.learnt) for fold in folds] == [160, 160]
    seen = [set(fold.learnt_places) for fold in folds]
    held = [set(fold.places) for fold in folds]
    assert not held[0] & held[1]
    assert not any(one & other for one, other in zip(seen, held, strict=True))
    # Each turn learns from the four parts after the one that it holds out.
    assert held[1] <= seen[0]
    assert len(seen[0] & seen[1]) == 120


@pytest.mark.parametrize("n_rows", [1, 4])
def test_equal_rows_cannot_be_held_out(n_rows):
    assert folds_of(Batch(np.ones((n_rows, 2)), np.ones(n_rows)), None, 0) == []
    classes = np.arange(n_rows)
    x = np.random.default_rng(0).normal(size=(n_rows, 2))
    assert folds_of(Batch(x, np.ones(n_rows), classes), classes, 0) == []


def test_number_of_codevectors_for_rows():
    """A share of the distinct ones, within limits."""
    x = np.repeat(np.random.default_rng(0).normal(size=(40, 2)), 3, axis=0)
    batch = Batch(x, np.ones(120))
    assert number_for(batch, 0.26, 100) == 10
    assert number_for(batch, 0.26, 7) == 7
    assert number_for(batch, 0.26, 100, 12) == 12
    assert number_for(batch, 0.01, 100) == 1


def test_without_classes_rows_are_of_one():
    x = np.random.default_rng(0).normal(size=(30, 2))
    batch = Batch(x, np.ones(30), np.zeros(30, dtype=int))
    one, other = (folds_of(batch, classes, 0) for classes in (None, batch.targets))
    for first, second in zip(one, other, strict=True):
        np.testing.assert_array_equal(first.places, second.places)
