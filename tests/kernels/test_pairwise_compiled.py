"""The kernels of pairwise models that serve, compiled or not, against NumPy's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odalib.kernels import pairwise as serving
from odalib.kernels.reference import pairwise as reference

EPSILON = np.finfo(np.float64).eps


def graph(n_spins, n_edges, seed, size=1.0):
    """Ends of random edges, some of them twice, couplings, fields and messages."""
    random = np.random.default_rng(seed)
    first = random.integers(n_spins - 1, size=n_edges)
    second = first + 1 + random.integers(n_spins, size=n_edges) % (n_spins - 1 - first)
    coupling = size * random.normal(size=n_edges)
    messages = size * random.normal(size=2 * n_edges)
    return messages, first, second, coupling, random.normal(size=n_spins)


# Messages are computed from 512 edges at a time.
@pytest.mark.parametrize("n_edges", [0, 1, 7, 512, 513, 2000])
def test_messages(n_edges):
    arguments = graph(40, n_edges, 0)
    kept = [array.copy() for array in arguments]
    for array in arguments:
        array.flags.writeable = False
    found = serving.passed_messages(*arguments)
    expected = reference.passed_messages(*arguments)
    assert found.shape == (2 * n_edges,)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)
    messages, first, second, _, fields = arguments
    found = serving.fields_beside(messages, first, second, fields)
    expected = reference.fields_beside(messages, first, second, fields)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
    for array, before in zip(arguments, kept, strict=True):
        np.testing.assert_array_equal(array, before)


@given(
    seed=st.integers(0, 2**16),
    n_spins=st.integers(2, 12),
    n_edges=st.integers(1, 40),
    size=st.sampled_from([1e-8, 1.0, 30.0, 1e6]),
)
def test_messages_of_any_size(seed, n_spins, n_edges, size):
    arguments = graph(n_spins, n_edges, seed, size)
    found = serving.passed_messages(*arguments)
    expected = reference.passed_messages(*arguments)
    atol = 1e-14 * (1.0 + n_edges * size)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=atol)


def test_a_message_is_the_formula_to_four_units_of_the_numbers_it_is_made_of():
    random = np.random.default_rng(1)
    scale = 10.0 ** random.uniform(-6, 3, size=(2, 20_000))
    J, h = scale * random.choice([-1.0, 1.0], size=scale.shape)
    first = np.arange(0, 40_000, 2)
    fields = np.zeros(40_000)
    fields[first] = h
    found = serving.passed_messages(np.zeros(40_000), first, first + 1, J, fields)
    wide = np.longdouble(J), np.longdouble(h)
    more, less = np.abs(wide[0] + wide[1]), np.abs(wide[0] - wide[1])
    ones = np.log1p(np.exp(-2 * more)) - np.log1p(np.exp(-2 * less))
    expected = (more - less + ones) / 2
    error = np.abs(found[:20_000] - expected).astype(float)
    # Rounded are J + h, J - h and the exponentials.
    size = np.maximum(np.abs(J), np.abs(h)) + np.exp(
        -2.0 * np.abs(np.abs(J) - np.abs(h))
    )
    assert (error <= 4 * EPSILON * size).all()
    np.testing.assert_array_equal(found[20_000:], 0.0)


def test_couplings_of_800_lock_spins_together():
    ends = np.array([0]), np.array([1])
    messages = serving.passed_messages(
        np.zeros(2), *ends, np.array([800.0]), np.array([700.0, -3.0])
    )
    np.testing.assert_allclose(messages, [700.0, -3.0], rtol=1e-14)


def chains_of(n, n_chains, seed, size=1.0):
    """Spins, couplings and fields of the spins in every chain."""
    random = np.random.default_rng(seed)
    upper = np.triu(size * random.normal(size=(n, n)), 1)
    couplings = upper + upper.T
    spins = random.choice((-1.0, 1.0), size=(n, n_chains))
    return spins, couplings, spins.T @ couplings + random.normal(size=n), random


def assert_equal_sweeps(spins, couplings, local, uniforms, free=None):
    """Sweep by both kernels, and return the spins."""
    ours, theirs = (spins.copy(), local.copy()), (spins.copy(), local.copy())
    serving.gibbs_sweep(*ours, couplings, uniforms, free)
    reference.gibbs_sweep(*theirs, couplings, uniforms, free)
    np.testing.assert_array_equal(ours[0], theirs[0])
    scale = 1.0 + np.abs(couplings).sum()
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-12, atol=1e-14 * scale)
    return ours[0]


@given(
    seed=st.integers(0, 2**16),
    n=st.integers(1, 30),
    n_chains=st.integers(1, 40),
    size=st.sampled_from([0.0, 0.1, 1.0, 800.0]),
    share=st.sampled_from([None, 0.0, 0.3, 1.0]),
)
def test_the_same_spins_are_drawn(seed, n, n_chains, size, share):
    spins, couplings, local, random = chains_of(n, n_chains, seed, size)
    free = None if share is None else random.random(spins.shape) < share
    n_drawn = spins.size if share is None else np.count_nonzero(free)
    for array in (couplings, uniforms := random.random(n_drawn)):
        array.flags.writeable = False
    after = assert_equal_sweeps(spins, couplings, local, uniforms, free)
    if free is not None:
        np.testing.assert_array_equal(after[~free], spins[~free])
        # In any layout.
        again = assert_equal_sweeps(
            spins, couplings, local, uniforms, np.asfortranarray(free)
        )
        np.testing.assert_array_equal(after, again)


def test_the_same_spins_are_drawn_in_more_than_one_tile_of_chains():
    spins, couplings, local, random = chains_of(150, 500, 3, 0.1)
    assert_equal_sweeps(spins, couplings, local, random.random(spins.size))


def test_a_sweep_draws_spin_after_spin():
    """The second spin sees what became of the first."""
    spins = np.array([[-1.0], [-1.0]])
    local = np.array([[5.0, -20.0]])
    couplings = np.array([[0.0, 20.0], [20.0, 0.0]])
    serving.gibbs_sweep(spins, local, couplings, np.array([0.9, 0.9]))
    np.testing.assert_array_equal(spins, [[1.0], [1.0]])
    np.testing.assert_array_equal(local, [[45.0, 20.0]])


def test_random_numbers_at_both_ends():
    uniforms = np.array([0.0, 0.5, 0.5, 1.0 - EPSILON / 2, 1.0 - EPSILON / 2])
    local = np.array([[-300.0, 0.0, 1e-15, 18.0, 19.0]])
    spins = np.ones((5, 1))
    serving.gibbs_sweep(spins, local, np.zeros((5, 5)), uniforms)
    np.testing.assert_array_equal(spins[:, 0], [1.0, -1.0, 1.0, -1.0, 1.0])


@pytest.mark.parametrize("n_bits", [8, 53])
def test_a_spin_goes_up_with_the_probability_of_its_field(n_bits):
    """On either side of the field at which u is the probability."""
    random = np.random.default_rng(4)
    # Above, the spacing of floats below one decides.
    uniforms = 0.99 * random.integers(1, 1 << n_bits, size=5000) / 2.0**n_bits
    field = 0.5 * (np.log(uniforms) - np.log1p(-uniforms))
    for side in (-1.0, 1.0):
        local = (field + side * 1e-14 * (1.0 + np.abs(field)))[np.newaxis]
        spins = np.zeros((5000, 1)) - side
        serving.gibbs_sweep(spins, local, np.zeros((5000, 5000)), uniforms)
        np.testing.assert_array_equal(spins, side)


def test_arrays_that_do_not_belong_together_are_refused():
    messages, first, second, coupling, fields = graph(6, 9, 5)
    with pytest.raises((ValueError, IndexError)):
        serving.passed_messages(messages[1:], first, second, coupling, fields)
    with pytest.raises((ValueError, IndexError)):
        serving.passed_messages(messages, first, second, coupling[1:], fields)
    with pytest.raises((ValueError, IndexError)):
        serving.fields_beside(messages, first, second[1:], fields)
    spins, couplings, local, random = chains_of(4, 3, 6)
    uniforms = random.random(12)
    with pytest.raises((ValueError, IndexError)):
        serving.gibbs_sweep(spins, local, couplings, uniforms[1:])
    with pytest.raises((ValueError, IndexError)):
        serving.gibbs_sweep(spins, local[:, 1:], couplings, uniforms)
    with pytest.raises((ValueError, IndexError)):
        serving.gibbs_sweep(spins, local, couplings[:, 1:], uniforms)
