"""Estimators with one fault each in how they copy, answer or work with others."""

import copy

import numpy as np
import pandas as pd
from sklearn import get_config

from . import checks_clusterer, checks_persistence, checks_tools
from .stand_in import StandIn, caught_by


@caught_by(checks_persistence.check_copies_answer_alike, "copy by pickle")
class PicklesInSinglePrecision(StandIn):
    def __getstate__(self):
        state = super().__getstate__()
        centers = state.get("cluster_centers_", np.zeros(1))
        return state | {"cluster_centers_": centers.astype(np.float32)}


@caught_by(checks_persistence.check_copies_in_mid_stream_go_on_alike, "by pickle")
class PicklesHalfOfItsSums(StandIn):
    def __getstate__(self):
        state = super().__getstate__()
        return state | {"_sums": 0.5 * state["_sums"]} if "_sums" in state else state


@caught_by(
    checks_persistence.check_copies_in_mid_stream_go_on_alike, "read-only", ValueError
)
@caught_by(checks_persistence.check_a_copy_is_independent, "shares state")
class AddsInPlaceAndSharesItsSums(StandIn):
    def _sum(self, sums, X, weight):
        sums += super()._sum(0.0 * sums, X, weight)
        return sums

    def __deepcopy__(self, memo):
        return copy.copy(self)


@caught_by(
    checks_persistence.check_every_way_to_pickle_saves_the_same, "protocol 2 of the"
)
class ForgetsItsSumsByOldProtocols(StandIn):
    def __reduce_ex__(self, protocol):
        *made, state = super().__reduce_ex__(protocol)[:3]
        kept = {k: v for k, v in state.items() if protocol > 2 or k != "_sums"}
        return *made, kept


@caught_by(checks_persistence.check_mapped_files_are_not_written_to, "writes to it")
class CountsItsAnswersInPlace(StandIn):
    def _sum(self, sums, X, weight):
        return np.append(super()._sum(sums[: 1 + 2 * X.shape[1]], X, weight), 0.0)

    def _place(self, dtype):
        with_count = self._sums
        self._sums = with_count[:-1]
        super()._place(dtype)
        self._sums = with_count

    def transform(self, X):
        self._sums[-1] += 1.0
        return super().transform(X)


@caught_by(checks_persistence.check_skops_asks_for_no_other_types, "numpy.dtype")
class KeepsADtype(StandIn):
    def _place(self, dtype):
        super()._place(dtype)
        self._dtype = np.dtype(dtype)


@caught_by(checks_persistence.check_answers_are_not_saved, "bytes more")
class KeepsItsAnswers(StandIn):
    def transform(self, X):
        self._distances = super().transform(X)
        return self._distances


@caught_by(
    checks_persistence.check_what_is_saved_does_not_grow_with_the_rows, "bytes larger"
)
class KeepsAllWeights(StandIn):
    def _sum(self, sums, X, weight):
        self._weights = np.append(getattr(self, "_weights", []), weight)
        return super()._sum(sums, X, weight)


@caught_by(checks_persistence.check_a_clone_is_unfitted, "clone has learnt")
class ClonesWithAllItKnows(StandIn):
    def __sklearn_clone__(self):
        return copy.deepcopy(self)


@caught_by(checks_persistence.check_only_parameters_before_fit, "before fit")
class StartsWithEmptyAttributes(StandIn):
    def __init__(self, n_clusters=3, n_jobs=None, random_state=None):
        super().__init__(n_clusters, n_jobs, random_state)
        self.labels_ = None


@caught_by(checks_persistence.check_only_parameters_before_fit, "store n_jobs")
class ConvertsItsParameters(StandIn):
    def __init__(self, n_clusters=3, n_jobs=None, random_state=None):
        super().__init__(n_clusters, n_jobs, random_state)
        self.n_jobs = None if n_jobs is None else str(n_jobs)


@caught_by(checks_persistence.check_what_is_learnt_ends_in_an_underscore, "without an")
class PublishesItsWidth(StandIn):
    def _place(self, dtype):
        super()._place(dtype)
        self.width = self._temperature


@caught_by(checks_persistence.check_parameters_are_not_written_to, "was replaced")
class ReplacesItsSeed(StandIn):
    def fit(self, X, y=None, sample_weight=None):
        self.random_state = np.random.default_rng(self.random_state)
        return super().fit(X, y, sample_weight)


@caught_by(
    checks_persistence.check_set_params_after_fit_waits_for_the_next_fit, "set_params"
)
class AnswersByItsSeed(StandIn):
    def transform(self, X):
        return super().transform(X) + (self.random_state or 0)


@caught_by(
    checks_persistence.check_representations_work_and_compute_nothing, "calls to show"
)
class LearnsWhenLookedAt(StandIn):
    @property
    def spread_(self):
        if not hasattr(self, "_rows"):
            raise AttributeError("not fitted")
        return float(np.ptp(StandIn().fit(self._rows).cluster_centers_))

    def fit(self, X, y=None, sample_weight=None):
        self._rows = X
        return super().fit(X, y, sample_weight)


@caught_by(checks_clusterer.check_predict_is_the_nearest_codevector, "nearest")
class PredictsTheFarthest(StandIn):
    def predict(self, X):
        return self.transform(X).argmax(axis=1)


@caught_by(checks_clusterer.check_labels_are_those_of_predict, "labels_ are not")
class LabelsTheRowBefore(StandIn):
    def fit(self, X, y=None, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.labels_ = np.roll(self.labels_, 1)
        return self


@caught_by(
    checks_clusterer.check_probabilities_are_those_of_the_codevectors, "rtol=1e-12"
)
class ForgetsToNormalise(StandIn):
    def predict_proba(self, X):
        return 0.5 * super().predict_proba(X)


@caught_by(
    checks_clusterer.check_score_is_the_weighted_mean_divergence, "weighted score"
)
class ScoresWithoutWeights(StandIn):
    def score(self, X, y=None, sample_weight=None):
        return super().score(X)


@caught_by(checks_clusterer.check_shortcuts_are_fit_and_then_the_method, "fit_predict")
class PredictsWithoutWeights(StandIn):
    def fit_predict(self, X, y=None, sample_weight=None):
        return self.fit(X).labels_


@caught_by(checks_clusterer.check_the_codebook_has_the_size_asked_for, "asked for")
class FindsThreeClusters(StandIn):
    def _place(self, dtype):
        asked, self.n_clusters = self.n_clusters, 3
        super()._place(dtype)
        self.n_clusters = asked


@caught_by(checks_tools.check_frames_come_out_where_asked_for, "other values")
class AlwaysReturnsFrames(StandIn):
    def transform(self, X):
        return pd.DataFrame(super().transform(X))

    def predict(self, X):
        return super().transform(X).argmin(axis=1)


@caught_by(checks_tools.check_names_of_the_columns_out, "are named")
class NamesItsColumnsOtherwise(StandIn):
    def get_feature_names_out(self, input_features=None):
        return np.array(["one", "two", "three"], dtype=object)


@caught_by(checks_tools.check_a_pipeline_is_its_steps, "within a pipeline")
@caught_by(checks_tools.check_cross_validated_predictions, "by hand")
class LearnsFromItsSiblings(StandIn):
    fits = 0

    def _place(self, dtype):
        super()._place(dtype)
        LearnsFromItsSiblings.fits += 1
        self.cluster_centers_ += 5 * LearnsFromItsSiblings.fits


@caught_by(checks_tools.check_a_grid_search_over_the_number_of_clusters, "finds 1 best")
class ScoresTheWrongWayRound(StandIn):
    def score(self, X, y=None, sample_weight=None):
        return -super().score(X, y, sample_weight)


@caught_by(checks_tools.check_routing_can_be_asked_for_in_a_stream, "asks for")
class ForgetsWhatItWasAskedToRoute(StandIn):
    def get_metadata_routing(self):
        return StandIn().get_metadata_routing()


@caught_by(checks_tools.check_weights_are_routed_through_a_pipeline, "to score")
class ScoresAPipelineWithoutWeights(StandIn):
    def score(self, X, y=None, sample_weight=None):
        return super().score(X, sample_weight=sample_weight if self._alone else None)

    @property
    def _alone(self):
        return not get_config()["enable_metadata_routing"]
