"""Regression by online deterministic annealing."""

from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from odalib.estimators._annealing import BaseAnnealer, fitted_attribute
from odalib.estimators._metric import METRICS, check_metric, metric_features
from odalib.estimators._narrowing import narrowed
from odalib.estimators._scores import ScoreMixin
from odalib.estimators._sklearn import (
    HasMethods,
    Interval,
    LevelCallbacks,
    StrOptions,
    as_floats,
    check_weights,
    fit_context,
    refuse_collection,
    validate_rows,
    with_callbacks,
)
from odalib.estimators._state import on_one_state
from odalib.inference.annealing.batch import Batch
from odalib.inference.annealing.bregman import check_range, check_weighted_squares
from odalib.inference.annealing.local.base import LocalModels
from odalib.inference.annealing.local.learners import CellLearners
from odalib.inference.annealing.local.moments import MomentCells
from odalib.inference.annealing.local.regressing import predictions
from odalib.inference.annealing.local.regression import CellRegression
from odalib.inference.annealing.targets import TargetWeight

__all__ = ["ODARegressor"]

# Most codevectors where their number is left open.
MAX_CODEVECTORS = 300


class ODARegressor(ScoreMixin, RegressorMixin, BaseAnnealer):
    """Regression by local models in the cells of codevectors, from batches or a stream.

    The rows are annealed into cells, and in each a local model is learnt beside: a
    linear model drawn to the linear fit to all rows, a constant, or a learner of the
    user's. Predictions blend those of the cells near a row, and are continuous; how
    widely, is chosen on rows held out.

    Parameters
    ----------
    n_codevectors : int, default=None
        Number of codevectors. None takes one for every six rows, up to
        ``max_codevectors``: blending and the draw towards the global fit keep many
        small cells from doing harm.
    max_codevectors : int, default=300
        Largest number where ``n_codevectors`` is None.
    local_model : {'linear', 'constant'} or object, default='linear'
        Model of a cell, or a regressor with ``partial_fit`` and ``predict``, of which
        every cell has a copy; where that was taught nothing, the nearest that was
        predicts. Beyond 128 features, linear models slope along the 128
        leading principal axes.
    blend : bool, default=True
        Predict by the local models of all codevectors, weighted by the Gibbs
        association; or by that of the nearest codevector alone.
    metric : {'auto', 'learned'} or None, default='auto'
        ``'learned'`` compares rows in the metric of the slopes, their average outer
        product, so that features which say nothing of y do not cut cells; for linear
        models, the squared Euclidean divergence and dense rows, and kept where it
        predicts rows held out better. None takes the divergence as it is, and
        ``'auto'`` learns where it can, there are 500 features or fewer, and ``step`` is
        ``'decreasing'``: a stream keeps the metric of its first rows, which drift
        makes stale.
    target_weight : float, default=0.0
        What y counts for in the divergence while rows anneal, w in
        ``(1 - w) d(x, mu) + w (y - nu)^2``, y scaled to vary as much as the rows do.
        Cells are then smaller where y changes fast. Rows are assigned to cells
        without it.
    ridge : float, default=None
        Rows that draw every local model to the global fit. None takes what predicts
        rows held out best.
    divergence : str or object, default='squared_euclidean'
        As for `ODAClusterer`.
    resolutions : list, default=None
        Feature maps from coarse to fine, each a `Resolution` or what that takes as its
        ``features``. Each codevector of a level has children among those of the next,
        which see rows of its cell only, and local models are of the last. None for one
        level that sees all features.
    max_temperature : float, default=None
        Temperature of the first level, in units of the divergence. None starts just
        above the first critical temperature of the data.
    min_temperature : float, default=None
        Annealing ends before it gets colder.
    cooling : float or 'auto', default='auto'
        Factor of the temperature from level to level. ``'auto'`` is 0.7.
    target_distortion : float, default=None
        Annealing ends once the mean divergence is this low.
    merge_tol : float or 'auto', default='auto'
        Codevectors nearer than this many temperatures are one. ``'auto'`` is 1 for
        ``split='critical'`` and 0.01 for ``'perturb'``.
    idle_tol : float, default=1e-6
        Codevectors with a smaller share of the rows are dropped while annealing.
    split : {'critical', 'perturb'}, default='critical'
        As for `ODAClusterer`.
    batch_size : int, default=None
        Rows per step of stochastic approximation. None lets `fit` iterate on all rows
        at once, and `partial_fit` take 256 at a time.
    step : {'decreasing', 'constant'}, default='decreasing'
        Steps of `partial_fit`: averages over all rows, or over the last
        ``memory_samples``, which follows drift. Local models always follow faster than
        the cells move.
    memory_samples : float, default=None
        Rows that ``step='constant'`` remembers; None for 4096.
    tol : float, default=1e-4
        As for `ODAClusterer`.
    max_iter : int, default=10000
        Passes over the rows of one annealing run, at the most.
    random_state : int, RandomState instance or None, default=None
        Seeds the directions of splits, which rows are held out, and the sample of more
        than 10,000 rows. The numbers depend on what rows hold, not on their order.
    n_jobs : int, default=None
        Threads over blocks of rows. The result is the same bits for every number.
    verbose : int, default=0
        1 prints a line per temperature level.

    Attributes
    ----------
    codevectors_ : ndarray of shape (n_codevectors, n_features)
        In the dtype of the training rows; with resolutions, the mean rows of the
        leaves.
    codevector_weights_ : ndarray of shape (n_codevectors,)
        Share of the rows of each codevector; they sum to one.
    local_coef_ : ndarray of shape (n_codevectors, n_features) or \
            (n_codevectors, n_features, n_targets)
        Slopes of the linear models, in the features of the last level; zero for
        constants.
    local_intercept_ : ndarray of shape (n_codevectors,) or (n_codevectors, n_targets)
        The local model of codevector i is ``local_intercept_[i] + local_coef_[i] @ x``.
    local_models_ : tuple
        Learners of the cells, where ``local_model`` is one.
    temperature_ : float
        Last positive temperature of annealing, in units of the divergence.
    blend_temperature_ : float or None
        Temperature of the association that blends, in units of ``metric_``.
    metric_ : ndarray of shape (n_features, n_features) or None
        Precision in which rows are compared, where one was learnt.
    annealing_path_ : AnnealingPath
        Temperature, number of codevectors, distortion, entropy, free energy and
        codebook of every level of temperature; of the last resolution.
    tree_ : AnnealingTree
        Codevectors of all resolutions, their parents and weights.
    n_iter_ : int
        Passes over the rows; after partial_fit, steps.
    n_samples_seen_ : float
        Weight of the rows seen.
    converged_ : bool
    stop_reason_ : str
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Where X has column names that are all strings.

    See Also
    --------
    PathSearchCV : The number of codevectors by cross-validation, one fit per fold.

    References
    ----------
    C. Mavridis and J. Baras, "Multi-Resolution Online Deterministic Annealing: A
    Hierarchical and Progressive Learning Architecture".

    Examples
    --------
    >>> import numpy as np
    >>> from odalib import ODARegressor
    >>> X = np.linspace(0.0, 6.0, 300)[:, np.newaxis]
    >>> y = np.sin(X[:, 0])
    >>> regressor = ODARegressor(n_codevectors=12, random_state=0).fit(X, y)
    >>> bool(regressor.score(X, y) > 0.99)
    True
    >>> mean, spread = regressor.predict(X[:3], return_std=True)
    >>> spread.shape
    (3,)
    """

    _parameter_constraints: ClassVar[dict] = {
        "n_codevectors": [Interval(Integral, 1, None, closed="left"), None],
        "max_codevectors": [Interval(Integral, 1, None, closed="left")],
        "local_model": [
            StrOptions({"linear", "constant"}),
            HasMethods(["partial_fit", "predict"]),
        ],
        "blend": ["boolean"],
        "metric": [StrOptions(METRICS), None],
        "target_weight": [Interval(Real, 0, 1, closed="left")],
        "ridge": [Interval(Real, 0, None, closed="neither"), None],
        **BaseAnnealer._parameter_constraints,
    }

    def __init__(
        self,
        n_codevectors=None,
        *,
        max_codevectors=MAX_CODEVECTORS,
        local_model="linear",
        blend=True,
        metric="auto",
        target_weight=0.0,
        ridge=None,
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
        self.n_codevectors = n_codevectors
        self.max_codevectors = max_codevectors
        self.local_model = local_model
        self.blend = blend
        self.metric = metric
        self.target_weight = target_weight
        self.ridge = ridge
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

    codevectors_ = fitted_attribute("tree.finest.points", "Codevectors.")
    codevector_weights_ = fitted_attribute("quantiser.weights", "Shares of the rows.")
    blend_temperature_ = fitted_attribute(
        "tree.finest.cells.temperature", "Temperature of the association that blends."
    )

    @property
    @on_one_state
    def local_coef_(self):
        """Slopes of the linear models of the cells."""
        return self._as_published(self._linear_models()[0])

    @property
    @on_one_state
    def local_intercept_(self):
        """Intercepts of the linear models of the cells."""
        return self._as_published(self._linear_models()[1])

    def _linear_models(self):
        check_is_fitted(self)
        level = self._state.model.tree.finest
        if not isinstance(level.cells, MomentCells):
            raise AttributeError(
                "The local models are learners; they are in local_models_."
            )
        return level.cells.in_features(level.quantiser.shift)

    @property
    def local_models_(self):
        """Learners of the cells."""
        check_is_fitted(self)
        cells = self._state.model.tree.finest.cells
        if isinstance(cells, MomentCells):
            raise AttributeError(
                "local_models_ holds learners, of a local_model that is one; linear "
                "models and constants are in local_coef_ and local_intercept_."
            )
        return cells.learners

    @property
    def metric_(self):
        """Precision in which rows are compared, where one was learnt, or None."""
        check_is_fitted(self)
        divergence = self._state.model.quantiser.divergence
        if self.divergence == "squared_euclidean":
            return getattr(divergence, "precision", None)
        return None

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None):
        """Anneal all rows and fit the local models, from the start.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of w is w copies of the row; zero leaves it out.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            For rows as `ODAClusterer.fit`; for targets that are missing or not
            finite; and for a resolution that fails or gives another number of rows,
            which is named.

        Warns
        -----
        ConvergenceWarning
            For fewer distinct rows than ``n_codevectors``, and when ``max_iter`` ended
            annealing.
        """
        callbacks = LevelCallbacks(self, X, sample_weight)
        return self._anneal(X, y, sample_weight, callbacks)

    def partial_fit(self, X, y, sample_weight=None):
        """Learn from some more rows of a stream.

        How a stream is cut into calls changes nothing. It is annealed in memory on
        its first 2,048 rows (or 16 per codevector), and followed by stochastic
        approximation from there. Local models average over fewer rows than the cells
        do, so that they follow them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; None for one each.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            As `fit`, and for another number of features or targets. The estimator is
            then exactly as before.
        """
        return self._learn(X, y, sample_weight)

    @on_one_state
    def predict(self, X, return_std=False):
        """Predict the targets of every row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        return_std : bool, default=False
            Give the standard deviation of y about the prediction as well: of the rows
            held out inside `fit`, and of the rows of a stream before they were learnt,
            by cell.

        Returns
        -------
        values : ndarray of shape (n_samples,) or (n_samples, n_targets)
            In the dtype of X.
        std : ndarray of the same shape
            Where asked for.

        Raises
        ------
        ValueError
            For targets or variances of them that the dtype of X does not hold.
        """
        (values, variance), dtype = self._on_rows(
            X, lambda tree, X, n_jobs: (predictions(tree, X, n_jobs), X.dtype)
        )
        values = self._as_published(narrowed(values, dtype, "Predictions of X"))
        if not return_std:
            return values
        variance = narrowed(variance, dtype, "Variances of predictions of X")
        return values, self._as_published(np.sqrt(variance))

    @on_one_state
    def at(
        self,
        *,
        n_codevectors=None,
        temperature=None,
        X=None,
        y=None,
        sample_weight=None,
    ):
        """Fitted estimator of another level of the path, without annealing.

        Without rows its local models are those of the fit, merged; with those of the
        fit they are learnt anew, and predict about as a fit of that number.

        Parameters
        ----------
        n_codevectors : int, default=None
            A number of codevectors up to that of the fit. With resolutions, no fewer
            than the nodes of the last but one level that have leaves.
        temperature : float, default=None
            Takes the coldest level that is not colder than this.
        X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
            Rows to learn from.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights; None for one each.

        Returns
        -------
        regressor : ODARegressor
            Predicts, pickles and goes on learning like any other.

        Raises
        ------
        ValueError
            For a number or a temperature that is not on the path.
        TypeError
            For a number that is not an integer.
        """
        rows = self._rows_to_learn(X, y, sample_weight)
        return self._at("n_codevectors", n_codevectors, temperature, rows)

    def _as_published(self, values):
        """Values of one target without an axis for it."""
        return values[..., 0] if self._one_target else values

    def _number_wanted(self):
        if self.n_codevectors is None:
            return self.max_codevectors, True
        return self.n_codevectors, False

    def _local_models(self, last):
        if not last:
            return LocalModels()
        target = TargetWeight(float(self.target_weight))
        if not isinstance(self.local_model, str):
            return CellLearners(self.local_model, bool(self.blend), target)
        slopes = self.local_model == "linear"
        metric = self.metric
        if metric == "auto" and self.step == "constant":
            metric = None
        return CellRegression(
            slopes=slopes,
            blend=bool(self.blend),
            metric_features=metric_features(metric),
            ridge=self.ridge,
            target=target,
        )

    def _check_batch(self, X, y, sample_weight, reset, in_stream=False):
        """Validate rows, targets and weights."""
        rows = validate_rows(self, X, reset=reset)
        targets = self._read_targets(y)
        check_consistent_length(rows, targets)
        weights = check_weights(sample_weight, rows)
        if targets.size:
            check_weighted_squares(targets, weights, "y")
        self._check_values(rows, reset)
        check_metric(self, rows)
        if not reset:
            self._check_same_targets(targets.shape[1:])
        learnt = {"_one_target": targets.ndim == 1}
        return Batch(rows, weights, targets.reshape(len(targets), -1)), learnt

    def _read_targets(self, y):
        """Targets as finite float64, of one or two dimensions."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is "
                "None."
            )
        refuse_collection("y", y)
        try:
            with as_floats("y"):
                y = check_array(
                    y,
                    ensure_2d=False,
                    allow_nd=True,
                    ensure_min_samples=0,
                    ensure_min_features=0,
                    dtype=np.float64,
                    input_name="y",
                )
        except ValueError as error:
            raise ValueError(f"y must be finite numbers. {error}") from error
        if y.ndim > 2 or y.ndim == 0 or 0 in y.shape[1:]:
            raise ValueError(
                "y must have shape (n_samples,) or (n_samples, n_targets), with one "
                f"target at least, got {y.shape}."
            )
        check_range(y, "y")
        return y

    def _check_same_targets(self, shape):
        """Refuse another shape of the targets of a row than before."""
        before = () if self._one_target else (self._state.n_targets,)
        if shape != before:
            now, then = (
                ", ".join(["n_samples", *map(str, one)]) for one in (shape, before)
            )
            raise ValueError(
                f"y has shape ({now}), and ({then}) in the calls before; give it in "
                "that shape, or call fit to begin anew."
            )

    def _kept_by_levels(self):
        return super()._kept_by_levels() | {"_one_target": self._one_target}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
