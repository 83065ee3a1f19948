"""Estimators that fail by halves or mix up threads, and the check that must see it."""

import copy
import time

import numpy as np
from sklearn.utils import check_random_state

from . import checks_failure, checks_threads
from .stand_in import StandIn, caught_by
from .stand_in_classifier import StandInClassifier

_fit_fails = checks_failure.check_a_fit_that_fails_changes_nothing
_partial_fit_fails = checks_failure.check_a_partial_fit_that_fails_changes_nothing
_fit_stops = checks_failure.check_an_interrupted_fit_is_whole_or_nothing
_partial_fit_stops = checks_failure.check_an_interrupted_partial_fit_is_whole_or_nothing


@caught_by(_fit_fails, "a first fit, .*n_features_in_")
@caught_by(_partial_fit_fails, "a first call, .*n_features_in_")
class LearnsInPlace(StandIn):
    def _learn(self, X, sample_weight, fresh):
        self._follow(X, sample_weight, fresh)
        return self


@caught_by(_fit_fails, "a first fit, .*random_state")
class DrawsBeforeItFails(StandIn):
    def _learn(self, X, sample_weight, fresh):
        check_random_state(self.random_state).randint(9)
        return super()._learn(X, sample_weight, fresh)


@caught_by(_fit_fails, "is swallowed")
@caught_by(_partial_fit_fails, "is swallowed")
class SwallowsWhatIsRaised(StandIn):
    def _learn(self, X, sample_weight, fresh):
        try:
            return super()._learn(X, sample_weight, fresh)
        except BaseException:
            return self


@caught_by(_partial_fit_fails, "a second call, .*_sums")
class AddsToItsSumsInPlace(StandInClassifier):
    def _sum(self, sums, X, codes, weight):
        np.add.at(sums, codes, weight[:, None] * np.c_[np.ones(len(X)), X])
        return sums


@caught_by(_fit_stops, "fit, interrupted at .*_publish.*not as it should be")
@caught_by(_partial_fit_stops, "call, interrupted at .*_publish.*not as it should be")
class PublishesOneByOne(StandIn):
    def _learn(self, X, sample_weight, fresh):
        before = vars(self).copy()
        super()._learn(X, sample_weight, fresh)
        after, self.__dict__ = vars(self), before
        for name, value in after.items():
            self._publish(name, value)
        return self

    def _publish(self, name, value):
        setattr(self, name, value)


@caught_by(checks_threads.check_threads_are_answered_alike, "to several threads")
class AnswersFromWhatItNoted(StandIn):
    def _divergences(self, X):
        self._noted = X
        time.sleep(0.001)
        return super()._divergences(self._noted[: len(X)])


@caught_by(checks_threads.check_threads_that_teach_take_turns, "teach in turn")
class TakesNoTurns(StandIn):
    def _learn(self, X, sample_weight, fresh):
        draft = copy.copy(self)
        draft._follow(X, sample_weight, fresh)
        vars(self).update(vars(draft))
        return self
