"""Covariances of all pairs, from the Hessian of a free energy."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.sparse.linalg import eigsh

from odalib.inference.pairwise.couplings import Couplings
from odalib.inference.pairwise.result import Solution

__all__ = ["LinearResponse"]

# Sparse Hessians of more spins are not made dense: their lowest eigenvalue tells
# whether they are positive definite.
LARGEST = 5000


@dataclass(frozen=True)
class LinearResponse(Solution):
    """``chi = scale (inverse)^-1 scale``, the inverse Hessian of a free energy.

    Scaled, so that spins which hardly move need no infinite numbers.

    Parameters
    ----------
    couplings : Couplings
    scale : array of shape (n,)
    inverse : array or CSR array of shape (n, n)
        Symmetric.
    """

    couplings: Couplings
    scale: np.ndarray
    inverse: np.ndarray | sp.csr_array

    @cached_property
    def is_minimum(self):
        """Whether the Hessian is positive definite, as at a minimum."""
        if len(self.scale) <= LARGEST or not sp.issparse(self.inverse):
            return self._factor[1] == 0
        start = np.random.default_rng(0).standard_normal(len(self.scale))
        lowest = eigsh(
            self.inverse, 1, which="SA", v0=start, tol=1e-3, return_eigenvectors=False
        )
        return bool(lowest[0] > 0)

    @property
    def failure(self):
        """What is wrong with a fixed point that is no minimum, in words."""
        if self.is_minimum:
            return ""
        return "the fixed point is no minimum of the free energy"

    @cached_property
    def _factor(self):
        dense = self.inverse
        dense = dense if isinstance(dense, np.ndarray) else dense.toarray()
        return dpotrf(np.array(dense, order="F"), lower=1, overwrite_a=1)

    def linear_response(self):
        """Invert the Hessian; see `Solution.linear_response`."""
        n = len(self.scale)
        if n > LARGEST and not isinstance(self.inverse, np.ndarray):
            raise ValueError(
                f"The covariances of all pairs are a dense array, made for up to "
                f"{LARGEST} spins of a sparse J; there are {n}. Those on the edges are "
                f"the correlations of method='belief_propagation'."
            )
        factor, info = self._factor
        if info != 0:
            raise ValueError(
                "Linear response does not exist here: the magnetisations are no "
                "minimum of the method's free energy. The couplings are too strong "
                "for this method; use method='auto'."
            )
        lower = dpotri(factor, lower=1)[0]
        whole = lower + np.tril(lower, -1).T
        return self.scale[:, np.newaxis] * whole * self.scale

    def correlations(self):
        """See `Solution.correlations`."""
        couplings = self.couplings
        if not self.is_minimum:
            blank = np.full(len(self.scale), np.nan)
            if couplings.is_sparse:
                return couplings.on_edges(
                    blank, np.full(len(couplings.edges[0]), np.nan)
                )
            return np.full(couplings.matrix.shape, np.nan)
        covariances = self.linear_response()
        return couplings.pick_edges(covariances) if couplings.is_sparse else covariances
