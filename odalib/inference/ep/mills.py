"""Derivatives of log Phi without cancellation, to the ends of the floats."""

from typing import NamedTuple

import numpy as np
from scipy.special import erfcx

__all__ = ["Mills", "mills"]

# Left of this the differences that define the functions lose digits, and the
# continued fraction below has converged to 1e-14 at the given depth.
TAIL = -3.0
DEPTH = 51
# Right of ONE, Phi is 1 in floats; right of ZERO, its density is 0.
ONE = 9.0
ZERO = 40.0


class Mills(NamedTuple):
    """The inverse Mills ratio ``r = phi(z) / Phi(z)`` and what is made of it.

    Attributes
    ----------
    ratio : array
        ``r``, the derivative of log Phi.
    excess : array
        ``g = z + r``, positive, about ``1 / |z|`` for z far below zero.
    excess_slope : array
        ``q = dg/dz = 1 - r g``, in (0, 1), about ``1 / z^2`` far below zero.
    precision : array
        ``r g``, minus the second derivative of log Phi, in (0, 1).
    shift : array
        ``r (1 + z g)``, with which ``-precision f^2 / 2 + shift f`` has at z the
        first and second derivative of log Phi; positive.
    """

    ratio: np.ndarray
    excess: np.ndarray
    excess_slope: np.ndarray
    precision: np.ndarray
    shift: np.ndarray


def mills(z):
    """Evaluate `Mills` to a relative error of 2e-13 for z in [-1e8, 37].

    Parameters
    ----------
    z : array
        Finite, of any shape. Beyond 38 the ratio underflows to zero.

    Returns
    -------
    Mills
    """
    in_tail = z < TAIL
    if not in_tail.any():
        return _body(z)
    functions = _body(np.where(in_tail, 0.0, z))
    for values, tail_values in zip(functions, _tail(-z[in_tail]), strict=True):
        values[in_tail] = tail_values
    return functions


def _body(z):
    # erfcx amplifies the rounding of its argument where it grows like a Gaussian.
    ratio = np.where(
        z > ONE,
        np.exp(-0.5 * np.minimum(z, ZERO) ** 2) / np.sqrt(2.0 * np.pi),
        np.sqrt(2.0 / np.pi) / erfcx(z / -np.sqrt(2.0)),
    )
    excess = z + ratio
    precision = ratio * excess
    return Mills(ratio, excess, 1.0 - precision, precision, ratio + precision * z)


def _tail(x):
    """At ``z = -x``, from ``h = 1 / (x + 3 / (x + 4 / (x + ...)))``.

    It is what remains of Laplace's continued fraction of the Mills ratio,
    ``1 / r = 1 / (x + 1 / (x + 2 h))``, when its first two floors are resolved.
    """
    inverse = 1.0 / x
    terms = np.multiply.outer(inverse**2, NODES)
    terms += 1.0
    h = inverse * np.einsum("ij,j->i", np.reciprocal(terms, out=terms), WEIGHTS)
    excess = 1.0 / (x + 2.0 * h)
    slope = excess * (2.0 * h - excess)
    ratio = x + excess
    return Mills(ratio, excess, slope, 1.0 - slope, 2.0 * ratio * excess * h)


def _fraction_as_sum():
    """Nodes t and weights w with ``h = sum w x / (x^2 + t)``, all at once.

    A continued fraction cut off at some depth is a Gauss rule: its nodes are the
    squared eigenvalues of the Jacobi matrix of its numerators.
    """
    numerators = np.sqrt(np.arange(3.0, DEPTH + 1.0))
    eigenvalues, vectors = np.linalg.eigh(np.diag(numerators, -1))
    positive = eigenvalues > 0.0
    return eigenvalues[positive] ** 2, 2.0 * vectors[0, positive] ** 2


NODES, WEIGHTS = _fraction_as_sum()
