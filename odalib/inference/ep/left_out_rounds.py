"""Rows left out, as `leave_one_out` has them, where rows are in blocks."""

from dataclasses import dataclass, replace

import numpy as np

from odalib.inference.ep.gaussians.weights import WeightBelief
from odalib.inference.ep.leave_one_out import (
    MATCHES,
    influence,
    influential,
    largest_influences,
    others_than,
)
from odalib.inference.ep.likelihood import Cavity
from odalib.inference.ep.solvers.block import Held, Order, RowPosterior, Totals
from odalib.inference.ep.solvers.problem import Sites, improper
from odalib.inference.ep.solvers.rounds import (
    Outcome,
    Rounds,
    WeightGaussian,
    weigh,
)

__all__ = ["Instead", "find_influential", "left_out", "weights_without"]

# Number of a block, and of a row of its part.
Site = tuple[int, int]


@dataclass(frozen=True)
class Influences:
    """Largest influences that differ, of the rows of some blocks."""

    values: np.ndarray

    def combined_with(self, other):
        """Largest of two blocks."""
        return Influences(
            largest_influences(np.concatenate([self.values, other.values]))
        )


@dataclass(frozen=True)
class Found:
    """Sites that are looked at again."""

    sites: list[Site]

    def combined_with(self, other):
        """Sites of two blocks, in their order."""
        return Found(self.sites + other.sites)


@dataclass(frozen=True)
class TellInfluences(Order):
    """Tell the largest influences of rows on their own probability."""

    def carry_out(self, X, part, held):
        """See `Order`."""
        return held, Influences(largest_influences(influences(part, held)))


@dataclass(frozen=True)
class Find(Order):
    """Tell which rows are looked at again, given the largest influences of all."""

    largest: np.ndarray

    def carry_out(self, X, part, held):
        """See `Order`."""
        rows = influential(influences(part, held), self.largest)
        return held, Found([(part.place, row) for row in rows.tolist()])


@dataclass(frozen=True)
class Omit(Order):
    """Leave out one copy of a site, and keep all sites as they are."""

    site: Site

    def carry_out(self, X, part, held):
        """See `Order`."""
        counts, (place, row) = held.counts, self.site
        if place == part.place:
            counts = counts.copy()
            counts[row] -= 1.0
        held = Held(counts, held.after_step().origin)
        return held, Totals.of(X, held)


@dataclass(frozen=True)
class Rematched:
    """Totals of sites matched once more; of no use if a cavity was improper."""

    totals: Totals
    n_improper: int

    def combined_with(self, other):
        """Add up the answers of two blocks."""
        return Rematched(
            self.totals.combined_with(other.totals), self.n_improper + other.n_improper
        )


@dataclass(frozen=True)
class Rematch(Order):
    """Match all sites but one, under a Gaussian of the weights."""

    site: Site
    belief: WeightBelief

    def carry_out(self, X, part, held):
        """See `Order`."""
        place, row = self.site
        others = np.arange(len(held.counts))
        if place == part.place:
            others = others_than(row, held.counts)
        before = held.target
        posterior = RowPosterior(X, self.belief)
        cavity = posterior.cavity(before.precision, before.shift).of_sites(others)
        n_improper = int(improper(part.likelihood, cavity).sum())
        if not n_improper:
            match = part.likelihood.match(cavity, others)
            precision, shift = before.precision.copy(), before.shift.copy()
            precision[others], shift[others] = match.precision, match.shift
            held = replace(held, target=Sites(precision, shift))
        return held, Rematched(Totals.of(X, held), n_improper)


@dataclass(frozen=True)
class Instead:
    """What stands for the cavity of a row that was looked at again.

    Attributes
    ----------
    site : tuple of int
        Number of the block, and of the row in its part.
    belief : WeightBelief
        About the weights, without a copy of the row.
    """

    site: Site
    belief: WeightBelief


def influences(part, held):
    """How much each row changes its own probability, shape (m,)."""
    last = held.after_step().accepted
    given = Cavity.gaussian(last.posterior.mean, last.posterior.variance)
    return influence(part.likelihood, given, last.cavity)


def find_influential() -> Rounds:
    """Find the sites to look at again; a generator of orders as of `rounds`.

    Returns
    -------
    list of tuple of int
        Number of the block, and of the row in its part.
    """
    largest = yield TellInfluences()
    found = yield Find(largest.values)
    return found.sites


def weights_without(outcome: Outcome, site: Site) -> Rounds:
    """Match all others without a copy of a site; a generator of orders.

    Parameters
    ----------
    outcome : Outcome
        Of all rows, whose sites the blocks hold.
    site : tuple of int

    Returns
    -------
    Instead
    """
    prior = outcome.posterior.prior
    totals = yield Omit(site)
    posterior: WeightGaussian = yield from weigh(prior, totals)
    for _ in range(MATCHES):
        again = yield Rematch(site, posterior.belief)
        if again.n_improper:
            break
        posterior = yield from weigh(prior, again.totals)
    return Instead(site, posterior.belief)


def left_out(X, mean, variance, sites, instead):
    """Means and variances of latent values, one copy of their own row left out.

    Parameters
    ----------
    X : array of shape (m, d), float64
        Rows of a block that take part.
    mean, variance : array of shape (m,)
        Of their latent values.
    sites : Sites
        Of the same rows.
    instead : dict of int to WeightBelief
        About the weights, without a copy of the row that is looked at again.

    Returns
    -------
    mean, variance : array of shape (m,)
    """
    cavity = Cavity.of(mean, variance, sites.precision, sites.shift)
    mean, variance = cavity.mean.copy(), cavity.variance.copy()
    for row, belief in instead.items():
        own = slice(row, row + 1)
        mean[own], variance[own] = belief.latent(X[own])
    return mean, variance
