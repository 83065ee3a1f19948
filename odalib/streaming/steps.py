"""How the steps of a pipeline learn from a batch, and how they forget a failed one."""

from contextlib import contextmanager
from copy import deepcopy
from inspect import signature

from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

__all__ = [
    "FREEZES",
    "LEARNS",
    "PASSES",
    "UNABLE",
    "accepts",
    "is_absent",
    "is_fitted",
    "kept_on_failure",
    "manner_of",
    "take_batch",
]

# What a step does with a batch, beside transforming it.
LEARNS, PASSES, FREEZES, UNABLE = "learns", "passes", "freezes", "unable"


def is_absent(step):
    """Whether a step stands for no step at all."""
    return step is None or isinstance(step, str)


def is_fitted(estimator):
    """Whether an estimator has learnt anything, by scikit-learn's rules."""
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True


def manner_of(step, freezes):
    """Say what a step does with a batch.

    Parameters
    ----------
    step : estimator
    freezes : bool
        Whether it was asked to stop learning after the first batch.

    Returns
    -------
    {'learns', 'passes', 'freezes', 'unable'}
    """
    # Asked for its attributes, a frozen estimator shows those of what it holds.
    if isinstance(step, FrozenEstimator):
        return PASSES
    if freezes:
        return FREEZES
    if hasattr(step, "partial_fit"):
        return LEARNS
    return UNABLE if get_tags(step).requires_fit else PASSES


def accepts(step, name):
    """Whether ``partial_fit`` of a step has the parameter, and a use for it."""
    if not hasattr(step, "partial_fit"):
        return False
    if hasattr(step, "_accepts_in_stream"):
        return step._accepts_in_stream(name)
    return name in signature(step.partial_fit).parameters


def take_batch(step, manner, X, y, metadata, *, transform):
    """Let a step learn from a batch as its manner is, and transform it.

    Parameters
    ----------
    step : estimator
    manner : {'learns', 'passes', 'freezes'}
    X, y : array-like
    metadata : dict of str to dict
        What goes to the step, by the method that takes it.
    transform : bool
        Whether rows come out: not from the last step.

    Returns
    -------
    X : array-like or None
    """
    if manner == FREEZES and not is_fitted(step):
        return _fit_first(step, X, y, metadata, transform)
    if manner == LEARNS:
        step.partial_fit(X, y, **metadata.get("partial_fit", {}))
    elif manner == PASSES:
        _note_columns(step, X, y)
    return step.transform(X, **metadata.get("transform", {})) if transform else None


def _fit_first(step, X, y, metadata, transform):
    # As Pipeline.fit does it: for target encoders, the two ways differ.
    if transform and hasattr(step, "fit_transform"):
        return step.fit_transform(X, y, **metadata.get("fit_transform", {}))
    step.fit(X, y, **metadata.get("fit", {}))
    return step.transform(X, **metadata.get("transform", {})) if transform else None


def _note_columns(step, X, y):
    """Let a stateless step note the columns of the first batch, and refuse others."""
    if any(name.endswith("_") and name[0] != "_" for name in vars(step)):
        # By itself a FunctionTransformer renames columns that come in another order.
        validate_data(step, X, reset=False, skip_check_array=True)
    else:
        step.fit(X, y)


@contextmanager
def kept_on_failure(steps):
    """Restore what steps had learnt where the block fails.

    Their states are copied beforehand: a ``partial_fit`` may write into its arrays.
    So are those of estimators among their parameters, as of pipelines in pipelines.
    Of a last step from odalib, which may have learnt much, the attributes are noted
    only: what they hold is replaced as it learns, and never written into.

    Parameters
    ----------
    steps : list of estimator
        All steps, in order.
    """
    *_, last = steps
    replaces = _replaces_what_it_holds(last)
    guarded = steps[:-1] if replaces else steps
    parts = [part for step in guarded for part in _with_parts(step)]
    # In copies they stand for themselves, so that what is restored holds the same ones.
    same = {id(part): part for part in parts}
    before = [(part, deepcopy(vars(part), same)) for part in parts]
    if replaces:
        before.append((last, vars(last).copy()))
    try:
        yield
    except BaseException:
        for part, state in before:
            part.__dict__ = state
        raise


def _with_parts(step):
    """List a step and the estimators among its parameters; none where it is absent."""
    if is_absent(step):
        return []
    inner = step.get_params().values() if hasattr(step, "get_params") else ()
    are_parts = (part for part in inner if hasattr(part, "get_params"))
    return [step, *(part for part in are_parts if not isinstance(part, type))]


def _replaces_what_it_holds(step):
    # A class that a user derives comes from another module, and is copied.
    return type(step).__module__.partition(".")[0] == "odalib"
