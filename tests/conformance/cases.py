"""What the tests of reported cases share: small data, and all kinds of estimators."""

import numpy as np
import pytest
from scipy.special import expit, rel_entr

from odalib import (
    ADFProbitClassifier,
    EPGaussianProcessClassifier,
    EPProbitClassifier,
    ODAClassifier,
    ODAClusterer,
    ODARegressor,
)

DIVERGENCES = (
    "squared_euclidean",
    "mahalanobis",
    "kullback_leibler",
    "itakura_saito",
    "logistic",
)
CENTRES = np.array([[-8.0, 0.0], [8.0, 0.0], [0.0, 9.0]])


every_divergence = pytest.mark.parametrize("divergence", DIVERGENCES)


def clusterer(divergence="squared_euclidean", n_clusters=3, **params):
    return ODAClusterer(n_clusters, divergence=divergence, random_state=0, **params)


def in_thirds(model, X):
    for rows in np.array_split(X, 3):
        model.partial_fit(rows)
    return model


# Ways to learn rows: all at once, as one call of a stream, as several.
LEARN = {
    "fit": lambda model, X: model.fit(X),
    "partial_fit": lambda model, X: model.partial_fit(X),
    "thirds": in_thirds,
}
every_way = pytest.mark.parametrize("learn", LEARN.values(), ids=LEARN)

STREAMS = {
    "probit": EPProbitClassifier(),
    "probit against the rest": EPProbitClassifier(multi_class="ovr"),
    "filtering": ADFProbitClassifier(random_state=0),
    "diagonal filtering": ADFProbitClassifier(covariance="diagonal", random_state=0),
    "forgetting": ADFProbitClassifier(forgetting=0.999, random_state=0),
}
PROCESSES = {
    "gaussian process": EPGaussianProcessClassifier(),
    "inducing points": EPGaussianProcessClassifier(inducing_points=8, random_state=0),
}
# Those of a latent value with a prior.
LATENT = {
    **STREAMS,
    "probit by evidence": EPProbitClassifier("evidence"),
    **PROCESSES,
}
# Quick to fit: the divergence as it is, no polish.
CODEVECTORS = {
    "codevectors": ODAClassifier(6, metric=None, polish=None, random_state=0),
    "codevectors by resolutions": ODAClassifier(
        6, metric=None, polish=None, resolutions=[slice(0, 1), None], random_state=0
    ),
}
STREAMS |= CODEVECTORS
CLASSIFIERS = LATENT | CODEVECTORS
REGRESSORS = {
    "local models": ODARegressor(6, metric=None, random_state=0),
    "constants": ODARegressor(6, local_model="constant", random_state=0),
    "local models by resolutions": ODARegressor(
        6, metric=None, resolutions=[slice(0, 1), None], random_state=0
    ),
}
every_classifier = pytest.mark.parametrize(
    "estimator", CLASSIFIERS.values(), ids=CLASSIFIERS
)
every_stream = pytest.mark.parametrize("estimator", STREAMS.values(), ids=STREAMS)
every_latent = pytest.mark.parametrize("estimator", LATENT.values(), ids=LATENT)
every_regressor = pytest.mark.parametrize(
    "estimator", REGRESSORS.values(), ids=REGRESSORS
)


def blobs(n_samples=150):
    """Three groups in the plane, in turn, and the group of each row."""
    y = np.arange(n_samples) % 3
    return CENTRES[y] + 0.3 * np.random.RandomState(1).randn(n_samples, 2), y


def two_blobs(n_samples=60):
    """Two groups in the plane, in turn, and the group of each row."""
    X, y = blobs(3 * n_samples // 2)
    return X[y < 2], y[y < 2]


def feed(model, X, y, **kwargs):
    """Call ``partial_fit``, with the classes on the first call."""
    if not hasattr(model, "classes_"):
        kwargs["classes"] = np.unique(y)
    return model.partial_fit(X, y, **kwargs)


def into_domain(X, divergence, scale=8.0):
    """Move rows of size `scale` to where `divergence` is defined, one to one."""
    if divergence == "logistic":
        return expit(X / scale)
    if divergence in ("kullback_leibler", "itakura_saito"):
        return np.exp(X / scale)
    return X


def slow_divergences(X, codevectors, divergence):
    """Divergences (n, K) by their textbook formulas, in float64."""
    x = np.asarray(X, float)[:, None]
    mu = np.asarray(codevectors, float)[None]
    terms = {
        "squared_euclidean": lambda: (x - mu) ** 2,
        "kullback_leibler": lambda: rel_entr(x, mu) - x + mu,
        "itakura_saito": lambda: x / mu - np.log(x / mu) - 1.0,
        "logistic": lambda: rel_entr(x, mu) + rel_entr(1.0 - x, 1.0 - mu),
    }
    return terms[divergence]().sum(axis=2)


class ScaledEuclidean:
    """A divergence of a user, that holds an array: sum of s_j (x_j - mu_j)^2."""

    def __init__(self, scale):
        self.scale = np.asarray(scale, float)

    def phi(self, X):
        return (self.scale * X * X).sum(axis=1)

    def gradient(self, points):
        return 2.0 * self.scale * points

    def hessian_diagonal(self, points):
        return np.broadcast_to(2.0 * self.scale, points.shape)

    def check_domain(self, X):
        pass
