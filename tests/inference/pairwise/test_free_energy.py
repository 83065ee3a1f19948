"""The free energy that adaptive TAP makes stationary, computed from its definition."""

import numpy as np
import pytest
from scipy.special import entr

from odalib import infer_ising
from odalib.inference.ep import infer
from odalib.inference.ep.gaussians import Precision
from odalib.inference.ep.likelihood import Cavity, Likelihood, Match
from odalib.inference.ep.spin import Spin

from .models import DENSE, SPARSE, grid, hopfield, model, sk

families = pytest.mark.parametrize("family", SPARSE + DENSE, ids=lambda f: f.__name__)


class FixedMoments(Likelihood):
    """Tilted distributions of given moments, whatever the cavity."""

    proper_cavities = False
    log_concave = False

    def __init__(self, mean, variance):
        self.n_sites, self.mean, self.variance = len(mean), mean, variance

    def match(self, cavity, sites=slice(None)):
        mean, variance = self.mean[sites], self.variance[sites]
        precision = 1.0 / variance - cavity.precision
        shift = mean / variance - cavity.shift
        return Match(np.zeros_like(mean), mean, variance, precision, shift)


def gaussian_energy(J, B, mean, variance):
    """Gibbs free energy of a Gaussian with given moments, and its covariance.

    ``max over gamma, Lambda of gamma' m - Lambda' (v + m^2) / 2 - log Z``.
    """
    inference = infer(
        Precision(-J, B), FixedMoments(mean, variance), tol=1e-12, max_iter=1000
    )
    assert inference.converged
    sites = inference.sites
    energy = sites.shift @ mean - 0.5 * sites.precision @ (variance + mean**2)
    energy -= inference.posterior.log_normaliser
    return energy, inference.posterior.covariance()


def free_energy(J, B, mean):
    """Of spins, in the expectation-consistent approximation."""
    variance = 1.0 - mean**2
    entropy = (entr((1 + mean) / 2) + entr((1 - mean) / 2)).sum()
    counted_twice = 0.5 * np.log(2.0 * np.pi * np.e * variance).sum()
    return gaussian_energy(J, B, mean, variance)[0] - entropy + counted_twice


@families
def test_it_is_minus_the_log_partition_at_the_fixed_point(family):
    J, B = model(family, 1, 10, 0.6)
    inference = infer_ising(J, B, "adaptive_tap", tol=1e-11)
    energy = free_energy(J, B, inference.magnetisations)
    assert inference.log_partition == pytest.approx(-energy, abs=1e-9)


@families
def test_slope_as_couplings_are_turned_on(family):
    """``dG_t / dt = -sum_ij J_ij (chi_ij + m_i m_j) / 2`` at fixed moments."""
    J, B = model(family, 2, 8, 0.5)
    random = np.random.default_rng(0)
    mean, variance = random.uniform(-0.8, 0.8, 8), random.uniform(0.2, 1.0, 8)
    for t in (0.2, 0.8):
        above, below = (
            gaussian_energy((t + sign * 1e-4) * J, B, mean, variance)[0]
            for sign in (1, -1)
        )
        _, covariance = gaussian_energy(t * J, B, mean, variance)
        expected = -0.5 * (J * (covariance + np.outer(mean, mean))).sum()
        assert (above - below) / 2e-4 == pytest.approx(expected, abs=1e-7)


@families
def test_both_halves_are_convex(family):
    """Log normalisers of the Gaussian and of the spins, on random segments."""
    J, B = model(family, 3, 8, 1.0)
    random = np.random.default_rng(1)
    gaussian, spins = Precision(-J, B), Spin(8)
    least = 0.1 - np.linalg.eigvalsh(-J)[0]

    def log_normalisers(precision, shift):
        cavity = Cavity(precision, shift, np.ones(8))
        of_gaussian = gaussian.posterior(least + precision, shift)
        return of_gaussian.log_normaliser, spins.match(cavity).log_norm.sum()

    for _ in range(20):
        ends = np.abs(random.normal(size=(2, 8))), 2.0 * random.normal(size=(2, 8))
        share = random.random()
        inside = [share * a + (1.0 - share) * b for a, b in ends]
        at_ends = np.array([log_normalisers(ends[0][k], ends[1][k]) for k in (0, 1)])
        chord = share * at_ends[0] + (1.0 - share) * at_ends[1]
        assert (np.array(log_normalisers(*inside)) <= chord + 1e-12).all()


@pytest.mark.parametrize(
    ("family", "beta"),
    [(sk, 1.0), (sk, 4.0), (grid, 1.0), (grid, 4.0), (hopfield, 4.0)],
)
def test_double_loop_never_rises(family, beta):
    J, B = model(family, 0, 12, beta, field=0.3 * beta)
    energies = []
    for steps in range(1, 12):
        inference = infer_ising(J, B, "double_loop", max_iter=steps, tol=1e-9)
        # On the way the moments are those of the Gaussian, as of the inner loop.
        energies.append(free_energy(J, B, inference.solution.inference.mean))
    assert (np.diff(energies) <= 1e-10).all()
    assert energies[0] - energies[-1] > 1e-3
