"""Growth by perturbation against an independent Algorithm 1, level by level."""

import numpy as np
import pytest

from odalib.inference.annealing import anneal
from odalib.inference.annealing.anneal import grow
from tests.oracles.algorithm1 import Rule, algorithm1, mean_step
from tests.oracles.divergences import CLOSED_FORMS, critical_temperature

from .problems import make_problem, make_schedule


def cloud():
    """Sixteen positive rows without groups: codevectors part soon one after another."""
    return np.random.default_rng(0).uniform([1.0, 2.0], [7.0, 5.0], size=(16, 2))


def grow_recorded(problem, schedule, monkeypatch):
    """Growth, and by what every codevector was displaced at every level."""
    displacements, original = [], anneal.split

    def recorded(codebook, divergence, directions, squared_steps, chosen):
        displacements.append(np.sqrt(squared_steps)[:, np.newaxis] * directions)
        return original(codebook, divergence, directions, squared_steps, chosen)

    monkeypatch.setattr(anneal, "split", recorded)
    growth = grow(problem, schedule, lambda level: False)
    return growth, displacements


@pytest.mark.parametrize("epsilon_r", [1e-3, 0.08], ids=["all stay", "idle drop"])
@pytest.mark.parametrize("online", [True, False], ids=["row by row", "fixed point"])
@pytest.mark.parametrize("name", ["squared_euclidean", "kullback_leibler"])
def test_growth_is_algorithm_1(name, online, epsilon_r, monkeypatch):
    x = cloud()
    critical, _ = critical_temperature(name, x, np.ones(16))
    hottest = 1.1 * critical
    rule = Rule(
        gamma=0.8,
        epsilon_c=1e-3,
        epsilon_n=0.01,
        epsilon_r=epsilon_r,
        fallen_back=anneal.FALLEN_BACK,
        k_max=5,
        t_min=0.05 * critical,
        max_passes=200,
        online=online,
        age=16.0,
    )
    schedule = make_schedule(
        n_codevectors=rule.k_max,
        split="perturb",
        cooling=rule.gamma,
        max_temperature=hottest,
        min_temperature=rule.t_min,
        merge_tol=rule.epsilon_n,
        idle_tol=rule.epsilon_r,
        tol=rule.epsilon_c,
        max_steps=rule.max_passes,
        axis_passes=0,
        batch_size=1 if online else None,
    )
    growth, displacements = grow_recorded(make_problem(x, name), schedule, monkeypatch)
    records = algorithm1(
        CLOSED_FORMS[name],
        x.tolist(),
        hottest,
        rule,
        lambda level, _: displacements[level].tolist(),
        None if online else mean_step,
    )
    sizes = [len(record.weights) for record in records]
    assert [len(level.codebook) for level in growth.levels] == sizes
    for level, record in zip(growth.levels, records, strict=True):
        assert level.temperature == pytest.approx(record.temperature, rel=1e-14)
        np.testing.assert_allclose(level.codebook.points, record.points, rtol=1e-9)
        np.testing.assert_allclose(level.codebook.weights, record.weights, rtol=1e-9)
    # One pass for the mean, eleven for the first critical temperature, and one per
    # level that describes it.
    assert growth.n_passes == 12 + sum(record.n_passes + 1 for record in records)
