"""Fits to rows of spins: objectives, penalties, missing entries, streams."""

import math

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.special import logsumexp

from odalib.inference.pairwise import pseudo_likelihood, stochastic_fit
from odalib.inference.pairwise.conditioning import infer_missing
from odalib.inference.pairwise.distinct import distinct_rows
from odalib.inference.pairwise.incomplete_fit import fit_rows
from odalib.inference.pairwise.likelihood import Likelihood
from odalib.inference.pairwise.penalised_fit import Settings, maximise
from odalib.inference.pairwise.pseudo_likelihood import PseudoLikelihood
from odalib.inference.pairwise.stochastic_fit import Stream

objectives = pytest.mark.parametrize("kind", [PseudoLikelihood, Likelihood])


def model(n, seed=0, scale=0.5):
    random = np.random.default_rng(seed)
    upper = np.triu(scale * random.normal(size=(n, n)), 1)
    return upper + upper.T, 0.4 * random.normal(size=n)


def all_states(n):
    return (2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1) - 1).astype(np.int8)


def log_weights(states, J, B):
    states = states.astype(float)
    return np.einsum("ri,ij,rj->r", states, J, states) / 2 + states @ B


def population(J, B, total):
    """All states, weighted as they would come in ``total`` rows."""
    states = all_states(len(B))
    logs = log_weights(states, J, B)
    return states, total * np.exp(logs - logsumexp(logs))


def drawn(J, B, n_rows, seed=0):
    states, probabilities = population(J, B, 1.0)
    random = np.random.default_rng(seed)
    return states[random.choice(len(states), size=n_rows, p=probabilities)]


def slow_pseudo_likelihood(row, J, B):
    """Sum of the logs of p(x_i | others), each from two joint probabilities."""
    total = 0.0
    for i in range(len(row)):
        both = np.array([row, row])
        both[:, i] = row[i], -row[i]
        logs = log_weights(both, J, B)
        total += logs[0] - logsumexp(logs)
    return total


@pytest.mark.parametrize("block", [2, 4096])
def test_the_log_pseudo_likelihood_is_that_of_the_joint_distribution(
    block, monkeypatch
):
    monkeypatch.setattr(pseudo_likelihood, "BLOCK", block)
    J, B = model(5)
    rows, weights = drawn(*model(5, 1), 7), np.linspace(0.5, 3.0, 7)
    expected = sum(
        w * slow_pseudo_likelihood(row, J, B)
        for row, w in zip(rows, weights, strict=True)
    )
    value = PseudoLikelihood(rows, weights).evaluate(B, J)[0]
    assert value == pytest.approx(expected, rel=1e-13)


def test_the_log_likelihood_is_that_of_the_enumerated_states():
    J, B = model(5)
    rows, weights = drawn(*model(5, 1), 7), np.linspace(0.5, 3.0, 7)
    logs = log_weights(rows, J, B) - logsumexp(log_weights(all_states(5), J, B))
    value = Likelihood(rows, weights).evaluate(B, J)[0]
    assert value == pytest.approx(weights @ logs, rel=1e-13)


@objectives
def test_gradients_are_differences_of_values(kind):
    J, B = model(4)
    pairs = np.triu_indices(4, 1)
    objective = kind(drawn(*model(4, 1), 9), np.linspace(0.5, 3.0, 9))

    def value(parameters):
        couplings = np.zeros((4, 4))
        couplings[pairs] = parameters[4:]
        return objective.evaluate(parameters[:4], couplings + couplings.T)[0]

    _, of_fields, of_pairs = objective.evaluate(B, J)
    found = np.append(of_fields, of_pairs[pairs])
    expected = approx_fprime(np.append(B, J[pairs]), value, 1e-6)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)


@objectives
def test_the_population_gives_back_its_couplings_and_fields(kind):
    J, B = model(5)
    fit = maximise(kind(*population(J, B, 1e9)), Settings(alpha=10.0, tol=1e-8))
    assert fit.converged and fit.gradient <= 1e-8 and fit.n_iter > 1
    np.testing.assert_allclose(fit.couplings, J, rtol=0, atol=1e-6)
    np.testing.assert_allclose(fit.fields, B, rtol=0, atol=1e-6)
    assert (fit.couplings == fit.couplings.T).all()
    assert not fit.couplings.diagonal().any()


def test_a_pair_has_the_coupling_of_its_correlation():
    # sigma(2 J) is the share of rows in which the two agree.
    states, weights = all_states(2), np.array([40.0, 10.0, 10.0, 40.0])
    for kind in (PseudoLikelihood, Likelihood):
        fit = maximise(kind(states, weights), Settings(alpha=0.0, tol=1e-9))
        assert fit.couplings[0, 1] == pytest.approx(math.log(80 / 20) / 2, abs=1e-7)
        np.testing.assert_allclose(fit.fields, 0.0, atol=1e-9)


def test_at_the_penalised_maximum_of_the_likelihood_moments_differ_by_the_prior():
    rows, alpha = drawn(*model(4), 50), 3.0
    fit = maximise(Likelihood(rows, np.ones(50)), Settings(alpha, tol=1e-9))
    states, probabilities = population(fit.couplings, fit.fields, 1.0)
    excess = rows.sum(axis=0) - 50 * probabilities @ states
    np.testing.assert_allclose(excess, fit.fields, rtol=0, atol=1e-6)
    products = (states.T * probabilities) @ states
    excess = rows.astype(float).T @ rows - 50 * products
    np.fill_diagonal(excess, 0.0)
    np.testing.assert_allclose(excess, alpha * fit.couplings, rtol=0, atol=1e-6)


@objectives
def test_the_l1_penalty_holds_couplings_at_exactly_zero(kind):
    rows, alpha = drawn(*model(6, scale=0.2), 300), 25.0
    objective = kind(rows, np.ones(300))
    settings = Settings(alpha, "l1", tol=1e-7)
    fit = maximise(objective, settings)
    assert fit.converged
    pull = objective.evaluate(fit.fields, fit.couplings)[2]
    zero = fit.couplings == 0.0
    off_diagonal = ~np.eye(6, dtype=bool)
    assert 2 < np.count_nonzero(zero & off_diagonal) < 28
    assert (np.abs(pull[zero & off_diagonal]) <= alpha + 1e-4).all()
    np.testing.assert_allclose(
        pull[~zero], alpha * np.sign(fit.couplings[~zero]), rtol=0, atol=1e-4
    )
    again = maximise(objective, settings, fit)
    np.testing.assert_allclose(again.couplings, fit.couplings, rtol=0, atol=1e-5)
    none = maximise(objective, Settings(600.0, "l1"))
    assert not none.couplings.any()


@objectives
@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_columns_that_are_mostly_zero_take_few_iterations(kind, penalty):
    # In couplings and fields as they are, it took hundreds.
    J, B = model(10, scale=0.3)
    rows = drawn(J, B - 1.5, 2000)
    fit = maximise(kind(rows, np.ones(2000)), Settings(10.0, penalty, tol=1e-5))
    assert fit.converged and fit.n_iter < 60


def test_a_fit_that_may_not_go_on_says_so():
    fit = maximise(
        PseudoLikelihood(drawn(*model(5), 100), np.ones(100)),
        Settings(alpha=1.0, max_iter=2),
    )
    assert not fit.converged and fit.n_iter == 2 and fit.gradient > 1e-6


def test_distinct_rows_are_those_of_numpy():
    rows = np.random.default_rng(0).integers(-1, 2, (200, 4)).astype(np.int8)
    distinct, which = distinct_rows(rows)
    np.testing.assert_array_equal(distinct[which], rows)
    assert len(distinct) == len(np.unique(rows, axis=0))
    np.testing.assert_array_equal(distinct_rows(rows[::-1])[0], distinct)


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
    # What is drawn leaves an error of a few hundredths.
    np.testing.assert_allclose(found.fields, best[:3], rtol=0, atol=0.03)
    pairs = np.triu_indices(3, 1)
    np.testing.assert_allclose(found.couplings[pairs], best[3:], rtol=0, atol=0.03)


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


def test_one_pass_comes_near_the_fit_and_more_come_nearer():
    rows, fresh = drawn(*model(6), 3000), drawn(*model(6), 5000, seed=1)
    weights = np.ones(3000)
    fit = maximise(PseudoLikelihood(rows, weights), Settings(10.0))
    test = PseudoLikelihood(fresh, np.ones(5000))
    best = test.evaluate(fit.fields, fit.couplings)[0] / 5000
    stream, losses = Stream.begin(6, np.random.default_rng(0)), []
    for _ in range(3):
        stream = stream.learn(rows, weights, 10.0)
        losses.append(best - test.evaluate(stream.fields, stream.couplings)[0] / 5000)
    # Nothing learnt is a loss of 0.8.
    assert losses[0] < 0.02 and losses[2] < 0.005
    assert (stream.couplings == stream.couplings.T).all()
    assert stream.n_seen == 9000


def test_a_stream_after_a_fit_stays_where_the_fit_is_best():
    rows, weights = drawn(*model(6), 3000), np.ones(3000)
    fit = maximise(PseudoLikelihood(rows, weights), Settings(10.0))
    random = np.random.default_rng(0)
    stream = Stream.after(fit, rows, weights, random)
    expected = (1 - np.tanh(rows @ fit.couplings + fit.fields) ** 2).sum(axis=0)
    np.testing.assert_allclose(stream.curvature, expected, rtol=1e-12)
    after = stream.learn(drawn(*model(6), 300, seed=2), np.ones(300), 10.0)
    assert 0.0 < np.abs(after.couplings - fit.couplings).max() < 0.05
    assert stream.couplings is fit.couplings


def test_a_weight_in_a_stream_is_so_many_visits_and_a_part_of_one():
    rows, begin = drawn(*model(4), 20), Stream.begin(4, np.random.default_rng(0))
    weights = np.tile([3.0, 1.0], 10)
    found = begin.learn(rows, weights, 10.0)
    repeated = np.repeat(rows, weights.astype(int), axis=0)
    expected = begin.learn(repeated, np.ones(40), 10.0)
    np.testing.assert_array_equal(found.couplings, expected.couplings)
    part = begin.learn(rows[:1], np.array([2.5]), 10.0)
    parts = begin.learn(rows[[0, 0, 0]], np.array([1.0, 1.0, 0.5]), 10.0)
    np.testing.assert_array_equal(part.couplings, parts.couplings)


@pytest.mark.parametrize("share", [1.0, 0.3])
def test_the_first_step_is_that_of_the_formula(share):
    row, alpha, n = np.array([[1, -1, 1]], np.int8), 10.0, 3
    stream = Stream.begin(n, np.random.default_rng(0))
    found = stream.learn(row, np.array([share]), alpha)
    x = row[0].astype(float)
    step = stochastic_fit.STEP
    expected = step * 2 * share * np.outer(x, x) / (2 * share + alpha + step * n)
    np.fill_diagonal(expected, 0.0)
    np.testing.assert_allclose(found.couplings, expected, rtol=1e-14)
    expected = step * share * x / (share + 1 + step * n)
    np.testing.assert_allclose(found.fields, expected, rtol=1e-14)


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
    assert found.n_failed == 0
