"""Probit regression by expectation propagation."""

from copy import copy
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from odalib.estimators._decomposition import Decomposition
from odalib.estimators._labels import (
    announced_classes,
    classes_of,
    encode,
    labelled_rows,
)
from odalib.estimators._linear import LinearProbit
from odalib.estimators._multiclass import stack_moments
from odalib.estimators._narrowing import narrowed
from odalib.estimators._prior import (
    check_latent_range,
    weight_variances,
    with_intercept,
)
from odalib.estimators._propagation import BasePropagation
from odalib.estimators._sklearn import Interval, StrOptions, fit_context
from odalib.estimators._state import (
    all_or_nothing,
    cached_fitted,
    check_midstream,
)
from odalib.estimators._threads import single_threaded_blas
from odalib.inference.ep.gaussians.weights import DenseBelief, prior_belief
from odalib.inference.ep.multiple import Learnt, learn_problems
from odalib.inference.ep.regression import regress, regress_by_evidence
from odalib.inference.ep.solvers import ITERATIVE

__all__ = ["EPProbitClassifier"]

BY_EVIDENCE = ("evidence", "ard")
# What a stream is built on, and cannot change under way.
FIXED = ("prior_variance", "fit_intercept", "intercept_variance", "multi_class")


class EPProbitClassifier(LinearProbit, BasePropagation):
    """Bayesian linear classifier: probit regression by expectation propagation.

    The weights have a normal prior, ``P(y = 1 | x, w) = Phi(x' w)``, and their
    posterior is approximated by the normal distribution whose moments agree with
    those of the data, row by row. Probabilities integrate over that posterior, so
    that few or distant rows give probabilities near one half; the log evidence
    compares priors and sets of features without held-out data.

    Parameters
    ----------
    prior_variance : float, array-like of shape (n_features,), 'evidence' or 'ard', \
default=1.0
        Variance of the weights before data, in units of one over those of X
        squared. ``'evidence'`` takes the one of largest log evidence (and the
        intercept's own) in every problem; ``'ard'`` one per feature, which finds
        irrelevant features in large data and overfits small ones.
    fit_intercept : bool, default=True
        Whether the latent value has a constant term.
    intercept_variance : float, default=10.0
        Prior variance of the intercept; wide enough for one class in a thousand.
        Where the evidence chooses, it chooses this too.
    multi_class : {'ovo', 'ovr'}, default='ovo'
        One problem for every pair of classes, whose probabilities are coupled, and
        made as sure as rows that are left out allow; or one for every class against
        the rest, whose probabilities are normalised, which is often far worse
        calibrated. Two classes are one problem.
    solver : {'auto', 'parallel', 'sequential', 'blocked', 'double_loop', \
'variational'}, default='auto'
        Way to the fixed point, which is the same for all but ``'variational'``: that
        maximises a lower bound of the evidence. ``'auto'`` tries parallel
        updates, then sequential ones by blocks, then the double loop.
    max_iter : int, default=200
        Iterations of one solver, at the most.
    tol : float, default=1e-6
        Largest change of a site that counts as converged, in posterior standard
        deviations of its latent value.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (n_problems, n_features)
        Posterior means of the weights. One problem for two classes; else those of
        the pairs (0, 1), (0, 2), ..., positive for the second class, or of
        ``'ovr'`` one per class.
    intercept_ : ndarray of shape (n_problems,)
    covariance_ : ndarray of shape (n_problems, n_features + 1, n_features + 1)
        Posterior covariance, intercept last. Only where it is not larger than the
        data: fitted with fewer rows than features, `posterior_covariance` forms it.
    prior_variance_ : ndarray of shape (n_problems, n_features)
        Prior variances of the weights, as given or found.
    intercept_variance_ : ndarray of shape (n_problems,)
        Only with ``fit_intercept``.
    log_evidence_ : ndarray of shape (n_problems,)
        Log probability of the labels of all rows seen, in nats. Of a stream, that of
        each call given those before, added up: it depends on how the stream is cut.
    site_precision_, site_shift_ : ndarray of shape (n_problems, n_samples)
        Sites of the rows of the last call, zero where a row takes no part.
    n_iter_ : ndarray of int of shape (n_problems,)
        Iterations of the last call.
    converged_ : bool
        Whether all problems met the tolerance in the last call.
    residuals_ : list of list of float
        Residual of every iteration of the last call, per problem.
    solver_ : list of str
        The solver whose result it is, per problem.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Where X has column names that are all strings.

    See Also
    --------
    ADFProbitClassifier : One pass, for streams that never end or that drift.
    EPGaussianProcessClassifier : The same for latent functions of any kernel.

    Notes
    -----
    On separable data with a wide prior the posterior is skewed: standard deviations
    then come out a fifth too small or worse, the log evidence 0.1 to 0.2 too low.

    References
    ----------
    T. Minka, "Expectation propagation for approximate Bayesian inference", UAI 2001.
    M. Opper and O. Winther, "Gaussian processes for classification: mean-field
    algorithms", Neural Computation 12, 2000.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from odalib import EPProbitClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), EPProbitClassifier("evidence"))
    >>> model.fit(X, y).score(X, y) > 0.98
    True
    >>> model[-1].log_evidence_.round(1)
    array([-55.])
    """

    _parameter_constraints: ClassVar[dict] = {
        "prior_variance": [
            Interval(Real, 0, None, closed="neither"),
            StrOptions(set(BY_EVIDENCE)),
            "array-like",
        ],
        "fit_intercept": ["boolean"],
        "intercept_variance": [Interval(Real, 0, None, closed="neither")],
        "multi_class": [StrOptions({"ovo", "ovr"})],
        "solver": [StrOptions({"auto", *ITERATIVE})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        prior_variance=1.0,
        *,
        fit_intercept=True,
        intercept_variance=10.0,
        multi_class="ovo",
        solver="auto",
        max_iter=200,
        tol=1e-6,
    ):
        self.prior_variance = prior_variance
        self.fit_intercept = fit_intercept
        self.intercept_variance = intercept_variance
        self.multi_class = multi_class
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Learn from all rows, from the start.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels of any type.
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of w is w copies of the row; zero leaves it out.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            For values that are not finite or too large to be squared, labels that
            are no classes or all of one class, weights that are negative or all
            zero, and prior variances that are not positive.

        Warns
        -----
        ConvergenceWarning
            Where no solver met the tolerance; it states the residual.
        """
        return self._fit(X, y, sample_weight)

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn from some more rows; what was learnt before is their prior.

        Within a call the result is that of expectation propagation; between calls
        it is assumed-density filtering, since the sites of earlier calls stay. One
        call with all rows is a fit.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels; classes may be missing.
        classes : array-like of shape (n_classes,), default=None
            All labels that may come; needed on the first call only.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; None for one each.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            As `fit`, for a label that was not announced, and for a prior variance
            by evidence, which needs all rows at once. The estimator is then exactly
            as before.
        """
        return self._partial_fit(X, y, classes, sample_weight)

    def posterior_covariance(self):
        """Posterior covariance of the weights, however many there are.

        Returns
        -------
        covariance : ndarray of shape (n_problems, n_features + 1, n_features + 1)
            Intercept last; without one, no last row and column.
        """
        check_is_fitted(self)
        return self._covariances(ValueError)

    def _covariances(self, refusal):
        """Posterior covariances of the weights in the dtype of the rows."""
        covariances = [belief.covariance() for belief in self._learnt.beliefs]
        what = "Posterior covariances of weights"
        return narrowed(np.array(covariances), self._dtype, what, refusal)

    @cached_fitted
    def covariance_(self):
        """Posterior covariance of the weights, where rows outnumber features."""
        if not all(isinstance(b, DenseBelief) for b in self._learnt.beliefs):
            raise AttributeError(
                "covariance_ is not formed where features outnumber rows; call "
                "posterior_covariance()."
            )
        return self._covariances(AttributeError)

    def _loo_moments(self):
        if self._loo is None:
            raise ValueError(
                "The rows of this fit stayed on the workers, and so did what is left "
                "when one is left out. Fit in memory, or call partial_fit, to have it."
            )
        return self._loo

    def _beliefs_of_problems(self):
        return self._learnt.beliefs

    def _prior_variances(self):
        return np.max(self._learnt.variances, axis=0)

    def _latent_without_roots(self, rows):
        design = self._design(rows)
        beliefs = self._learnt.beliefs
        return stack_moments(belief.latent(design) for belief in beliefs)

    @all_or_nothing
    def _fit(self, X, y, sample_weight):
        rows, labels, weights = labelled_rows(self, X, y, sample_weight, reset=True)
        classes = classes_of(self, labels[weights > 0])
        decomposition = Decomposition(len(classes), self.multi_class)
        before = self._nothing_learnt(decomposition)
        by_evidence = isinstance(self.prior_variance, str)
        learn = self._learn_by_evidence if by_evidence else self._learn_more
        self._become(rows, labels, weights, classes, decomposition, before, learn)

    @all_or_nothing
    def _partial_fit(self, X, y, classes, sample_weight):
        first = not hasattr(self, "_learnt")
        if not first:
            check_midstream(self, self._fixed)
        elif isinstance(self.prior_variance, str):
            raise ValueError(
                f"prior_variance={self.prior_variance!r} chooses the variance by the "
                "evidence of all rows, which a stream does not have at once; give a "
                "number, or call fit first and go on from there."
            )
        rows, labels, weights = labelled_rows(self, X, y, sample_weight, reset=first)
        classes = announced_classes(self, classes, getattr(self, "classes_", None))
        if first:
            decomposition = Decomposition(len(classes), self.multi_class)
            before = self._nothing_learnt(decomposition)
        else:
            decomposition, before = self._decomposition, self._learnt
        self._become(
            rows,
            labels,
            weights,
            classes,
            decomposition,
            before,
            self._learn_more,
            means_before=[belief.mean for belief in before.beliefs],
        )

    def _become(
        self,
        rows,
        labels,
        weights,
        classes,
        decomposition,
        before,
        learn,
        means_before=None,
    ):
        """Learn from rows, and put the result in the place of what was learnt."""
        weighing = np.flatnonzero(weights > 0)
        codes = encode(labels[weighing], classes)
        sides = [problem.rows(codes) for problem in decomposition.problems]
        check_latent_range(rows, np.max(before.variances, axis=0))
        with single_threaded_blas():
            learnt, report, *loo = learn_problems(
                self._design(rows),
                weights,
                before,
                [(weighing[taking_part], y) for taking_part, y in sides],
                learn,
            )
            mean, variance = (moments[weighing] for moments in loo)
            decomposition = decomposition.sharpened(
                mean, variance, codes, weights[weighing]
            )
        state = {
            "classes_": classes,
            "_decomposition": decomposition,
            "_learnt": learnt,
            "_loo": loo,
            "_means_before": means_before,
            "_dtype": rows.dtype.type,
            "_fixed": {name: copy(getattr(self, name)) for name in FIXED},
            **self._of_weights(learnt, rows.dtype),
            **self._of_report(report, depth=6),
        }
        for name in ("covariance_", "intercept_variance_"):
            vars(self).pop(name, None)
        vars(self).update(state)

    def _nothing_learnt(self, decomposition):
        """Priors of all problems; where the evidence chooses, until it has."""
        by_evidence = isinstance(self.prior_variance, str)
        variances = weight_variances(
            1.0 if by_evidence else self.prior_variance,
            self.intercept_variance if self.fit_intercept else None,
            self.n_features_in_,
        )
        n_problems = len(decomposition.problems)
        return Learnt(
            [prior_belief(variances)] * n_problems,
            [variances] * n_problems,
            np.zeros(n_problems),
        )

    def _learn_more(self, X, y, row_weights, belief, variances):
        return regress(X, y, row_weights, belief, **self._options()), variances

    def _learn_by_evidence(self, X, y, row_weights, belief, variances):
        groups = np.arange(len(variances))
        if self.prior_variance == "evidence":
            groups = (groups == self.n_features_in_).astype(int)
        return regress_by_evidence(X, y, row_weights, groups, **self._options())

    def _options(self):
        return {"solver": self.solver, "max_iter": self.max_iter, "tol": self.tol}

    def _design(self, rows):
        """Rows in float64, with a last column for the intercept."""
        rows = with_intercept(rows) if self.fit_intercept else rows
        return rows.astype(np.float64, copy=False)

    def _of_weights(self, learnt, dtype):
        """Fitted attributes that tell of the weights, in the dtype of the rows."""
        means = np.array([belief.mean for belief in learnt.beliefs])
        means = narrowed(means, dtype, "Posterior means of weights")
        # Not in float32, whose range their squares may leave.
        variances = np.array(learnt.variances)
        n_features = self.n_features_in_
        weights = {
            "coef_": means[:, :n_features],
            "prior_variance_": variances[:, :n_features],
            "log_evidence_": learnt.log_evidence,
        }
        if not self.fit_intercept:
            return {**weights, "intercept_": np.zeros(len(means), dtype)}
        return {
            **weights,
            "intercept_": means[:, -1],
            "intercept_variance_": variances[:, -1],
        }
