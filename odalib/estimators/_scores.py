"""Scores of rows that have weights."""

import numpy as np
from sklearn.base import is_classifier

from odalib.estimators._labels import read_labels
from odalib.estimators._sklearn import check_weights

__all__ = ["ScoreMixin", "weighted_mean"]


def weighted_mean(values, sample_weight):
    """Mean of what rows have.

    Parameters
    ----------
    values : array of shape (n,)
    sample_weight : array-like of shape (n,)

    Returns
    -------
    float
    """
    weights = check_weights(sample_weight, values[:, np.newaxis])
    # By a power of two, which changes no digit: the largest times values may overflow.
    weights = np.ldexp(weights, -np.frexp(weights.max())[1])
    return float(np.average(values, weights=weights))


def _labels_to_compare(estimator, y):
    """Labels that `fit` takes, as scikit-learn's metrics take them."""
    y = np.asarray(y)
    if y.dtype.kind not in ("O", "T"):
        return y
    return read_labels(estimator, y.ravel() if y.shape[1:] == (1,) else y)


class ScoreMixin:
    """Scores of scikit-learn's mixins, which come after this class, or an error."""

    def score(self, X, y, sample_weight=None):
        """Score predictions: the accuracy of classes, or R^2 of targets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            What the predictions ought to be.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, in proportion to each other; None for one each.

        Returns
        -------
        score : float
            The higher the better; 1 at the most.

        Raises
        ------
        ValueError
            For weights that `fit` would refuse, and for targets whose squares, or
            their ratio to those of the errors, no float holds.
        """
        if is_classifier(self):
            y = _labels_to_compare(self, y)
        if sample_weight is not None:
            sample_weight = check_weights(sample_weight, X)
        with np.errstate(over="ignore", invalid="ignore"):
            found = super().score(X, y, sample_weight=sample_weight)
        # Of one row there is no R^2, of which scikit-learn warns.
        if np.isfinite(found) or len(y) < 2:
            return found
        raise ValueError(
            "The score is no number: squares of y, of the errors of predictions, or "
            "the ratio of both, are more than a float holds. Scale y, or leave out "
            "rows whose sample_weight vanishes beside the others."
        )
