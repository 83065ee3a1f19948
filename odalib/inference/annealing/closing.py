"""Which cells of a classifier's tree are opened, and for which classes."""

import numpy as np

from odalib.inference.annealing.groups import (
    LEAST_WRONG,
    MAX_CLASSES,
    WRONG_SHARE,
    parents_of,
)

__all__ = ["class_weights", "classes_with_leaves", "leaves_that_stay"]


def class_weights(parents, batch):
    """Weight of the rows of each class in each cell, shape (n_cells, n_classes).

    Parameters
    ----------
    parents : array of int of shape (n,)
        Cell of every row.
    batch : Batch
    """
    n_cells, n_classes = int(parents.max()) + 1, int(batch.targets.max()) + 1
    return np.bincount(
        parents * n_classes + batch.targets,
        batch.weights,
        minlength=n_cells * n_classes,
    ).reshape(n_cells, n_classes)


def classes_with_leaves(weights, n_codevectors):
    """Give classes codevectors in cells, as far as there are codevectors.

    Every cell has one of the class that most of its rows are of. Then every class has
    one in the cell that holds most of its rows. What is left goes to cells that are
    wrong about more than few of their rows, those first that are wrong about most;
    and at last to those that are wrong about few. A cell of one class is closed:
    nothing is told apart in it.

    Parameters
    ----------
    weights : array of shape (n_cells, n_classes)
        Weight of the rows.
    n_codevectors : int

    Returns
    -------
    with_leaves : array of bool of shape (n_cells, n_classes)
    """
    total, most = weights.sum(axis=1), weights.max(axis=1)
    filled = np.flatnonzero(total > 0)
    with_leaves = np.zeros(weights.shape, dtype=bool)
    with_leaves[filled, weights[filled].argmax(axis=1)] = True
    room = n_codevectors - len(filled)
    of_class = weights.sum(axis=0)
    for code in np.argsort(-of_class, kind="stable"):
        if of_class[code] > 0 and not with_leaves[:, code].any() and room > 0:
            with_leaves[weights[:, code].argmax(), code] = True
            room -= 1
    wrong = total - most
    little = wrong <= WRONG_SHARE * total
    many = weights >= LEAST_WRONG
    for cell in np.lexsort((-wrong, little)):
        needed = many[cell] & ~with_leaves[cell]
        if 0 < needed.sum() <= room:
            with_leaves[cell] |= needed
            room -= needed.sum()
    return with_leaves


def leaves_that_stay(codebook, n_new, n_codevectors):
    """Which leaves of a tree stay where more have come than there may be.

    The lightest go, new ones after all others, but no last one of a cell or of a class.

    Parameters
    ----------
    codebook : Codebook
    n_new : int
        Codevectors at the end that are new.
    n_codevectors : int
        As many as there may be.

    Returns
    -------
    array of bool of shape (K,)
    """
    stay = np.ones(len(codebook), dtype=bool)
    cells, classes = parents_of(codebook.groups), codebook.groups % MAX_CLASSES
    is_new = np.arange(len(codebook)) >= len(codebook) - n_new
    for leaf in np.lexsort((codebook.weights, is_new)):
        if stay.sum() <= n_codevectors:
            break
        others = stay.copy()
        others[leaf] = False
        if (cells[others] == cells[leaf]).any() and (
            classes[others] == classes[leaf]
        ).any():
            stay = others
    return stay
