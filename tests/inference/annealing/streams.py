"""Streams for the tests of annealing: small windows, cuts, and all bits of a state."""

import pickle
from dataclasses import fields, is_dataclass
from itertools import pairwise

import numpy as np

from odalib.inference.annealing import layer, stream, warm_up
from odalib.inference.annealing.batch import Batch
from odalib.inference.annealing.stream import Stream
from odalib.inference.annealing.warm_up import WarmUp

from .problems import make_settings

__all__ = [
    "BATCH",
    "N_ROWS",
    "WARM_UP",
    "begin",
    "bits",
    "learnt",
    "mixture",
    "settings_of",
    "shrink_windows",
]

N_ROWS, BATCH, WARM_UP = 700, 24, 96
# What does not change as a stream goes on.
FIXED = {"settings", "solution", "divergence", "dtype", "queue", "pieces"}


def shrink_windows(monkeypatch):
    """Warm-up, windows and steps that a few hundred rows go through many times."""
    monkeypatch.setattr(warm_up, "WARM_UP_ROWS", WARM_UP)
    monkeypatch.setattr(warm_up, "WARM_UP_RATIO", 2)
    monkeypatch.setattr(layer, "WINDOW_ROWS", 50)
    monkeypatch.setattr(stream, "STEP_ROWS", 16)


def mixture(n_rows=N_ROWS, seed=0):
    """Rows of five groups with random weights."""
    random = np.random.default_rng(seed)
    centres = 8.0 * random.normal(size=(5, 2))
    x = centres[random.integers(5, size=n_rows)] + random.normal(size=(n_rows, 2))
    return Batch(x, random.uniform(0.1, 2.0, size=n_rows))


def settings_of(**changes):
    defaults = {"n_codevectors": 5, "stream_batch_size": BATCH}
    return make_settings(**(defaults | changes))


def begin(settings=None):
    return WarmUp(settings_of() if settings is None else settings, np.dtype(float))


def learnt(state, batch, cuts):
    """State after the rows of a batch, cut before the rows ``cuts``."""
    bounds = [0, *sorted(set(cuts)), len(batch)]
    for start, stop in pairwise(bounds):
        state = state.learn(batch[start:stop])
    return state


def bits(state):
    """Everything a state publishes and goes on from."""
    model = state.model
    published = [
        model.tree,
        model.n_iter,
        model.n_seen,
        model.stop_reason,
        *model.hierarchy,
    ]
    if isinstance(state, Stream):
        published += [state, sum(map(len, state.queue))]
    return pickle.dumps([in_full(value) for value in published])


def in_full(value):
    """Plain numbers of arrays, and of what is made of them."""
    if is_dataclass(value):
        names = {field.name for field in fields(value)} - FIXED
        return [in_full(getattr(value, name)) for name in sorted(names)]
    if isinstance(value, tuple):
        return [in_full(part) for part in value]
    return np.asarray(value).tolist()
