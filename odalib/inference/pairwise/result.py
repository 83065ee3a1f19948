"""What inference in a pairwise model gives back."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from odalib.inference.saving import SavesFields

__all__ = ["Estimate", "PairwiseInference", "Solution"]


class Solution(ABC):
    """What a method knows beyond the marginals."""

    @abstractmethod
    def linear_response(self) -> np.ndarray:
        """Covariances of all pairs, shape (n, n); a ValueError where there are none."""

    @abstractmethod
    def correlations(self) -> np.ndarray | sp.csr_array:
        """Covariances in the form of ``J``, as `PairwiseInference` gives them."""

    def pair_corrected(self) -> "Estimate":
        """Apply the pair correction, where the method has the Gaussian it needs."""
        raise ValueError(
            "The pair correction starts from the Gaussian of adaptive TAP, which this "
            "method does not have; use method='adaptive_tap' or 'double_loop'."
        )


@dataclass(frozen=True)
class Estimate:
    """What a method returns; `PairwiseInference` adds why it was used.

    Attributes
    ----------
    method, magnetisations, log_partition, failure, residuals, solution
        See `PairwiseInference`.
    """

    method: str
    magnetisations: np.ndarray
    log_partition: float
    failure: str
    residuals: list[float]
    solution: Solution


@dataclass(frozen=True, eq=False, repr=False)
class PairwiseInference(SavesFields):
    """Marginals of a pairwise model, and how they were found.

    Attributes
    ----------
    magnetisations : ndarray of shape (n,), float64
        Expected value of every spin. (Of a `site` with other values: its mean.)
    log_partition : float
        Log of the partition function, as the method estimates it. NaN where the
        method did not converge: the free energy of an iterate on the way means
        nothing, and none is offered.
    failure : str
        Why the method did not converge, in words; empty where it did: the last
        residual is at most ``tol``, and the fixed point is a stable one. Where it did
        not, the magnetisations are those of the last iterate.
    residuals : list of float
        Of every iteration; empty for exact inference.
    method : str
        The method that produced it: the one asked for, or the one chosen.
    reason : str
        Why this method, in words.
    solution : Solution
        The method's own end state, from which the rest is derived.
    """

    magnetisations: np.ndarray
    log_partition: float
    failure: str
    residuals: list[float]
    method: str
    reason: str
    solution: Solution

    @classmethod
    def of(cls, estimate, reason):
        """Name a reason, and offer no free energy where the estimate has none."""
        return cls(
            estimate.magnetisations,
            np.nan if estimate.failure else estimate.log_partition,
            estimate.failure,
            estimate.residuals,
            estimate.method,
            reason,
            estimate.solution,
        )

    def __repr__(self):
        """Name the outcome, without the arrays."""
        outcome = "converged" if self.converged else f"failed: {self.failure}"
        return (
            f"<PairwiseInference of {len(self.magnetisations)} spins by "
            f"{self.method!r}: {outcome}, log_partition={self.log_partition:.6g}>"
        )

    @property
    def converged(self):
        """Whether the method converged: there is no `failure`."""
        return not self.failure

    @property
    def n_iter(self):
        """Number of iterations."""
        return len(self.residuals)

    @cached_property
    def correlations(self):
        """Covariances of the spins; ndarray or CSR array of shape (n, n).

        After adaptive TAP they are those of its Gaussian; see `linear_response`.
        Of all pairs where ``J`` was dense; on the diagonal and on the edges where it
        was sparse. NaN where the last iterate has none, which did not converge; and,
        after belief propagation on a dense ``J``, for pairs without a coupling where
        linear response fails.

        Raises
        ------
        ValueError
            For mean field and TAP on a sparse ``J`` of more than 5000 spins, which
            have them by way of those of all pairs only.
        """
        return self.solution.correlations()

    def linear_response(self):
        """Covariances of all pairs of spins, by linear response.

        The derivative of the magnetisations in the fields: the inverse Hessian of the
        method's free energy; exact covariances for ``method='exact'``; and for
        adaptive TAP the derivative of its fixed point, in which cavities move (its
        `correlations` are the covariance of the Gaussian, which holds them). It takes
        one factorisation of ``n x n``, and for adaptive TAP three products of such
        matrices more. Of a `site` it is as exact as its ``higher_cumulants`` are, by
        default to about 1e-4.

        Returns
        -------
        covariances : ndarray of shape (n, n), float64

        Raises
        ------
        ValueError
            Where the last iterate has no covariances: it is no minimum of the free
            energy, or (adaptive TAP) no fixed point.
        """
        return self.solution.linear_response()

    def pair_corrected(self):
        """Correct the log partition function and the covariances for every pair.

        The Gaussian of adaptive TAP treats one spin at a time exactly; this adds what
        is gained by treating every pair exactly in the field of the others.

        Returns
        -------
        inference : PairwiseInference
            With the same magnetisations, and so the same `linear_response`; its
            `correlations` are the corrected covariances.

        Raises
        ------
        ValueError
            For the result of a method without a Gaussian, by name, and for one that
            is already corrected.
        """
        corrected = self.solution.pair_corrected()
        return PairwiseInference.of(corrected, f"{self.reason}; then pairs corrected")
