"""Gibbs sampling against enumeration, and the diagnostic against its formula."""

import math

import numpy as np
import pytest

from odalib.inference.pairwise.gibbs import (
    complete,
    gibbs_sample,
    split_r_hat,
    sweeps,
)
from tests.oracles.gaussian_latent import enumerate_ising


def generator(seed=0):
    return np.random.default_rng(seed)


def model(n, seed=0, scale=0.4):
    random = np.random.default_rng(seed)
    upper = np.triu(scale * random.normal(size=(n, n)), 1)
    return upper + upper.T, 0.4 * random.normal(size=n)


def test_draws_have_the_moments_of_the_enumerated_model():
    J, B = model(6)
    # As many chains as draws, which are therefore independent.
    drawn = gibbs_sample(J, B, 20_000, generator(), n_chains=20_000, burn_in=40)
    exact = enumerate_ising(J, B)
    spins = drawn.spins.astype(float)
    errors = np.sqrt((1 - exact.magnetisations**2) / 20_000)
    assert (np.abs(spins.mean(axis=0) - exact.magnetisations) < 5 * errors).all()
    covariances = np.cov(spins.T)
    assert np.abs(covariances - exact.correlations).max() < 5 / math.sqrt(20_000)
    assert (np.abs(drawn.r_hat - 1.0) < 0.05).all()


def test_one_sweep_leaves_the_distribution_as_it_is():
    # Two spins, one sweep: the transition matrix is in closed form.
    J, B = np.array([[0.0, 0.7], [0.7, 0.0]]), np.array([0.3, -0.5])
    start = np.repeat([[1.0], [-1.0]], 100_000, axis=1)
    next(sweeps(start, J, B, generator(), 1))
    first = 1 / (1 + math.exp(-2 * (0.3 - 0.7)))
    after_up = 1 / (1 + math.exp(-2 * (-0.5 + 0.7)))
    after_down = 1 / (1 + math.exp(-2 * (-0.5 - 0.7)))
    up = start == 1.0
    assert up[0].mean() == pytest.approx(first, abs=5 * math.sqrt(0.25 / 1e5))
    second = first * after_up + (1 - first) * after_down
    assert up[1].mean() == pytest.approx(second, abs=5 * math.sqrt(0.25 / 1e5))
    both = (up[0] & up[1]).mean()
    assert both == pytest.approx(first * after_up, abs=5 * math.sqrt(0.25 / 1e5))


def test_only_free_spins_are_drawn():
    J, B = model(5)
    before = generator(1).choice((-1.0, 1.0), (5, 300))
    free = generator(2).random((5, 300)) < 0.5
    after = before.copy()
    next(sweeps(after, J, B, generator(), 1, free))
    assert (after == before)[~free].all() and (after != before)[free].any()
    assert (np.abs(after) == 1.0).all()


def test_what_is_missing_is_drawn_given_the_rest():
    J, B = model(4)
    rows = np.tile(np.array([1, 0, -1, 0], np.int8), (50_000, 1))
    drawn = complete(rows, J, B, generator(), 20)
    assert (drawn[:, [0, 2]] == [1, -1]).all() and (rows[:, 1] == 0).all()
    field = (B + J[:, 0] - J[:, 2])[[1, 3]]
    exact = enumerate_ising(J[np.ix_([1, 3], [1, 3])], field)
    found = drawn[:, [1, 3]].mean(axis=0)
    assert np.abs(found - exact.magnetisations).max() < 5 / math.sqrt(50_000)
    # Other draws, where earlier ones stand in the place of what is missing.
    again = complete(drawn, J, B, generator(1), 1, missing=rows == 0)
    assert (again[:, [0, 2]] == [1, -1]).all() and (again != drawn).any()


def textbook_sweep(chains, J, B, rng, free):
    """Draw spin by spin, chain by chain, from the formula."""
    for i, field in enumerate(B):
        for c in np.flatnonzero(free[i]):
            up = 1 / (1 + math.exp(-2 * (field + J[i] @ chains[:, c])))
            chains[i, c] = 1.0 if rng.random() < up else -1.0


def test_seeded_draws_are_those_of_the_textbook():
    J, B = model(7)
    expected = generator(5).choice((-1.0, 1.0), (7, 9))
    found, every = expected.copy(), np.ones((7, 9), bool)
    one, other = generator(6), generator(6)
    for spins in sweeps(found, J, B, one, 20):
        textbook_sweep(expected, J, B, other, every)
        np.testing.assert_array_equal(spins, expected)
    free = generator(7).random((7, 9)) < 0.4
    for spins in sweeps(found, J, B, one, 20, free):
        textbook_sweep(expected, J, B, other, free)
        np.testing.assert_array_equal(spins, expected)
    assert one.random() == other.random()


def test_what_is_missing_is_drawn_as_the_textbook_does():
    J, B = model(6)
    rows = generator(8).choice(np.array([-1, 0, 1], np.int8), (40, 6))
    rows[:, [1, 4]] = [1, -1]
    rng = generator(9)
    expected, free = rows.T.astype(float), rows.T == 0
    expected[free] = rng.choice((-1.0, 1.0), np.count_nonzero(free))
    for _ in range(5):
        textbook_sweep(expected, J, B, rng, free)
    drawn = complete(rows, J, B, generator(9), 5)
    np.testing.assert_array_equal(drawn, expected.T)


def slow_r_hat(trace):
    """Gelman et al., section 11.4, for one spin and a loop over the half chains."""
    n_sweeps, n_chains = trace.shape
    length = n_sweeps // 2
    halves = [trace[:length, c] for c in range(n_chains)]
    halves += [trace[-length:, c] for c in range(n_chains)]
    means = [half.mean() for half in halves]
    between = length * np.var(means, ddof=1)
    within = np.mean([half.var(ddof=1) for half in halves])
    pooled = (length - 1) / length * within + between / length
    return math.sqrt(pooled / within)


@pytest.mark.parametrize("n_sweeps", [40, 41])
def test_r_hat_is_that_of_the_book(n_sweeps):
    trace = np.where(generator().random((n_sweeps, 6, 3)) < 0.7, 1, -1).astype(np.int8)
    trace[:, 0, 1] = 1
    expected = [slow_r_hat(trace[:, :, i].astype(float)) for i in range(3)]
    np.testing.assert_allclose(split_r_hat(trace), expected, rtol=1e-12)


def test_chains_that_never_moved_agree_or_do_not():
    trace = np.ones((10, 4, 2), np.int8)
    trace[:, 0, 1] = -1
    np.testing.assert_array_equal(split_r_hat(trace), [1.0, np.inf])


def test_couplings_of_800_are_drawn_and_the_chains_say_that_they_are_stuck():
    J = np.array([[0.0, 800.0, 0.0], [800.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    drawn = gibbs_sample(J, np.array([0.0, 0.0, 800.0]), 64, generator(), burn_in=10)
    assert (drawn.spins[:, 0] == drawn.spins[:, 1]).all()
    assert (drawn.spins[:, 2] == 1).all()
    np.testing.assert_array_equal(drawn.r_hat, [np.inf, np.inf, 1.0])


@pytest.mark.parametrize("n_samples", [1, 7, 64, 1000])
def test_the_number_of_draws_is_the_one_asked_for(n_samples):
    J, B = model(3)
    drawn = gibbs_sample(J, B, n_samples, generator(), n_chains=8, burn_in=20)
    assert drawn.spins.shape == (n_samples, 3) and drawn.spins.dtype == np.int8
    again = gibbs_sample(J, B, n_samples, generator(), n_chains=8, burn_in=20)
    np.testing.assert_array_equal(drawn.spins, again.spins)
