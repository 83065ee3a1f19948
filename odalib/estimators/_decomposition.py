"""Problems of two classes that make up one of many, and their probabilities."""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
from scipy.special import log_ndtr

from odalib.inference.ep.coupling import couple, least_plain_rate, normalise
from odalib.inference.ep.sharpness import Sharpness
from odalib.inference.saving import SavesFields
from odalib.kernels.association import both_sides, couple_margins

__all__ = ["Decomposition", "Problem", "probit_margins"]

NOT_SHARPENED = Sharpness()


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
        if self.negative is None or (is_positive | (codes == self.negative)).all():
            return np.arange(len(codes)), 2.0 * is_positive - 1.0
        rows = np.flatnonzero(is_positive | (codes == self.negative))
        return rows, 2.0 * is_positive[rows] - 1.0


@dataclass(frozen=True)
class Decomposition(SavesFields):
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
        if self.n_classes > 2 and not self.is_coupled:
            return np.exp(self.probit_log_probabilities(margins))
        if self.n_classes == 2:
            return np.hstack(both_sides(margins))
        coupled, rarest = couple_margins(margins)
        steep = np.flatnonzero(rarest < least_plain_rate(self.n_classes))
        # What products of such rates left, perhaps no numbers, is not looked at.
        coupled[steep] = 1.0
        if self.sharpness != NOT_SHARPENED:
            # Over the largest, which no power makes vanish.
            coupled /= coupled.max(axis=1, keepdims=True)
            coupled **= self.sharpness.power
            coupled /= coupled.sum(axis=1, keepdims=True)
        if len(steep):
            coupled[steep] = np.exp(self.probit_log_probabilities(margins[steep]))
        return coupled


def probit_margins(mean, variance):
    """Give the z of ``P(positive) = Phi(z)`` of latent values, with the noise."""
    return mean / np.sqrt(1.0 + variance)
