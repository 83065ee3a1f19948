"""A small estimator that every check must pass, to be broken in one way at a time."""

import copy
from threading import RLock

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from .subject import Subject

BREAKAGES = []

# Held by the stand-in that is learning, of whichever kind.
TURN = RLock()


def caught_by(check, match, error=AssertionError, **properties):
    """Register a broken estimator, the check that must fail, and what it must say."""

    def register(cls):
        subject = Subject(cls.__name__, cls(), **properties)
        BREAKAGES.append((check, subject, error, match))
        return cls

    return register


class ReadsRows:
    """Mixin: rows and weights as all stand-ins take them."""

    # Every feature must exceed this.
    lower_bound = -np.inf

    def _read(self, X, reset=False):
        try:
            # Of infinities, and of what becomes infinite, the errors tell.
            with np.errstate(over="ignore", invalid="ignore"):
                X = validate_data(
                    self,
                    X,
                    accept_sparse="csr",
                    dtype=[np.float64, np.float32],
                    reset=reset,
                )
        except OverflowError as error:
            raise ValueError("X contains infinity.") from error
        X = X if isinstance(X, np.ndarray) else X.toarray()
        if np.abs(X).max() > np.sqrt(np.finfo(X.dtype).max) / 1e3:
            raise ValueError("The squares of X overflow; scale the features of X.")
        outside = (self.lower_bound >= X).any(axis=1)
        if outside.any():
            row = int(outside.argmax())
            raise ValueError(f"Row {row} of X is not above {self.lower_bound}.")
        return X

    def _weigh(self, sample_weight, X):
        if sample_weight is None:
            return np.ones(len(X))
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                weight = check_array(
                    sample_weight,
                    ensure_2d=False,
                    dtype=float,
                    input_name="sample_weight",
                )
        except OverflowError as error:
            raise ValueError("sample_weight contains infinity.") from error
        if weight.shape != (len(X),):
            raise ValueError(f"sample_weight must be 1D, of shape ({len(X)},).")
        if (weight < 0).any():
            raise ValueError("Negative values in sample_weight.")
        if not weight.any():
            raise ValueError("All of sample_weight is zero.")
        if not 1e-100 < weight.max() < 1e100:
            raise ValueError("Products with sample_weight leave the floats; scale it.")
        return weight

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class StandIn(
    ReadsRows,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    BaseEstimator,
):
    """Codevectors spread along the widest feature, from sums over the rows.

    The sums are taken row by row, so that no cut of a stream changes a bit.
    """

    def __init__(self, n_clusters=3, n_jobs=None, random_state=None):
        self.n_clusters = n_clusters
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X, y=None, sample_weight=None):
        return self._learn(X, sample_weight, fresh=True)

    def partial_fit(self, X, y=None, sample_weight=None):
        return self._learn(X, sample_weight, fresh=not hasattr(self, "_sums"))

    def _learn(self, X, sample_weight, fresh):
        with TURN:
            draft = copy.copy(self)
            draft._follow(X, sample_weight, fresh)
            vars(self).update(vars(draft))
        return self

    def _follow(self, X, sample_weight, fresh):
        X = self._read(X, reset=fresh)
        weight = self._weigh(sample_weight, X)
        if fresh:
            self._sums = np.zeros(1 + 2 * X.shape[1])
            self.n_samples_seen_ = 0
        self._sums = self._sum(self._sums, X.astype(float), weight)
        self.n_samples_seen_ += int((weight > 0).sum())
        self._place(X.dtype)
        divergences = self._divergences(X)
        self.labels_ = divergences.astype(X.dtype).argmin(axis=1)
        self.inertia_ = float(weight @ divergences.min(axis=1))

    def _sum(self, sums, X, weight):
        for row, w in zip(X, weight, strict=True):
            sums = sums + w * np.r_[1.0, row, row * row]
        return sums

    def _place(self, dtype):
        total, (first, second) = self._sums[0], self._sums[1:].reshape(2, -1)
        mean = first / total
        variance = np.maximum(second / total - mean**2, 0.0)
        widest = self._widest(variance)
        steps = np.linspace(-1.2, 1.2, self.n_clusters) if self.n_clusters > 1 else 0.0
        centers = np.tile(mean, (self.n_clusters, 1))
        centers[:, widest] += steps * np.sqrt(variance[widest])
        self.cluster_centers_ = centers.astype(dtype)
        self.cluster_weights_ = np.full(self.n_clusters, 1.0 / self.n_clusters)
        self._temperature = variance.sum() or 1.0

    def _widest(self, variance):
        return variance.argmax()

    @property
    def _n_features_out(self):
        return len(self.cluster_centers_)

    def _divergences(self, X):
        centers = self.cluster_centers_.astype(float)
        return ((X.astype(float)[:, None] - centers) ** 2).sum(axis=2)

    def transform(self, X):
        check_is_fitted(self)
        X = self._read(X)
        return self._divergences(X).astype(X.dtype)

    def predict(self, X):
        return self.transform(X).argmin(axis=1)

    def predict_proba(self, X):
        distances = self.transform(X)
        nearest = distances.min(axis=1, keepdims=True)
        exponents = (nearest - distances).astype(float) / self._temperature
        likelihood = np.exp(exponents)
        total = likelihood.sum(axis=1, keepdims=True)
        return (likelihood / total).astype(distances.dtype)

    def score(self, X, y=None, sample_weight=None):
        nearest = self._divergences(self._read(X)).min(axis=1)
        return -float(np.average(nearest, weights=sample_weight))
