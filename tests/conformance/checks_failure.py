"""Checks of calls that fail or are interrupted: all is as before, to the last bit."""

import copy

import numpy as np

from .comparing import leaves, needs
from .interrupting import ERRORS, interrupted, points_of

KIND = "atomic failure"

N_ROWS = 12


def _given(subject, seed):
    """Rows, targets and uneven weights of a call."""
    X, y = subject.groups(N_ROWS, seed=seed)
    if not subject.has("sample_weight"):
        return (X, y), {}
    return (X, y), {"sample_weight": 0.5 + (np.arange(N_ROWS) % 3)}


def _fresh(subject):
    """Unfitted, with a generator of its own where it draws."""
    if subject.has("random_state"):
        return subject.make(random_state=np.random.RandomState(7))
    return subject.make()


# One error at each of three points; in the three turns of it, each error at each point.
TURNS = [tuple((ERRORS[(turn + k) % 3],) for k in range(3)) for turn in range(3)]
ALL = (ERRORS,) * 3


def _assert_kept(model, call, errors, what):
    """A call that fails where it computes leaves a model as it was; then it succeeds.

    It fails at the first, a middle and the last point that computes, with each error.
    """
    computes, after = _points(model, call)
    numerical = np.flatnonzero(computes)
    before = leaves(model)
    for at, some in zip(numerical[[0, len(numerical) // 2, -1]], errors, strict=True):
        for error in some:
            tried = copy.deepcopy(model)
            place = interrupted(lambda it=tried: call(it), tried, at, error)
            _assert_leaves(tried, before, f"{what}, {error.__name__} at {place}")
    call(tried)
    _assert_leaves(tried, after, f"{what}, after it had failed")


def _assert_swapped(model, call, n_last, what):
    """An interrupt leaves a model as it was, or as the call makes it; nothing between.

    It comes on the way from the last point that computes to the end, where what was
    learnt is published.
    """
    computes, after = _points(model, call)
    before = leaves(model)
    last = np.arange(np.flatnonzero(computes)[-1] + 1, len(computes))
    chosen = last[np.linspace(0, len(last) - 1, n_last + 2, dtype=int)[1:-1]]
    for at in chosen:
        tried = copy.deepcopy(model)
        place = interrupted(lambda it=tried: call(it), tried, at, KeyboardInterrupt)
        if leaves(tried) != after:
            _assert_leaves(tried, before, f"{what}, interrupted at {place}")


def _points(model, call):
    """Whether each point of a call computes, and what the call makes of the model."""
    counted = copy.deepcopy(model)
    return points_of(lambda: call(counted), counted), leaves(counted)


def _assert_leaves(model, expected, what):
    found = leaves(model)
    differing = sorted(
        path for path in found | expected if found.get(path) != expected.get(path)
    )
    assert not differing, f"{what}: not as it should be in {differing[:8]}"


@needs()
def check_a_fit_that_fails_changes_nothing(subject):
    """An unfitted estimator stays unfitted, a fitted one as it was."""
    (first, weights), (again, others) = (_given(subject, seed) for seed in (0, 1))
    # What is imported or cached on first use is out of the way when points are counted.
    fitted = _fresh(subject).fit(*first, **weights)
    model = _fresh(subject)
    _assert_kept(model, lambda it: it.fit(*first, **weights), TURNS[0], "a first fit")
    errors = TURNS[1] if hasattr(model, "partial_fit") else ALL
    _assert_kept(fitted, lambda it: it.fit(*again, **others), errors, "another fit")


@needs()
def check_an_interrupted_fit_is_whole_or_nothing(subject):
    """Also where it is interrupted while it publishes what it has learnt."""
    (first, weights), (again, others) = (_given(subject, seed) for seed in (0, 1))
    model = _fresh(subject).fit(*first, **weights)
    _assert_swapped(model, lambda it: it.fit(*again, **others), 2, "another fit")


def _streams(subject):
    """Yield models before a call of ``partial_fit``, that call, and words for it."""
    model = _fresh(subject)
    for what, seed in (("a first call", 2), ("a second call", 3)):
        given, weights = _given(subject, seed)

        def call(it, given=given, weights=weights):
            subject.feed(it, *given, **weights)

        # A copy has nothing left that copying it would work out.
        begun = copy.deepcopy(model)
        call(model)
        yield begun, call, what
    fitted = _fresh(subject).fit(*_given(subject, seed=4)[0])
    yield copy.deepcopy(fitted), call, "a call after fit"


@needs("partial_fit")
def check_a_partial_fit_that_fails_changes_nothing(subject):
    """The first of a stream, the next, and one after a fit."""
    for errors, (model, call, what) in zip(TURNS, _streams(subject), strict=True):
        _assert_kept(model, call, errors, what)


@needs("partial_fit")
def check_an_interrupted_partial_fit_is_whole_or_nothing(subject):
    """Also where it is interrupted while it publishes what it has learnt."""
    for model, call, what in _streams(subject):
        _assert_swapped(model, call, 4, what)
