"""Rows of zeros and ones, drawn from small pairwise models."""

import numpy as np
from scipy.special import logsumexp


def model(n, seed=0, scale=0.5):
    random = np.random.default_rng(seed)
    upper = np.triu(scale * random.normal(size=(n, n)), 1)
    return upper + upper.T, 0.4 * random.normal(size=n)


def all_rows(n):
    return (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(float)


def log_weights(rows, J, B):
    spins = 2.0 * rows - 1.0
    return np.einsum("ri,ij,rj->r", spins, J, spins) / 2 + spins @ B


def drawn(n_rows, n=5, seed=0, **params):
    J, B = model(n, **params)
    rows = all_rows(n)
    logs = log_weights(rows, J, B)
    random = np.random.default_rng(seed)
    return rows[random.choice(len(rows), n_rows, p=np.exp(logs - logsumexp(logs)))]


def with_gaps(X, share=0.3, seed=1):
    gaps = np.random.default_rng(seed).random(X.shape) < share
    return np.where(gaps, np.nan, X), gaps
