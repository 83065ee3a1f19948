"""Tilted moments, and the sites that match them, of factors without a closed form.

The tilted density ``L(u)^p N(u; m, v)`` may be anything from the Gaussian itself,
narrow beside the scale 1 on which log L bends at zero, to half a Gaussian a million
times as wide as its edge. One rule serves them all: the trapezoidal rule in t, where
``u = anchor + scale sinh t``, anchored at the point of the support that is nearest to
the bend and graded from its distance to it: uniform for what is narrow, exponential
for what is wide. As the integrands are analytic and vanish at both ends, the error
falls exponentially with the number of nodes.
"""

from typing import NamedTuple, Protocol

import numpy as np

from odalib.inference.ep.likelihood import Match

__all__ = ["Factor", "match_by_quadrature"]

# Integrands are cut off so many nats below their peaks, give or take the slack.
DROP, SLACK = 40.0, 4.0
# Distance in standard deviations beyond which a Gaussian integrates to zero in
# floats, and the strides in which the support may be extended that far.
VANISHED, STRIDE = 40.0, 4.0
# Nodes are at most so far apart: in t, and in standard deviations of each peak.
STEP, STEP_AT_PEAK = 0.125, 0.4
FEWEST_NODES = 32
# A mesh whose scale is so many standard deviations is uniform.
UNIFORM = 1e3
# Nodes at a time.
BLOCK = 1 << 18


class Factor(Protocol):
    """Factor of a latent value; its product with any Gaussian is log-concave."""

    def evaluate(self, u):
        """Log factor, its derivative, and minus its second derivative."""

    def log_slope(self, u):
        """Log of the absolute value of the derivative of the log factor."""


class _Density(NamedTuple):
    """Log tilted densities, in standard deviations x of their Gaussians."""

    factor: Factor
    power: np.ndarray
    mean: np.ndarray
    deviation: np.ndarray

    def latent(self, x):
        return self.mean + self.deviation * x

    def at(self, x):
        """Log density, its derivative, and minus its second derivative."""
        value, slope, bend = self.factor.evaluate(self.latent(x))
        weight = self.power * self.deviation
        return (
            self.power * value - 0.5 * x**2,
            weight * slope - x,
            1.0 + weight * self.deviation * bend,
        )

    def times_slope(self, x):
        """Log of the density times the absolute derivative of the log factor."""
        return self.at(x)[0] + self.factor.log_slope(self.latent(x))


class _Mesh(NamedTuple):
    """Nodes ``x = anchor + scale sinh t`` for equidistant t from first to last."""

    anchor: np.ndarray
    anchor_latent: np.ndarray
    scale: np.ndarray
    first: np.ndarray
    last: np.ndarray


def match_by_quadrature(factor, power, mean, variance, widest):
    """Match sites to powers of a factor.

    Parameters
    ----------
    factor : Factor
    power : array of shape (n,)
        Positive.
    mean, variance : array of shape (n,)
        Of the Gaussians; a variance may be zero.
    widest : array of shape (n,)
        Bound of the tilted standard deviations, in those of the Gaussians.

    Returns
    -------
    Match
    """
    density = _Density(factor, power, mean, np.sqrt(variance))
    mesh, sizes = _mesh(density, widest)
    matched = np.empty((5, len(mean)))
    for size in np.unique(sizes):
        rows = np.flatnonzero(sizes == size)
        for block in np.array_split(rows, len(rows) * size // BLOCK + 1):
            matched[:, block] = _integrate(
                density._replace(
                    power=power[block],
                    mean=mean[block],
                    deviation=density.deviation[block],
                ),
                _Mesh(*(part[block] for part in mesh)),
                size,
            )
    return Match(*matched)


def _peak(density):
    """Peaks x, to a tenth of their standard deviations, and the curvatures there."""
    x = np.zeros_like(density.mean)
    below, above = np.full_like(x, -np.inf), np.full_like(x, np.inf)
    while True:
        _, slope, curvature = density.at(x)
        step = slope / curvature
        moving = step**2 * curvature > 0.01
        if not moving.any():
            return x, curvature
        below = np.where(slope > 0.0, x, below)
        above = np.where(slope < 0.0, x, above)
        x = np.where(moving, x + step, x)
        outside = moving & ((x <= below) | (x >= above))
        x[outside] = 0.5 * (below[outside] + above[outside])


def _end(density, peak, distance):
    """Where the density has dropped by DROP, from so far out that it has surely.

    The log density is concave: Newton's method comes in monotonically.
    """
    target = density.at(peak)[0] - DROP
    x = peak + distance
    while True:
        value, slope, _ = density.at(x)
        outside = value < target - SLACK
        if not outside.any():
            return x
        x = np.where(outside, x - (value - target) / slope, x)


def _extended(density, end, peak, direction):
    """Move ends until the density times the slope of the factor is cut off as well.

    Returns
    -------
    end : array of shape (n,)
    best : array of shape (n,)
        About where that product peaks.
    """
    best, highest = peak.copy(), density.times_slope(peak)
    for _ in range(int(VANISHED / STRIDE)):
        value = density.times_slope(end)
        short = value > highest - (DROP - SLACK)
        if not short.any():
            break
        best = np.where(value > highest, end, best)
        highest = np.maximum(value, highest)
        end = np.where(short, end + direction * STRIDE, end)
    return end, best


def _mesh(density, widest):
    """Mesh over the support of each integrand, and how many nodes it needs."""
    peak, curvature = _peak(density)
    reach = np.sqrt(2.0 * DROP) * widest
    lower, lower_best = _extended(density, _end(density, peak, -reach), peak, -1.0)
    upper, upper_best = _extended(density, _end(density, peak, reach), peak, 1.0)

    lowest, highest = density.latent(lower), density.latent(upper)
    around_zero = (lowest < 0.0) & (highest > 0.0)
    anchor = np.where(lowest >= 0.0, lower, upper)
    np.divide(-density.mean, density.deviation, out=anchor, where=around_zero)
    anchor_latent = np.where(around_zero, 0.0, density.latent(anchor))
    scale = 1.0 / np.maximum(
        density.deviation / np.hypot(1.0, anchor_latent), 1.0 / UNIFORM
    )
    first = np.arcsinh((lower - anchor) / scale)
    last = np.arcsinh((upper - anchor) / scale)

    step = np.full_like(scale, STEP)
    for x, width in (
        (peak, curvature**-0.5),
        (lower_best, _width(density, lower_best)),
        (upper_best, _width(density, upper_best)),
    ):
        step = np.minimum(step, STEP_AT_PEAK * width / np.hypot(scale, x - anchor))
    needed = np.maximum((last - first) / step, FEWEST_NODES)
    sizes = 1 << np.ceil(np.log2(needed)).astype(np.int64)
    return _Mesh(anchor, anchor_latent, scale, first, last), sizes


def _width(density, x):
    return 1.0 / np.maximum(1.0, density.deviation / np.hypot(1.0, density.latent(x)))


def _integrate(density, mesh, size):
    """Log norm, mean, variance, precision and shift, from so many nodes each."""
    power, mean, deviation = density.power, density.mean, density.deviation
    step = (mesh.last - mesh.first) / (size - 1)
    t = mesh.first[:, None] + step[:, None] * np.arange(size)
    offset = mesh.scale[:, None] * np.sinh(t)
    value, slope, bend = density.factor.evaluate(
        mesh.anchor_latent[:, None] + deviation[:, None] * offset
    )
    log_density = power[:, None] * value - offset * (
        mesh.anchor[:, None] + 0.5 * offset
    )
    top = log_density.max(axis=1)
    weight = np.exp(log_density - top[:, None]) * np.cosh(t)
    total = weight.sum(axis=1)
    weight /= total[:, None]

    def expected(values):
        return np.einsum("ij,ij->i", weight, values)

    log_norm = (
        top
        + np.log(total * step * mesh.scale)
        - 0.5 * (mesh.anchor**2 + np.log(2.0 * np.pi))
    )
    gradient = power * expected(slope)
    curvature = power * expected(bend) - expected(
        (power[:, None] * slope - gradient[:, None]) ** 2
    )
    mean_offset = expected(offset)
    share = 1.0 - deviation**2 * curvature
    precision = curvature / share
    narrow = share < 0.5
    if narrow.any():
        share = np.where(narrow, expected((offset - mean_offset[:, None]) ** 2), share)
        np.divide((1.0 - share), deviation**2, out=precision, where=narrow)
        precision = np.where(narrow, precision / share, precision)
    tilted_mean = mesh.anchor_latent + deviation * mean_offset
    return (
        log_norm,
        tilted_mean,
        deviation**2 * share,
        precision,
        gradient + precision * tilted_mean,
    )
