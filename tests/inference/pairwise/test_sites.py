"""Other factors than two states: a spike and slab, three states, against sums."""

import itertools

import numpy as np
import pytest

from odalib import infer_ising
from odalib.inference.ep.likelihood import Likelihood, Match

J = np.array([[0.0, 0.25, 0.1], [0.25, 0.0, -0.2], [0.1, -0.2, 0.0]])
B = np.array([0.4, -0.2, 0.1])


class SpikeAndSlab(Likelihood):
    """``(1 - w) N(x; 0, narrow) + w N(x; 0, wide)``, real-valued."""

    proper_cavities = False
    log_concave = False

    def __init__(self, n_sites, share=0.5, narrow=0.05, wide=1.0):
        self.n_sites = n_sites
        self.shares = np.array([1.0 - share, share])
        self.variances = np.array([narrow, wide])

    def match(self, cavity, sites=slice(None)):
        shift = cavity.shift[:, np.newaxis]
        spread = 1.0 / (1.0 / self.variances + cavity.precision[:, np.newaxis])
        logs = np.log(self.shares) + 0.5 * np.log(spread / self.variances)
        logs += 0.5 * spread * shift**2
        top = logs.max(axis=1, keepdims=True)
        masses = np.exp(logs - top)
        total = masses.sum(axis=1)
        masses /= total[:, np.newaxis]
        means = spread * shift
        mean = (masses * means).sum(axis=1)
        variance = (masses * (spread + means**2)).sum(axis=1) - mean**2
        return Match(
            top[:, 0] + np.log(total),
            mean,
            variance,
            1.0 / variance - cavity.precision,
            mean / variance - cavity.shift,
        )

    def density(self, x):
        parts = self.shares * np.exp(-0.5 * x[..., np.newaxis] ** 2 / self.variances)
        return (parts / np.sqrt(2.0 * np.pi * self.variances)).sum(axis=-1)


class ThreeStates(Likelihood):
    """Values -1, 0 and 1, with weights of their own."""

    proper_cavities = False
    log_concave = False
    states, weights = np.array([-1.0, 0.0, 1.0]), np.array([1.0, 2.0, 1.5])

    def __init__(self, n_sites):
        self.n_sites = n_sites

    def match(self, cavity, sites=slice(None)):
        x = self.states
        logs = np.log(self.weights) + np.multiply.outer(cavity.shift, x)
        logs -= 0.5 * np.multiply.outer(cavity.precision, x**2)
        masses = np.exp(logs)
        norm = masses.sum(axis=1)
        mean = masses @ x / norm
        variance = masses @ x**2 / norm - mean**2
        return Match(
            np.log(norm),
            mean,
            variance,
            1.0 / variance - cavity.precision,
            mean / variance - cavity.shift,
        )


def moments(points, masses):
    total = masses.sum()
    mean = masses @ points / total
    away = points - mean
    return np.log(total), mean, (masses[:, np.newaxis] * away).T @ away / total


def by_quadrature(J, B, site):
    """Trapezoidal rule on a grid of three axes."""
    axis = np.linspace(-7.0, 7.0, 113)
    points = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1)
    points = points.reshape(-1, 3)
    logs = 0.5 * np.einsum("ki,ij,kj->k", points, J, points) + points @ B
    masses = np.exp(logs) * site.density(points).prod(axis=1)
    log_total, mean, covariance = moments(points, masses)
    return log_total + 3.0 * np.log(axis[1] - axis[0]), mean, covariance


@pytest.mark.parametrize("method", ["auto", "adaptive_tap", "double_loop"])
def test_spike_and_slab_against_quadrature(method):
    site = SpikeAndSlab(3)
    inference = infer_ising(J, B, method, site=site)
    assert inference.converged
    log_partition, mean, covariance = by_quadrature(J, B, site)
    assert inference.log_partition == pytest.approx(log_partition, abs=1e-3)
    np.testing.assert_allclose(inference.magnetisations, mean, rtol=0, atol=1e-3)
    np.testing.assert_allclose(inference.correlations, covariance, rtol=0, atol=5e-3)


def test_spike_and_slab_is_exact_without_couplings():
    site = SpikeAndSlab(3)
    inference = infer_ising(np.zeros((3, 3)), B, site=site)
    log_partition, mean, covariance = by_quadrature(np.zeros((3, 3)), B, site)
    assert inference.log_partition == pytest.approx(log_partition, abs=1e-9)
    np.testing.assert_allclose(inference.magnetisations, mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(inference.correlations, covariance, rtol=0, atol=1e-9)


def test_three_states_against_their_sum():
    inference = infer_ising(J, B, site=ThreeStates(3))
    assert inference.converged
    states = np.array(list(itertools.product(ThreeStates.states, repeat=3)))
    weights = np.array(list(itertools.product(ThreeStates.weights, repeat=3)))
    logs = 0.5 * np.einsum("ki,ij,kj->k", states, J, states) + states @ B
    log_partition, mean, covariance = moments(
        states, np.exp(logs) * weights.prod(axis=1)
    )
    assert inference.log_partition == pytest.approx(log_partition, abs=1e-3)
    np.testing.assert_allclose(inference.magnetisations, mean, rtol=0, atol=2e-3)
    np.testing.assert_allclose(inference.correlations, covariance, rtol=0, atol=1e-2)


def test_the_reason_names_the_site():
    assert "site=" in infer_ising(J, B, site=ThreeStates(3)).reason


def test_pairs_are_corrected_for_spins_only():
    inference = infer_ising(J, B, site=ThreeStates(3))
    with pytest.raises(ValueError, match="site=ThreeStates has other values"):
        inference.pair_corrected()


def test_sites_are_counted():
    with pytest.raises(ValueError, match=r"has 2 factors; J has 3 variables"):
        infer_ising(J, B, site=ThreeStates(2))
