"""Comparisons of estimators: to the last bit, or as models up to the names."""

import re
from contextlib import contextmanager
from functools import cached_property
from inspect import signature

import numpy as np
from scipy.sparse import issparse
from sklearn.metrics import adjusted_rand_score

ANSWERS = (
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "transform",
    "score_samples",
    "apply",
)
# What has an entry for every codevector, of a clusterer or another.
CODEBOOK = (
    "cluster_centers_",
    "cluster_weights_",
    "codevectors_",
    "codevector_weights_",
    "codevector_classes_",
    "local_coef_",
    "local_intercept_",
)
# These belong to the rows of the last call, not to what was learnt.
LAST_CALL = (
    "labels_",
    "inertia_",
    "site_precision_",
    "site_shift_",
    "X_train_",
    "drift_score_",
)


def needs(*capabilities, kind=None):
    """Name what a subject must have for a check to have something to look at.

    The kind is the row of the table that the check is counted in, that of its module
    unless told otherwise.
    """

    def mark(check):
        check.needs, check.kind = capabilities, kind
        return check

    return mark


@contextmanager
def refused(match, what):
    """Fail unless the block raises a ValueError whose text matches `match`."""
    try:
        yield
    except ValueError as error:
        assert re.search(match, str(error)), (
            f"the error about {what} does not say {match!r}: {error}"
        )
    else:
        raise AssertionError(f"{what} was accepted")


def leaves(value):
    """Flatten everything that `value` is made of: a dict from path to bits."""
    return dict(_walk(value, "", set()))


def _walk(value, path, seen):
    if isinstance(value, np.ndarray) and value.dtype != object:
        yield path, (value.dtype.str, value.shape, value.tobytes())
    elif isinstance(value, (float, np.generic)):
        yield path, (type(value).__name__, np.asarray(value).tobytes())
    elif value is None or isinstance(value, (bool, int, str, bytes, type)):
        yield path, value
    elif id(value) not in seen:
        seen.add(id(value))
        yield path, type(value).__name__
        for key, part in _parts(value):
            yield from _walk(part, f"{path}{key}", seen)


def _parts(value):
    if isinstance(value, dict):
        return [(f"[{key!r}]", value[key]) for key in value]
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [(f"[{i}]", part) for i, part in enumerate(value)]
    if isinstance(value, (set, frozenset)):
        return [("{}", sorted(map(repr, value)))]
    if issparse(value):
        # What scipy caches about a matrix, when asked, is none of its content.
        names = ("shape", "data", "indices", "indptr", "coords")
        return [(f".{n}", getattr(value, n)) for n in names if hasattr(value, n)]
    if isinstance(value, np.random.RandomState):
        return [(".state", value.get_state())]
    if isinstance(value, np.random.Generator):
        return [(".state", value.bit_generator.state)]
    slots = [s for c in type(value).__mro__ for s in getattr(c, "__slots__", ())]
    state = {s: getattr(value, s) for s in slots if hasattr(value, s)}
    state |= getattr(value, "__dict__", {})
    return [(f".{k}", part) for k, part in state.items() if not _is_cache(value, k)]


def _is_cache(value, name):
    """Whether an attribute is kept once it was asked for, and follows from others."""
    return isinstance(getattr(type(value), name, None), cached_property)


def learnt(model, *, without=()):
    """Collect the public fitted attributes: all names that end in an underscore."""
    names = {n for n in dir(model) if n.endswith("_") and not n.startswith("_")}
    return {n: getattr(model, n) for n in names - set(without) if hasattr(model, n)}


def answers(model, X):
    """Collect what `model` says of the rows of X by every method that it has."""
    said = {name: getattr(model, name)(X) for name in ANSWERS if hasattr(model, name)}
    if "predict" in said and "return_std" in signature(model.predict).parameters:
        said["std"] = model.predict(X, return_std=True)[1]
    return said


def canonical(model, X):
    """Collect answers and codebook in an order that the codevectors settle."""
    said = answers(model, X)
    codebook = {n: getattr(model, n) for n in CODEBOOK if hasattr(model, n)}
    if not codebook:
        return said
    points = next(iter(codebook.values()))
    order = np.lexsort(np.round(points, 6).T[::-1])
    said |= {name: values[order] for name, values in codebook.items()}
    place = np.argsort(order)
    if hasattr(model, "cluster_centers_"):
        said["predict"] = place[said["predict"]]
        for name in ("predict_proba", "predict_log_proba", "transform"):
            if name in said:
                said[name] = said[name][:, order]
    if "apply" in said:
        said["apply"] = place[said["apply"] - model.tree_.first_nodes[-1]]
    return said


def assert_same_bits(actual, desired, message):
    """Fail and name what differs, unless the two are equal to the last bit."""
    a, b = leaves(actual), leaves(desired)
    differing = sorted(path for path in a | b if a.get(path) != b.get(path))
    assert not differing, f"{message}; what differs: {differing[:8]}"


def assert_close(actual, desired, message, *, rtol=1e-9):
    """Two dicts of arrays agree within `rtol` of the largest entry of each array."""
    for name, expected in desired.items():
        atol = rtol * np.abs(np.asarray(expected)).max(initial=0.0)
        np.testing.assert_allclose(
            actual[name], expected, rtol=rtol, atol=atol, err_msg=f"{message}: {name}"
        )


def assert_same_model(actual, desired, X, message, *, without=()):
    """Two models have learnt the same and answer the same of X, to the last bit."""
    assert_same_bits(
        learnt(actual, without=without), learnt(desired, without=without), message
    )
    assert_same_bits(answers(actual, X), answers(desired, X), message)


def assert_same_partition(actual, desired, message):
    """Two labellings agree up to the names of the labels."""
    agreement = adjusted_rand_score(desired, actual)
    assert agreement == 1.0, f"{message}: adjusted Rand index {agreement:.4f}, not 1"


def assert_finite(model, X, message):
    """Every answer of `model` about the rows of X is a number."""
    for name, value in answers(model, X).items():
        value = value.data if issparse(value) else value
        assert np.isfinite(value).all(), f"{message}: {name} is not finite"
