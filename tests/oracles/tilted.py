"""Tilted moments and matching sites of likelihoods, to many digits.

Slow and obvious: definitions in mpmath, Gauss-Legendre panels for what has no closed
form. Everything is for y = 1 and a unit scale; a factor is a function that returns
log L, its derivative and minus its second derivative.
"""

from itertools import pairwise

from mpmath import mp
from mpmath.calculus.quadrature import GaussLegendre

__all__ = [
    "expectations",
    "logistic",
    "mills",
    "normal_cdf",
    "probit_match",
    "quadrature_match",
]

FIELDS = ("log_norm", "mean", "variance", "precision", "shift")
# Nats below its peak at which an integrand is cut off.
DROP = 110


def normal_cdf(u):
    """Of ``log Phi``."""
    density = mp.exp(-u * u / 2) / mp.sqrt(2 * mp.pi)
    below, above = mp.erfc(-u / mp.sqrt(2)) / 2, mp.erfc(u / mp.sqrt(2)) / 2
    ratio = density / below
    log_value = mp.log1p(-above) if u > 0 else mp.log(below)
    return log_value, ratio, ratio * (u + ratio)


def logistic(u):
    """Of ``-log(1 + exp(-u))``."""
    odds = mp.exp(-u)
    return -mp.log1p(odds), odds / (1 + odds), odds / (1 + odds) ** 2


def mills(z):
    """Attributes of `odalib.inference.ep.mills.Mills` and log Phi, by definition."""
    with mp.workdps(120):
        log_value, r, precision = normal_cdf(mp.mpf(z))
        g = z + r
        return (r, g, 1 - r * g, precision, r * (1 + z * g)), log_value


def probit_match(z, variance, noise):
    """Match of ``Phi(f / sqrt(noise))`` for a cavity mean of z standard deviations."""
    # At z = 37 the site precision is the 300th digit of a difference.
    with mp.workdps(360):
        v, s = mp.mpf(variance), mp.sqrt(mp.mpf(variance) + mp.mpf(noise))
        log_value, first, minus_second = normal_cdf(mp.mpf(z))
        tilted_mean = z * s + v * first / s
        tilted_variance = v - v**2 * minus_second / s**2
        return dict(
            zip(
                FIELDS,
                (
                    log_value,
                    tilted_mean,
                    tilted_variance,
                    1 / tilted_variance - 1 / v,
                    tilted_mean / tilted_variance - z * s / v,
                ),
                strict=True,
            )
        )


def crossing(decreasing, low, high):
    """Zero of a decreasing function, to nine digits of the interval."""
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if decreasing(middle) > 0 else (low, middle)
    return low


def support(factor, mean, variance, power):
    """Panels that grow from zero, from the peak, and from that times the slope."""
    deviation = mp.sqrt(variance)

    def log_density(u):
        return power * factor(u)[0] - (u - mean) ** 2 / (2 * variance)

    def slope(u):
        return power * factor(u)[1] - (u - mean) / variance

    def slope_of_product(u):
        _, first, minus_second = factor(u)
        return slope(u) - minus_second / first

    def log_product(u):
        return log_density(u) + mp.log(factor(u)[1])

    highest = mean + variance * power * factor(mean)[1]
    peak = crossing(slope, mean - deviation, highest + deviation)
    reach = 50 * deviation + variance
    product_peak = crossing(slope_of_product, peak - reach, peak)
    distance = mp.sqrt(2 * DROP) * deviation
    start = crossing(
        lambda u: log_product(product_peak) - DROP - log_product(u),
        product_peak - distance,
        product_peak,
    )
    end = crossing(
        lambda u: log_density(u) - log_density(peak) + DROP, peak, peak + distance
    )
    width = 1 / mp.sqrt(1 / variance + power * factor(peak)[2])
    points = {start, end, mp.mpf(0)}
    for step in range(40):
        points |= {sign * mp.mpf(2) ** step for sign in (-1, 1)}
        points |= {peak + sign * 2**step * width for sign in (-1, 1)}
        points |= {product_peak + sign * 2**step * width for sign in (-1, 1)}
    return peak, sorted(point for point in points if start <= point <= end)


def quadrature_match(factor, mean, variance, power, digits=60):
    """Match of ``L(f)^power`` for a cavity with variance.

    Sites are by definition; those so weak that it cancels at this many digits, by the
    derivatives of the log norm with respect to the cavity mean.
    """
    with mp.workdps(digits):
        mean, variance, power = mp.mpf(mean), mp.mpf(variance), mp.mpf(power)
        with mp.workdps(40):
            peak, points = support(factor, mean, variance, power)
        top = power * factor(peak)[0] - (peak - mean) ** 2 / (2 * variance)
        rule = GaussLegendre(mp).calc_nodes(5, mp.prec)
        sums = [mp.mpf(0)] * 6
        for start, end in pairwise(points):
            half = (end - start) / 2
            for node, weight in rule:
                u = start + half * (1 + node)
                value, first, minus_second = factor(u)
                exponent = power * value - (u - mean) ** 2 / (2 * variance) - top
                mass = weight * half * mp.exp(exponent)
                first, minus_second = power * first, power * minus_second
                terms = (1, u - peak, (u - peak) ** 2, first, minus_second, first**2)
                sums = [
                    total + mass * term for total, term in zip(sums, terms, strict=True)
                ]
        away, square, first, minus_second, first_square = (
            total / sums[0] for total in sums[1:]
        )
        log_norm = mp.log(sums[0]) + top - mp.log(2 * mp.pi * variance) / 2
        tilted_mean = peak + away
        tilted_variance = square - away**2
        precision = 1 / tilted_variance - 1 / variance
        shift = tilted_mean / tilted_variance - mean / variance
        if precision * variance < mp.mpf(10) ** (-digits // 2):
            curvature = minus_second - first_square + first**2
            precision = curvature / (1 - variance * curvature)
            shift = first + precision * tilted_mean
        match = (log_norm, tilted_mean, tilted_variance, precision, shift)
        return dict(zip(FIELDS, match, strict=True))


def expectations(factor, mean, variance, digits=40):
    """Of a log factor, its derivative and minus its second, under a Gaussian."""
    with mp.workdps(digits):
        mean, variance = mp.mpf(mean), mp.mpf(variance)
        _, points = support(factor, mean, variance, mp.mpf(0))
        rule = GaussLegendre(mp).calc_nodes(5, mp.prec)
        sums = [mp.mpf(0)] * 3
        for start, end in pairwise(points):
            half = (end - start) / 2
            for node, weight in rule:
                u = start + half * (1 + node)
                density = mp.exp(-((u - mean) ** 2) / (2 * variance))
                mass = weight * half * density / mp.sqrt(2 * mp.pi * variance)
                sums = [
                    total + mass * value
                    for total, value in zip(sums, factor(u), strict=True)
                ]
        return sums
