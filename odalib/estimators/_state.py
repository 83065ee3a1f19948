"""Fitted state: a call that fails leaves it as it was, what it rests on stays."""

from functools import cached_property, wraps

import numpy as np
from sklearn.utils.validation import check_is_fitted

__all__ = ["cached_fitted", "features_kept_on_failure", "refuse_changes"]


def features_kept_on_failure(method):
    """Restore the number and the names of the features where a method fails."""

    @wraps(method)
    def guarded(self, *args):
        names = ("n_features_in_", "feature_names_in_")
        before = {name: vars(self)[name] for name in names if name in vars(self)}
        try:
            return method(self, *args)
        except BaseException:
            for name in names:
                vars(self).pop(name, None)
            vars(self).update(before)
            raise

    return guarded


class cached_fitted(cached_property):
    """Property of a fitted estimator, computed when it is first read."""

    def __get__(self, instance, owner=None):
        """Value; AttributeError before a fit."""
        if instance is not None:
            check_is_fitted(instance)
        return super().__get__(instance, owner)


def refuse_changes(estimator, fixed):
    """Raise ValueError where parameters differ from those that a stream rests on.

    Parameters
    ----------
    estimator : estimator
    fixed : dict of str to object
        Names and values, as they were on the first call.
    """
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
