"""Moments of Gaussians and factors without a closed form, and the sites they make.

The tilted density ``L(u)^p N(u; m, v)`` may be anything from the Gaussian itself,
narrow beside the scale 1 on which log L bends at zero, to half a Gaussian a million
times as wide as its edge. One rule serves them all: the trapezoidal rule in t, where
``u = anchor + scale sinh t``, anchored at the point of the support that is nearest to
the bend and graded from its distance to it: uniform for what is narrow, exponential
for what is wide. As the integrands are analytic and vanish at both ends, the error
falls exponentially with the number of nodes. Expectations under the Gaussian itself,
which is the power zero, go by the same rule.
"""

from typing import NamedTuple, Protocol

import numpy as np

from odalib.inference.ep.likelihood import Match

__all__ = ["Factor", "expect_by_quadrature", "match_by_quadrature"]

# Integrands are cut off so many nats below their peaks.
DROP = 36.0
# Distance in standard deviations beyond which a Gaussian integrates to zero in
# floats, and the strides in which the support may be extended that far.
VANISHED, STRIDE = 40.0, 4.0
# Nodes are at most so far apart: in t, and in standard deviations of the peak; the
# grading widens the latter, so it is looked at so many deviations beyond the peak.
STEP, STEP_AT_PEAK, BEYOND = 0.125, 0.6, 3.0
# Nodes come in so many at a time. The most are asked for only where floats near the
# mean are further apart than the bend is wide.
NODES, MOST_NODES = 32, 1 << 14
# A mesh whose scale is so many standard deviations is uniform.
UNIFORM = 1e3
# Integrands evaluated at a time.
BLOCK = 1 << 16


class Factor(Protocol):
    """Factor of a latent value whose product with the Gaussian is log-concave."""

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
        """Log of the density times the absolute slope of the log factor."""
        return self.at(x)[0] + self.factor.log_slope(self.latent(x))


class _Mesh(NamedTuple):
    """Nodes ``x = anchor + scale sinh t`` for equidistant t from first to last."""

    anchor: np.ndarray
    anchor_latent: np.ndarray
    scale: np.ndarray
    first: np.ndarray
    last: np.ndarray


def match_by_quadrature(factor, power, mean, variance):
    """Match sites to powers of a factor.

    Parameters
    ----------
    factor : Factor
    power : array of shape (n,)
        Positive.
    mean, variance : array of shape (n,)
        Of the Gaussians; a variance may be zero.

    Returns
    -------
    Match
    """
    density = _Density(factor, power, mean, np.sqrt(variance))
    return Match(*_by_blocks(_integrate, density, 5))


def expect_by_quadrature(factor, mean, variance):
    """Take expectations of a log factor and its derivatives under Gaussians.

    Parameters
    ----------
    factor : Factor
    mean, variance : array of shape (n,)
        A variance may be zero.

    Returns
    -------
    value, slope, bend : array of shape (n,)
        Of the log factor, its derivative, and minus its second derivative.
    """
    density = _Density(factor, np.zeros_like(mean), mean, np.sqrt(variance))
    return _by_blocks(_expect, density, 3)


def _by_blocks(integrate, density, n_values):
    """Values of integrals, shape (n_values, n), of densities with equal meshes."""
    mesh, sizes = _mesh(density)
    values = np.empty((n_values, len(density.mean)))
    for size in np.unique(sizes):
        rows = np.flatnonzero(sizes == size)
        n_rows = max(1, BLOCK // size)
        for start in range(0, len(rows), n_rows):
            block = rows[start : start + n_rows]
            values[:, block] = integrate(
                density._replace(
                    power=density.power[block],
                    mean=density.mean[block],
                    deviation=density.deviation[block],
                ),
                _Mesh(*(part[block] for part in mesh)),
                size,
            )
    return values


def _peak(density):
    """Peaks x, to a tenth of their standard deviations, and the curvatures there.

    Newton's method, which bisects where it would leave the bracket that it has.
    """
    x = np.zeros_like(density.mean)
    below, above = np.full_like(x, -np.inf), np.full_like(x, np.inf)
    while True:
        _, slope, curvature = density.at(x)
        step = slope / curvature
        moved = np.where(step**2 * curvature > 0.01, x + step, x)
        below = np.where(slope > 0.0, x, below)
        above = np.where(slope < 0.0, x, above)
        outside = (moved != x) & ((moved <= below) | (moved >= above))
        moved[outside] = 0.5 * (below[outside] + above[outside])
        if np.array_equal(moved, x):
            return x, curvature
        x = moved


def _support(density, peak, direction):
    """End of the support in one direction.

    Cut off there is the density, and its product with the slope of the log factor,
    which may peak far away: where the density is, the factor may be almost constant.
    """
    end = peak + direction * np.sqrt(2.0 * DROP)
    highest = density.times_slope(peak)
    for _ in range(int(VANISHED / STRIDE)):
        value = density.times_slope(end)
        inside = value > highest - DROP
        if not inside.any():
            break
        highest = np.maximum(value, highest)
        end = np.where(inside, end + direction * STRIDE, end)
    return end


def _mesh(density):
    """Mesh over the support of each integrand, and how many nodes it needs."""
    peak, curvature = _peak(density)
    lower, upper = _support(density, peak, -1.0), _support(density, peak, 1.0)

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

    # Further peaks of the integrands are nearer to the anchor.
    width = curvature**-0.5
    farther = np.hypot(scale, np.abs(peak - anchor) + BEYOND * width)
    step = np.minimum(STEP, STEP_AT_PEAK * width / farther)
    needed = np.minimum((last - first) / step, MOST_NODES)
    sizes = NODES * np.maximum(np.ceil(needed / NODES), 1.0).astype(np.int64)
    return _Mesh(anchor, anchor_latent, scale, first, last), sizes


def _nodes(mesh, size):
    """Step of t, shape (m,); t, and the distance from the anchor, shape (m, size)."""
    step = (mesh.last - mesh.first) / (size - 1)
    t = mesh.first[:, None] + step[:, None] * np.arange(size)
    return step, t, mesh.scale[:, None] * np.sinh(t)


def _integrate(density, mesh, size):
    """Log norm, mean, variance, precision and shift, from so many nodes each."""
    power, deviation = density.power[:, None], density.deviation
    step, t, offset = _nodes(mesh, size)
    value, slope, bend = density.factor.evaluate(
        mesh.anchor_latent[:, None] + deviation[:, None] * offset
    )
    log_density = power * value - offset * (mesh.anchor[:, None] + 0.5 * offset)
    top = log_density.max(axis=1)
    weight = np.exp(log_density - top[:, None]) * np.cosh(t)
    total = weight.sum(axis=1)
    weight /= total[:, None]

    centre = _expected(weight, offset)
    mean = mesh.anchor_latent + deviation * centre
    share, precision, gradient = _site(
        weight, power * slope, power * bend, offset - centre[:, None], deviation
    )
    log_norm = (
        top
        + np.log(total * step * mesh.scale)
        - 0.5 * (mesh.anchor**2 + np.log(2.0 * np.pi))
    )
    return log_norm, mean, deviation**2 * share, precision, gradient + precision * mean


def _expect(density, mesh, size):
    """Take expectations under the Gaussians, from so many nodes each."""
    _, t, offset = _nodes(mesh, size)
    log_density = -offset * (mesh.anchor[:, None] + 0.5 * offset)
    top = log_density.max(axis=1)
    weight = np.exp(log_density - top[:, None]) * np.cosh(t)
    weight /= weight.sum(axis=1)[:, None]
    values = density.factor.evaluate(
        mesh.anchor_latent[:, None] + density.deviation[:, None] * offset
    )
    return [_expected(weight, value) for value in values]


def _site(weight, slope, bend, deviate, deviation):
    """Tilted variance in those of the Gaussians, site precision, expected slope.

    Minus the second derivative of the log norm with respect to the mean,
    ``E[bend] - Var[slope]``, is ``precision * share``. A factor that says much about
    all of the Gaussian makes that cancel, and not ``1 / share - 1``.
    """
    expected_slope, expected_bend = _expected(weight, slope), _expected(weight, bend)
    spread = _expected(weight, (slope - expected_slope[:, None]) ** 2)
    share = 1.0 - deviation**2 * (expected_bend - spread)
    precision = (expected_bend - spread) / share
    informative = deviation**2 * expected_bend > 1.0
    if informative.any():
        share = np.where(informative, _expected(weight, deviate**2), share)
        np.divide(1.0 / share - 1.0, deviation**2, out=precision, where=informative)
    return share, precision, expected_slope


def _expected(weight, values):
    return np.einsum("ij,ij->i", weight, values)
