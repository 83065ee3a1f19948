"""Calls that fail or are interrupted at a chosen point of the code under test.

Points are where Python looks whether it was interrupted: where a function begins, and
where one of NumPy or another in C has returned.
"""

import gc
import sys
import threading
from contextlib import contextmanager

# Layers that compute, and methods of the stand-ins that do.
NUMERICAL_MODULES = ("odalib.inference", "odalib.kernels")
NUMERICAL_METHODS = ("_sum", "_place", "_means", "_divergences")


class Fault(Exception):
    """An error that nothing under test can expect."""


ERRORS = (Fault, KeyboardInterrupt, MemoryError)


def points_of(call, model):
    """Run a call, and say of every point of the code under test whether it computes.

    Parameters
    ----------
    call : callable
    model : estimator
        On which it runs; its class says which code is under test.

    Returns
    -------
    list of bool
    """
    found = []
    with _watched(model, lambda frame, computes: found.append(computes)):
        call()
    return found


def interrupted(call, model, at, error):
    """Run a call, raise an error at a point of it, and see that the error comes out.

    Parameters
    ----------
    call : callable
    model : estimator
    at : int
        Number of the point, as `points_of` counts them.
    error : type

    Returns
    -------
    str
        Where that is.
    """
    n_left, place = at, None

    def on_point(frame, _):
        nonlocal n_left, place
        if n_left == 0:
            place = f"{frame.f_code.co_qualname}, line {frame.f_lineno}"
            raise error("raised by a test")
        n_left -= 1

    with _watched(model, on_point):
        try:
            call()
        except BaseException as raised:
            if not _is_because_of(error, raised):
                raise
        else:
            missed = f"the call ends {n_left} points before that of number {at}"
            raise AssertionError(
                missed if place is None else f"{error.__name__} at {place} is swallowed"
            )
    return place


def paused(call, model, at, pause):
    """Run a call, and another in the middle of it.

    Parameters
    ----------
    call : callable
    model : estimator
    at : int
        Number of the point, as `points_of` counts them.
    pause : callable
        What is called there.
    """
    n_left = at

    def on_point(*_):
        nonlocal n_left
        # First, since meanwhile other threads may come here as well.
        n_left -= 1
        if n_left == -1:
            pause()

    with _watched(model, on_point):
        return call()


@contextmanager
def _watched(model, on_point):
    """Call a function with the frame of every point, and whether that computes."""
    own = {cls.__module__ for cls in type(model).__mro__}
    known = {}

    def on_event(frame, event, _):
        if event not in ("call", "c_return"):
            return
        code = frame.f_code
        if code not in known:
            known[code] = _part_of(frame, own)
        if known[code] is not None:
            on_point(frame, known[code])

    held = sys.getprofile()
    # A collection would call what has nothing to do with the call.
    gc.disable()
    threading.setprofile(on_event)
    sys.setprofile(on_event)
    try:
        yield
    finally:
        sys.setprofile(held)
        threading.setprofile(held)
        gc.enable()


def _part_of(frame, own):
    """Whether a frame computes; None where it is not of the code under test."""
    module = frame.f_globals.get("__name__", "")
    if module.startswith("odalib."):
        return module.startswith(NUMERICAL_MODULES)
    return frame.f_code.co_name in NUMERICAL_METHODS if module in own else None


def _is_because_of(error, raised):
    """Whether an error is one of a kind, or was raised because of one."""
    while raised is not None and not isinstance(raised, error):
        raised = raised.__cause__ or raised.__context__
    return raised is not None
