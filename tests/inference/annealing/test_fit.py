"""The whole fit in memory: what it returns, from a sample and from all rows."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from odalib.inference.annealing import fit as module
from odalib.inference.annealing.fit import finish_on, fit_rows
from odalib.inference.annealing.refine import harden
from tests.oracles.divergences import CLOSED_FORMS, draw_rows

from .problems import make_problem, make_settings

names = pytest.mark.parametrize("name", CLOSED_FORMS)
SHIFT = np.array([300.0, -40.0])


def clusters(n_rows=600, seed=0):
    random = np.random.default_rng(seed)
    centres = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0], [30.0, 30.0]])
    labels = random.integers(4, size=n_rows)
    return centres[labels] + random.normal(size=(n_rows, 2)), labels


def nearest(x, points):
    return ((x[:, np.newaxis] - points) ** 2).sum(axis=2).argmin(axis=1)


def test_separated_clusters_are_found_and_centred():
    x, labels = clusters()
    solution = fit_rows(x + SHIFT, np.ones(600), make_settings(n_codevectors=4))
    np.testing.assert_allclose(solution.shift, (x + SHIFT).mean(axis=0), rtol=1e-12)
    points = solution.codebook.points + solution.shift - SHIFT
    means = np.array([x[labels == i].mean(axis=0) for i in range(4)])
    order = nearest(means, points)
    assert sorted(order) == [0, 1, 2, 3]
    np.testing.assert_allclose(points[order], means, atol=1e-9)
    np.testing.assert_allclose(
        solution.codebook.weights[order], np.bincount(labels) / 600
    )
    assert solution.stop_reason == "n_clusters"
    assert solution.converged
    assert solution.plateau_strength is None


@names
def test_result_is_a_fixed_point_of_hard_assignment(name):
    x = draw_rows(name, 200, 2, 0)
    solution = fit_rows(x, np.ones(200), make_settings(divergence=name, tol=0.0))
    points = solution.codebook.points
    if solution.shift is not None:
        points = points + solution.shift
    d = np.array([[CLOSED_FORMS[name](a, b) for b in points] for a in x])
    own = d.argmin(axis=1)
    for i in range(len(points)):
        np.testing.assert_allclose(
            points[i], x[own == i].mean(axis=0), rtol=1e-10, atol=1e-12
        )
    assert len(solution.codebook) == len(solution.hierarchy[0]) == 8


@pytest.mark.parametrize("limit", [10_000, 150])
@names
def test_neither_order_nor_repetition_of_rows_matters(name, limit, monkeypatch):
    """With all rows annealed, and with a sample of them."""
    monkeypatch.setattr(module, "SAMPLE_SIZE", limit)
    x, copies = draw_rows(name, 200, 2, 0), np.arange(200) % 3 + 1
    repeated = np.repeat(np.arange(200), copies)
    shuffled = np.random.default_rng(1).permutation(repeated)
    settings = make_settings(divergence=name, n_codevectors=4)
    weighted = fit_rows(x, 1.0 * copies, settings)
    plain = fit_rows(x[shuffled], np.ones(len(repeated)), settings)
    np.testing.assert_allclose(
        plain.codebook.points, weighted.codebook.points, rtol=1e-6, atol=1e-9
    )
    np.testing.assert_allclose(
        plain.codebook.weights, weighted.codebook.weights, rtol=1e-9
    )


def test_sparse_rows_give_what_dense_rows_give():
    x = np.abs(clusters()[0]) * (np.random.default_rng(2).random((600, 2)) < 0.8)
    settings = make_settings(divergence="kullback_leibler", n_codevectors=4)
    dense, sparse = (
        fit_rows(rows, np.ones(600), settings) for rows in (x, sp.csr_matrix(x))
    )
    assert sparse.shift is None
    np.testing.assert_allclose(sparse.codebook.points, dense.codebook.points, rtol=1e-7)


def watch_grow(monkeypatch):
    """List that the rows which are annealed come into."""
    annealed, original = [], module.grow

    def watched(problem, *arguments):
        annealed.append(problem.rows)
        return original(problem, *arguments)

    monkeypatch.setattr(module, "grow", watched)
    return annealed


def test_a_sample_is_annealed_and_all_rows_decide(monkeypatch):
    monkeypatch.setattr(module, "SAMPLE_SIZE", 100)
    annealed = watch_grow(monkeypatch)
    x, labels = clusters(3000)
    solution = fit_rows(x, np.ones(3000), make_settings(n_codevectors=4))
    (rows,) = annealed
    assert rows.n_rows == 100
    # Unbiased, of 100 rows drawn with odds between 1/2 and 8.
    assert rows.total_weight == pytest.approx(3000.0, rel=0.25)
    points = solution.codebook.points + solution.shift
    means = np.array([x[labels == i].mean(axis=0) for i in range(4)])
    np.testing.assert_allclose(points[nearest(means, points)], means, atol=1e-9)


def test_few_rows_far_out_are_in_the_sample(monkeypatch):
    """Three rows of 3,000 that make most of the distortion, in a sample of 50."""
    monkeypatch.setattr(module, "SAMPLE_SIZE", 50)
    annealed = watch_grow(monkeypatch)
    x = np.random.default_rng(0).normal(size=(3000, 2))
    x[::1000] += 500.0
    fit_rows(x, np.ones(3000), make_settings(n_codevectors=2))
    (rows,) = annealed
    far_out = rows.select(slice(None))[:, 0] > 250.0
    assert far_out.sum() == 3
    np.testing.assert_allclose(rows.row_weights[far_out], 1.0)


def test_the_better_of_two_finishes_is_kept(monkeypatch):
    """Before exchanges. Now the one is better, now the other."""
    hardened, original = [], module.harden

    def watched(*arguments):
        hardened.append(original(*arguments))
        return hardened[-1]

    monkeypatch.setattr(module, "harden", watched)
    monkeypatch.setattr(module, "exchange", lambda problem, partition, *_: partition)
    better = set()
    for seed in range(6):
        hardened.clear()
        x = draw_rows("squared_euclidean", 150, 2, seed)
        solution = fit_rows(x, np.ones(150), make_settings(n_codevectors=9))
        first, second = (partition.distortion for partition in hardened[:2])
        better.add(np.sign(second - first))
        problem = make_problem(x - solution.shift, "squared_euclidean")
        kept = harden(problem, solution.codebook, 9, 1, 0.0).distortion
        assert kept <= min(first, second) * (1.0 + 1e-12)
    assert {-1.0, 1.0} <= better


@pytest.mark.parametrize("number", [9, 20])
def test_a_quick_fit_finishes_once(number, monkeypatch):
    """In fewer passes and without the smaller codebooks, nearly as well."""
    cooled, original = [], module.cool

    def watched(*arguments):
        cooled.append(original(*arguments))
        return cooled[-1]

    monkeypatch.setattr(module, "cool", watched)
    x = draw_rows("squared_euclidean", 300, 2, 0)
    found = {}
    for thorough in (True, False):
        cooled.clear()
        settings = replace(make_settings(n_codevectors=number), thorough=thorough)
        found[thorough] = fit_rows(x, np.ones(300), settings)
        assert len(cooled) == 1 + thorough
    best, quick = found[True], found[False]
    assert len(quick.codebook) == number
    assert quick.n_passes < 0.5 * best.n_passes
    assert [len(codebook) for codebook in quick.hierarchy] == [number]
    problem = make_problem(x - best.shift, "squared_euclidean")
    distortions = [
        harden(problem, solution.codebook, number, 1, 0.0).distortion
        for solution in (best, quick)
    ]
    assert distortions[0] < distortions[1] < 1.15 * distortions[0]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"target_distortion": 20.0}, "target_distortion"),
        ({"min_temperature": 20.0}, "min_temperature"),
        ({"max_iter": 20}, "max_iter"),
    ],
)
def test_other_rules_leave_a_soft_codebook(changes, reason):
    x, _ = clusters()
    solution = fit_rows(x, np.ones(600), make_settings(n_codevectors=30, **changes))
    assert solution.stop_reason == reason
    assert not solution.hardened
    assert solution.converged == (reason != "max_iter")
    assert 1 <= len(solution.codebook) < 30
    assert solution.temperature == solution.levels[-1].temperature
    assert [len(codebook) for codebook in solution.hierarchy] == list(
        range(len(solution.codebook), 0, -1)
    )


def test_fewer_distinct_rows_than_codevectors():
    x = np.repeat([[0.0, 1.0], [2.0, 5.0], [7.0, 7.0]], [3, 4, 5], axis=0)
    solution = fit_rows(x, np.ones(12), make_settings(n_codevectors=5))
    assert solution.stop_reason == "distinct_rows"
    points = solution.codebook.points + solution.shift
    np.testing.assert_allclose(
        np.sort(points, axis=0), np.unique(x, axis=0), atol=1e-12
    )


def test_a_callback_sees_the_solution_of_the_level_and_may_stop():
    x, _ = clusters()
    levels = []

    def on_level(level, solution):
        levels.append(level)
        if len(levels) < 3:
            return False
        seen = solution()
        assert seen.codebook is level.codebook
        assert seen.temperature == level.temperature
        assert seen.stop_reason == "callback"
        return True

    solution = fit_rows(x, np.ones(600), make_settings(), on_level=on_level)
    assert len(levels) == len(solution.levels) == 3
    assert solution.stop_reason == "callback"


def test_finishing_on_more_rows_is_hard_assignment():
    x, labels = clusters()
    settings = make_settings(n_codevectors=4)
    first = fit_rows(x[:40], np.ones(40), settings)
    finished = finish_on(x, np.ones(600), first, settings, 4)
    points = finished.codebook.points + first.shift
    means = np.array([x[labels == i].mean(axis=0) for i in range(4)])
    np.testing.assert_allclose(points[nearest(means, points)], means, atol=1e-9)
    assert finished.n_passes > first.n_passes
    soft = fit_rows(x[:40], np.ones(40), make_settings(min_temperature=20.0))
    assert finish_on(x, np.ones(600), soft, settings, 4) is soft
