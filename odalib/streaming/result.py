"""What a fit of a stream returns."""

from array import array
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

__all__ = ["Curve", "Records", "StreamResult"]


class Curve(NamedTuple):
    """A score along a stream.

    Attributes
    ----------
    n_samples : ndarray of int of shape (n_scored_batches,)
        Rows from the beginning of the stream to the end of each batch.
    score : ndarray of float of shape (n_scored_batches,)
    """

    n_samples: np.ndarray
    score: np.ndarray


class Records:
    """Figures of all batches that were predicted before they were learnt.

    Parameters
    ----------
    scores : dict of str to object
        Of `as_scores`.

    Attributes
    ----------
    n_samples : array of int
        Rows at the end of each batch.
    figures : dict of str to array of float
        Those of each batch after each other. Arrays of Python, which grow, and take a
        tenth of the memory of lists: streams have many batches.
    """

    def __init__(self, scores):
        self._scores = scores
        self.n_samples = array("q")
        self.figures = {name: array("d") for name in scores}

    def measure(self, estimator, chunk, n_samples):
        """Score predictions of a chunk that ends after so many rows."""
        found = {
            name: score.measure(estimator, chunk)
            for name, score in self._scores.items()
        }
        for name, figures in found.items():
            self.figures[name].extend(np.ravel(figures).tolist())
        self.n_samples.append(n_samples)

    def latest(self):
        """Scores of the last batch, a dict of str to float."""
        return {
            name: float(self._scores[name].value(self._additive(name, 1))[-1])
            for name in self.scored
        }

    def total(self):
        """Scores of all batches as one, a dict of str to float."""
        return {name: float(self.curve(name, None).score[-1]) for name in self.scored}

    @property
    def scored(self):
        """Names of the scores, once a batch has been scored."""
        return list(self._scores) if self.n_samples else []

    def curve(self, name, window):
        """Scores of the last ``window`` batches, or of all so far."""
        if not self.n_samples:
            return Curve(np.empty(0, dtype=np.int64), np.empty(0))
        figures = self._additive(name, len(self.n_samples))
        if window is None:
            sums = np.cumsum(figures, axis=0)
        else:
            # Summed window by window, since a difference of long sums loses digits.
            sums = np.array(
                [
                    figures[max(0, end - window) : end].sum(axis=0)
                    for end in range(1, len(figures) + 1)
                ]
            )
        n_samples = np.array(self.n_samples, dtype=np.int64)
        return Curve(n_samples, self._scores[name].value(sums))

    def _additive(self, name, n_batches):
        """Figures of the last batches, which add up."""
        width = len(self.figures[name]) // len(self.n_samples)
        last = np.array(self.figures[name][-n_batches * width :])
        return self._scores[name].additive(last.reshape(n_batches, width))


@dataclass(frozen=True)
class StreamResult:
    """What `fit_stream` has done.

    Parameters
    ----------
    estimator : estimator
        The one that was given, which has learnt.
    n_batches : int
        Batches of the stream, those before a resumption and empty ones included.
    n_samples : int
        Rows of the stream.
    n_resumed : int
        How many of the batches a checkpoint had learnt before.
    scores : dict of str to float
        Prequential scores of all scored batches as one; empty without ``scoring``,
        and where there was only the first batch, of which nothing can be predicted.
    records : Records
        Figures of all scored batches, which `curve` makes curves of.

    Examples
    --------
    >>> import numpy as np
    >>> from odalib import ODARegressor
    >>> from odalib.streaming import fit_stream
    >>> X = np.random.default_rng(0).uniform(size=(4000, 1))
    >>> result = fit_stream(
    ...     ODARegressor(20, random_state=0), X, target=np.sin(6 * X[:, 0]),
    ...     batch_size=500, scoring="r2",
    ... )
    >>> result
    StreamResult(estimator=..., n_batches=8, n_samples=4000, n_resumed=0, scores=...)
    >>> result.scores["r2"] > 0.98
    True
    """

    estimator: object
    n_batches: int
    n_samples: int
    n_resumed: int
    scores: dict
    records: Records = field(repr=False)

    def curve(self, name=None, window=None):
        """Give a prequential score along the stream.

        Parameters
        ----------
        name : str, default=None
            Which score; None where there is one.
        window : int, default=None
            Score the last so many batches, to see drift; None for all so far, as
            ``scores`` counts them.

        Returns
        -------
        curve : Curve
            Named tuple of ``n_samples`` and ``score``, arrays with an entry for every
            scored batch.

        Raises
        ------
        ValueError
            For an unknown name, none where there are several, and a window of less
            than one batch.
        """
        names = list(self.records.figures)
        if name is None and len(names) == 1:
            (name,) = names
        if name not in names:
            raise ValueError(
                f"There is no score {name!r}; there are {names}, those of scoring in "
                "fit_stream."
            )
        if window is not None and window < 1:
            raise ValueError(f"window={window} must be at least one batch.")
        return self.records.curve(name, window)
