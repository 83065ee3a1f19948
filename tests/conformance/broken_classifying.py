"""Classifiers with one fault each, and the check that must see it."""

import copy

import numpy as np
from sklearn.naive_bayes import GaussianNB

from . import checks_classifier
from .stand_in import caught_by
from .stand_in_classifier import StandInClassifier, StandInGrowing


@caught_by(checks_classifier.check_answers_decide_alike, "largest probability")
class PredictsTheFirstClass(StandInClassifier):
    def predict(self, X):
        return np.full(len(X), self.classes_[0])


@caught_by(checks_classifier.check_answers_decide_alike, "largest score")
class ScoresTheNegativeClass(StandInClassifier):
    def decision_function(self, X):
        return -super().decision_function(X)


@caught_by(checks_classifier.check_probabilities_are_those_of_the_classes, "rtol=1e-12")
class DoesNotNormalise(StandInClassifier):
    def predict_proba(self, X):
        return 0.5 * super().predict_proba(X)


@caught_by(checks_classifier.check_probabilities_are_those_of_the_classes, "rtol=1e-09")
class TakesTheBinaryLogarithm(StandInClassifier):
    def predict_log_proba(self, X):
        return super().predict_log_proba(X) / np.log(2.0)

    def predict_proba(self, X):
        return np.exp2(self.predict_log_proba(X))


@caught_by(
    checks_classifier.check_logarithms_of_small_probabilities_are_finite, "not finite"
)
class TakesTheLogarithmOfTheProbability(StandInClassifier):
    def predict_log_proba(self, X):
        with np.errstate(divide="ignore"):
            return np.log(np.exp(super().predict_log_proba(X)))


@caught_by(checks_classifier.check_names_of_the_classes_are_free, "turned round")
class PrefersLateNames(StandInClassifier):
    def _log_likelihood(self, X):
        return super()._log_likelihood(X) + np.arange(len(self.classes_))


@caught_by(checks_classifier.check_labels_of_any_kind, "objects", ValueError)
class WantsNumbersOrText(StandInClassifier):
    def _read_labels(self, y):
        if np.asarray(y).dtype.kind == "O":
            raise ValueError("Labels are objects.")
        return super()._read_labels(y)


@caught_by(checks_classifier.check_labels_of_any_kind, "classes_ are")
class CutsTheNames(StandInClassifier):
    def _read_labels(self, y):
        y = super()._read_labels(y)
        return y.astype("U3") if y.dtype.kind == "U" else y


@caught_by(checks_classifier.check_one_class_is_refused, "was accepted")
class TakesASingleClass(StandInClassifier):
    def _classes_of(self, y):
        return np.unique(y)


@caught_by(checks_classifier.check_one_class_is_refused, "positive weight")
class CountsClassesOfNoWeight(StandInClassifier):
    def fit(self, X, y, sample_weight=None):
        classes = self._classes_of(self._read_labels(y))
        return self._learn(X, self._read_labels(y), classes, sample_weight, True)


@caught_by(checks_classifier.check_labels_that_are_none_are_refused, "missing labels")
class TakesNaNForAClass(StandInClassifier):
    def _read_labels(self, y):
        return y if y is None else super()._read_labels(np.where(y == y, y, 0))


@caught_by(checks_classifier.check_labels_that_are_none_are_refused, "moved the state")
class ReadsLabelsTooLate(StandInClassifier):
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        if hasattr(self, "classes_"):
            self._sums = self._sums + 0.01
        return super().partial_fit(X, y, classes, sample_weight)


@caught_by(checks_classifier.check_classes_are_required, "was accepted")
class GuessesTheClasses(StandInClassifier):
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        return super().partial_fit(X, y, np.unique(y), sample_weight)


@caught_by(checks_classifier.check_classes_cannot_change, "was accepted")
class IgnoresLaterClasses(StandInClassifier):
    def _checked(self, classes):
        return self.classes_


@caught_by(checks_classifier.check_an_unseen_label_is_named, "first call")
class TakesTheLabelsOfTheFirstCall(StandInClassifier):
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        if classes is not None and not hasattr(self, "classes_"):
            classes = np.union1d(classes, y)
        return super().partial_fit(X, y, classes, sample_weight)


@caught_by(checks_classifier.check_an_unseen_label_is_named, "later call")
class DropsUnseenLabels(StandInClassifier):
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        if hasattr(self, "classes_"):
            known = np.isin(y, self.classes_)
            X, y = X[known], y[known]
        return super().partial_fit(X, y, classes, sample_weight)


@caught_by(checks_classifier.check_an_unseen_label_is_named, "does not say")
class DoesNotNameTheLabel(StandInClassifier):
    def _refuse_unseen(self, y, classes):
        if not np.isin(y, classes).all():
            raise ValueError("an unknown label")


@caught_by(checks_classifier.check_an_unseen_label_is_named, "moved the state")
class SetsItsVarianceFloorFirst(GaussianNB):
    """As it is, for ``epsilon_`` is set before the labels are looked at."""


@caught_by(checks_classifier.check_a_batch_may_lack_a_class, "classes_ do not hold")
class KeepsTheClassesOfTheBatch(GaussianNB):
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        return self.fit(X, y)


@caught_by(checks_classifier.check_a_class_may_never_come, "not finite")
class DividesByTheCount(StandInClassifier):
    def _log_likelihood(self, X):
        with np.errstate(divide="ignore"):
            return super()._log_likelihood(X) + np.log(self._sums[:, 0])


@caught_by(
    checks_classifier.check_a_class_first_met_is_predicted,
    "classes_ are",
    classes_grow=True,
)
class LearnsNoLaterLabels(StandInGrowing):
    def _joined(self, labels):
        return copy.copy(self)

    def _learn_into(self, target, X, labels, sample_weight):
        known = np.isin(labels, self.classes_)
        return (
            target
            if not known.any()
            else super()._learn_into(target, X[known], labels[known], sample_weight)
        )


@caught_by(
    checks_classifier.check_a_class_first_met_is_predicted,
    "a class after 40 rows",
    classes_grow=True,
)
class NeverPredictsLaterLabels(StandInGrowing):
    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        self._first = self.classes_
        return self

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        super().partial_fit(X, y, classes, sample_weight)
        self._first = vars(self).get("_first", self.classes_)
        return self

    def _log_likelihood(self, X):
        late = ~np.isin(self.classes_, self._first)
        return super()._log_likelihood(X) - 1e3 * late


@caught_by(
    checks_classifier.check_cutting_a_stream_that_classes_join_changes_nothing,
    "the last class from row 40 on",
    classes_grow=True,
)
class DoubtsWhatJoinsLate(StandInGrowing):
    def _joined(self, labels):
        draft = super()._joined(labels)
        new = ~np.isin(draft.classes_, self.classes_)
        draft._sums[new, 0] = 0.5
        return draft


@caught_by(
    checks_classifier.check_classes_that_join_are_as_if_announced,
    "not announced",
    classes_grow=True,
)
class KeepsTheOrderOfMeeting(StandInGrowing):
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        met = vars(self).get("_met", []) if classes is None else classes
        self._met = [*met, *np.setdiff1d(y, met)]
        return super().partial_fit(X, y, classes, sample_weight)

    def predict_log_proba(self, X):
        columns = np.searchsorted(self.classes_, self._met)
        return super().predict_log_proba(X)[:, columns]


@caught_by(
    checks_classifier.check_weight_is_repetition_in_a_class_stream,
    "fresh stream",
    gathers=False,
)
class StreamsWithoutWeights(StandInClassifier):
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        return super().partial_fit(X, y, classes)


@caught_by(checks_classifier.check_one_call_is_a_fit, "all rows", fits_calls=True)
class StreamsAtHalfTheWeight(StandInClassifier):
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        return super().partial_fit(X, y, classes, np.full(len(X), 0.5))


@caught_by(checks_classifier.check_latent_values_make_the_probabilities, "Phi")
class ForgetsTheNoise(StandInClassifier):
    def latent_mean_and_variance(self, X):
        mean, variance = super().latent_mean_and_variance(X)
        return mean, variance + 1.0


@caught_by(checks_classifier.check_latent_values_make_the_probabilities, "problem")
class KnowsOneLatentValue(StandInClassifier):
    def latent_mean_and_variance(self, X):
        mean, variance = super().latent_mean_and_variance(X)
        return (mean[:, 0], variance[:, 0]) if mean.ndim > 1 else (mean, variance)


@caught_by(checks_classifier.check_a_row_left_out_is_answered_by_the_others, "left out")
class LeavesNoRowOut(StandInClassifier):
    def loo_predict_proba(self):
        return self.predict_proba(self._rows[0])


@caught_by(
    checks_classifier.check_a_row_left_out_is_answered_by_the_others, "no weight"
)
class LeavesOutWhatIsNotIn(StandInClassifier):
    def loo_predict_proba(self):
        X, y, weight = self._rows
        self._rows = X, y, np.ones_like(weight)
        return super().loo_predict_proba()
