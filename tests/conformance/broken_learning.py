"""Estimators with one fault each in how they learn, and the check that must see it."""

import numpy as np

from . import checks_invariance, checks_streaming
from .stand_in import StandIn, caught_by


@caught_by(checks_streaming.check_partial_fit_returns_self, "returns no self")
class ReturnsNothing(StandIn):
    def partial_fit(self, X, y=None, sample_weight=None):
        super().partial_fit(X, y, sample_weight)


@caught_by(
    checks_streaming.check_cutting_a_stream_changes_nothing, "in calls|few calls"
)
class SumsEachCall(StandIn):
    def _sum(self, sums, X, weight):
        return sums + weight @ np.c_[np.ones(len(X)), X, X * X]


@caught_by(
    checks_streaming.check_cutting_a_weighted_stream_changes_nothing, "few calls"
)
class NormalisesTheWeightsOfACall(StandIn):
    def _weigh(self, sample_weight, X):
        weight = super()._weigh(sample_weight, X)
        return weight / weight.mean()


@caught_by(checks_streaming.check_fit_forgets_the_stream, "fit after partial_fit")
class FitGoesOn(StandIn):
    def fit(self, X, y=None, sample_weight=None):
        return self.partial_fit(X, y, sample_weight)


@caught_by(checks_streaming.check_a_stream_goes_on_after_fit, "forgets")
class StreamStartsOverAfterFit(StandIn):
    def fit(self, X, y=None, sample_weight=None):
        super().fit(X, y, sample_weight)
        del self._sums
        return self


@caught_by(checks_streaming.check_a_stream_goes_on_after_fit, "learns nothing")
@caught_by(checks_streaming.check_every_batch_counts, "not learnt")
class LearnsOnlyOnce(StandIn):
    def partial_fit(self, X, y=None, sample_weight=None):
        return self if hasattr(self, "_sums") else self.fit(X, y, sample_weight)


@caught_by(checks_streaming.check_one_row_batches, "at least 3", ValueError)
class WantsARowForEachCluster(StandIn):
    def partial_fit(self, X, y=None, sample_weight=None):
        if len(X) < self.n_clusters:
            raise ValueError("at least 3 rows")
        return super().partial_fit(X, y, sample_weight)


@caught_by(checks_streaming.check_one_row_batches, "not finite")
class DividesByTheSpread(StandIn):
    def predict_proba(self, X):
        with np.errstate(invalid="ignore"):
            spread = np.ptp(self.cluster_centers_, axis=0).max()
            return super().predict_proba(X) * spread / spread


@caught_by(checks_streaming.check_the_rows_seen_are_counted, "does not add up")
class CountsTheLastCall(StandIn):
    def partial_fit(self, X, y=None, sample_weight=None):
        super().partial_fit(X, y, sample_weight)
        self.n_samples_seen_ = len(X)
        return self


@caught_by(checks_streaming.check_labels_are_those_of_the_last_call, "labels_")
class KeepsAllLabels(StandIn):
    def partial_fit(self, X, y=None, sample_weight=None):
        held = getattr(self, "labels_", [])
        super().partial_fit(X, y, sample_weight)
        self.labels_ = np.r_[held, self.labels_]
        return self


@caught_by(checks_streaming.check_looking_changes_nothing, "looking")
class LearnsFromQuestions(StandIn):
    def predict(self, X):
        if hasattr(self, "labels_"):
            self._sums = self._sum(self._sums, self._read(X), np.ones(len(X)))
        return super().predict(X)


@caught_by(checks_streaming.check_weight_is_repetition_in_a_stream, "differ by")
class StreamsWithoutWeights(StandIn):
    def partial_fit(self, X, y=None, sample_weight=None):
        return super().partial_fit(X, y)


@caught_by(
    checks_streaming.check_rows_of_no_weight_are_absent_in_a_stream, "of no weight"
)
@caught_by(checks_invariance.check_rows_of_no_weight_are_absent, "of no weight")
class GivesEveryRowSomeWeight(StandIn):
    def _weigh(self, sample_weight, X):
        return np.maximum(super()._weigh(sample_weight, X), 1e-9)


@caught_by(checks_invariance.check_a_repeated_fit_gives_the_same_bits, "two fits")
class Unseeded(StandIn):
    def _sum(self, sums, X, weight):
        return super()._sum(sums, X, weight * np.random.default_rng().uniform())


@caught_by(checks_invariance.check_a_repeated_fit_gives_the_same_bits, "one before")
class StartsWarm(FitGoesOn):
    pass


@caught_by(checks_invariance.check_the_global_random_state_is_left_alone, "draws")
class DrawsGlobally(StandIn):
    def _place(self, dtype):
        super()._place(dtype)
        np.random.shuffle(self.cluster_centers_)  # noqa: NPY002 (the fault)


@caught_by(checks_invariance.check_threads_change_no_bit, "n_jobs changes fit")
class SumsByThread(StandIn):
    def _sum(self, sums, X, weight):
        for block in np.array_split(np.arange(len(X)), self.n_jobs or 1):
            sums = sums + super()._sum(0.0 * sums, X[block], weight[block])
        return sums


@caught_by(checks_invariance.check_a_row_is_answered_alone_as_in_company, "every third")
class CentresTheQuestion(StandIn):
    def transform(self, X):
        X = self._read(X)
        return super().transform(X - X.mean(axis=0))


@caught_by(checks_invariance.check_row_order_is_free, "shuffled rows")
class TrustsLateRowsMore(StandIn):
    def _sum(self, sums, X, weight):
        return super()._sum(sums, X, weight * np.linspace(1.0, 2.0, len(X)))


@caught_by(checks_invariance.check_column_order_is_free, "shuffled features")
class TakesTheFirstFeature(StandIn):
    def _widest(self, variance):
        return 0


@caught_by(checks_invariance.check_weight_is_repetition, "weighted rows")
class TakesTheRootOfTheWeight(StandIn):
    def _weigh(self, sample_weight, X):
        return np.sqrt(super()._weigh(sample_weight, X))


@caught_by(checks_invariance.check_unit_weights_are_no_weights, "weights of one")
class TakesWeightsAsShares(StandIn):
    def _weigh(self, sample_weight, X):
        weight = super()._weigh(sample_weight, X)
        return weight if sample_weight is None else weight / weight.sum()


@caught_by(checks_invariance.check_the_unit_of_weight_does_not_matter, "weights of 8")
class ShrinksTowardsZero(StandIn):
    def _sum(self, sums, X, weight):
        prior = np.r_[1.0, np.zeros(len(sums) - 1)]
        return super()._sum(sums + prior, X, weight)


@caught_by(
    checks_invariance.check_scaling_by_a_power_of_two_keeps_the_labels, "factor of"
)
class HasAnAbsoluteTolerance(StandIn):
    def _sum(self, sums, X, weight):
        return super()._sum(sums, np.round(X, 6), weight)
