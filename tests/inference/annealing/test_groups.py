"""Groups of rows and of codevectors: their numbers, and how rows are held by them."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from odalib.inference.annealing import rows as module
from odalib.inference.annealing.groups import (
    MAX_CLASSES,
    closed_groups,
    group_codes,
    members_by_parent,
    parents_of,
)
from odalib.inference.annealing.rows import RowBlocks, scatter_add

LAYOUTS = {"dense": np.asarray, "csr": sp.csr_matrix}
layouts = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)


def test_a_group_tells_the_cell_and_the_class():
    cells, classes = np.array([0, 2, 2, 7]), np.array([1, 0, 3, MAX_CLASSES - 1])
    groups = group_codes(cells, classes)
    assert len(set(groups)) == 4
    np.testing.assert_array_equal(parents_of(groups), cells)
    np.testing.assert_array_equal(groups % MAX_CLASSES, classes)
    np.testing.assert_array_equal(parents_of(group_codes(cells, None)), cells)
    # At the first resolution groups are classes, and there may be none.
    assert group_codes(None, classes) is classes
    np.testing.assert_array_equal(parents_of(classes), 0)
    assert group_codes(None, None) is None


def test_parents_of_one_class_are_closed():
    """Two codevectors of a class under parent 3, one alone under 5; 1 has two."""
    parents, classes = np.array([3, 1, 3, 1, 5]), np.array([2, 0, 2, 2, 0])
    closed = closed_groups(group_codes(parents, classes))
    assert closed.tolist() == [True, False, True, False, True]
    assert closed_groups(np.array([4, 4, 1])).tolist() == [False] * 3
    assert closed_groups(np.array([4, 4])).tolist() == [True, True]


def test_members_and_rows_of_every_parent():
    groups = group_codes(np.array([1, 0, 1, 3]), np.array([0, 0, 5, 1]))
    found = list(members_by_parent(groups, np.array([3, 1, 1, 3, 1]), 5))
    assert [(members.tolist(), rows.tolist()) for members, rows in found] == [
        ([0, 2], [1, 2, 4]),
        ([3], [0, 3]),
    ]
    ((members, rows),) = members_by_parent(None, None, 5)
    assert np.arange(4)[members].tolist() == [0, 1, 2, 3]
    assert np.arange(9)[rows].tolist() == [0, 1, 2, 3, 4]


@layouts
@pytest.mark.parametrize("cache", [0, 2**26], ids=["by block", "cached"])
@given(groups=st.lists(st.integers(0, 4), min_size=1, max_size=60))
def test_no_block_holds_rows_of_two_groups(layout, cache, groups):
    """Blocks of four rows; every row in one, centred, with its weight."""
    groups = np.array(groups)
    x, weights = (
        np.arange(2.0 * len(groups)).reshape(-1, 2),
        1.0 + np.arange(len(groups)),
    )
    shift = None if layout is sp.csr_matrix else np.array([7.0, -1.0])
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MAX_BLOCK", 4)
        patch.setattr(module, "CACHE_BYTES", cache)
        blocks = RowBlocks(layout(x), weights, shift, groups=groups)

        def on_block(block, span):
            block = block.toarray() if sp.issparse(block) else block
            places = ((block + (0.0 if shift is None else shift))[:, 0] / 2).astype(int)
            assert len(places) <= 4
            assert (groups[places] == blocks.group(span)).all()
            np.testing.assert_array_equal(blocks.groups[span], groups[places])
            np.testing.assert_array_equal(blocks.row_weights[span], weights[places])
            seen.extend(places)

        blocks.map(on_block, 1)
    assert sorted(seen) == list(range(len(groups)))
    # Within a group in the order that they came in.
    assert seen == sorted(seen, key=lambda place: (groups[place], place))


def test_values_go_back_to_where_the_rows_came_from():
    groups = np.array([2, 0, 2, 1, 0])
    blocks = RowBlocks(np.zeros((5, 1)), np.ones(5), groups=groups)
    held = np.array([1, 4, 3, 0, 2])
    names = np.array(list("abcde"))
    assert blocks.restore(names[held]).tolist() == list("abcde")
    table = np.stack([np.arange(5), 10 * np.arange(5)])
    np.testing.assert_array_equal(blocks.arrange(table), table[:, held])
    np.testing.assert_array_equal(blocks.restore(blocks.arrange(table).T).T, table)
    # Rows 1 to 3 as they came are held in the places 0, 4 and 2.
    assert blocks.arrivals(slice(1, 4)).tolist() == [0, 4, 2]


def test_without_groups_rows_stay_as_they_came():
    blocks = RowBlocks(np.zeros((5, 1)), np.ones(5))
    values, table = np.arange(5), np.ones((2, 5))
    assert blocks.restore(values) is values
    assert blocks.arrivals(slice(1, 4)) == slice(1, 4)
    assert blocks.group(slice(0, 5)) is None
    copy = blocks.arrange(table)
    copy[:] = 0.0
    assert (table == 1.0).all()


def test_sums_over_some_codevectors_are_added_to_all():
    parts = [
        (np.array([2, 0]), (np.array([1.0, 2.0]), np.array([[1.0], [5.0]]), 4.0)),
        (np.array([2, 3]), (np.array([10.0, 20.0]), np.array([[7.0], [8.0]]), 0.5)),
    ]
    weight, total, number = scatter_add(parts, 5)
    assert weight.tolist() == [2.0, 0.0, 11.0, 20.0, 0.0]
    assert total.tolist() == [[5.0], [0.0], [8.0], [8.0], [0.0]]
    assert number == 4.5
    parts = [(slice(None), (np.arange(3.0), 1.0)), (slice(None), (np.ones(3), 2.0))]
    weight, number = scatter_add(parts, 3)
    assert weight.tolist() == [1.0, 2.0, 3.0]
    assert number == 3.0
