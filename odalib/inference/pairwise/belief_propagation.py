"""Belief propagation: the Bethe approximation, exact where the graph has no loops."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from odalib.inference.ep.spin import log_two_cosh, log_variance
from odalib.inference.pairwise.couplings import Couplings
from odalib.inference.pairwise.fixed_point import MAX_ITER, find_fixed_point, growth
from odalib.inference.pairwise.linear_response import LinearResponse
from odalib.inference.pairwise.result import Estimate, Solution
from odalib.inference.pairwise.spin_pairs import SpinPairs
from odalib.kernels import pairwise as kernels

__all__ = ["belief_propagation"]


def belief_propagation(couplings, *, tol, max_iter=MAX_ITER):
    r"""Pass messages along all edges at once, until they stand still.

    With ``h_(i\j)`` the field on i without the message from j, a message is
    ``u_(i->j) = atanh(tanh J_ij tanh h_(i\j))``.

    Parameters
    ----------
    couplings : Couplings
    tol : float
        Largest change of a message, which is a field.
    max_iter : int
        Sweeps, each of a time proportional to the number of edges.

    Returns
    -------
    Estimate
    """
    i, j, J = couplings.edges
    B = couplings.fields

    def update(messages):
        return kernels.passed_messages(messages, i, j, J, B)

    end = find_fixed_point(update, np.zeros(2 * len(J)), tol, max_iter)
    total, fields = kernels.fields_beside(end.state, i, j, B)
    first, second = np.split(fields, 2)
    beliefs = Beliefs(couplings, total, first, second)
    return Estimate(
        "belief_propagation",
        np.tanh(total),
        beliefs.log_partition(),
        end.failure or failure_of_messages(couplings, fields),
        end.residuals,
        beliefs,
    )


def failure_of_messages(couplings, fields):
    """Say what is wrong with messages that only symmetry holds in place.

    Without loops there is nothing wrong with any.
    """
    if couplings.is_forest:
        return ""
    i, j, J = couplings.edges
    both = np.concatenate([J, J])
    slope = np.tanh(both + fields) + np.tanh(both - fields)
    nothing = np.zeros(couplings.n_spins)

    def damped(changes):
        _, passed_on = kernels.fields_beside(changes, i, j, nothing)
        return 0.5 * changes + 0.25 * slope * passed_on

    start = np.random.default_rng(0).standard_normal(len(fields))
    if growth(damped, start) <= 1.0:
        return ""
    return "the fixed point is unstable: messages run away from it"


@dataclass(frozen=True)
class Beliefs(Solution):
    """Beliefs of spins and of edges.

    Parameters
    ----------
    couplings : Couplings
    total : array of shape (n,)
        Field on every spin.
    first, second : array of shape (m,)
        For every edge, the field on its first spin without the message from the
        second, and the other way round.
    """

    couplings: Couplings
    total: np.ndarray
    first: np.ndarray
    second: np.ndarray

    @cached_property
    def pairs(self):
        """Both spins of every edge, in the field of all others."""
        return SpinPairs(self.couplings.edges[2], self.first, self.second)

    def log_partition(self):
        """Bethe approximation of the log partition function."""
        i, j, _ = self.couplings.edges
        spins = log_two_cosh(self.total)
        return float(spins.sum() + (self.pairs.log_sum - spins[i] - spins[j]).sum())

    @cached_property
    def response(self):
        """Linear response, whose inverse has entries on the edges only.

        None where spins are locked together, and no float holds the entries.
        """
        couplings, pairs = self.couplings, self.pairs
        i, j, J = couplings.edges
        log_v = log_variance(self.total)
        log_product = log_v[i] + log_v[j]
        # Of the correlation coefficient: its square, and one less that.
        log_square = 2.0 * pairs.log_size - log_product
        log_rest = pairs.log_determinant - log_product
        with np.errstate(over="ignore"):
            gained = np.exp(log_square - log_rest)
            off = np.sign(J) * np.exp(0.5 * log_square - log_rest)
        if not (np.isfinite(gained).all() and np.isfinite(off).all()):
            return None
        diagonal = 1.0 + np.bincount(
            np.concatenate([i, j]), np.tile(gained, 2), couplings.n_spins
        )
        inverse = couplings.on_edges(diagonal, -off)
        return LinearResponse(couplings, np.exp(0.5 * log_v), inverse)

    def linear_response(self):
        """See `Solution.linear_response`."""
        if self.response is None:
            raise ValueError(
                "Linear response of belief propagation overflows: some pairs of spins "
                "are locked together. Use method='exact' for their covariances."
            )
        return self.response.linear_response()

    def correlations(self):
        """Covariances of the beliefs on edges, and linear response elsewhere.

        NaN elsewhere, where there is no linear response.
        """
        couplings = self.couplings
        own, edges = np.exp(log_variance(self.total)), self.pairs.covariance
        if couplings.is_sparse:
            return couplings.on_edges(own, edges)
        i, j, _ = couplings.edges
        n = couplings.n_spins
        covariances = np.full((n, n), np.nan)
        every_pair = 2 * len(i) == n * (n - 1)
        if not every_pair and self.response is not None and self.response.is_minimum:
            covariances = self.linear_response()
        covariances.flat[:: n + 1] = own
        covariances[i, j] = covariances[j, i] = edges
        return covariances
