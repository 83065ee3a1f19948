"""Prior variances of weights by the log evidence, with its exact gradient."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from odalib.inference.ep.gaussians import linear_map
from odalib.inference.ep.gaussians.rows import column_squares_at_most
from odalib.inference.ep.gaussians.weights import prior_belief
from odalib.inference.ep.solve import infer

__all__ = ["EvidenceSearch", "maximise_evidence", "search_variances"]

# Bounds of the prior variance of latent values where a group's columns are largest
# (offsets apart), beyond which the evidence is flat; and where the search starts.
SMALLEST, FIRST, LARGEST = 1e-6, 10.0, 1e6
# Fixed-point steps before the search, at sites that are nearly right.
FIRST_STEPS, FIRST_TOL = 3, 1e-3
# Where the search ends: by its slope, in the units of the search, the log evidence
# is the largest there is to about half its square; or a step gains next to nothing,
# as on separable data, whose evidence only levels out as the prior widens.
SLOPE_TOL, GAIN_TOL = 1e-4, 1e-8
# Squares of features whose prior variances, and those of their weights, are floats.
LEAST = 1e-250


@dataclass(frozen=True)
class EvidenceSearch:
    """Where the evidence is largest.

    Attributes
    ----------
    variances : array of shape (d,)
        Prior variance of every weight.
    inference : object
        At these variances.
    """

    variances: np.ndarray
    inference: Any


def maximise_evidence(X, likelihood, groups, *, tol, **options):
    """Prior variances, shared by groups of weights, that maximise the log evidence.

    Every evaluation starts from the sites of the last; see `search_variances`.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d), float64
    likelihood : Likelihood
    groups : array of int of shape (d,)
        Which weights share a variance; numbered from 0.
    tol : float
        Of `infer`.
    **options
        Of `infer`: ``counts``, ``solver``, ``max_iter``.

    Returns
    -------
    EvidenceSearch
        Whose ``inference`` is an `Inference`.
    """
    sites = None

    def evaluate(variances, tol):
        nonlocal sites
        model = linear_map(X, prior_belief(variances))
        inference = infer(model, likelihood, start=sites, tol=tol, **options)
        sites = inference.sites
        return inference

    return search_variances(evaluate, column_squares_at_most(X), groups, tol=tol)


def search_variances(infer_with, column_squares, groups, *, tol):
    """Maximise the log evidence in prior variances that groups of weights share.

    ``d log Z / d log v = sum_j (mean_j^2 / v - told_j) / 2`` over the weights of a
    group, with ``told_j = 1 - V_jj / v`` what the data tell of a weight: exact at the
    fixed point of EP, since the evidence is stationary in the sites. First come some
    steps of MacKay's fixed point, ``v = sum_j mean_j^2 / sum_j told_j``.

    Parameters
    ----------
    infer_with : callable
        ``infer_with(variances, tol)`` infers with prior variances of all weights,
        shape (d,). What it returns holds ``log_evidence``, and ``posterior``, of a
        method ``learnt``.
    column_squares : array of shape (d,)
        See `column_squares_at_most`.
    groups : array of int of shape (d,)
    tol : float
        Of the residual.

    Returns
    -------
    EvidenceSearch
        Whose ``inference`` is the last that ``infer_with`` returned.

    Raises
    ------
    ValueError
        For features that are so small that prior variances overflow.
    """
    sizes = np.bincount(groups)
    squares = np.bincount(groups, column_squares)
    lost = (squares > 0) & (squares < LEAST)
    if lost.any():
        raise ValueError(
            f"X holds features up to {np.sqrt(squares[lost].max()):.3g} only, whose "
            "prior variance by evidence is more than a float holds; scale X, or give "
            "a prior_variance."
        )
    # A group whose columns are zero is told nothing: any variance serves.
    scale = np.where(squares > 0, squares, 1.0)
    lowest, start, highest = np.log(np.outer([SMALLEST, FIRST, LARGEST], 1.0 / scale))

    def evaluate(log_variances, tol):
        variances = np.exp(log_variances)[groups]
        return EvidenceSearch(variances, infer_with(variances, tol))

    def by_group(search):
        moved, told = search.inference.posterior.learnt()
        return np.bincount(groups, moved), np.bincount(groups, told)

    log_variances = start
    for _ in range(FIRST_STEPS):
        last = evaluate(log_variances, max(tol, FIRST_TOL))
        moved, told = by_group(last)
        known = (moved > 0) & (told > 0)
        log_variances[known] += np.log(moved[known] / told[known])
        log_variances = np.clip(log_variances, lowest, highest)

    # In these units the evidence is as curved in every group as where the data
    # settle its weights, so that the first step is about as long as it should be.
    units = np.sqrt(2.0 / sizes)

    def negative(scaled):
        nonlocal last
        last = evaluate(scaled * units, tol)
        moved, told = by_group(last)
        return -last.inference.log_evidence, 0.5 * (told - moved) * units

    found = minimize(
        negative,
        log_variances / units,
        jac=True,
        method="L-BFGS-B",
        bounds=np.transpose([lowest, highest] / units),
        options={
            "gtol": SLOPE_TOL,
            "ftol": GAIN_TOL / max(1.0, abs(last.inference.log_evidence)),
        },
    )
    if np.array_equal(np.exp(found.x * units)[groups], last.variances):
        return last
    return evaluate(found.x * units, tol)
