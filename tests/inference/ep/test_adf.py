"""Beliefs that learn rows one by one, and the orders in which they do."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr
from scipy.stats import kstest

from odalib.inference.ep import infer
from odalib.inference.ep.adf import (
    DiagonalBelief,
    Prior,
    RelaxingBelief,
    RootBelief,
    begin,
    with_forgetting,
)
from odalib.inference.ep.gaussians.linear import WeightSpace
from odalib.inference.ep.gaussians.weights import prior_belief
from odalib.inference.ep.orderings import average, draw_order
from odalib.inference.ep.probit import Probit

LAYOUTS = {"dense": np.asarray, "csr": sp.csr_array}
layouts = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
# Covariance and forgetting of every kind of belief.
KINDS = {
    "root": ("full", 1.0),
    "relaxing": ("full", 0.95),
    "diagonal": ("diagonal", 1.0),
    "relaxing diagonal": ("diagonal", 0.95),
}
kinds = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def standard_prior(d, variance=1.0):
    return Prior(np.zeros(d), np.full(d, variance))


def problem(n=200, d=3, seed=0):
    """Rows with zeros, noisy labels, and weights of all kinds."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(n, d)) * (random.random((n, d)) < 0.8)
    y = np.where(x @ random.normal(size=d) + random.normal(size=n) > 0, 1.0, -1.0)
    return x, y, random.choice([1.0, 2.0, 0.3, 1.6], n)


def grid_moments(prior, x, label, noise):
    """Mean and covariance of the posterior of two weights, by summing over a grid."""
    half = 12.0 * np.sqrt(prior.variance)
    axes = [
        np.linspace(m - h, m + h, 1201) for m, h in zip(prior.mean, half, strict=True)
    ]
    w = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    mass = np.exp(-0.5 * ((w - prior.mean) ** 2 / prior.variance).sum(axis=1))
    mass *= ndtr(label * (w @ x) / np.sqrt(noise))
    mass /= mass.sum()
    mean = mass @ w
    return mean, (w - mean).T @ ((w - mean) * mass[:, None])


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_one_row_gives_the_moments_of_the_posterior(covariance):
    prior = Prior(np.array([0.5, -1.0]), np.array([2.0, 0.7]))
    x, label, noise = np.array([1.0, -1.5]), -1.0, 0.6
    belief = begin(prior, covariance, noise_variance=noise)
    mean, spread = belief.learn(x[None], np.array([label]), np.ones(1)).moments
    expected_mean, expected = grid_moments(prior, x, label, noise)
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-9)
    if covariance == "diagonal":
        expected = np.diag(expected)
    np.testing.assert_allclose(spread, expected, rtol=1e-9)


@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_one_pass_is_the_single_pass_of_expectation_propagation(noise):
    x, y, _ = problem(n=40)
    x = x[x.any(axis=1)]
    y = np.sign(x[:, 0] + 0.1) if noise == 0.0 else y[: len(x)]
    model = WeightSpace(x, prior_belief(np.ones(3)).as_dense())
    inference = infer(model, Probit(y, noise), solver="single_pass")
    belief = begin(standard_prior(3), "full", noise_variance=noise)
    mean, variance = belief.learn(x, y, np.ones(len(y))).latent(x)
    np.testing.assert_allclose(mean, inference.mean, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(variance, inference.variance, rtol=1e-11)


def test_rows_of_one_feature_keep_weights_independent():
    """The two kinds of belief then agree."""
    x, y, weights = problem(d=4)
    x = x * np.eye(4)[np.arange(len(x)) % 4]
    prior = standard_prior(4, 3.0)
    full = begin(prior, "full").learn(x, y, weights)
    diagonal = begin(prior, "diagonal").learn(x, y, weights)
    np.testing.assert_allclose(diagonal.moments[0], full.moments[0], rtol=1e-12)
    np.testing.assert_allclose(
        np.diag(diagonal.moments[1]), full.moments[1], rtol=1e-11, atol=1e-14
    )


@kinds
@layouts
def test_latent_values_by_the_moments(kind, layout):
    x, y, weights = problem()
    belief = begin(standard_prior(3), *kind).learn(layout(x), y, weights)
    mean, spread = belief.moments
    spread = np.diag(spread) if spread.ndim == 1 else spread
    latent = belief.latent(layout(x))
    np.testing.assert_allclose(latent[0], x @ mean, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(latent[1], np.diag(x @ spread @ x.T), rtol=1e-11)


@kinds
@given(cuts=st.lists(st.integers(0, 60), max_size=6))
def test_how_a_stream_is_cut_changes_no_bit(kind, cuts):
    x, y, weights = problem(60)
    whole = begin(standard_prior(3), *kind)
    cut = whole
    for rows in np.split(np.arange(len(x)), sorted(cuts)):
        cut = cut.learn(x[rows], y[rows], weights[rows])
    for a, b in zip(cut.moments, whole.learn(x, y, weights).moments, strict=True):
        np.testing.assert_array_equal(a, b)


@kinds
def test_a_belief_stays_as_it_is(kind):
    x, y, weights = problem()
    belief = begin(standard_prior(3), *kind).learn(x, y, weights)
    before = [part.copy() for part in belief.moments]
    belief.learn(x, -y, weights)
    fresh = replace(belief)
    for part, expected in zip(fresh.moments, before, strict=True):
        np.testing.assert_array_equal(part, expected)


@kinds
def test_an_integer_weight_is_a_row_repeated(kind):
    x, y, _ = problem()
    weights = np.arange(len(x)) % 3 + 1
    belief = begin(standard_prior(3), *kind)
    weighted = belief.learn(x, y, weights.astype(float))
    repeated = belief.learn(
        x.repeat(weights, 0), y.repeat(weights), np.ones(weights.sum())
    )
    for a, b in zip(weighted.moments, repeated.moments, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-14)


@kinds
def test_weights_are_continuous(kind):
    x, y, _ = problem()
    belief = begin(standard_prior(3), *kind)
    below = belief.learn(x, y, np.full(len(x), 2.0 - 1e-11))
    for a, b in zip(
        below.moments, belief.learn(x, y, np.full(len(x), 2.0)).moments, strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_what_is_not_seen_again_is_forgotten(covariance):
    """Rows without a feature: after m of them ``f^m`` of what was learnt is left."""
    prior = Prior(np.array([0.0, 1.0]), np.array([1.0, 4.0]))
    belief = begin(prior, covariance, 0.9)
    belief = belief.learn(np.array([[0.0, 2.0]]), np.ones(1), np.ones(1))
    mean, spread = belief.moments
    belief = belief.learn(np.array([[1.0, 0.0]] * 7), -np.ones(7), np.ones(7))
    later_mean, later = belief.moments
    spread, later = (np.diag(s) if s.ndim == 2 else s for s in (spread, later))
    np.testing.assert_allclose(
        later_mean[1] - 1.0, 0.9**7 * (mean[1] - 1.0), rtol=1e-12
    )
    np.testing.assert_allclose(later[1] - 4.0, 0.9**14 * (spread[1] - 4.0), rtol=1e-12)


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_forgetting_may_begin_and_end(covariance):
    """What is believed does not change by it, what follows does."""
    x, y, weights = problem()
    kept = begin(standard_prior(3), covariance).learn(x, y, weights)
    forgetful = with_forgetting(kept, 0.9)
    again = with_forgetting(forgetful, 1.0)
    for belief in (forgetful, again):
        for a, b in zip(belief.moments, kept.moments, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-16)
    assert with_forgetting(kept, 1.0) is kept
    for a, b in zip(
        again.learn(x, y, weights).moments,
        kept.learn(x, y, weights).moments,
        strict=True,
    ):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-15)
    after = forgetful.learn(np.zeros((1, 3)), np.ones(1), np.ones(1)).moments[0]
    np.testing.assert_allclose(after, 0.9 * kept.moments[0], rtol=1e-13)


def test_beliefs_are_held_as_they_serve():
    prior = standard_prior(2)
    assert isinstance(begin(prior, "full"), RootBelief)
    assert isinstance(begin(prior, "full", 0.9), RelaxingBelief)
    assert isinstance(begin(prior, "diagonal", 0.9), DiagonalBelief)


@pytest.mark.parametrize("forgetting", [1.0, 0.999])
@pytest.mark.parametrize("scale", [1.0, 1e8])
def test_covariances_stay_positive_definite(forgetting, scale):
    """A wide prior, correlated features: variances relative to their diagonal."""
    random = np.random.default_rng(0)
    belief = begin(standard_prior(4, 1e6), "full", forgetting)
    for _ in range(20):
        x = random.normal(size=(500, 1)) + 0.1 * random.normal(size=(500, 4))
        y = np.where(x[:, 0] + random.normal(size=500) > 0, 1.0, -1.0)
        belief = belief.learn(scale * x, y, np.ones(500))
        spread = belief.moments[1]
        np.testing.assert_array_equal(spread, spread.T)
        width = np.sqrt(np.diag(spread))
        smallest = np.linalg.eigvalsh(spread / np.outer(width, width)).min()
        # Nothing but rounding would make it so small.
        assert smallest > 1e-8
        assert belief.latent(scale * x)[1].min() > 0.0


# Orders


def teacher(d, n_rows, seed):
    random = np.random.default_rng(seed)
    w = random.normal(size=d)
    x = random.normal(size=(n_rows, d))
    return w, x, np.sign(x @ w)


def error(mean, w):
    """Share of rows on which two directions disagree."""
    cosine = mean @ w / np.linalg.norm(mean) / np.linalg.norm(w)
    return np.arccos(cosine) / np.pi


def test_generalisation_on_noiseless_teachers():
    """The errors that benchmarks/adf.py finds over 200 teachers and more.

    Within three standard errors of 30 teachers.
    """
    for ratio, expected in ((4, 0.107), (8, 0.061)):
        errors = []
        for seed in range(30):
            w, x, y = teacher(25, 25 * ratio, seed)
            belief = begin(standard_prior(25), "full", noise_variance=0.0)
            mean, _ = belief.learn(x, y, np.ones(len(y))).moments
            errors.append(error(mean, w))
        margin = 3.0 * np.std(errors) / np.sqrt(30)
        assert abs(np.mean(errors) - expected) < margin


def test_orders_disagree_and_their_average_less():
    w, x, y = teacher(25, 100, 0)
    random = np.random.default_rng(1)

    def one_order():
        rows = random.permutation(100)
        belief = begin(standard_prior(25), "full", noise_variance=0.0)
        return belief.learn(x[rows], y[rows], np.ones(100))

    single = [one_order().moments[0] for _ in range(20)]
    averaged = [average([one_order() for _ in range(10)]).moments[0] for _ in range(10)]
    spread = [np.std(means, axis=0).mean() for means in (single, averaged)]
    # A tenth of the variance is .32 of the spread.
    assert 0.1 * spread[0] < spread[1] < 0.6 * spread[0]
    assert np.mean([error(m, w) for m in averaged]) < np.mean(
        [error(m, w) for m in single]
    )


@kinds
def test_average_is_that_of_the_mixture(kind):
    x, y, weights = problem()
    random = np.random.default_rng(0)
    beliefs = []
    for _ in range(4):
        rows = random.permutation(len(x))
        belief = begin(standard_prior(3), *kind)
        beliefs.append(belief.learn(x[rows], y[rows], weights[rows]))
    combined = average(beliefs)
    assert type(combined) is type(beliefs[0])
    means = [belief.moments[0] for belief in beliefs]
    spreads = [belief.moments[1] for belief in beliefs]
    if spreads[0].ndim == 1:
        second = [s + m**2 for m, s in zip(means, spreads, strict=True)]
        expected = np.mean(second, axis=0) - np.mean(means, axis=0) ** 2
    else:
        second = [s + np.outer(m, m) for m, s in zip(means, spreads, strict=True)]
        mean = np.mean(means, axis=0)
        expected = np.mean(second, axis=0) - np.outer(mean, mean)
    np.testing.assert_allclose(combined.moments[0], np.mean(means, axis=0), rtol=1e-13)
    np.testing.assert_allclose(combined.moments[1], expected, rtol=1e-11, atol=1e-14)
    onwards = combined.learn(x[:3], y[:3], np.ones(3))
    assert np.isfinite(onwards.moments[1]).all()


def test_the_average_of_one_is_that_one():
    belief = begin(standard_prior(2), "full")
    assert average([belief]) is belief


def visited(x, codes, weights, seed=0):
    """What is visited, in order: rows, classes and shares."""
    visits, shares = draw_order(x, codes, weights, seed)
    rows = x[visits]
    return (rows.toarray() if sp.issparse(rows) else rows), codes[visits], shares


def categories(n=300, seed=0):
    """Few distinct rows, some of them the same numbers in another order."""
    random = np.random.default_rng(seed)
    return random.choice([0.0, 1.0], (n, 3)), random.integers(0, 2, n)


@layouts
@pytest.mark.parametrize("seed", [0, 1])
def test_orders_depend_on_what_rows_hold(layout, seed):
    """Not on where they stand, nor on whether they are repeated or weighted."""
    for x, codes in (categories(), (problem(300)[0], categories()[1])):
        weights = np.random.default_rng(2).choice([1.0, 2.0, 0.4, 1.7], len(x))
        expected = visited(layout(x), codes, weights, seed)
        order = np.random.default_rng(3).permutation(len(x))
        found = visited(layout(x[order]), codes[order], weights[order], seed)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)
        counts = np.arange(len(x)) % 3 + 1
        repeated = np.random.default_rng(4).permutation(
            np.arange(len(x)).repeat(counts)
        )
        for a, b in zip(
            visited(layout(x[repeated]), codes[repeated], np.ones(len(repeated)), seed),
            visited(layout(x), codes, counts.astype(float), seed),
            strict=True,
        ):
            np.testing.assert_array_equal(a, b)


def test_every_unit_of_weight_is_visited_once():
    x, codes = categories(50)
    weights = np.random.default_rng(2).choice([1.0, 3.0, 0.25, 1.5], 50)
    visits, shares = draw_order(x, codes, weights, 0)
    np.testing.assert_allclose(np.bincount(visits, shares), weights, rtol=1e-15)
    assert set(shares) == {1.0, 0.25, 0.5}
    assert len(visits) == np.ceil(weights).sum()


def test_copies_are_visited_at_random_times():
    """At a level of 1e-3: the times of each of 8 distinct rows are uniform."""
    x, codes = categories(4000)
    visits, _ = draw_order(x, codes, np.ones(4000), 0)
    distinct = x[visits] @ [1, 2, 4]
    for row in range(8):
        times = np.flatnonzero(distinct == row) / 4000
        assert kstest(times, "uniform").pvalue > 1e-3
    assert kstest(np.flatnonzero(codes[visits] == 1) / 4000, "uniform").pvalue > 1e-3
    # Copies one after the other are no more frequent than by chance.
    follows = np.mean(distinct[1:] == distinct[:-1])
    assert abs(follows - 1 / 8) < 4 * np.sqrt(7 / 64 / 4000)
    other, _ = draw_order(x, codes, np.ones(4000), 1)
    assert (other != visits).mean() > 0.99
