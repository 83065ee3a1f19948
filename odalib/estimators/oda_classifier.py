"""Classification by online deterministic annealing."""

from numbers import Integral
from typing import ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import Bunch
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from odalib.estimators._annealing import BaseAnnealer, fitted_attribute
from odalib.estimators._labels import (
    classes_of,
    encode,
    labels_in_stream,
    training_rows,
)
from odalib.estimators._metric import METRICS, check_metric, metric_features
from odalib.estimators._scores import ScoreMixin
from odalib.estimators._sklearn import (
    Interval,
    LevelCallbacks,
    StrOptions,
    fit_context,
    with_callbacks,
)
from odalib.estimators._state import on_one_state
from odalib.inference.annealing.batch import Batch
from odalib.inference.annealing.groups import MAX_CLASSES
from odalib.inference.annealing.local.class_vote import ClassVote
from odalib.inference.annealing.local.voting import (
    class_log_probabilities,
    class_probabilities,
    explain_votes,
)

__all__ = ["ODAClassifier"]

# Most codevectors where their number is left open.
MAX_CODEVECTORS = 100


class ODAClassifier(ScoreMixin, ClassifierMixin, BaseAnnealer):
    """Classification by codevectors that carry a class, in memory or from a stream.

    Each class is annealed into codevectors of its own, all at one temperature, so that
    they go to the classes and places that vary most. Codevectors vote for their class
    by their divergence from a row; how, is chosen on rows held out. They are read as
    rows of X, and every prediction can be traced to one of them.

    Parameters
    ----------
    n_codevectors : int, default=None
        Number of codevectors in all; every class has one at least. None takes the
        number that predicts rows held out best, up to ``max_codevectors``.
    max_codevectors : int, default=100
        Largest number to choose from where ``n_codevectors`` is None; more classes
        than that have one each.
    decision : {'auto', 'nearest', 'bayes'}, default='auto'
        A row is of the class of its nearest codevector; or of the class with the
        largest sum of ``rho_i exp(-d(x, mu_i) / T)`` over its codevectors. ``'auto'``
        takes what predicts rows held out better. Probabilities agree with either.
    metric : {'auto', 'learned'} or None, default='auto'
        ``'learned'`` compares rows with codevectors in the metric of the rows about
        their codevectors, shrunk towards the identity as predicts rows held out best;
        for the squared Euclidean divergence, and dense rows. None takes the divergence
        as it is, and ``'auto'`` learns where it can and there are 500 features or
        fewer.
    polish : {'cross_entropy'} or None, default='cross_entropy'
        Move the codevectors that annealing found to where their votes predict the
        classes best, by as many steps as serve rows held out, none included. None
        leaves codevectors means of their cells. ``partial_fit`` goes on from polished
        codevectors, and does not polish.
    class_weight : dict, 'balanced' or None, default=None
        Weight of the rows of each class; ``'balanced'`` makes classes weigh the same,
        and is for `fit` only.
    divergence : str or object, default='squared_euclidean'
        As for `ODAClusterer`.
    resolutions : list, default=None
        Feature maps from coarse to fine, each a `Resolution` or what that takes as its
        ``features``. Each codevector of a level has children among those of the next,
        which see rows of its cell only; the number of codevectors decides in how many
        cells classes are told apart, those first that are wrong about most rows. None
        for one level that sees all features.
    max_temperature : float, default=None
        Temperature of the first level, in units of the divergence. None starts just
        above the first critical temperature of the data, so that results do not
        depend on the units of X.
    min_temperature : float, default=None
        Annealing ends before it gets colder.
    cooling : float or 'auto', default='auto'
        Factor of the temperature from level to level. ``'auto'`` is 0.7.
    target_distortion : float, default=None
        Annealing ends once the mean divergence is this low.
    merge_tol : float or 'auto', default='auto'
        Codevectors of a class nearer than this many temperatures are one. ``'auto'``
        is 1 for ``split='critical'`` and 0.01 for ``'perturb'``.
    idle_tol : float, default=1e-6
        Codevectors with a smaller share of the rows are dropped while annealing.
    split : {'critical', 'perturb'}, default='critical'
        As for `ODAClusterer`.
    batch_size : int, default=None
        Rows per step of stochastic approximation. None lets `fit` iterate on all rows
        at once, and `partial_fit` take 256 at a time.
    step : {'decreasing', 'constant'}, default='decreasing'
        Steps of `partial_fit`: averages over all rows, or over the last
        ``memory_samples``, which follows drift.
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
    classes_ : ndarray of shape (n_classes,)
        Sorted.
    codevectors_ : ndarray of shape (n_codevectors, n_features)
        In the dtype of the training rows; with resolutions, the mean rows of the
        leaves.
    codevector_classes_ : ndarray of shape (n_codevectors,)
        Class of each codevector.
    codevector_weights_ : ndarray of shape (n_codevectors,)
        Weight of each codevector in the vote; they sum to one. Shares of the rows,
        until they are polished.
    decision_ : {'nearest', 'bayes'}
        What was chosen.
    temperature_ : float
        Last positive temperature of annealing, in units of the divergence.
    vote_temperature_ : float
        Temperature of the vote, in units of its divergence.
    metric_ : ndarray of shape (n_features, n_features) or None
        Precision in which rows are compared with codevectors, at the last level.
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
    EPProbitClassifier : Linear, with probabilities from a posterior.

    References
    ----------
    C. Mavridis and J. Baras, "Multi-Resolution Online Deterministic Annealing: A
    Hierarchical and Progressive Learning Architecture".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from odalib import ODAClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = ODAClassifier(n_codevectors=6, random_state=0).fit(X, y)
    >>> classifier.codevectors_.shape, classifier.codevector_classes_.shape
    ((6, 4), (6,))
    >>> bool(classifier.score(X, y) > 0.95)
    True
    >>> classifier.explain(X[:2]).codevector.shape
    (2,)
    """

    _parameter_constraints: ClassVar[dict] = {
        "n_codevectors": [Interval(Integral, 1, None, closed="left"), None],
        "max_codevectors": [Interval(Integral, 1, None, closed="left")],
        "decision": [StrOptions({"auto", "nearest", "bayes"})],
        "metric": [StrOptions(METRICS), None],
        "polish": [StrOptions({"cross_entropy"}), None],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        **BaseAnnealer._parameter_constraints,
    }

    def __init__(
        self,
        n_codevectors=None,
        *,
        max_codevectors=MAX_CODEVECTORS,
        decision="auto",
        metric="auto",
        polish="cross_entropy",
        class_weight=None,
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
        self.decision = decision
        self.metric = metric
        self.polish = polish
        self.class_weight = class_weight
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
    codevector_weights_ = fitted_attribute("quantiser.weights", "Weights in the vote.")
    decision_ = fitted_attribute("tree.finest.cells.decision", "What was chosen.")
    vote_temperature_ = fitted_attribute(
        "tree.finest.cells.temperature", "Temperature of the vote."
    )

    @property
    @on_one_state
    def tree_(self):
        """Codevectors of all resolutions, their parents, weights and classes."""
        check_is_fitted(self)
        return self._state.model.summary.labelled(self._labels)

    @property
    def metric_(self):
        """Precision in which rows are compared with codevectors, or None."""
        check_is_fitted(self)
        return self._state.model.tree.finest.cells.precision

    @property
    def classes_(self):
        """Classes, sorted."""
        if "_labels" not in vars(self):
            raise AttributeError("classes_ is known after fit or partial_fit.")
        return np.sort(self._labels)

    @property
    @on_one_state
    def codevector_classes_(self):
        """Class of each codevector."""
        check_is_fitted(self)
        return self._labels[self._state.model.quantiser.groups % MAX_CLASSES]

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Anneal all rows, from the start.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels, numbers or text.
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of w is w copies of the row; zero leaves it out.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            For rows as `ODAClusterer.fit`; for labels that are missing, continuous or
            all the same; for fewer codevectors than classes; and for a resolution that
            fails or gives another number of rows, which is named.

        Warns
        -----
        ConvergenceWarning
            For fewer distinct rows than ``n_codevectors``, and when ``max_iter`` ended
            annealing.
        """
        callbacks = LevelCallbacks(self, X, sample_weight)
        return self._anneal(X, y, sample_weight, callbacks)

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn from some more rows of a stream.

        How a stream is cut into calls changes nothing. It is annealed in memory on
        its first 2,048 rows (or 16 per codevector), and followed by stochastic
        approximation from there; the temperature of the vote follows what has
        predicted rows best before they were learnt. A class first met in the stream
        has a codevector from then on.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels.
        classes : array-like of shape (n_classes,), default=None
            All labels that the stream may hold; others are then refused. None lets
            classes join as they come.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; None for one each.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            As `fit`, except for labels that are all the same; for another number of
            features; and for labels that are none of ``classes``. The estimator is
            then exactly as before.
        """
        return self._learn(X, y, sample_weight, classes=classes)

    @on_one_state
    def predict(self, X):
        """Most probable class of every row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Of ``classes_``.
        """
        probabilities = self._on_rows(X, self._class_probabilities)
        return self.classes_[probabilities.argmax(axis=0)]

    @on_one_state
    def predict_proba(self, X):
        """Probability of every class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the dtype of X, columns in the order of ``classes_``. The votes of W rows
            are trusted with ``W / (W + 1)``, so that none is zero.
        """
        probabilities = self._on_rows(X, self._class_probabilities)
        return np.ascontiguousarray(probabilities.T)

    @on_one_state
    def predict_log_proba(self, X):
        """Logarithm of `predict_proba`, without loss where that underflows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
            In the dtype of X.
        """
        return self._on_rows(X, self._class_log_probabilities)

    @on_one_state
    def explain(self, X):
        """Tell which codevector decided the class of every row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        explanation : Bunch
            ``codevector``, the index into ``codevectors_`` of the one with the largest
            vote for the class that won; ``divergence`` from it, in the metric of the
            vote (``metric_``); and ``margin``, by how much the nearest codevector of
            another class is farther, which may be negative where several votes add
            up, and is infinite where a cell knows one class only. Each an ndarray of
            shape (n_samples,).
        """
        explanation = self._on_rows(X, explain_votes)
        return Bunch(**vars(explanation))

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

        Without rows its codevectors are as annealing left them, not polished; with
        those of the fit they are polished, and predict about as a fit of that number.

        Parameters
        ----------
        n_codevectors : int, default=None
            A number of codevectors up to that of the fit, and no fewer than classes.
            With resolutions, no fewer than the nodes of the last but one level that
            have leaves, counted once for each of the classes of their leaves.
        temperature : float, default=None
            Takes the coldest level that is not colder than this.
        X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
            Rows to polish on.
        y : array-like of shape (n_samples,), default=None
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights; None for one each.

        Returns
        -------
        classifier : ODAClassifier
            Predicts, pickles and goes on learning like any other.

        Raises
        ------
        ValueError
            For a number or a temperature that is not on the path, and for labels that
            the fit has not met.
        TypeError
            For a number that is not an integer.
        """
        rows = self._rows_to_learn(X, y, sample_weight)
        return self._at("n_codevectors", n_codevectors, temperature, rows)

    def _class_log_probabilities(self, tree, X, n_jobs):
        """Log probabilities in the order of ``classes_`` and the dtype of X."""
        values = class_log_probabilities(tree, X, len(self._labels), n_jobs)
        return values[:, np.argsort(self._labels)].astype(X.dtype)

    def _class_probabilities(self, tree, X, n_jobs):
        """Probabilities in the dtype of X, (n_classes, n) in the order of classes."""
        values = class_probabilities(tree, X, len(self._labels), n_jobs)
        order = np.argsort(self._labels)
        if (np.diff(order) != 1).any():
            values = values[order]
        return values.astype(X.dtype, copy=False)

    def _number_wanted(self):
        if self.n_codevectors is None:
            return self.max_codevectors, True
        return self.n_codevectors, False

    def _local_models(self, last):
        decisions = (self.decision,)
        if self.decision == "auto":
            decisions = ("bayes", "nearest")
        return ClassVote(
            decisions=decisions,
            metric_features=metric_features(self.metric),
            # Cells that have children are those of annealing.
            polish=last and self.polish is not None,
        )

    def _check_batch(self, X, y, sample_weight, reset, in_stream=False, classes=None):
        """Validate rows, labels and weights; rows of no weight are left out."""
        rows, labels, weights = training_rows(self, X, y, sample_weight, reset=reset)
        self._check_values(rows, reset)
        check_metric(self, rows)
        if in_stream:
            learnt = self._labels_in_stream(labels, reset, classes)
        elif reset:
            learnt = {"_labels": classes_of(self, labels), "_announced": False}
            self._check_number(len(learnt["_labels"]))
        else:
            learnt = {"_labels": self._labels, "_announced": self._announced}
        known = learnt["_labels"]
        codes = encode(labels, known)
        if self.class_weight is not None:
            weights = weights * self._weights_by_class(labels, known)
        return Batch(rows, weights, codes), learnt

    def _weights_by_class(self, labels, known):
        """Weight of the class of every row, shape (n,)."""
        # Rows that a level of the path learns may lack a class, which has no share.
        balanced = self.class_weight == "balanced"
        classes = np.unique(labels) if balanced else known
        weights = compute_class_weight(self.class_weight, classes=classes, y=labels)
        if not ((weights > 0) & np.isfinite(weights)).all():
            raise ValueError(
                "class_weight must be positive and finite for every class, got "
                f"{self.class_weight!r}; leave rows out by their sample_weight."
            )
        return weights[encode(labels, classes)]

    def _labels_in_stream(self, labels, first, classes):
        """Labels by their codes, after some more of them, and whether others may come.

        Codes stay; a label first met gets the next one.
        """
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' needs all labels and is for fit; give "
                "partial_fit the weights as a dict, or as sample_weight."
            )
        known, fixed = (None, False) if first else (self._labels, self._announced)
        known, fixed = labels_in_stream(self, labels, known, fixed, classes)
        if not fixed:
            check_classification_targets(labels)
        self._check_number(len(known))
        return {"_labels": known, "_announced": fixed}

    def _check_number(self, n_classes):
        """Refuse fewer codevectors than classes."""
        if self.n_codevectors is not None and self.n_codevectors < n_classes:
            raise ValueError(
                f"n_codevectors={self.n_codevectors} is less than the {n_classes} "
                "classes, each of which has a codevector; raise it."
            )

    def _kept_by_levels(self):
        kept = super()._kept_by_levels()
        return kept | {"_labels": self._labels, "_announced": self._announced}
