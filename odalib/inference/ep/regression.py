"""Probit regression: one problem of two classes, from rows to a belief."""

from dataclasses import dataclass

from odalib.inference.ep.evidence import maximise_evidence
from odalib.inference.ep.gaussians import linear_map
from odalib.inference.ep.gaussians.weights import WeightBelief
from odalib.inference.ep.probit import Probit
from odalib.inference.ep.solve import Inference, infer
from odalib.inference.ep.weights import split_weights

__all__ = ["Regression", "regress", "regress_by_evidence"]


@dataclass(frozen=True)
class Regression:
    """What the rows of one problem have taught.

    Attributes
    ----------
    belief : WeightBelief
        About the weights, given prior and rows.
    inference : Inference
        Of the latent values of the rows.
    """

    belief: WeightBelief
    inference: Inference


def regress(X, y, row_weights, belief, **options):
    """Learn from rows.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d), float64
    y : array of shape (n,)
        -1.0 or 1.0.
    row_weights : array of shape (n,)
        Positive; w is w copies of the row.
    belief : WeightBelief
        About the weights so far.
    **options
        Of `infer`: ``solver``, ``tol``, ``max_iter``.

    Returns
    -------
    Regression
    """
    counts, likelihood = weighted_probit(y, row_weights)
    inference = infer(linear_map(X, belief), likelihood, counts=counts, **options)
    return Regression(inference.posterior.belief, inference)


def regress_by_evidence(X, y, row_weights, groups, **options):
    """Learn from rows, with the prior variances of largest evidence.

    Parameters
    ----------
    X, y, row_weights
        As for `regress`.
    groups : array of int of shape (d,)
        Which weights share a variance; numbered from 0.
    **options
        Of `infer`: ``solver``, ``tol``, ``max_iter``.

    Returns
    -------
    Regression
    variances : array of shape (d,)
    """
    counts, likelihood = weighted_probit(y, row_weights)
    search = maximise_evidence(X, likelihood, groups, counts=counts, **options)
    belief = search.inference.posterior.belief
    return Regression(belief, search.inference), search.variances


def weighted_probit(y, row_weights):
    """Turn weights into copies of sites, and powers of a likelihood."""
    counts, powers = split_weights(row_weights)
    return counts, Probit(y, power=powers)
