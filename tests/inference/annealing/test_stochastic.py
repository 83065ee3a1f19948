"""Stochastic approximation: its step rule, and what a step does."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odalib.inference.annealing.codebook import Codebook
from odalib.inference.annealing.stochastic import (
    INITIAL_AGE,
    first_age,
    step_size,
    stochastic_pass,
    stochastic_step,
)
from tests.oracles.divergences import NAMES

from .problems import make_problem, random_codebook, random_problem

weights = st.floats(0.125, 1000.0)


@given(weights, weights, st.floats(0.0, 1e6))
def test_decreasing_steps_count_weight_not_batches(first, second, age):
    """What is left of the past after two batches is what one batch leaves."""
    left = (1.0 - step_size(first, age, None)) * (
        1.0 - step_size(second, age + first, None)
    )
    assert left == pytest.approx(1.0 - step_size(first + second, age, None), abs=1e-14)
    assert step_size(first, 0.0, None) == 1.0


@given(weights, weights, st.floats(1.5, 1e9))
def test_the_floor_of_the_steps_counts_weight_not_batches(first, second, memory):
    old = 1e300
    left = (1.0 - step_size(first, old, memory)) * (
        1.0 - step_size(second, old, memory)
    )
    assert left == pytest.approx(
        1.0 - step_size(first + second, old, memory), abs=1e-13
    )
    # One row: the newest of `memory`, however many they are.
    assert step_size(1.0, old, memory) == pytest.approx(1.0 / memory, rel=1e-12)


def test_steps_decrease_to_the_floor_and_stay_there():
    steps = [step_size(10.0, age, 500.0) for age in np.arange(0.0, 2000.0, 10.0)]
    floor = 1.0 - (1.0 - 1.0 / 500.0) ** 10
    expected = [max(10.0 / (age + 10.0), floor) for age in np.arange(0.0, 2000.0, 10.0)]
    np.testing.assert_allclose(steps, expected, rtol=1e-11)
    assert steps[0] == 1.0 and steps[-1] == pytest.approx(floor, rel=1e-11)


@pytest.mark.parametrize("multipliers", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_step_by_its_equations(name, multipliers):
    """``rho += a (p - rho)``, ``sigma += a (p x - sigma)``, ``mu = sigma / rho``."""
    problem, x, row_weights = random_problem(name, (9, 2))
    codebook, temperature, step = random_codebook(x, 3), 0.7 * problem.phi.std(), 0.3
    gradients, offsets = codebook.planes(problem.divergence)
    odds = codebook.weights * np.exp(
        -(problem.phi[:, None] + offsets - x @ gradients.T) / temperature
    )
    p, share = odds / odds.sum(axis=1, keepdims=True), row_weights / row_weights.sum()
    rho = codebook.weights + step * (share @ p - codebook.weights)
    sigma = codebook.weights[:, None] * codebook.points
    sigma = sigma + step * (p.T @ (share[:, None] * x) - sigma)
    moved, moments = stochastic_step(
        x,
        row_weights,
        problem.divergence,
        codebook,
        temperature,
        step,
        problem.signs if multipliers else None,
    )
    np.testing.assert_allclose(moved.weights, rho, rtol=1e-12)
    np.testing.assert_allclose(moved.points, sigma / rho[:, None], rtol=1e-11)
    np.testing.assert_allclose(moments.weight, row_weights @ p, rtol=1e-12)
    pulls = (row_weights * problem.signs)[:, None, None] * (
        x[:, None] - codebook.points
    )
    axis = (p[:, :, None] * pulls).sum(axis=0) if multipliers else np.zeros((3, 2))
    np.testing.assert_allclose(moments.axis, axis, rtol=1e-10, atol=1e-12)


def test_codevectors_that_a_batch_does_not_touch_keep_their_bits():
    codebook = Codebook(np.array([[0.1, 0.7], [1e3, 1.0 / 3.0]]), np.array([0.9, 0.1]))
    divergence = make_problem(codebook.points, "squared_euclidean").divergence
    block = np.array([[0.2, 0.5], [0.0, 1.0]])
    moved, _ = stochastic_step(block, np.ones(2), divergence, codebook, 1e-3, 0.25)
    np.testing.assert_array_equal(moved.points[1], codebook.points[1])
    assert moved.points[0, 1] != codebook.points[0, 1]
    assert moved.weights.sum() == pytest.approx(1.0, abs=1e-15)


@given(
    cuts=st.lists(st.integers(1, 29), max_size=6),
    age=st.floats(0.0, 100.0),
)
def test_one_codevector_is_the_running_mean(cuts, age):
    """Its association is constant, so batches of all sizes give the same."""
    problem, x, row_weights = random_problem("kullback_leibler", (30, 2))
    start = Codebook(np.array([[3.0, 0.5]]), np.ones(1))
    codebook, counted, bounds = start, age, [0, *sorted(set(cuts)), 30]
    for begin, end in pairwise(bounds):
        batch = slice(begin, end)
        weight = row_weights[batch].sum()
        codebook, _ = stochastic_step(
            x[batch],
            row_weights[batch],
            problem.divergence,
            codebook,
            1.0,
            step_size(weight, counted, None),
        )
        counted += weight
    total = age * start.points[0] + row_weights @ x
    expected = total / (age + row_weights.sum())
    np.testing.assert_allclose(codebook.points[0], expected, rtol=1e-12)


@pytest.mark.parametrize("batch_size", [1, 4, 10, 50])
def test_a_pass_takes_the_rows_in_their_order(batch_size):
    problem, x, row_weights = random_problem("itakura_saito", (10, 2))
    start, counted = random_codebook(x, 3), 20.0
    codebook, age = stochastic_pass(problem, start, 0.5, batch_size, counted)
    expected = start
    for begin in range(0, 10, batch_size):
        batch = row_weights[begin : begin + batch_size]
        expected, _ = stochastic_step(
            x[begin : begin + batch_size],
            batch,
            problem.divergence,
            expected,
            0.5,
            batch.sum() / (counted + batch.sum()),
        )
        counted += batch.sum()
    assert age == pytest.approx(counted, rel=1e-14)
    np.testing.assert_allclose(codebook.points, expected.points, rtol=1e-13)
    np.testing.assert_allclose(codebook.weights, expected.weights, rtol=1e-13)


def test_an_integer_weight_is_as_many_rows_of_a_batch():
    problem, x, _ = random_problem("logistic", (8, 2))
    copies, codebook = np.arange(1, 9), random_codebook(x, 3)
    one, _ = stochastic_step(x, 1.0 * copies, problem.divergence, codebook, 0.2, 0.4)
    other, _ = stochastic_step(
        np.repeat(x, copies, axis=0),
        np.ones(36),
        problem.divergence,
        codebook,
        0.2,
        0.4,
    )
    np.testing.assert_allclose(one.points, other.points, rtol=1e-12)
    np.testing.assert_allclose(one.weights, other.weights, rtol=1e-12)


@pytest.mark.parametrize(
    ("n_rows", "weight", "batch_size", "age"),
    [
        (40, 1.0, None, 0.0),
        (40, 1.0, 1, 40.0),
        (40, 1.0, 30, 60.0),
        (40, 3.0, 1, 120.0),
        (40, 3.0, 30, 180.0),
        (5000, 1.0, 1, INITIAL_AGE),
        (5000, 1.0, 1500, 3000.0),
    ],
)
def test_first_age(n_rows, weight, batch_size, age):
    """As many rows as there are, up to a limit, and at least two batches."""
    x = np.random.default_rng(0).normal(size=(n_rows, 1))
    problem = make_problem(x, "squared_euclidean", np.full(n_rows, weight))
    assert first_age(problem, batch_size) == pytest.approx(age, rel=1e-12)


def test_no_batch_forgets_the_codebook():
    """The first step of a level is a half at the most."""
    for n_rows in (1, 10, 4096):
        problem = make_problem(np.arange(1.0 * n_rows)[:, None], "squared_euclidean")
        for batch_size in (1, 256, 10_000):
            weight = min(batch_size, n_rows)
            age = first_age(problem, batch_size)
            assert step_size(weight, age, None) <= 0.5
