"""Many classes by the kernels that serve, compiled or not, against those in NumPy."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr

from odalib.inference.ep.coupling import couple
from odalib.kernels import association as serving
from odalib.kernels.reference import coupling as reference

SLACK = 1e-12


def problem(n_classes, n_features, n_rows, seed, *, has_constant=True, spread=1.0):
    """Rows, means and roots of the weights of all pairs, and widths."""
    random = np.random.default_rng([n_classes, n_features, n_rows, seed])
    n_pairs = n_classes * (n_classes - 1) // 2
    n_weights = n_features + has_constant
    rows = random.normal(size=(n_rows, n_features))
    # Of classes with weights of their own, so that there are winners.
    weights = spread * random.normal(size=(n_classes, n_weights))
    means = np.array([b - a for a, b in combinations(weights, 2)])
    roots = 0.3 * random.normal(size=(n_pairs, n_weights, n_weights))
    widths = np.linalg.norm(roots, 2, axis=(1, 2)) ** 2
    return rows, means, roots, (1.0 + 1e-9) * widths


def coupled(rows, means, roots):
    mean, variance = serving.latent_moments(rows, means, roots)
    return reference.couple_margins(mean / np.sqrt(1.0 + variance))[0]


@given(
    n_classes=st.integers(2, 9),
    n_rows=st.integers(1, 90),
    seed=st.integers(0, 2**16),
    spread=st.sampled_from([1e-3, 1.0, 5.0]),
)
def test_coupled_margins(n_classes, n_rows, seed, spread):
    random = np.random.default_rng(seed)
    n_pairs = n_classes * (n_classes - 1) // 2
    margins = spread * random.normal(size=(n_rows, n_pairs))
    found, rarest = serving.couple_margins(margins)
    expected, least = reference.couple_margins(margins)
    np.testing.assert_allclose(found, expected, rtol=1e-11)
    np.testing.assert_allclose(rarest, least, rtol=1e-11)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-14)


def test_coupled_margins_are_the_stationary_distribution():
    """Against the elimination in logarithms; margins in any layout."""
    margins = np.asfortranarray(np.random.default_rng(3).normal(size=(50, 10)))
    found, rarest = serving.couple_margins(margins)
    expected = np.exp(couple(np.log(ndtr(-margins)), np.log(ndtr(margins))))
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_allclose(rarest, ndtr(-np.abs(margins)).min(axis=1), rtol=1e-13)


def test_rates_too_small_to_be_multiplied_are_told():
    margins = np.array([[-38.0, 38.5, 37.0], [1.0, 2.0, 3.0], [50.0, 50.0, 50.0]])
    found, rarest = serving.couple_margins(margins)
    assert rarest[0] < 1e-300 and rarest[2] == 0.0
    np.testing.assert_allclose(found[1].sum(), 1.0)


@given(
    n_classes=st.integers(2, 8),
    n_features=st.integers(1, 24),
    n_rows=st.integers(1, 90),
    seed=st.integers(0, 2**16),
    has_constant=st.booleans(),
    spread=st.sampled_from([0.1, 1.0, 5.0]),
)
def test_winners(n_classes, n_features, n_rows, seed, has_constant, spread):
    """Those that are sure have more than half of the coupled probability."""
    rows, means, roots, widths = problem(
        n_classes, n_features, n_rows, seed, has_constant=has_constant, spread=spread
    )
    winners, largest = serving.sure_winners(rows, means, widths, SLACK)
    expected, size = reference.sure_winners(rows, means, widths, SLACK)
    # Of bounds that meet their limit within rounding, none here.
    np.testing.assert_array_equal(winners, expected)
    assert largest == size
    sure = np.flatnonzero(winners >= 0)
    probabilities = coupled(rows[sure], means, roots)
    assert (probabilities[np.arange(len(sure)), winners[sure]] > 0.5).all()


def test_most_rows_of_distant_classes_have_a_sure_winner():
    rows, means, _, widths = problem(5, 20, 2000, 0, spread=5.0)
    winners, _ = serving.sure_winners(rows, means, 1e-3 * widths, SLACK)
    assert (winners >= 0).mean() > 0.8
    assert set(winners) == {-1, 0, 1, 2, 3, 4}
    # Wide beliefs leave none.
    winners, _ = serving.sure_winners(rows, means, 1e6 * widths, SLACK)
    assert (winners == -1).all()


def test_the_losses_of_a_sure_winner_are_the_bound():
    """One feature, x = 1: a margin of z in every pair, four rivals."""
    for z, expected in ((0.85, 0), (0.83, -1)):
        # Phi(-z) = 1 / 5 at z = 0.8416.
        means = np.zeros((10, 1))
        means[:4] = -z * np.sqrt(1.5)
        winners, _ = serving.sure_winners(np.ones((1, 1)), means, np.full(10, 0.5), 0.0)
        assert winners == [expected]


def test_losses_stay_below_one_by_the_slack():
    """Four rivals at z = 0.9: 5 Phi(-0.9) = 0.920."""
    means = np.zeros((10, 1))
    means[:4] = -0.9
    for slack, expected in ((0.07, 0), (0.09, -1)):
        winners, _ = serving.sure_winners(np.ones((1, 1)), means, np.zeros(10), slack)
        assert winners == [expected]


def test_the_feature_that_is_one_has_its_share_of_the_variance():
    """At x = 0, where all is the intercept's, as above."""
    for z, expected in ((0.85, 0), (0.83, -1)):
        means = np.zeros((10, 2))
        means[:4, 1] = -z * np.sqrt(1.5)
        winners, _ = serving.sure_winners(
            np.zeros((1, 1)), means, np.full(10, 0.5), 0.0
        )
        assert winners == [expected]


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_losses_are_bounded(sign):
    z = np.linspace(0.0, 10.0, 20_001)
    bound = 0.5 / np.polyval(reference.LOSS, z) ** 4 + reference.LOSS_ERROR
    assert (bound > ndtr(-z)).all()
    assert (bound < ndtr(-z) + 2.0 * reference.LOSS_ERROR).all()
    # Of two classes, the winner loses less than one time in two.
    winners, _ = serving.sure_winners(sign * z[:, np.newaxis], [[1.0]], [0.0], SLACK)
    np.testing.assert_array_equal(winners >= 0, 2.0 * bound < 1.0 - SLACK)
    assert (winners[1000:] == (1 if sign > 0.0 else 0)).all()


@pytest.mark.parametrize(
    "layout",
    [np.asfortranarray, lambda rows: rows[::-1], sp.csr_array, sp.csr_matrix],
    ids=["fortran", "reversed", "csr array", "csr matrix"],
)
def test_rows_in_any_layout(layout):
    rows, means, _, widths = problem(4, 6, 100, 1, spread=3.0)
    winners, largest = serving.sure_winners(layout(rows), means, 0.1 * widths, SLACK)
    expected, size = serving.sure_winners(rows, means, 0.1 * widths, SLACK)
    is_reversed = (
        isinstance(layout(rows), np.ndarray) and layout(rows)[0, 0] != rows[0, 0]
    )
    np.testing.assert_array_equal(winners, expected[::-1] if is_reversed else expected)
    assert largest == size


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_told(value):
    rows, means, _, widths = problem(3, 4, 50, 2)
    rows[33, 2] = value
    assert not np.isfinite(serving.sure_winners(rows, means, widths, SLACK)[1])
    assert not np.isfinite(serving.row_sums(rows, np.ones(4), 0.0)[1])
    assert not np.isfinite(serving.largest_size(rows))


def test_arrays_that_do_not_belong_together_are_refused():
    rows, means, _, widths = problem(3, 4, 10, 3)
    for wrong in (
        (rows, means[:2], widths[:2]),
        (rows, means[:, :3], widths),
        (rows, means, widths[:2]),
    ):
        with pytest.raises(ValueError):
            serving.sure_winners(*wrong, SLACK)
    with pytest.raises(ValueError, match="2 problems"):
        serving.couple_margins(np.ones((4, 2)))
