"""Bad input to ODARegressor: errors that name the part, and nothing lost."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.datasets import load_diabetes

from odalib import ODARegressor

from .conformance.comparing import leaves

PATIENTS, PROGRESS = load_diabetes(return_X_y=True)


def local(n_codevectors=6, **params):
    """Regressor that is quick to fit: the divergence as it is."""
    params = {"metric": None, "random_state": 0, **params}
    return ODARegressor(n_codevectors, **params)


@pytest.fixture(scope="module")
def fitted():
    return local(5).fit(PATIENTS, PROGRESS)


class NoLearner(BaseEstimator):
    """Learns all rows at once."""

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.zeros(len(X))


class FailsToLearn(NoLearner):
    def partial_fit(self, X, y):
        raise RuntimeError("this learner does not learn")


class Predicts(NoLearner):
    """Gives for n rows what a function makes of n, or raises what it raises."""

    def __init__(self, values=None):
        self.values = values

    def partial_fit(self, X, y):
        return self

    def predict(self, X):
        return self.values(len(X))


MISSING = np.where(np.arange(442) == 7, np.nan, PROGRESS)
INFINITE = np.where(np.arange(442) == 7, -np.inf, PROGRESS)


@pytest.mark.parametrize(
    ("params", "y", "message"),
    [
        ({}, MISSING, "Input y contains NaN"),
        ({}, INFINITE, "Input y contains infinity"),
        ({}, np.c_[PROGRESS, MISSING], "Input y contains NaN"),
        ({}, PROGRESS[:-1], "inconsistent numbers of samples"),
        ({}, None, "requires y to be passed"),
        ({}, np.full(442, "a"), "y must be finite numbers.*could not convert string"),
        ({}, np.full(442, 1.0 + 2.0j), "y must be finite numbers"),
        ({}, np.zeros((442, 2, 2)), r"y must have shape .*, got \(442, 2, 2\)"),
        ({}, np.zeros((442, 0)), r"y must have shape .*, got \(442, 0\)"),
        ({}, np.zeros(0), "inconsistent numbers of samples"),
        ({}, 1e200 * PROGRESS, "y"),
        ({"n_codevectors": 0}, PROGRESS, "'n_codevectors' parameter"),
        ({"local_model": "quadratic"}, PROGRESS, "'local_model' parameter"),
        ({"local_model": NoLearner()}, PROGRESS, "'local_model' .*'partial_fit'"),
        ({"local_model": FailsToLearn()}, PROGRESS, "local_model=.*does not learn"),
        (
            {"local_model": Predicts(lambda n: np.full(n, np.nan))},
            PROGRESS,
            "local_model=.* predicted NaN or infinity",
        ),
        (
            {"local_model": Predicts(lambda n: np.zeros((n, 2)))},
            PROGRESS,
            r"local_model=.* predicted values of shape .*, 2\).* must give \(",
        ),
        (
            {"local_model": Predicts(lambda n: np.zeros(n))},
            np.c_[PROGRESS, PROGRESS],
            "local_model=.* rows of 2 targets; it must give",
        ),
        (
            {"local_model": Predicts(lambda n: ["many"] * n)},
            PROGRESS,
            "local_model=.* failed to predict rows of a cell: could not convert",
        ),
        ({"target_weight": 1.0}, PROGRESS, "'target_weight' parameter"),
        ({"ridge": 0.0}, PROGRESS, "'ridge' parameter"),
        ({"blend": "yes"}, PROGRESS, "'blend' parameter"),
        (
            {"metric": "learned", "local_model": "constant"},
            PROGRESS,
            "metric='learned'",
        ),
        ({"resolutions": []}, PROGRESS, "resolutions is empty"),
        ({"resolutions": [lambda X: X[::2]]}, PROGRESS, r"resolutions\[0\] .*221 rows"),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, dict | str) else "",
)
def test_bad_input_is_refused_by_name_and_nothing_is_lost(fitted, params, y, message):
    known = local(5)
    vars(known).update(vars(fitted))
    for model in (local(5), known):
        model.set_params(**params)
        before = leaves(vars(model))
        with pytest.raises(ValueError, match=message):
            model.fit(PATIENTS, y)
        assert leaves(vars(model)) == before


def test_targets_of_a_stream_stay_as_many():
    model = local(5).partial_fit(PATIENTS, PROGRESS)
    model.predict(PATIENTS)
    before = leaves(vars(model))
    for y, message in (
        (
            np.c_[PROGRESS, PROGRESS],
            r"y has shape \(n_samples, 2\), and \(n_samples\) in the calls before",
        ),
        (PROGRESS[:, None], r"\(n_samples, 1\), and \(n_samples\) in the calls"),
        (MISSING, "Input y contains NaN"),
    ):
        with pytest.raises(ValueError, match=message):
            model.partial_fit(PATIENTS, y)
        assert leaves(vars(model)) == before
    assert (
        model.fit(PATIENTS, np.c_[PROGRESS, PROGRESS]).predict(PATIENTS).shape[1] == 2
    )


def test_a_constant_target_is_predicted():
    for params in ({}, {"local_model": "constant"}, {"target_weight": 0.5}):
        model = local(5, **params).fit(PATIENTS, np.full(442, 7.25))
        values, std = model.predict(PATIENTS, return_std=True)
        np.testing.assert_allclose(values, 7.25, rtol=1e-12)
        np.testing.assert_allclose(std, 0.0, atol=1e-6)


def test_more_codevectors_than_rows():
    with pytest.warns(UserWarning, match="20 distinct rows .* fewer than the 50"):
        model = local(50).fit(PATIENTS[:20], PROGRESS[:20])
    assert len(model.codevectors_) == 20
    assert np.isfinite(model.predict(PATIENTS)).all()
