"""Make tests/data/ising_gibbs.npz: magnetisations of 100 spins, by long Gibbs runs.

Needs numpy alone, and nothing of odalib, so that it stands as a witness. It takes
about ten minutes on one core::

    python tests/data/make_ising_gibbs.py

The models are ``p(x) ~ exp(x'Jx / 2 + B'x)``, x of -1 and 1, and each is made of a
seed of its own (`MODELS`): Hopfield couplings ``beta xi' xi / n`` of ``alpha n``
random patterns, the same with the sign turned, and Sherrington-Kirkpatrick couplings,
normal with variance ``beta^2 / n``. All diagonals are zero; fields are normal.

Every chain visits the spins in order and draws each given the others. What is averaged
is not the spin but its mean at that moment, ``t_i = tanh(B_i + (Jx)_i)`` (Rao and
Blackwell). The difference ``z_i = x_i - t_i`` that the draw adds has the mean zero,
and most of what a chain's averages of t still vary by is linear in its averages of z:
to first order ``t - m = D J (x - m)`` with ``x = t + z``. A regression of the chains'
averages of t on those of z therefore takes that part out (control variates), and its
intercepts are the magnetisations, with the standard errors of a regression over
independent chains.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np

TARGET = Path(__file__).with_name("ising_gibbs.npz")
N_SPINS, N_CHAINS, BURN_IN = 100, 2000, 1000
# Spins whose fields one matrix product computes; only what changes inside is added.
BLOCK = 10


class Model(NamedTuple):
    """How the couplings and fields of one model are drawn, and how long it runs."""

    kind: str
    beta: float
    field: float
    seed: int
    n_sweeps: int


MODELS = {
    "hopfield": Model("hopfield", 0.35, 0.3, 1, 20_000),
    "negative_hopfield": Model("negative_hopfield", 1.0, 0.3, 2, 40_000),
    "sherrington_kirkpatrick": Model("normal", 0.5, 0.3, 3, 20_000),
}
# Patterns for each spin.
ALPHA = 0.5


def couplings_and_fields(model):
    """Return the couplings, shape (n, n), and the fields, shape (n,), of a model."""
    random = np.random.default_rng(model.seed)
    if model.kind == "normal":
        normal = random.normal(size=(N_SPINS, N_SPINS))
        upper = np.triu(normal * model.beta / np.sqrt(N_SPINS), 1)
        couplings = upper + upper.T
    else:
        patterns = random.choice([-1.0, 1.0], size=(int(ALPHA * N_SPINS), N_SPINS))
        sign = -1.0 if model.kind == "negative_hopfield" else 1.0
        couplings = sign * model.beta * (patterns.T @ patterns) / N_SPINS
        np.fill_diagonal(couplings, 0.0)
    return couplings, model.field * random.normal(size=N_SPINS)


def sweep(spins, couplings, fields, random):
    """Draw every spin of every chain once, in place.

    Parameters
    ----------
    spins : array of shape (n, n_chains)

    Returns
    -------
    expected : array of shape (n, n_chains)
        The mean of each spin at the moment when it was drawn.
    """
    expected = np.empty_like(spins)
    for start in range(0, len(spins), BLOCK):
        block = slice(start, start + BLOCK)
        local = couplings[block] @ spins + fields[block, np.newaxis]
        before = spins[block].copy()
        uniform = random.uniform(-1.0, 1.0, size=before.shape)
        for i in range(len(before)):
            inside = couplings[start + i, start : start + i]
            field = local[i] + inside @ (spins[start : start + i] - before[:i])
            np.tanh(field, out=expected[start + i])
            spins[start + i] = np.where(expected[start + i] > uniform[i], 1.0, -1.0)
    return expected


def chain_averages(couplings, fields, seed, n_sweeps):
    """Averages over time of every chain.

    Returns
    -------
    expected, drawn : array of shape (n, n_chains)
        Of the spins' means when drawn, and of what the draws added.
    """
    random = np.random.default_rng([seed, 1])
    spins = random.choice([-1.0, 1.0], size=(len(fields), N_CHAINS))
    for _ in range(BURN_IN):
        sweep(spins, couplings, fields, random)
    expected_total, spins_total = np.zeros_like(spins), np.zeros_like(spins)
    for _ in range(n_sweeps):
        expected_total += sweep(spins, couplings, fields, random)
        spins_total += spins
    expected = expected_total / n_sweeps
    return expected, spins_total / n_sweeps - expected


def magnetisations(expected, drawn):
    """Intercepts of the regression over chains, and their standard errors."""
    n_spins, n_chains = expected.shape
    design = np.vstack([np.ones(n_chains), drawn]).T
    coefficients = np.linalg.lstsq(design, expected.T, rcond=None)[0]
    residual = expected.T - design @ coefficients
    variance = (residual**2).sum(axis=0) / (n_chains - n_spins - 1)
    of_intercept = np.linalg.inv(design.T @ design)[0, 0]
    return coefficients[0], np.sqrt(variance * of_intercept)


def main():
    """Run all models, and write what came out."""
    arrays = {}
    for name, model in MODELS.items():
        couplings, fields = couplings_and_fields(model)
        averages = chain_averages(couplings, fields, model.seed, model.n_sweeps)
        mean, error = magnetisations(*averages)
        arrays |= {
            f"{name}_couplings": couplings,
            f"{name}_fields": fields,
            f"{name}_magnetisations": mean,
            f"{name}_standard_errors": error,
        }
        rms = np.sqrt(np.mean(error**2))
        print(f"{name}: RMS standard error {rms:.2e}", flush=True)
    np.savez_compressed(TARGET, **arrays)
    print(f"wrote {TARGET.name}: {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
