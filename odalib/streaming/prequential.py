"""Scores of predictions that were made before the rows were learnt.

Of every batch a score keeps figures that add up, so that any run of batches has a
score as if it were one: a log loss or an R2 of a thousand rows is that of the rows,
whatever batches they came in, and a batch with one class only does no harm.

References
----------
A. P. Dawid, "Present position and potential developments: some personal views:
statistical theory: the prequential approach", Journal of the Royal Statistical Society
A 147, 1984.
"""

import numpy as np
from sklearn.metrics import get_scorer

from odalib.estimators._sklearn import takes_sample_weight

__all__ = ["as_scores", "by_name"]


def as_scores(scoring):
    """Make scores of what a user names.

    Parameters
    ----------
    scoring : str, callable, list of str, dict or None
        As in scikit-learn.

    Returns
    -------
    dict of str to object
        Each has ``measure(estimator, chunk)``, an array of figures of a batch, and
        ``value(figures)``, the scores of several batches after each other.
    """
    return {name: _as_score(scorer) for name, scorer in by_name(scoring).items()}


def by_name(scoring):
    """Name the scorers that a user gives, as a dict of str to str or callable."""
    if scoring is None:
        return {}
    if isinstance(scoring, str):
        scoring = [scoring]
    if callable(scoring):
        scoring = {"score": scoring}
    if not isinstance(scoring, dict):
        scoring = {name: name for name in scoring}
    return scoring


def _as_score(scorer):
    own = {"neg_log_loss": LogLoss, "r2": R2}
    if isinstance(scorer, str) and scorer in own:
        return own[scorer]()
    return MeanScore(get_scorer(scorer))


class MeanScore:
    """Any scorer: over several batches the mean, weighted by their rows.

    Parameters
    ----------
    scorer : callable
        ``scorer(estimator, X, y)``, with ``sample_weight`` where it takes that.
    """

    def __init__(self, scorer):
        self._scorer = scorer

    def measure(self, estimator, chunk):
        """Weight of the rows, and the score times it."""
        weighted = chunk.sample_weight is not None and takes_sample_weight(self._scorer)
        options = {"sample_weight": chunk.sample_weight} if weighted else {}
        score = float(self._scorer(estimator, chunk.X, chunk.y, **options))
        weight = np.sum(chunk.sample_weight) if weighted else chunk.n_samples
        return np.array([weight, weight * score])

    def additive(self, figures):
        """Return the figures, which add up as they are."""
        return figures

    def value(self, sums):
        """Mean score of rows that are summed up."""
        return sums[..., 1] / sums[..., 0]


class LogLoss(MeanScore):
    """Mean log probability of the labels, in nats, as scikit-learn's 'neg_log_loss'.

    Labels that the estimator does not know have probability zero. As in scikit-learn,
    probabilities are taken to be at least the rounding error of their type.
    """

    def __init__(self):
        super().__init__(_mean_log_probability)


class R2:
    """Coefficient of determination of all rows; the mean over several targets."""

    def measure(self, estimator, chunk):
        """Weight, means of the targets, squares about them, and of the errors."""
        targets = np.asarray(chunk.y, dtype=np.float64)
        predicted = np.asarray(estimator.predict(chunk.X), dtype=np.float64)
        targets = targets.reshape(len(targets), -1)
        errors = targets - predicted.reshape(targets.shape)
        weights = np.ones(len(targets))
        if chunk.sample_weight is not None:
            weights = np.asarray(chunk.sample_weight, dtype=np.float64)
        mean = np.average(targets, axis=0, weights=weights)
        return np.array(
            [
                np.full_like(mean, weights.sum()),
                mean,
                weights @ (targets - mean) ** 2,
                weights @ errors**2,
            ]
        )

    def additive(self, figures):
        """Return sums about one origin, so near the targets that no digits are lost."""
        figures = figures.reshape(len(figures), 4, -1)
        weight, mean, squares, errors = np.moveaxis(figures, 1, 0)
        shift = mean - mean[0]
        return np.stack(
            [weight, weight * shift, squares + weight * shift**2, errors], axis=1
        )

    def value(self, sums):
        """R2 of rows that are summed up; NaN where the targets are all the same."""
        weight, shift, squares, errors = np.moveaxis(sums, -2, 0)
        spread = squares - shift**2 / weight
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(spread > 0, 1 - errors / spread, np.nan).mean(axis=-1)


def _mean_log_probability(estimator, X, y, sample_weight=None):
    found = np.asarray(estimator.predict_proba(X))
    classes, labels = np.asarray(estimator.classes_), np.asarray(y)
    columns = np.searchsorted(classes, labels).clip(max=len(classes) - 1)
    known = classes[columns] == labels
    probabilities = np.where(known, found[np.arange(len(labels)), columns], 0.0)
    least = np.finfo(found.dtype).eps
    logs = np.log(np.clip(probabilities, least, 1 - least))
    return np.average(logs, weights=sample_weight)
