"""Growth against the theory: where codevectors split, and what a level is."""

import numpy as np
import pytest

from odalib.inference.annealing.anneal import cool, grow
from odalib.inference.annealing.path import describe_level
from tests.oracles.divergences import NAMES, critical_temperature

from .problems import (
    make_problem,
    make_schedule,
    mean_codebook,
    random_codebook,
    random_problem,
)

names = pytest.mark.parametrize("name", NAMES)


def never(level):
    return False


def precision_of(problem):
    return getattr(problem.divergence, "precision", None)


@names
def test_first_split_is_at_the_critical_temperature(name):
    """By perturbation, which looks at no eigenvalue, cooled by 0.2 % a level."""
    problem, x, weights = random_problem(name)
    critical, _ = critical_temperature(name, x, weights, precision_of(problem))
    schedule = make_schedule(
        n_codevectors=2,
        split="perturb",
        cooling=0.998,
        max_temperature=1.012 * critical,
        merge_tol=0.01,
        tol=1e-6,
        max_steps=1000,
        axis_passes=0,
        max_iter=10**6,
    )
    growth = grow(problem, schedule, never)
    assert growth.stop_reason == "n_clusters"
    sizes = [len(level.codebook) for level in growth.levels]
    assert sizes == [1] * (len(sizes) - 1) + [2]
    assert 0.99 <= growth.levels[-1].temperature / critical <= 1.01


def test_later_splits_are_at_their_critical_temperatures():
    """Rows at -100 +- 2 and 100 +- 1: variances 4 and 1, critical at 8 and 2."""
    x = np.array([[-102.0], [-98.0], [99.0], [101.0]])
    schedule = make_schedule(
        n_codevectors=4,
        split="perturb",
        cooling=0.98,
        max_temperature=9.0,
        merge_tol=0.01,
        tol=1e-6,
        max_steps=1000,
        axis_passes=0,
        max_iter=10**6,
    )
    growth = grow(make_problem(x, "squared_euclidean"), schedule, never)
    assert [len(level.codebook) for level in growth.levels[::20]] == [2, 3, 3, 3]
    for side, critical in [(-1.0, 8.0), (1.0, 2.0)]:
        whole = [
            level.temperature
            for level in growth.levels
            if (side * level.codebook.points > 0.0).sum() == 1
        ]
        assert 0.995 * critical < min(whole) < 1.025 * critical


@names
def test_annealing_starts_just_above_the_first_critical_temperature(name):
    problem, x, weights = random_problem(name, (200, 3))
    critical, _ = critical_temperature(name, x, weights, precision_of(problem))
    growth = grow(problem, make_schedule(n_codevectors=2), never)
    # Ten power iterations come near the eigenvalue from below.
    assert 0.9 * critical < growth.levels[0].temperature / 1.05 < critical * (1 + 1e-12)
    assert len(growth.levels[0].codebook) == 1


@pytest.mark.parametrize("batch_size", [None, 7])
def test_growth_splits_only_what_is_past_its_critical_temperature(batch_size):
    """Two tight groups: one codevector, then two, and no more down to their width."""
    random = np.random.default_rng(0)
    x = 0.01 * random.normal(size=(40, 2)) + np.repeat(
        [[0.0, 0.0], [5.0, 0.0]], 20, axis=0
    )
    schedule = make_schedule(min_temperature=0.01, max_steps=8, batch_size=batch_size)
    growth = grow(make_problem(x, "squared_euclidean"), schedule, never)
    sizes = [len(level.codebook) for level in growth.levels]
    assert sizes[0] == 1
    assert set(sizes[3:]) == {2}
    assert growth.stop_reason == "min_temperature"
    assert growth.levels[-1].temperature >= 0.01 > 0.7 * growth.levels[-1].temperature
    ends = np.sort(growth.codebook.points[:, 0])
    expected = np.sort([x[:20, 0].mean(), x[20:, 0].mean()])
    np.testing.assert_allclose(
        ends, expected, atol=1e-8 if batch_size is None else 1e-2
    )


@pytest.mark.parametrize("split", ["critical", "perturb"])
def test_growth_splits_at_the_first_level_past_the_critical_temperature(split):
    """Rows at -1 and 1: critical at 2."""
    x = np.array([[-1.0], [1.0]])
    schedule = make_schedule(
        split=split,
        max_temperature=2.5,
        cooling=0.9,
        merge_tol=0.01,
        max_steps=500,
        n_codevectors=2,
    )
    growth = grow(make_problem(x, "squared_euclidean"), schedule, never)
    temperatures = [level.temperature for level in growth.levels]
    np.testing.assert_allclose(temperatures, [2.5, 2.25, 2.025, 1.8225], rtol=1e-12)
    assert [len(level.codebook) for level in growth.levels] == [1, 1, 1, 2]
    # At the fixed point, by symmetry, mu = tanh(2 mu / T).
    mu = growth.levels[-1].codebook.points.max()
    assert mu == pytest.approx(np.tanh(2.0 * mu / 1.8225), rel=1e-10)


def test_growth_fills_the_room_there_is_with_what_gains_most():
    """Three pairs past their critical temperatures, 2, 4.5 and 8, and room for two.

    Weights make the gains 18, 4.5 and 4.
    """
    x = np.array([[-201.0], [-199.0], [-1.5], [1.5], [208.0], [212.0]])
    problem = make_problem(
        x, "squared_euclidean", np.array([4.5, 4.5, 0.5, 0.5, 0.25, 0.25])
    )
    schedule = make_schedule(
        n_codevectors=5, max_temperature=1e4, cooling=0.1, max_steps=50
    )
    growth = grow(problem, schedule, never)
    assert [len(level.codebook) for level in growth.levels][-2:] == [3, 5]
    points = np.sort(growth.levels[-1].codebook.points[:, 0])
    np.testing.assert_allclose(points, [-201.0, -199.0, -1.5, 1.5, 210.0], atol=0.3)


@pytest.mark.parametrize(
    ("changes", "reason", "ends"),
    [
        ({"n_codevectors": 3}, "n_clusters", lambda level: len(level.codebook) >= 3),
        (
            {"target_distortion": 2.0},
            "target_distortion",
            lambda level: level.distortion <= 2.0,
        ),
        (
            {"min_temperature": 1.0},
            "min_temperature",
            lambda level: 0.7 * level.temperature < 1.0,
        ),
        ({"max_iter": 30}, "max_iter", lambda level: level.n_passes >= 30),
    ],
)
def test_growth_ends_with_the_first_level_that_a_rule_asks_for(changes, reason, ends):
    problem, _, _ = random_problem("squared_euclidean")
    schedule = make_schedule(**({"n_codevectors": 20} | changes))
    growth = grow(problem, schedule, never)
    assert growth.stop_reason == reason
    assert len(growth.levels) > 2
    *before, last = growth.levels
    assert ends(last)
    assert not any(ends(level) for level in before)


def test_growth_stops_where_the_callback_asks():
    problem, _, _ = random_problem("squared_euclidean")
    seen = []

    def on_level(level):
        seen.append(level)
        return len(seen) == 3

    growth = grow(problem, make_schedule(), on_level)
    assert growth.stop_reason == "callback"
    assert growth.levels == seen and len(seen) == 3


@names
def test_equal_rows_end_growth_at_one_codevector(name):
    problem, x, _ = random_problem(name)
    if name == "mahalanobis":
        problem = make_problem(np.repeat(x[:1], 9, axis=0), problem.divergence)
    else:
        problem = make_problem(np.repeat(x[:1], 9, axis=0), name)
    growth = grow(problem, make_schedule(), never)
    assert growth.stop_reason == "distinct_rows"
    np.testing.assert_allclose(growth.codebook.points, x[:1], rtol=1e-15)


def test_growth_counts_its_passes():
    """Samples consumed are passes times weight; the last level has them all."""
    problem, _, weights = random_problem("squared_euclidean")
    growth = grow(problem, make_schedule(axis_passes=3, max_steps=4), never)
    passes = [level.n_samples / weights.sum() for level in growth.levels]
    np.testing.assert_allclose(np.diff(passes), 4 + 1 + 3, rtol=1e-12)
    assert passes[-1] == pytest.approx(growth.n_passes, rel=1e-12)


def test_cooling_on_holds_the_number_and_takes_two_steps_a_level():
    problem, x, weights = random_problem("kullback_leibler")

    def level_of(codebook, temperature, n_passes):
        moments = problem.moments(codebook, temperature)
        return describe_level(
            temperature,
            codebook,
            problem.divergence,
            moments,
            problem.total_phi,
            n_passes,
        )

    start = random_codebook(x, 4)
    levels, codebook = cool(problem, start, level_of(start, 0.8, 7), 0.5, 3)
    assert [level.temperature for level in levels] == [0.4, 0.2, 0.1]
    expected = start
    for i, level in enumerate(levels):
        once = problem.moments(expected, level.temperature).codebook(expected)
        expected = problem.moments(once, level.temperature).codebook(once)
        np.testing.assert_allclose(level.codebook.points, once.points, rtol=1e-12)
        described = level_of(once, level.temperature, 9 + 2 * i)
        assert level.free_energy == pytest.approx(described.free_energy, rel=1e-12)
        passes = level.n_samples / weights.sum()
        assert passes == pytest.approx(9 + 2 * i, rel=1e-12)
    np.testing.assert_allclose(codebook.points, expected.points, rtol=1e-12)


def test_one_codevector_is_the_mean():
    problem, x, weights = random_problem("itakura_saito")
    growth = grow(problem, make_schedule(n_codevectors=1), never)
    mean = mean_codebook(x, weights)
    np.testing.assert_allclose(
        growth.levels[0].codebook.points, mean.points, rtol=1e-13
    )
    # Of one codevector: no entropy, and the free energy is the distortion.
    assert growth.levels[0].entropy == pytest.approx(0.0, abs=1e-12)
    assert growth.levels[0].free_energy == pytest.approx(
        growth.levels[0].distortion, rel=1e-12
    )
