"""The kernels that serve, compiled or not, against those in NumPy and the solver."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odalib.inference.ep.gaussians.dense import DenseMoving
from odalib.inference.ep.gaussians.model import LostDefiniteness
from odalib.inference.ep.likelihood import Likelihood
from odalib.inference.ep.probit import Probit
from odalib.inference.ep.solvers.problem import Problem
from odalib.inference.ep.solvers.sequential import match_block
from odalib.kernels import propagation as serving
from odalib.kernels.reference import propagation as reference
from odalib.kernels.reference.probit import probit_site
from tests.oracles.tilted import probit_match

Z = [-1e6, -300.0, -20.0, -3.01, -3.0, -2.99, -0.5, 0.0, 1.0, 8.99, 20.0]


class Block:
    """Moments of correlated latent values, labels, and sites to start from."""

    def __init__(self, b, seed=0, scale=1.0, noise=None):
        random = np.random.default_rng([b, seed])
        root = random.normal(size=(b, b + 1)) / np.sqrt(b)
        self.covariance = scale**2 * np.asfortranarray(root @ root.T)
        self.mean = 2.0 * scale * random.normal(size=b)
        self.y = random.choice([-1.0, 1.0], b)
        self.noise = np.ones(b) if noise is None else random.uniform(0.3, 3.0, b)
        self.precision = random.uniform(0.0, 0.5, b) / np.diag(self.covariance)
        self.shift = random.normal(size=b) / np.sqrt(np.diag(self.covariance))

    def matched(self, kernels):
        """Sites after `match_block`, and its answer."""
        precision, shift = self.precision.copy(), self.shift.copy()
        n_improper = kernels.match_block(
            self.mean.copy(),
            self.covariance.copy(order="F"),
            self.y,
            self.noise,
            precision,
            shift,
        )
        return precision, shift, n_improper

    def in_python(self):
        """The same by the likelihood's tilted moments and rank-one updates."""

        class Unhurried(Probit):
            match_in_turn = Likelihood.match_in_turn

        b = len(self.y)
        precision, shift = self.precision.copy(), self.shift.copy()
        n_improper = match_block(
            Problem(None, Unhurried(self.y, self.noise), np.ones(b)),
            DenseMoving(self.mean, self.covariance.copy(order="F")),
            slice(0, b),
            precision,
            shift,
        )
        return precision, shift, n_improper


def assert_close(found, expected, tol):
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=tol, atol=tol * np.abs(b).max())


@pytest.mark.parametrize("label", [-1.0, 1.0])
@pytest.mark.parametrize("variance", [1e-8, 1.0, 1e6])
def test_site_to_many_digits(variance, label):
    for noise in (0.3, 1.0):
        scale = np.sqrt(variance + noise)
        for z in Z:
            found = probit_site(label, label * z * scale, variance, noise)
            expected = probit_match(z, variance, noise)
            np.testing.assert_allclose(
                (found[0], label * found[1]),
                (float(expected["precision"]), float(expected["shift"])),
                rtol=1e-11,
            )
            precision, shift = np.zeros(1), np.zeros(1)
            serving.match_block(
                np.array([label * z * scale]),
                np.full((1, 1), variance, order="F"),
                np.array([label]),
                np.array([noise]),
                precision,
                shift,
            )
            np.testing.assert_allclose((precision[0], shift[0]), found, rtol=1e-11)


@pytest.mark.parametrize("kernels", [serving, reference], ids=["serving", "numpy"])
@pytest.mark.parametrize("b", [1, 2, 5, 17, 64])
def test_a_block_is_its_sites_one_after_the_other(b, kernels):
    block = Block(b, noise="drawn")
    assert_close(block.matched(kernels), block.in_python(), 1e-11)


@given(
    b=st.integers(1, 24),
    seed=st.integers(0, 2**16),
    scale=st.sampled_from([1e-6, 1e-2, 1.0, 30.0, 1e4]),
)
def test_blocks_of_any_scale(b, seed, scale):
    block = Block(b, seed, scale)
    assert_close(block.matched(serving), block.matched(reference), 1e-8)


def test_what_is_improper_stays_and_is_counted():
    block = Block(6)
    block.precision[2] = 2.0 / block.covariance[2, 2]
    before = block.precision[2], block.shift[2]
    precision, shift, n_improper = block.matched(serving)
    assert n_improper >= 1
    assert (precision[2], shift[2]) == before
    assert_close((precision, shift, n_improper), block.matched(reference), 1e-12)


def test_sites_that_others_do_not_see_are_not_touched():
    """Rows and labels may be read-only; the rest of a longer array stays."""
    block = Block(4)
    block.y.flags.writeable = block.noise.flags.writeable = False
    precision, shift = np.zeros(8), np.zeros(8)
    serving.match_block(
        block.mean, block.covariance, block.y, block.noise, precision[2:6], shift[2:6]
    )
    assert np.flatnonzero(precision).tolist() == [2, 3, 4, 5]
    assert np.flatnonzero(shift).tolist() == [2, 3, 4, 5]


def test_the_same_bits_every_time():
    block = Block(40)
    assert_close(block.matched(serving), block.matched(serving), 0)


def test_likelihoods_say_what_they_leave_to_python():
    """Steps, and powers below one."""
    block = Block(3)
    data = block.mean, block.covariance, slice(0, 3), block.precision, block.shift
    before = block.precision.copy()
    for likelihood in (
        Probit(block.y, noise_variance=np.array([1.0, 0.0, 1.0])),
        Probit(block.y, power=np.array([1.0, 1.0, 0.5])),
    ):
        assert likelihood.match_in_turn(*data) is None
    np.testing.assert_array_equal(block.precision, before)
    assert Probit(block.y).match_in_turn(*data) == 0


def test_a_lost_posterior_is_told(monkeypatch):
    monkeypatch.setattr(serving, "match_block", lambda *arguments: -1)
    block = Block(3)
    with pytest.raises(LostDefiniteness, match="more precision than"):
        Probit(block.y).match_in_turn(
            block.mean, block.covariance, slice(0, 3), block.precision, block.shift
        )


def test_arrays_of_other_lengths_are_refused():
    block = Block(4)
    block.precision = block.precision[:-1]
    with pytest.raises((ValueError, IndexError)):
        block.matched(serving)
