"""Log partition functions by annealed importance sampling (Neal 2001).

Chains start from a model of independent variables, whose partition function is known,
and are led to the model through a sequence of others. The mean of their importance
weights estimates the ratio of the partition functions without bias; since the chains
are independent, their spread tells the standard error of its logarithm. Were the chains
too short, few weights would carry the mean: the share of them is told too.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.special import expit, logsumexp

N_CHAINS, N_STEPS = 500, 2000


@dataclass(frozen=True)
class LogPartition:
    """An estimate.

    Attributes
    ----------
    value : float
        Log of the partition function.
    standard_error : float
        Of the value.
    share : float
        Chains that the weights are worth, over all chains: 1 for equal weights.
    """

    value: float
    standard_error: float
    share: float

    @classmethod
    def of_weights(cls, log_start, log_weights):
        """Estimate from the start's log partition function and the chains' weights."""
        n_chains = len(log_weights)
        weights = np.exp(log_weights - log_weights.max())
        return cls(
            float(log_start + logsumexp(log_weights) - np.log(n_chains)),
            float(weights.std(ddof=1) / weights.mean() / np.sqrt(n_chains)),
            float(weights.mean() ** 2 / np.mean(weights**2)),
        )


def ising_log_partition(J, B, *, n_chains=N_CHAINS, n_steps=N_STEPS, random_state=0):
    """``log sum_x exp(x'Jx / 2 + B'x)``, x of -1 and 1.

    Couplings grow from none to all, and every step draws every spin once given the
    others.

    Parameters
    ----------
    J : array of shape (n, n)
        Symmetric, without a diagonal.
    B : array of shape (n,)
    n_chains, n_steps : int
    random_state : int

    Returns
    -------
    LogPartition
    """
    random = np.random.default_rng(random_state)
    fields = B[:, np.newaxis]
    spins = np.where(
        random.uniform(-1.0, 1.0, size=(len(B), n_chains)) < np.tanh(fields), 1.0, -1.0
    )
    log_weights = np.zeros(n_chains)
    for share in np.arange(1, n_steps + 1) / n_steps:
        log_weights += 0.5 / n_steps * np.einsum("ic,ic->c", spins, J @ spins)
        uniform = random.uniform(-1.0, 1.0, size=spins.shape)
        for i in range(len(B)):
            expected = np.tanh(B[i] + share * (J[i] @ spins))
            spins[i] = np.where(uniform[i] < expected, 1.0, -1.0)
    return LogPartition.of_weights(np.logaddexp(B, -B).sum(), log_weights)


def rbm_log_partition(rbm, rows, *, n_chains=N_CHAINS, n_steps=N_STEPS, random_state=0):
    """Log partition function of a fitted BernoulliRBM, over visible and hidden units.

    The start has visible units as often on as in the rows, and hidden ones that are on
    half of the time (Salakhutdinov and Murray 2008).

    Parameters
    ----------
    rbm : BernoulliRBM
    rows : array of shape (n, n_visible)
        Of zeros and ones, or between.
    n_chains, n_steps : int
    random_state : int

    Returns
    -------
    LogPartition
    """
    random = np.random.default_rng(random_state)
    # Half a row more of each kind: a unit that is never on has a finite start.
    on = (rows.sum(axis=0) + 0.5) / (len(rows) + 1.0)
    start = np.log(on) - np.log1p(-on)
    visible = random.uniform(size=(n_chains, len(on))) < on
    log_start = -np.log1p(-on).sum() + len(rbm.components_) * np.log(2.0)

    def log_mass(visible, share):
        pull = visible @ ((1.0 - share) * start + share * rbm.intercept_visible_)
        return pull + np.logaddexp(0.0, share * hidden_fields(rbm, visible)).sum(axis=1)

    log_weights = np.zeros(n_chains)
    shares = np.arange(n_steps + 1) / n_steps
    for before, share in pairwise(shares):
        log_weights += log_mass(visible, share) - log_mass(visible, before)
        given = expit(share * hidden_fields(rbm, visible))
        hidden = random.uniform(size=given.shape) < given
        pull = share * (hidden @ rbm.components_ + rbm.intercept_visible_)
        given = expit((1.0 - share) * start + pull)
        visible = random.uniform(size=given.shape) < given
    return LogPartition.of_weights(log_start, log_weights)


def rbm_log_masses(rbm, rows):
    """Log probabilities of rows under a BernoulliRBM, up to its log partition function.

    Parameters
    ----------
    rbm : BernoulliRBM
    rows : array of shape (n, n_visible)
        Of zeros and ones.

    Returns
    -------
    array of shape (n,)
    """
    on = np.logaddexp(0.0, hidden_fields(rbm, rows)).sum(axis=1)
    return rows @ rbm.intercept_visible_ + on


def hidden_fields(rbm, visible):
    """Fields of the hidden units given the visible ones, shape (n, n_hidden)."""
    return visible @ rbm.components_.T + rbm.intercept_hidden_
