"""Random couplings and fields of pairwise models, drawn from a generator."""

import numpy as np

__all__ = ["FAMILIES", "fields", "grid", "hopfield", "sparse_graph", "spin_glass"]


def fields(rng, n, size=0.3):
    """Draw independent normal fields."""
    return size * rng.standard_normal(n)


def spin_glass(rng, n, beta):
    """Sherrington-Kirkpatrick: all pairs, normal of variance beta^2 / n."""
    upper = np.triu(rng.standard_normal((n, n)), 1)
    return beta / np.sqrt(n) * (upper + upper.T)


def hopfield(rng, n, beta, alpha=0.5):
    """Hebb's rule for alpha n random patterns; a negative beta repels them."""
    patterns = rng.choice([-1.0, 1.0], size=(round(alpha * n), n))
    J = beta / n * patterns.T @ patterns
    np.fill_diagonal(J, 0.0)
    return J


def grid(rng, side, beta):
    """Square lattice with open ends and normal couplings of variance beta^2."""
    number = np.arange(side * side).reshape(side, side)
    first = np.concatenate([number[:, :-1].ravel(), number[:-1].ravel()])
    second = np.concatenate([number[:, 1:].ravel(), number[1:].ravel()])
    return on_edges(rng, side * side, first, second, beta)


def sparse_graph(rng, n, beta, degree=3.0):
    """Each pair with probability degree / (n - 1); normal, of variance beta^2."""
    first, second = np.triu_indices(n, 1)
    present = rng.random(len(first)) < degree / (n - 1)
    return on_edges(rng, n, first[present], second[present], beta)


def on_edges(rng, n, first, second, beta):
    J = np.zeros((n, n))
    J[first, second] = J[second, first] = beta * rng.standard_normal(len(first))
    return J


FAMILIES = {
    "SK, beta 0.5": lambda rng: spin_glass(rng, 15, 0.5),
    "SK, beta 1": lambda rng: spin_glass(rng, 15, 1.0),
    "Hopfield, beta 0.5": lambda rng: hopfield(rng, 16, 0.5),
    "negative Hopfield, beta 1": lambda rng: hopfield(rng, 16, -1.0),
    "sparse graph, beta 0.5": lambda rng: sparse_graph(rng, 16, 0.5),
    "grid, beta 0.5": lambda rng: grid(rng, 4, 0.5),
    "grid, beta 1": lambda rng: grid(rng, 4, 1.0),
}
