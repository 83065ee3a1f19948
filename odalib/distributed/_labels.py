"""Labels of classes in blocks: those that differ, and their codes."""

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from odalib.estimators._labels import encode, read_labels

__all__ = ["codes_of", "join_labels", "labels_of"]


def labels_of(block, estimator):
    """Labels that differ among those of a block, sorted."""
    labels = read_labels(estimator, block[1])
    check_classification_targets(labels)
    return np.unique(labels)


def join_labels(first, second):
    """Labels that differ among those of two groups of blocks, sorted."""
    are_numbers = {labels.dtype.kind in "biuf" for labels in (first, second)}
    if len(are_numbers) > 1:
        raise ValueError(
            "The labels y are numbers in some blocks and text in others, such as "
            f"{first[0]!r} and {second[0]!r}. Cast them to one kind."
        )
    return np.unique(np.concatenate([first, second]))


def codes_of(block, estimator, classes):
    """Class of every row of a block, as an index."""
    return encode(read_labels(estimator, block[1]), classes)
