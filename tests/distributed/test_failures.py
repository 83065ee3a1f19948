"""A distributed fit that fails leaves what it was called on as it was."""

from itertools import count

import dask.array as da
import numpy as np
import pytest

from odalib.distributed import EPProbitClassifier, ODAClassifier, ODAClusterer
from tests.conformance.cases import ScaledEuclidean
from tests.conformance.comparing import leaves

ROWS = np.random.default_rng(0).standard_normal((200, 2))
LABELS = (ROWS[:, 0] > 0).astype(int)


class Failing(ScaledEuclidean):
    """Counts the calls of all threads, and fails in the last."""

    calls, last, error = count(1), 0, ValueError

    def phi(self, X):
        if next(Failing.calls) == Failing.last:
            raise Failing.error("of the user's code")
        return super().phi(X)


def collections():
    return da.from_array(ROWS, chunks=(50, 2)), da.from_array(LABELS, chunks=50)


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt, MemoryError])
def test_errors_of_the_users_code(threads, monkeypatch, error):
    model = ODAClusterer(
        2,
        client=threads,
        divergence=Failing(2.0),
        random_state=np.random.RandomState(0),
    )
    X, _ = collections()
    model.fit(X)
    monkeypatch.setattr(Failing, "calls", count(1))
    model.fit(X)
    n_calls = next(Failing.calls) - 1
    before = _leaves(model)
    monkeypatch.setattr(Failing, "error", error)
    for n in {1, n_calls // 2, n_calls}:
        monkeypatch.setattr(Failing, "calls", count(1))
        monkeypatch.setattr(Failing, "last", n)
        with pytest.raises(error, match="of the user's code"):
            model.fit(X)
        assert _leaves(model) == before


@pytest.mark.parametrize("kind", [ODAClassifier, EPProbitClassifier])
def test_blocks_that_fail(threads, kind):
    parameters = {}
    if kind is ODAClassifier:
        parameters = {"random_state": np.random.RandomState(0), "n_codevectors": 2}
    model = kind(client=threads, **parameters)
    X, y = collections()
    model.fit(X, y)
    before = _leaves(model)
    for name in ("X", "y"):
        broken = {"X": X, "y": y}
        broken[name] = broken[name].map_blocks(_fail_in_the_last, dtype=float)
        with pytest.raises(OSError, match="of a block"):
            model.fit(**broken)
        assert _leaves(model) == before


def _fail_in_the_last(block, block_info=None):
    if block_info[0]["chunk-location"][0] == 3:
        raise OSError("of a block")
    return block


def _leaves(model):
    """Bits of an estimator, its costs and its generator; not of the client."""
    return leaves({name: it for name, it in vars(model).items() if name != "client"})
