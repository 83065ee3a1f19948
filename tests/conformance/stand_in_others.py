"""A regressor and a density that every law must pass, to be broken one way each."""

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from .stand_in import ReadsRows


class StandInRegressor(ReadsRows, RegressorMixin, BaseEstimator):
    """The weighted mean of the targets, whatever the row."""

    def fit(self, X, y, sample_weight=None):
        X = self._read(X, reset=True)
        self.mean_ = np.average(y, weights=self._weigh(sample_weight, X))
        return self

    def predict(self, X):
        return np.full(len(self._read(X)), self.mean_)


class StandInDensity(ReadsRows, BaseEstimator):
    """Independent truth values, given as 0 and 1 or as -1 and +1."""

    def fit(self, X, y=None):
        self.rates_ = (1.0 + self._code(X, reset=True).sum(axis=0)) / (2.0 + len(X))
        return self

    def _code(self, X, reset=False):
        return self._read(X, reset) > 0

    def predict(self, X):
        return self._code(X).sum(axis=1) > 1

    def score_samples(self, X):
        X = self._code(X)
        return np.log(np.where(X, self.rates_, 1.0 - self.rates_)).sum(axis=1)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
