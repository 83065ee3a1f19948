"""Random pairwise models for the tests."""

import numpy as np

__all__ = ["DENSE", "SPARSE", "grid", "hopfield", "model", "sk", "sparse_graph", "tree"]


def on_edges(random, n, edges, beta):
    J = np.zeros((n, n))
    for i, j in edges:
        J[i, j] = J[j, i] = beta * random.normal()
    return J


def sk(random, n, beta):
    upper = np.triu(random.normal(size=(n, n)), 1)
    return beta / np.sqrt(n) * (upper + upper.T)


def hopfield(random, n, beta):
    """Half as many patterns as spins; a negative beta repels them."""
    patterns = random.choice([-1.0, 1.0], size=(n // 2, n))
    J = beta / n * patterns.T @ patterns
    np.fill_diagonal(J, 0.0)
    return J


def negative_hopfield(random, n, beta):
    return hopfield(random, n, -beta)


def tree(random, n, beta):
    return on_edges(random, n, [(i, random.integers(i)) for i in range(1, n)], beta)


def grid(random, n, beta):
    """Square lattice, cut off after n spins."""
    side = int(np.ceil(np.sqrt(n)))
    right = [(i, i + 1) for i in range(n - 1) if (i + 1) % side]
    below = [(i, i + side) for i in range(n - side)]
    return on_edges(random, n, right + below, beta)


def sparse_graph(random, n, beta):
    """Three neighbours of a spin on average."""
    pairs = [(i, j) for i in range(n) for j in range(i)]
    edges = [pair for pair in pairs if random.random() < 3.0 / (n - 1)]
    return on_edges(random, n, edges, beta)


SPARSE = [tree, grid, sparse_graph]
DENSE = [sk, hopfield, negative_hopfield]


def model(family, seed, n, beta, field=0.3):
    """Couplings and fields."""
    random = np.random.default_rng(seed)
    return family(random, n, beta), field * random.normal(size=n)
