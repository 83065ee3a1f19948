"""What the annealing estimators share: parameters, state, fitted attributes."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from numbers import Integral, Real
from operator import attrgetter
from typing import ClassVar

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from odalib.estimators._sklearn import (
    CallbackSupportMixin,
    DocumentationLink,
    HasMethods,
    Interval,
    LevelCallbacks,
    StrOptions,
    check_weights,
    validate_rows,
)
from odalib.estimators._state import features_kept_on_failure
from odalib.estimators._threads import single_threaded_blas
from odalib.inference.annealing.bregman import check_range
from odalib.inference.annealing.divergences import DIVERGENCES, as_divergence
from odalib.inference.annealing.fit import fit_rows
from odalib.inference.annealing.schedule import Schedule, Settings
from odalib.inference.annealing.stream import Stream, WarmUp, restart

__all__ = ["BaseAnnealer", "fitted_attribute"]

# What 'auto' and None stand for; the docstring of ODAClusterer says why.
COOLING_TO_A_NUMBER, COOLING_TO_CHOOSE = 0.7, 0.9
MERGE_TOL = {"critical": 1.0, "perturb": 0.01}
STREAM_BATCH, MEMORY_SAMPLES = 256, 4096
# Growth by critical temperatures takes a few steps a level and does not wait for
# convergence; other growth does, for so many steps at the most.
FEW_STEPS, MANY_STEPS = 2, 1000
AXIS_PASSES = {"critical": 2, "perturb": 0}


def fitted_attribute(name, description):
    """Property that reads the model; AttributeError before a fit."""

    def get(self):
        if not hasattr(self, "_state"):
            check_is_fitted(self)
        value = attrgetter(name)(self._state.model)
        if value is None:
            raise AttributeError(f"This {type(self).__name__} has no such attribute.")
        return value

    return property(get, doc=description)


class BaseAnnealer(CallbackSupportMixin, DocumentationLink, BaseEstimator):
    """Base of the annealing estimators.

    A fit and a stream leave the same kind of state, so that each goes on from the
    other; what is published is read off its model. A new state is computed first
    and swapped in last: a call that fails changes nothing.
    """

    _parameter_constraints: ClassVar[dict] = {
        "divergence": [
            StrOptions(set(DIVERGENCES)),
            HasMethods(["phi", "gradient", "check_domain"]),
        ],
        "max_temperature": [Interval(Real, 0, None, closed="neither"), None],
        "min_temperature": [Interval(Real, 0, None, closed="neither"), None],
        "cooling": [Interval(Real, 0, 1, closed="neither"), StrOptions({"auto"})],
        "target_distortion": [Interval(Real, 0, None, closed="left"), None],
        "merge_tol": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "idle_tol": [Interval(Real, 0, 1, closed="left")],
        "split": [StrOptions({"critical", "perturb"})],
        "batch_size": [Interval(Integral, 1, None, closed="left"), None],
        "step": [StrOptions({"decreasing", "constant"})],
        "memory_samples": [Interval(Real, 1, None, closed="neither"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    temperature_ = fitted_attribute(
        "quantiser.temperature", "Last positive temperature, in units of divergence."
    )
    annealing_path_ = fitted_attribute("path", "Every temperature level.")
    n_iter_ = fitted_attribute("n_iter", "Passes over the rows, or steps of a stream.")
    n_samples_seen_ = fitted_attribute("n_seen", "Weight of the rows seen.")
    converged_ = fitted_attribute("converged", "Whether the tolerance was met.")
    stop_reason_ = fitted_attribute("stop_reason", "Why annealing ended.")
    plateau_strength_ = fitted_attribute(
        "plateau_strength", "Lead of the chosen number; only where one was chosen."
    )

    def _number_wanted(self) -> tuple[int, bool]:
        """Return the number of codevectors, and whether to choose one up to it."""
        raise NotImplementedError

    @features_kept_on_failure
    def _anneal(self, X, sample_weight):
        """Fit all rows, from the start."""
        X, weights = self._check_rows(X, sample_weight, reset=True)
        settings = self._settings(check_random_state(self.random_state).randint(2**31))
        n_seen = float(weights.sum())
        callbacks = LevelCallbacks(self, X, sample_weight)

        def begin(solution):
            return Stream.begin(settings, solution, n_seen, X.dtype)

        def on_level(level, solution):
            if self.verbose:
                print(
                    f"[{type(self).__name__}] temperature {level.temperature:.4g}, "
                    f"{len(level.codebook)} codevectors, "
                    f"distortion {level.distortion:.6g}"
                )
            return callbacks.level(lambda: {"_state": begin(solution())})

        with single_threaded_blas():
            solution = fit_rows(
                *_positive(X, weights), settings, self._n_threads(), on_level
            )
            state = begin(solution)
            last = assign_rows(state, X, weights, self._n_threads())
        # Before the swap: where warnings are errors, nothing has changed.
        self._warn(solution)
        self._state, self._last = state, last
        callbacks.end({"_state": state})
        return self

    @features_kept_on_failure
    def _learn(self, X, sample_weight):
        """Learn from some more rows."""
        first = not hasattr(self, "_state")
        parameters = self.get_params(deep=False)
        if getattr(self, "_parameters", None) != parameters:
            # scikit-learn validates before the first rows of a stream only.
            self._validate_params()
        X, weights = self._check_rows(X, sample_weight, reset=first)
        if first:
            seed = check_random_state(self.random_state).randint(2**31)
            state = WarmUp(self._settings(seed), X.dtype)
        else:
            state = self._state
            settings = replace(
                self._settings(state.settings.seed),
                divergence=state.settings.divergence,
            )
            if settings != state.settings:
                state = replace(state, settings=settings)
        with single_threaded_blas():
            state = state.learn(*_positive(X, weights))
            if len(weights) >= STREAM_BATCH:
                last = assign_rows(state, X, weights, self._n_threads())
            else:
                last = RowsToAssign(state, X.copy(), weights.copy())
        self._state, self._last, self._parameters = state, last, parameters
        return self

    def _at(self, number_name, number, temperature):
        """Fitted estimator of another level of the path."""
        check_is_fitted(self)
        if (number is None) == (temperature is None):
            raise ValueError(f"Give exactly one of {number_name} and temperature.")
        other = clone(self)
        if number is not None:
            _check_kind(number_name, number, Integral, "an integer")
            model = self._state.model.at_size(number, number_name)
            other.set_params(**{number_name: int(number)})
        else:
            _check_kind("temperature", temperature, Real, "a number")
            model = self._state.model.at_temperature(temperature)
        settings = other._settings(self._state.settings.seed)
        other._state = restart(self._state, model, settings)
        other.n_features_in_ = self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            other.feature_names_in_ = self.feature_names_in_
        return other

    def _settings(self, seed):
        number, choose = self._number_wanted()
        few = self.split == "critical" and self.batch_size is None
        cooling = COOLING_TO_CHOOSE if choose else COOLING_TO_A_NUMBER
        schedule = Schedule(
            n_codevectors=int(number),
            split=self.split,
            cooling=cooling if self.cooling == "auto" else self.cooling,
            max_temperature=self.max_temperature,
            min_temperature=self.min_temperature,
            target_distortion=self.target_distortion,
            merge_tol=(
                MERGE_TOL[self.split] if self.merge_tol == "auto" else self.merge_tol
            ),
            idle_tol=self.idle_tol,
            tol=None if few else self.tol,
            max_steps=FEW_STEPS if few else MANY_STEPS,
            axis_passes=AXIS_PASSES[self.split],
            max_iter=self.max_iter,
            batch_size=self.batch_size,
        )
        constant = self.step == "constant"
        return Settings(
            divergence=as_divergence(self.divergence),
            schedule=schedule,
            choose=choose,
            tol=self.tol,
            seed=seed,
            stream_batch_size=self.batch_size or STREAM_BATCH,
            memory=self.memory_samples or MEMORY_SAMPLES if constant else None,
        )

    def _check_rows(self, X, sample_weight, reset):
        """Validate rows and weights."""
        X = validate_rows(self, X, reset=reset)
        weights = check_weights(sample_weight, X)
        check_range(X)
        divergence = self.divergence if reset else self._state.settings.divergence
        as_divergence(divergence).check_domain(X)
        return X, weights

    def _on_rows(self, X, function: Callable):
        """``function(quantiser, X, n_jobs)`` of validated rows."""
        check_is_fitted(self)
        X = validate_rows(self, X, reset=False)
        check_range(X)
        self._state.settings.divergence.check_domain(X)
        with single_threaded_blas():
            return function(self._state.model.quantiser, X, self._n_threads())

    def _last_call(self):
        """Labels and sum of divergences of the rows of the last call."""
        check_is_fitted(self)
        if not hasattr(self, "_last"):
            raise AttributeError(
                "A level of a path, as at() returns it, has not seen rows of its own; "
                "call predict and score."
            )
        if isinstance(self._last, RowsToAssign):
            return self._last.assigned
        return self._last

    def _n_threads(self):
        return effective_n_jobs(self.n_jobs)

    def _warn(self, solution):
        number, choose = self._number_wanted()
        found = len(solution.codebook)
        message = None
        if solution.stop_reason == "distinct_rows" and not choose:
            message = (
                f"X has {found} distinct rows up to rounding, fewer than the {number} "
                "codevectors asked for; there are as many codevectors."
            )
        elif not solution.converged and solution.stop_reason != "callback":
            message = (
                f"Annealing ended with stop_reason_={solution.stop_reason!r} after "
                f"{solution.n_passes} passes without meeting tol={self.tol}. Raise "
                "max_iter or tol, or cool faster."
            )
        if message is not None:
            warnings.warn(message, ConvergenceWarning, stacklevel=7)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_state")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = as_divergence(self.divergence).lower == 0.0
        return tags


def assign_rows(state, X, weights, n_jobs):
    """Labels of rows and the sum of their weighted divergences."""
    labels, divergences = state.model.quantiser.assign(X, n_jobs)
    return labels, float(weights @ divergences)


class RowsToAssign:
    """Few rows of a call of partial_fit, assigned when first asked for.

    A call for every row of a stream then stays cheap.
    """

    def __init__(self, state, X, weights):
        self.state = state
        self.X = X
        self.weights = weights

    @cached_property
    def assigned(self):
        """Labels, and the sum of the weighted divergences."""
        with single_threaded_blas():
            return assign_rows(self.state, self.X, self.weights, n_jobs=1)


def _positive(X, weights):
    """Rows of positive weight; a row of none is as absent."""
    kept = weights > 0
    return (X, weights) if kept.all() else (X[kept], weights[kept])


def _check_kind(name, value, kind, description):
    if isinstance(value, bool | np.bool_) or not isinstance(value, kind):
        raise TypeError(f"{name} must be {description}, got {value!r}.")
