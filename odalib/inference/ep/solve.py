"""Inference by expectation propagation: one call, one result."""

from dataclasses import dataclass

import numpy as np

from odalib.inference.ep.gaussians.model import LostDefiniteness, Posterior
from odalib.inference.ep.likelihood import Cavity
from odalib.inference.ep.solvers import SOLVERS
from odalib.inference.ep.solvers.problem import Problem, Sites, too_wide

__all__ = ["Inference", "infer"]

# What 'auto' tries, in this order; a start that was given comes first.
AUTOMATIC = ("parallel", "blocked", "double_loop")


@dataclass(frozen=True)
class Inference:
    """Result of expectation propagation.

    Attributes
    ----------
    posterior : Posterior
        Prior times sites; ``posterior.mean`` and ``.variance`` are the marginals.
    sites : Sites
        ``precision`` and ``shift`` of every site, shape (n,) each.
    cavity : Cavity
        The marginals without one copy of their own site.
    log_evidence : float
        Log integral of the prior times the likelihood, as EP estimates it; of the
        variational solver a lower bound of it.
    residuals : list of float
        Of every iteration, in posterior standard deviations.
    converged : bool
    n_iter : int
    solver : str
        The solver that produced it.
    n_improper : int
        Improper cavities that were met on the way.
    problem : Problem
        What it is the result of.
    """

    posterior: Posterior
    sites: Sites
    cavity: Cavity
    log_evidence: float
    residuals: list[float]
    converged: bool
    n_iter: int
    solver: str
    n_improper: int
    problem: Problem

    @property
    def mean(self):
        """Posterior means of the latent values, shape (n,)."""
        return self.posterior.mean

    @property
    def variance(self):
        """Posterior variances of the latent values, shape (n,)."""
        return self.posterior.variance


def infer(
    model,
    likelihood,
    *,
    counts=None,
    solver="auto",
    tol=1e-6,
    max_iter=200,
    start=None,
):
    """Approximate the posterior of latent values with a Gaussian prior.

    Parameters
    ----------
    model : GaussianModel
    likelihood : Likelihood
        Of as many sites as the model.
    counts : array of shape (n,), default=None
        Copies of each site, at least one (`split_weights`); None for one each.
    solver : str, default='auto'
        ``'parallel'``, ``'sequential'``, ``'blocked'`` (sequential by blocks),
        ``'double_loop'`` or ``'single_pass'``. ``'auto'`` tries the parallel one,
        the blocked sequential one and the double loop until one converges.
        ``'variational'`` is no expectation propagation: it finds the Gaussian of
        least divergence from itself to the posterior, and its log evidence is a
        lower bound.
    tol : float, default=1e-6
        Largest residual, ``max(|d nu - d tau mu| s, |d tau| s^2)``.
    max_iter : int, default=200
        Iterations of one solver, at the most.
    start : Sites, default=None
        Sites to start from, as those of a similar problem.

    Returns
    -------
    Inference

    Raises
    ------
    ValueError
        For sizes that do not agree, and for a solver or a model that the
        likelihood does not fit, by name.
    LostDefiniteness
        Where prior and sites have no Gaussian posterior.
    """
    n = model.n_sites
    counts = np.ones(n) if counts is None else counts
    if likelihood.n_sites != n or len(counts) != n:
        raise ValueError(
            f"The model has {n} latent values, the likelihood {likelihood.n_sites} "
            f"sites, counts {len(counts)} entries; the three must agree."
        )
    if not (model.any_sign or likelihood.log_concave):
        raise ValueError(
            f"{type(model).__name__} takes no site of negative precision, and those "
            f"of {type(likelihood).__name__} may be; give the model by its precision."
        )
    problem = Problem(model, likelihood, counts)
    if solver not in {"auto", *SOLVERS}:
        raise ValueError(
            f"solver={solver!r} is none of {', '.join(['auto', *SOLVERS])}."
        )
    if solver != "auto":
        SOLVERS[solver].refuse(problem)
        return attempt(problem, solver, start, tol, max_iter)
    attempts = [(name, None) for name in AUTOMATIC]
    if start is not None:
        attempts = [(AUTOMATIC[0], start), *attempts]
    tried, lost = [], None
    for name, sites in attempts:
        if not fits(name, problem):
            continue
        try:
            inference = attempt(problem, name, sites, tol, max_iter)
        except LostDefiniteness as error:
            lost = error
            continue
        if inference.converged:
            return inference
        tried.append(inference)
    if lost is not None and not tried:
        raise lost
    return min(tried, key=lambda inference: inference.residuals[-1])


def fits(name, problem):
    """Whether a solver takes the problem."""
    try:
        SOLVERS[name].refuse(problem)
    except ValueError:
        return False
    return True


def attempt(problem, name, start, tol, max_iter):
    """One solver's result, with the evidence of its last sites.

    Raises
    ------
    LostDefiniteness
        Where it has come to no posterior whose cavities are proper.
    """
    run = SOLVERS[name].run(problem, start, tol, max_iter)
    last = run.iterate
    if problem.improper(last.cavity).any():
        # They have no moments to match, nor an evidence.
        raise too_wide()
    return Inference(
        last.posterior,
        last.sites,
        last.cavity,
        SOLVERS[name].log_evidence(problem, last),
        run.residuals,
        run.converged,
        len(run.residuals),
        name,
        run.n_improper,
        problem,
    )
