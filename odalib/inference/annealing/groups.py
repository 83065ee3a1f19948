"""Groups of rows, each with codevectors of its own: classes, cells, or both.

A row is associated with the codevectors of its group only. The group of a row is a
number made of its class and of its cell at the resolution above, so that the classes
of a classifier and the children of a node are told apart by one rule.
"""

import numpy as np

__all__ = [
    "LEAST_WRONG",
    "MAX_CLASSES",
    "WRONG_SHARE",
    "closed_groups",
    "group_codes",
    "members_by_parent",
    "parents_of",
]

# Rows of a class count in a cell where they are this many, and this share: fewer are
# noise that codevectors would learn by heart.
LEAST_WRONG, WRONG_SHARE = 3.0, 0.1
# A cell's groups are this many apart.
MAX_CLASSES = 2**20


def group_codes(cells, classes):
    """Group of every row, or None where all are alike.

    Parameters
    ----------
    cells : array of int of shape (n,) or None
        Cell at the resolution above; None at the first.
    classes : array of int of shape (n,) or None
        Class of every row; None where rows have none.
    """
    if cells is None:
        return classes
    return cells * MAX_CLASSES if classes is None else cells * MAX_CLASSES + classes


def parents_of(groups):
    """Cell at the resolution above."""
    return groups // MAX_CLASSES


def closed_groups(groups):
    """Whether the parent of each codevector has codevectors of one class only.

    Nothing is left to tell apart there. Classes are compared within parents; at the
    first resolution all have the same.
    """
    parents = parents_of(groups)
    distinct = np.unique(groups)
    cells, n_classes = np.unique(parents_of(distinct), return_counts=True)
    return n_classes[np.searchsorted(cells, parents)] == 1


def members_by_parent(groups, parents, n_rows):
    """Codevectors that rows may be near, and the rows, parent by parent.

    Parameters
    ----------
    groups : array of int of shape (K,) or None
    parents : array of int of shape (n,) or None
        Cell of every row at the resolution above.
    n_rows : int

    Yields
    ------
    members, rows : slices, or arrays of int
    """
    if parents is None:
        yield slice(None), slice(0, n_rows)
        return
    of_codevectors = parents_of(groups)
    for parent in np.unique(parents):
        yield (
            np.flatnonzero(of_codevectors == parent),
            np.flatnonzero(parents == parent),
        )
