"""Latent values that are -1 or 1: the likelihood of adaptive TAP."""

import numpy as np

from odalib.inference.ep.likelihood import Likelihood, Match

__all__ = ["Spin", "log_two_cosh", "log_variance"]

# Smaller variances, of spins in fields beyond 320, are so much: their inverses and the
# squares of their square roots have to be floats.
SMALLEST = 1e-280


class Spin(Likelihood):
    """Latent values of -1 and 1, both with weight one.

    Parameters
    ----------
    n_sites : int
    """

    proper_cavities = False
    log_concave = False

    def __init__(self, n_sites):
        self.n_sites = n_sites

    def match(self, cavity, sites=slice(None)):
        """Moments of two states; see `Likelihood.match`."""
        field = cavity.shift
        mean = np.tanh(field)
        variance = np.maximum(np.exp(log_variance(field)), SMALLEST)
        return Match(
            log_norm=log_two_cosh(field) - 0.5 * cavity.precision,
            mean=mean,
            variance=variance,
            precision=1.0 / variance - cavity.precision,
            shift=mean / variance - cavity.shift,
        )

    def higher_cumulants(self, cavity):
        """Third and fourth cumulants of two states; see `Likelihood`."""
        mean = np.tanh(cavity.shift)
        variance = np.exp(log_variance(cavity.shift))
        return -2.0 * mean * variance, (4.0 - 6.0 * variance) * variance


def log_two_cosh(field):
    """``log (2 cosh h)``: the log partition function of a spin in a field."""
    size = np.abs(field)
    return size + np.log1p(np.exp(-2.0 * size))


def log_variance(field):
    """``log (1 - tanh(h)^2)``, without the cancellation."""
    return 2.0 * (np.log(2.0) - log_two_cosh(field))
