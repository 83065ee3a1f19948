"""Estimators with one fault each, and the law that must find it."""

import numpy as np

from . import laws_forms, laws_learning
from .broken_classifying import PrefersLateNames
from .broken_learning import (
    GivesEveryRowSomeWeight,
    TakesTheFirstFeature,
    TakesTheRootOfTheWeight,
    TrustsLateRowsMore,
)
from .broken_manners import PicklesHalfOfItsSums, PicklesInSinglePrecision
from .broken_reading import RoundsToHalfPrecision
from .stand_in import StandIn, caught_by
from .stand_in_others import StandInDensity, StandInRegressor

caught_by(laws_learning.check_law_of_the_order_of_features, "features")(
    TakesTheFirstFeature
)
caught_by(laws_learning.check_law_of_the_order_of_rows, "shuffled rows")(
    TrustsLateRowsMore
)
caught_by(laws_learning.check_law_of_repetition, "weights")(TakesTheRootOfTheWeight)
caught_by(laws_learning.check_law_of_rows_without_weight, "no weight")(
    GivesEveryRowSomeWeight
)
caught_by(laws_forms.check_law_of_the_names_of_classes, "for names")(PrefersLateNames)
caught_by(laws_forms.check_law_of_copies, "stream of copies")(PicklesHalfOfItsSums)
caught_by(laws_forms.check_law_of_copies_of_a_fit, "a copy")(PicklesInSinglePrecision)
caught_by(laws_forms.check_law_of_precision, "float32")(RoundsToHalfPrecision)


@caught_by(laws_learning.check_law_of_the_unit_of_features, "a factor of")
class CountsInWholeUnits(StandIn):
    def _sum(self, sums, X, weight):
        return super()._sum(sums, np.round(X), weight)


@caught_by(laws_learning.check_law_of_a_shift, "a shift by", shift_free=True)
class HoldsOnToTheOrigin(StandIn):
    def _place(self, dtype):
        super()._place(dtype)
        self.cluster_centers_[0] = 0.0


@caught_by(laws_learning.check_law_of_the_unit_of_the_target, "a target times")
class ShrinksTheMean(StandInRegressor):
    def predict(self, X):
        return super().predict(X) + 1.0


@caught_by(laws_learning.check_law_of_the_coding, "-1 and", domain="binary")
class TakesZeroForFalse(StandInDensity):
    def _code(self, X, reset=False):
        return self._read(X, reset) != 0


@caught_by(laws_learning.check_law_of_cuts, "another cut")
class CountsCallsForRows(StandIn):
    def _sum(self, sums, X, weight):
        return super()._sum(sums + 1.0, X, weight)


@caught_by(laws_forms.check_law_of_forms, " as ")
class ReadsArraysOfFloat64(StandIn):
    def _read(self, X, reset=False):
        known = isinstance(X, np.ndarray) and X.dtype == float and X.flags.c_contiguous
        return super()._read(X, reset) if known else super()._read(X, reset) + 1.0


@caught_by(laws_forms.check_law_of_subsets, "rows of")
class StretchesTheQuestion(StandIn):
    def transform(self, X):
        return super().transform(X * len(X))


@caught_by(laws_forms.check_law_of_threads, "same rows")
class AddsForEachThread(StandIn):
    def _sum(self, sums, X, weight):
        return super()._sum(sums + (self.n_jobs or 1), X, weight)
