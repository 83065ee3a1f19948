"""What the probit classifiers share: problems of two classes, and predictions."""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
from scipy.special import log_ndtr, ndtr
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from odalib.estimators._sklearn import DocumentationLink, validate_rows
from odalib.estimators._threads import single_threaded_blas
from odalib.inference.ep.coupling import couple, normalise
from odalib.inference.ep.sharpness import Sharpness

__all__ = [
    "BaseProbitClassifier",
    "Decomposition",
    "Problem",
    "probit_margins",
    "stack_moments",
]

NOT_SHARPENED = Sharpness()
# Latent values of a block of rows, of all problems: 4 MB for means and variances.
WORK_ELEMENTS = 2**18
MAX_BLOCK = 4096


@dataclass(frozen=True)
class Problem:
    """Two classes to tell apart.

    Attributes
    ----------
    positive : int
        Index of the class whose latent values are positive.
    negative : int or None
        Index of the other class; None for all others.
    """

    positive: int
    negative: int | None

    def rows(self, codes):
        """Select the rows that take part.

        Parameters
        ----------
        codes : array of int of shape (n,)
            Classes of the rows.

        Returns
        -------
        rows : array of int of shape (m,)
            Which rows.
        y : array of shape (m,)
            1.0 for the positive class and -1.0 for the negative one.
        """
        is_positive = codes == self.positive
        if self.negative is None:
            rows = np.arange(len(codes))
        else:
            rows = np.flatnonzero(is_positive | (codes == self.negative))
        return rows, np.where(is_positive[rows], 1.0, -1.0)


@dataclass(frozen=True)
class Decomposition:
    """The problems of two classes that make up a problem of many.

    Attributes
    ----------
    n_classes : int
    scheme : {'ovo', 'ovr'}
        One problem for every pair of classes, (0, 1), (0, 2), ..., of which the
        second is the positive one; or one for every class, positive, against all
        others. Two classes are one problem in both.
    sharpness : Sharpness
        Of coupled probabilities.
    """

    n_classes: int
    scheme: str
    sharpness: Sharpness = NOT_SHARPENED

    @property
    def is_coupled(self):
        """Whether probabilities are coupled from those of pairs."""
        return self.n_classes > 2 and self.scheme == "ovo"

    @cached_property
    def problems(self):
        """Problems in their order, a tuple."""
        if self.n_classes > 2 and self.scheme == "ovr":
            return tuple(Problem(c, None) for c in range(self.n_classes))
        pairs = combinations(range(self.n_classes), 2)
        return tuple(Problem(second, first) for first, second in pairs)

    def log_probabilities(self, log_negative, log_positive):
        """Log probabilities of all classes.

        One-vs-one by pairwise coupling, sharpened; one-vs-rest by normalising those of
        the positive classes.

        Parameters
        ----------
        log_negative, log_positive : array of shape (n, n_problems)
            Log probabilities of the two sides of every problem.

        Returns
        -------
        log_probabilities : array of shape (n, n_classes)
        """
        if self.n_classes == 2:
            return np.hstack([log_negative, log_positive])
        if self.scheme == "ovr":
            return normalise(log_positive)
        coupled = couple(log_negative, log_positive)
        if self.sharpness == NOT_SHARPENED:
            return coupled
        return normalise(self.sharpness.power * coupled)

    def sharpened(self, mean, variance, codes, row_weights):
        """Learn from rows left out how sure coupled probabilities may be.

        Parameters
        ----------
        mean, variance : array of shape (n, n_problems)
            Latent values of rows, each left out.
        codes : array of int of shape (n,)
            Classes of the rows.
        row_weights : array of shape (n,)

        Returns
        -------
        Decomposition
        """
        if not self.is_coupled:
            return self
        margins = probit_margins(mean, variance)
        coupled = couple(log_ndtr(-margins), log_ndtr(margins))
        return replace(
            self, sharpness=self.sharpness.learn(coupled, codes, row_weights)
        )

    def probit_log_probabilities(self, margins):
        """Log probabilities of all classes, (n, n_classes), from probit margins.

        Parameters
        ----------
        margins : array of shape (n, n_problems)
            The z of ``P(positive) = Phi(z)``.
        """
        return self.log_probabilities(log_ndtr(-margins), log_ndtr(margins))

    def probit_probabilities(self, margins):
        """Probabilities of all classes, (n, n_classes), from probit margins."""
        if self.n_classes == 2:
            return ndtr(np.hstack([-margins, margins]))
        return np.exp(self.probit_log_probabilities(margins))


def probit_margins(mean, variance):
    """Give the z of ``P(positive) = Phi(z)`` of latent values, with the noise."""
    return mean / np.sqrt(1.0 + variance)


def stack_moments(of_problems):
    """Means and variances of latent values, (n, n_problems) each.

    Parameters
    ----------
    of_problems : iterable of (array of shape (n,), array of shape (n,))
        Means and variances of every problem.
    """
    mean, variance = zip(*of_problems, strict=True)
    return np.stack(mean, axis=1), np.stack(variance, axis=1)


class BaseProbitClassifier(DocumentationLink, ClassifierMixin, BaseEstimator):
    """Base of the classifiers whose classes come from latent Gaussian values.

    What is fitted holds ``classes_`` and ``_decomposition``, and gives the latent
    values of rows by `_latent`.
    """

    def _latent(self, rows):
        """Give the mean and the variance of latent values.

        Parameters
        ----------
        rows : array or CSR matrix of shape (n, d)
            Validated.

        Returns
        -------
        mean, variance : arrays of shape (n, n_problems)
            In float64, without the noise of the probit.
        """
        raise NotImplementedError

    def _rows_to_predict(self, X):
        """Validate rows; in float32 where answers are to be."""
        return validate_rows(self, X, reset=False)

    def predict(self, X):
        """Most probable class of every row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Of equally probable classes, as `predict_proba` has them, the first.
        """
        most_probable = self.predict_proba(X).argmax(axis=1)
        return self.classes_[most_probable]

    def predict_proba(self, X):
        """Probability of every class, with the uncertainty of the latent values.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_`` and the dtype of X; zero or one only where
            no float is nearer.
        """
        (probabilities,) = self._of_margins(X, Decomposition.probit_probabilities)
        return probabilities

    def predict_log_proba(self, X):
        """Logarithm of `predict_proba`, without loss where that underflows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
            In the dtype of X; in float32 zero where the probability rounds to one.
        """
        (logs,) = self._of_margins(X, Decomposition.probit_log_probabilities)
        if logs.dtype == np.float32:
            logs[logs >= -np.finfo(np.float32).epsneg / 2] = 0.0
        return logs

    def decision_function(self, X):
        """Give scores that decide as `predict` does, to the last bit.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes the mean of the latent value over the standard deviation
            with the noise, positive for ``classes_[1]`` (its probability is the
            normal distribution function of that); for more classes log
            probabilities, whose largest is that of the class predicted. In the
            dtype of X.
        """
        check_is_fitted(self)
        if len(self.classes_) == 2:
            margins, probabilities = self._of_margins(
                X,
                lambda decomposition, margins: margins,
                Decomposition.probit_probabilities,
            )
            tied = probabilities[:, 0] == probabilities[:, 1]
            return np.where(tied, 0, margins[:, 0])
        scores, probabilities = self._of_margins(
            X,
            Decomposition.probit_log_probabilities,
            Decomposition.probit_probabilities,
        )
        # Rounding may part logarithms of equal probabilities, and join others.
        top = scores.max(axis=1, keepdims=True)
        is_top = probabilities == probabilities.max(axis=1, keepdims=True)
        return np.where(is_top, top, np.minimum(scores, np.nextafter(top, -np.inf)))

    def latent_mean_and_variance(self, X):
        """Mean and variance of the latent values.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        mean, variance : ndarray of shape (n_samples,) or (n_samples, n_problems)
            Without the noise of the probit, whose variance is 1. One column per
            problem where there are more than two classes: one-vs-one those of
            (0, 1), (0, 2), ..., positive for the second class; one-vs-rest one per
            class. In the dtype of X.
        """
        mean, variance = self._on_latent(X, lambda mean, variance: (mean, variance))
        if mean.shape[1] == 1:
            return mean[:, 0], variance[:, 0]
        return mean, variance

    def _of_margins(self, X, *functions):
        """``function(decomposition, margins)`` of all rows, for several functions."""

        def answers(mean, variance):
            margins = probit_margins(mean, variance)
            return [function(self._decomposition, margins) for function in functions]

        return self._on_latent(X, answers)

    def _on_latent(self, X, function):
        """``function(mean, variance)`` block by block, as arrays in the dtype of X."""
        check_is_fitted(self)
        rows = self._rows_to_predict(X)
        dtype = np.float32 if rows.dtype == np.float32 else np.float64
        n_problems = len(self._decomposition.problems)
        size = max(min(WORK_ELEMENTS // n_problems, MAX_BLOCK), 1)
        with single_threaded_blas():
            blocks = [
                function(*self._latent(rows[start : start + size]))
                for start in range(0, rows.shape[0], size)
            ]
        columns = zip(*blocks, strict=True)
        return [np.concatenate(column).astype(dtype) for column in columns]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
