"""The probit likelihood, with noise or, without it, as a step."""

import numpy as np
from scipy.special import log_ndtr

from odalib.inference.ep.gaussians.model import LostDefiniteness
from odalib.inference.ep.likelihood import Cavity, Match
from odalib.inference.ep.log_concave import LogConcave, Tail, join
from odalib.inference.ep.mills import mills
from odalib.inference.ep.quadrature import Factor
from odalib.kernels import propagation as kernels

__all__ = ["Probit", "log_predictive"]

# In cavity standard deviations; beyond it the site of a contradicted step overflows.
FARTHEST = 1e150
LOG_ROOT_TWO_PI = 0.5 * np.log(2.0 * np.pi)


class _NormalCdf(Factor):
    def evaluate(self, u):
        functions = mills(u)
        return log_ndtr(u), functions.ratio, functions.precision

    def log_slope(self, u):
        # Minus infinity where the density is zero in floats.
        with np.errstate(over="ignore"):
            return -0.5 * u**2 - LOG_ROOT_TWO_PI - log_ndtr(u)


class _ScaledNormalCdf(Factor):
    """``exp(u^2 / 2) Phi(u)``, about ``1 / |u|`` far below zero."""

    def evaluate(self, u):
        functions = mills(u)
        above = np.maximum(u, 0.0)
        value = np.where(
            u > 0.0,
            log_ndtr(above) + 0.5 * above**2,
            -LOG_ROOT_TWO_PI - np.log(np.where(u > 0.0, 1.0, functions.ratio)),
        )
        return value, functions.excess, -functions.excess_slope

    def log_slope(self, u):
        return np.log(mills(u).excess)


class Probit(LogConcave):
    """``Phi(y f / sqrt(noise_variance))``; without noise the step ``y f > 0``.

    Parameters
    ----------
    y : array of shape (n,)
        Labels, -1.0 or 1.0.
    noise_variance : float or array of shape (n,), default=1.0
        Variance of the normal noise that is added to ``f`` before its sign is seen.
        One is the scale of the probit model: only the ratio to the prior variance
        matters. Zero gives the step likelihood.
    power : array of shape (n,), default=None
        Of each factor; see `LogConcave`. A step is equal to all its powers.

    Raises
    ------
    ValueError
        For a noise variance that is negative or not finite, or a power outside
        (0, 1].

    Notes
    -----
    With the cavity ``N(m, v)``, ``s^2 = noise + v``, ``z = y m / s`` and the functions
    of `Mills` at z, ``D = noise + v q``: the site of the first power has precision
    ``r g / D`` and shift ``y s r (1 + z g) / D``; the tilted distribution has log norm
    ``log Phi(z)``, mean ``m + y v r / s`` and variance ``v D / s^2``. The precision is
    between 0 and ``1 / noise`` without clipping. Other powers are by quadrature.

    A latent value that is known exactly (no cavity variance), or to lie more than
    1e150 standard deviations from zero, is left alone by a step: its site has
    precision and shift 0, its log norm is 0, -inf or, at zero, log(1/2).
    """

    body = _NormalCdf()
    tail = Tail(precision=1.0, shift=0.0, remainder=_ScaledNormalCdf())

    def __init__(self, y, noise_variance=1.0, power=None):
        self.noise_variance = np.broadcast_to(
            np.asarray(noise_variance, dtype=np.float64), y.shape
        )
        if not (np.isfinite(noise_variance) & (self.noise_variance >= 0.0)).all():
            raise ValueError(
                "The noise variance must be finite and not negative, got "
                f"{noise_variance!r}."
            )
        super().__init__(y, np.sqrt(self.noise_variance), power)
        self._closed_form = (self.power == 1.0) | (self.noise_variance == 0.0)
        self._has_steps = not self.noise_variance.all()

    def match(self, cavity, sites=slice(None)):
        """Tilted moments and sites; see `Likelihood.match`."""
        closed_form = self._closed_form[sites]
        if closed_form.all():
            match = _match_steps if self._has_steps else _match
            return match(
                self.y[sites],
                cavity.mean,
                cavity.variance,
                self.noise_variance[sites],
            )
        if not closed_form.any():
            return super().match(cavity, sites)
        numbers = np.arange(self.n_sites)[sites]
        parts = (
            (
                rows,
                self.match(
                    Cavity.gaussian(cavity.mean[rows], cavity.variance[rows]),
                    numbers[rows],
                ),
            )
            for rows in (closed_form, ~closed_form)
        )
        return join(len(numbers), parts)

    def match_in_turn(self, mean, covariance, sites, precision, shift):
        """Match sites of the first power, no steps; see `Likelihood.match_in_turn`."""
        if self._has_steps or not self._closed_form[sites].all():
            return None
        n_improper = kernels.match_block(
            mean,
            covariance,
            self.y[sites],
            np.ascontiguousarray(self.noise_variance[sites]),
            precision,
            shift,
        )
        if n_improper < 0:
            raise LostDefiniteness(
                "A site loses more precision than its latent value has."
            )
        return n_improper

    def curvature(self, latent):
        """Gradient and precision; None where some site is a step."""
        return None if self._has_steps else super().curvature(latent)

    def expect(self, mean, variance):
        """Take expectations; None where some site is a step."""
        return None if self._has_steps else super().expect(mean, variance)


def log_predictive(mean, variance, y, noise_variance=1.0):
    """Log probability of labels under normal latent values.

    ``log Phi(y mean / sqrt(noise_variance + variance))``, finite unless the latent
    value is known exactly, there is no noise and the label contradicts it.

    Parameters
    ----------
    mean, variance, y, noise_variance : float or array
        Broadcast against each other.

    Returns
    -------
    log_probability : array
    """
    signed, scale = np.broadcast_arrays(y * mean, np.sqrt(noise_variance + variance))
    # A value that is known exactly is infinitely many standard deviations from zero.
    with np.errstate(divide="ignore", over="ignore"):
        z = np.divide(signed, scale, out=np.zeros(signed.shape), where=signed != 0.0)
    return log_ndtr(z)


def _match(y, mean, variance, noise):
    total = noise + variance
    scale = np.sqrt(total)
    z = y * mean / scale
    functions = mills(z)
    denominator = noise + variance * functions.excess_slope
    return Match(
        log_norm=log_ndtr(z),
        # Equal to m + y v r / s, which cancels far below zero.
        mean=y * (variance / scale * functions.excess + noise / scale * z),
        variance=variance / total * denominator,
        precision=functions.precision / denominator,
        shift=y * scale * functions.shift / denominator,
    )


def _match_steps(y, mean, variance, noise):
    known = (noise == 0.0) & ~(np.abs(mean) < FARTHEST * np.sqrt(variance))
    if not known.any():
        return _match(y, mean, variance, noise)
    others = _match(
        y, np.where(known, 0.0, mean), np.where(known, 1.0, variance), noise
    )
    return Match(
        log_norm=log_predictive(mean, variance, y, noise),
        mean=np.where(known, mean, others.mean),
        variance=np.where(known, variance, others.variance),
        precision=np.where(known, 0.0, others.precision),
        shift=np.where(known, 0.0, others.shift),
    )
