"""The divergences from their textbook formulas, and rows that they are made for."""

import math

import numpy as np

__all__ = ["CLOSED_FORMS", "NAMES", "critical_temperature", "draw_rows"]


def squared_euclidean(x, mu):
    return math.fsum((a - b) ** 2 for a, b in zip(x, mu, strict=True))


def kullback_leibler(x, mu):
    return math.fsum(
        (a * math.log(a / b) if a > 0 else 0.0) - a + b
        for a, b in zip(x, mu, strict=True)
        if a > 0 or b > 0
    )


def itakura_saito(x, mu):
    return math.fsum(a / b - math.log(a / b) - 1.0 for a, b in zip(x, mu, strict=True))


def logistic(x, mu):
    def entropy(a, b):
        return a * math.log(a / b) if a > 0 else 0.0

    return math.fsum(
        entropy(a, b) + entropy(1.0 - a, 1.0 - b) for a, b in zip(x, mu, strict=True)
    )


CLOSED_FORMS = {
    "squared_euclidean": squared_euclidean,
    "kullback_leibler": kullback_leibler,
    "itakura_saito": itakura_saito,
    "logistic": logistic,
}
NAMES = (*CLOSED_FORMS, "mahalanobis")

# Diagonals of the Hessians of phi.
CURVATURES = {
    "squared_euclidean": lambda mu: np.full_like(mu, 2.0),
    "kullback_leibler": lambda mu: 1.0 / mu,
    "itakura_saito": lambda mu: 1.0 / mu**2,
    "logistic": lambda mu: 1.0 / (mu * (1.0 - mu)),
}


def critical_temperature(name, x, weights, precision=None):
    """Largest eigenvalue of Hessian times covariance of weighted rows, and axis.

    The axis is the eigenvector of covariance times Hessian, of unit length in the
    Hessian; ``precision`` is for the Mahalanobis divergence.
    """
    covariance = np.cov(x, rowvar=False, aweights=weights, ddof=0).reshape(
        2 * (x.shape[1],)
    )
    mean = np.average(x, axis=0, weights=weights)
    hessian = (
        2.0 * precision if precision is not None else np.diag(CURVATURES[name](mean))
    )
    values, vectors = np.linalg.eig(covariance @ hessian)
    largest = values.real.argmax()
    axis = vectors[:, largest].real
    return values.real[largest], axis / np.sqrt(axis @ hessian @ axis)


def draw_rows(name, n_rows, n_features, seed):
    """Random rows in the interior of the domain of a divergence, correlated."""
    random = np.random.default_rng(seed)
    normal = random.normal(size=(n_rows, n_features))
    normal = normal @ (np.eye(n_features) + 0.3 * random.normal(size=(n_features,) * 2))
    if name in ("kullback_leibler", "itakura_saito"):
        return np.exp(0.8 * normal)
    if name == "logistic":
        return 1.0 / (1.0 + np.exp(-normal))
    return 1.5 * normal + 0.5
