"""Clustering by online deterministic annealing."""

import warnings
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from operator import attrgetter

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    clone,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from odalib.estimators._sklearn import (
    CallbackSupportMixin,
    HasMethods,
    Interval,
    LevelCallbacks,
    StrOptions,
    check_weights,
    fit_context,
    validate_rows,
    with_callbacks,
)
from odalib.estimators._threads import single_threaded_blas
from odalib.inference.annealing.bregman import DIVERGENCES, as_divergence, check_range
from odalib.inference.annealing.fit import fit_rows
from odalib.inference.annealing.quantiser import Quantiser
from odalib.inference.annealing.schedule import Schedule, Settings
from odalib.inference.annealing.stream import Stream, WarmUp, restart

__all__ = ["ODAClusterer"]

# Defaults that depend on other parameters; see the docstring of the estimator.
COOLING = {"fixed": 0.7, "choose": 0.9}
MERGE_TOL = {"critical": 1.0, "perturb": 0.01}
STREAM_BATCH, MEMORY_SAMPLES = 256, 4096
FEW_STEPS, MANY_STEPS = 2, 1000
AXIS_PASSES = {"critical": 2, "perturb": 0}


def _fitted_attribute(name, description):
    """Property that reads the model; AttributeError before a fit."""

    def get(self):
        check_is_fitted(self)
        return attrgetter(name)(self._state.model)

    return property(get, doc=description)


class ODAClusterer(
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    CallbackSupportMixin,
    BaseEstimator,
):
    """Clustering by deterministic annealing, in memory or from a stream.

    Codevectors multiply by themselves as a temperature falls: each splits where its
    cell varies more than the temperature allows. The result does not depend on an
    initialisation, the way there holds a codebook of every size, and the divergence
    may be any Bregman divergence.

    Parameters
    ----------
    n_clusters : int, default=None
        Number of codevectors. None takes the number that lasts longest as the
        temperature falls, up to ``max_clusters``.
    max_clusters : int, default=30
        Largest number to choose from where ``n_clusters`` is None.
    divergence : str or object, default='squared_euclidean'
        ``'squared_euclidean'`` and ``'mahalanobis'`` (with the inverse covariance of
        the training rows) for real numbers, ``'kullback_leibler'`` for x >= 0,
        ``'itakura_saito'`` for x > 0, ``'logistic'`` for 0 <= x <= 1, or an object
        with the methods ``phi(X)``, ``gradient(points)``,
        ``hessian_diagonal(points)`` and ``check_domain(X)``.
    max_temperature : float, default=None
        Temperature of the first level, in units of the divergence. None starts just
        above the first critical temperature of the data, so that results do not
        depend on the units of X.
    min_temperature : float, default=None
        Annealing ends before it gets colder; the codebook of that level is then the
        result, with fewer than ``n_clusters`` codevectors.
    cooling : float or 'auto', default='auto'
        Factor of the temperature from level to level. ``'auto'`` is 0.7 given
        ``n_clusters``, where slower cooling gains nothing, and 0.9 for None, where
        plateaus must show.
    target_distortion : float, default=None
        Annealing ends once the mean divergence is this low.
    merge_tol : float or 'auto', default='auto'
        Codevectors nearer than this many temperatures are one. ``'auto'`` is 1 for
        ``split='critical'`` and 0.01 for ``'perturb'``, whose codevectors start from
        nearly the same point.
    idle_tol : float, default=1e-6
        Codevectors with a smaller share of the rows are dropped while annealing.
    split : {'critical', 'perturb'}, default='critical'
        Split the codevectors whose critical temperature exceeds the temperature,
        along their principal axis; or double all and merge those that do not part,
        which is slower and needs no curvature.
    batch_size : int, default=None
        Rows per step of stochastic approximation; 1 is the rule of the paper, row by
        row in their order. None lets `fit` iterate on all rows at once, and
        `partial_fit` take 256 at a time.
    step : {'decreasing', 'constant'}, default='decreasing'
        Steps of `partial_fit`: averages over all rows, or over the last
        ``memory_samples``, which follows drift.
    memory_samples : float, default=None
        Rows that ``step='constant'`` remembers; None for 4096.
    tol : float, default=1e-4
        Hard assignment has converged when the distortion falls by a smaller share;
        a level of ``split='perturb'`` or of a given ``batch_size`` has when no
        codevector moves by more than this many temperatures, nor by more than this
        share of the divergence to its nearest neighbour.
    max_iter : int, default=10000
        Passes over the rows of one annealing run, at the most.
    random_state : int, RandomState instance or None, default=None
        Seeds the directions of splits and the sample of more than 10,000 rows. The
        numbers depend on what rows hold, not on their order.
    n_jobs : int, default=None
        Threads over blocks of rows. The result is the same bits for every number.
    verbose : int, default=0
        1 prints a line per temperature level.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters_, n_features)
        Codevectors, in the dtype of the training rows.
    cluster_weights_ : ndarray of shape (n_clusters_,)
        Share of the rows of each codevector; they sum to one.
    labels_ : ndarray of shape (n_samples,)
        Nearest codevector of each row of the last call of fit or partial_fit.
    inertia_ : float
        Sum of the weighted divergences of those rows from their codevectors.
    n_clusters_ : int
    temperature_ : float
        Last positive temperature, in units of the divergence.
    annealing_path_ : AnnealingPath
        Temperature, number of codevectors, distortion, entropy, free energy and
        codebook of every level.
    n_iter_ : int
        Passes over the rows; after partial_fit, steps.
    n_samples_seen_ : float
        Weight of the rows seen.
    converged_ : bool
    stop_reason_ : str
        ``'n_clusters'``, ``'plateau'``, ``'distinct_rows'``, ``'min_temperature'``,
        ``'target_distortion'``, ``'max_iter'`` or ``'callback'``.
    plateau_strength_ : float or None
        Where the number of codevectors was chosen: by what factor its plateau, over
        log temperature, exceeds the next longest.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Where X has column names that are all strings.

    See Also
    --------
    PathSearchCV : The number of codevectors by cross-validation, one fit per fold.

    References
    ----------
    C. Mavridis and J. Baras, "Multi-Resolution Online Deterministic Annealing: A
    Hierarchical and Progressive Learning Architecture", Algorithm 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from odalib import ODAClusterer
    >>> X = load_iris().data
    >>> clusterer = ODAClusterer(n_clusters=3, random_state=0).fit(X)
    >>> clusterer.cluster_centers_.shape
    (3, 4)
    >>> round(clusterer.inertia_, 2)
    78.85
    >>> clusterer.at(n_clusters=2).cluster_centers_.shape
    (2, 4)
    """

    _doc_link_module = "odalib"

    _parameter_constraints = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "max_clusters": [Interval(Integral, 1, None, closed="left")],
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

    def __init__(
        self,
        n_clusters=None,
        *,
        max_clusters=30,
        divergence="squared_euclidean",
        max_temperature=None,
        min_temperature=None,
        cooling="auto",
        target_distortion=None,
        merge_tol="auto",
        idle_tol=1e-6,
        split="critical",
        batch_size=None,
        step="decreasing",
        memory_samples=None,
        tol=1e-4,
        max_iter=10_000,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.n_clusters = n_clusters
        self.max_clusters = max_clusters
        self.divergence = divergence
        self.max_temperature = max_temperature
        self.min_temperature = min_temperature
        self.cooling = cooling
        self.target_distortion = target_distortion
        self.merge_tol = merge_tol
        self.idle_tol = idle_tol
        self.split = split
        self.batch_size = batch_size
        self.step = step
        self.memory_samples = memory_samples
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    cluster_centers_ = _fitted_attribute("quantiser.codevectors", "Codevectors.")
    cluster_weights_ = _fitted_attribute("quantiser.weights", "Shares of the rows.")
    n_clusters_ = _fitted_attribute("quantiser.n_codevectors", "Number of codevectors.")
    temperature_ = _fitted_attribute("quantiser.temperature", "Last positive temperature.")
    annealing_path_ = _fitted_attribute("path", "The annealing path.")
    n_iter_ = _fitted_attribute("n_iter", "Passes, or steps of a stream.")
    n_samples_seen_ = _fitted_attribute("n_seen", "Weight of the rows seen.")
    converged_ = _fitted_attribute("converged", "Whether the fit converged.")
    stop_reason_ = _fitted_attribute("stop_reason", "Why annealing ended.")
    plateau_strength_ = _fitted_attribute("plateau_strength", "Of the chosen number.")

    @property
    def labels_(self):
        """Nearest codevector of each row of the last call of fit or partial_fit."""
        return self._last_call()[0]

    @property
    def inertia_(self):
        """Sum of the weighted divergences of those rows."""
        return self._last_call()[1]

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Anneal all rows, from the start.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : Ignored
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of w is w copies of the row; zero leaves it out.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For values that are not finite, outside the domain of the divergence
            (the message names the row) or too large to be squared, and for weights
            that are negative or all zero.

        Warns
        -----
        ConvergenceWarning
            For fewer distinct rows than ``n_clusters``, and when ``max_iter`` ended
            annealing.
        """
        X, weights = self._check_rows(X, sample_weight, reset=True)
        settings = self._settings(check_random_state(self.random_state).randint(2**31))
        n_seen = float(weights.sum())
        callbacks = LevelCallbacks(self, X, sample_weight)

        def fitted(solution):
            return {"_state": Stream.begin(settings, solution, n_seen, X.dtype)}

        def on_level(level, solution):
            if self.verbose:
                print(
                    f"[ODAClusterer] temperature {level.temperature:.4g}, "
                    f"{len(level.codebook)} codevectors, "
                    f"distortion {level.distortion:.6g}"
                )
            return callbacks.level(lambda: fitted(solution()))

        with single_threaded_blas():
            kept = weights > 0
            rows = X if kept.all() else X[kept]
            solution = fit_rows(
                rows, weights[kept], settings, effective_n_jobs(self.n_jobs), on_level
            )
            state = fitted(solution)["_state"]
            last = self._assign(state.model, X, weights)
        self._state, self._last = state, last
        callbacks.end(lambda: fitted(solution))
        self._warn(solution)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None, sample_weight=None):
        """Learn from some more rows of a stream.

        How a stream is cut into calls changes nothing. It is annealed in memory on
        its first 2,048 rows (or 16 per codevector), and followed by stochastic
        approximation from there: codevectors move with the rows, and one that has
        become superfluous moves to where it lowers the distortion most. After `fit`,
        the stream goes on from what was fitted.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : Ignored
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self

        Raises
        ------
        ValueError
            As `fit`, and for another number of features. The estimator is then
            exactly as before.
        """
        first = not hasattr(self, "_state")
        X, weights = self._check_rows(X, sample_weight, reset=first)
        if first:
            seed = check_random_state(self.random_state).randint(2**31)
            state = WarmUp(self._settings(seed), X.dtype)
        else:
            state = replace(
                self._state, settings=self._settings(self._state.settings.seed)
            )
        with single_threaded_blas():
            kept = weights > 0
            rows = X if kept.all() else X[kept]
            state = state.learn(rows, weights[kept])
            last = X.copy(), weights.copy()
            if len(weights) >= state.settings.stream_batch_size:
                last = self._assign(state.model, X, weights)
        self._state, self._last = state, last
        return self

    def predict(self, X):
        """Nearest codevector of every row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of int of shape (n_samples,)
        """
        return self._on_rows(X, lambda quantiser, *args: quantiser.assign(*args)[0])

    def predict_proba(self, X):
        """Gibbs association of every row with the codevectors.

        At the last positive temperature, which is low after a fit with
        ``n_clusters``; ``at(temperature=...)`` gives softer ones. The most probable
        codevector may differ from the nearest.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_clusters_)
            In the dtype of X.
        """
        return self._on_rows(X, Quantiser.association)

    def predict_log_proba(self, X):
        """Logarithm of `predict_proba`, without loss where that underflows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_clusters_)
        """
        return self._on_rows(X, partial(Quantiser.association, log=True))

    def transform(self, X):
        """Divergence of every row from every codevector.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        divergences : ndarray of shape (n_samples, n_clusters_)
            In the dtype of X.
        """
        return self._on_rows(X, Quantiser.divergences)

    def score_samples(self, X):
        """Log density of every row under the mixture at the last temperature.

        Normalised for the squared Euclidean and Mahalanobis divergences; for others
        up to the base measure of the exponential family of phi.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
        """
        return self._on_rows(X, Quantiser.log_density)

    def score(self, X, y=None, sample_weight=None):
        """Minus the weighted mean divergence of rows from their codevectors.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : Ignored
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        score : float
        """
        divergences = self._on_rows(
            X, lambda quantiser, *args: quantiser.assign(*args)[1]
        )
        if sample_weight is not None:
            sample_weight = check_weights(sample_weight, divergences[:, np.newaxis])
        return -float(np.average(divergences, weights=sample_weight))

    def at(self, *, n_clusters=None, temperature=None):
        """Fitted estimator of another level of the path, without a fit.

        Parameters
        ----------
        n_clusters : int, default=None
            A number of codevectors up to that of the fit (``max_clusters`` where it
            was chosen by the fit).
        temperature : float, default=None
            In units of the divergence; gives the level in force there. Exactly one
            of the two is given.

        Returns
        -------
        ODAClusterer
            Predicts, pickles and goes on learning like any other; it has no
            ``labels_`` and ``inertia_``.

        Raises
        ------
        ValueError
            For a number or a temperature that is not on the path.
        """
        check_is_fitted(self)
        if (n_clusters is None) == (temperature is None):
            raise ValueError("Give exactly one of n_clusters and temperature.")
        other = clone(self)
        if n_clusters is not None:
            model = self._state.model.at_size(n_clusters)
            other.set_params(n_clusters=n_clusters)
        else:
            model = self._state.model.at_temperature(temperature)
        settings = other._settings(self._state.settings.seed)
        other._state = restart(self._state, model, settings)
        other.n_features_in_ = self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            other.feature_names_in_ = self.feature_names_in_
        return other

    def _settings(self, seed):
        choose = self.n_clusters is None
        few = self.split == "critical" and self.batch_size is None
        schedule = Schedule(
            n_codevectors=self.max_clusters if choose else self.n_clusters,
            split=self.split,
            cooling=_or_default(self.cooling, COOLING["choose" if choose else "fixed"]),
            max_temperature=self.max_temperature,
            min_temperature=self.min_temperature,
            target_distortion=self.target_distortion,
            merge_tol=_or_default(self.merge_tol, MERGE_TOL[self.split]),
            idle_tol=self.idle_tol,
            tol=None if few else self.tol,
            max_steps=FEW_STEPS if few else MANY_STEPS,
            axis_passes=AXIS_PASSES[self.split],
            max_iter=self.max_iter,
            batch_size=self.batch_size,
        )
        memory = None
        if self.step == "constant":
            memory = self.memory_samples or MEMORY_SAMPLES
        return Settings(
            divergence=as_divergence(self.divergence),
            schedule=schedule,
            choose=choose,
            tol=self.tol,
            seed=seed,
            stream_batch_size=self.batch_size or STREAM_BATCH,
            memory=memory,
        )

    def _check_rows(self, X, sample_weight, reset):
        """Validated rows and weights; nothing of the estimator changes on failure."""
        X = validate_rows(self, X, reset=reset)
        weights = check_weights(sample_weight, X)
        self._check_domain(X)
        return X, weights

    def _check_domain(self, X):
        check_range(X)
        as_divergence(self.divergence).check_domain(X)

    def _on_rows(self, X, function):
        """``function(quantiser, X, n_jobs)`` of validated rows."""
        check_is_fitted(self)
        X = validate_rows(self, X, reset=False)
        self._check_domain(X)
        with single_threaded_blas():
            quantiser = self._state.model.quantiser
            return function(quantiser, X, effective_n_jobs(self.n_jobs))

    def _assign(self, model, X, weights):
        """Labels of rows and the sum of their weighted divergences."""
        n_jobs = effective_n_jobs(self.n_jobs)
        labels, divergences = model.quantiser.assign(X, n_jobs)
        return labels, float(weights @ divergences)

    def _last_call(self):
        """Labels and inertia of the rows of the last call."""
        check_is_fitted(self)
        if not hasattr(self, "_last"):
            raise AttributeError(
                "A level of a path, as at() returns it, has no labels_ and inertia_; "
                "call predict and score."
            )
        first, second = self._last
        if isinstance(second, float):
            return first, second
        with single_threaded_blas():
            return self._assign(self._state.model, first, second)

    def _warn(self, solution):
        if solution.stop_reason == "distinct_rows" and self.n_clusters is not None:
            warnings.warn(
                f"X has {len(solution.codebook)} distinct rows, fewer than "
                f"n_clusters={self.n_clusters}; there are as many codevectors.",
                ConvergenceWarning,
                stacklevel=3,
            )
        elif not solution.converged and solution.stop_reason != "callback":
            warnings.warn(
                f"Annealing ended with stop_reason_={solution.stop_reason!r} after "
                f"{solution.n_passes} passes without meeting tol={self.tol}. Raise "
                "max_iter or tol, or cool faster.",
                ConvergenceWarning,
                stacklevel=3,
            )

    @property
    def _n_features_out(self):
        return self.n_clusters_

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_state")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = self.divergence in (
            "kullback_leibler",
            "itakura_saito",
            "logistic",
        )
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _or_default(value, default):
    return default if isinstance(value, str) else value
