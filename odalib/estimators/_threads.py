"""One BLAS thread while odalib computes."""

import threading
from contextlib import contextmanager, nullcontext
from functools import cache

from threadpoolctl import ThreadpoolController

__all__ = ["single_threaded_blas"]

_lock = threading.Lock()
_holders = 0
_limiter = None


@cache
def _controller():
    return ThreadpoolController().select(user_api="blas")


def _limit():
    """Give what holds BLAS to one thread; where it has one, at no cost."""
    controller = _controller()
    # Setting the number costs as much as a step of a stream.
    if all(blas.num_threads == 1 for blas in controller.lib_controllers):
        return nullcontext()
    return controller.limit(limits=1)


@contextmanager
def single_threaded_blas():
    """Hold BLAS to one thread, so that results do not depend on their number.

    The limit is one of the process; of several holders at the same time the first
    sets it and the last restores what was there.
    """
    global _holders, _limiter
    with _lock:
        if _holders == 0:
            _limiter = _limit()
            _limiter.__enter__()
        _holders += 1
    try:
        yield
    finally:
        with _lock:
            _holders -= 1
            if _holders == 0:
                _limiter.__exit__(None, None, None)
