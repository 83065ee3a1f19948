"""Levels against direct evaluation, and the free energy that steps never raise."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp

from odalib.inference.annealing.codebook import Codebook
from odalib.inference.annealing.path import describe_level
from tests.oracles.divergences import NAMES, critical_temperature

from .problems import random_codebook, random_problem

names = pytest.mark.parametrize("name", NAMES)


def hottest(problem, name, x, weights):
    precision = getattr(problem.divergence, "precision", None)
    return critical_temperature(name, x, weights, precision)[0]


def divergences_of(problem, x, codebook):
    gradients, offsets = codebook.planes(problem.divergence)
    return problem.phi[:, np.newaxis] + offsets - x @ gradients.T


def free_energy(problem, x, weights, codebook, temperature):
    """``-T`` times the mean of ``log sum_i rho_i exp(-d / T)``, from its formula."""
    exponents = -divergences_of(problem, x, codebook) / temperature
    log_sums = logsumexp(exponents, b=codebook.weights, axis=1)
    return -temperature * np.average(log_sums, weights=weights)


def level_of(problem, codebook, temperature):
    moments = problem.moments(codebook, temperature)
    return describe_level(
        temperature, codebook, problem.divergence, moments, problem.total_phi, 0
    )


@names
def test_level_is_what_direct_evaluation_gives(name):
    problem, x, weights = random_problem(name)
    codebook, temperature = random_codebook(x, 4), 0.4 * problem.phi.std()
    level = level_of(problem, codebook, temperature)
    d = divergences_of(problem, x, codebook)
    logits = np.log(codebook.weights) - d / temperature
    log_p = logits - logsumexp(logits, axis=1, keepdims=True)
    p, share = np.exp(log_p), weights / weights.sum()
    distortion = share @ (p * d).sum(axis=1)
    entropy = -share @ (p * log_p).sum(axis=1)
    direct = free_energy(problem, x, weights, codebook, temperature)
    assert level.distortion == pytest.approx(distortion, rel=1e-9)
    assert level.entropy == pytest.approx(entropy, rel=1e-9)
    assert level.free_energy == pytest.approx(direct, rel=1e-10)
    prior = share @ p @ np.log(codebook.weights)
    by_parts = level.distortion - temperature * (level.entropy + prior)
    assert level.free_energy == pytest.approx(by_parts, rel=1e-9)


@given(
    name=st.sampled_from(NAMES),
    seed=st.integers(0, 2**16),
    n_codevectors=st.integers(1, 5),
    log_ratio=st.floats(-6.0, 1.0),
)
def test_free_energy_never_rises_at_one_temperature(
    name, seed, n_codevectors, log_ratio
):
    problem, x, weights = random_problem(name, (20, 2), seed)
    critical = hottest(problem, name, x, weights)
    temperature = critical * math.exp(log_ratio)
    codebook, energies = random_codebook(x, n_codevectors, seed), []
    for _ in range(6):
        energies.append(free_energy(problem, x, weights, codebook, temperature))
        codebook = problem.moments(codebook, temperature).codebook(codebook)
    rounding = 1e-12 * (np.abs(problem.phi).max() + temperature)
    assert (np.diff(energies) <= rounding).all()


@names
def test_fixed_point_is_stationary(name):
    """No small move of a codevector, nor of weight, changes it to first order."""
    problem, x, weights = random_problem(name, (30, 2))
    critical = hottest(problem, name, x, weights)
    temperature = 0.4 * critical
    start = random_codebook(x, 3)
    codebook = start
    for _ in range(2000):
        codebook = problem.moments(codebook, temperature).codebook(codebook)

    def slope(codebook, points, weight_change):
        moved = [
            Codebook(
                codebook.points + sign * points, codebook.weights + sign * weight_change
            )
            for sign in (1.0, -1.0)
        ]
        up, down = (free_energy(problem, x, weights, c, temperature) for c in moved)
        return abs(up - down)

    step = 1e-4 * codebook.points.min() if codebook.points.min() > 0 else 1e-4
    for i in range(3):
        for points in step * np.eye(6).reshape(6, 3, 2):
            assert (
                slope(codebook, points, 0.0) < 1e-3 * slope(start, points, 0.0) + 1e-13
            )
        change = 1e-5 * (np.arange(3) == i) - 1e-5 / 3.0
        assert slope(codebook, 0.0, change) < 1e-3 * slope(start, 0.0, change) + 1e-13
