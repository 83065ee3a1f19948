"""Parameters of an estimator in mid-stream: which they are, whether they changed."""

from functools import cache
from numbers import Real

__all__ = ["parameter_names", "same_items", "same_parameters"]


@cache
def parameter_names(estimator):
    """Names of the parameters of a class; scikit-learn reads its signature anew."""
    return estimator._get_param_names()


def same_parameters(before, after):
    """Whether parameters are what they were; resolutions by identity."""
    return before.keys() == after.keys() and all(
        same_items(before[name], after[name])
        if name == "resolutions"
        else _same_value(before[name], after[name])
        for name in after
    )


def _same_value(before, after):
    """Whether two objects are one, or plain values of one type and equal."""
    if before is after:
        return True
    is_plain = isinstance(after, str | Real) and type(before) is type(after)
    return is_plain and before == after


def same_items(before, after):
    """Whether two lists hold the very same objects; of others, whether they are one."""
    if not (isinstance(before, list) and isinstance(after, list)):
        return before is after
    return len(before) == len(after) and all(
        one is other for one, other in zip(before, after, strict=True)
    )
