"""Couplings and fields of a pairwise model, checked, and the graph they span."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

__all__ = ["Couplings", "check_couplings"]

# Asymmetry of J that is rounding, in units of its own precision.
ROUNDING = 8
# And of numbers once rounded to float32, relative to the largest.
ROUNDED_ONCE = 1e-6
# Largest field that couplings and fields may put on a spin. Floats of that size are
# 1e-10 apart; beyond, sums over states lose the differences between them.
LARGEST_FIELD = 1e6


@dataclass(frozen=True)
class Couplings:
    """``J`` and ``B`` of ``p(x) ~ exp(x' J x / 2 + B' x)``, and the edges of the graph.

    Attributes
    ----------
    matrix : array or CSR array of shape (n, n), float64
        ``J``, symmetric with a zero diagonal; sparse where it was given so.
    fields : array of shape (n,), float64
        ``B``.
    """

    matrix: np.ndarray | sp.csr_array
    fields: np.ndarray

    @property
    def n_spins(self):
        """Number of spins."""
        return len(self.fields)

    @property
    def is_sparse(self):
        """Whether ``J`` was given as a sparse matrix."""
        return not isinstance(self.matrix, np.ndarray)

    @cached_property
    def edges(self):
        """Every edge once: ``i``, ``j`` (both of int) and ``J_ij``, shape (m,) each.

        Ordered by i, then by j, with i < j.
        """
        upper = sp.triu(sp.coo_array(self.matrix), 1, format="csr")
        upper.sort_indices()
        upper = upper.tocoo()
        nonzero = upper.data != 0
        return (
            upper.row[nonzero].astype(np.intp),
            upper.col[nonzero].astype(np.intp),
            upper.data[nonzero],
        )

    @cached_property
    def components(self):
        """Number of the connected component of every spin, shape (n,), from 0."""
        i, j, _ = self.edges
        graph = sp.coo_array(
            (np.ones(len(i)), (i, j)), shape=(self.n_spins, self.n_spins)
        )
        return connected_components(graph, directed=False)[1]

    @property
    def is_forest(self):
        """Whether the graph has no loop."""
        n_components = self.components.max() + 1
        return len(self.edges[0]) == self.n_spins - n_components

    def dense(self):
        """``J`` as an array of shape (n, n)."""
        return (
            self.matrix
            if isinstance(self.matrix, np.ndarray)
            else self.matrix.toarray()
        )

    def squared(self):
        """``J_ij^2``, in the form of ``J``."""
        return (
            self.matrix**2
            if isinstance(self.matrix, np.ndarray)
            else self.matrix.power(2)
        )

    def energy(self, mean):
        """``m' J m / 2 + B' m``."""
        return float(0.5 * mean @ (self.matrix @ mean) + self.fields @ mean)

    def on_edges(self, diagonal, values):
        """Symmetric matrix of a diagonal and one value for every edge.

        Parameters
        ----------
        diagonal : array of shape (n,)
        values : array of shape (m,)
            In the order of `edges`.

        Returns
        -------
        CSR array of shape (n, n)
        """
        i, j, _ = self.edges
        spins = np.arange(self.n_spins)
        return sp.coo_array(
            (
                np.concatenate([diagonal, values, values]),
                (np.concatenate([spins, i, j]), np.concatenate([spins, j, i])),
            ),
            shape=(self.n_spins, self.n_spins),
        ).tocsr()

    def pick_edges(self, covariances):
        """Diagonal and edges of an array of shape (n, n), as `on_edges` gives them."""
        i, j, _ = self.edges
        return self.on_edges(np.diag(covariances), covariances[i, j])


def check_couplings(J, B):
    """Validate couplings and fields.

    Parameters
    ----------
    J : array-like or sparse matrix of shape (n, n)
    B : array-like of shape (n,)

    Returns
    -------
    Couplings
        Of copies, in float64.

    Raises
    ------
    ValueError
        That names J or B, for wrong shapes, numbers that are not real and finite,
        a J that is not symmetric or has a diagonal, and numbers that are too large
        for floats to tell states apart.
    """
    refuse_masked("J", J)
    refuse_masked("B", B)
    matrix = checked_matrix(J)
    n = matrix.shape[0]
    fields = np.asarray(B)
    refuse_other_numbers("B", fields)
    if fields.shape != (n,):
        raise ValueError(
            f"B has shape {fields.shape}; it must have one field for each of the {n} "
            f"spins of J, shape ({n},)."
        )
    fields = fields.astype(np.float64)
    refuse_huge(matrix, fields)
    return Couplings(matrix, fields)


def refuse_masked(name, values):
    """Raise a ValueError for a masked array: no entry of a model is missing."""
    if np.ma.isMaskedArray(values):
        raise ValueError(
            f"{name} is a masked array, and what its mask hides would be used; pass "
            f"{name}.filled(0.0) to leave masked entries out of the model."
        )


def refuse_huge(matrix, fields):
    """Raise a ValueError where floats are too far apart to tell states apart."""
    sizes = np.abs(stored(matrix)).max(initial=0.0), np.abs(fields).max()
    # The unit, in which no sum overflows.
    unit = max(1.0, *map(float, sizes))
    total = abs(matrix / unit).sum(axis=1) + np.abs(fields) / unit
    worst = int(total.argmax())
    field = unit * float(total[worst])
    if field > LARGEST_FIELD:
        raise ValueError(
            f"J and B are too large: they put a field of up to {field:.3g} on spin "
            f"{worst}, and {LARGEST_FIELD:g} is the limit, beyond which "
            f"floats lose the differences between states. Scale J and B down, "
            f"or take spins that are as good as fixed out of the model and their "
            f"couplings into B."
        )


def checked_matrix(J):
    """``J`` in float64, dense or CSR without stored zeros."""
    matrix = sp.csr_array(J) if sp.issparse(J) else np.asarray(J)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"J has shape {matrix.shape}; it must be a square matrix, one row and one "
            f"column for every spin."
        )
    if matrix.shape[0] == 0:
        raise ValueError("J has shape (0, 0); a model has at least one spin.")
    refuse_other_numbers("J", stored(matrix))
    # What differs by the rounding of a product is meant to be the same.
    is_rounded = matrix.dtype.kind == "f"
    rounding = ROUNDING * np.finfo(matrix.dtype).eps if is_rounded else 0.0
    matrix = matrix.astype(np.float64, copy=True)
    if not isinstance(matrix, np.ndarray):
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        # A sum of duplicates may overflow where none of them did.
        refuse_other_numbers("J", matrix.data)
    refuse_asymmetry(matrix, rounding)
    diagonal = matrix.diagonal()
    if diagonal.any():
        i = int(np.flatnonzero(diagonal)[0])
        raise ValueError(
            f"J has a diagonal: J[{i}, {i}] = {diagonal[i]:g}. A spin is not coupled "
            f"to itself: since x_i^2 = 1, a diagonal changes no probability and adds "
            f"J_ii / 2 to the log partition function. Set it to zero; with site=, move "
            f"it into the site."
        )
    return 0.5 * matrix + 0.5 * matrix.T


def stored(matrix):
    """Numbers that a matrix holds."""
    return matrix if isinstance(matrix, np.ndarray) else matrix.data


def refuse_asymmetry(matrix, rounding):
    """Raise a ValueError that names the place where a matrix is least symmetric."""
    largest = np.abs(stored(matrix)).max(initial=0.0)
    # Halves, whose differences do not overflow.
    asymmetry = sp.coo_array(abs(0.5 * matrix - 0.5 * matrix.T))
    if asymmetry.data.max(initial=0.0) <= rounding * largest:
        return
    worst = asymmetry.data.argmax()
    i, j = int(asymmetry.row[worst]), int(asymmetry.col[worst])
    one, other = float(matrix[i, j]), float(matrix[j, i])
    is_nearly_so = abs(0.5 * one - 0.5 * other) <= ROUNDED_ONCE * largest
    advice = (
        "That is rounding of lower precision; pass (J + J.T) / 2."
        if is_nearly_so
        else "Every coupling stands in both places; for couplings given once, pass "
        "J + J.T."
    )
    raise ValueError(
        f"J is not symmetric: J[{i}, {j}] = {one:g} but J[{j}, {i}] = {other:g}, a "
        f"difference of {one - other:.3g}. {advice}"
    )


def refuse_other_numbers(name, numbers):
    """Raise a ValueError for what is not real and finite, by name and place."""
    if numbers.dtype.kind == "c":
        raise ValueError(f"{name} is complex; couplings and fields are real numbers.")
    if numbers.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} has dtype {numbers.dtype}; it must hold real numbers."
        )
    finite = np.isfinite(numbers)
    if not finite.all():
        value = numbers[~finite][0]
        raise ValueError(
            f"{name} holds {value}; all couplings and fields must be finite. For spins "
            f"that are known, use a large finite field."
        )
