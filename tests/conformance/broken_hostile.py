"""Estimators with one fault each in what they make of numbers at the ends of floats."""

import numpy as np
from sklearn.utils.validation import validate_data

from . import checks_hostile
from .stand_in import StandIn, caught_by


@caught_by(checks_hostile.check_hostile_rows_are_learnt_or_refused, "not finite")
class DividesByTheVariance(StandIn):
    """Copies of a row have none."""

    def _place(self, dtype):
        super()._place(dtype)
        mean, square = self._sums[1:].reshape(2, -1) / self._sums[0]
        with np.errstate(divide="ignore", invalid="ignore"):
            self.scale_ = 1.0 / np.sqrt(square - mean**2)


@caught_by(
    checks_hostile.check_hostile_rows_are_learnt_or_refused, "overflow", RuntimeWarning
)
class SquaresWhatItIsGiven(StandIn):
    def _read(self, X, reset=False):
        return validate_data(self, X, dtype=[np.float64, np.float32], reset=reset)


@caught_by(checks_hostile.check_hostile_rows_are_learnt_or_refused, "names no input")
class SaysNothing(StandIn):
    def _read(self, X, reset=False):
        try:
            return super()._read(X, reset)
        except ValueError as error:
            raise ValueError("Overflow.") from error


@caught_by(checks_hostile.check_hostile_rows_are_learnt_or_refused, "has moved")
class CountsBeforeItLooks(StandIn):
    def partial_fit(self, X, y=None, sample_weight=None):
        if hasattr(self, "n_samples_seen_"):
            self.n_samples_seen_ += 1
        return super().partial_fit(X, y, sample_weight)


@caught_by(checks_hostile.check_hostile_rows_are_answered_or_refused, "not finite")
class AnswersInHalfPrecision(StandIn):
    def transform(self, X):
        with np.errstate(over="ignore"):
            return super().transform(X).astype(np.float16).astype(np.float64)

    def predict_proba(self, X):
        with np.errstate(invalid="ignore"):
            return super().predict_proba(X)


@caught_by(
    checks_hostile.check_hostile_weights_are_learnt_or_refused,
    "overflow",
    RuntimeWarning,
)
class AddsUpAnyWeights(StandIn):
    def _weigh(self, sample_weight, X):
        if sample_weight is None:
            return np.ones(len(X))
        return np.asarray(sample_weight, dtype=float)


@caught_by(
    checks_hostile.check_numbers_beyond_floats_are_refused, "too large", OverflowError
)
class CastsWithoutACare(StandIn):
    def _read(self, X, reset=False):
        with np.errstate(over="ignore", invalid="ignore"):
            X = np.asarray(X)
            X = X if X.dtype == np.float32 else X.astype(np.float64)
        return super()._read(X, reset)
