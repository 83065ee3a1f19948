"""Hundred spins against long Gibbs runs: where the independence assumption breaks."""

import numpy as np
import pytest

from odalib import infer_ising
from tests.data import make_ising_gibbs
from tests.oracles.gaussian_latent import enumerate_ising

MODELS = make_ising_gibbs.MODELS
RUNS = np.load(make_ising_gibbs.TARGET)


def rms_error(name, method):
    """Of the magnetisations, root mean square over the spins."""
    inference = infer_ising(RUNS[f"{name}_couplings"], RUNS[f"{name}_fields"], method)
    assert inference.converged
    error = inference.magnetisations - RUNS[f"{name}_magnetisations"]
    return np.sqrt(np.mean(error**2))


@pytest.mark.parametrize(
    ("name", "ratio"),
    [
        ("hopfield", 8.0),
        ("negative_hopfield", 30.0),
        ("sherrington_kirkpatrick", 2.0),
    ],
)
def test_adaptive_tap_is_so_many_times_as_exact_as_tap(name, ratio):
    """TAP takes couplings to be independent; those of patterns are not."""
    adaptive = rms_error(name, "adaptive_tap")
    standard_error = np.sqrt(np.mean(RUNS[f"{name}_standard_errors"] ** 2))
    assert standard_error <= adaptive / 5.0
    assert rms_error(name, "tap") >= ratio * adaptive


@pytest.mark.parametrize("name", ["hopfield", "negative_hopfield"])
def test_no_independent_method_sees_the_correlations(name):
    """TAP is no better there than belief propagation, nor mean field than either."""
    belief = rms_error(name, "belief_propagation")
    assert rms_error(name, "tap") == pytest.approx(belief, rel=0.05)
    assert rms_error(name, "mean_field") > 1.3 * belief


@pytest.mark.parametrize("name", MODELS)
def test_the_runs_are_right_where_all_states_can_be_counted(name, monkeypatch):
    """The same code on ten spins, in fewer sweeps; errors as large as it says."""
    monkeypatch.setattr(make_ising_gibbs, "N_SPINS", 10)
    monkeypatch.setattr(make_ising_gibbs, "BURN_IN", 50)
    model = MODELS[name]
    couplings, fields = make_ising_gibbs.couplings_and_fields(model)
    averages = make_ising_gibbs.chain_averages(couplings, fields, model.seed, 100)
    estimate, error = make_ising_gibbs.magnetisations(*averages)
    exact = enumerate_ising(couplings, fields).magnetisations
    assert error.max() < 1e-3
    deviations = np.abs(estimate - exact) / error
    assert deviations.max() < 4.5
    assert np.sqrt(np.mean(deviations**2)) == pytest.approx(1.0, abs=0.7)
