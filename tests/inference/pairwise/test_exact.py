"""Enumeration and elimination, against brute force and closed forms."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from odalib.inference.pairwise import exact as exact_module
from odalib.inference.pairwise.couplings import check_couplings
from odalib.inference.pairwise.elimination import (
    LARGEST_WIDTH,
    eliminate,
    tree_width,
)
from odalib.inference.pairwise.exact import MOST_SPINS, enumerate_states
from tests.oracles.gaussian_latent import enumerate_ising


def symmetric(upper):
    upper = np.triu(upper, 1)
    return upper + upper.T


def random_couplings(seed, n, share, scale):
    random = np.random.default_rng(seed)
    present = random.uniform(size=(n, n)) < share
    J = symmetric(scale * random.normal(size=(n, n)) * present)
    return J, random.normal(size=n)


def random_tree(seed, n):
    """Couplings of a random tree, and the parent of every spin but the first."""
    random = np.random.default_rng(seed)
    parents = np.array([random.integers(i) for i in range(1, n)])
    values = random.normal(size=n - 1)
    J = sp.coo_array((values, (np.arange(1, n), parents)), shape=(n, n)).tocsr()
    return J + J.T, parents, values


def grid(side, seed):
    random = np.random.default_rng(seed)
    number = np.arange(side**2).reshape(side, side)
    J = np.zeros((side**2, side**2))
    for one, other in ((number[1:], number[:-1]), (number[:, 1:], number[:, :-1])):
        J[one.ravel(), other.ravel()] = 0.5 * random.normal(size=one.size)
    return J + J.T, 0.3 * random.normal(size=side**2)


def all_pairs_of(J, B):
    return eliminate(check_couplings(J, B), all_pairs=True)


def enumerated(J, B):
    return enumerate_states(check_couplings(J, B))


exactly = pytest.mark.parametrize("exact", [enumerated, all_pairs_of])


def assert_exact(moments, J, B, rtol=1e-12):
    oracle = enumerate_ising(J, B)
    np.testing.assert_allclose(
        moments.magnetisations, oracle.magnetisations, rtol=0, atol=rtol
    )
    np.testing.assert_allclose(
        moments.covariances, oracle.correlations, rtol=0, atol=rtol
    )
    assert moments.log_partition == pytest.approx(oracle.log_partition, rel=rtol)


@exactly
@given(
    seed=st.integers(0, 2**16),
    n=st.integers(1, 9),
    share=st.sampled_from([0.2, 0.5, 1.0]),
    scale=st.sampled_from([0.3, 1.0, 4.0]),
)
def test_moments_of_all_states(exact, seed, n, share, scale):
    J, B = random_couplings(seed, n, share, scale)
    assert_exact(exact(J, B), J, B)


@exactly
def test_small_grid(exact):
    J, B = grid(3, 1)
    assert_exact(exact(J, B), J, B)


@given(seed=st.integers(0, 2**16), share=st.sampled_from([0.2, 0.5]))
def test_edges_and_all_pairs_agree(seed, share):
    couplings = check_couplings(*random_couplings(seed, 12, share, 1.0))
    on_edges, of_pairs = eliminate(couplings), eliminate(couplings, all_pairs=True)
    expected = couplings.pick_edges(of_pairs.covariances)
    np.testing.assert_allclose(
        on_edges.covariances.toarray(), expected.toarray(), rtol=0, atol=1e-13
    )
    np.testing.assert_array_equal(on_edges.magnetisations, of_pairs.magnetisations)
    assert on_edges.log_partition == of_pairs.log_partition


def test_enumeration_and_elimination_agree_at_their_largest():
    J, B = random_couplings(3, LARGEST_WIDTH + 1, 1.0, 0.3)
    couplings = check_couplings(J, B)
    assert tree_width(couplings) == LARGEST_WIDTH
    one, other = enumerate_states(couplings), eliminate(couplings, all_pairs=True)
    np.testing.assert_allclose(
        one.magnetisations, other.magnetisations, rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(one.covariances, other.covariances, rtol=0, atol=1e-12)
    assert one.log_partition == pytest.approx(other.log_partition, rel=1e-13)


def test_forest_of_thousands_without_fields():
    """``log Z = n log 2 + sum log cosh J``, and ``E[x_i x_j] = tanh J_ij``."""
    one, parents, values = random_tree(1, 2500)
    couplings = check_couplings(sp.block_diag([one, one], format="csr"), np.zeros(5000))
    assert tree_width(couplings) == 1
    moments = eliminate(couplings)
    np.testing.assert_allclose(moments.magnetisations, 0.0, rtol=0, atol=1e-14)
    of_edges = moments.covariances[np.arange(1, 2500), parents]
    np.testing.assert_allclose(of_edges, np.tanh(values), rtol=1e-12)
    expected = 5000 * math.log(2.0) + 2.0 * np.log(np.cosh(values)).sum()
    assert moments.log_partition == pytest.approx(expected, rel=1e-13)


def test_chain_of_thousands_with_a_field():
    """The transfer matrix of a uniform chain, whose far ends see its eigenvectors."""
    n, J, B = 3000, 0.7, 0.2
    chain = sp.diags_array([J, J], offsets=[-1, 1], shape=(n, n), format="csr")
    moments = eliminate(check_couplings(chain, np.full(n, B)))
    transfer = np.exp([[J + B, -J], [-J, J - B]])
    largest = np.linalg.eigvalsh(transfer)[-1]
    end = np.exp([B / 2, -B / 2])
    vector = np.linalg.eigh(transfer)[1][:, -1]
    log_partition = (n - 1) * math.log(largest) + 2.0 * math.log(abs(end @ vector))
    assert moments.log_partition == pytest.approx(log_partition, rel=1e-13)
    middle = math.sinh(B) / math.sqrt(math.sinh(B) ** 2 + math.exp(-4.0 * J))
    assert moments.magnetisations[n // 2] == pytest.approx(middle, abs=1e-12)


def test_all_pairs_of_a_tree():
    """Without fields ``E[x_i x_j]`` is the product of tanh J along the way."""
    J, parents, values = random_tree(2, 300)
    expected = np.eye(300)
    for spin, parent, value in zip(range(1, 300), parents, values, strict=True):
        row = np.tanh(value) * expected[parent, :spin]
        expected[spin, :spin] = expected[:spin, spin] = row
    moments = eliminate(check_couplings(J, np.zeros(300)), all_pairs=True)
    np.testing.assert_allclose(moments.covariances, expected, rtol=0, atol=1e-12)


@exactly
def test_couplings_of_800(exact):
    """A ring whose couplings leave two states, and one that frustration leaves six."""
    ring = np.zeros((6, 6))
    ring[np.arange(6), np.arange(1, 7) % 6] = 800.0
    ring += ring.T
    moments = exact(ring, np.zeros(6))
    np.testing.assert_allclose(moments.magnetisations, 0.0, rtol=0, atol=1e-12)
    np.testing.assert_allclose(moments.covariances, 1.0, rtol=0, atol=1e-12)
    assert moments.log_partition == pytest.approx(4800.0 + math.log(2.0), rel=1e-13)

    ring[0, 1] = ring[1, 0] = -800.0
    moments = exact(ring, np.zeros(6))
    assert_exact(moments, ring, np.zeros(6))
    assert moments.log_partition == pytest.approx(3200.0 + math.log(12.0), rel=1e-13)


@exactly
def test_fields_of_800(exact):
    """Log weights of no other state reach the one that the fields choose."""
    J, _ = random_couplings(1, 7, 0.5, 1.0)
    fields = 800.0 * np.array([1, -1, 1, 1, -1, 1, -1])
    moments = exact(J, fields)
    np.testing.assert_array_equal(moments.magnetisations, np.sign(fields))
    assert_exact(moments, J, fields)


@exactly
def test_variance_of_a_spin_that_is_nearly_known(exact):
    """``1 / cosh(B)^2``, of which nothing would be left in ``1 - m^2``."""
    moments = exact(np.zeros((2, 2)), np.array([18.0, -25.0]))
    expected = 1.0 / np.cosh([18.0, 25.0]) ** 2
    np.testing.assert_allclose(np.diag(moments.covariances), expected, rtol=1e-9)


@exactly
def test_parts_and_isolated_spins(exact):
    J, B = np.zeros((7, 7)), np.linspace(-1.0, 1.0, 7)
    J[0, 2] = J[2, 0] = 0.8
    J[3, 5] = J[5, 3] = -1.5
    moments = exact(J, B)
    assert_exact(moments, J, B)
    isolated = [1, 4, 6]
    np.testing.assert_allclose(
        moments.magnetisations[isolated], np.tanh(B[isolated]), rtol=0, atol=1e-15
    )
    assert tree_width(check_couplings(np.zeros((3, 3)), np.zeros(3))) == 0


def test_widths():
    """A tree, a ring, a complete graph, and grids, whose width is their side."""
    tree, _, _ = random_tree(1, 50)
    assert tree_width(check_couplings(tree, np.zeros(50))) == 1
    ring = np.roll(np.eye(9), 1, axis=0)
    assert tree_width(check_couplings(ring + ring.T, np.zeros(9))) == 2
    complete = np.ones((8, 8)) - np.eye(8)
    assert tree_width(check_couplings(complete, np.zeros(8))) == 7
    for side in (3, 4, 5):
        J, B = grid(side, 0)
        assert tree_width(check_couplings(J, B)) == side
    J, B = grid(10, 0)
    assert tree_width(check_couplings(J, B)) <= 13


@pytest.mark.parametrize("n", [7, 24])
def test_blocks_of_the_table_of_states(n, monkeypatch):
    """Spins in three parts that do not touch: their sums and blocks."""
    monkeypatch.setattr(exact_module, "BLOCK", 32 if n == 7 else 1 << 20)
    parts = np.array_split(np.random.default_rng(0).permutation(n), 3)
    J, B, log_partition = np.zeros((n, n)), np.zeros(n), 0.0
    means, covariances = np.zeros(n), np.zeros((n, n))
    for seed, part in enumerate(parts):
        block = np.ix_(part, part)
        J[block], B[part] = random_couplings(seed, len(part), 0.5, 1.0)
        alone = enumerate_ising(J[block], B[part])
        log_partition += alone.log_partition
        means[part], covariances[block] = alone.magnetisations, alone.correlations
    moments = enumerate_states(check_couplings(J, B))
    assert moments.log_partition == pytest.approx(log_partition, rel=1e-13)
    close = {"rtol": 0, "atol": 1e-12}
    np.testing.assert_allclose(moments.magnetisations, means, **close)
    np.testing.assert_allclose(moments.covariances, covariances, **close)


def test_what_is_too_large_is_refused():
    J, B = random_couplings(1, MOST_SPINS + 1, 1.0, 0.3)
    couplings = check_couplings(J, B)
    with pytest.raises(ValueError, match=r"at most 24 spins; J has 25"):
        enumerate_states(couplings)
    assert tree_width(couplings) is None
    with pytest.raises(ValueError, match=r"at most 19 neighbours.*too many loops"):
        eliminate(couplings)
    chain = sp.diags_array([1.0, 1.0], offsets=[-1, 1], shape=(6000, 6000))
    with pytest.raises(ValueError, match=r"all pairs of 6000 spins"):
        eliminate(check_couplings(chain.tocsr(), np.zeros(6000)), all_pairs=True)


def test_inputs_are_left_as_they_are():
    J, B = random_couplings(1, 8, 0.5, 1.0)
    couplings = check_couplings(J, B)
    for exact in (enumerate_states, eliminate):
        exact(couplings)
        np.testing.assert_array_equal(couplings.matrix, J)
        np.testing.assert_array_equal(couplings.fields, B)
