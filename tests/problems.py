"""What tests of several estimators share."""

import numpy as np
from scipy.special import ndtr

__all__ = ["assert_left_out", "noisy_plane"]


def noisy_plane(n, d, seed=0):
    """Rows, and labels of 0 and 1 that a plane tells apart with much noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = (X @ rng.normal(size=d) + 0.5 + rng.normal(size=n) > 0).astype(int)
    return X, y


def assert_left_out(model, textbook):
    """Left-out probabilities are those of the cavities, but for influential rows."""
    mean, variance = textbook.mean, np.diag(textbook.covariance)
    given = ndtr(mean / np.sqrt(1.0 + variance))
    cavity = ndtr(textbook.cavity_mean / np.sqrt(1.0 + textbook.cavity_variance))
    quiet = np.abs(given - cavity) < 0.02
    assert quiet.any()
    found = model.loo_predict_proba()[:, 1]
    np.testing.assert_allclose(found[quiet], cavity[quiet], rtol=1e-7)
