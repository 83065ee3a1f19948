"""What ODARegressor learns and says, that no check of the conformance suite asks."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, RidgeCV, SGDRegressor
from sklearn.metrics import r2_score

from odalib import ODARegressor

from .conformance.comparing import answers, assert_close, assert_same_bits

PATIENTS, PROGRESS = load_diabetes(return_X_y=True)
TURN = 2.0 * np.pi
CURVE = np.linspace(0.0, TURN, 4000, endpoint=False)[:, None]
SINE = np.sin(CURVE[:, 0])


def local(n_codevectors=6, **params):
    """Regressor that is quick to fit: the divergence as it is."""
    params = {"metric": None, "random_state": 0, **params}
    return ODARegressor(n_codevectors, **params)


def friedman(n_samples, n_features=5, seed=0):
    """Rows and targets of Friedman #1 with noise of variance one."""
    return make_friedman1(n_samples, n_features, noise=1.0, random_state=seed)


def divergences(model, X):
    """Squared distances of rows from codevectors (n, K)."""
    return ((X[:, None] - model.codevectors_) ** 2).sum(axis=2)


def local_values(model, X):
    """What the local model of every codevector says of every row (n, K)."""
    return model.local_intercept_ + X @ model.local_coef_.T


# Accuracy


@pytest.mark.parametrize("n_codevectors", [8, 16, 32])
def test_constants_converge_to_a_curve_as_is_known(n_codevectors):
    """K equal cells of width h err by the mean of f'^2 h^2 / 12."""
    model = local(n_codevectors, local_model="constant", blend=False)
    wrong = np.mean((model.fit(CURVE, SINE).predict(CURVE) - SINE) ** 2)
    expected = 0.5 * (TURN / n_codevectors) ** 2 / 12.0
    assert wrong == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("n_codevectors", [8, 16, 32])
def test_lines_converge_to_a_curve_as_is_known(n_codevectors):
    """K equal cells of width h err by the mean of f''^2 h^4 / 720."""
    model = local(n_codevectors, blend=False, ridge=1e-6)
    wrong = np.mean((model.fit(CURVE, SINE).predict(CURVE) - SINE) ** 2)
    expected = 0.5 * (TURN / n_codevectors) ** 4 / 720.0
    assert wrong == pytest.approx(expected, rel=0.2)


def test_blends_are_continuous_and_better():
    steps = [
        local(16, local_model="constant", blend=blend).fit(CURVE, SINE).predict(CURVE)
        for blend in (False, True)
    ]
    jumps = [np.abs(np.diff(values)).max() for values in steps]
    assert jumps[0] > 0.1
    assert jumps[1] < 0.02
    wrong = [np.mean((values - SINE) ** 2) for values in steps]
    assert wrong[1] < 0.5 * wrong[0]


def test_friedman_between_a_plane_and_the_truth():
    """Better than a forest; the noise leaves 0.96 of the variance to be explained."""
    X, y = friedman(500)
    Z, z = friedman(1000, seed=1)
    found = ODARegressor(60, metric=None, random_state=0).fit(X, y).score(Z, z)
    plane = LinearRegression().fit(X, y).score(Z, z)
    forest = RandomForestRegressor(random_state=0).fit(X, y).score(Z, z)
    assert plane < forest < found < 0.97


def test_the_metric_of_slopes_finds_what_matters():
    """Five of ten features say nothing."""
    X, y = friedman(400, 10)
    Z, z = friedman(1000, 10, seed=1)
    plain = local(40).fit(X, y)
    learnt = local(40, metric="learned").fit(X, y)
    assert plain.metric_ is None
    assert learnt.score(Z, z) > plain.score(Z, z) + 0.02
    weights = np.diag(learnt.metric_)
    assert weights[:5].min() > 3.0 * weights[5:].max()
    np.testing.assert_allclose(learnt.metric_, learnt.metric_.T, rtol=1e-9)


def test_the_default_on_patients():
    """At least what a plane with a ridge explains of rows not seen, and a forest."""
    found, ridge, forest = (
        np.mean(
            [
                clone(model)
                .fit(PATIENTS[a], PROGRESS[a])
                .score(PATIENTS[b], PROGRESS[b])
                for a, b in halves()
            ]
        )
        for model in (
            ODARegressor(max_codevectors=30, random_state=0),
            RidgeCV(np.logspace(-3, 3, 13)),
            RandomForestRegressor(random_state=0),
        )
    )
    assert found > ridge - 0.02
    assert found > forest


def halves():
    order = np.random.default_rng(0).permutation(len(PATIENTS))
    first, second = order[::2], order[1::2]
    return [(first, second), (second, first)]


# Local models


def test_one_codevector_is_the_linear_fit_to_all():
    model = local(1).fit(PATIENTS, PROGRESS)
    expected = LinearRegression().fit(PATIENTS, PROGRESS)
    found = model.predict(PATIENTS)
    assert r2_score(expected.predict(PATIENTS), found) > 0.98
    constant = local(1, local_model="constant").fit(PATIENTS, PROGRESS)
    np.testing.assert_allclose(constant.predict(PATIENTS), PROGRESS.mean(), rtol=1e-12)


def test_the_ridge_draws_local_models_to_one_fit_to_all():
    """From the fit to the rows of each cell alone, in a straight line."""
    X, y = friedman(300)
    alone, between, drawn = (
        local(10, ridge=ridge, blend=False).fit(X, y) for ridge in (1e-6, 1.0, 1e9)
    )
    nearest = divergences(alone, X).argmin(axis=1)
    for cell in range(10):
        own = nearest == cell
        best = LinearRegression().fit(X[own], y[own])
        np.testing.assert_allclose(alone.local_coef_[cell], best.coef_, rtol=1e-3)
    apart = [np.ptp(m.local_coef_, axis=0).max() for m in (alone, between, drawn)]
    assert apart[0] > 1.1 * apart[1]
    assert apart[1] > 10.0
    assert apart[2] < 1e-6
    plane = LinearRegression().fit(X, y).predict(X)
    assert r2_score(plane, drawn.predict(X)) > 0.98


def test_constants_are_means_of_their_cells():
    model = local(8, local_model="constant", blend=False, ridge=1e-9)
    model.fit(PATIENTS, PROGRESS)
    nearest = divergences(model, PATIENTS).argmin(axis=1)
    means = [PROGRESS[nearest == cell].mean() for cell in range(8)]
    np.testing.assert_allclose(model.local_intercept_, means, rtol=1e-6)
    np.testing.assert_array_equal(model.local_coef_, 0.0)
    np.testing.assert_array_equal(
        model.predict(PATIENTS), model.local_intercept_[nearest]
    )


@pytest.mark.parametrize("local_model", ["linear", "constant"])
@pytest.mark.parametrize("blend", [True, False])
def test_predictions_follow_from_what_is_published(local_model, blend):
    X, y = friedman(200)
    model = local(7, local_model=local_model, blend=blend).fit(X, y)
    apart, values = divergences(model, X), local_values(model, X)
    if blend:
        logits = np.log(model.codevector_weights_) - apart / model.blend_temperature_
        share = np.exp(logits - logits.max(axis=1, keepdims=True))
        expected = (share * values).sum(axis=1) / share.sum(axis=1)
    else:
        expected = values[np.arange(200), apart.argmin(axis=1)]
        assert not hasattr(model, "blend_temperature_")
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-7)
    assert not hasattr(model, "local_models_")


def test_cells_are_those_of_the_clusterer():
    """Targets do not move codevectors, unless they are given weight."""
    X, y = friedman(300)
    plain, other = local(10).fit(X, y), local(10).fit(X, -(y**2))
    np.testing.assert_array_equal(plain.codevectors_, other.codevectors_)
    weighted = local(10, target_weight=0.5).fit(X, y)
    assert np.abs(weighted.codevectors_ - plain.codevectors_).max() > 0.01


def test_weight_of_the_target_puts_codevectors_where_it_changes():
    step = np.tanh(5.0 * (CURVE[:, 0] - 2.0))
    near, wrong = [], []
    for weight in (0.0, 0.3, 0.9):
        model = local(12, local_model="constant", target_weight=weight, blend=False)
        model.fit(CURVE, step)
        near.append(int(np.sum(np.abs(model.codevectors_[:, 0] - 2.0) < 0.2)))
        wrong.append(np.mean((model.predict(CURVE) - step) ** 2))
    assert near == [1, 2, 3]
    assert wrong[1] < 0.45 * wrong[0]
    assert wrong[2] < 0.1 * wrong[0]


# Spread


@pytest.mark.parametrize("local_model", ["linear", "constant"])
def test_the_spread_is_that_of_new_rows(local_model):
    """Of noise that grows along the curve, and of rows that were not learnt."""
    rng = np.random.default_rng(0)
    noise = np.where(CURVE[:, 0] > np.pi, 0.6, 0.2)
    y, z = (SINE + noise * rng.normal(size=4000) for _ in "ab")
    model = local(20, local_model=local_model).fit(CURVE, y)
    values, std = model.predict(CURVE, return_std=True)
    np.testing.assert_array_equal(values, model.predict(CURVE))
    away = np.abs(CURVE[:, 0] - np.pi) > 0.5
    np.testing.assert_allclose(std[away], noise[away], rtol=0.3)
    assert 0.94 < np.mean(np.abs(z - values) < 2.0 * std) < 0.97


def test_the_spread_of_few_rows_is_not_that_of_learning_them_by_heart():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 4)), rng.normal(size=60)
    Z, z = rng.normal(size=(1000, 4)), rng.normal(size=1000)
    values, std = local(20).fit(X, y).predict(Z, return_std=True)
    wrong = np.sqrt(np.mean((values - z) ** 2))
    assert np.sqrt(np.mean(std**2)) == pytest.approx(wrong, rel=0.25)


# Several targets


def test_several_targets():
    X, y = friedman(200)
    Y = np.c_[y, 100.0 * y + 7.0, X[:, 0]]
    model = local(8).fit(X, Y)
    values, std = model.predict(X, return_std=True)
    assert values.shape == std.shape == (200, 3)
    assert model.local_coef_.shape == (8, 5, 3)
    assert model.local_intercept_.shape == (8, 3)
    # Each target as any other, whatever its unit.
    np.testing.assert_allclose(values[:, 1], 100.0 * values[:, 0] + 7.0, rtol=1e-6)
    np.testing.assert_allclose(std[:, 1], 100.0 * std[:, 0], rtol=1e-6)
    np.testing.assert_allclose(values[:, 2], X[:, 0], atol=0.05)
    turned = local(8).fit(X, Y[:, ::-1])
    np.testing.assert_allclose(turned.predict(X), values[:, ::-1], rtol=1e-9)


def test_one_target_keeps_its_shape():
    column = local(5).fit(PATIENTS, PROGRESS[:, None])
    plain = local(5).fit(PATIENTS, PROGRESS)
    assert column.predict(PATIENTS).shape == (442, 1)
    assert plain.predict(PATIENTS).shape == (442,)
    np.testing.assert_array_equal(
        column.predict(PATIENTS)[:, 0], plain.predict(PATIENTS)
    )
    assert column.local_coef_.shape == (5, 10, 1)


# Learners


class Median(RegressorMixin, BaseEstimator):
    """Learner that keeps the targets it was taught, and says their median."""

    def partial_fit(self, X, y):
        self.targets_ = np.r_[getattr(self, "targets_", []), y]
        return self

    def predict(self, X):
        return np.full(len(X), np.median(self.targets_))


def test_every_cell_has_a_learner():
    learner = Median()
    model = local(6, local_model=learner, blend=False).fit(PATIENTS, PROGRESS)
    nearest = divergences(model, PATIENTS).argmin(axis=1)
    assert len(model.local_models_) == 6
    for cell, own in enumerate(model.local_models_):
        expected = np.sort(PROGRESS[nearest == cell])
        np.testing.assert_array_equal(np.sort(own.targets_), expected)
    medians = [np.median(PROGRESS[nearest == cell]) for cell in range(6)]
    np.testing.assert_array_equal(model.predict(PATIENTS), np.take(medians, nearest))
    assert not hasattr(learner, "targets_")
    for name in ("local_coef_", "local_intercept_"):
        with pytest.raises(AttributeError, match="local_models_"):
            getattr(model, name)


def test_an_estimator_of_scikit_learn_as_learner():
    X, y = friedman(3000)
    Z, z = friedman(600, seed=1)
    learner = SGDRegressor(learning_rate="constant", eta0=0.1, random_state=0)
    model, alone = local(12, local_model=learner), clone(learner)
    for part in np.split(np.arange(3000), 6):
        model.partial_fit(X[part], y[part])
        alone.partial_fit(X[part], y[part])
    assert not hasattr(learner, "coef_")
    values, std = model.predict(Z, return_std=True)
    assert r2_score(z, values) > alone.score(Z, z) + 0.05
    spread = np.sqrt(np.mean(std**2))
    assert spread == pytest.approx(np.sqrt(np.mean((values - z) ** 2)), rel=0.2)
    fitted = local(12, local_model=learner).fit(X, y)
    assert fitted.score(Z, z) > alone.score(Z, z) + 0.05


def test_weights_reach_learners_that_take_them():
    weight = np.where(np.arange(442) % 2, 0.0, 1.0)
    kept = weight > 0
    for learner in (SGDRegressor(random_state=0), Median()):
        weighted = local(4, local_model=learner)
        weighted.fit(PATIENTS, PROGRESS, sample_weight=weight)
        alone = local(4, local_model=learner).fit(PATIENTS[kept], PROGRESS[kept])
        assert_same_bits(
            answers(weighted, PATIENTS), answers(alone, PATIENTS), "no weight"
        )


# The path, streams and forms of rows


def test_levels_of_the_path():
    X, y = friedman(400)
    Z, z = friedman(400, seed=1)
    model = local(40).fit(X, y)
    scores = []
    for number in (1, 5, 20, 40):
        level = model.at(n_codevectors=number)
        assert len(level.codevectors_) == number == level.n_codevectors
        assert level.local_coef_.shape == (number, 5)
        scores.append(level.score(Z, z))
        level.partial_fit(X, y)
        assert level.n_samples_seen_ == 800
    assert scores == sorted(scores)
    assert scores[-1] == model.score(Z, z)
    plane = LinearRegression().fit(X, y).score(Z, z)
    assert scores[0] == pytest.approx(plane, abs=0.01)
    path = model.annealing_path_
    level = model.at(temperature=float(path.temperature[3]))
    assert len(level.codevectors_) == path.n_codevectors[3]


def test_a_stream_learns_what_a_fit_learns():
    X, y = friedman(4000)
    Z, z = friedman(1000, seed=1)
    model = local(20)
    for part in np.split(np.arange(4000), 20):
        model.partial_fit(X[part], y[part])
    fitted = local(20).fit(X, y)
    assert model.score(Z, z) > fitted.score(Z, z) - 0.02
    _, std = model.predict(Z, return_std=True)
    wrong = np.sqrt(np.mean((model.predict(Z) - z) ** 2))
    assert np.sqrt(np.mean(std**2)) == pytest.approx(wrong, rel=0.15)


def test_a_stream_that_drifts_is_followed():
    """The curve turns upside down; of two steps the constant one follows."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, TURN, (8000, 1))
    sign = np.where(np.arange(8000) < 4000, 1.0, -1.0)
    y = sign * np.sin(X[:, 0]) + 0.1 * rng.normal(size=8000)
    scores = {}
    for step in ("constant", "decreasing"):
        model = local(8, step=step, memory_samples=600)
        for part in np.split(np.arange(8000), 16):
            model.partial_fit(X[part], y[part])
        scores[step] = model.score(X[-500:], y[-500:])
    assert scores["constant"] > 0.95
    assert scores["constant"] > scores["decreasing"]


def test_sparse_rows_are_what_dense_rows_are():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 6)) * (rng.random((200, 6)) < 0.4)
    y = X[:, 0] ** 2 + X[:, 1]
    for params in ({}, {"local_model": "constant"}, {"target_weight": 0.3}):
        dense = local(6, **params).fit(X, y)
        sparse = local(6, **params).fit(sp.csr_array(X), y)
        said = answers(sparse, sp.csr_array(X))
        assert_close(said, answers(dense, X), f"sparse, {params}", rtol=1e-6)


def test_float32_rows_give_float32():
    model = local(6).fit(PATIENTS.astype("f4"), PROGRESS.astype("f4"))
    values, std = model.predict(PATIENTS.astype("f4"), return_std=True)
    assert values.dtype == std.dtype == model.codevectors_.dtype == np.float32
    # Rows are held out by what they hold to the last bit.
    expected = local(6).fit(PATIENTS, PROGRESS).predict(PATIENTS)
    assert r2_score(expected, values) > 0.98


def test_a_weight_is_so_many_rows_in_all_that_is_chosen():
    """The number, the metric, the ridge, the temperature of the blend."""
    X, y = friedman(120, 6)
    weight = np.random.default_rng(3).integers(0, 4, 120)
    weighted = ODARegressor(max_codevectors=12, random_state=0)
    repeated = clone(weighted)
    weighted.fit(X, y, sample_weight=weight)
    repeated.fit(X.repeat(weight, axis=0), y.repeat(weight))
    assert len(weighted.codevectors_) == len(repeated.codevectors_)
    assert_close(answers(weighted, X), answers(repeated, X), "weights", rtol=1e-6)
