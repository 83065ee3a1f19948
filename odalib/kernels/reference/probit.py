"""One probit observation of one latent value, in scalars.

The formulas of `odalib.inference.ep.probit` and, for powers below one, of
`odalib.inference.ep.quadrature`, for loops in which every observation waits for the
one before.
"""

from math import asinh, exp, hypot, pi, sqrt

import numpy as np
from scipy.special import erfcx, log_ndtr

__all__ = ["probit_site", "probit_step"]

# Left of TAIL the continued fraction has converged to 1e-14 at this depth; right of
# ONE, Phi is 1 in floats, and right of FLAT so are all its powers to any digit.
TAIL, DEPTH = -3.0, 50
ONE, FLAT = 9.0, 40.0
# Beside a variance of so many times the noise, a probit is a step.
WIDEST_POWER = 1e30
# So many standard deviations from zero a step likelihood may contradict a value
# before numbers underflow; beyond it the value is left alone.
FARTHEST = 1e150
# Support of a density in standard deviations, up to exp(-42), and nodes of the
# trapezoidal rule: so far apart in t, and in standard deviations at the peak.
REACH, STEP, STEP_AT_PEAK, FEWEST_NODES = 9.2, 0.125, 0.4, 32


def probit_step(label, mean, variance, noise_variance, power=1.0):
    """Moments of a latent value that is seen once, relative to those before.

    With ``s^2 = noise_variance + variance``, ``z = label mean / s``,
    ``r = phi(z) / Phi(z)`` and ``q = 1 - r (z + r)``, without the cancellation of
    that difference::

        gain = label r / s      kept = (noise_variance + variance q) / s^2

    Parameters
    ----------
    label : float
        -1.0 or 1.0.
    mean, variance : float
        Of the latent value; the variance is positive.
    noise_variance : float
        Not negative; zero for the step likelihood.
    power : float, default=1.0
        Of the likelihood, in (0, 1]; below 1 by quadrature, to 1e-9.

    Returns
    -------
    gain : float
        ``(new mean - mean) / variance``.
    kept : float
        ``new variance / variance``, in (0, 1].
    """
    # A step is equal to all its powers.
    if power < 1.0 and variance < WIDEST_POWER * noise_variance:
        scale = sqrt(noise_variance)
        ratio, kept = _power_step(
            label * mean / scale, variance / noise_variance, power
        )
        return label * ratio / scale, kept
    total = noise_variance + variance
    scale = sqrt(total)
    z = label * mean / scale
    if z < -FARTHEST:
        return 0.0, 1.0
    ratio, _, slope = _mills(z)
    return label * ratio / scale, noise_variance / total + variance / total * slope


def probit_site(label, mean, variance, noise_variance):
    """Site that matches a latent value that is seen once.

    With the terms of `probit_step` and ``D = noise_variance + variance q``, precision
    ``r g / D`` and shift ``label s r (1 + z g) / D``, without cancellation.

    Parameters
    ----------
    label : float
        -1.0 or 1.0.
    mean, variance : float
        Of the latent value without the site; the variance is not negative.
    noise_variance : float
        Positive.

    Returns
    -------
    precision, shift : float
        Of the site ``exp(-precision f^2 / 2 + shift f)``.
    """
    scale = sqrt(noise_variance + variance)
    z = label * mean / scale
    ratio, excess, slope = _mills(z)
    denominator = noise_variance + variance * slope
    if z < TAIL:
        # Since 1 + z g = q + g^2, a sum of what is positive.
        shift = ratio * (slope + excess * excess)
        return (1.0 - slope) / denominator, label * scale * shift / denominator
    precision = ratio * excess
    shift = ratio + precision * z
    return precision / denominator, label * scale * shift / denominator


def _mills(z):
    """``r = phi / Phi``, ``g = z + r`` and ``q = 1 - r g`` at z."""
    if z < TAIL:
        h = z
        for numerator in range(DEPTH, 2, -1):
            h = z + numerator / h
        excess = 1.0 / (2.0 / -h - z)
        return excess - z, excess, excess * (2.0 / -h - excess)
    if z > ONE:
        ratio = exp(-0.5 * z * z) / sqrt(2.0 * pi)
    else:
        ratio = sqrt(2.0 / pi) / float(erfcx(-z / sqrt(2.0)))
    excess = z + ratio
    return ratio, excess, 1.0 - ratio * excess


def _power_step(mean, variance, power):
    """``power E r(u)``, and the variance relative to before, under ``Phi(u)^power``.

    Far below zero the Gaussian takes over the parabola in ``log Phi(u) = -u^2 / 2 +
    log R(u)``, which would drown the rest.
    """
    spread = 1.0 + power * variance
    in_tail = mean < -sqrt(variance * spread)
    centre, width2 = (mean, variance)
    if in_tail:
        centre, width2 = mean / spread, variance / spread
    peak, deviation = _peak(centre, width2, power, in_tail)
    lower, upper = peak - REACH * deviation, peak + REACH * sqrt(variance)
    if centre + lower > FLAT:
        return 0.0, 1.0
    # Graded from where log Phi bends, or from the point of the support nearest to it.
    anchor = min(max(-centre, lower), upper)
    scale = hypot(1.0, centre + anchor)
    first, last = asinh((lower - anchor) / scale), asinh((upper - anchor) / scale)
    step = min(STEP, STEP_AT_PEAK * deviation / hypot(scale, peak - anchor))
    t = np.linspace(
        first, last, max(int(min((last - first) / step, 1e7)), FEWEST_NODES)
    )
    offset = scale * np.sinh(t)
    x, u = anchor + offset, (centre + anchor) + offset
    log_rest = np.where(
        u > 0.0,
        log_ndtr(u) + 0.5 * u * u,
        np.log(0.5 * erfcx(np.abs(u) / sqrt(2.0))),
    )
    log_factor = log_rest if in_tail else log_ndtr(u)
    log_density = power * log_factor - 0.5 * x * x / width2
    weights = np.exp(log_density - log_density.max()) * np.cosh(t)
    weights /= weights.sum()
    ratio = float(weights @ np.exp(-log_rest)) / sqrt(2.0 * pi)
    x -= weights @ x
    return power * ratio, float(weights @ (x * x)) / variance


def _peak(centre, width2, power, in_tail):
    """Peak, from the centre on, and standard deviation by the curvature there.

    By Newton's method, which comes in from the left: the slope is concave.
    """
    x = 0.0
    while True:
        before = centre + x
        ratio, excess, slope = _mills(before)
        if in_tail:
            fall, curvature = x / width2 - power * excess, 1.0 / width2 - power * slope
        else:
            fall = x / width2 - power * ratio
            curvature = 1.0 / width2 + power * ratio * excess
        step = -fall / curvature
        x += step
        # Far from zero, floats end the search: what they cannot tell apart is one.
        if step * step * curvature < 0.01 or centre + x == before:
            return x, curvature**-0.5
