"""What the annealing estimators share: parameters, state, fitted attributes."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from numbers import Integral, Real
from operator import attrgetter
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from odalib.estimators._feature_map import FeatureMap
from odalib.estimators._parameters import (
    parameter_names,
    same_items,
    same_parameters,
)
from odalib.estimators._persistence import Versioned
from odalib.estimators._sklearn import (
    CallbackSupportMixin,
    DocumentationLink,
    HasMethods,
    Interval,
    StrOptions,
    check_weights,
    skips_validation,
    validate_parameters,
    validate_rows,
)
from odalib.estimators._state import all_or_nothing, on_one_state
from odalib.estimators._threads import single_threaded_blas
from odalib.estimators.resolution import Resolution, as_resolutions, temperatures_of
from odalib.inference.annealing.batch import Batch
from odalib.inference.annealing.bregman import (
    check_counts,
    check_range,
    check_weighted_squares,
)
from odalib.inference.annealing.divergences import DIVERGENCES, as_divergence
from odalib.inference.annealing.grown import fit_layers
from odalib.inference.annealing.local.base import LocalModels
from odalib.inference.annealing.merging import drift
from odalib.inference.annealing.schedule import Schedule, Settings
from odalib.inference.annealing.stream import Stream, restart
from odalib.inference.annealing.tree import Tree
from odalib.inference.annealing.warm_up import WarmUp

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


class BaseAnnealer(CallbackSupportMixin, DocumentationLink, Versioned, BaseEstimator):
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
        "resolutions": [list, tuple, None],
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

    tree_ = fitted_attribute("summary", "Codevectors of all resolutions.")

    @property
    @on_one_state
    def drift_score_(self):
        """How far the last call of ``partial_fit`` moved the codebook.

        Mean divergence of the codevectors from the nearest of those before the call, in
        units of the divergence: beside ``-score(X)``, what rows differ from codevectors
        by, it tells whether clusters move. Codevectors move in steps of ``batch_size``
        rows, so that calls of fewer rows may leave it at zero. It is zero after ``fit``
        and in the warm-up too, where there is nothing to compare with.
        """
        check_is_fitted(self)
        before, now = vars(self).get("_followed"), self._state.followed
        if before is None:
            return 0.0
        return drift(now, before, self._state.layers[-1].solution.divergence)

    @on_one_state
    def apply(self, X):
        """Give the leaf of every row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        leaves : ndarray of int of shape (n_samples,)
            Nodes of ``tree_``.
        """
        labels = self._on_rows(X, Tree.cells)
        return self.tree_.first_nodes[-1] + labels[-1]

    @on_one_state
    def decision_path(self, X):
        """Give the nodes that every row passes on its way from the root to a leaf.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        indicator : CSR matrix of shape (n_samples, n_nodes)
            One where a row passes a node of ``tree_``, and zero elsewhere.
        """
        labels = self._on_rows(X, Tree.cells)
        return self.tree_.paths(labels)

    def _number_wanted(self) -> tuple[int, bool]:
        """Return the number of codevectors, and whether to choose one up to it."""
        raise NotImplementedError

    def _local_models(self, last: bool) -> LocalModels:
        """Return what is learnt in the cells of the last resolution, or of others."""
        return LocalModels()

    def _after(self, state, batch, in_stream) -> dict:
        """Return attributes that the rows of a call set, those of no weight too."""
        return {}

    @all_or_nothing
    def _anneal(self, X, y, sample_weight, callbacks):
        """Fit all rows, from the start."""
        batch, learnt = self._check_batch(X, y, sample_weight, reset=True)
        learnt |= self._features()
        settings = self._settings(check_random_state(self.random_state).randint(2**31))
        n_seen = float(batch.weights.sum())

        def begin(layers):
            return Stream(settings, batch.rows.dtype.type, layers, n_seen)

        def on_level(level, layers):
            if self.verbose:
                print(
                    f"[{type(self).__name__}] temperature {level.temperature:.4g}, "
                    f"{len(level.codebook)} codevectors, "
                    f"distortion {level.distortion:.6g}"
                )
            return callbacks.level(lambda: {"_state": begin(layers()), **learnt})

        with single_threaded_blas():
            layers = fit_layers(_usable(batch), settings, self._n_threads(), on_level)
            state = begin(layers)
            learnt |= self._after(state, batch, in_stream=False)
        self._warn(layers)
        vars(self).update(
            learnt, _state=state, _parameters=self._current(), _followed=None
        )
        callbacks.end({"_state": state, **learnt})

    @all_or_nothing
    def _learn(self, X, y, sample_weight, **announced):
        """Learn from some more rows."""
        first = not hasattr(self, "_state")
        parameters = self._current()
        unchanged = not first and same_parameters(self._parameters, parameters)
        if not unchanged and not skips_validation():
            # Here, and not in the context that scikit-learn gives to fits, which costs
            # as much as a step.
            validate_parameters(self)
        batch, learnt = self._check_batch(
            X, y, sample_weight, reset=first, in_stream=True, **announced
        )
        if first:
            seed = check_random_state(self.random_state).randint(2**31)
            state = WarmUp(self._settings(seed), batch.rows.dtype.type)
        else:
            state = self._state
            if not unchanged:
                self._check_resolutions_kept()
                state = state.with_settings(self._settings(state.settings.seed))
        followed = state.followed
        with single_threaded_blas():
            if self.resolutions is not None:
                # Before they wait in a queue, where they could no more be refused.
                state.check(batch.rows)
            state = state.learn(_row_by_row(_usable(batch)))
            learnt |= self._after(state, batch, in_stream=True)
        vars(self).update(
            learnt, _state=state, _parameters=parameters, _followed=followed
        )

    def _at(self, number_name, number, temperature, rows=None):
        """Fitted estimator of another level of the path, taught rows or as it was."""
        check_is_fitted(self)
        if (number is None) == (temperature is None):
            raise ValueError(
                f"at takes exactly one of {number_name} and temperature, got "
                f"{number_name}={number!r} and temperature={temperature!r}."
            )
        model = self._state.model
        if number is not None:
            _check_kind(number_name, number, Integral, "an integer")
            model = model.at_size(number, number_name)
        else:
            _check_kind("temperature", temperature, Real, "a number")
            model = model.at_temperature(temperature)
        other = clone(self)
        if number is not None:
            other.set_params(**{number_name: int(number)})
        # A fit validates parameters; those set since have not been.
        other._validate_params()
        vars(other).update(self._kept_by_levels(), _parameters=other._current())
        other._state = self._state
        if model is not self._state.model:
            settings = other._settings(self._state.settings.seed)
            with single_threaded_blas():
                other._state = restart(
                    self._state, model, settings, rows, self._n_threads()
                )
        return other

    def _rows_to_learn(self, X, y, sample_weight):
        """Rows that a level of the path learns, or None where there are none."""
        if X is None:
            if y is not None or sample_weight is not None:
                given = "sample_weight" if y is None else "y"
                raise ValueError(
                    f"at got {given} without X; give the rows it is of, or neither."
                )
            return None
        check_is_fitted(self)
        batch, _ = self._check_batch(X, y, sample_weight, reset=False)
        return _usable(batch)

    def _current(self):
        """Parameters as they stand."""
        parameters = {name: getattr(self, name) for name in parameter_names(type(self))}
        # What is neither is refused by validation, which comes later.
        if isinstance(self.resolutions, list | tuple):
            parameters["resolutions"] = list(self.resolutions)
        return parameters

    def _check_resolutions_kept(self):
        """Refuse other resolutions than those that the cells rest on."""
        before, after = self._parameters["resolutions"], self._current()["resolutions"]
        if not same_items(before, after):
            raise ValueError(
                "resolutions cannot change in mid-stream, where cells rest on them; "
                "call fit to begin anew."
            )

    def _kept_by_levels(self):
        """Attributes that every level of a path has in common."""
        return self._features()

    def _features(self):
        """Give the number and the names of the features."""
        names = ("n_features_in_", "feature_names_in_")
        return {name: vars(self)[name] for name in names if name in vars(self)}

    def _settings(self, seed):
        number, choose = self._number_wanted()
        if self.resolutions is None:
            span = temperatures_of(Resolution(), self)
            return self._settings_of(seed, span, number, choose, None, None)
        settings, names = None, getattr(self, "feature_names_in_", None)
        listed = as_resolutions(self.resolutions, number)
        for place, (resolution, size) in reversed(list(enumerate(listed))):
            features = FeatureMap.of(place, resolution.features, names)
            span = temperatures_of(resolution, self, f" of resolutions[{place}]")
            settings = self._settings_of(seed, span, size, choose, features, settings)
        return settings

    def _settings_of(self, seed, temperatures, number, choose, features, finer):
        """Give the settings of one resolution."""
        few = self.split == "critical" and self.batch_size is None
        cooling = COOLING_TO_CHOOSE if choose else COOLING_TO_A_NUMBER
        schedule = Schedule(
            n_codevectors=int(number),
            split=self.split,
            cooling=cooling if self.cooling == "auto" else self.cooling,
            max_temperature=temperatures[0],
            min_temperature=temperatures[1],
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
            local_models=self._local_models(last=finer is None),
            features=features,
            finer=finer,
        )

    def _check_batch(
        self, X, y, sample_weight, reset, in_stream=False
    ) -> tuple[Batch, dict]:
        """Return validated rows, targets and weights, and attributes that they set."""
        X = validate_rows(self, X, reset=reset)
        weights = check_weights(sample_weight, X)
        self._check_values(X, reset)
        return Batch(X, weights), {}

    def _check_values(self, X, reset):
        """Refuse values that the divergence cannot take."""
        check_range(X)
        if self.resolutions is None or self._sees_all_features():
            divergence = self.divergence if reset else self._state.settings.divergence
            as_divergence(divergence).check_domain(X)

    def _sees_all_features(self):
        """Whether a resolution takes the rows as they come."""
        return any(
            item is None or (isinstance(item, Resolution) and item.features is None)
            for item in self.resolutions
        )

    def _on_rows(self, X, function: Callable):
        """``function(tree, X, n_jobs)`` of validated rows."""
        check_is_fitted(self)
        X = validate_rows(self, X, reset=False)
        self._check_values(X, reset=False)
        with single_threaded_blas():
            return function(self._state.model.tree, X, self._n_threads())

    def _n_threads(self):
        return effective_n_jobs(self.n_jobs)

    def _warn(self, layers):
        number, choose = self._number_wanted()
        solution = layers[-1].solution
        found = len(solution.codebook)
        message = None
        # Cells that are closed take none of the number that others may.
        flat = self.resolutions is None
        if solution.stop_reason == "distinct_rows" and flat and not choose:
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


def _usable(batch):
    """Rows of positive weight; a row of none is as absent."""
    check_weighted_squares(batch.rows, batch.weights)
    if batch.targets is not None:
        check_counts(batch.weights)
    kept = batch.weights > 0
    return batch if kept.all() else batch[kept]


def _row_by_row(batch):
    """Rows one after another in memory; sums of others go by how calls cut them."""
    if sp.issparse(batch.rows) or batch.rows.flags.c_contiguous:
        return batch
    return replace(batch, rows=np.ascontiguousarray(batch.rows))


def _check_kind(name, value, kind, description):
    if isinstance(value, bool | np.bool_) or not isinstance(value, kind):
        raise TypeError(f"{name} must be {description}, got {value!r}.")
