"""Small classifiers that every check must pass, to be broken in one way at a time."""

import copy

import numpy as np
from scipy.special import log_softmax, logsumexp, ndtri_exp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from .stand_in import TURN, ReadsRows


class StandInClassifier(ReadsRows, ClassifierMixin, BaseEstimator):
    """Normal classes of unit variance around their means, shrunk towards zero."""

    def fit(self, X, y, sample_weight=None):
        y = self._read_labels(y)
        weight = self._weigh(sample_weight, y)
        known = y[weight > 0]
        check_classification_targets(known)
        return self._learn(X, y, self._classes_of(known), sample_weight, fresh=True)

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        fresh = not hasattr(self, "classes_")
        if fresh and classes is None:
            raise ValueError("classes must be passed on the first call.")
        if fresh:
            known = np.unique(self._read_labels(classes))
        else:
            known = self._checked(classes)
        return self._learn(X, self._read_labels(y), known, sample_weight, fresh)

    def _classes_of(self, y):
        classes = np.unique(y)
        if len(classes) == 1:
            raise ValueError(f"All labels are of one class, {classes.item(0)!r}.")
        return classes

    def _checked(self, classes):
        if classes is not None and set(classes) != set(self.classes_.tolist()):
            raise ValueError(f"classes={classes} differ from {self.classes_}.")
        return self.classes_

    def _read_labels(self, y):
        if y is None:
            raise ValueError("y is None.")
        y = column_or_1d(np.asarray(y))
        if y.dtype == object:
            y = np.array(y.tolist())
        if y.dtype.kind == "f" and np.isnan(y).any():
            raise ValueError("Input y contains NaN.")
        return y

    def _learn(self, X, y, classes, sample_weight, fresh):
        with TURN:
            draft = copy.copy(self)
            draft._follow(X, y, classes, sample_weight, fresh)
            vars(self).update(vars(draft))
        return self

    def _follow(self, X, y, classes, sample_weight, fresh):
        X = self._read(X, reset=fresh)
        check_consistent_length(X, y)
        weight = self._weigh(sample_weight, X)
        self._refuse_unseen(y[weight > 0], classes)
        self.classes_ = classes
        if fresh:
            self._sums = np.zeros((len(classes), 1 + X.shape[1]))
        self._sums = self._sum(self._sums, X, np.searchsorted(classes, y), weight)
        self._rows = X, y, weight
        self.means_ = self._means().astype(X.dtype)

    def _refuse_unseen(self, y, classes):
        unseen = np.setdiff1d(y, classes)
        if len(unseen):
            raise ValueError(f"Unseen labels: {unseen.tolist()}.")

    def _sum(self, sums, X, codes, weight):
        sums = sums.copy()
        np.add.at(sums, codes, weight[:, None] * np.c_[np.ones(len(X)), X])
        return sums

    def _means(self):
        return self._sums[:, 1:] / (1.0 + self._sums[:, :1])

    def _log_likelihood(self, X):
        return -0.5 * ((X.astype(float)[:, None] - self._means()) ** 2).sum(axis=2)

    def predict_log_proba(self, X):
        check_is_fitted(self)
        X = self._read(X)
        return log_softmax(self._log_likelihood(X), axis=1).astype(X.dtype)

    def predict_proba(self, X):
        return np.exp(self.predict_log_proba(X))

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def decision_function(self, X):
        log = self.predict_log_proba(X)
        return log[:, 1] - log[:, 0] if log.shape[1] == 2 else log

    def latent_mean_and_variance(self, X):
        """Values of variance 3 that have the probabilities, one class and the rest."""
        log = self.predict_log_proba(X)
        rest = np.stack(
            [
                logsumexp(np.delete(log, code, axis=1), axis=1)
                for code in range(log.shape[1])
            ],
            axis=1,
        )
        mean = 2.0 * np.where(log < rest, ndtri_exp(log), -ndtri_exp(rest))
        mean = mean[:, 1] if log.shape[1] == 2 else mean
        return mean, np.full_like(mean, 3.0)

    def loo_predict_proba(self):
        X, y, weight = self._rows
        codes = np.searchsorted(self.classes_, y)
        found = []
        for i in range(len(X)):
            others = copy.copy(self)
            others._sums = self._sum(
                self._sums, X[[i]], codes[[i]], -np.minimum(weight[[i]], 1.0)
            )
            found.append(others.predict_proba(X[[i]])[0])
        return np.array(found)


class StandInGrowing(StandInClassifier):
    """The same, that takes labels as they come where none were announced."""

    def fit(self, X, y, sample_weight=None):
        with TURN:
            draft = copy.copy(self)
            draft._announced = False
            StandInClassifier.fit(draft, X, y, sample_weight)
            vars(self).update(vars(draft))
        return self

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        with TURN:
            draft = copy.copy(self)
            draft._take(X, y, classes, sample_weight)
            vars(self).update(vars(draft))
        return self

    def _take(self, X, y, classes, sample_weight):
        fresh = not hasattr(self, "classes_")
        if classes is not None:
            super().partial_fit(X, y, classes, sample_weight)
            self._announced = True
            return self
        labels = self._read_labels(y)
        check_consistent_length(X, labels)
        check_classification_targets(labels)
        if fresh:
            self._learn(X, labels, np.unique(labels), sample_weight, fresh)
            self._announced = False
            return self
        if self._announced:
            return self._learn(X, labels, self.classes_, sample_weight, fresh)
        return self._joined(labels)._learn_into(self, X, labels, sample_weight)

    def _joined(self, labels):
        """Copy that knows the labels as well."""
        draft = copy.copy(self)
        draft.classes_ = np.union1d(self.classes_, labels)
        draft._sums = np.zeros((len(draft.classes_), self._sums.shape[1]))
        draft._sums[np.isin(draft.classes_, self.classes_)] = self._sums
        return draft

    def _learn_into(self, target, X, labels, sample_weight):
        self._learn(X, labels, self.classes_, sample_weight, fresh=False)
        vars(target).update(vars(self))
        return target
