"""Fitted state: a call that fails leaves it as it was, what it rests on stays."""

from functools import cached_property, wraps

import numpy as np
from sklearn.utils.validation import check_is_fitted

from odalib.estimators._sklearn import validate_parameters

__all__ = ["cached_fitted", "check_midstream", "features_kept_on_failure"]


def features_kept_on_failure(method):
    """Restore the number and the names of the features where a method fails."""

    @wraps(method)
    def guarded(self, *args, **kwargs):
        names = ("n_features_in_", "feature_names_in_")
        before = {name: vars(self)[name] for name in names if name in vars(self)}
        try:
            return method(self, *args, **kwargs)
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
