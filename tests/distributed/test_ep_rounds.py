"""Expectation propagation in rounds against the same in memory, without a cluster."""

import pickle
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning

from odalib import EPProbitClassifier
from odalib.distributed._ep_blocks import carry_out, take_up
from odalib.distributed._ep_fit import learn_blocks
from odalib.inference.ep.left_out_rounds import Rematch
from odalib.inference.ep.solvers import block as block_module
from odalib.inference.ep.solvers import problem as problem_module
from odalib.inference.ep.solvers import rounds as rounds_module
from odalib.inference.ep.solvers.anderson import equations, mix, mixing
from odalib.inference.ep.solvers.block import Retreat, Triangulate, triangle


class LocalBlocks:
    """Blocks in this process, with the interface of those on workers."""

    feature_names = None
    client = SimpleNamespace(
        map=lambda function, items, pure: list(map(function, items))
    )

    def __init__(self, blocks):
        self.futures = [block for block in blocks if len(block[0])]
        self.n_features = self.futures[0][0].shape[1]
        self.dtype = self.futures[0][0].dtype
        self.largest = max(np.abs(rows).max() for rows, *_ in self.futures)
        self.orders = []
        self.largest_message = 0

    def map(self, function, *broadcast, states=None):
        if function is carry_out:
            self.orders += map(type, broadcast[0].values())
        self._note(broadcast)
        states = [()] * len(self.futures) if states is None else [(s,) for s in states]
        results = [
            function(block, *state, *broadcast)
            for block, state in zip(self.futures, states, strict=True)
        ]
        if function is take_up:
            self.states = results
        return results

    def reduce(self, function, *broadcast, combine, states=None):
        parts = self.map(function, *broadcast, states=states)
        self._note(parts[0])
        while len(parts) > 1:
            pairs = zip(parts[::2], parts[1::2], strict=False)
            parts = [combine(*pair) for pair in pairs] + parts[len(parts) // 2 * 2 :]
        return parts[0]

    def _note(self, message):
        self.largest_message = max(self.largest_message, len(pickle.dumps(message)))


def cut(X, y, weights, n_blocks):
    parts = zip(*(np.array_split(a, n_blocks) for a in (X, y, weights)), strict=True)
    return LocalBlocks(list(parts))


def fit_in_blocks(X, y, weights=None, *, n_blocks=3, **parameters):
    """Estimator fitted to blocks, and these."""
    blocks = cut(X, y, np.ones(len(X)) if weights is None else weights, n_blocks)
    model = EPProbitClassifier(**parameters)
    learn_blocks(model, blocks)
    return model, blocks


def standardised(load):
    X, y = load(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def overlapping(n_rows=300, n_features=4, seed=0):
    """Rows of two classes that no plane parts."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    slope = np.linspace(1.0, 0.0, n_features)
    return X, X @ slope + rng.normal(size=n_rows) > 0.3


def assert_same(model, expected, rtol=1e-8):
    assert type(model) is EPProbitClassifier
    np.testing.assert_array_equal(model.classes_, expected.classes_)
    for name in ("coef_", "intercept_", "log_evidence_", "prior_variance_"):
        value, other = getattr(model, name), getattr(expected, name)
        assert value.dtype == other.dtype
        np.testing.assert_allclose(value, other, rtol=rtol, atol=rtol, err_msg=name)
    covariance = expected.posterior_covariance()
    np.testing.assert_allclose(
        model.covariance_, covariance, rtol=0, atol=rtol * np.abs(covariance).max()
    )


WINE, BREAST = standardised(load_wine), standardised(load_breast_cancer)
IRIS = standardised(load_iris)
CASES = {
    "binary": (BREAST, {}),
    "without intercept": (BREAST, {"fit_intercept": False, "prior_variance": 50.0}),
    "variance per feature": (BREAST, {"prior_variance": np.geomspace(0.01, 10.0, 30)}),
    "pairs": (WINE, {}),
    "pairs of text": ((IRIS[0], np.array(["b", "c", "a"])[IRIS[1]]), {}),
    "one against the rest": (IRIS, {"multi_class": "ovr"}),
    "evidence": (BREAST, {"prior_variance": "evidence"}),
    "evidence of pairs": (WINE, {"prior_variance": "evidence"}),
    "ard": (overlapping(), {"prior_variance": "ard"}),
}


@pytest.mark.parametrize(
    ("case", "n_blocks"),
    [(case, 3) for case in CASES]
    + [(c, n) for c in ("binary", "pairs") for n in (1, 16)],
)
def test_blocks_give_what_memory_gives(case, n_blocks):
    (X, y), parameters = CASES[case]
    model, _ = fit_in_blocks(X, y, n_blocks=n_blocks, **parameters)
    expected = EPProbitClassifier(**parameters).fit(X, y)
    assert_same(model, expected)
    # Of coupled pairs it rests on the rows left out, influential ones among them.
    np.testing.assert_allclose(
        model.predict_proba(X), expected.predict_proba(X), rtol=0, atol=1e-8
    )
    if case != "ard":
        np.testing.assert_array_equal(model.n_iter_, expected.n_iter_)


def test_influential_rows_are_matched_again():
    X, y = IRIS
    _, blocks = fit_in_blocks(X, y)
    assert blocks.orders.count(Rematch) > 0


def test_fractional_weights_are_those_in_memory():
    X, y = WINE
    weights = np.random.default_rng(0).exponential(size=len(X))
    model, _ = fit_in_blocks(X, y, weights)
    expected = EPProbitClassifier().fit(X, y, weights)
    assert_same(model, expected)
    assert model._decomposition.sharpness.mean == pytest.approx(
        expected._decomposition.sharpness.mean, abs=1e-10
    )


def test_integer_weights_are_repetitions():
    X, y = overlapping(120)
    weights = np.random.default_rng(1).integers(1, 4, size=len(X)).astype(float)
    weighted, _ = fit_in_blocks(X, y, weights, tol=1e-10)
    repeated = np.repeat(np.arange(len(X)), weights.astype(int))
    model, _ = fit_in_blocks(X[repeated], y[repeated], tol=1e-10)
    assert_same(weighted, model)


def test_single_precision_stays_so():
    X, y = overlapping()
    model, _ = fit_in_blocks(X.astype(np.float32), y)
    assert model.coef_.dtype == np.float32
    assert_same(model, EPProbitClassifier().fit(X.astype(np.float32), y))


def test_blocks_of_one_class_each():
    X, y = IRIS
    order = np.argsort(y)
    model, _ = fit_in_blocks(X[order], y[order])
    assert_same(model, EPProbitClassifier().fit(X, y))


def test_more_features_than_rows_have_a_covariance():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(30, 60))
    y = X[:, 0] + 0.5 * rng.normal(size=30) > 0
    model, _ = fit_in_blocks(X, y)
    assert_same(model, EPProbitClassifier().fit(X, y))


def test_pairs_may_be_solved_one_after_the_other(monkeypatch):
    X, y = WINE
    together, _ = fit_in_blocks(X, y)
    monkeypatch.setattr("odalib.distributed._ep_rounds.ROUND_ELEMENTS", 1)
    model, _ = fit_in_blocks(X, y)
    assert_same(model, together, rtol=0.0)


def say_improper(monkeypatch, module, numbers):
    """Let some cavities, numbered as they are met, be improper whenever asked for."""
    met = {}

    def improper(likelihood, cavity):
        number, _ = met.setdefault(id(cavity), (len(met), cavity))
        found = np.zeros(len(cavity.share), dtype=bool)
        found[0] = number in numbers
        return found

    monkeypatch.setattr(module, "improper", improper)


def test_steps_to_improper_cavities_are_halved(monkeypatch):
    X, y = overlapping()
    # In one block of three at the first match, the fourth and the fifth.
    say_improper(monkeypatch, block_module, {1, 10, 14})
    say_improper(monkeypatch, problem_module, {0, 3, 4})
    model, blocks = fit_in_blocks(X, y)
    assert blocks.orders.count(Retreat) == 3
    expected = EPProbitClassifier(solver="parallel").fit(X, y)
    assert_same(model, expected)
    np.testing.assert_allclose(model.residuals_, expected.residuals_, rtol=1e-6)


def test_many_small_errors_count_together_as_in_memory(monkeypatch):
    for module in (rounds_module, problem_module):
        monkeypatch.setattr(module, "SHIFT", 100.0)
    X, y = overlapping()
    weights = np.random.default_rng(0).uniform(0.5, 3.0, size=len(X))
    model, _ = fit_in_blocks(X, y, weights)
    expected = EPProbitClassifier().fit(X, y, weights)
    np.testing.assert_allclose(model.residuals_, expected.residuals_, rtol=1e-6)


def test_where_no_step_is_proper_there_is_an_error(monkeypatch):
    say_improper(monkeypatch, block_module, range(1000))
    with pytest.raises(ValueError, match="No step leaves proper cavities"):
        fit_in_blocks(*overlapping(30))


def test_columns_that_nearly_agree_are_not_squared():
    X, y = overlapping()
    X[:, 1] = X[:, 0] + 1e-7 * X[:, 1]
    parameters = {"prior_variance": 1e10}
    model, blocks = fit_in_blocks(X, y, **parameters)
    assert blocks.orders.count(Triangulate) > 0
    expected = EPProbitClassifier(**parameters).fit(X, y)
    np.testing.assert_allclose(
        model.log_evidence_, expected.log_evidence_, rtol=0, atol=1e-6
    )
    np.testing.assert_allclose(
        model.predict_proba(X), expected.predict_proba(X), rtol=0, atol=1e-6
    )


def test_nothing_of_the_length_of_the_rows_travels():
    n_rows = 6000
    X, y = overlapping(n_rows)
    y = y.astype(int) + (X[:, 1] > 1.0)
    _, blocks = fit_in_blocks(X, y, n_blocks=1)
    # Bytes: three matrices of 5 x 5 and some words are less than one for each row.
    assert blocks.largest_message < n_rows


def test_failure_to_converge_is_told():
    with pytest.warns(ConvergenceWarning, match="after 3 iterations"):
        model, _ = fit_in_blocks(*BREAST, max_iter=3)
    assert not model.converged_
    with pytest.warns(ConvergenceWarning):
        expected = EPProbitClassifier(max_iter=3, solver="parallel").fit(*BREAST)
    np.testing.assert_allclose(model.residuals_, expected.residuals_, rtol=1e-9)


def test_stream_goes_on_from_blocks():
    X, y = WINE
    first, second = slice(0, None, 2), slice(1, None, 2)
    model, _ = fit_in_blocks(X[first], y[first])
    expected = EPProbitClassifier().fit(X[first], y[first])
    for one in (model, expected):
        one.partial_fit(X[second], y[second])
    assert_same(model, expected)
    np.testing.assert_allclose(
        model.predict_proba(X), expected.predict_proba(X), rtol=0, atol=1e-8
    )
    assert model.site_precision_.shape == (3, len(X[second]))


def test_what_is_of_every_row_stays_with_the_rows():
    model, _ = fit_in_blocks(*overlapping())
    assert not hasattr(model, "site_precision_")
    assert not hasattr(model, "site_shift_")
    with pytest.raises(ValueError, match="stayed on the workers"):
        model.loo_predict_proba()


@pytest.mark.parametrize("share", [1.0, 0.5, 0.3])
def test_equations_of_a_damped_step_follow_from_those_of_the_whole(share):
    rng = np.random.default_rng(3)
    points = tuple((rng.normal(size=40), rng.normal(size=40)) for _ in range(4))
    *earlier, (x, y) = points
    damped = (*earlier, (x, x + share * (y - x)))
    expected = mix(damped, mixing(equations(damped, 2.0)))
    of_blocks = triangle(equations(points, 2.0))
    weights = mixing(rounds_module.damped(of_blocks, share))
    np.testing.assert_allclose(mix(damped, weights), expected, rtol=1e-10)


def test_solved_problems_keep_nothing_but_their_sites():
    X, y = WINE
    _, blocks = fit_in_blocks(X, y, n_blocks=1)
    (state,) = blocks.states
    assert state.parts == state.held == state.told == {}
    expected = EPProbitClassifier().fit(X, y)
    for k, sites in state.settled.items():
        taking_part = expected.site_precision_[k] > 0
        np.testing.assert_allclose(
            sites.precision, expected.site_precision_[k, taking_part], rtol=1e-8
        )
    assert sorted(state.settled) == [0, 1, 2]
    assert sys.getsizeof(state) < 100 * len(X)


def test_size_of_a_state_is_that_of_its_arrays():
    X, y = BREAST
    sizes = []

    class Watched(LocalBlocks):
        def map(self, function, *broadcast, states=None):
            results = super().map(function, *broadcast, states=states)
            if function is carry_out:
                sizes.append((sys.getsizeof(results[0]), len(pickle.dumps(results[0]))))
            return results

    learn_blocks(EPProbitClassifier(), Watched([(X, y, np.ones(len(X)))]))
    told, pickled = max(sizes, key=lambda size: size[1])
    assert 0.9 * pickled < told < 1.1 * pickled
