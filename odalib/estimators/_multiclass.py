"""What the probit classifiers share: latent values, and predictions from them."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from odalib.estimators._decomposition import Decomposition, probit_margins
from odalib.estimators._narrowing import narrowed
from odalib.estimators._persistence import Versioned
from odalib.estimators._scores import ScoreMixin
from odalib.estimators._sklearn import DocumentationLink, validate_rows
from odalib.estimators._state import on_one_state
from odalib.estimators._threads import single_threaded_blas
from odalib.kernels.association import latent_moments

__all__ = [
    "TIED",
    "BaseProbitClassifier",
    "dtype_of_answers",
    "moments_by_roots",
    "stack_moments",
]

# Latent values of a block of rows, of all problems: 4 MB for means and variances.
WORK_ELEMENTS = 2**18
MAX_BLOCK = 2**12
# Rows of so few features are taken in larger blocks; where latent values are not kept,
# in blocks of which a call costs next to nothing.
SHORT, SHORT_BLOCK, LONG_BLOCK = 64, 2**14, 2**16
# Latent means that are nearer to zero than so many roundings of a standard deviation
# may have two probabilities that are the same float.
TIED = 1e3


def stack_moments(of_problems):
    """Means and variances of latent values, (n, n_problems) each.

    Parameters
    ----------
    of_problems : iterable of (array of shape (n,), array of shape (n,))
        Means and variances of every problem.
    """
    mean, variance = zip(*of_problems, strict=True)
    return np.stack(mean, axis=1), np.stack(variance, axis=1)


def moments_by_roots(rows, beliefs):
    """Means and variances of latent values, (n, n_problems) each.

    Parameters
    ----------
    rows : array or CSR matrix of shape (n, d)
    beliefs : sequence
        About the weights, each of a ``mean`` and a ``root`` R of its covariance
        ``R R'``; if they have one more than features, that is of the intercept.
    """
    means = np.array([belief.mean for belief in beliefs])
    roots = np.array([belief.root for belief in beliefs])
    return latent_moments(rows.astype(np.float64, copy=False), means, roots)


class BaseProbitClassifier(
    DocumentationLink, ScoreMixin, ClassifierMixin, Versioned, BaseEstimator
):
    """Base of the classifiers whose classes come from latent Gaussian values.

    What is fitted holds ``classes_`` and ``_decomposition``, and gives the latent
    values of rows by `_latent`.
    """

    # Whether rows that are not finite are refused where they are made use of.
    _looks_at_rows = False

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

    def _mean_and_bound(self, rows):
        """Give the latent means of two classes, (n,), and a bound of the variances.

        Where rows cannot be predicted, they are refused.
        """
        self._check_block(rows)
        mean, variance = self._latent(rows)
        return mean[:, 0], variance.max()

    def _sides(self, rows):
        """Give the probabilities of two classes, (n, 2).

        Where rows cannot be predicted, they are refused.
        """
        self._check_block(rows)
        margins = probit_margins(*self._latent(rows))
        return self._decomposition.probit_probabilities(margins)

    def _check_block(self, rows):
        """Refuse rows that cannot be predicted."""

    def _rows_to_predict(self, X):
        """Validate rows; in float32 where answers are to be."""
        return validate_rows(self, X, reset=False)

    @on_one_state
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
        check_is_fitted(self)
        return self._of_rows(X, self._labels)

    @on_one_state
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
        check_is_fitted(self)
        is_binary = len(self.classes_) == 2
        return self._of_rows(X, self._sides_of_all if is_binary else self._proba)

    @on_one_state
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
        check_is_fitted(self)
        rows = self._rows_to_predict(X)
        (logs,) = self._of_margins(rows, Decomposition.probit_log_probabilities)
        if logs.dtype == np.float32:
            logs[logs >= -np.finfo(np.float32).epsneg / 2] = 0.0
        return logs

    @on_one_state
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
        rows = self._rows_to_predict(X)
        if len(self.classes_) == 2:
            (margins,) = self._of_margins(rows, lambda decomposition, margins: margins)
            scores = margins[:, 0]
            near = np.flatnonzero(np.abs(scores) <= TIED * np.finfo(scores.dtype).eps)
            if len(near):
                sides = self._sides(rows[near]).astype(scores.dtype)
                scores[near[sides[:, 0] == sides[:, 1]]] = 0.0
            return scores
        scores, probabilities = self._of_margins(
            rows,
            Decomposition.probit_log_probabilities,
            Decomposition.probit_probabilities,
        )
        # Rounding may part logarithms of equal probabilities, and join others.
        top = scores.max(axis=1, keepdims=True)
        is_top = probabilities == probabilities.max(axis=1, keepdims=True)
        return np.where(is_top, top, np.minimum(scores, np.nextafter(top, -np.inf)))

    @on_one_state
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
        check_is_fitted(self)
        mean, variance = self._on_latent(
            self._rows_to_predict(X), lambda mean, variance: (mean, variance)
        )
        if mean.shape[1] == 1:
            return mean[:, 0], variance[:, 0]
        return mean, variance

    def _of_rows(self, X, function):
        """``function(rows)`` of rows that are looked at once, where that suffices."""
        if not self._looks_at_rows:
            return function(self._rows_to_predict(X))
        rows = validate_rows(self, X, reset=False, finite=False)
        try:
            return function(rows)
        except ValueError:
            # What is not finite is refused in the words of scikit-learn.
            self._rows_to_predict(X)
            raise

    def _labels(self, rows):
        """Most probable classes, (n,)."""
        is_binary = len(self.classes_) == 2
        decide = self._is_positive if is_binary else self._decider(rows)
        labels = np.empty(rows.shape[0], dtype=self.classes_.dtype)
        with single_threaded_blas():
            for block in _blocks(rows):
                labels[block] = self.classes_.take(decide(rows[block]))
        return labels

    def _sides_of_all(self, rows):
        """Give the probabilities of two classes, (n, 2), in the dtype of rows."""
        sides = np.empty((rows.shape[0], 2), dtype=dtype_of_answers(rows))
        with single_threaded_blas():
            for block in _blocks(rows):
                sides[block] = self._sides(rows[block])
        return sides

    def _proba(self, rows):
        """Probabilities of more than two classes, in the dtype of rows."""
        (probabilities,) = self._of_margins(rows, Decomposition.probit_probabilities)
        return probabilities

    def _most_probable(self, rows):
        """Give the numbers of the most probable of more than two classes, (n,)."""
        return self._proba(rows).argmax(axis=1)

    def _decider(self, rows):
        """Give what decides as `_most_probable`, for so many rows."""
        return self._most_probable

    def _of_margins(self, rows, *functions):
        """``function(decomposition, margins)`` of all rows, for several functions."""

        def answers(mean, variance):
            margins = probit_margins(mean, variance)
            return [function(self._decomposition, margins) for function in functions]

        return self._on_latent(rows, answers)

    def _on_latent(self, rows, function):
        """``function(mean, variance)`` block by block, as arrays in their dtype."""

        def on_block(block):
            self._check_block(block)
            return function(*self._latent(block))

        n_problems = len(self._decomposition.problems)
        size = min(WORK_ELEMENTS // n_problems, _largest_block(rows, SHORT_BLOCK))
        size = max(size, 1)
        with single_threaded_blas():
            blocks = [
                on_block(rows[start : start + size])
                for start in range(0, rows.shape[0], size)
            ]
        dtype = dtype_of_answers(rows)
        columns = zip(*blocks, strict=True)
        return [
            narrowed(
                np.concatenate(column), dtype, "Latent values or log probabilities"
            )
            for column in columns
        ]

    def _is_positive(self, rows):
        """Whether the second of two classes is more probable, 0 or 1, (n,).

        Means decide, but for those so near to zero that rounding may make the
        probabilities the same.
        """
        dtype = dtype_of_answers(rows)
        mean, bound = self._mean_and_bound(rows)
        limit = TIED * np.finfo(dtype).eps * np.sqrt(1.0 + bound)
        sides = (mean > 0.0).astype(np.intp)
        near = np.flatnonzero(np.abs(mean) <= limit)
        if len(near):
            sides[near] = self._sides(rows[near]).astype(dtype).argmax(axis=1)
        return sides

    def __sklearn_is_fitted__(self):
        # scikit-learn would look through all attributes, to which another thread may be
        # adding one that is kept once it was asked for.
        return hasattr(self, "_decomposition")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _blocks(rows):
    """Slices of rows that are taken at a time for two classes."""
    size = _largest_block(rows, LONG_BLOCK)
    return (slice(start, start + size) for start in range(0, rows.shape[0], size))


def _largest_block(rows, of_short):
    """Rows that are taken at a time; of short ones so many."""
    is_short = np.ndim(rows) == 2 and rows.shape[1] <= SHORT
    return of_short if is_short else MAX_BLOCK


def dtype_of_answers(rows):
    """Dtype of what is said of rows."""
    return np.float32 if getattr(rows, "dtype", None) == np.float32 else np.float64
