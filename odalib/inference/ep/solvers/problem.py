"""Problem, sites and iterates: what every solver is given and gives back."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from odalib.inference.ep.gaussians.model import (
    GaussianModel,
    LostDefiniteness,
    Posterior,
)
from odalib.inference.ep.likelihood import Cavity, Expectation, Likelihood, Match

__all__ = [
    "ROUNDING",
    "SHIFT",
    "Iterate",
    "Problem",
    "Run",
    "Sites",
    "Solver",
    "improper",
    "largest_move",
    "misfit",
    "sites_evidence",
    "too_wide",
]

# Weight, in a residual, of the errors of all sites together.
SHIFT = 1e-3
# Of sums of a few terms, relative to their sizes.
ROUNDING = 4 * np.finfo(np.float64).eps


@dataclass(frozen=True)
class Sites:
    """Natural parameters of the sites, ``exp(-precision f^2 / 2 + shift f)``.

    Attributes
    ----------
    precision, shift : array of shape (n,)
    """

    precision: np.ndarray
    shift: np.ndarray

    def towards(self, precision, shift, damping):
        """Sites a share ``damping`` of the way to others."""
        return Sites(
            self.precision + damping * (precision - self.precision),
            self.shift + damping * (shift - self.shift),
        )


@dataclass(frozen=True)
class Problem:
    """A Gaussian model, a likelihood of its latent values, and copies of its sites.

    Attributes
    ----------
    model : GaussianModel
    likelihood : Likelihood
    counts : array of shape (n,)
        How often each site is in the posterior; its cavity leaves one out.
    """

    model: GaussianModel
    likelihood: Likelihood
    counts: np.ndarray

    def iterate(self, sites: Sites) -> "Iterate":
        """Posterior and cavities of the given sites."""
        posterior = self.posterior(sites)
        cavity = posterior.cavity(sites.precision, sites.shift)
        return Iterate(sites, posterior, cavity, self.likelihood)

    def posterior(self, sites: Sites) -> Posterior:
        """Posterior of all copies of the given sites.

        Raises
        ------
        LostDefiniteness
            Where there is none, or its moments are more than floats hold.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            posterior = self.model.posterior(
                self.counts * sites.precision, self.counts * sites.shift
            )
        if not np.isfinite(posterior.log_normaliser):
            raise too_wide()
        return posterior

    def residual(self, iterate: "Iterate") -> float:
        """How far sites are from those that match; see `distance`.

        Infinite where a cavity is improper, and no site matches.
        """
        if self.improper(iterate.cavity).any():
            return np.inf
        return self.distance(iterate, iterate.match)

    def distance(self, iterate: "Iterate", target: Match | Expectation) -> float:
        """How far sites are from those asked for, in posterior deviations.

        ``max(|d nu - d tau mu| s, |d tau| s^2)`` over the sites; and, since many
        small errors add up, `SHIFT` of what all of them together would move a mean
        by.
        """
        posterior = iterate.posterior
        largest, pull = misfit(iterate, target)
        moved = posterior.respond(self.counts * pull)
        return max(largest, SHIFT * largest_move(moved, posterior.variance))

    def rough(self) -> "Problem":
        """Give the same problem to a few digits, where that is cheaper; else itself."""
        model = self.model.rough()
        return self if model is self.model else replace(self, model=model)

    def first_sites(self):
        """Sites that say as little as the model allows."""
        return Sites(self.model.first_precision(), np.zeros(self.model.n_sites))

    def improper(self, cavity):
        """Which cavities cannot be used, shape (n,)."""
        return improper(self.likelihood, cavity)


@dataclass(frozen=True)
class Iterate:
    """Sites, their posterior, and the cavities they leave."""

    sites: Sites
    posterior: Posterior
    cavity: Cavity
    likelihood: Likelihood

    @cached_property
    def match(self) -> Match:
        """Tilted distributions of the cavities, and the sites that match them."""
        return self.likelihood.match(self.cavity)


@dataclass(frozen=True)
class Run:
    """What a solver gives back.

    Attributes
    ----------
    iterate : Iterate
        The last.
    residuals : list of float
        Of every iteration, before damping.
    converged : bool
    n_improper : int
        Cavities met that were improper, and handled by the solver's rule.
    """

    iterate: Iterate
    residuals: list[float]
    converged: bool
    n_improper: int


class Solver(ABC):
    """Way to the fixed point."""

    def refuse(self, problem: Problem) -> None:  # noqa: B027
        """Raise a ValueError that names what in the problem does not fit."""

    @abstractmethod
    def run(
        self, problem: Problem, sites: Sites | None, tol: float, max_iter: int
    ) -> Run:
        """Iterate until the residual is at most ``tol``."""

    def log_evidence(self, problem: Problem, iterate: Iterate) -> float:
        """Log evidence of the last iterate, as expectation propagation estimates it.

        ``log normaliser + sum_i counts_i (log tilted_i - log combined_i)``.
        """
        if not problem.likelihood.proper_cavities:
            # Cavities that are not normalised combine with their sites to marginals.
            excess = iterate.posterior.log_excess(iterate.cavity, problem.counts)
            return float(problem.counts @ iterate.match.log_norm + excess)
        return iterate.posterior.log_normaliser + sites_evidence(
            problem.counts, iterate
        )


def too_wide() -> LostDefiniteness:
    """Error of a prior that leaves no digits for what the data say."""
    return LostDefiniteness(
        "No step leaves proper cavities: the prior covariance is too large for its "
        "smallest digits to count. Scale the features, remove their offset, or use a "
        "narrower prior."
    )


def improper(likelihood: Likelihood, cavity: Cavity) -> np.ndarray:
    """Which cavities a likelihood cannot use, shape (n,)."""
    if not likelihood.proper_cavities:
        return np.zeros(cavity.share.shape, dtype=bool)
    # Rounding may turn a variance negative that is nearly nothing of its prior.
    return ~((cavity.share > 0) & (cavity.posterior_variance >= 0))


def misfit(iterate: Iterate, target: Match | Expectation) -> tuple[float, np.ndarray]:
    """How far each site by itself is from the one asked for.

    Returns
    -------
    largest : float
        ``max(|d nu - d tau mu| s, |d tau| s^2)``; zero without any site.
    pull : array of shape (n,)
        ``d nu - d tau mu`` of one copy, zero where it is rounding.
    """
    sites, posterior = iterate.sites, iterate.posterior
    mean, spread = posterior.mean, np.sqrt(posterior.variance)
    change = target.precision - sites.precision
    pull = target.shift - sites.shift - change * mean
    # What is no more than the rounding of its terms cannot become less.
    terms = np.abs(target.shift) + np.abs(target.precision * mean)
    pull = np.where(np.abs(pull) > ROUNDING * terms, pull, 0.0)
    largest = max(
        np.abs(pull * spread).max(initial=0.0),
        np.abs(change * spread**2).max(initial=0.0),
    )
    return float(largest), pull


def largest_move(moved: np.ndarray, variance: np.ndarray) -> float:
    """Largest move of a mean in deviations; zero without any site."""
    spread = np.sqrt(variance)
    # A latent value without variance is not moved by anything.
    unit = np.where(spread > 0, spread, 1.0)
    return float((np.abs(moved) / unit).max(initial=0.0))


def sites_evidence(counts: np.ndarray, iterate: Iterate) -> float:
    """``sum_i counts_i (log tilted_i - log combined_i)``, of proper cavities."""
    sites = iterate.sites
    combined = iterate.likelihood.log_combined(
        iterate.cavity, sites.precision, sites.shift
    )
    return float(counts @ (iterate.match.log_norm - combined))
