"""Predictions of two classes from beliefs about the weights of features."""

from odalib.estimators._prior import mean_and_bound, sides_by_root
from odalib.inference.ep.adf import RootBelief
from odalib.inference.ep.gaussians.weights import DenseBelief

__all__ = ["LinearProbit"]


class LinearProbit:
    """Mixin of classifiers whose latent values are sums of weighted features.

    What is fitted gives by `_only_problem` what is known of two classes.
    """

    def _only_problem(self):
        """Give the belief about the weights, their means, and their prior variances."""
        raise NotImplementedError

    def _sides_look_at_rows(self):
        belief, _, _ = self._only_problem()
        return isinstance(belief, DenseBelief | RootBelief)

    def _sides(self, rows):
        belief, _, variances = self._only_problem()
        if self._sides_look_at_rows():
            return sides_by_root(rows, belief, variances)
        return super()._sides(rows)

    def _mean_and_bound(self, rows):
        _, weights, variances = self._only_problem()
        return mean_and_bound(rows, weights, variances, self.fit_intercept)
