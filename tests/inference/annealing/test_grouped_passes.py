"""Passes over rows that fall into groups: as if every group were by itself."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from odalib.inference.annealing import rows as module
from odalib.inference.annealing.bifurcation import cell_axes, gibbs_axes
from odalib.inference.annealing.codebook import (
    Codebook,
    assign,
    collect_cells,
    collect_moments,
)
from odalib.inference.annealing.divergences import as_divergence
from odalib.inference.annealing.problem import Problem
from odalib.inference.annealing.rows import RowBlocks
from odalib.inference.annealing.stochastic import stochastic_pass, stochastic_step
from tests.oracles.divergences import CLOSED_FORMS, critical_temperature, draw_rows
from tests.oracles.grouped import nearest_of_group, sums_of_group

from .problems import random_codebook

names = pytest.mark.parametrize("name", CLOSED_FORMS)
layouts = pytest.mark.parametrize(
    "layout", [np.asarray, sp.csr_matrix], ids=["", "csr"]
)
# Codevectors of four groups, of which the third has no rows.
OF_CODEVECTORS = np.array([5, 0, 9, 5, 0, 0, 7])
TEMPERATURE, MANY = 0.7, 200


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks of four rows, so that a group has several."""
    monkeypatch.setattr(module, "MAX_BLOCK", 4)


def grouped(name, groups, layout=np.asarray, seed=0, n_jobs=1):
    """Problem of rows of given groups, the rows, their weights, and a codebook."""
    x = draw_rows(name, len(groups), 2, seed)
    weights = np.random.default_rng(seed + 1).uniform(0.2, 2.0, size=len(groups))
    plain = random_codebook(draw_rows(name, 20, 2, seed + 2), len(OF_CODEVECTORS), seed)
    codebook = Codebook(plain.points, plain.weights, OF_CODEVECTORS)
    rows = RowBlocks(layout(x), weights, n_jobs=n_jobs, groups=groups)
    return Problem(rows, as_divergence(name), seed), x, weights, codebook


def many_groups(n_rows=40):
    return np.random.default_rng(0).choice([0, 5, 9], size=n_rows)


@given(
    name=st.sampled_from(list(CLOSED_FORMS)),
    layout=st.sampled_from([np.asarray, sp.csr_matrix]),
    groups=st.lists(st.sampled_from([0, 5, 7, 9]), min_size=1, max_size=30),
    kind=st.sampled_from(["none", "row", "codevector"]),
    seed=st.integers(0, 99),
)
def test_moments_are_those_of_each_group(name, layout, groups, kind, seed):
    groups = np.array(groups)
    problem, x, weights, codebook = grouped(name, groups, layout, seed)
    by_row = problem.rows.restore(problem.signs)
    covectors = np.sin(7.0 * codebook.points)
    given_to_pass, multipliers = {
        "none": (None, lambda n, i: 0.0),
        "row": (problem.signs, lambda n, i: by_row[n]),
        "codevector": (
            covectors,
            lambda n, i: covectors[i] @ (x[n] - codebook.points[i]),
        ),
    }[kind]
    moments = collect_moments(
        problem.rows, problem.divergence, codebook, TEMPERATURE, given_to_pass
    )
    expected = sums_of_group(
        CLOSED_FORMS[name],
        x,
        problem.divergence.phi(x),
        weights,
        groups,
        codebook,
        TEMPERATURE,
        multipliers,
    )
    for field, value in zip(vars(moments).values(), expected, strict=True):
        np.testing.assert_allclose(field, value, rtol=1e-9, atol=1e-9)


@layouts
@names
def test_nearest_of_its_group(name, layout):
    groups = many_groups()
    problem, x, _, codebook = grouped(name, groups, layout)
    labels, affinity = assign(problem.rows, problem.divergence, codebook)
    expected, least = nearest_of_group(CLOSED_FORMS[name], x, groups, codebook)
    np.testing.assert_array_equal(problem.rows.restore(labels), expected)
    apart = problem.rows.restore(problem.phi - affinity)
    np.testing.assert_allclose(apart, least, rtol=1e-8, atol=1e-12)
    # Of all codevectors, others would be nearer to many rows.
    alike = Codebook(codebook.points, codebook.weights, 0 * OF_CODEVECTORS)
    free, _ = nearest_of_group(CLOSED_FORMS[name], x, 0 * groups, alike)
    assert (free != expected).sum() > 5


@layouts
@names
def test_cells_of_grouped_rows(name, layout):
    groups = many_groups()
    problem, x, weights, codebook = grouped(name, groups, layout)
    labels, _ = nearest_of_group(CLOSED_FORMS[name], x, groups, codebook)
    held = problem.rows.arrange(labels[np.newaxis])[0]
    cells = collect_cells(problem.rows, held, len(codebook))
    for i in range(len(codebook)):
        inside = labels == i
        assert cells.weight[i] == pytest.approx(weights[inside].sum(), rel=1e-13)
        np.testing.assert_allclose(
            cells.total[i], weights[inside] @ x[inside], rtol=1e-12, atol=1e-14
        )


@layouts
@names
def test_axes_of_cells_are_leading_eigenvectors(name, layout, monkeypatch):
    monkeypatch.setattr(module, "MAX_BLOCK", 16)
    groups = many_groups(90)
    problem, x, weights, _ = grouped(name, groups, layout)
    labels = np.searchsorted([0, 5, 9], groups) + 3 * (np.arange(90) % 2)
    held = problem.rows.arrange(labels[np.newaxis])[0]
    cells = collect_cells(problem.rows, held, 6)
    means = cells.total / cells.weight[:, np.newaxis]
    codebook = Codebook(means, cells.weight / cells.weight.sum(), np.tile([0, 5, 9], 2))
    axes = cell_axes(problem, codebook, cells, held, MANY)
    for i in range(6):
        inside = labels == i
        critical, axis = critical_temperature(name, x[inside], weights[inside])
        assert axes.critical[i] == pytest.approx(critical, rel=1e-9)
        direction = axes.directions[i] * np.sign(axes.directions[i] @ axis)
        np.testing.assert_allclose(direction, axis, rtol=1e-4, atol=1e-5)


@names
def test_axes_of_one_codevector_of_each_group(name, monkeypatch):
    monkeypatch.setattr(module, "MAX_BLOCK", 16)
    groups = many_groups(90)
    problem, x, weights, _ = grouped(name, groups)
    codebook = problem.first_codebook()
    np.testing.assert_array_equal(codebook.groups, [0, 5, 9])
    moments = problem.moments(codebook, TEMPERATURE, problem.signs)
    axes = gibbs_axes(problem, codebook, TEMPERATURE, moments, MANY)
    for i, group in enumerate((0, 5, 9)):
        own = groups == group
        mean = np.average(x[own], axis=0, weights=weights[own])
        np.testing.assert_allclose(codebook.points[i], mean, rtol=1e-12)
        share = weights[own].sum() / weights.sum()
        assert codebook.weights[i] == pytest.approx(share, rel=1e-12)
        critical, _ = critical_temperature(name, x[own], weights[own])
        assert axes.critical[i] == pytest.approx(critical, rel=1e-9)


@layouts
def test_same_bits_for_every_number_of_threads(layout):
    groups = many_groups(400)
    results = []
    for n_jobs in (1, 3):
        problem, _, _, codebook = grouped("logistic", groups, layout, n_jobs=n_jobs)
        assert len(problem.rows.spans(1)) > 50
        labels, affinity = assign(problem.rows, problem.divergence, codebook)
        cells = collect_cells(problem.rows, labels, len(codebook))
        used = cells.weight > 0
        own = (np.cumsum(used) - 1)[labels]
        cells = collect_cells(problem.rows, own, used.sum())
        moments = problem.moments(codebook, TEMPERATURE, problem.signs)
        axes = cell_axes(problem, codebook.select(used), cells, own, 2)
        results.append(
            [
                labels,
                affinity,
                *vars(cells).values(),
                *vars(moments).values(),
                *vars(axes).values(),
            ]
        )
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)


def test_order_of_the_rows_does_not_matter():
    groups, order = many_groups(60), np.random.default_rng(3).permutation(60)
    problem, x, weights, codebook = grouped("itakura_saito", groups)
    signs = problem.rows.restore(problem.signs)
    other = RowBlocks(x[order], weights[order], groups=groups[order])
    other = Problem(other, problem.divergence, 0)
    np.testing.assert_allclose(other.rows.restore(other.signs), signs[order], atol=1e-6)
    one, two = (part.moments(codebook, TEMPERATURE) for part in (problem, other))
    for value, same in zip(vars(one).values(), vars(two).values(), strict=True):
        np.testing.assert_allclose(value, same, rtol=1e-12)


@names
def test_a_step_moves_each_group_by_its_rows(name):
    """``sigma += a (p x - sigma)`` with sums that are worked out row by row."""
    groups, step = many_groups(), 0.3
    problem, x, weights, codebook = grouped(name, groups)
    signs = np.sin(np.arange(40.0))
    moved, moments = stochastic_step(
        x,
        weights,
        problem.divergence,
        codebook,
        TEMPERATURE,
        step,
        signs,
        groups,
    )
    weight, total, _, axis = sums_of_group(
        CLOSED_FORMS[name],
        x,
        problem.divergence.phi(x),
        weights,
        groups,
        codebook,
        TEMPERATURE,
        lambda n, i: signs[n],
    )
    rho = codebook.weights + step * (weight / weights.sum() - codebook.weights)
    sigma = codebook.weights[:, np.newaxis] * codebook.points
    sigma = sigma + step * (total / weights.sum() - sigma)
    np.testing.assert_allclose(moved.weights, rho, rtol=1e-12)
    np.testing.assert_allclose(moved.points, sigma / rho[:, np.newaxis], rtol=1e-10)
    np.testing.assert_allclose(moments.axis, axis, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(moved.groups, OF_CODEVECTORS)
    # The group without rows stays where it is, and counts for less.
    assert (moved.points[6] == codebook.points[6]).all()
    assert moved.weights[6] == pytest.approx(0.7 * codebook.weights[6], rel=1e-12)


@pytest.mark.parametrize("batch_size", [1, 7, 100])
def test_a_pass_takes_the_rows_in_the_order_they_came_in(batch_size):
    groups, age = many_groups(), 50.0
    problem, x, weights, codebook = grouped("logistic", groups)
    found, counted = stochastic_pass(problem, codebook, TEMPERATURE, batch_size, age)
    expected = codebook
    for start in range(0, 40, batch_size):
        span = slice(start, start + batch_size)
        weight = weights[span].sum()
        expected, _ = stochastic_step(
            x[span],
            weights[span],
            problem.divergence,
            expected,
            TEMPERATURE,
            weight / (age + weight),
            groups=groups[span],
        )
        age += weight
    assert counted == pytest.approx(age, rel=1e-13)
    np.testing.assert_allclose(found.points, expected.points, rtol=1e-12)
    np.testing.assert_allclose(found.weights, expected.weights, rtol=1e-12)
