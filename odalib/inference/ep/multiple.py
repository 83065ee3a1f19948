"""Several problems of two classes on one set of rows."""

from dataclasses import dataclass

import numpy as np

from odalib.inference.ep.gaussians.weights import WeightBelief
from odalib.inference.ep.leave_one_out import leave_one_out
from odalib.inference.ep.solve import Inference

__all__ = ["Learnt", "Report", "learn_problems"]


@dataclass(frozen=True)
class Learnt:
    """What rows have taught about the weights of every problem.

    Attributes
    ----------
    beliefs : list of WeightBelief
    variances : list of array of shape (d,)
        Prior variances of the weights.
    log_evidence : array of shape (n_problems,)
        Log probability of the labels of all rows so far.
    """

    beliefs: list[WeightBelief]
    variances: list[np.ndarray]
    log_evidence: np.ndarray


@dataclass(frozen=True)
class Report:
    """What one call has found out about its own n rows.

    Attributes
    ----------
    precision, shift : array of shape (n_problems, n)
        Sites; zero for rows that take no part in a problem.
    inferences : list of Inference or None
        None for a problem in which no row took part.
    """

    precision: np.ndarray
    shift: np.ndarray
    inferences: list[Inference | None]


def learn_problems(X, row_weights, before, sides, learn):
    """Learn every problem from the rows that take part in it.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d), float64
    row_weights : array of shape (n,)
        Not negative; rows of no weight take no part.
    before : Learnt
        What is known of each problem.
    sides : list of (array of int of shape (m,), array of shape (m,))
        Per problem the rows that take part, and -1.0 or 1.0 for each.
    learn : callable
        ``learn(X, y, row_weights, belief, variances) -> Regression, variances``.

    Returns
    -------
    Learnt
    Report
    loo_mean, loo_variance : array of shape (n, n_problems)
        Latent value of every row, given all rows but one copy of it.
    """
    n_problems, n_rows = len(sides), X.shape[0]
    precision, shift = np.zeros((2, n_problems, n_rows))
    loo_mean, loo_variance = np.empty((2, n_rows, n_problems))
    beliefs, variances = list(before.beliefs), list(before.variances)
    log_evidence = before.log_evidence.copy()
    inferences: list[Inference | None] = [None] * n_problems
    for k, (rows, y) in enumerate(sides):
        outside = np.ones(n_rows, dtype=bool)
        if len(rows):
            part = X if len(rows) == n_rows else X[rows]
            regression, variances[k] = learn(
                part, y, row_weights[rows], beliefs[k], variances[k]
            )
            beliefs[k], inference = regression.belief, regression.inference
            inferences[k] = inference
            log_evidence[k] += inference.log_evidence
            precision[k, rows] = inference.sites.precision
            shift[k, rows] = inference.sites.shift
            loo_mean[rows, k], loo_variance[rows, k] = leave_one_out(inference)
            outside[rows] = False
        if outside.any():
            mean, variance = beliefs[k].latent(X[outside])
            loo_mean[outside, k], loo_variance[outside, k] = mean, variance
    learnt = Learnt(beliefs, variances, log_evidence)
    return learnt, Report(precision, shift, inferences), loo_mean, loo_variance
