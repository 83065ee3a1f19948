"""Errors against enumeration, as medians over twenty instances of each family.

The same for more families, as a table: ``python -m benchmarks.ising_accuracy``.
"""

import numpy as np
import pytest

from odalib import infer_ising

from .models import grid, hopfield, model, negative_hopfield, sk, sparse_graph

N_INSTANCES = 20


def errors(family, beta, method, n=14):
    """Medians of the errors of magnetisations (RMS) and of the log partition."""
    found = []
    for seed in range(N_INSTANCES):
        J, B = model(family, seed, n, beta)
        exact, inference = infer_ising(J, B, "exact"), infer_ising(J, B, method)
        off = inference.magnetisations - exact.magnetisations
        off_log = inference.log_partition - exact.log_partition
        found.append((np.sqrt(np.mean(off**2)), abs(off_log)))
    return np.median(found, axis=0)


@pytest.mark.parametrize(
    ("family", "beta", "times"), [(sk, 0.5, 2.0), (hopfield, 0.5, 3.0)]
)
def test_adaptive_tap_is_so_many_times_as_exact_as_tap(family, beta, times):
    adaptive, _ = errors(family, beta, "adaptive_tap")
    assert adaptive <= errors(family, beta, "tap")[0] / times


def test_adaptive_tap_on_negative_hopfield():
    assert errors(negative_hopfield, 1.0, "adaptive_tap")[0] <= 0.003


@pytest.mark.parametrize("family", [sparse_graph, grid])
def test_belief_propagation_where_loops_are_few(family):
    assert errors(family, 0.5, "belief_propagation", n=16)[0] < 0.02


@pytest.mark.parametrize(("family", "times"), [(sk, 5.0), (grid, 10.0)])
def test_pair_correction(family, times):
    """Errors of the log partition function, and of the covariances of all pairs."""
    plain, corrected = [], []
    for seed in range(N_INSTANCES):
        J, B = model(family, seed, 14, 0.5)
        exact = infer_ising(J, B, "exact")
        inference = infer_ising(J, B, "adaptive_tap")
        pairs = inference.pair_corrected()
        np.testing.assert_array_equal(pairs.magnetisations, inference.magnetisations)
        for result, found in ((inference, plain), (pairs, corrected)):
            off = result.correlations - exact.correlations
            found.append(
                (abs(result.log_partition - exact.log_partition), np.abs(off).max())
            )
    plain, corrected = np.median(plain, axis=0), np.median(corrected, axis=0)
    assert corrected[0] <= plain[0] / times
    assert corrected[1] < 0.9 * plain[1]


def test_pair_correction_by_definition():
    """Four states over the Gaussian integral, for one pair after the other."""
    J, B = model(sk, 0, 6, 0.7)
    inference = infer_ising(J, B, "adaptive_tap", tol=1e-12)
    gaussian = inference.solution.inference
    S, mean = inference.correlations, gaussian.mean
    precision, shift = gaussian.sites.precision, gaussian.sites.shift

    def logs(spins):
        """Of the sum over states and of the integral, without the spins' own sites."""
        states = np.array(np.meshgrid(*len(spins) * [[-1.0, 1.0]])).reshape(
            len(spins), -1
        )
        P = np.linalg.inv(S[np.ix_(spins, spins)])
        P_c = P - np.diag(precision[spins])
        h, h_c = P @ mean[spins], P @ mean[spins] - shift[spins]
        exponents = -0.5 * np.einsum("is,ij,js->s", states, P_c, states) + h_c @ states
        integral = np.log(2.0 * np.pi) * len(spins) - np.linalg.slogdet(P)[1]
        integral = 0.5 * (integral + h @ np.linalg.solve(P, h))
        return np.log(np.exp(exponents).sum()) - integral

    expected = sum(
        logs([i, j]) - logs([i]) - logs([j]) for i in range(6) for j in range(i)
    )
    gained = inference.pair_corrected().log_partition - inference.log_partition
    assert gained == pytest.approx(expected, abs=1e-10)


def test_pair_correction_is_exact_for_two_spins():
    J, B = np.array([[0.0, 0.8], [0.8, 0.0]]), np.array([0.3, -0.5])
    exact = infer_ising(J, B, "exact")
    corrected = infer_ising(J, B, "adaptive_tap", tol=1e-12).pair_corrected()
    assert corrected.log_partition == pytest.approx(exact.log_partition, abs=1e-10)


def test_only_adaptive_tap_has_a_pair_correction():
    J, B = model(sk, 0, 6, 0.5)
    with pytest.raises(ValueError, match="Gaussian of adaptive TAP"):
        infer_ising(J, B, "tap").pair_corrected()
