"""Double loop: slower than message passing, and monotone.

The free energy is convex plus concave in the moments. The outer loop bounds the
concave part by its tangent at the present moments, which freezes the separators
``exp(-l f^2 / 2 + g f)``; the inner loop minimises, over the sites ``r``, the convex
``log Z_r(r) + sum_i log Z_q(s_i - r_i)`` (Heskes et al. 2003, Opper & Winther 2005).

In exact arithmetic it converges. In floats very precise sites (a spin of variance
1e-10) leave no digits to descend by, and the tail may be slow; plain matching from
where the descent has come to ends both, mostly.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from odalib.inference.ep.gaussians.linear import of_any_sign
from odalib.inference.ep.gaussians.model import LostDefiniteness
from odalib.inference.ep.likelihood import Cavity
from odalib.inference.ep.solvers.anderson import Anderson
from odalib.inference.ep.solvers.parallel import Parallel
from odalib.inference.ep.solvers.problem import ROUNDING, Run, Sites, Solver
from odalib.inference.ep.solvers.sequential import BLOCK, sweep

__all__ = ["DoubleLoop"]

# The inner loop solves dense systems of twice as many unknowns, often a hundred.
LARGEST = 500
INNER_STEPS, HALVINGS = 50, 40
# Share of the promised fall that a step has to keep (Armijo).
ARMIJO = 1e-4
# Rise of the free energy that is rounding, of itself; of its terms, `ROUNDING`.
SLACK = 1e-13
# Outer steps without a lower free energy or residual, of a descent that rounding holds.
STALLED = 20
# Outer steps after which plain matching is tried again.
TRIED = 8
# What the error of difference quotients may cost a Hessian that is nearly singular.
RIDGE = 1e-9


class DoubleLoop(Solver):
    """Newton steps inside, separators outside; the free energy never rises.

    It ends at a fixed point of the same equations as the other solvers, of which there
    may be several, and then at any of them. Separators are extrapolated from those
    before. A proposal that raises the free energy is dropped for the moments
    themselves, which cannot.
    """

    def refuse(self, problem):
        n = problem.model.n_sites
        if n > LARGEST:
            raise ValueError(
                f"solver='double_loop' solves dense systems of two unknowns a site, "
                f"and takes up to {LARGEST} sites; there are {n}. Use 'blocked'."
            )
        first = problem.model.posterior(
            problem.model.first_precision(), np.zeros(problem.model.n_sites)
        )
        if not first.variance.all():
            raise ValueError(
                "solver='double_loop' takes the logarithm of variances, and latent "
                "values of no variance are among those given. Leave out rows that are "
                "zero, or use 'blocked'."
            )

    def run(self, problem, sites, tol, max_iter):
        if sites is None:
            sites = problem.first_sites()
            if problem.likelihood.proper_cavities:
                # Separators as wide as the prior would bound every site's precision.
                sites, _ = sweep(problem, problem.iterate(sites), BLOCK)
        # On the way the precisions of sites take either sign.
        free = replace(problem, model=of_any_sign(problem.model))
        iterate = free.iterate(sites)
        moments = separators = Separators.of(iterate.posterior)
        residuals: list[float] = []
        energy, best, waited, anderson = np.inf, np.inf, 0, Anderson()
        while len(residuals) < max_iter and waited < STALLED:
            point, reached = descend(free, separators, iterate.sites, tol / 10)
            if point is None or reached > energy + point.rounding:
                separators = moments
                anderson = Anderson()
                point, reached = descend(free, separators, iterate.sites, tol / 10)
            following = None if point is None else free.iterate(point.sites)
            if following is None or problem.improper(following.cavity).any():
                # Rounding: the prior is too wide for its smallest digits to count.
                residuals.append(problem.residual(iterate))
                break
            iterate = following
            residuals.append(problem.residual(iterate))
            is_lower = reached < energy - point.rounding or residuals[-1] < best
            waited = 0 if is_lower else waited + 1
            energy, best = reached, min(best, residuals[-1])
            if residuals[-1] <= tol:
                break
            n_outer = len(residuals)
            if waited == STALLED or n_outer % TRIED == 0:
                # An energy that has stalled has no digits left to judge by.
                limit = np.inf if waited == STALLED else energy
                plain = match_on(free, iterate, limit, tol, max_iter - n_outer)
                if plain is not None:
                    iterate = plain.iterate
                    residuals += plain.residuals[1:]
                    break
            moments = Separators.of(iterate.posterior)
            weights = np.sqrt(np.concatenate([problem.counts, problem.counts]))
            proposal = anderson.propose(separators.values, moments.values, weights)
            separators = Separators(proposal)
        sites = iterate.sites
        if problem.likelihood.log_concave and (sites.precision < 0).any():
            # The same at the fixed point, and of the sign they have there.
            sites = Sites(iterate.match.precision, iterate.match.shift)
        converged = residuals[-1] <= tol
        return Run(problem.iterate(sites), residuals, converged, 0)


def match_on(problem, iterate, limit, tol, max_iter):
    """Go on by plain parallel matching, if it converges to a free energy in the limit.

    Its iterations cost a fraction of an outer step. Near a fixed point they need fewer;
    and where sites are very precise it gets there alone: marginals that are known to
    rounding say nothing of cavities, of which it takes no differences.

    Returns
    -------
    Run or None
    """
    try:
        run = Parallel().run(problem, iterate.sites, tol, max_iter + 1)
    except LostDefiniteness:
        return None
    if not run.converged or limit == np.inf:
        return run if run.converged else None
    separators = Separators.of(run.iterate.posterior)
    point = Inner(problem, separators).evaluate(run.iterate.sites)
    if point is None or -point.value > limit + point.rounding:
        return None
    return run


def descend(problem, separators, sites, tol):
    """Inner loop between two updates of the separators.

    Returns
    -------
    point : Point or None
    energy : float
        Free energy of its moments: minus the inner objective, which bounds it, less
        the gap that separators leave which are not these moments.
    """
    point = Inner(problem, separators).minimise(sites, tol)
    if point is None:
        return None, np.inf
    ratio = np.diag(point.covariance) / separators.variance
    offset = (point.mean - separators.mean) ** 2 / separators.variance
    # Kullback-Leibler divergences of the marginals from the separators.
    gap = 0.5 * (ratio - 1.0 - np.log(ratio) + offset)
    return point, -point.value - float(problem.counts @ gap)


@dataclass(frozen=True)
class Separators:
    """Gaussians that count the marginals once, in coordinates without bounds.

    Attributes
    ----------
    values : array of shape (2 n,)
        Means, then logarithms of the variances.
    """

    values: np.ndarray

    @classmethod
    def of(cls, posterior):
        """Separators that are the marginals of a posterior."""
        return cls(np.concatenate([posterior.mean, np.log(posterior.variance)]))

    @property
    def mean(self):
        """Means, shape (n,)."""
        return self.values[: len(self.values) // 2]

    @property
    def variance(self):
        """Variances, shape (n,)."""
        return np.exp(self.values[len(self.values) // 2 :])


@dataclass(frozen=True)
class Point:
    """The inner objective at some sites: value, gradient, and what Newton needs.

    Attributes
    ----------
    value : float
        ``log Z_r + sum_i log Z_q - sum_i log Z_s``, minus the free energy at the
        inner minimum.
    rounding : float
        Of the value, whose terms are larger.
    """

    sites: Sites
    value: float
    rounding: float
    mean: np.ndarray
    covariance: np.ndarray
    cavity: Cavity
    tilted_mean: np.ndarray
    tilted_variance: np.ndarray

    @property
    def gradient(self):
        """With respect to shift and precision of a copy of every site, (2, n).

        Of sites ``exp(-precision (f - mu)^2 / 2 + shift (f - mu))`` about the mean
        ``mu``: moments about zero would cancel where variances are small.
        """
        first = self.mean - self.tilted_mean
        second = np.diag(self.covariance) - first**2
        return np.stack([first, 0.5 * (self.tilted_variance - second)])

    @property
    def error(self):
        """Largest error of a mean or a variance, in posterior deviations."""
        first, second = self.gradient
        variance = np.diag(self.covariance)
        return max(
            np.abs(first / np.sqrt(variance)).max(), np.abs(second / variance).max()
        )


class Inner:
    """The convex problem between two updates of the separators.

    Parameters
    ----------
    problem : Problem
    separators : Separators
    """

    def __init__(self, problem, separators):
        self._problem = problem
        self._mean, self._variance = separators.mean, separators.variance

    def minimise(self, sites, tol):
        """Point whose posterior has the moments of the tilted distributions.

        None where the sites to start from leave no proper cavities.
        """
        point = self.evaluate(sites)
        for _ in range(INNER_STEPS):
            if point is None or point.error <= tol:
                return point
            direction = self._direction(point)
            if direction is None:
                return point
            following = self._line_search(point, direction)
            if following is None:
                return point
            point = following
        return point

    def evaluate(self, sites):
        """Objective at sites; None outside of its domain."""
        problem, likelihood = self._problem, self._problem.likelihood
        cavity = Cavity.of(self._mean, self._variance, sites.precision, sites.shift)
        if problem.improper(cavity).any():
            return None
        try:
            posterior = problem.model.posterior(
                problem.counts * sites.precision, problem.counts * sites.shift
            )
        except LostDefiniteness:
            return None
        match = likelihood.match(cavity)
        separate = log_scale(self._mean, self._variance)
        local = match.log_norm - separate
        if likelihood.proper_cavities:
            local += log_scale(cavity.mean, cavity.variance)
        value = float(posterior.log_normaliser + problem.counts @ local)
        return Point(
            sites,
            value,
            SLACK * abs(value) + ROUNDING * float(problem.counts @ np.abs(separate)),
            posterior.mean,
            posterior.covariance(),
            cavity,
            match.mean,
            match.variance,
        )

    def _direction(self, point):
        """Newton step, about the mean; None where rounding leaves none."""
        counts, n = self._problem.counts, len(self._problem.counts)
        S = point.covariance
        deviation = np.sqrt(np.diag(S))
        correlation = S / deviation[:, np.newaxis] / deviation
        hessian = np.zeros((2, n, 2, n))
        hessian[0, :, 0] = correlation
        hessian[1, :, 1] = 0.5 * correlation**2
        hessian *= counts[:, np.newaxis, np.newaxis] * counts
        site = np.arange(n)
        # Of sites so precise that they overflow there is no step.
        with np.errstate(over="ignore", invalid="ignore"):
            square, cross, fourth = self._tilted_moments(point, deviation)
        hessian[0, site, 0, site] += counts * square
        hessian[0, site, 1, site] -= counts * cross
        hessian[1, site, 0, site] -= counts * cross
        hessian[1, site, 1, site] += counts * fourth
        matrix = hessian.reshape(2 * n, 2 * n)
        matrix.flat[:: 2 * n + 1] *= 1.0 + RIDGE
        if not np.isfinite(matrix).all():
            return None
        units = np.concatenate([1.0 / deviation, 1.0 / deviation**2])
        right = (counts * point.gradient).ravel() * units
        try:
            step = -units * cho_solve(cho_factor(matrix), right)
        except np.linalg.LinAlgError:
            return None
        return step.reshape(2, n)

    def _tilted_moments(self, point, deviation):
        """``Var(x)``, ``Cov(x, x^2 / 2)``, ``Var(x^2 / 2)``, ``x = (f - mu) / sd``.

        Of the tilted distributions, about the mean and in the deviations of the
        posterior.
        """
        third, fourth = self._problem.likelihood.higher_cumulants(point.cavity)
        # In an order in which no power of a tiny deviation is nothing.
        third = third / deviation**2 / deviation
        fourth = fourth / deviation**2 / deviation**2
        beside = (point.tilted_mean - point.mean) / deviation
        square = point.tilted_variance / deviation**2
        return (
            square,
            0.5 * third + beside * square,
            0.25 * fourth + beside * third + (0.5 * square + beside**2) * square,
        )

    def _line_search(self, point, direction):
        """First halving of the step that lowers the objective enough, or None."""
        slope = float((self._problem.counts * point.gradient * direction).sum())
        if -slope <= point.rounding:
            # The fall would be lost in rounding; the moments still tell.
            following = self.evaluate(moved(point, direction))
            closer = following is not None and following.error < point.error / 2
            return following if closer else None
        length = 1.0
        for _ in range(HALVINGS):
            following = self.evaluate(moved(point, length * direction))
            limit = point.value + ARMIJO * length * slope
            if following is not None and following.value <= limit:
                return following
            length /= 2
        return None


def moved(point, step):
    """Sites a step of shift and precision about the mean, shape (2, n), further."""
    sites = point.sites
    return Sites(
        sites.precision + step[1], sites.shift + step[0] + step[1] * point.mean
    )


def log_scale(mean, variance):
    """Log integral of ``exp(-precision f^2 / 2 + shift f)``, up to a constant."""
    return 0.5 * (np.log(variance) + mean**2 / variance)
