"""Parallel expectation propagation: all sites at once, damped by rule."""

from dataclasses import replace

import numpy as np

from odalib.inference.ep.gaussians.model import LostDefiniteness
from odalib.inference.ep.solvers.anderson import Anderson
from odalib.inference.ep.solvers.problem import Run, Sites, Solver, too_wide

__all__ = [
    "LAPLACE_STEPS",
    "RETREATS",
    "Damping",
    "Parallel",
    "comparable",
    "extrapolated",
    "laplace_sites",
    "laplace_step",
    "stacked",
]

# Newton steps towards the mode before the first moments are matched.
LAPLACE_STEPS = 4
# Extrapolation breaks most cycles, given time. A residual that has not halved in so
# many iterations damps by the factor, down to the floor; so many times in a row is a
# stall.
PATIENCE, DAMPING, FLOOR, STALLED = 20, 0.5, 0.25, 3
# Deviations, as shares of means, below which extrapolation would follow rounding.
ROUNDED = 1e-6
# Residual down to which a rough model serves, whose own errors are far below it, and
# iterations that it is given.
ROUGH, ROUGH_ITERATIONS = 1e-3, 6
# Halvings of a step that led to an improper cavity, at the most.
RETREATS = 50


class Parallel(Solver):
    """One factorisation an iteration, from the sites of the Laplace approximation.

    By itself it falls into a cycle on separable data with wide priors. Sites are
    extrapolated from those before (`Anderson`), which ends most cycles; the rule damps
    what is left, and gives up where that does not help. A step to improper cavities,
    or to no posterior at all, is halved until it is none, and the damping with it.
    A model that is cheaper to a few digits serves until more of them count.
    """

    def run(self, problem, sites, tol, max_iter):
        rough = problem.rough()
        n_rough = min(ROUGH_ITERATIONS, max_iter - 1)
        if rough is problem or n_rough == 0 or tol >= ROUGH:
            return iterate(problem, sites, tol, max_iter)
        try:
            before = iterate(rough, sites, ROUGH, n_rough)
        except LostDefiniteness:
            return iterate(problem, sites, tol, max_iter)
        match, n_before = before.iterate.match, len(before.residuals)
        reached = Sites(match.precision, match.shift)
        run = iterate(problem, reached, tol, max_iter - n_before)
        return replace(
            run,
            residuals=before.residuals + run.residuals,
            n_improper=before.n_improper + run.n_improper,
        )


def iterate(problem, sites, tol, max_iter):
    """Run with one model; from the sites of the Laplace approximation for None."""
    target = laplace_sites(problem) if sites is None else sites
    damping, n_improper = Damping(), 0
    residuals: list[float] = []
    anderson = Anderson()
    last, halvings = step(problem, problem.first_sites(), target)
    while True:
        n_improper += halvings
        damping.retreat(halvings)
        match = last.match
        residuals.append(problem.residual(last))
        converged = residuals[-1] <= tol
        if converged or len(residuals) == max_iter or damping.stalls(residuals[-1]):
            return Run(last, residuals, converged, n_improper)
        target = last.sites.towards(match.precision, match.shift, damping.share)
        target = accelerate(anderson, problem.counts, last, target)
        last, halvings = step(problem, last.sites, target)


class Damping:
    """Share of the way to matching sites that a step goes, by rule.

    Attributes
    ----------
    share : float
    """

    def __init__(self):
        self.share = 1.0
        self._best, self._waited = np.inf, 0

    def retreat(self, halvings):
        """Damp by as many halvings as the last step needed."""
        self.share = max(self.share * 0.5**halvings, FLOOR)

    def stalls(self, residual):
        """Whether to give up; damps where the residual has not halved for long."""
        self._waited += 1
        if residual <= self._best / 2:
            self._best, self._waited = residual, 0
        elif self._waited == PATIENCE * STALLED:
            return True
        elif self._waited % PATIENCE == 0:
            self.share = max(self.share * DAMPING, FLOOR)
        return False


def step(problem, origin, target):
    """Iterate at the target, or as far towards it as cavities are proper.

    Returns
    -------
    iterate : Iterate
    halvings : int
        Of the way from the origin, sites whose cavities are proper.
    """
    for halvings in range(RETREATS):
        try:
            reached = problem.iterate(target)
        except LostDefiniteness:
            if halvings == RETREATS - 1:
                raise
        else:
            if not problem.improper(reached.cavity).any():
                return reached, halvings
        target = origin.towards(target.precision, target.shift, 0.5)
    raise too_wide()


def accelerate(anderson, counts, iterate, target):
    """Extrapolated sites; the target itself where they would be of other sign."""
    proposal = anderson.propose(
        stacked(iterate.sites), stacked(target), comparable(counts, iterate.posterior)
    )
    sites, same_sign = extrapolated(proposal, target)
    return sites if same_sign else target


def stacked(sites):
    """Precisions and shifts in one vector, shape (2 n,)."""
    return np.concatenate([sites.precision, sites.shift])


def comparable(counts, posterior):
    """Units that make changes of precisions and shifts comparable, shape (2 n,)."""
    variance = posterior.variance
    # Of shifts: their rounding is that of a mean, where means are many deviations.
    width = np.maximum(np.sqrt(variance), ROUNDED * np.abs(posterior.mean))
    # A latent value without variance is not moved by anything.
    spread = np.divide(variance, width, out=np.zeros_like(width), where=width > 0)
    # Copies of a site count as often as they are in the posterior.
    weights = np.sqrt(np.concatenate([counts, counts]))
    return weights * np.concatenate([variance, spread])


def extrapolated(proposal, target):
    """Sites of a proposal, and whether all have the sign of those of the target."""
    precision, shift = np.split(proposal, 2)
    same_sign = np.sign(precision) == np.sign(target.precision)
    return Sites(precision, shift), bool(same_sign.all())


def laplace_sites(problem):
    """Sites of a Gaussian at the mode, or nearly there; else those that say least."""
    sites = problem.first_sites()
    posterior = problem.posterior(sites)
    for _ in range(LAPLACE_STEPS):
        following = laplace_step(problem.likelihood, posterior.mean)
        if following is None:
            return sites
        sites = following
        posterior = problem.posterior(sites)
    return sites


def laplace_step(likelihood, latent):
    """Sites as curved as the likelihood is there; None where some is not smooth."""
    local = likelihood.curvature(latent)
    if local is None:
        return None
    gradient, precision = local
    return Sites(precision, gradient + precision * latent)
