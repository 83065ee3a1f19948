"""Parallel expectation propagation in rounds, of rows in blocks that stay apart.

The steps are those of `Parallel` in weight space, from the sites of the Laplace
approximation, with the same extrapolation, damping and residual. What is done here
needs no row: generators that yield the order of a round (see `block`) and are sent what
the blocks have told, combined. An iteration takes two rounds.
"""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np

from odalib.inference.ep.gaussians.weights import (
    DenseBelief,
    gram_factor,
    learnt,
    prior_belief,
    stacked_factor,
)
from odalib.inference.ep.solvers.anderson import mixing
from odalib.inference.ep.solvers.block import (
    Advance,
    Laplace,
    MatchAll,
    Matched,
    Order,
    Restart,
    Retreat,
    Totals,
    Triangulate,
)
from odalib.inference.ep.solvers.parallel import (
    LAPLACE_STEPS,
    RETREATS,
    Damping,
)
from odalib.inference.ep.solvers.problem import SHIFT, too_wide

__all__ = ["Outcome", "Rounds", "WeightGaussian", "infer_in_rounds", "weigh"]

Rounds = Generator[Order, Any, Any]


@dataclass(frozen=True)
class WeightGaussian:
    """Posterior of the weights, of which a block sees no more than it is sent.

    Attributes
    ----------
    prior, belief : DenseBelief
        Of independent weights of mean zero, and given the sites of all rows.
    log_normaliser : float
        Log integral of the prior times all sites.
    """

    prior: DenseBelief
    belief: DenseBelief
    log_normaliser: float

    def learnt(self):
        """Tell what the data say of every weight; see `learnt`."""
        return learnt(self.prior, self.belief)


@dataclass(frozen=True)
class Outcome:
    """Result of expectation propagation in rounds; the sites stay in the blocks.

    Attributes
    ----------
    posterior : WeightGaussian
    log_evidence : float
    residuals : list of float
        Of every iteration, as `Inference` has them.
    converged : bool
    n_improper : int
        Improper cavities that were met on the way, in steps that were halved.
    solver : str
    """

    posterior: WeightGaussian
    log_evidence: float
    residuals: list[float]
    converged: bool
    n_improper: int
    solver: str = "parallel"

    @property
    def n_iter(self):
        """Number of iterations."""
        return len(self.residuals)


def infer_in_rounds(
    variances: np.ndarray, *, tol: float, max_iter: int, warm: bool = False
) -> Rounds:
    """Find the fixed point for weights of some prior variances.

    Parameters
    ----------
    variances : array of shape (d,)
    tol : float
        Largest residual, as of `infer`.
    max_iter : int
        Iterations of one attempt, at the most.
    warm : bool, default=False
        Whether to try first from the sites that the blocks hold of an earlier call.

    Returns
    -------
    generator
        Of orders; it returns an `Outcome`.

    Raises
    ------
    LostDefiniteness
        Where no step leaves proper cavities.
    """
    prior = prior_belief(variances).as_dense()
    outcome = None
    if warm:
        totals = yield Restart()
        outcome = yield from iterate(prior, totals, tol, max_iter)
        if outcome.converged:
            return outcome
    totals = yield from laplace(prior)
    again = yield from iterate(prior, totals, tol, max_iter)
    if outcome is None or again.converged:
        return again
    return min(outcome, again, key=lambda one: one.residuals[-1])


def laplace(prior: DenseBelief) -> Rounds:
    """Totals of the sites of Laplace's method, after as many steps as in memory."""
    mean = prior.mean
    for left in reversed(range(LAPLACE_STEPS)):
        totals = yield Laplace(mean)
        if left:
            posterior = yield from weigh(prior, totals)
            mean = posterior.belief.mean
    return totals


def weigh(prior: DenseBelief, totals: Totals) -> Rounds:
    """Posterior of the weights for sites of some totals."""
    factor = gram_factor(prior.factor.T @ prior.factor + totals.gram)
    if factor is None:
        triangle = yield Triangulate()
        factor = stacked_factor(prior.factor, [triangle.factor])
    mean = DenseBelief(prior.mean, factor).times(totals.pull)
    belief = DenseBelief(mean, factor)
    log_ratio = prior.log_determinant - belief.log_determinant
    return WeightGaussian(prior, belief, 0.5 * (log_ratio + float(totals.pull @ mean)))


def iterate(prior: DenseBelief, totals: Totals, tol: float, max_iter: int) -> Rounds:
    """Iterate from the sites of some totals, which the blocks hold."""
    damping, n_improper = Damping(), 0
    residuals: list[float] = []
    while True:
        posterior, matched, halvings, met = yield from step(prior, totals)
        n_improper += met
        damping.retreat(halvings)
        response = posterior.belief.times(matched.pull)
        share = damping.share
        totals = yield from advance(matched, share, response)
        residuals.append(max(matched.misfit, SHIFT * totals.largest_move))
        converged = residuals[-1] <= tol
        if converged or len(residuals) == max_iter or damping.stalls(residuals[-1]):
            log_evidence = posterior.log_normaliser + matched.evidence
            return Outcome(posterior, log_evidence, residuals, converged, n_improper)
        if damping.share != share:
            totals = yield from advance(matched, damping.share, response)


def step(prior: DenseBelief, totals: Totals) -> Rounds:
    """Match at the target, or as far towards it as cavities are proper.

    Returns
    -------
    posterior : WeightGaussian
    matched : Matched
    halvings : int
        Of the way to the target.
    n_improper : int
    """
    n_improper = 0
    for halvings in range(RETREATS):
        posterior = yield from weigh(prior, totals)
        matched = yield MatchAll(posterior.belief)
        if not matched.n_improper:
            return posterior, matched, halvings, n_improper
        n_improper += matched.n_improper
        totals = yield Retreat()
    raise too_wide()


def advance(matched: Matched, share: float, response: np.ndarray) -> Rounds:
    """Totals of extrapolated sites; of the target itself where signs would change."""
    weights = mixing(damped(matched.equations, share))
    totals = yield Advance(share, weights, response)
    if totals.same_sign:
        return totals
    return (yield Advance(share, np.zeros_like(weights), response))


def damped(equations: np.ndarray, share: float) -> np.ndarray:
    """Equations of extrapolation for a share of a step, from those for the whole."""
    if share == 1.0:
        return equations
    whole = equations[:, -1:]
    part = share * whole
    return np.hstack([equations[:, :-1] + (part - whole), part])
