"""Rows of spins with gaps: fits, streams, and what is inferred of the gaps."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq, minimize
from scipy.special import logsumexp

from odalib.inference.pairwise import (
    completion,
    conditioning,
    incomplete_fit,
)
from odalib.inference.pairwise.conditioning import infer_missing
from odalib.inference.pairwise.incomplete_fit import MOST_DRIFT, fit_rows
from odalib.inference.pairwise.infer import infer_ising
from odalib.inference.pairwise.likelihood import Likelihood
from odalib.inference.pairwise.penalised_fit import Settings
from odalib.inference.pairwise.pseudo_likelihood import PseudoLikelihood
from odalib.inference.pairwise.stochastic_fit import Stream
from tests.inference.pairwise.spin_rows import (
    all_states,
    drawn,
    log_weights,
    model,
)

objectives = pytest.mark.parametrize("kind", [PseudoLikelihood, Likelihood])


def observed_log_likelihood(parameters, rows):
    """Log likelihood of what was observed in rows of three spins, by enumeration."""
    J = np.zeros((3, 3))
    J[np.triu_indices(3, 1)] = parameters[3:]
    states = all_states(3)
    logs = log_weights(states, J + J.T, parameters[:3])
    # Of every row, the states that agree with it wherever it was observed.
    agree = ((rows[:, None] == states) | (rows[:, None] == 0)).all(axis=2)
    sums = logsumexp(np.where(agree, logs, -np.inf), axis=1)
    return sums.sum() - len(rows) * logsumexp(logs)


@pytest.fixture(scope="module")
def incomplete():
    rows = drawn(*model(3, scale=0.8), 1000)
    rows[np.random.default_rng(1).random(rows.shape) < 0.25] = 0
    return rows


def fitted(rows, kind, seed=0, weights=None):
    weights = np.ones(len(rows)) if weights is None else weights
    return fit_rows(rows, weights, kind, np.random.default_rng(seed), Settings(1.0))


def test_incomplete_rows_are_fitted_to_what_was_observed(incomplete):
    found = fitted(incomplete, Likelihood).fit

    def objective(parameters):
        prior = parameters @ parameters / 2
        return prior - observed_log_likelihood(parameters, incomplete)

    best = minimize(objective, np.zeros(6), tol=1e-8).x
    # So few gaps are filled in all ways, and nothing is left to chance.
    np.testing.assert_allclose(found.fields, best[:3], rtol=0, atol=1e-3)
    pairs = np.triu_indices(3, 1)
    np.testing.assert_allclose(found.couplings[pairs], best[3:], rtol=0, atol=1e-3)


def test_draws_serve_where_completions_are_too_many(incomplete, monkeypatch):
    exact = fitted(incomplete, Likelihood).fit
    monkeypatch.setattr(completion, "N_COPIES", 1)
    monkeypatch.setattr(completion, "FEWEST_COPIES", 3)
    one, other = (fitted(incomplete, Likelihood, seed) for seed in (0, 1))
    assert 0 < np.abs(one.fit.couplings - other.fit.couplings).max()
    # Of gaps in three spins there are eight kinds of rows in three copies each.
    assert np.abs(one.fit.couplings - exact.couplings).max() < 0.5
    monkeypatch.setattr(completion, "FEWEST_COPIES", 1000)
    monkeypatch.setattr(completion.np, "log2", lambda n: 0.0 * n)
    many = fitted(incomplete, Likelihood)
    assert many.converged
    assert np.abs(many.fit.couplings - exact.couplings).max() < 0.02


def test_only_observed_spins_count():
    J, B = model(4)
    rows, weights = drawn(*model(4, 1), 9), np.linspace(0.5, 3.0, 9)
    observed = np.random.default_rng(0).random(rows.shape) < 0.6
    found = PseudoLikelihood.of_completed(rows, weights, observed)
    local = rows @ J + B
    losses = np.log1p(np.exp(-2 * rows * local))
    value, of_fields, _ = found.evaluate(B, J)
    assert value == pytest.approx(-(weights @ (losses * observed)).sum(), rel=1e-13)
    residuals = weights @ (observed * (rows - np.tanh(local)))
    np.testing.assert_allclose(of_fields, residuals, rtol=1e-12)
    curvature = weights @ (observed / np.cosh(local) ** 2)
    np.testing.assert_allclose(found.curvature(B, J), curvature, rtol=1e-12)


@objectives
def test_a_column_that_is_mostly_missing_has_the_mean_of_what_was_observed(kind):
    # Without couplings B is the zero of s - k tanh B - B, here of s = -32, k = 40.
    rows = np.zeros((2000, 2), np.int8)
    rows[:, 0] = np.where(np.random.default_rng(0).random(2000) < 0.5, 1, -1)
    rows[:40, 1] = np.where(np.arange(40) % 10 == 0, 1, -1)
    generator = np.random.default_rng(0)
    found = fit_rows(rows, np.ones(2000), kind, generator, Settings(1e9))
    expected = brentq(lambda B: -32 - 40 * math.tanh(B) - B, -5, 5)
    assert expected == pytest.approx(-1.031, abs=1e-3)
    # The first rounds have nothing to do.
    assert found.converged and found.n_rounds == 20
    assert found.fit.fields[1] == pytest.approx(expected, abs=2e-3)


@objectives
def test_one_observed_entry_in_a_row_identifies_no_coupling(kind):
    # The likelihood is that of independent columns, whose mode has none.
    random = np.random.default_rng(0)
    rows = np.zeros((600, 8), np.int8)
    rows[np.arange(600), random.integers(8, size=600)] = random.choice([-1, 1], 600)
    found = fitted(rows, kind)
    assert found.converged and np.abs(found.fit.couplings).max() < 0.05
    one = np.zeros((600, 3), np.int8)
    one[:, :2] = rows[:, :2]
    one[::2, 1], one[1::2, 0] = 0, 0
    one[:, 0] += one[:, 1] == 0
    one[:, 0] = np.sign(one[:, 0])
    found = fitted(one[one.any(axis=1)], kind)
    # Never observed: a fair coin of its own.
    assert not found.fit.couplings[2].any() and abs(found.fit.fields[2]) < 1e-9


@pytest.fixture
def slow():
    """Two columns, of which forty rows in two thousand hold both."""
    random = np.random.default_rng(0)
    rows = np.where(random.random((2000, 2)) < 0.5, 1, -1).astype(np.int8)
    rows[:, 1] = np.where(random.random(2000) < 0.17, -1, 1) * rows[:, 0]
    rows[40:, 1] = 0
    return rows


def test_parameters_that_still_drift_are_not_called_converged(slow, monkeypatch):
    monkeypatch.setattr(incomplete_fit, "ROUNDS", (20,))
    monkeypatch.setattr(incomplete_fit, "MORE_ROUNDS", ())
    found = fitted(slow, Likelihood)
    assert found.drift > MOST_DRIFT and not found.converged and found.n_rounds == 20


def test_a_pair_that_is_seldom_seen_together_is_fitted_all_the_same(slow):
    found = fitted(slow, Likelihood)

    def negative(parameters):
        """Log likelihood of what was observed, and the priors."""
        B, J = parameters[:2], parameters[2] * (1 - np.eye(2))
        states = all_states(2)
        logs = log_weights(states, J, B)
        agree = ((slow[:, None] == states) | (slow[:, None] == 0)).all(axis=2)
        sums = logsumexp(np.where(agree, logs, -np.inf), axis=1)
        return parameters @ parameters / 2 - sums.sum() + len(slow) * logsumexp(logs)

    best = minimize(negative, np.zeros(3), tol=1e-8).x
    assert found.converged
    # A tenth of the standard error.
    assert found.fit.couplings[0, 1] == pytest.approx(best[2], abs=0.02)


def test_incomplete_rows_serve_the_pseudo_likelihood(incomplete):
    J, B = model(3, scale=0.8)
    completed = fitted(incomplete, PseudoLikelihood)
    # Standard errors of the fields and couplings are near 0.05.
    np.testing.assert_allclose(completed.fit.couplings, J, rtol=0, atol=0.15)
    np.testing.assert_allclose(completed.fit.fields, B, rtol=0, atol=0.15)
    assert (completed.spins != 0).all()
    assert completed.weights.sum() == pytest.approx(len(incomplete), rel=1e-12)


def test_neither_order_nor_repetition_of_incomplete_rows_changes_a_draw(incomplete):
    rows = incomplete[:200]
    weights = np.tile([1.0, 3.0], 100)
    one = fitted(rows, Likelihood, weights=weights)
    for other in (
        fitted(rows[::-1], Likelihood, weights=weights[::-1]),
        fitted(np.repeat(rows, weights.astype(int), axis=0), Likelihood),
    ):
        np.testing.assert_array_equal(other.fit.couplings, one.fit.couplings)


def test_a_stream_of_incomplete_rows_learns_the_couplings(incomplete):
    J, _ = model(3, scale=0.8)
    stream = Stream.begin(3, np.random.default_rng(0))
    whole = stream.learn(incomplete, np.ones(1000), 10.0)
    np.testing.assert_allclose(whole.couplings, J, rtol=0, atol=0.25)
    cut = stream
    for rows in np.array_split(incomplete, 7):
        cut = cut.learn(rows, np.ones(len(rows)), 10.0)
    np.testing.assert_array_equal(cut.couplings, whole.couplings)
    assert cut.rng.random() == whole.rng.random() != stream.rng.random()


def test_a_stream_does_not_feed_on_what_it_draws():
    # Independent fair columns: couplings are zero, and their errors near 0.05.
    random = np.random.default_rng(0)
    rows = np.where(random.random((2000, 6)) < 0.5, 1, -1).astype(np.int8)
    rows[random.random(rows.shape) < 0.6] = 0
    rows[:, 5] = 0
    stream = Stream.begin(6, random).learn(rows, np.ones(2000), 10.0)
    assert np.abs(stream.couplings).max() < 0.25
    # Curvature is that of what was observed, at most one a row.
    observed = (rows != 0).sum(axis=0)
    assert (stream.curvature <= observed).all()
    assert (stream.curvature[:5] > 0.8 * observed[:5]).all()
    assert not stream.couplings[5].any() and stream.fields[5] == 0.0


def test_gaps_that_are_few_are_enumerated_whatever_approximates_the_whole():
    J, B = model(6, scale=2.0)
    rows = np.zeros((1, 6), np.int8)
    exact = infer_missing(rows, J, B, "exact")
    for method in ("auto", "adaptive_tap", "double_loop"):
        found = infer_missing(rows, J, B, method)
        np.testing.assert_array_equal(found.log_weights, exact.log_weights)
    assert infer_missing(rows, J, B, "mean_field").log_weights != exact.log_weights


def test_rows_of_many_gaps_are_not_enumerated(monkeypatch):
    asked = []

    def noted(couplings, fields, method):
        asked.append((len(fields), method))
        return infer_ising(couplings, fields, method)

    monkeypatch.setattr(conditioning, "infer_ising", noted)
    for n in (13, 21, 26):
        infer_missing(np.zeros((1, n), np.int8), *model(n, scale=0.05), "auto")
    assert asked == [(13, "auto"), (21, "adaptive_tap"), (26, "auto")]


def test_what_is_missing_is_inferred_given_the_rest():
    J, B = model(5)
    rows = drawn(J, B, 30)
    rows[np.random.default_rng(2).random(rows.shape) < 0.4] = 0
    found = infer_missing(rows, J, B, "auto")
    states = all_states(5)
    logs = log_weights(states, J, B)
    for row, mean, log_weight in zip(
        rows, found.magnetisations, found.log_weights, strict=True
    ):
        agree = ((states == row) | (row == 0)).all(axis=1)
        expected = logsumexp(logs[agree])
        assert log_weight == pytest.approx(expected, abs=1e-12)
        shares = np.exp(logs[agree] - expected)
        np.testing.assert_allclose(mean, shares @ states[agree], rtol=0, atol=1e-12)
    assert not len(found.failed)
