"""Gibbs sampling of spins: many chains at once, and how far they agree."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from odalib.kernels import pairwise as kernels

__all__ = ["GibbsSample", "complete", "gibbs_sample", "split_r_hat", "sweeps"]

Floats = NDArray[np.float64]
Spins = NDArray[np.int8]


@dataclass(frozen=True)
class GibbsSample:
    """Draws of several chains.

    Attributes
    ----------
    spins : ndarray of int8 of shape (n_samples, n)
        Entries -1 and 1.
    r_hat : ndarray of shape (n,)
        Of every spin, see `split_r_hat`.
    """

    spins: Spins
    r_hat: Floats


def gibbs_sample(
    couplings: Floats,
    fields: Floats,
    n_samples: int,
    rng: np.random.Generator,
    *,
    n_chains: int = 32,
    burn_in: int = 1000,
) -> GibbsSample:
    """Draw from ``p(x) ~ exp(x' J x / 2 + B' x)``.

    Chains begin with independent fair spins, far from each other, and the draws are
    spread evenly over the sweeps that follow the burn-in.

    Parameters
    ----------
    couplings : ndarray of shape (n, n)
        Symmetric, zero diagonal.
    fields : ndarray of shape (n,)
    n_samples : int
    rng : numpy.random.Generator
    n_chains : int, default=32
    burn_in : int, default=1000
        Sweeps over all spins before the first draw, at least four. As many follow,
        which make the diagnostics; more where every chain has more draws to give, one
        a sweep.

    Returns
    -------
    GibbsSample
    """
    n_spins = len(fields)
    chains = rng.choice((-1.0, 1.0), size=(n_spins, n_chains))
    n_draws = -(-n_samples // n_chains)
    n_sweeps = max(burn_in, n_draws)
    kept = np.linspace(n_sweeps / n_draws, n_sweeps, n_draws).astype(int) - 1
    trace = np.empty((n_sweeps, n_chains, n_spins), np.int8)
    every = sweeps(chains, couplings, fields, rng, burn_in + n_sweeps)
    for step, spins in enumerate(every, start=-burn_in):
        if step >= 0:
            trace[step] = spins.T
    drawn = trace[kept].reshape(-1, n_spins)[:n_samples]
    return GibbsSample(drawn, split_r_hat(trace))


def complete(
    spins: Spins,
    couplings: Floats,
    fields: Floats,
    rng: np.random.Generator,
    n_sweeps: int,
    *,
    missing: NDArray[np.bool_] | None = None,
) -> Spins:
    """Draw what is missing in rows, given what they hold.

    Parameters
    ----------
    spins : ndarray of int8 of shape (n_samples, n)
        Entries -1 and 1, and 0 where one is missing.
    couplings : ndarray of shape (n, n)
    fields : ndarray of shape (n,)
    rng : numpy.random.Generator
    n_sweeps : int
        Sweeps over the missing spins.
    missing : ndarray of bool of shape (n_samples, n), default=None
        What is drawn anew, where earlier draws stand in its place; None for zeros.

    Returns
    -------
    spins : ndarray of int8 of shape (n_samples, n)
    """
    free = np.ascontiguousarray((spins == 0 if missing is None else missing).T)
    chains = spins.T.astype(np.float64, order="C")
    unset = chains == 0.0
    chains[unset] = rng.choice((-1.0, 1.0), size=np.count_nonzero(unset))
    # Where no chain has a gap, a spin is but a field on the others.
    has_gap = free.any(axis=1)
    gaps, known = np.flatnonzero(has_gap), np.flatnonzero(~has_gap)
    outer = fields[gaps] + chains[known].T @ couplings[np.ix_(known, gaps)]
    inner, inner_couplings = chains[gaps], couplings[np.ix_(gaps, gaps)]
    for _ in sweeps(inner, inner_couplings, outer, rng, n_sweeps, free[gaps]):
        pass
    chains[gaps] = inner
    return chains.T.astype(np.int8)


def sweeps(
    chains: Floats,
    couplings: Floats,
    fields: Floats,
    rng: np.random.Generator,
    n_sweeps: int,
    free: NDArray[np.bool_] | None = None,
) -> Iterator[Floats]:
    """Draw every spin once a sweep, given all others, in every chain.

    Parameters
    ----------
    chains : ndarray of shape (n, n_chains)
        Spins -1.0 and 1.0; written to.
    couplings : ndarray of shape (n, n)
    fields : ndarray of shape (n,) or (n_chains, n)
    rng : numpy.random.Generator
    n_sweeps : int
    free : ndarray of bool of shape (n, n_chains), default=None
        Spins that are drawn; None for all.

    Yields
    ------
    chains : ndarray of shape (n, n_chains)
        The same array, after each of the sweeps.
    """
    n_drawn = chains.size if free is None else np.count_nonzero(free)
    local = chains.T @ couplings + fields
    for _ in range(n_sweeps):
        uniforms = rng.random(n_drawn)
        kernels.gibbs_sweep(chains, local, couplings, uniforms, free)
        yield chains


def split_r_hat(trace: NDArray[np.int8]) -> Floats:
    """Ratio of standard deviations that tells whether chains agree.

    Each chain is cut into halves; ``R-hat`` is the root of the variance of all draws,
    estimated by way of the halves' means, over the mean variance within the halves
    (A. Gelman and D. Rubin, Statistical Science 7, 1992, and Gelman et al., "Bayesian
    Data Analysis", 3rd edition, section 11.4). It falls to one as chains forget where
    they began; beyond 1.05 they have not.

    Parameters
    ----------
    trace : ndarray of int8 of shape (n_sweeps, n_chains, n)
        Spins after every sweep, at least four.

    Returns
    -------
    r_hat : ndarray of shape (n,)
        One where a spin never moved and all chains agree, infinity where it never
        moved and they do not.
    """
    length = len(trace) // 2
    halves = np.stack([trace[:length], trace[-length:]])
    means = halves.mean(axis=1)
    # Of spins, the mean of the squares is one.
    within = ((1.0 - means**2) * length / (length - 1)).mean(axis=(0, 1))
    between = means.reshape(-1, trace.shape[2]).var(axis=0, ddof=1)
    pooled = (length - 1) / length * within + between
    frozen = within == 0.0
    ratio = np.sqrt(pooled / np.where(frozen, 1.0, within))
    return np.where(frozen, np.where(between == 0.0, 1.0, np.inf), ratio)
