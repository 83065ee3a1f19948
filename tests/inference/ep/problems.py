"""Problems for the tests of expectation propagation, and one model in every form."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from odalib.inference.ep.gaussians import Covariance
from odalib.inference.ep.gaussians.linear import GramSpace, WeightSpace
from odalib.inference.ep.gaussians.weights import prior_belief

__all__ = ["SPACES", "LinearProblem", "labels_of_teacher", "random_problem", "wide"]


def weight_space(X, variances, mean=None):
    return WeightSpace(X, prior_belief(variances, mean).as_dense())


def gram_space(X, variances, mean=None):
    return GramSpace(X, prior_belief(variances, mean))


def covariance_model(X, variances, mean=None):
    mean = np.zeros(X.shape[1]) if mean is None else mean
    return Covariance((X * variances) @ X.T, X @ mean)


def sparse_weight_space(X, variances, mean=None):
    return weight_space(sp.csr_array(X), variances, mean)


def sparse_gram_space(X, variances, mean=None):
    return gram_space(sp.csr_array(X), variances, mean)


# The same Gaussian, asked in five ways.
SPACES = {
    "weights": weight_space,
    "gram": gram_space,
    "covariance": covariance_model,
    "sparse weights": sparse_weight_space,
    "sparse gram": sparse_gram_space,
}


@dataclass(frozen=True)
class LinearProblem:
    """Rows, labels of -1 and 1, and independent priors of the weights."""

    X: np.ndarray
    y: np.ndarray
    variances: np.ndarray
    mean: np.ndarray

    def model(self, space="weights"):
        return SPACES[space](self.X, self.variances, self.mean)

    @property
    def covariance(self):
        return (self.X * self.variances) @ self.X.T

    @property
    def latent_mean(self):
        return self.X @ self.mean


def labels_of_teacher(X, random, noise=1.0):
    """Labels that a random teacher gives, with noise."""
    teacher = random.normal(size=X.shape[1])
    y = np.sign(X @ teacher + noise * random.normal(size=len(X)))
    return np.where(y == 0, 1.0, y)


def random_problem(seed, n, d, scale=1.0, centred=False):
    """Mild problem: noisy labels, prior variances around one."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    y = labels_of_teacher(X, random)
    variances = scale * random.uniform(0.5, 2.0, size=d)
    mean = np.zeros(d) if centred else 0.5 * random.normal(size=d)
    return LinearProblem(X, y, variances, mean)


def wide(seed, n, d, variance=100.0):
    """Separable problem with a wide prior: hard for parallel updates."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    y = labels_of_teacher(X, random, noise=0.0)
    return LinearProblem(X, y, np.full(d, variance), np.zeros(d))
