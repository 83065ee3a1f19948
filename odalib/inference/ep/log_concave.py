"""Log-concave likelihoods, given by two functions and their derivatives."""

from dataclasses import dataclass, fields

import numpy as np

from odalib.inference.ep.likelihood import Expectation, Likelihood, Match
from odalib.inference.ep.quadrature import (
    Factor,
    expect_by_quadrature,
    match_by_quadrature,
)

__all__ = ["LogConcave", "Tail", "join"]


@dataclass(frozen=True)
class Tail:
    """A log likelihood as a parabola and the rest, which fades far below zero.

    ``log L(u) = shift u - precision u^2 / 2 + remainder(u)``. Far below zero the
    matching site is almost the parabola: how it differs would be lost to rounding,
    were the remainder not computed by itself.

    Attributes
    ----------
    precision, shift : float
    remainder : Factor
    """

    precision: float
    shift: float
    remainder: Factor


class LogConcave(Likelihood):
    """``L(y f / scale) ^ power`` for an increasing, log-concave L that bends at zero.

    A likelihood of this kind names its ``body``, the factor L, and its ``tail``, the
    same in the form that is accurate far below zero. Tilted moments and sites are by
    quadrature (`match_by_quadrature`), to a relative error of 1e-10.

    Parameters
    ----------
    y : array of shape (n,)
        Labels, -1.0 or 1.0.
    scale : float or array of shape (n,), default=1.0
        Of the latent values, in units of which L bends over about one.
    power : array of shape (n,), default=None
        Of each factor, in (0, 1]: a label that counts for less than one (see
        `split_weights`) has one site for that power of its likelihood, which is
        proper and continuous at 1. None is all ones.

    Raises
    ------
    ValueError
        For a power outside (0, 1].
    """

    body: Factor
    tail: Tail

    def __init__(self, y, scale=1.0, power=None):
        self.y = y
        self.n_sites = len(y)
        self.scale = np.broadcast_to(np.asarray(scale, dtype=np.float64), y.shape)
        self.power = np.ones(len(y)) if power is None else power
        if not ((self.power > 0.0) & (self.power <= 1.0)).all():
            raise ValueError(
                "The powers of a likelihood must be above 0 and at most 1, got "
                f"{self.power.min():g} to {self.power.max():g}."
            )

    def match(self, cavity, sites=slice(None)):
        """Tilted moments and sites by quadrature; see `Likelihood.match`."""
        y, scale, power = self.y[sites], self.scale[sites], self.power[sites]
        mean, variance = y * cavity.mean / scale, cavity.variance / scale**2
        spread = 1.0 + power * self.tail.precision * variance
        centre = mean + power * self.tail.shift * variance
        below = centre < -np.sqrt(variance) * np.sqrt(spread)
        parts = (
            (rows, way(power[rows], mean[rows], variance[rows]))
            for rows, way in ((below, self._match_tail), (~below, self._match_body))
            if rows.any()
        )
        match = join(len(mean), parts)
        return Match(
            log_norm=match.log_norm,
            mean=y * scale * match.mean,
            variance=scale**2 * match.variance,
            precision=match.precision / scale**2,
            shift=y * match.shift / scale,
        )

    def curvature(self, latent):
        """Gradient and precision of the log likelihood; see `Likelihood.curvature`."""
        _, slope, bend = self.body.evaluate(self.y * latent / self.scale)
        return (
            self.y * self.power * slope / self.scale,
            self.power * bend / self.scale**2,
        )

    def expect(self, mean, variance):
        """Take expectations by quadrature; see `Likelihood.expect`."""
        y, power = self.y, self.power
        mean, variance = y * mean / self.scale, variance / self.scale**2
        value, slope, bend = np.empty((3, len(mean)))
        # The parabola apart from the rest, below zero; the slope without bend * mean.
        below = mean < -np.sqrt(variance)
        for rows, factor, precision, shift in (
            (below, self.tail.remainder, self.tail.precision, self.tail.shift),
            (~below, self.body, 0.0, 0.0),
        ):
            m, v = mean[rows], variance[rows]
            rest = expect_by_quadrature(factor, m, v)
            value[rows] = shift * m - 0.5 * precision * (m * m + v) + rest[0]
            slope[rows] = shift + rest[1] + rest[2] * m
            bend[rows] = precision + rest[2]
        return Expectation(
            power * value, power * bend / self.scale**2, y * power * slope / self.scale
        )

    def _match_body(self, power, mean, variance):
        return match_by_quadrature(self.body, power, mean, variance)

    def _match_tail(self, power, mean, variance):
        """Let the cavity take over the parabola, and match the rest."""
        precision, shift = power * self.tail.precision, power * self.tail.shift
        spread = 1.0 + precision * variance
        rest = match_by_quadrature(
            self.tail.remainder,
            power,
            (mean + shift * variance) / spread,
            variance / spread,
        )
        # Overflows where the log norm does.
        with np.errstate(over="ignore"):
            square = shift * (shift * variance + 2.0 * mean) - precision * mean * mean
        return Match(
            log_norm=rest.log_norm + 0.5 * (square / spread - np.log(spread)),
            mean=rest.mean,
            variance=rest.variance,
            precision=precision + rest.precision,
            shift=shift + rest.shift,
        )


def join(n_sites, parts):
    """One match of those of disjoint sites.

    Parameters
    ----------
    n_sites : int
    parts : iterable of (array of shape (n_sites,), Match)
        Which sites (a mask), and their match.

    Returns
    -------
    Match
    """
    joined = Match(*np.empty((len(fields(Match)), n_sites)))
    for rows, part in parts:
        for field in fields(Match):
            getattr(joined, field.name)[rows] = getattr(part, field.name)
    return joined
