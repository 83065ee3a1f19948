"""Gaussian variational approximation: a lower bound of the evidence, and its maximum.

Of all Gaussians q of the latent values, the one that is nearest to the posterior in
``KL(q || posterior)``. It maximises

    ``sum_i counts_i E_q[log l_i(f_i)] - KL(q || prior)``,

which is at most the log evidence. At the maximum q is the prior times one site for
every likelihood, with minus the expected second derivative as its precision and with
the expected first derivative (Opper & Archambeau 2009): as many unknowns as expectation
propagation has, and the same Gaussian models.
"""

from dataclasses import dataclass

import numpy as np

from odalib.inference.ep.gaussians.model import LostDefiniteness
from odalib.inference.ep.likelihood import Expectation
from odalib.inference.ep.solvers.anderson import Anderson
from odalib.inference.ep.solvers.parallel import accelerate, laplace_sites, step
from odalib.inference.ep.solvers.problem import Iterate, Run, Solver

__all__ = ["Variational"]

# Halvings of a step that lowers the bound, at the most.
HALVINGS = 40
# Share of the bound below which a change of it is told by its slopes.
SMALL = 1e-10
# A step is at least and at most so many times as long as the one before.
LEAST, MOST = 0.1, 4.0


class Variational(Solver):
    """Natural gradient ascent in the sites; the bound never falls.

    In the natural parameters of the sites the natural gradient is what they differ by
    from those that the expectations ask for; a whole step takes these. The length of
    the next step is told by the secant of the slope along the last one (`longer`), and
    it is halved as long as the bound falls. Steps are extrapolated (`Anderson`); an
    extrapolation that lowers the bound is dropped for the step itself, which, short
    enough, cannot.
    """

    def refuse(self, problem):
        likelihood, latent = problem.likelihood, np.zeros(problem.model.n_sites)
        if likelihood.expect(latent, np.ones_like(latent)) is None:
            raise ValueError(
                f"solver='variational' does not take {type(likelihood).__name__}: its "
                f"divergence needs the posterior's support to cover the Gaussian's; "
                f"discrete latent values and steps are zero for some. Use another "
                f"solver."
            )

    def run(self, problem, sites, tol, max_iter):
        start = laplace_sites(problem) if sites is None else sites
        iterate, _ = step(problem, problem.first_sites(), start)
        point = evaluate(problem, iterate)
        anderson, residuals, length = Anderson(), [], 1.0
        while True:
            iterate, target = point.iterate, point.expectation
            residuals.append(problem.distance(iterate, target))
            converged = residuals[-1] <= tol
            if converged or len(residuals) == max_iter:
                break
            goal = iterate.sites.towards(target.precision, target.shift, length)
            proposal = accelerate(anderson, problem.counts, iterate, goal)
            following, halvings = climb(problem, point, proposal, 0)
            if following is None:
                anderson = Anderson()
                following, halvings = climb(problem, point, goal, HALVINGS)
            if following is None:
                break
            length *= 0.5**halvings * longer(problem, point, following)
            length = min(length, 1.0)
            point = following
        return Run(point.iterate, residuals, converged, 0)

    def log_evidence(self, problem, iterate):
        """Give the bound, which is no more than the log evidence."""
        return evaluate(problem, iterate).bound


@dataclass(frozen=True)
class Point:
    """An iterate, what it expects of the likelihoods, and the bound."""

    iterate: Iterate
    expectation: Expectation
    bound: float


def evaluate(problem, iterate):
    """Find expectations and bound.

    ``KL(q || prior) = E_q[log sites] - log normaliser`` of prior times sites.
    """
    sites, posterior = iterate.sites, iterate.posterior
    mean, variance = posterior.mean, posterior.variance
    expectation = problem.likelihood.expect(mean, variance)
    log_sites = sites.shift * mean - 0.5 * sites.precision * (mean**2 + variance)
    gain = problem.counts @ (expectation.log_likelihood - log_sites)
    return Point(iterate, expectation, float(posterior.log_normaliser + gain))


def slopes(problem, point, following):
    """Slopes of the bound along the way between two points, in moments, at its ends."""
    before, after = point.iterate.posterior, following.iterate.posterior
    change = after.mean - before.mean
    squares = change * (after.mean + before.mean) + after.variance - before.variance
    at_ends = []
    for end in (point, following):
        sites, target = end.iterate.sites, end.expectation
        gain = (target.shift - sites.shift) * change
        gain -= 0.5 * (target.precision - sites.precision) * squares
        at_ends.append(float(problem.counts @ gain))
    return at_ends


def longer(problem, point, following):
    """How many times as long the next step should be.

    Were the slope linear along the step, it would vanish at so many times its length.
    """
    at_start, at_end = slopes(problem, point, following)
    fall = at_start - at_end
    if fall <= 0:
        return MOST
    return float(np.clip(at_start / fall, LEAST, MOST))


def rises(problem, point, following):
    """Whether the bound does not fall from one point to another.

    A change that would be lost in rounding is told by the slopes at both ends.
    """
    at_start, at_end = slopes(problem, point, following)
    if max(abs(at_start), abs(at_end)) > SMALL * abs(point.bound):
        return following.bound >= point.bound
    return at_start + at_end >= 0


def climb(problem, point, target, n_halvings):
    """Go to a target, or part of the way, where the bound is no lower.

    Returns
    -------
    following : Point or None
        None where it is lower, however often the way is halved.
    halvings : int
    """
    for halvings in range(1 + n_halvings):
        following = try_point(problem, target)
        if following is not None and rises(problem, point, following):
            return following, halvings
        target = point.iterate.sites.towards(target.precision, target.shift, 0.5)
    return None, n_halvings


def try_point(problem, sites):
    """Point of sites; None where rounding leaves no Gaussian."""
    try:
        iterate = problem.iterate(sites)
    except LostDefiniteness:
        return None
    if (iterate.posterior.variance < 0).any():
        return None
    return evaluate(problem, iterate)
