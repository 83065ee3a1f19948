"""Fitted state: computed on a draft, swapped in at once, answered from as it was found.

The attributes of an estimator are one dictionary. A call that learns fills another,
which takes its place by one assignment: whatever fails or interrupts it before leaves
the estimator as it was, and other threads see the one or the other.
"""

import os
from functools import cached_property, partial, wraps
from operator import is_
from threading import RLock
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.utils.validation import check_is_fitted

from odalib.estimators._sklearn import validate_parameters

__all__ = [
    "all_or_nothing",
    "cached_fitted",
    "check_midstream",
    "draws_to_take_back",
    "on_one_state",
    "turn_of",
]

# Calls that learn take turns, by estimator. Not an attribute of it, as it would have
# to be left out of copies of any kind.
_turns: WeakKeyDictionary = WeakKeyDictionary()

if hasattr(os, "register_at_fork"):
    # The threads whose turn it was are not in the child.
    os.register_at_fork(after_in_child=_turns.clear)


def turn_of(estimator):
    """Lock that a thread holds while it teaches an estimator, as often as it likes."""
    return _turns.setdefault(estimator, RLock())


def all_or_nothing(method):
    """Let a method that learns change the whole state in the end, or nothing.

    It is given a draft, which has the attributes of the estimator and may set its own
    in any order. Where it fails, a generator given as ``random_state`` is taken back
    as well. Calls from several threads wait for one another: none is lost.
    """

    @wraps(method)
    def learning(self, *args, **kwargs):
        with turn_of(self):
            before, after = vars(self).copy(), None
            draft = _of_attributes(self, before.copy())
            take_back = draws_to_take_back(before.get("random_state"))
            try:
                method(draft, *args, **kwargs)
                after = _with_changes(vars(self), before, vars(draft))
                self.__dict__ = after
            except BaseException:
                if vars(self) is not after:
                    take_back()
                raise
        return self

    return learning


def draws_to_take_back(random_state):
    """Give a function that takes a generator, if it is one, back to where it is now."""
    if not isinstance(random_state, np.random.RandomState):
        return lambda: None
    return partial(random_state.set_state, random_state.get_state())


def on_one_state(method):
    """Let a method answer from the state that it finds, whatever replaces it meanwhile.

    What it keeps once computed stays with that state.
    """

    @wraps(method)
    def answering(self, *args, **kwargs):
        return method(_of_attributes(self, vars(self)), *args, **kwargs)

    return answering


def _of_attributes(estimator, attributes):
    """Estimator of the same class that has these attributes, and shares them."""
    other = object.__new__(type(estimator))
    other.__dict__ = attributes
    return other


def _with_changes(now, before, after):
    """Attributes as they are now, with what a draft has set and removed since."""
    if now.keys() == before.keys() and all(map(is_, now.values(), before.values())):
        return after
    merged = {name: value for name, value in now.items() if name in after}
    for name, value in after.items():
        if name not in before or before[name] is not value:
            merged[name] = value
    return merged


class cached_fitted(cached_property):
    """Property of a fitted estimator, computed when it is first read."""

    def __get__(self, instance, owner=None):
        """Value; AttributeError before a fit."""
        if instance is not None:
            check_is_fitted(instance)
        return super().__get__(instance, owner)


def check_midstream(estimator, fixed):
    """Validate parameters, which may have changed since the first rows of a stream.

    scikit-learn validates before the first rows only. Raises ValueError where those
    that the stream rests on differ from what they were.

    Parameters
    ----------
    estimator : estimator
    fixed : dict of str to object
        Names and values, as they were on the first call.
    """
    validate_parameters(estimator)
    changed = [
        name
        for name, value in fixed.items()
        if not np.array_equal(getattr(estimator, name), value)
    ]
    if changed:
        raise ValueError(
            f"{', '.join(changed)} cannot change in mid-stream, where what was learnt "
            "rests on it; call fit to begin anew."
        )
