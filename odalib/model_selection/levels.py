"""The number of codevectors of an estimator with a path, alone or in a pipeline."""

from contextlib import contextmanager
from copy import copy
from inspect import signature
from numbers import Integral

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

__all__ = [
    "last_step",
    "level_of",
    "numbers_to_try",
    "path_parameter",
    "rows_of_fit",
    "rows_of_levels",
]


def last_step(estimator):
    """Estimator itself, or the last step of a pipeline."""
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    return estimator


def path_parameter(estimator):
    """Parameter that numbers the codevectors, as ``set_params`` takes it.

    It is the one parameter of the estimator, or of the last step of a pipeline, that
    its method ``at`` takes as well.

    Raises
    ------
    TypeError
        For an estimator that has no path.
    """
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        return f"{name}__{path_parameter(last)}"
    shared = set()
    if hasattr(estimator, "at"):
        shared = signature(estimator.at).parameters.keys() & estimator.get_params()
    if len(shared) != 1:
        raise TypeError(
            "PathSearchCV needs an estimator with a path, such as ODAClusterer, alone "
            f"or as the last step of a pipeline; {estimator!r} has no method `at` "
            "that takes its number of codevectors."
        )
    return shared.pop()


def level_of(estimator, name, number, rows):
    """Fitted estimator with another number of codevectors, from its path.

    A pipeline shares all its steps but the last with the one it comes from.

    Parameters
    ----------
    estimator : estimator or Pipeline
    name : str
    number : int
    rows : dict
        See `rows_of_levels`.
    """
    if isinstance(estimator, Pipeline):
        step, last = estimator.steps[-1]
        other = copy(estimator)
        level = level_of(last, name, number, rows)
        other.steps = [*estimator.steps[:-1], (step, level)]
        return other
    return estimator.at(**{name: number}, **rows)


@contextmanager
def rows_of_fit(estimator):
    """Write down what the last step is fitted to, in a dict.

    Steps before it may fit and transform rows otherwise than they transform them
    afterwards, as encoders of the target do that leave the row itself out.
    """
    last, arguments = last_step(estimator), {}
    fit = last.fit

    def noted(X, y=None, **params):
        arguments.update(X=X, y=y, **params)
        return fit(X, y, **params)

    last.fit = noted
    try:
        yield arguments
    finally:
        del last.fit


def rows_of_levels(estimator, arguments):
    """Rows of a fit as ``at`` of the last step takes them, or nothing.

    Parameters
    ----------
    estimator : estimator or Pipeline
        Fitted to them.
    arguments : dict
        See `rows_of_fit`.

    Returns
    -------
    dict
        ``X``, ``y`` and, where the fit was given it, ``sample_weight``.
    """
    taken = signature(last_step(estimator).at).parameters
    if "X" not in taken:
        return {}
    return {name: arguments[name] for name in arguments if name in taken}


def numbers_to_try(estimator, parameter, values, y, n_rows):
    """Return the numbers of codevectors in rising order.

    Parameters
    ----------
    estimator : estimator or Pipeline
    parameter : str
        As `path_parameter` gives it.
    values : iterable of int or None
        None for all up to that of the estimator, or to its ``max_clusters`` or
        ``max_codevectors`` where that is None, and to the number of rows; from the
        number of classes of a classifier, and the largest of its resolutions.
    y : array-like or None
        Labels, of a classifier.
    n_rows : int
        That the smallest fit has.

    Raises
    ------
    ValueError
        Where there are none, and for what is not a positive integer.
    """
    if values is not None:
        return _positive_integers(values, "values")
    last, name = last_step(estimator), parameter.rpartition("__")[2]
    if getattr(last, name) is None:
        name = name.replace("n_", "max_", 1)
    (largest,) = _positive_integers([getattr(last, name)], name)
    largest = min(largest, n_rows)
    least = len(np.unique(y)) if is_classifier(estimator) else 1
    for item in getattr(last, "resolutions", None) or []:
        least = max(least, getattr(item, "n_codevectors", None) or 1)
    return list(range(min(least, largest), largest + 1))


def _positive_integers(values, name):
    """Sorted distinct integers, as ints of Python."""
    numbers = list(values)
    if not numbers:
        raise ValueError(f"{name} is empty; give the numbers of codevectors to try.")
    for number in numbers:
        if isinstance(number, bool | np.bool_) or not (
            isinstance(number, Integral) and number >= 1
        ):
            raise ValueError(
                f"{name} must hold positive integers only, not {number!r}."
            )
    return sorted({int(number) for number in numbers})
