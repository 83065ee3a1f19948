"""Rows of spins, drawn from small pairwise models."""

import numpy as np
from scipy.special import logsumexp


def model(n, seed=0, scale=0.5):
    random = np.random.default_rng(seed)
    upper = np.triu(scale * random.normal(size=(n, n)), 1)
    return upper + upper.T, 0.4 * random.normal(size=n)


def all_states(n):
    return (2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1) - 1).astype(np.int8)


def log_weights(states, J, B):
    states = states.astype(float)
    return np.einsum("ri,ij,rj->r", states, J, states) / 2 + states @ B


def population(J, B, total):
    """All states, weighted as they would come in ``total`` rows."""
    states = all_states(len(B))
    logs = log_weights(states, J, B)
    return states, total * np.exp(logs - logsumexp(logs))


def drawn(J, B, n_rows, seed=0):
    states, probabilities = population(J, B, 1.0)
    random = np.random.default_rng(seed)
    return states[random.choice(len(states), size=n_rows, p=probabilities)]
