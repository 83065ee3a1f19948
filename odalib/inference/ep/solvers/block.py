"""What a block of rows does for expectation propagation in rounds; see `rounds`.

A block keeps its own sites. What it is told is of the size of a Gaussian of the
weights, and so is what it tells: sums over its rows, which add up over the blocks.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from odalib.inference.ep.gaussians.model import Posterior
from odalib.inference.ep.gaussians.rows import spans
from odalib.inference.ep.gaussians.weights import (
    WeightBelief,
    add_gram,
    add_rows,
    stacked_factor,
)
from odalib.inference.ep.likelihood import Likelihood
from odalib.inference.ep.solvers.anderson import equations, mix, remember
from odalib.inference.ep.solvers.parallel import (
    comparable,
    extrapolated,
    laplace_step,
    stacked,
)
from odalib.inference.ep.solvers.problem import (
    Iterate,
    Sites,
    improper,
    largest_move,
    misfit,
    sites_evidence,
)

__all__ = [
    "Advance",
    "Held",
    "Laplace",
    "MatchAll",
    "Matched",
    "Order",
    "Part",
    "Restart",
    "Retreat",
    "RowPosterior",
    "Totals",
    "Triangulate",
]

Points = tuple[tuple[np.ndarray, np.ndarray], ...]


@dataclass(frozen=True)
class Part:
    """Rows of a block that take part in a problem of two classes.

    Attributes
    ----------
    place : int
        Number of the block.
    rows : slice or array of int of shape (m,)
        Which of the block; there may be none.
    likelihood : Likelihood
        Of their latent values.
    counts : array of shape (m,)
        Copies of each site.
    """

    place: int
    rows: slice | np.ndarray
    likelihood: Likelihood
    counts: np.ndarray


@dataclass(frozen=True)
class Held:
    """Sites that a block holds between the rounds, and those before them.

    Attributes
    ----------
    counts : array of shape (m,)
        Copies of each site in the posterior.
    target : Sites
        Those that the totals are of.
    reached : Iterate or None
        At the target, once it has been matched there.
    accepted : Iterate or None
        The last whose cavities are proper in all blocks, until the next is reached.
    left : Sites or None
        The accepted sites, from which a step to the target sets out; None before the
        first.
    following : pair of arrays or None
        The accepted sites, and what they would be mapped to.
    points : tuple of pairs of arrays
        The same of those before.
    """

    counts: np.ndarray
    target: Sites
    reached: Iterate | None = None
    accepted: Iterate | None = None
    left: Sites | None = None
    following: tuple[np.ndarray, np.ndarray] | None = None
    points: Points = ()

    @property
    def origin(self):
        """Sites that a step to the target sets out from."""
        if self.left is not None:
            return self.left
        return Sites(*np.zeros((2, len(self.target.shift))))

    def after_step(self):
        """Accept what was reached."""
        if self.reached is None:
            return self
        points = self.points
        if self.following is not None:
            points = remember(points, *self.following)
        return replace(
            self,
            reached=None,
            accepted=self.reached,
            left=self.reached.sites,
            following=None,
            points=points,
        )


class RowPosterior(Posterior):
    """Marginals of the latent values of some rows, which is all that a block keeps.

    How they hang together with those of other rows is for the weights to say.

    Parameters
    ----------
    X : array of shape (n, d)
    belief : WeightBelief
    """

    def __init__(self, X, belief):
        self.mean, self._variance = belief.latent(X)

    @property
    def variance(self):
        return self._variance

    def respond(self, shift):
        raise NotImplementedError

    def covariance(self):
        raise NotImplementedError

    def moving(self):
        raise NotImplementedError


@dataclass(frozen=True)
class Totals:
    """Sums over rows of what sites say of the weights.

    Attributes
    ----------
    gram : array of shape (d, d)
        ``X' diag(counts precision) X``.
    pull : array of shape (d,)
        ``X' (counts shift)``.
    largest_move : float
        See `Advance`.
    same_sign : bool
        See `Advance`.
    """

    gram: np.ndarray
    pull: np.ndarray
    largest_move: float = 0.0
    same_sign: bool = True

    @classmethod
    def of(cls, X, held):
        """Sum over the rows of a block, of the target that it holds."""
        d, counts, sites = X.shape[1], held.counts, held.target
        return cls(
            add_gram(np.zeros((d, d)), X, counts * sites.precision),
            (counts * sites.shift) @ X,
        )

    def combined_with(self, other):
        """Add up the totals of two blocks."""
        return Totals(
            self.gram + other.gram,
            self.pull + other.pull,
            max(self.largest_move, other.largest_move),
            self.same_sign and other.same_sign,
        )


@dataclass(frozen=True)
class Matched:
    """What matching all sites has shown.

    Attributes
    ----------
    n_improper : int
        Cavities that cannot be used; with any, the rest is not of use.
    misfit : float
        Of single sites; see `misfit`.
    pull : array of shape (d,)
        ``X' (counts d)`` of their pulls.
    equations : array of shape (k, k)
        Triangular factor of the equations of extrapolation for whole steps.
    evidence : float
        See `sites_evidence`.
    """

    n_improper: int
    misfit: float
    pull: np.ndarray
    equations: np.ndarray
    evidence: float

    @classmethod
    def of_none(cls, n_improper, n_weights):
        """Answer of a block in which so many cavities cannot be used."""
        return cls(n_improper, 0.0, np.zeros(n_weights), np.empty((0, 0)), 0.0)

    def combined_with(self, other):
        """Add up the answers of two blocks."""
        if self.n_improper or other.n_improper:
            n_improper = self.n_improper + other.n_improper
            return Matched.of_none(n_improper, len(self.pull))
        return Matched(
            0,
            max(self.misfit, other.misfit),
            self.pull + other.pull,
            stacked_factor(self.equations, [other.equations]),
            self.evidence + other.evidence,
        )


@dataclass(frozen=True)
class Triangle:
    """Triangular factor of weighted rows, shape (d, d)."""

    factor: np.ndarray

    def combined_with(self, other):
        """Join the rows of two blocks."""
        return Triangle(stacked_factor(self.factor, [other.factor]))


class Order(ABC):
    """What all blocks are asked to do in a round."""

    @abstractmethod
    def carry_out(self, X: np.ndarray, part: Part, held: Held) -> tuple[Held, Any]:
        """Carry it out for the rows of one block.

        Parameters
        ----------
        X : array of shape (m, d), float64
            Rows that take part.
        part : Part
        held : Held

        Returns
        -------
        held : Held
        told : object
            Its ``combined_with`` adds up the answers of two blocks.
        """


@dataclass(frozen=True)
class Laplace(Order):
    """Take the sites of Laplace's method where the means of the latent values are.

    Attributes
    ----------
    mean : array of shape (d,)
        Of the weights.
    """

    mean: np.ndarray

    def carry_out(self, X, part, held):
        sites = laplace_step(part.likelihood, X @ self.mean)
        held = Held(part.counts, sites)
        return held, Totals.of(X, held)


@dataclass(frozen=True)
class Restart(Order):
    """Take the last accepted sites, and forget how they were found."""

    def carry_out(self, X, part, held):
        held = Held(held.counts, held.after_step().origin)
        return held, Totals.of(X, held)


@dataclass(frozen=True)
class Retreat(Order):
    """Go half of the way only."""

    def carry_out(self, X, part, held):
        target = held.target
        target = held.origin.towards(target.precision, target.shift, 0.5)
        held = replace(held, target=target, reached=None)
        return held, Totals.of(X, held)


@dataclass(frozen=True)
class Triangulate(Order):
    """Tell what the totals tell without squaring anything."""

    def carry_out(self, X, part, held):
        empty = np.zeros((X.shape[1], X.shape[1]))
        factor = add_rows(empty, X, held.counts * held.target.precision)
        return held, Triangle(factor)


@dataclass(frozen=True)
class MatchAll(Order):
    """Match all sites to their cavities under a Gaussian of the weights.

    Attributes
    ----------
    belief : WeightBelief
    """

    belief: WeightBelief

    def carry_out(self, X, part, held):
        sites, counts = held.target, held.counts
        posterior = RowPosterior(X, self.belief)
        cavity = posterior.cavity(sites.precision, sites.shift)
        n_improper = int(improper(part.likelihood, cavity).sum())
        iterate = Iterate(sites, posterior, cavity, part.likelihood)
        held = replace(held, reached=iterate, accepted=None)
        if n_improper:
            return held, Matched.of_none(n_improper, X.shape[1])
        match = iterate.match
        points = held.after_step().points
        points = remember(points, stacked(sites), stacked(match))
        largest, pull = misfit(iterate, match)
        return held, Matched(
            0,
            largest,
            (counts * pull) @ X,
            triangle(equations(points, comparable(counts, posterior))),
            sites_evidence(counts, iterate),
        )


@dataclass(frozen=True)
class Advance(Order):
    """Accept what was reached, and step towards sites that match.

    The answer holds the largest move of a latent mean, in deviations, that all pulls
    together would cause, and whether all extrapolated precisions have the sign of
    those that they were extrapolated from. The order may be given again.

    Attributes
    ----------
    damping : float
        Share of the way.
    weights : array of shape (k - 1,)
        Of the earlier points; see `mix`.
    response : array of shape (d,)
        Change of the mean of the weights by all pulls.
    """

    damping: float
    weights: np.ndarray
    response: np.ndarray

    def carry_out(self, X, part, held):
        held = held.after_step()
        accepted = held.accepted
        match = accepted.match
        target = accepted.sites.towards(match.precision, match.shift, self.damping)
        following = stacked(accepted.sites), stacked(target)
        points = remember(held.points, *following)
        sites, same_sign = extrapolated(mix(points, self.weights), target)
        held = replace(held, target=sites, following=following)
        totals = replace(
            Totals.of(X, held),
            largest_move=largest_move(X @ self.response, accepted.posterior.variance),
            same_sign=same_sign,
        )
        return held, totals


def triangle(equations):
    """Triangular factor of tall columns, shape (k, k)."""
    k = equations.shape[1]
    return stacked_factor(
        np.zeros((k, k)), (equations[span] for span in spans(equations))
    )
