"""Axes of codevectors and uniform numbers of hashes: what serves against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odalib.kernels import annealing as serving
from odalib.kernels.reference import axes as reference
from odalib.kernels.reference import hashes


@given(
    seed=st.integers(0, 2**16),
    shape=st.tuples(st.integers(1, 20), st.integers(1, 40)),
    scale=st.sampled_from([1e-300, 1.0, 1e300]),
)
def test_axes(seed, shape, scale):
    random = np.random.default_rng(seed)
    sums = scale * random.normal(size=shape)
    weight = random.uniform(0.5, 2.0, shape[0])
    sums[0], weight[-1] = 0.0, 0.0
    vectors, sizes = serving.scaled_means(sums, weight)
    expected, expected_sizes = reference.scaled_means(sums, weight)
    np.testing.assert_array_equal(vectors, expected)
    np.testing.assert_array_equal(sizes, expected_sizes)
    curvature = random.uniform(0.5, 2.0, shape[1]) * vectors
    directions, lengths = serving.unit_axes(vectors, curvature, sizes)
    expected, expected_lengths = reference.unit_axes(vectors, curvature, sizes)
    np.testing.assert_allclose(directions, expected, rtol=1e-13)
    np.testing.assert_allclose(lengths, expected_lengths, rtol=1e-13)
    assert (directions[0] == 0.0).all() and lengths[0] == 0.0


def test_axes_by_hand():
    """Mean (3, 4) in the metric 4 I: a length of 10, and half the unit vector."""
    vectors, sizes = serving.scaled_means(np.array([[6.0, 8.0]]), np.array([2.0]))
    np.testing.assert_array_equal(vectors, [[0.75, 1.0]])
    np.testing.assert_array_equal(sizes, [4.0])
    directions, lengths = serving.unit_axes(vectors, 4.0 * vectors, sizes)
    np.testing.assert_allclose(directions, [[0.3, 0.4]], rtol=1e-15)
    np.testing.assert_allclose(lengths, [10.0], rtol=1e-15)


@pytest.mark.parametrize(
    "layout", [np.asfortranarray, lambda x: np.repeat(x, 2, axis=0)[::2]]
)
def test_axes_in_any_layout(layout):
    random = np.random.default_rng(0)
    sums, weight = random.normal(size=(5, 3)), random.uniform(size=5)
    expected = reference.scaled_means(sums, weight)
    for one, other in zip(
        serving.scaled_means(layout(sums), weight), expected, strict=True
    ):
        np.testing.assert_array_equal(one, other)
    curvature = layout(2.0 * sums)
    expected = reference.unit_axes(sums, curvature, weight)
    for one, other in zip(
        serving.unit_axes(layout(sums), curvature, weight), expected, strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-13)


@pytest.mark.parametrize(
    "layout", [np.asfortranarray, lambda x: np.repeat(x, 2, axis=0)[::2]]
)
def test_products_of_hessians_come_in_any_layout(layout):
    """A divergence of the user may well give ``(P V')'``."""
    random = np.random.default_rng(0)
    vectors, scale = random.normal(size=(5, 3)), random.uniform(size=5)
    curvature = layout(random.uniform(0.5, 2.0, size=3) * vectors)
    assert not curvature.flags.c_contiguous
    found = serving.unit_axes(vectors, curvature, scale)
    expected = reference.unit_axes(vectors, curvature, scale)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        ("scaled_means", [(4, 2), (3,)]),
        ("unit_axes", [(4, 2), (3, 2), (4,)]),
        ("unit_axes", [(4, 2), (4, 2), (3,)]),
    ],
)
def test_arrays_that_do_not_fit_are_refused(function, shapes):
    """Compiled kernels would read beyond their ends."""
    with pytest.raises(ValueError):
        getattr(serving, function)(*map(np.ones, shapes))


def test_uniforms_are_the_same_bits():
    random = np.random.default_rng(0)
    given_hashes = random.integers(2**64, size=1000, dtype=np.uint64)
    given_hashes[:2] = 0, 2**64 - 1
    for salt in (0, 1, 2**64 - 1):
        found = serving.uniforms(given_hashes, np.uint64(salt))
        np.testing.assert_array_equal(found, hashes.uniforms(given_hashes, salt))
        assert found.min() > 0.0 and found.max() <= 1.0
        assert 0.45 < found.mean() < 0.55
    assert serving.uniforms(given_hashes[:0], np.uint64(0)).shape == (0,)


def test_uniforms_reach_both_ends():
    """The smallest is 2^-53, the largest one: splitmix64 turned round gives them."""
    inverse = {
        hash_: pow(factor, -1, 2**64)
        for hash_, factor in ((27, 0xBF58476D1CE4E5B9), (31, 0x94D049BB133111EB))
    }

    def unshift(bits, places):
        found = bits
        for _ in range(64 // places + 1):
            found = bits ^ (found >> places)
        return found

    def before(bits):
        bits = unshift(bits, 31) * inverse[31] % 2**64
        bits = unshift(bits, 27) * inverse[27] % 2**64
        return (unshift(bits, 30) - 0x9E3779B97F4A7C15) % 2**64

    ends = np.array([before(0), before(2**64 - 1)], dtype=np.uint64)
    np.testing.assert_array_equal(serving.uniforms(ends, np.uint64(0)), [2.0**-53, 1.0])
