"""Checks of numbers at the ends of what floats hold: an answer or one clear error."""

import re
import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from .comparing import answers, learnt, leaves, needs, refused

KIND = "hostile numbers"

N_ROWS = 12
# What an error about numbers is about.
INPUTS = r"\b(X|y|sample_weight|features?|rows?|columns?|class(es)?)\b"
# Where these are not finite, their documentation says so.
MAY_BE_INFINITE = ("plateau_strength_", "residuals_")
# Of what was asked for, the estimators' own words; none is NumPy's.
OWN_WORDS = "Columns that never vary|log_partition_ is approximate"


def _hostile_rows(subject):
    """Yield rows that such numbers make up: a name and the rows."""
    X, _ = subject.groups(N_ROWS)
    unit = X / np.abs(X).max()
    yield "subnormal numbers", unit * 1e-310
    yield "numbers of 1e150", unit * 1e150
    yield "the largest numbers", unit * np.finfo(float).max
    yield "numbers of 1e-40 in float32", (unit * 1e-40).astype("f4")
    yield "numbers of 1e30 in float32", (unit * 1e30).astype("f4")
    yield "a large offset", X + 1e8
    yield "an offset that leaves no digits", X + 1e100
    yield "a large offset in float32", (X + 1e5).astype("f4")
    yield "columns of all sizes", unit * np.array([1e-200, 1.0, 1e100])
    yield "rows of all sizes", unit * 10.0 ** np.linspace(-300, 100, N_ROWS)[:, None]
    yield "a row far off", np.r_[X[:-1], 1e100 * X[-1:]]
    yield "exact ties", np.rint(unit)
    yield "copies of one row", np.repeat(X[:1], N_ROWS, axis=0)
    yield "copies but for one row", np.repeat(X[:2], [N_ROWS - 1, 1], axis=0)
    yield "zeros", np.zeros_like(X)
    yield (
        "neighbouring floats",
        1.0 + np.finfo(float).eps * np.arange(X.size).reshape(X.shape),
    )
    yield "collinear columns", X[:, :1] * np.array([1.0, 2.0, 1.0 / 3.0])
    yield "a constant column", np.c_[X[:, :2], np.full(N_ROWS, 0.1)]
    yield "one row", X[:1]
    if subject.any_width:
        yield "one column", X[:, :1]
        yield "more columns than rows", np.tile(X[:4], 5)


def _hostile_weights():
    """Yield weights of such numbers: a name and the weights."""
    number = np.arange(N_ROWS)
    yield "subnormal weights", np.full(N_ROWS, 5e-324)
    yield "weights of 1e-300", np.full(N_ROWS, 1e-300)
    yield "weights of 1e300", np.full(N_ROWS, 1e300)
    yield "weights that add up to more than a float", np.full(N_ROWS, 1e308)
    yield "one weight of 1e300", np.where(number == 5, 1e300, 1.0)
    yield "weights of all sizes", 10.0 ** np.linspace(-300, 300, N_ROWS)
    yield "one weight above zero", (number == 5).astype(float)


def _ways_to_learn(subject, X, y):
    """Yield a name, a model that is to learn, and the method by which it does."""
    yield "fit", subject.make(), lambda model, *a, **k: model.fit(*a, **k)
    if subject.has("partial_fit"):
        yield "a later call", subject.feed(subject.make(), X, y), subject.feed


def _finite(name, values):
    """Name the arrays among values that hold what is no number."""
    if isinstance(values, (list, tuple)):
        values = dict(enumerate(values))
    if isinstance(values, dict):
        return [bad for key in values for bad in _finite(f"{name} {key}", values[key])]
    values = values.data if sp.issparse(values) else np.asarray(values)
    return [name] if values.dtype.kind == "f" and not np.isfinite(values).all() else []


def _said(model, X):
    """Everything that a model says of rows, and of itself."""
    said = learnt(model, without=MAY_BE_INFINITE) | answers(model, X)
    if hasattr(model, "latent_mean_and_variance"):
        said["latent values"] = model.latent_mean_and_variance(X)
    return said


def _ask(model, X, what):
    """Ask a model of rows: finite answers, or an error that names what it is about."""
    try:
        said = _said(model, X)
    except ValueError as error:
        _assert_clear(error, what)
    else:
        bad = _finite("", said)
        assert not bad, f"{what}: not finite:{bad}"


def _assert_clear(error, what):
    assert re.search(INPUTS, str(error)), f"{what}: the error names no input: {error}"


def _learn(model, learn, what, *args, **kwargs):
    """Learn and tell whether it went; where it is refused nothing has changed."""
    before = leaves(vars(model))
    try:
        learn(model, *args, **kwargs)
    except ValueError as error:
        _assert_clear(error, what)
        after = leaves(vars(model))
        moved = [name for name in before | after if before.get(name) != after.get(name)]
        assert not moved, f"{what} was refused, and has moved {moved[:8]}"
        return False
    return True


def _only_own_words():
    """Let the estimators warn in their words; those of NumPy stay errors."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.filterwarnings("ignore", OWN_WORDS, UserWarning)


@needs()
def check_hostile_rows_are_learnt_or_refused(subject):
    """Every method that learns them leaves finite numbers, or all as it was."""
    X, y = subject.groups(N_ROWS)
    for name, Z in _hostile_rows(subject):
        for way, model, learn in _ways_to_learn(subject, X, y):
            if way == "a later call" and Z.shape[1] != X.shape[1]:
                continue
            what = f"{name} in {way}"
            with warnings.catch_warnings():
                _only_own_words()
                if _learn(model, learn, what, Z, y[: len(Z)]):
                    _ask(model, Z, what)


@needs()
def check_hostile_rows_are_answered_or_refused(subject):
    """What learnt ordinary rows says finite things of others, or refuses them."""
    X, y = subject.groups(N_ROWS)
    model = subject.make().fit(X, y)
    for name, Z in _hostile_rows(subject):
        if Z.shape[1] == X.shape[1]:
            _ask(model, Z, f"{name} asked about")


@needs("sample_weight")
def check_hostile_weights_are_learnt_or_refused(subject):
    """As rows are."""
    X, y = subject.groups(N_ROWS)
    for name, weight in _hostile_weights():
        for way, model, learn in _ways_to_learn(subject, X, y):
            what = f"{name} in {way}"
            with warnings.catch_warnings():
                _only_own_words()
                if _learn(model, learn, what, X, y, sample_weight=weight):
                    _ask(model, X, what)


def _beyond_floats(X):
    """Yield rows whose numbers become infinite as floats: a name and the rows."""
    wide = X.astype(np.longdouble)
    wide[-1, -1] = np.longdouble("1e400")
    yield "wider floats", wide
    whole = np.rint(X).astype(int).astype(object)
    whole[-1, -1] = 10**400
    yield "whole numbers", whole
    both = X.copy()
    both[-2:, -1] = np.inf, -np.inf
    yield "infinities of both signs", both


@needs()
def check_numbers_beyond_floats_are_refused(subject):
    """They are called infinite, without a warning, in all that reads numbers."""
    X, y = subject.groups(N_ROWS)
    fitted = subject.make().fit(X, y)
    for name, Z in _beyond_floats(X):
        what = f"X of {name}"
        for way, model, learn in _ways_to_learn(subject, X, y):
            with refused("infinity", f"{what} in {way}"):
                learn(model, Z, y)
        with refused("infinity", f"{what} asked about"):
            _said(fitted, Z)
        column = Z[:, -1]
        if subject.has("sample_weight"):
            with refused("infinity", f"sample_weight of {name}"):
                subject.make().fit(X, y, sample_weight=column)
        if subject.has("regressor"):
            with refused("infinity", f"y of {name}"):
                subject.make().fit(X, column)
