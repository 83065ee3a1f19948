"""The logistic likelihood."""

from scipy.special import expit, log_expit

from odalib.inference.ep.log_concave import LogConcave, Tail
from odalib.inference.ep.quadrature import Factor

__all__ = ["Logistic"]


class _Sigmoid(Factor):
    def evaluate(self, u):
        below = expit(-u)
        return log_expit(u), below, below * expit(u)

    def log_slope(self, u):
        return log_expit(-u)


class _MirroredSigmoid(Factor):
    def evaluate(self, u):
        above = expit(u)
        return log_expit(-u), -above, above * expit(-u)

    def log_slope(self, u):
        return log_expit(u)


class Logistic(LogConcave):
    """``1 / (1 + exp(-y f))``.

    Parameters
    ----------
    y : array of shape (n,)
        Labels, -1.0 or 1.0.
    power : array of shape (n,), default=None
        Of each factor; see `LogConcave`.
    """

    body = _Sigmoid()
    # log L(u) = u + log L(-u).
    tail = Tail(precision=0.0, shift=1.0, remainder=_MirroredSigmoid())

    def __init__(self, y, power=None):
        super().__init__(y, power=power)
