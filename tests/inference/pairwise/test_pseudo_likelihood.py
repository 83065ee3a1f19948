"""Fits to rows of spins: objectives, penalties, missing entries, streams."""

import math

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import logsumexp

from odalib.inference.pairwise import (
    pseudo_likelihood,
    stochastic_fit,
)
from odalib.inference.pairwise.distinct import distinct_rows
from odalib.inference.pairwise.likelihood import Likelihood
from odalib.inference.pairwise.penalised_fit import Settings, maximise
from odalib.inference.pairwise.pseudo_likelihood import PseudoLikelihood
from odalib.inference.pairwise.stochastic_fit import Stream
from tests.inference.pairwise.spin_rows import (
    all_states,
    drawn,
    log_weights,
    model,
    population,
)

objectives = pytest.mark.parametrize("kind", [PseudoLikelihood, Likelihood])


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
    stream = Stream.after(fit, PseudoLikelihood(rows, weights), random)
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
