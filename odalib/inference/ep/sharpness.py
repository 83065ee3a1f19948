"""How sure the probabilities of many classes may be, told by rows left out."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from odalib.inference.ep.coupling import normalise

__all__ = ["Sharpness", "power_moments", "relative_to_own"]

# The log of the power moves by so much in a call, at the most: a factor of 150.
SPAN = 5.0


@dataclass(frozen=True)
class Sharpness:
    """Belief about the power that coupled probabilities are to be raised to.

    Most pairs know neither class of a row, and dilute what the others know: classes
    that are easily told apart come out less certain than they are. Where classes
    overlap there is nothing to sharpen. How much there is, is told by the rows
    themselves, each left out: a normal belief about ``log g`` and the likelihood of
    ``p^g``, normalised, give the next belief, by its mode and curvature.

    Attributes
    ----------
    mean, precision : float
        Of ``log g``; before any row 0 and 1, which says within a factor of e.
    """

    mean: float = 0.0
    precision: float = 1.0

    @property
    def power(self):
        """The power g at the mode of the belief."""
        return float(np.exp(self.mean))

    def learn(self, log_probabilities, classes, row_weights):
        """Belief after rows whose classes are known.

        Parameters
        ----------
        log_probabilities : array of shape (n, k)
            Coupled, of rows that took no part in them.
        classes : array of int of shape (n,)
        row_weights : array of shape (n,)

        Returns
        -------
        Sharpness
        """
        relative = relative_to_own(log_probabilities, classes)
        return self.learn_from(
            lambda log_power: power_moments(log_power, relative, row_weights)
        )

    def learn_from(self, moments):
        """Belief after rows that are known by their sums.

        Parameters
        ----------
        moments : callable
            ``moments(log_power)``, as `power_moments` gives them, of all rows.

        Returns
        -------
        Sharpness
        """

        def slope(log_power):
            return moments(log_power)[0] + self.precision * (log_power - self.mean)

        lowest, highest = self.mean - SPAN, self.mean + SPAN
        if slope(lowest) >= 0:
            mean = lowest
        elif slope(highest) <= 0:
            mean = highest
        else:
            mean = brentq(slope, lowest, highest, xtol=1e-13)
        return Sharpness(mean, self.precision + float(moments(mean)[1]))


def relative_to_own(log_probabilities, classes):
    """Log probabilities relative to that of the own class, shape (n, k)."""
    own = np.take_along_axis(log_probabilities, classes[:, np.newaxis], axis=1)
    # So that the log probability of the own class is what is left over.
    return log_probabilities - own


def power_moments(log_power, relative, row_weights):
    """Slope and curvature of minus the log probability of the classes of rows.

    Parameters
    ----------
    log_power : float
        In which they are.
    relative : array of shape (n, k)
        See `relative_to_own`.
    row_weights : array of shape (n,)

    Returns
    -------
    slope, curvature : float
    """
    power = np.exp(log_power)
    given = np.exp(normalise(power * relative))
    centre = (given * relative).sum(axis=1)
    spread = (given * (relative - centre[:, np.newaxis]) ** 2).sum(axis=1)
    return power * (row_weights @ centre), power**2 * (row_weights @ spread)
