"""Bregman divergences: four small functions each, one affine form for all.

``d(x, mu) = phi(x) - phi(mu) - <grad phi(mu), x - mu>`` for a strictly convex
``phi``. Its centroid is the mean for every ``phi`` (Banerjee et al. 2005), it is
affine in ``x`` up to ``phi(x)``, and merging cells of weights ``a``, ``b`` raises
the distortion by ``a phi(mu_a) + b phi(mu_b) - (a + b) phi(mu_ab)``: nothing else
in the annealing code depends on which divergence it serves.
"""

from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from odalib.kernels.association import largest_size

__all__ = [
    "BregmanDivergence",
    "check_counts",
    "check_range",
    "check_weighted_squares",
]

# Entries up to this power of the largest number can be squared and summed.
LARGEST_POWER = 0.45
# Weights that sum to less may be multiplied by such squares, whatever they are.
SAFE_WEIGHT = 1e30
# Of a row in the weight of all: its shares in codevectors are floats yet.
LEAST_SHARE = 1e-200
# Of all weights of rows with targets, which are as many rows each: trust in a cell is
# one less one over its weight, and cells nest.
LARGEST_TOTAL = 1e100


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
    lower, upper : float
        Bounds of the domain of every coordinate.
    formula : str or None
        Name under which compiled kernels know the divergence; None for those that
        they do not. A subclass does not inherit it, since it may redefine ``phi``.
    n_hidden : int
        Last columns of rows that count while they anneal, and not afterwards.
    """

    name = "user-defined"
    translation_invariant = False
    lower, upper = -np.inf, np.inf
    n_hidden = 0
    formula: ClassVar[str | None] = None

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "formula" not in vars(cls):
            cls.formula = None
        for name, method in vars(cls).items():
            inherited = getattr(BregmanDivergence, name, None)
            if inherited is not None and callable(method) and not method.__doc__:
                method.__doc__ = inherited.__doc__

    @property
    def visible(self):
        """Divergence of the columns that are not hidden."""
        return self

    def phi(self, rows):
        """Evaluate the convex function at every row.

        Parameters
        ----------
        rows : array or CSR matrix of shape (n, d)
            Inside the domain.

        Returns
        -------
        phi : array of shape (n,)
            In units of the divergence.
        """
        raise NotImplementedError

    def gradient(self, points):
        """Differentiate ``phi`` at every point.

        Parameters
        ----------
        points : array of shape (K, d)
            Off the boundary of the domain.

        Returns
        -------
        gradient : array of shape (K, d)
            Row i is the gradient at point i.
        """
        raise NotImplementedError

    def hessian_diagonal(self, points):
        """Differentiate a separable ``phi`` twice at every point.

        Parameters
        ----------
        points : array of shape (K, d)
            Off the boundary of the domain.

        Returns
        -------
        diagonal : array of shape (K, d)
            Row i is the diagonal of the Hessian at point i.
        """
        raise NotImplementedError

    def hessian_product(self, points, vectors):
        """Multiply vectors by the Hessians of ``phi``.

        Parameters
        ----------
        points : array of shape (K, d)
            Off the boundary of the domain.
        vectors : array of shape (K, d)
            One per point.

        Returns
        -------
        product : array of shape (K, d)
            Row i is the Hessian at point i times vector i.
        """
        return self.hessian_diagonal(points) * vectors

    def check_domain(self, rows):
        """Refuse rows outside the domain of ``phi``.

        Parameters
        ----------
        rows : array or CSR matrix of shape (n, d)
            Finite.

        Raises
        ------
        ValueError
            Naming the divergence, the domain and the first entry outside it.
        """

    def interior(self, points, mean):
        """Move points off the boundary of the domain, and no others.

        Parameters
        ----------
        points : array of shape (K, d)
            Codevectors; those of a cell of equal rows can lie on the boundary.
        mean : array of shape (d,)
            Mean of the data.

        Returns
        -------
        points : array of shape (K, d)
            Where the gradient is finite, or zero for a column that is constant.
        """
        return points

    def shorten(self, points, steps):
        """Shorten steps where points plus or minus them leave the domain.

        Parameters
        ----------
        points : array of shape (K, d)
            Inside the domain.
        steps : array of shape (K, d)
            One per point.

        Returns
        -------
        steps : array of shape (K, d)
            Unchanged where the domain has no bounds.
        """
        return steps

    def bind(self, rows):
        """Learn from the training rows whatever the divergence needs of them.

        Parameters
        ----------
        rows : RowBlocks
            All training rows.

        Returns
        -------
        BregmanDivergence
            The divergence to use with them.
        """
        return self

    def log_normaliser(self, temperature, n_features):
        """Give minus the log of the integral of ``exp(-d(x, mu) / T)`` over x.

        Parameters
        ----------
        temperature : float
            T, in units of the divergence.
        n_features : int
            Dimension of x.

        Returns
        -------
        log_normaliser : float
            Zero where it depends on mu; densities are then up to the base measure
            of the exponential family of ``phi``.
        """
        return 0.0


def check_range(X, name="X"):
    """Raise ValueError where squares of the entries would overflow or vanish."""
    values = X.data if sp.issparse(X) else X
    if values.size == 0:
        return
    largest = largest_size(values)
    least = float(np.finfo(X.dtype).tiny) ** LARGEST_POWER
    if 0.0 < largest < least:
        raise ValueError(
            f"{name} holds values up to {largest:.3g} only, whose squares vanish in "
            f"sums of {X.dtype}; scale {name} so that the largest exceeds {least:.0e}."
        )
    limit = float(np.finfo(X.dtype).max) ** LARGEST_POWER
    if largest > limit:
        raise ValueError(
            f"{name} holds values up to {largest:.3g}, whose squares overflow in sums "
            f"of {X.dtype}; scale {name} so that they stay below {limit:.0e}."
        )


def check_weighted_squares(X, weights, name="X"):
    """Raise ValueError where weights, alone or times squares, overflow or vanish.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        In the range of `check_range`.
    weights : array of shape (n,)
    name : str, default='X'
        What the squares are of.
    """
    total = float(weights.sum())
    least = float(weights.min()) or float(np.min(weights, where=weights > 0, initial=1))
    if least / total < LEAST_SHARE:
        raise ValueError(
            f"sample_weight goes down to {least:.3g} where all weights sum to "
            f"{total:.3g}: beside the others such a row vanishes. Leave it out, by a "
            "weight of zero."
        )
    if 1.0 / SAFE_WEIGHT < total < SAFE_WEIGHT:
        return
    values = X.data if sp.issparse(X) else X
    square = float(largest_size(values)) ** 2
    if square == 0.0 or np.finfo(float).tiny < total * square < np.inf:
        return
    raise ValueError(
        f"sample_weight sums to {total:.3g}, and sums of weights times squares of "
        f"{name} overflow or vanish; weights count in proportion to each other, so "
        "scale them."
    )


def check_counts(weights):
    """Raise ValueError where weights are more rows than can be told from all.

    Parameters
    ----------
    weights : array of shape (n,)
        Of rows with targets.
    """
    total = float(weights.sum())
    if total > LARGEST_TOTAL:
        raise ValueError(
            f"sample_weight sums to {total:.3g} rows, and sums of targets and products "
            f"of weights overflow; scale it to less than {LARGEST_TOTAL:.0e}."
        )
