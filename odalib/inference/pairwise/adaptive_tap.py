"""Adaptive TAP: expectation propagation with the spin likelihood and precision -J."""

from dataclasses import dataclass, replace

import numpy as np

from odalib.inference.ep import Inference
from odalib.inference.ep import infer as propagate
from odalib.inference.ep.gaussians import Precision
from odalib.inference.ep.spin import Spin
from odalib.inference.pairwise.couplings import Couplings
from odalib.inference.pairwise.fixed_point import shortfall
from odalib.inference.pairwise.gaussian_response import response_of_fixed_point
from odalib.inference.pairwise.pair_correction import correct_pairs
from odalib.inference.pairwise.result import Estimate, Solution

__all__ = ["LARGEST", "adaptive_tap"]

# Spins whose Gaussian, of a few n x n arrays, is still held: 200 MB each.
LARGEST = 5000


def adaptive_tap(couplings, *, site=None, solver="auto", tol, max_iter=200):
    """Match the moments of single spins in a joint Gaussian.

    Parameters
    ----------
    couplings : Couplings
        Of at most `LARGEST` spins. Sparse ones are made dense: the covariance of the
        Gaussian is.
    site : Likelihood, default=None
        Factors of single variables; None for spins.
    solver : str, default='auto'
        Of the engine.
    tol : float
        Largest residual, in standard deviations of the spins.
    max_iter : int, default=200
        Iterations of one solver.

    Returns
    -------
    Estimate
        Its method is ``'double_loop'`` where that solver produced it.

    Raises
    ------
    ValueError
        For too many spins, and for a site that does not fit.
    """
    n = couplings.n_spins
    if n > LARGEST:
        raise ValueError(
            f"Adaptive TAP holds the covariances of all pairs of spins, and takes up "
            f"to {LARGEST} spins; J has {n}. Use method='belief_propagation'."
        )
    likelihood = Spin(n) if site is None else site
    if likelihood.proper_cavities:
        raise ValueError(
            f"site={type(likelihood).__name__} takes normalised Gaussian cavities, and "
            f"couplings without a diagonal leave none of positive precision; give a "
            f"likelihood with proper_cavities=False."
        )
    if likelihood.n_sites != n:
        raise ValueError(
            f"site={type(likelihood).__name__} has {likelihood.n_sites} factors; J has "
            f"{n} variables, and each needs one."
        )
    inference = propagate(
        Precision(-couplings.dense(), couplings.fields),
        likelihood,
        solver=solver,
        tol=tol,
        max_iter=max_iter,
    )
    return estimate_of(couplings, inference)


def failure_of(inference):
    """Why expectation propagation gave no result; empty where it gave one."""
    if not inference.converged:
        return shortfall(inference.residuals)
    if not np.isfinite(inference.log_evidence):
        return (
            f"the log partition function is {inference.log_evidence}: some factor of "
            f"{type(inference.problem.likelihood).__name__} has no finite moments or "
            f"no variance"
        )
    return ""


def estimate_of(couplings, inference):
    """Estimate that is the end of expectation propagation."""
    return Estimate(
        "double_loop" if inference.solver == "double_loop" else "adaptive_tap",
        # Within the values of the spins, where the iterate is not yet there too.
        inference.problem.likelihood.match(inference.cavity).mean,
        inference.log_evidence,
        failure_of(inference),
        inference.residuals,
        GaussianSolution(couplings, inference),
    )


@dataclass(frozen=True)
class GaussianSolution(Solution):
    """End state of expectation propagation.

    Parameters
    ----------
    couplings : Couplings
    inference : Inference
    """

    couplings: Couplings
    inference: Inference

    def linear_response(self):
        """Differentiate the fixed point; see `Solution.linear_response`."""
        if not self.inference.converged:
            raise ValueError(
                "Linear response is the derivative of a fixed point, and this run did "
                f"not converge: {shortfall(self.inference.residuals)}. Raise max_iter."
            )
        return response_of_fixed_point(self.inference)

    def correlations(self):
        """Covariance of the Gaussian; see `Solution.correlations`."""
        covariances = self.inference.posterior.covariance().copy()
        return in_form_of(self.couplings, covariances)

    def pair_corrected(self):
        """See `Solution.pair_corrected`."""
        more, covariances = correct_pairs(self.inference)
        own = estimate_of(self.couplings, self.inference)
        return replace(
            own,
            log_partition=own.log_partition + more,
            solution=CorrectedPairs(self, covariances),
        )


@dataclass(frozen=True)
class CorrectedPairs(Solution):
    """Covariances of all pairs after the pair correction.

    Parameters
    ----------
    uncorrected : GaussianSolution
    covariances : array of shape (n, n)
    """

    uncorrected: GaussianSolution
    covariances: np.ndarray

    def linear_response(self):
        """Of the magnetisations, which are the same; see `Solution`."""
        return self.uncorrected.linear_response()

    def correlations(self):
        """Corrected covariances; see `Solution.correlations`."""
        return in_form_of(self.uncorrected.couplings, self.covariances.copy())

    def pair_corrected(self):
        """Refuse: there is nothing more to correct."""
        raise ValueError(
            "This result is already corrected for pairs; the correction is not "
            "repeated."
        )


def in_form_of(couplings, covariances):
    """All pairs for dense couplings, the edges for sparse ones."""
    return couplings.pick_edges(covariances) if couplings.is_sparse else covariances
