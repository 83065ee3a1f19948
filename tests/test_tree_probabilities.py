"""What trees say of their own certainty, where coarse features tell little."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.metrics import log_loss

from odalib import ODAClassifier, ODARegressor, Resolution


@pytest.fixture(scope="module")
def mislabelled():
    """Two classes far apart in the first feature, with 8 % of the labels wrong."""
    random = np.random.default_rng(0)
    side = random.integers(0, 2, 1600)
    X = random.standard_normal((1600, 2)) + 6.0 * np.c_[2 * side - 1, 0 * side]
    return X, np.where(random.random(1600) < 0.08, 1 - side, side)


@pytest.mark.parametrize("number", [2, 8])
def test_cells_are_as_sure_as_their_rows(mislabelled, number):
    """Closed for want of room, or opened: nobody can know which labels are wrong."""
    X, y = mislabelled
    tree = ODAClassifier(number, resolutions=[[0], None], random_state=0)
    proba = tree.fit(X[:600], y[:600]).predict_proba(X[600:])
    best = -0.08 * np.log(0.08) - 0.92 * np.log(0.92)
    assert log_loss(y[600:], proba) < 1.15 * best
    assert abs(proba.max(axis=1).mean() - 0.92) < 0.02


def test_labels_by_chance_have_probability_one_half():
    random = np.random.default_rng(1)
    X, y = random.standard_normal((900, 2)), random.integers(0, 2, 900)
    coarse = Resolution([0], n_codevectors=8)
    tree = ODAClassifier(8, resolutions=[coarse, None], random_state=0)
    proba = tree.fit(X[:500], y[:500]).predict_proba(X[500:])
    assert log_loss(y[500:], proba) < 1.05 * np.log(2.0)


class Mean(BaseEstimator):
    """The mean of what it was taught."""

    def partial_fit(self, X, y):
        past, n = getattr(self, "sum_", 0.0), getattr(self, "n_", 0)
        self.sum_, self.n_ = past + np.sum(y), n + len(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.sum_ / self.n_)


@pytest.mark.parametrize("local_model", ["linear", "constant", Mean()], ids=str)
def test_standard_deviations_hold_below_cells_of_noise(local_model):
    """Two hold 95 %, where the leaves of other cells are nearer than those of one."""
    random = np.random.default_rng(0)
    X = random.uniform(-1.0, 1.0, (1400, 3))
    y = np.sin(4.0 * X[:, 0]) + 0.1 * random.standard_normal(1400)
    coarse = Resolution([1, 2], n_codevectors=10)
    model = ODARegressor(
        20,
        local_model=local_model,
        metric=None,
        resolutions=[coarse, [0]],
        random_state=0,
    )
    values, std = model.fit(X[:700], y[:700]).predict(X[700:], return_std=True)
    wrong = np.abs(values - y[700:])
    assert 0.9 < np.mean(wrong < 2.0 * std) < 0.999
