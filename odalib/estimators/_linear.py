"""Predictions from beliefs about the weights of features."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from odalib.estimators._multiclass import TIED, dtype_of_answers, moments_by_roots
from odalib.estimators._prior import (
    check_latent_range,
    checked_winners,
    mean_and_bound,
    sides_by_root,
)
from odalib.estimators._state import on_one_state
from odalib.inference.ep.adf import RootBelief
from odalib.inference.ep.gaussians.weights import DenseBelief

__all__ = ["LinearProbit"]

# Rows for every weight from which a bound of variances costs less than it saves.
MANY = 100


class LinearProbit:
    """Mixin of classifiers whose latent values are sums of weighted features."""

    _looks_at_rows = True
    # Posterior means of the weights before the last call, where it was of a stream.
    _means_before = None

    def _beliefs_of_problems(self):
        """Give the beliefs about the weights, one for every problem of two classes."""
        raise NotImplementedError

    def _prior_variances(self):
        """Give the largest prior variances of the weights in any problem."""
        raise NotImplementedError

    def _latent_without_roots(self, rows):
        """As `_latent`, of beliefs that have no roots of their covariances."""
        raise NotImplementedError

    @property
    @on_one_state
    def drift_score_(self):
        """How far the last call of ``partial_fit`` moved the weights.

        Root mean square, over the weights of all problems, of what their posterior
        means moved by, in posterior standard deviations after the call. What rows tell
        anew of weights that stay moves them by about one such deviation at the most;
        well above that, the weights of earlier rows are no longer those of these. Zero
        after ``fit``.
        """
        check_is_fitted(self)
        if self._means_before is None:
            return 0.0
        beliefs = self._beliefs_of_problems()
        moved = [
            np.square(belief.mean - before) / belief.marginals()
            for belief, before in zip(beliefs, self._means_before, strict=True)
        ]
        return float(np.sqrt(np.mean(moved)))

    def _has_roots(self):
        return all(
            isinstance(belief, DenseBelief | RootBelief)
            for belief in self._beliefs_of_problems()
        )

    def _latent(self, rows):
        if self._has_roots():
            return moments_by_roots(rows, self._beliefs_of_problems())
        return self._latent_without_roots(rows)

    def _check_block(self, rows):
        check_latent_range(rows, self._prior_variances())

    def _sides(self, rows):
        if self._has_roots():
            (belief,) = self._beliefs_of_problems()
            return sides_by_root(rows, belief, self._prior_variances())
        return super()._sides(rows)

    def _mean_and_bound(self, rows):
        (belief,) = self._beliefs_of_problems()
        return mean_and_bound(
            rows, belief.mean, self._prior_variances(), self.fit_intercept
        )

    def _decider(self, rows):
        """Give what decides as `_most_probable`: by means alone, where that is sure."""
        beliefs, variances = self._beliefs_of_problems(), self._prior_variances()
        is_many = rows.shape[0] >= MANY * len(variances)
        if not (is_many and self._decomposition.is_coupled and self._has_roots()):
            return super()._decider(rows)
        means = np.array([belief.mean for belief in beliefs])
        # Largest eigenvalues, and a little more for what rounding makes of them.
        norms = [np.linalg.norm(belief.root, 2) for belief in beliefs]
        widths = (1.0 + 1e-9) * np.square(norms)
        power = min(self._decomposition.sharpness.power, 1.0)
        slack = TIED * np.finfo(dtype_of_answers(rows)).eps / power

        def decide(block):
            winners = checked_winners(block, means, widths, slack, variances)
            unsure = np.flatnonzero(winners < 0)
            if len(unsure):
                winners[unsure] = self._most_probable(block[unsure])
            return winners

        return decide
