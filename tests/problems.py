"""Data that tests of several estimators share."""

import numpy as np

__all__ = ["noisy_plane"]


def noisy_plane(n, d, seed=0):
    """Rows, and labels of 0 and 1 that a plane tells apart with much noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = (X @ rng.normal(size=d) + 0.5 + rng.normal(size=n) > 0).astype(int)
    return X, y
