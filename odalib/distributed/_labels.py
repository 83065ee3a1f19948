"""Labels of classes in blocks: those that differ, and their codes."""

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from odalib.estimators._labels import encode, read_labels

__all__ = ["codes_of", "in_one_dimension", "join_labels", "labels_of"]


def in_one_dimension(y):
    """Give a collection of labels, of one column or one dimension, in the latter.

    Raises
    ------
    ValueError
        For several columns.

    Warns
    -----
    DataConversionWarning
        For one column, here and once: workers would, for every block.
    """
    # Of what is delayed any attribute is delayed.
    if not isinstance(getattr(y, "ndim", None), int) or y.ndim != 2:
        return y
    column_or_1d(np.empty((0, y.shape[1])), warn=True)
    return y.iloc[:, 0] if hasattr(y, "iloc") else y[:, 0]


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
