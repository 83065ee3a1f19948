"""Which classes have leaves in which cells of a classifier's tree."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odalib.inference.annealing.closing import classes_with_leaves, leaves_that_stay
from odalib.inference.annealing.codebook import Codebook
from odalib.inference.annealing.groups import MAX_CLASSES

HUNDRED = np.array([[88.0, 12.0, 0.0], [95.0, 0.0, 5.0], [0.0, 2.0, 98.0]])


@pytest.mark.parametrize(
    ("number", "extra"),
    [
        # Class 1 is the largest nowhere, and has its leaf where most of it is.
        (3, []),
        (4, [(0, 1)]),
        # Then the cell that is wrong about 12 of its rows has no more classes, and
        # that about 5, which is little, is opened where there is room.
        (5, [(0, 1), (1, 2)]),
        # Two rows are too few to count.
        (9, [(0, 1), (1, 2)]),
    ],
)
def test_leaves_by_hand(number, extra):
    expected = np.zeros((3, 3), dtype=bool)
    expected[[0, 1, 2], [0, 0, 2]] = True
    for place in extra:
        expected[place] = True
    np.testing.assert_array_equal(classes_with_leaves(HUNDRED, number), expected)


def test_cells_wrong_about_more_than_a_tenth_come_first():
    """However many rows the others are wrong about."""
    weights = np.array([[60.0, 8.0], [900.0, 80.0], [4.0, 50.0]])
    found = [
        np.flatnonzero(classes_with_leaves(weights, n).all(axis=1)) for n in (4, 5, 6)
    ]
    assert [cells.tolist() for cells in found] == [[0], [0, 1], [0, 1, 2]]


def test_a_cell_whose_classes_have_no_room_lets_others_have_it():
    weights = np.array([[50.0, 20.0, 20.0], [10.0, 40.0, 0.0], [1.0, 0.0, 30.0]])
    found = classes_with_leaves(weights, 4)
    np.testing.assert_array_equal(found.sum(axis=1), [1, 2, 1])


@given(
    seed=st.integers(0, 999),
    n_cells=st.integers(1, 6),
    n_classes=st.integers(2, 5),
    number=st.integers(6, 40),
)
def test_what_holds_of_all_leaves(seed, n_cells, n_classes, number):
    random = np.random.default_rng(seed)
    weights = random.integers(0, 9, (n_cells, n_classes)) * random.integers(
        0, 5, (n_cells, 1)
    )
    weights = weights.astype(float)
    found = classes_with_leaves(weights, number)
    total = weights.sum(axis=1)
    # Every cell has its largest class, and nothing that is not there.
    np.testing.assert_array_equal(found.any(axis=1), total > 0)
    largest = weights.argmax(axis=1)[total > 0]
    assert found[np.flatnonzero(total > 0), largest].all()
    assert not found[weights == 0].any()
    assert found.sum() <= max(number, np.count_nonzero(total))
    met = weights.any(axis=0)
    room = number - np.count_nonzero(total)
    without = np.setdiff1d(np.flatnonzero(met), largest)
    if room >= len(without):
        np.testing.assert_array_equal(found.any(axis=0), met)
    # What could still be told apart had no room.
    left = (weights >= 3.0) & ~found
    needed = left.sum(axis=1)[left.any(axis=1)]
    assert (needed > number - found.sum()).all()


def test_leaves_that_stay():
    """The lightest of those that are no last one of a cell or of a class go."""
    groups = MAX_CLASSES * np.array([0, 0, 0, 1, 1, 2]) + [0, 1, 1, 1, 2, 0]
    weights = np.array([0.3, 0.02, 0.2, 0.05, 0.03, 0.4])
    codebook = Codebook(np.zeros((6, 1)), weights, groups)
    stay = [np.flatnonzero(~leaves_that_stay(codebook, 1, n)) for n in (6, 5, 4, 3, 2)]
    # Of class 2 there is one, and then one of each cell.
    assert [gone.tolist() for gone in stay] == [[], [1], [1, 3], [0, 1, 3], [0, 1, 3]]
    # New ones go after all others, however light.
    newest = codebook.select(np.array([0, 2, 3, 4, 5, 1]))
    gone = [np.flatnonzero(~leaves_that_stay(newest, 1, n)).tolist() for n in (5, 4, 3)]
    assert gone == [[2], [1, 2], [0, 1, 2]]
