"""Bregman divergences: four small functions each, one affine form for all.

``d(x, mu) = phi(x) - phi(mu) - <grad phi(mu), x - mu>`` for a strictly convex
``phi``. Its centroid is the mean for every ``phi`` (Banerjee et al. 2005), it is
affine in ``x`` up to ``phi(x)``, and merging cells of weights ``a``, ``b`` raises
the distortion by ``a phi(mu_a) + b phi(mu_b) - (a + b) phi(mu_ab)``: nothing else
in the annealing code depends on which divergence it serves.
"""

import numpy as np
import scipy.sparse as sp

__all__ = ["BregmanDivergence", "check_range", "tangent_planes"]

# Entries up to this power of the largest number can be squared and summed.
LARGEST_POWER = 0.45


class BregmanDivergence:
    """Base of the divergences; subclass it or pass any object with its methods.

    A user-defined divergence needs ``phi``, ``gradient``, ``check_domain`` and
    one of ``hessian_diagonal`` and ``hessian_product``.

    Attributes
    ----------
    name : str
        Used in error messages.
    translation_invariant : bool
        Whether ``d(x + a, mu + a) = d(x, mu)``; the data are then centred before
        any product is formed, so that an offset costs no digits.
    """

    name = "user-defined"
    translation_invariant = False

    def phi(self, rows):
        """Convex function of every row; (n, d) array or CSR to (n,)."""
        raise NotImplementedError

    def gradient(self, points):
        """Gradient of ``phi`` at every point; (K, d) to (K, d)."""
        raise NotImplementedError

    def hessian_diagonal(self, points):
        """Diagonal of the Hessian of a separable ``phi``; (K, d) to (K, d)."""
        raise NotImplementedError

    def hessian_product(self, points, vectors):
        """Hessian at point i times vector i; two (K, d) arrays to (K, d)."""
        return self.hessian_diagonal(points) * vectors

    def check_domain(self, rows):
        """Raise ValueError if a row lies outside the domain of ``phi``."""

    def interior(self, points, mean):
        """Points moved off the boundary of the domain; ``mean`` is the data's."""
        return points

    def shorten(self, points, steps):
        """Shorten steps where ``points`` plus or minus them leave the domain."""
        return steps

    def bind(self, rows):
        """Divergence with whatever it learns from the training rows."""
        return self

    def log_normaliser(self, temperature, n_features):
        """Minus the log of the integral of ``exp(-d(x, mu) / T)`` over x.

        Zero where it depends on mu; densities are then up to the base measure of
        the exponential family of ``phi``.
        """
        return 0.0


def check_range(X):
    """Raise ValueError where sums of squares of the entries would overflow."""
    values = X.data if sp.issparse(X) else X
    if values.size == 0:
        return
    largest = max(float(values.max()), -float(values.min()))
    limit = float(np.finfo(X.dtype).max) ** LARGEST_POWER
    if largest > limit:
        raise ValueError(
            f"X holds values up to {largest:.3g}, whose squares overflow in sums of "
            f"{X.dtype}; scale X so that they stay below {limit:.0e}."
        )


def tangent_planes(divergence, points, mean):
    """Gradients (K, d) and offsets (K,) of the affine form of the divergence.

    ``d(x, mu_i) = phi(x) + offset_i - <gradient_i, x>``.
    """
    inside = divergence.interior(points, mean)
    gradients = divergence.gradient(inside)
    offsets = np.einsum("ij,ij->i", gradients, inside) - divergence.phi(inside)
    return gradients, offsets
