"""Labels of classes, of any kind, and the rows that carry them."""

import numpy as np
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d

from odalib.estimators._sklearn import (
    as_floats,
    check_weights,
    refuse_collection,
    validate_rows,
)

__all__ = [
    "announced_classes",
    "classes_of",
    "encode",
    "labelled_rows",
    "labels_in_stream",
    "read_labels",
    "training_rows",
]


def training_rows(estimator, X, y, sample_weight, *, reset):
    """Rows, labels and weights to learn from; a row of no weight is as absent.

    Parameters
    ----------
    estimator : estimator
        Takes the number and the names of the features where ``reset`` is set, and is
        held to them otherwise.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    sample_weight : array-like of shape (n_samples,), a number or None
    reset : bool

    Returns
    -------
    rows : array or CSR matrix of shape (n, d)
        In float64 or float32.
    labels : array of shape (n,)
        See `read_labels`.
    weights : array of shape (n,)
        Positive.

    Raises
    ------
    ValueError
        As `validate_rows`, `read_labels` and `check_weights`, and where X and y
        differ in length.
    """
    rows, labels, weights = labelled_rows(estimator, X, y, sample_weight, reset=reset)
    kept = weights > 0
    if kept.all():
        return rows, labels, weights
    return rows[kept], labels[kept], weights[kept]


def labelled_rows(estimator, X, y, sample_weight, *, reset, validate=validate_rows):
    """Rows, labels and weights as `training_rows`, those of no weight among them."""
    rows = validate(estimator, X, reset=reset)
    labels = read_labels(estimator, y)
    check_consistent_length(rows, labels)
    return rows, labels, check_weights(sample_weight, rows)


def read_labels(estimator, y):
    """Labels as an array of one dimension.

    Parameters
    ----------
    estimator : estimator
        Named in messages.
    y : array-like of shape (n,)
        Numbers, booleans or text; text of any dtype is kept at full length.

    Returns
    -------
    labels : ndarray of shape (n,)
        Numbers that came as objects have a dtype of numbers.

    Raises
    ------
    ValueError
        For objects of several kinds, what is missing, and several columns.

    Warns
    -----
    DataConversionWarning
        For labels of shape (n, 1).
    """
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is "
            "None."
        )
    refuse_collection("y", y)
    y = np.asarray(y)
    if y.ndim == 1 and y.dtype.kind in "biu":
        return y
    if isinstance(y.dtype, np.dtypes.StringDType):
        # Which scikit-learn does not take.
        y = y.astype(object)
    labels = column_or_1d(y, warn=True)
    if labels.dtype == object:
        labels = _of_one_kind(labels)
    assert_all_finite(labels, input_name="y")
    return labels


def _of_one_kind(labels):
    """Objects that are all numbers as numbers; text as it is."""
    values = labels.tolist()
    if all(isinstance(value, str) for value in values):
        return labels
    kinds = sorted({type(value).__name__ for value in values})
    if "str" not in kinds:
        as_numbers = np.array(values)
        if as_numbers.dtype.kind in "biuf":
            return as_numbers
    raise ValueError(
        f"The labels y are objects of type {', '.join(kinds)}. Labels are all text or "
        "all numbers, and none is missing; cast them, as in y.astype(str)."
    )


def classes_of(estimator, labels):
    """Classes to learn from the labels of a fit, sorted.

    Raises
    ------
    ValueError
        For labels that are continuous, or all of one class, which is named.
    """
    with as_floats("y"):
        check_classification_targets(labels)
    classes = np.unique(labels)
    if len(classes) == 1:
        advice = (
            "Where others are to come, announce them: partial_fit(X, y, classes=...)."
            if hasattr(estimator, "partial_fit")
            else "Give rows of another class, too."
        )
        raise ValueError(
            f"{type(estimator).__name__} learns to tell classes apart, but the rows "
            f"of positive weight are all of one class, {classes.item(0)!r}. {advice}"
        )
    return classes


def announced_classes(estimator, classes, known):
    """Classes of a stream, sorted.

    Parameters
    ----------
    estimator : estimator
        Named in messages.
    classes : array-like or None
        As the caller of ``partial_fit`` announces them.
    known : ndarray or None
        Those of the calls before; None on the first.

    Returns
    -------
    classes : ndarray

    Raises
    ------
    ValueError
        Where they are missing on the first call, fewer than two, or others than
        before.
    """
    if classes is None:
        if known is None:
            raise ValueError(
                "classes must be passed on the first call to partial_fit of "
                f"{type(estimator).__name__}: all labels that the stream may hold."
            )
        return known
    announced = np.unique(read_labels(estimator, classes))
    if len(announced) < 2:
        raise ValueError(
            f"classes={announced.tolist()} announces no two classes; "
            f"{type(estimator).__name__} learns to tell classes apart."
        )
    if known is None:
        return announced
    if announced.tolist() != known.tolist():
        raise ValueError(
            f"classes={announced.tolist()} differ from those of the calls before, "
            f"{known.tolist()}, and cannot change; leave them out, or fit anew."
        )
    return known


def encode(labels, classes):
    """Index of the class of every label, shape (n,).

    Raises
    ------
    ValueError
        For labels that are none of the classes, which are named.
    """
    if len(classes) == 2 and {labels.dtype.kind, classes.dtype.kind} <= set("biuf"):
        is_second = labels == classes[1]
        if (is_second | (labels == classes[0])).all():
            return is_second.astype(np.intp)
    index = {label: code for code, label in enumerate(classes.tolist())}
    distinct, which = np.unique(labels, return_inverse=True)
    unseen = [label for label in distinct.tolist() if label not in index]
    if unseen:
        raise ValueError(
            f"y holds labels that are none of the classes {classes.tolist()}: {unseen}."
        )
    codes = np.array([index[label] for label in distinct.tolist()], dtype=np.intp)
    return codes[which]


def labels_in_stream(estimator, labels, known, fixed, classes):
    """Labels by their codes after some more rows, and whether others may follow.

    Codes stay; a label first met gets the next one.

    Parameters
    ----------
    estimator : estimator
        Named in messages.
    labels : ndarray of shape (n,)
    known : ndarray or None
        Labels of the calls before, by their codes; None on the first.
    fixed : bool
        Whether these were announced.
    classes : array-like or None
        As the caller of ``partial_fit`` announces them.

    Returns
    -------
    known : ndarray
    fixed : bool

    Raises
    ------
    ValueError
        For announced classes that differ from those before, and labels of another
        kind.
    """
    if classes is not None:
        before = None if known is None else np.sort(known)
        announced = announced_classes(estimator, classes, before)
        return (announced if known is None else known), True
    if fixed:
        return known, True
    return _joined(known, labels), False


def _joined(known, labels):
    """Labels known before, in their order, and after them those first met.

    Parameters
    ----------
    known : ndarray or None
    labels : ndarray of shape (n,)

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        For numbers after text, or text after numbers.
    """
    _, first = np.unique(labels, return_index=True)
    # In the order in which they came, which does not depend on how a stream is cut.
    found = labels[np.sort(first)]
    if known is None:
        return found
    before = set(known.tolist())
    new = [label for label in found.tolist() if label not in before]
    if not new:
        return known
    if (known.dtype.kind in "biuf") != (found.dtype.kind in "biuf"):
        raise ValueError(
            f"y holds labels {new}, which are of another kind than those before, "
            f"{known.tolist()}."
        )
    return np.concatenate([known, found[np.isin(found, new)]])
