"""The logistic likelihood."""
from scipy.special import expit, log_expit

from odalib.inference.ep.log_concave import LogConcave, Tail

class _Body:
    def evaluate(self, u):
        below = expit(-u)
        return log_expit(u), below, below * expit(u)

    def log_slope(self, u):
        return log_expit(-u)

class _Remainder:
    def evaluate(self, u):
        above = expit(u)
        return log_expit(-u), -above, above * expit(-u)

    def log_slope(self, u):
        return log_expit(u)


class Logistic(LogConcave):
    body = _Body()
    tail = Tail(0.0, 1.0, _Remainder())
    def __init__(self, y, power=None):
        super().__init__(y, power=power)
