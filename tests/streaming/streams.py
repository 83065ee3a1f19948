"""Streams that several tests learn from."""

import numpy as np

N_SAMPLES, CHUNK = 1200, 100

_RNG = np.random.default_rng(0)
X = _RNG.normal([0.0, 50.0, -3.0], [1.0, 20.0, 0.1], size=(N_SAMPLES, 3))
Y = (X[:, 0] + (X[:, 1] - 50.0) / 20.0 + 0.3 * _RNG.normal(size=N_SAMPLES) > 0).astype(
    int
)
WEIGHTS = _RNG.uniform(0.5, 2.0, N_SAMPLES)
COLUMNS = ["a", "b", "c"]


def chunks(size=CHUNK, stop=N_SAMPLES):
    """Yield rows with their labels."""
    for start in range(0, stop, size):
        rows = slice(start, min(start + size, stop))
        yield X[rows], Y[rows]
