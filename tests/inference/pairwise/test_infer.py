"""`infer_ising` as users meet it: forms of input, choice of a method, refusals."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from odalib import infer_ising
from odalib.inference.ep.probit import Probit
from odalib.inference.pairwise.infer import METHODS

from .models import grid, hopfield, model, sk, sparse_graph, tree

PLAIN = ("mean_field", "tap", "belief_propagation")
methods = pytest.mark.parametrize("method", METHODS)


@methods
def test_parts_and_an_isolated_spin(method):
    """Two pairs without fields, and a spin by itself."""
    J = np.zeros((5, 5))
    J[0, 1] = J[1, 0] = 0.5
    J[2, 3] = J[3, 2] = 0.8
    B = np.array([0.0, 0.0, 0.0, 0.0, 0.5])
    for couplings in (J, sp.csr_array(J)):
        inference = infer_ising(couplings, B, method)
        assert inference.converged
        probabilities = 0.5 * (1.0 + inference.magnetisations)
        expected = [0.5, 0.5, 0.5, 0.5, 1.0 / (1.0 + np.exp(-1.0))]
        np.testing.assert_allclose(probabilities, expected, rtol=0, atol=1e-12)
        response = inference.linear_response()
        off = response[[0, 0, 1, 4, 4], [2, 3, 2, 0, 3]]
        np.testing.assert_allclose(off, 0.0, rtol=0, atol=1e-12)
        if method in ("exact", "auto", "belief_propagation"):
            expected = 5 * np.log(2.0) + np.log(np.cosh([0.5, 0.8, 0.5])).sum()
            assert inference.log_partition == pytest.approx(expected, abs=1e-12)
            assert response[2, 3] == pytest.approx(np.tanh(0.8), abs=1e-12)


@methods
def test_one_spin(method):
    inference = infer_ising([[0]], [0.7], method)
    assert inference.converged
    assert inference.magnetisations == pytest.approx([np.tanh(0.7)], abs=1e-12)
    assert inference.log_partition == pytest.approx(np.log(2 * np.cosh(0.7)), abs=1e-12)


@methods
@pytest.mark.parametrize("family", [sparse_graph, grid])
def test_sparse_couplings_say_what_dense_ones_do(method, family):
    J, B = model(family, 1, 10, 0.3)
    dense = infer_ising(J, B, method)
    sparse = infer_ising(sp.coo_array(J), B, method)
    assert dense.converged and sparse.converged
    close = {"rtol": 0, "atol": 1e-12}
    np.testing.assert_allclose(sparse.magnetisations, dense.magnetisations, **close)
    assert sparse.log_partition == pytest.approx(dense.log_partition, abs=1e-12)
    assert sparse.n_iter == dense.n_iter
    assert sp.issparse(sparse.correlations) and sparse.correlations.format == "csr"
    stored = (J != 0) | np.eye(10, dtype=bool)
    assert (sparse.correlations.toarray()[~stored] == 0).all()
    np.testing.assert_allclose(
        sparse.correlations.toarray()[stored], dense.correlations[stored], **close
    )
    np.testing.assert_allclose(
        sparse.linear_response(), dense.linear_response(), **close
    )
    assert dense.correlations.shape == (10, 10)


@methods
def test_any_form_of_numbers(method):
    """Lists, integers, float32, read-only and strided arrays; none is written to."""
    J = np.array([[0, 1, 0], [1, 0, -1], [0, -1, 0]])
    B = np.array([1, 0, -1])
    expected = infer_ising(J.astype(float), B.astype(float), method)
    frozen = J.astype(float)
    frozen.setflags(write=False)
    strided = np.repeat(np.repeat(J.astype(float), 2, axis=0), 2, axis=1)[::2, ::2]
    for other in (J.tolist(), J, J.astype(np.float32), frozen, strided):
        inference = infer_ising(other, B, method)
        np.testing.assert_array_equal(inference.magnetisations, expected.magnetisations)
    assert (strided == J).all()
    assert (J == [[0, 1, 0], [1, 0, -1], [0, -1, 0]]).all()


def test_strong_couplings_of_few_spins_are_exact():
    """A chain of 800: two states, which the fields tell apart."""
    J = 800.0 * (np.eye(5, k=1) + np.eye(5, k=-1))
    B = np.array([0.1, 0.0, 0.0, 0.0, 0.05])
    for couplings in (J, sp.csr_array(J)):
        for method in ("auto", "exact", "belief_propagation"):
            inference = infer_ising(couplings, B, method)
            assert inference.converged
            np.testing.assert_allclose(
                inference.magnetisations, np.tanh(0.15), rtol=0, atol=1e-10
            )
            assert inference.log_partition == pytest.approx(
                3200.0 + np.log(2.0 * np.cosh(0.15)), abs=1e-9
            )
            pair = inference.correlations[0, 1]
            assert pair == pytest.approx(1.0 - np.tanh(0.15) ** 2, abs=1e-10)


@pytest.mark.parametrize("field", [20.0, 100.0])
def test_many_spins_in_strong_fields(field):
    """Some of which the others still turn: sites of precision up to exp(400)."""
    for seed in range(3):
        J, B = model(sk, seed, 12, 1.0, field=field)
        inference = infer_ising(J, B, "adaptive_tap", solver="parallel")
        assert inference.converged
        exact = infer_ising(J, B, "exact")
        off = inference.magnetisations - exact.magnetisations
        assert np.abs(off).max() < 0.01
        assert inference.log_partition == pytest.approx(exact.log_partition, abs=0.01)


@pytest.mark.parametrize("family", [sk, grid, hopfield, tree])
@pytest.mark.parametrize("method", [*PLAIN, "adaptive_tap", "double_loop"])
def test_couplings_of_800_are_finite(family, method):
    """Right or not converged, which is said; never an overflow."""
    J, B = model(family, 0, 12, 800.0)
    inference = infer_ising(J, B, method, max_iter=15)
    assert_honest(inference)


@pytest.mark.parametrize("family", [sk, grid, hopfield])
@pytest.mark.parametrize("method", [*PLAIN, "adaptive_tap", "double_loop"])
@pytest.mark.parametrize("field", [0.0, 0.3])
def test_cold_models_are_no_garbage_in_silence(family, method, field):
    """``beta = 4`` for fifty spins, where most methods fail, and have to say so."""
    J, B = model(family, 1, 50, 4.0, field=4.0 * field)
    limit = 70 if method in PLAIN else 15
    inference = infer_ising(J, B, method, max_iter=limit, tol=1e-6)
    assert_honest(inference)
    if method == "tap" or (method == "belief_propagation" and field == 0):
        # Paramagnets: fixed points without magnetisation, far too warm.
        assert not inference.converged
    if inference.converged and field:
        # At least what the state says that its magnetisations point to.
        state = np.where(inference.magnetisations < 0, -1.0, 1.0)
        assert inference.log_partition > 0.5 * state @ J @ state + B @ state


@given(
    family=st.sampled_from([sk, grid, hopfield, tree, sparse_graph]),
    seed=st.integers(0, 2**16),
    coupling=st.floats(-9.0, 4.0),
    field=st.floats(-9.0, 4.0),
)
@settings(max_examples=12)
def test_any_magnitudes(family, seed, coupling, field):
    """From 1e-9 to 1e4, couplings and fields apart."""
    J, B = model(family, seed, 7, 10.0**coupling, field=10.0**field)
    for method in METHODS:
        inference = infer_ising(J, B, method, max_iter=12)
        assert_honest(inference)
        if inference.converged and method == "mean_field":
            exact = infer_ising(J, B, "exact").log_partition
            assert inference.log_partition <= exact + 1e-9 * (1.0 + abs(exact))


def assert_honest(inference):
    magnetisations = inference.magnetisations
    assert np.isfinite(magnetisations).all()
    assert (np.abs(magnetisations) <= 1.0).all()
    assert np.isfinite(inference.log_partition) == inference.converged
    assert inference.converged == (inference.failure == "")
    assert len(inference.residuals) == inference.n_iter


def test_why_a_run_failed_is_said():
    J, B = model(sk, 0, 20, 1.0)
    short = infer_ising(J, B, "adaptive_tap", solver="parallel", max_iter=3)
    assert short.n_iter == 3
    assert short.failure.startswith("after 3 iterations the residual is ")
    assert np.isnan(short.log_partition)
    assert np.isnan(short.pair_corrected().log_partition)
    ferromagnet = 2.0 * (np.ones((8, 8)) - np.eye(8))
    saddle = infer_ising(ferromagnet, np.zeros(8), "mean_field")
    assert "no minimum" in saddle.failure
    assert np.isnan(saddle.correlations).all()
    with pytest.raises(ValueError, match="no minimum of the method's free energy"):
        saddle.linear_response()
    unstable = infer_ising(ferromagnet, np.zeros(8), "belief_propagation")
    assert "unstable" in unstable.failure
    assert "Plefka" in infer_ising(ferromagnet, np.zeros(8), "tap").failure


@pytest.mark.parametrize(
    ("J", "method", "reason"),
    [
        (model(sk, 0, 20, 0.3)[0], "exact", "exact is affordable: at most"),
        (model(tree, 0, 200, 1.0)[0], "exact", "without loops"),
        (model(grid, 0, 64, 1.0)[0], "exact", "tree-width at most"),
        (model(grid, 0, 225, 0.2)[0], "belief_propagation", "sparse"),
        (model(sk, 0, 40, 0.3)[0], "adaptive_tap", "dense: 39.0 neighbours"),
        (model(grid, 2, 169, 1.5)[0], "adaptive_tap", "did not converge"),
    ],
    ids=["few", "tree", "narrow", "sparse", "dense", "stalled"],
)
def test_the_choice_and_its_reason(J, method, reason):
    B = 0.1 * np.ones(len(J))
    inference = infer_ising(J, B, max_iter=25)
    assert inference.method == method
    assert reason in inference.reason
    assert infer_ising(np.zeros((2, 2)), [0, 0], "tap").reason == "asked for"


def test_large_sparse_models_are_for_belief_propagation():
    n = 20_000
    random = np.random.default_rng(0)
    ends = random.integers(n, size=(2, 30_000))
    ends = ends[:, ends[0] != ends[1]]
    half = sp.coo_array((0.1 * random.normal(size=ends.shape[1]), ends), shape=(n, n))
    J, B = half + half.T, 0.3 * random.normal(size=n)
    inference = infer_ising(J, B)
    assert inference.converged and inference.method == "belief_propagation"
    assert inference.correlations.nnz == sp.csr_array(J).nnz + n
    assert infer_ising(J, B, "tap").converged
    mean_field = infer_ising(J, B, "mean_field")
    assert mean_field.converged
    for ask in (inference.linear_response, lambda: mean_field.correlations):
        with pytest.raises(ValueError, match="up to 5000 spins of a sparse J"):
            ask()
    with pytest.raises(ValueError, match=r"up to 5000 spins; J has 20000"):
        infer_ising(J, B, "adaptive_tap")


@pytest.mark.parametrize(
    ("J", "B", "message"),
    [
        ([[0, 1], [2, 0]], [0, 0], r"J is not symmetric: J\[0, 1\] = 1 but J\[1, 0\]"),
        ([[3, 1], [1, 0]], [0, 0], r"J has a diagonal: J\[0, 0\] = 3.*x_i\^2 = 1"),
        ([[0, np.nan], [np.nan, 0]], [0, 0], "J holds nan"),
        ([[0, np.inf], [np.inf, 0]], [0, 0], "J holds inf"),
        ([[0, 1], [1, 0]], [0, np.nan], "B holds nan"),
        ([[0, 1j], [1j, 0]], [0, 0], "J is complex"),
        ([[0, 1], [1, 0]], [0, 1j], "B is complex"),
        ([["a", "b"], ["b", "a"]], [0, 0], "J has dtype <U1"),
        ([[0, 1, 2], [1, 0, 3]], [0, 0], r"J has shape \(2, 3\)"),
        ([0, 1], [0, 1], r"J has shape \(2,\)"),
        (np.zeros((0, 0)), [], "at least one spin"),
        ([[0, 1], [1, 0]], [0, 0, 0], r"B has shape \(3,\).*of the 2 spins"),
        ([[0, 1], [1, 0]], [[0, 0]], r"B has shape \(1, 2\)"),
        ([[0, 1], [1, 0]], 0.0, r"B has shape \(\)"),
    ],
)
def test_couplings_and_fields_that_are_none(J, B, message):
    with pytest.raises(ValueError, match=message):
        infer_ising(J, B)
    J = np.asarray(J)
    if J.ndim == 2 and J.dtype.kind != "U":
        with pytest.raises(ValueError, match=message):
            infer_ising(sp.csr_array(J), B)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "bethe"}, "method='bethe' is none of auto, exact"),
        ({"method": "adaptive_tap", "solver": "single_pass"}, "none of auto, parallel"),
        ({"method": "tap", "solver": "parallel"}, "no choice of solvers"),
        ({"method": "tap", "site": Probit(np.ones(2))}, "for spins only"),
        ({"site": Probit(np.ones(2))}, "site=Probit takes normalised"),
    ],
)
def test_options_that_do_not_fit(options, message):
    with pytest.raises(ValueError, match=message):
        infer_ising([[0, 1], [1, 0]], [0, 0], **options)


def test_what_is_too_wide_for_exact_inference_is_refused():
    J, B = model(sk, 0, 30, 1.0)
    with pytest.raises(ValueError, match="method='exact'"):
        infer_ising(J, B, "exact")


def test_rounding_is_no_asymmetry():
    J, B = model(sk, 0, 8, 0.5)
    noisy = J.copy()
    noisy[2, 5] *= 1.0 + 1e-15
    assert infer_ising(noisy, B).log_partition == pytest.approx(
        infer_ising(J, B).log_partition, abs=1e-13
    )
    noisy[2, 5] *= 1.0 + 1e-12
    whole = np.array([[0, 127, 1], [127, 0, 0], [0, 0, 0]], dtype=np.int8)
    for couplings in (noisy, whole):
        with pytest.raises(ValueError, match="not symmetric"):
            infer_ising(couplings, B[: len(couplings)])
