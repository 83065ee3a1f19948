"""Probit regression by assumed-density filtering."""

from copy import copy
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from odalib.estimators._adf import Beliefs
from odalib.estimators._decomposition import Decomposition
from odalib.estimators._labels import (
    announced_classes,
    classes_of,
    encode,
    training_rows,
)
from odalib.estimators._linear import LinearProbit
from odalib.estimators._multiclass import BaseProbitClassifier
from odalib.estimators._prior import check_latent_range, weight_variances
from odalib.estimators._sklearn import Interval, StrOptions, fit_context
from odalib.estimators._state import all_or_nothing, check_midstream, on_one_state
from odalib.estimators._threads import single_threaded_blas
from odalib.estimators._updates import check_updates
from odalib.inference.ep.orderings import draw_order

__all__ = ["ADFProbitClassifier"]

# What a stream is built on, and cannot change under way.
FIXED = (
    "prior_variance",
    "fit_intercept",
    "intercept_variance",
    "multi_class",
    "covariance",
)


class ADFProbitClassifier(LinearProbit, BaseProbitClassifier):
    """Bayesian probit regression in one pass, for streams and for sparse rows.

    Keeps a Gaussian belief about the weights, and after every row takes over the mean
    and the covariance of what the row makes of it (assumed-density filtering, also
    known as Bayesian online learning). There is no learning rate: how far a row moves
    a weight is a matter of how uncertain it still is.

    Parameters
    ----------
    prior_variance : float or array-like of shape (n_features,), default=1.0
        Variance of the weights before the first row, of all or of each; the noise of
        the probit has variance 1. Standardise features, or choose it by their scale.
    fit_intercept : bool, default=True
        Whether to learn an intercept.
    intercept_variance : float, default=10.0
        Prior variance of the intercept; wide enough for one class in a thousand.
    multi_class : {'ovo', 'ovr'}, default='ovo'
        More than two classes: a problem for every pair of classes, whose
        probabilities are coupled; or one for every class against the others, whose
        probabilities are normalised.
    covariance : {'full', 'diagonal'}, default='full'
        Keep the covariances of all weights, at a cost of n_features^2 a row; or
        variances only, at a cost of the number of its entries for a sparse row, for
        very many features.
    forgetting : float, default=1.0
        In (0, 1]. After each row the mean keeps this share of its difference from the
        prior, and the covariance the square of it, so that about the last
        ``1 / (1 - forgetting)`` rows count; 1 forgets nothing. Each row so adds
        ``1 - forgetting**2`` prior variances to what is uncertain: to follow a slow
        drift, lower ``prior_variance`` as well. A problem of two classes forgets by
        the rows of these.
    n_orderings : int, default=1
        `fit` goes through the rows in so many orders, which costs so many times as
        much, and averages: the result depends less on the order, and what the orders
        disagree about counts as uncertainty.
    shuffle : bool, default=True
        Whether `fit` goes through the rows in random order, or as they come.
    random_state : int, RandomState instance or None, default=None
        Seeds the orders. They depend on what rows hold, not on where they stand.

    Attributes
    ----------
    coef_ : ndarray of shape (n_problems, n_features)
        Means of the weights. There is one problem for two classes, else
        ``n_classes (n_classes - 1) / 2`` for 'ovo', those of the classes (0, 1),
        (0, 2), ..., positive for the second, and ``n_classes`` for 'ovr'.
    intercept_ : ndarray of shape (n_problems,)
    covariance_ : ndarray of shape (n_problems, n_weights, n_weights)
        Covariances of the weights, the intercept last; (n_problems, n_weights) for
        ``covariance='diagonal'``, the variances.
    classes_ : ndarray of shape (n_classes,)
    n_samples_seen_ : float
        Weight of the rows learnt.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Where X has column names that are all strings.

    See Also
    --------
    EPProbitClassifier : The same model, where the rows are at hand.

    Notes
    -----
    The result depends on the order of the rows, as would the evidence, which is
    therefore not given. Sorted rows, as by their labels, are the worst: in a stream
    that comes sorted, shuffle as much as memory allows.

    References
    ----------
    M. Opper, "A Bayesian approach to on-line learning", in "On-line Learning in
    Neural Networks", Cambridge University Press, 1998.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from odalib import ADFProbitClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> classifier = ADFProbitClassifier(random_state=0).fit(scale(X), y)
    >>> round(classifier.score(scale(X), y), 3)
    0.989
    """

    _parameter_constraints: ClassVar[dict] = {
        "prior_variance": [Interval(Real, 0, None, closed="neither"), "array-like"],
        "fit_intercept": ["boolean"],
        "intercept_variance": [Interval(Real, 0, None, closed="neither")],
        "multi_class": [StrOptions({"ovo", "ovr"})],
        "covariance": [StrOptions({"full", "diagonal"})],
        "forgetting": [Interval(Real, 0, 1, closed="right")],
        "n_orderings": [Interval(Integral, 1, None, closed="left")],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        prior_variance=1.0,
        *,
        fit_intercept=True,
        intercept_variance=10.0,
        multi_class="ovo",
        covariance="full",
        forgetting=1.0,
        n_orderings=1,
        shuffle=True,
        random_state=None,
    ):
        self.prior_variance = prior_variance
        self.fit_intercept = fit_intercept
        self.intercept_variance = intercept_variance
        self.multi_class = multi_class
        self.covariance = covariance
        self.forgetting = forgetting
        self.n_orderings = n_orderings
        self.shuffle = shuffle
        self.random_state = random_state

    @property
    @on_one_state
    def coef_(self):
        """Means of the weights, shape (n_problems, n_features)."""
        check_is_fitted(self)
        return self._beliefs.moments[0][:, : self.n_features_in_]

    @property
    @on_one_state
    def intercept_(self):
        """Means of the intercepts, shape (n_problems,)."""
        check_is_fitted(self)
        means = self._beliefs.moments[0]
        if self._beliefs.fit_intercept:
            return means[:, -1]
        return np.zeros_like(means, shape=len(means))

    @property
    def covariance_(self):
        """Covariances or variances of the weights, the intercept last."""
        check_is_fitted(self)
        return self._beliefs.moments[1]

    @property
    def n_samples_seen_(self):
        """Weight of the rows learnt."""
        check_is_fitted(self)
        return self._beliefs.n_seen

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Learn all rows, from the prior, in random order.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels of at least two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of w is w copies of the row, each visited in its turn, and one of
            its likelihood to the power of what w has beyond a whole number; zero
            leaves it out. Costs as much as their sum has rows.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            For values that are not finite or whose squares overflow, weights that are
            negative, all zero or sum to 1e7 more than there are rows, labels of one
            class only,
            variances that are not positive and as many as features, and several
            orderings without ``shuffle``.
        """
        return self._fit(X, y, sample_weight)

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn some more rows, in the order of arrival.

        How a stream is cut into calls changes nothing, but for rounding where 200
        weights and more have all their covariances. After `fit`, the stream goes on
        from what was fitted. ``forgetting`` may change between calls; what the belief
        is made of may not.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels; classes may be missing.
        classes : array-like of shape (n_classes,), default=None
            All labels that may come; required on the first call.
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of w is w successive updates, and one by the likelihood to the
            power of what w has beyond a whole number; zero leaves the row out.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            As `fit`, and for labels that were not announced, classes or features
            that differ from those of the calls before, and parameters that cannot
            change in mid-stream. The estimator is then exactly as before.
        """
        return self._learn(X, y, classes, sample_weight)

    @all_or_nothing
    def _fit(self, X, y, sample_weight):
        if self.n_orderings > 1 and not self.shuffle:
            raise ValueError(
                f"n_orderings={self.n_orderings} averages over random orders of the "
                "rows; set shuffle=True."
            )
        rows, labels, weights = training_rows(self, X, y, sample_weight, reset=True)
        classes = classes_of(self, labels)
        prior = self._begin(classes, rows)
        check_updates(weights)
        codes = encode(labels, classes)
        with single_threaded_blas():
            beliefs = Beliefs.average(
                [
                    prior.learn(rows, codes, *visits)
                    for visits in self._visits(rows, codes, weights)
                ]
            )
        self._become(classes, beliefs)

    @all_or_nothing
    def _learn(self, X, y, classes, sample_weight):
        first = not hasattr(self, "_beliefs")
        if not first:
            check_midstream(self, self._fixed)
        rows, labels, weights = training_rows(self, X, y, sample_weight, reset=first)
        classes = announced_classes(self, classes, None if first else self.classes_)
        codes = encode(labels, classes)
        if first:
            beliefs = self._begin(classes, rows)
        else:
            beliefs = self._beliefs.forgetting(self.forgetting)
            check_latent_range(rows, beliefs.prior_variances)
        check_updates(weights)
        with single_threaded_blas():
            learnt = beliefs.learn(rows, codes, weights)
        self._become(classes, learnt, beliefs.means)

    def _begin(self, classes, rows):
        """Return the prior, for rows that are in its range."""
        variances = weight_variances(
            self.prior_variance,
            self.intercept_variance if self.fit_intercept else None,
            rows.shape[1],
        )
        check_latent_range(rows, variances)
        return Beliefs.begin(
            Decomposition(len(classes), self.multi_class),
            variances,
            self.covariance,
            self.fit_intercept,
            rows.dtype.type,
        ).forgetting(self.forgetting)

    def _visits(self, rows, codes, weights):
        """Yield weights and rows of visits, None for all, in the orders asked for."""
        if not self.shuffle:
            yield weights, None
            return
        random_state = check_random_state(self.random_state)
        for seed in random_state.randint(2**31, size=self.n_orderings):
            visits, shares = draw_order(rows, codes, weights, int(seed))
            yield shares, visits

    def _become(self, classes, beliefs, means_before=None):
        """Take over what was learnt."""
        self.classes_ = classes
        self._decomposition = beliefs.decomposition
        self._beliefs, self._means_before = beliefs, means_before
        self._fixed = {name: copy(getattr(self, name)) for name in FIXED}

    def _beliefs_of_problems(self):
        return self._beliefs.of_problems

    def _prior_variances(self):
        return self._beliefs.prior_variances

    def _latent_without_roots(self, rows):
        return self._beliefs.latent(rows)
