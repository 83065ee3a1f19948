"""What is refused before any method runs, and how results tell of failure."""

import copy

import numpy as np
import pytest
import scipy.sparse as sp

from odalib import infer_ising
from odalib.inference.ep.likelihood import Likelihood, Match
from odalib.inference.ep.spin import Spin
from odalib.inference.pairwise.infer import METHODS

from .models import model, sk

PAIR = np.array([[0.0, 1.0], [1.0, 0.0]])
methods = pytest.mark.parametrize("method", METHODS)


@methods
@pytest.mark.parametrize("wrong", [0.0, -1e-8, np.nan, np.inf, "small", True, None])
def test_tolerances_that_are_none(method, wrong):
    with pytest.raises(ValueError, match=r"^tol=.* must be a positive number"):
        infer_ising(PAIR, [0, 0], method, tol=wrong)


@methods
@pytest.mark.parametrize("wrong", [0, -3, 2.5, "10", True])
def test_limits_that_are_none(method, wrong):
    with pytest.raises(ValueError, match=r"^max_iter=.* must be a positive integer"):
        infer_ising(PAIR, [0, 0], method, max_iter=wrong)


@methods
@pytest.mark.parametrize("dense", [True, False])
def test_couplings_that_floats_cannot_tell_apart(method, dense):
    form = np.asarray if dense else sp.csr_array
    for J, B in (
        (1e16 * PAIR, [0.3, 0.1]),
        (-2e6 * PAIR, [0.0, 0.0]),
        (PAIR, [0.0, -3e6]),
        (1e308 * PAIR, [1e308, 0.0]),
    ):
        with pytest.raises(ValueError, match=r"too large: .* on spin [01], and 1e\+06"):
            infer_ising(form(J), B, method)


@methods
def test_the_largest_couplings_give_no_wrong_numbers(method):
    """Just within the limit: two states, which the fields tell apart."""
    inference = infer_ising(9e5 * PAIR, [0.2, 0.1], method)
    if inference.converged:
        assert inference.log_partition == pytest.approx(9e5, abs=10.0)
        assert (np.abs(inference.magnetisations) <= 1.0).all()
    if method in ("auto", "exact", "belief_propagation"):
        expected = np.tanh(0.3)
        np.testing.assert_allclose(inference.magnetisations, expected, atol=1e-9)
        own = 1.0 - expected**2
        np.testing.assert_allclose(inference.correlations, own, rtol=0, atol=1e-9)


@pytest.mark.parametrize("site", ["spin", 3, np.tanh, Spin])
def test_sites_that_are_none(site):
    with pytest.raises(ValueError, match="site must be a Likelihood"):
        infer_ising(PAIR, [0, 0], site=site)


def test_masked_numbers():
    masked = np.ma.masked_array(PAIR, mask=PAIR > 0)
    with pytest.raises(ValueError, match="J is a masked array"):
        infer_ising(masked, [0, 0])
    with pytest.raises(ValueError, match="B is a masked array"):
        infer_ising(PAIR, np.ma.masked_array([0.0, 1.0], mask=[0, 1]))


def test_an_asymmetry_is_told_in_full():
    J = 0.3 * PAIR
    J[0, 1] = np.float32(0.3)
    with pytest.raises(
        ValueError, match=r"difference of 1\.19e-08\. .*pass \(J \+ J\.T\) / 2"
    ):
        infer_ising(J, [0, 0])
    with pytest.raises(ValueError, match=r"difference of -1\. .*pass J \+ J\.T\."):
        infer_ising([[0, 1], [2, 0]], [0, 0])


def test_a_result_is_short_and_can_be_compared():
    J, B = model(sk, 0, 30, 0.5)
    inference = infer_ising(J, B)
    assert repr(inference).startswith(
        "<PairwiseInference of 30 spins by 'adaptive_tap': converged, log_partition="
    )
    assert len(repr(inference)) < 120
    failed = infer_ising(J, B, "adaptive_tap", solver="parallel", max_iter=2)
    assert "failed: after 2 iterations" in repr(failed)
    assert inference == inference
    assert inference != copy.copy(inference)


@methods
def test_writing_into_the_correlations_changes_nothing_else(method):
    J, B = model(sk, 0, 6, 0.3)
    inference = infer_ising(J, B, method)
    before = inference.linear_response()
    inference.correlations[:] = 9.0
    np.testing.assert_array_equal(inference.linear_response(), before)


def test_pairs_are_corrected_once():
    corrected = infer_ising(PAIR, [0.1, 0.2], "adaptive_tap").pair_corrected()
    with pytest.raises(ValueError, match="already corrected for pairs"):
        corrected.pair_corrected()


def test_a_response_needs_a_fixed_point():
    J, B = model(sk, 0, 20, 1.0)
    short = infer_ising(J, B, "adaptive_tap", solver="parallel", max_iter=3)
    with pytest.raises(ValueError, match="did not converge: after 3 iterations"):
        short.linear_response()
    assert np.isfinite(short.correlations).all()


def test_the_reason_says_what_was_tried_in_vain():
    J, B = model(sk, 0, 40, 4.0)
    inference = infer_ising(J, B, max_iter=2)
    assert not inference.converged
    assert inference.reason.endswith(
        "no solver of expectation propagation converged of parallel, blocked, "
        "double_loop"
    )


class Normless(Likelihood):
    """Spins whose norm is no number."""

    proper_cavities = False
    log_concave = False
    n_sites = 2

    def match(self, cavity, sites=slice(None)):
        match = Spin(2).match(cavity, sites)
        return Match(
            np.full_like(match.mean, np.nan),
            match.mean,
            match.variance,
            match.precision,
            match.shift,
        )


@pytest.mark.parametrize("method", ["auto", "adaptive_tap", "double_loop"])
def test_a_log_partition_that_is_no_number_is_a_failure(method):
    inference = infer_ising(0.3 * PAIR, [0.1, 0.2], method, site=Normless())
    assert not inference.converged
    assert "some factor of Normless" in inference.failure
    assert np.isnan(inference.log_partition)
