"""Anderson acceleration of a fixed-point iteration."""

import numpy as np

__all__ = ["Anderson"]

DEPTH = 6
# Directions that differ by less than rounding are no directions.
RCOND = 1e-10


class Anderson:
    """Extrapolates from the last iterates of ``y = map(x)`` (Walker & Ni 2011).

    Of all combinations of the last images with weights that sum to one, it proposes
    the one whose residual ``y - x`` would be smallest were the map linear.
    """

    def __init__(self):
        self._points = []

    def propose(self, x, y, scale=1.0):
        """Next argument, given that x was mapped to y.

        Parameters
        ----------
        x, y : array of shape (n,)
        scale : float or array of shape (n,), default=1.0
            What makes the entries of a residual comparable.

        Returns
        -------
        array of shape (n,)
        """
        self._points = [*self._points[1 - DEPTH :], (x, y)]
        residual = y - x
        earlier = self._points[:-1]
        if not earlier:
            return y
        changes = np.array([scale * (residual - (b - a)) for a, b in earlier]).T
        weights = np.linalg.lstsq(changes, scale * residual, rcond=RCOND)[0]
        return y - np.array([y - b for _, b in earlier]).T @ weights
