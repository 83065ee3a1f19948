"""Two coupled spins in fields: sums over their four states, without cancellation."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from odalib.inference.ep.spin import log_two_cosh

__all__ = ["SpinPairs"]


@dataclass(frozen=True)
class SpinPairs:
    """Weights ``exp(J x y + h x + g y)`` of many pairs of spins.

    Parameters
    ----------
    coupling, first, second : array
        ``J``, ``h`` and ``g``, of one shape.
    """

    coupling: np.ndarray
    first: np.ndarray
    second: np.ndarray

    @cached_property
    def log_equal(self):
        """Log of the sum over the two states of equal spins."""
        return self.coupling + log_two_cosh(self.first + self.second)

    @cached_property
    def log_unequal(self):
        """Log of the sum over the two states of unequal spins."""
        return -self.coupling + log_two_cosh(self.first - self.second)

    @cached_property
    def log_sum(self):
        """Log of the sum over all four states."""
        return np.logaddexp(self.log_equal, self.log_unequal)

    @cached_property
    def log_size(self):
        """Log of the size of the covariance; of no coupling, minus infinity.

        The covariance is ``4 (p(++) p(--) - p(+-) p(-+))``, and the ratio of the two
        products is ``exp(4 J)``.
        """
        size = np.abs(self.coupling)
        with np.errstate(divide="ignore"):
            share = np.log(-np.expm1(-4.0 * size))
        return np.log(4.0) + 2.0 * (size - self.log_sum) + share

    @property
    def covariance(self):
        """Covariances of the two spins."""
        return np.sign(self.coupling) * np.exp(self.log_size)

    @property
    def log_determinant(self):
        """Log of the determinant of the covariance matrix of the two spins.

        Sixteen times the sum of the products of three of the four probabilities:
        the product of the variances less the squared covariance would cancel.
        """
        three_with_equal = self.log_unequal + 2.0 * self.coupling
        three_with_unequal = self.log_equal - 2.0 * self.coupling
        return (
            np.log(16.0)
            + np.logaddexp(three_with_equal, three_with_unequal)
            - 3.0 * self.log_sum
        )
