"""One BLAS thread while odalib computes."""

import threading
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

__all__ = ["single_threaded_blas"]

_lock = threading.Lock()
_holders = 0
# Numbers of threads to restore, by library, kept until that is done.
_before = {}


@cache
def _libraries():
    return ThreadpoolController().select(user_api="blas").lib_controllers


def _limit():
    """Hold BLAS to one thread; where it has one, at no cost."""
    for blas in _libraries():
        # Setting the number costs as much as a step of a stream.
        n_threads = blas.num_threads
        if n_threads != 1:
            _before[blas] = n_threads
            blas.set_num_threads(1)


def _restore():
    for blas, n_threads in [*_before.items()]:
        blas.set_num_threads(n_threads)
        del _before[blas]


@contextmanager
def single_threaded_blas():
    """Hold BLAS to one thread, so that results do not depend on their number.

    The limit is one of the process; of several holders at the same time the first
    sets it and the last restores what was there. Where that is interrupted, the next
    does.
    """
    global _holders
    is_held = False
    try:
        with _lock:
            # Nothing is called in between: an interrupt finds both or none.
            _holders += 1
            is_held = True
            if _holders == 1:
                _limit()
        yield
    finally:
        if is_held:
            with _lock:
                _holders -= 1
                if _holders == 0:
                    _restore()
