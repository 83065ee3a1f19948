"""Log-concave likelihoods, given by their derivatives alone."""

from abc import abstractmethod
from dataclasses import dataclass, fields

import numpy as np

from odalib.inference.ep.likelihood import Likelihood, Match
from odalib.inference.ep.quadrature import Factor, match_by_quadrature

__all__ = ["LogConcave", "Tail"]


@dataclass(frozen=True)
class Tail:
    """Log likelihood as a parabola, which a site takes over as it is, plus the rest.

    ``log L(u) = shift u - precision u^2 / 2 + remainder(u)``. Far below zero the site
    is almost the parabola, and what it differs by is lost to rounding unless the
    remainder is computed by itself.
    """

    precision: float
    shift: float
    remainder: Factor


class LogConcave(Likelihood):
    """Likelihood ``L(y f / scale) ^ power``, increasing and log-concave in its argument.

    """

    body: Factor
    tail: Tail

    def __init__(self, y, scale=1.0, power=None):
        self.y = y
        self.n_sites = len(y)
        self.scale = np.broadcast_to(np.asarray(scale, dtype=np.float64), y.shape)
        self.power = np.broadcast_to(
            np.asarray(1.0 if power is None else power, dtype=np.float64), y.shape
        )

    def match(self, cavity, sites=slice(None)):
        """Tilted moments and sites by quadrature; see `Likelihood.match`."""
        y, scale = self.y[sites], self.scale[sites]
        mean, variance = y * cavity.mean / scale, cavity.variance / scale**2
        matched = np.empty((5, len(mean)))
        power = self.power[sites]
        spread = 1.0 + power * self.tail.precision * variance
        below = mean + power * self.tail.shift * variance < -np.sqrt(variance * spread)
        for rows, part in ((below, self._match_tail), (~below, self._match_body)):
            if rows.any():
                match = part(power[rows], mean[rows], variance[rows])
                matched[:, rows] = [getattr(match, f.name) for f in fields(match)]
        matched = Match(*matched)
        return Match(
            matched.log_norm,
            y * scale * matched.mean,
            scale**2 * matched.variance,
            matched.precision / scale**2,
            y * matched.shift / scale,
        )

    def _match_body(self, power, mean, variance):
        return match_by_quadrature(
            self.body, power, mean, variance, np.ones_like(mean)
        )

    def _match_tail(self, power, mean, variance):
        precision, shift = power * self.tail.precision, power * self.tail.shift
        spread = 1.0 + precision * variance
        rest = match_by_quadrature(
            self.tail.remainder,
            power,
            (mean + shift * variance) / spread,
            variance / spread,
            np.sqrt(spread),
        )
        square = shift * (shift * variance + 2.0 * mean) - precision * mean**2
        return Match(
            rest.log_norm + 0.5 * (square / spread - np.log1p(precision * variance)),
            rest.mean,
            rest.variance,
            precision + rest.precision,
            shift + rest.shift,
        )
