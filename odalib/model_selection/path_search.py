"""Selection of the number of codevectors along the annealing path."""

import warnings
from copy import deepcopy
from numbers import Integral, Real
from time import perf_counter
from typing import ClassVar

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.model_selection import check_cv
from sklearn.utils import Bunch, get_tags, indexable
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from odalib.estimators._labels import read_labels
from odalib.estimators._persistence import Versioned
from odalib.estimators._sklearn import (
    HasMethods,
    StrOptions,
    fit_context,
    takes_sample_weight,
)
from odalib.estimators._state import all_or_nothing
from odalib.model_selection.delegation import BestEstimatorMixin, best_has
from odalib.model_selection.folds import (
    Fold,
    choose,
    given,
    held_by_all,
    report_failures,
    tabulate,
)
from odalib.model_selection.levels import numbers_to_try, path_parameter

__all__ = ["PathSearchCV"]


class PathSearchCV(BestEstimatorMixin, MetaEstimatorMixin, Versioned, BaseEstimator):
    """Cross-validated number of codevectors, with one fit per fold.

    A fit with many codevectors holds, on its annealing path, the codebooks of every
    smaller number. So each fold is fitted once, with the largest number, and all
    numbers are scored on its held-out rows as ``at`` returns them; local models and
    polish of classifiers and regressors learn the rows of the fold again, without
    annealing. Then the chosen number is fitted on all rows. A grid search would fit
    every number in every fold.

    Parameters
    ----------
    estimator : estimator or Pipeline
        One with a path, such as `ODAClusterer`, alone or as the last step of a
        pipeline. Clones of it are fitted; it stays as it is.
    values : array-like of int, default=None
        Numbers to try. None tries every one from 1 to the number that the estimator
        is set to, or to its ``max_clusters`` or ``max_codevectors`` where that is
        None, as far as the folds have rows; for a classifier, from the number of
        classes on. Of these it leaves out what the path of a fold does not hold: with
        resolutions, a path ends at a number that depends on the cells.
    scoring : str or callable, default=None
        Name of a scikit-learn scorer, or a callable ``scorer(estimator, X, y)``,
        without ``y`` where `fit` is given none; larger is better. None takes the
        ``score`` of the estimator. Distortion falls with every codevector, so that
        ``score`` by itself nearly always prefers the largest number; scores that use
        labels, or a silhouette, can prefer a smaller one.
    cv : int, cross-validation generator or iterable, default=None
        As in scikit-learn's `GridSearchCV`; None for five folds. Integers do not
        shuffle: give a splitter that does where the rows are in an order.
    rule : {'one_standard_error', 'best'}, default='one_standard_error'
        Take the smallest number whose mean score is within one standard error of the
        best mean (the error of that mean over the folds), since smaller differences
        are noise; or the best mean.
    refit : bool, default=True
        Fit the estimator with the chosen number on all rows.
    n_jobs : int, default=None
        Folds that are fitted at the same time.
    verbose : int, default=0
        1 prints a line per fold.
    error_score : 'raise' or float, default=nan
        Score where fitting or scoring failed, with a warning; a number that the path
        of a fold does not hold, or that the scorer refuses, has failed there.
        ``'raise'`` raises the error.

    Attributes
    ----------
    cv_results_ : dict of ndarrays
        Columns of a table with a row per number, in rising order, as `GridSearchCV`
        has it: ``param_<name>``, ``params``, ``split<i>_test_score``,
        ``mean_test_score``, ``std_test_score``, ``rank_test_score``, times, and
        ``standard_error_test_score``. The fit time of a fold is that of its one fit,
        the same for every number.
    best_index_ : int
        Row of the chosen number.
    best_params_ : dict
        The chosen number by the name that ``set_params`` of the estimator takes.
    best_score_ : float
        Mean score of the chosen number over the folds.
    best_estimator_ : estimator
        Fitted on all rows with the chosen number; where ``refit`` is True.
    labels_ : ndarray of shape (n_samples,)
        Of `best_estimator_`, or of the last step of a pipeline.
    n_features_in_ : int
        Of `best_estimator_`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Of `best_estimator_`, where it has them.
    n_splits_ : int
        Number of folds.
    refit_time_ : float
        Seconds of the last fit; where ``refit`` is True.
    scorer_ : callable
        What scored.

    See Also
    --------
    ODAClusterer : With ``n_clusters=None`` it chooses the number without folds.

    References
    ----------
    T. Hastie, R. Tibshirani and J. Friedman, "The Elements of Statistical Learning",
    2nd edition, section 7.10, for the one-standard-error rule.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from odalib import PathSearchCV, ODAClusterer
    >>> X, y = make_blobs(300, centers=4, cluster_std=0.5, random_state=2)
    >>> search = PathSearchCV(
    ...     ODAClusterer(n_clusters=12, random_state=0), scoring="adjusted_rand_score"
    ... ).fit(X, y)
    >>> search.best_params_
    {'n_clusters': 4}
    >>> search.predict(X).shape
    (300,)
    """

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit"])],
        "values": ["array-like", None],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "cv": ["cv_object"],
        "rule": [StrOptions({"one_standard_error", "best"})],
        "refit": ["boolean"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "error_score": [StrOptions({"raise"}), Real],
    }

    def __init__(
        self,
        estimator,
        *,
        values=None,
        scoring=None,
        cv=None,
        rule="one_standard_error",
        refit=True,
        n_jobs=None,
        verbose=0,
        error_score=np.nan,
    ):
        self.estimator = estimator
        self.values = values
        self.scoring = scoring
        self.cv = cv
        self.rule = rule
        self.refit = refit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.error_score = error_score

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None, **params):
        """Score all numbers with one fit per fold, and fit the chosen one.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,), default=None
            For scorers and estimators that use it.
        **params : dict
            Passed to ``fit`` of the estimator, those of one entry per row cut like X.
            ``sample_weight`` also goes to a scorer that takes it, and ``groups`` to
            the splitter only. With ``enable_metadata_routing=True``, what was
            requested goes where it was.

        Returns
        -------
        self : PathSearchCV
            Fitted.

        Raises
        ------
        TypeError
            For an estimator that has no path.
        ValueError
            For ``values`` that are no positive integers, for the one-standard-error
            rule with a single fold, and where no number has a score in every fold.

        Warns
        -----
        FitFailedWarning
            Where some folds could not be fitted.
        """
        return self._fit(X, y, params)

    @all_or_nothing
    def _fit(self, X, y, params):
        """Search, and fit the best."""
        parameter = path_parameter(self.estimator)
        if is_classifier(self.estimator):
            # Which scikit-learn's splitters and scorers do not take in all forms.
            y = read_labels(self.estimator, y)
        X, y = indexable(X, y)
        routed = self._route(params)
        cv = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        splits = list(cv.split(X, y, **routed.splitter.split))
        if self.rule == "one_standard_error" and len(splits) < 2:
            raise ValueError(
                "rule='one_standard_error' needs at least two folds; cv gave "
                f"{len(splits)}. Give more, or rule='best'."
            )
        n_rows = min(len(train) for train, _ in splits)
        numbers = numbers_to_try(self.estimator, parameter, self.values, y, n_rows)
        scorer = self._scorer()
        fold = Fold(
            estimator=clone(self.estimator).set_params(**{parameter: numbers[-1]}),
            name=parameter.rpartition("__")[2],
            numbers=numbers,
            all_wanted=self.values is not None,
            scorer=scorer,
            fit_params=routed.estimator.fit,
            score_params=routed.scorer.score,
            error_score=self.error_score,
            verbose=self.verbose,
        )
        outcomes = Parallel(n_jobs=self.n_jobs)(
            delayed(fold.run)(X, y, train, test) for train, test in splits
        )
        numbers, outcomes = held_by_all(numbers, outcomes)
        report_failures(outcomes, self.error_score)
        results = tabulate(parameter, numbers, outcomes)
        best_index = choose(results, self.rule)
        best_params = results["params"][best_index]
        if self.refit:
            start = perf_counter()
            best_estimator = clone(self.estimator).set_params(**best_params)
            best_estimator.fit(*given(X, y), **routed.estimator.fit)
            self.refit_time_ = perf_counter() - start
            self.best_estimator_ = best_estimator
        self.cv_results_ = results
        self.best_index_ = best_index
        self.best_params_ = best_params
        self.best_score_ = float(results["mean_test_score"][best_index])
        self.n_splits_ = len(splits)
        self._scoring = self.scoring

    @property
    def scorer_(self):
        """What scored."""
        check_is_fitted(self)
        return check_scoring(self.estimator, scoring=self._scoring)

    @available_if(best_has("fit"))
    def score(self, X, y=None, **params):
        """Score the best estimator with ``scoring``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,), default=None
            For scorers that use it.
        **params : dict
            Passed to the scorer.

        Returns
        -------
        score : float
            Larger is better.
        """
        check_is_fitted(self)
        if get_config()["enable_metadata_routing"]:
            params = process_routing(self, "score", **params).scorer.score
        return self.scorer_(self.best_estimator_, *given(X, y), **params)

    def get_metadata_routing(self):
        """Return what this estimator passes on, and to whom.

        Returns
        -------
        routing : MetadataRouter
            `fit` passes to ``fit`` of the estimator, ``split`` of the splitter and
            the scorer; `score` to the scorer.
        """
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        to_split = MethodMapping().add(caller="fit", callee="split")
        to_score = MethodMapping().add(caller="fit", callee="score")
        return (
            MetadataRouter(owner=self)
            .add(estimator=self.estimator, method_mapping=to_fit)
            .add(splitter=self.cv, method_mapping=to_split)
            .add(
                scorer=self._scorer(),
                method_mapping=to_score.add(caller="score", callee="score"),
            )
        )

    def __sklearn_tags__(self):
        return deepcopy(get_tags(self.estimator))

    def _scorer(self):
        return check_scoring(self.estimator, scoring=self.scoring)

    def _route(self, params):
        """Parameters of fit by who receives them."""
        if get_config()["enable_metadata_routing"]:
            return process_routing(self, "fit", **params)
        fit_params = {name: params[name] for name in params if name != "groups"}
        score_params = {}
        if params.get("sample_weight") is not None:
            if takes_sample_weight(self._scorer()):
                score_params = {"sample_weight": params["sample_weight"]}
            else:
                warnings.warn(
                    f"scoring={self.scoring!r} takes no sample_weight; held-out rows "
                    "count the same in every score.",
                    UserWarning,
                    stacklevel=6,
                )
        return Bunch(
            estimator=Bunch(fit=fit_params),
            splitter=Bunch(split={"groups": params.get("groups")}),
            scorer=Bunch(score=score_params),
        )
