"""Anderson acceleration of a fixed-point iteration."""

import numpy as np

__all__ = ["Anderson", "equations", "mix", "mixing", "remember"]

DEPTH = 6
# Directions that differ by less than rounding are no directions.
RCOND = 1e-10


class Anderson:
    """Extrapolates from the last iterates of ``y = map(x)`` (Walker & Ni 2011).

    Of all combinations of the last images with weights that sum to one, it proposes
    the one whose residual ``y - x`` would be smallest were the map linear.
    """

    def __init__(self):
        self._points = ()

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
        self._points = remember(self._points, x, y)
        return mix(self._points, mixing(equations(self._points, scale)))


def remember(points, x, y):
    """Points of which the last is that x was mapped to y; no more than are used."""
    return (*points[1 - DEPTH :], (x, y))


def equations(points, scale):
    """Columns that the next residual is to be made of, shape (n, k) for k points.

    Parameters
    ----------
    points : tuple of (array of shape (n,), array of shape (n,))
        Arguments and images.
    scale : float or array of shape (n,)

    Returns
    -------
    equations : array of shape (n, k)
        What the last residual differs by from each before it, and at the end itself.
        Of rows in blocks a triangular factor serves as well.
    """
    *earlier, (x, y) = points
    residual = y - x
    changes = [scale * (residual - (b - a)) for a, b in earlier]
    return np.array([*changes, scale * residual]).T


def mixing(equations):
    """Share of every earlier image, shape (k - 1,), that leaves the least residual."""
    if equations.shape[1] == 1:
        return np.empty(0)
    return np.linalg.lstsq(equations[:, :-1], equations[:, -1], rcond=RCOND)[0]


def mix(points, weights):
    """Last image with so much of each of those before it, shape (n,)."""
    *earlier, (_, y) = points
    if not earlier:
        return y
    return y - np.array([y - b for _, b in earlier]).T @ weights
