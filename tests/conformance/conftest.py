"""Every test here says what it shows about which estimators, for the table."""

import sys
from inspect import isclass

from sklearn.base import BaseEstimator

from .kinds import kind_of
from .subject import Subject


def pytest_itemcollected(item):
    """Note the kind and the classes, in a form that reports carry along."""
    parameters = getattr(item, "callspec", None)
    given = list(parameters.params.values()) if parameters else []
    classes = {cls.__name__ for value in given for cls in _classes_of(value)}
    classes |= {cls.__name__ for cls in getattr(item.function, "estimators", ())}
    if not classes:
        classes = {cls.__name__ for cls in getattr(item.module, "ESTIMATORS", ())}
    if classes:
        kind = _kind_of(item, given)
        item.user_properties.append(("shows", [kind, sorted(classes)]))


def _classes_of(value):
    """Classes of the package among what a test is given, stand-ins left out."""
    if isinstance(value, Subject):
        value = value.estimator
    cls = value if isclass(value) else type(value)
    ours = issubclass(cls, BaseEstimator) and cls.__module__.startswith("odalib.")
    return [cls] if ours else []


def _kind_of(item, given):
    """Kind of the check that the test is given, or else of the test."""
    checks = [value for value in given if hasattr(value, "needs")]
    if checks:
        return kind_of(checks[0], sys.modules[checks[0].__module__])
    return kind_of(item.function, item.module)
