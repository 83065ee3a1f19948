"""BLAS has one thread while odalib computes, and afterwards as many as before."""

from contextlib import ExitStack

import pytest

from odalib.estimators import _threads
from odalib.estimators._threads import single_threaded_blas

from .conformance.interrupting import interrupted, points_of


class Blas:
    """Library whose number of threads is set, and then perhaps an interrupt met."""

    interrupt_at = None
    n_calls = 0

    def __init__(self, num_threads):
        self.num_threads = num_threads

    def set_num_threads(self, num_threads):
        self.num_threads = num_threads
        Blas.n_calls += 1
        if Blas.n_calls == Blas.interrupt_at:
            raise KeyboardInterrupt


@pytest.fixture
def libraries(monkeypatch):
    """Two with several threads, and one that has one anyway."""
    libraries = [Blas(4), Blas(1), Blas(3)]
    monkeypatch.setattr(_threads, "_libraries", lambda: libraries)
    monkeypatch.setattr(Blas, "n_calls", 0)
    monkeypatch.setattr(_threads, "_holders", 0)
    monkeypatch.setattr(_threads, "_before", {})
    return libraries


def numbers(libraries):
    return [library.num_threads for library in libraries]


def compute():
    with single_threaded_blas():
        pass


def test_the_last_of_several_holders_restores(libraries):
    with ExitStack() as first, ExitStack() as last:
        first.enter_context(single_threaded_blas())
        last.enter_context(single_threaded_blas())
        assert numbers(libraries) == [1, 1, 1]
        first.close()
        assert numbers(libraries) == [1, 1, 1]
        last.close()
        assert numbers(libraries) == [4, 1, 3]
    # What has one thread is not set.
    assert Blas.n_calls == 4


def test_what_was_before_is_forgotten_once_restored(libraries):
    compute()
    for number, library in enumerate(libraries):
        library.num_threads = 1 + number
    compute()
    assert numbers(libraries) == [1, 2, 3]


def test_an_error_restores(libraries):
    with pytest.raises(OSError, match="inside"), single_threaded_blas():
        raise OSError("inside")
    assert numbers(libraries) == [4, 1, 3]


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_an_interrupted_change_of_threads_is_made_good(number, libraries, monkeypatch):
    """On the way in at once; on the way out by the next holder."""
    monkeypatch.setattr(Blas, "interrupt_at", number)
    with pytest.raises(KeyboardInterrupt):
        compute()
    if number > 2:
        compute()
    assert numbers(libraries) == [4, 1, 3]
    with single_threaded_blas():
        assert numbers(libraries) == [1, 1, 1]


def test_an_interrupted_holder_holds_nothing(libraries):
    for at in range(len(points_of(compute, None))):
        interrupted(compute, None, at, KeyboardInterrupt)
        compute()
        assert numbers(libraries) == [4, 1, 3], at
