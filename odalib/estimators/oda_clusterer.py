"""Clustering by online deterministic annealing."""

from functools import partial
from numbers import Integral
from typing import ClassVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from odalib.estimators._annealing import BaseAnnealer, fitted_attribute
from odalib.estimators._scores import weighted_mean
from odalib.estimators._sklearn import (
    Interval,
    LevelCallbacks,
    fit_context,
    with_callbacks,
)
from odalib.estimators._state import on_one_state
from odalib.estimators._threads import single_threaded_blas
from odalib.inference.annealing.tree import Tree

__all__ = ["ODAClusterer"]

# Rows of a call of partial_fit are kept until their labels are asked for, where they
# have no more entries than this: 8 MB.
KEPT_ENTRIES = 2**20


class ODAClusterer(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseAnnealer
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
        ``hessian_diagonal(points)`` and ``check_domain(X)``, such as a `Mahalanobis`
        with a given precision.
    resolutions : list, default=None
        Feature maps from coarse to fine, each a `Resolution` or what that takes as its
        ``features``. Each codevector of a level has children among those of the next,
        which see rows of its cell only; ``n_clusters`` is the number at the last. None
        for one level that sees all features.
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
    tree_ : AnnealingTree
        Codevectors of all resolutions, their parents and weights.
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
        log temperature, exceeds the next longest; infinite where there is no other.
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

    _parameter_constraints: ClassVar[dict] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "max_clusters": [Interval(Integral, 1, None, closed="left")],
        **BaseAnnealer._parameter_constraints,
    }

    def __init__(
        self,
        n_clusters=None,
        *,
        max_clusters=30,
        divergence="squared_euclidean",
        resolutions=None,
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
        self.resolutions = resolutions
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

    cluster_centers_ = fitted_attribute("tree.finest.points", "Codevectors.")
    cluster_weights_ = fitted_attribute("quantiser.weights", "Shares of the rows.")
    n_clusters_ = fitted_attribute("quantiser.n_codevectors", "Number of codevectors.")

    def _after(self, state, batch, in_stream):
        """Rows of the call, assigned, or to be when they are asked for."""
        if in_stream and batch.rows.size <= KEPT_ENTRIES:
            return {"_last": RowsToAssign(state, batch.kept())}
        return {"_last": assign_rows(state, batch, self._n_threads())}

    @on_one_state
    def _last_call(self):
        """Labels and sum of divergences of the rows of the last call."""
        check_is_fitted(self)
        if not hasattr(self, "_last"):
            raise AttributeError(
                "A level of a path, as at() returns it, and a fit of "
                "odalib.distributed have no rows of their own; call predict and score."
            )
        if isinstance(self._last, RowsToAssign):
            return self._last.assigned
        return self._last

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
            Present for the interface of scikit-learn.
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of w is w copies of the row; zero leaves it out.

        Returns
        -------
        self
            The fitted estimator.

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
        callbacks = LevelCallbacks(self, X, sample_weight)
        return self._anneal(X, None, sample_weight, callbacks)

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
            Present for the interface of scikit-learn.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; None for one each.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            As `fit`, and for another number of features. The estimator is then
            exactly as before.
        """
        return self._learn(X, None, sample_weight)

    @on_one_state
    def predict(self, X):
        """Nearest codevector of every row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of int of shape (n_samples,)
            Indices into ``cluster_centers_``.
        """
        return self._on_rows(X, lambda tree, *args: tree.cells(*args)[-1])

    @on_one_state
    def predict_proba(self, X):
        """Give the Gibbs association of every row with the codevectors.

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
        return self._on_rows(X, Tree.association)

    @on_one_state
    def predict_log_proba(self, X):
        """Logarithm of `predict_proba`, without loss where that underflows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_clusters_)
            In the dtype of X.
        """
        return self._on_rows(X, partial(Tree.association, log=True))

    @on_one_state
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
        return self._on_rows(X, Tree.divergences)

    @on_one_state
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
            In nats, in the dtype of X.
        """
        return self._on_rows(X, Tree.log_density)

    @on_one_state
    def score(self, X, y=None, sample_weight=None):
        """Give minus the weighted mean divergence of rows from their codevectors.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : Ignored
            Present for the interface of scikit-learn.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; None for one each.

        Returns
        -------
        score : float
            In units of the divergence; the higher the better.
        """
        divergences = self._on_rows(X, lambda tree, *args: tree.assign(*args)[1])
        if sample_weight is None:
            return -float(np.average(divergences))
        return -weighted_mean(divergences, sample_weight)

    @on_one_state
    def at(self, *, n_clusters=None, temperature=None):
        """Fitted estimator of another level of the path, without a fit.

        Parameters
        ----------
        n_clusters : int, default=None
            A number of codevectors up to that of the fit (``max_clusters`` where it
            was chosen by the fit). With resolutions, no fewer than the nodes of the
            last but one level that have leaves.
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
        TypeError
            For a number that is not an integer.
        """
        return self._at("n_clusters", n_clusters, temperature)

    def _number_wanted(self):
        if self.n_clusters is None:
            return self.max_clusters, True
        return self.n_clusters, False

    @property
    def _n_features_out(self):
        return self.n_clusters_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def assign_rows(state, batch, n_jobs):
    """Labels of rows and the sum of their weighted divergences."""
    labels, divergences = state.model.tree.assign(batch.rows, n_jobs)
    return labels, float(batch.weights @ divergences)


class RowsToAssign:
    """Rows of a call, assigned when first asked for.

    A call for every row of a stream then stays cheap. The rows are not pickled, and
    kept no longer.
    """

    def __init__(self, state, batch):
        self.state = state
        self.batch = batch

    @property
    def assigned(self):
        """Labels, and the sum of the weighted divergences."""
        # Several threads may ask: what one of them drops the others hold.
        held = vars(self)
        if "assigned" not in held:
            with single_threaded_blas():
                assigned = assign_rows(held["state"], held["batch"], n_jobs=1)
            # At once, so that an interrupt loses neither.
            self.__dict__ = held = {"assigned": assigned}
        return held["assigned"]

    def __getstate__(self):
        return {"assigned": self.assigned}
