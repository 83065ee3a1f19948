"""Density of binary data: a pairwise model learnt by pseudo-likelihood."""

from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.utils import check_random_state

from odalib.estimators._binary import CODINGS, coding_of, to_spins
from odalib.estimators._ising_reports import (
    refuse_inference,
    warn_of_columns,
    warn_of_correction,
    warn_of_fit,
    warn_of_inference,
)
from odalib.estimators._learnt_model import BaseLearntModel
from odalib.estimators._sklearn import (
    DocumentationLink,
    Interval,
    StrOptions,
    check_weights,
    fit_context,
    validate_rows,
)
from odalib.estimators._state import all_or_nothing, check_midstream
from odalib.estimators._threads import single_threaded_blas
from odalib.estimators._updates import check_beside_penalty, check_updates
from odalib.inference.pairwise.conditioning import corrected_inference
from odalib.inference.pairwise.incomplete_fit import fit_rows
from odalib.inference.pairwise.infer import METHODS
from odalib.inference.pairwise.likelihood import Likelihood
from odalib.inference.pairwise.penalised_fit import Settings
from odalib.inference.pairwise.pseudo_likelihood import PseudoLikelihood
from odalib.inference.pairwise.stochastic_fit import Stream

__all__ = ["IsingModel"]

OBJECTIVES = {"pseudolikelihood": PseudoLikelihood, "likelihood": Likelihood}
# What a stream is built on, and cannot change under way.
FIXED = ("alpha", "penalty", "fit_method", "binarize", "coding")


class IsingModel(DocumentationLink, BaseLearntModel):
    """Density of binary data, a graph of couplings, and what is missing in rows.

    The model is ``p(x) ~ exp(x' J x / 2 + B' x)`` of spins x in {-1, 1}: the
    distribution that assumes nothing beyond the means and the correlations of pairs.
    ``J_ij`` is half of what x_j adds to the log odds of x_i whatever the other columns
    are, so that zero means independence given these.

    Parameters
    ----------
    alpha : float, default=10.0
        Strength of the penalty against all rows together: precision of a normal prior
        of every coupling, ``alpha J_ij^2 / 2``, or rate of a Laplace prior,
        ``alpha |J_ij|``. It is not per row, so that it matters less as rows become
        more. Zero is no penalty of the couplings.
    penalty : {'l2', 'l1'}, default='l2'
        With ``'l1'`` most couplings can be exactly zero; ``alpha`` is then best of the
        size of 4 to 6 times ``sqrt(n_samples)``: rows of independent columns pull at a
        coupling with a standard deviation of up to ``2 sqrt(n_samples)``, so that 4
        lets one of twenty such pairs through, and 6 one of three hundred.
    fit_method : {'pseudolikelihood', 'likelihood'}, default='pseudolikelihood'
        What is maximised: the product of the probabilities of every entry given the
        others of its row, whose cost does not explode with the number of columns; or
        that of the rows, which enumerates the states of at most 20 columns, and is a
        little better where it can be had (up to twelve columns, at once).
    inference : str, default='auto'
        Method of `odalib.infer_ising` for the log partition function and for what is
        missing. By default it is exact up to 24 columns, and 20 gaps of a row; up to
        12 gaps are enumerated with ``'adaptive_tap'`` and ``'double_loop'`` too. What
        is changed after a fit counts from the next on.
    binarize : float, default=None
        Threshold of data that are not binary: values above it are 1, others 0. None
        takes binary data only.
    coding : {'auto', 'zero_one', 'plus_minus_one'}, default='auto'
        The two values of the data. ``'auto'`` finds {-1, +1} where the first rows hold
        a -1, and else {0, 1}, and keeps to that.
    max_iter : int, default=1000
        Iterations of the fit, at the most.
    tol : float, default=1e-5
        Largest entry of the gradient that counts as converged, per row, and in
        parameters whose curvature is near one: about how far these are from the
        maximum. Where entries of the rows are missing, parameters may besides drift by
        half of their standard deviations, under the rows and the prior.
    random_state : int, RandomState instance or None, default=None
        Seeds `sample`, and what is drawn for missing entries in a fit or a stream.
        Without missing entries, a fit draws nothing.

    Attributes
    ----------
    coupling_ : ndarray of shape (n_features, n_features)
        Couplings ``J``: symmetric, zero diagonal.
    intercept_ : ndarray of shape (n_features,)
        Fields ``B``.
    log_partition_ : float
        Log of the sum of ``exp(x' J x / 2 + B' x)`` over all x, with the pair
        correction where inference is by expectation propagation. NaN where inference
        did not converge. Exact up to 24 columns; beyond, it can be off by much of the
        pair correction, and `fit` warns where that is 0.4 nats or more.
    magnetisations_ : ndarray of shape (n_features,)
        Expected spins under the model.
    correlations_ : ndarray of shape (n_features, n_features)
        Covariances of spins under the model. NaN where inference did not converge, or
        did so to what is no minimum of its free energy.
    converged_ : bool
        Whether the fit met its tolerance, and inference its own. After `partial_fit`,
        whose steps have no tolerance, inference only.
    n_iter_ : int
        Iterations of the fit; only after `fit`.
    n_samples_seen_ : float
        Weight of the rows learnt.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Where X has column names that are all strings.

    See Also
    --------
    odalib.infer_ising : Inference in a model whose couplings are known.
    sklearn.neural_network.BernoulliRBM : Hidden units in the place of couplings.

    Notes
    -----
    A column that never varies has a finite field, and says little about others; `fit`
    warns of it. One that was never observed is a fair coin without couplings. Log
    probabilities are sums over the columns of a row, and so grow with their number.

    References
    ----------
    J. Besag, "Statistical analysis of non-lattice data", The Statistician 24, 1975.

    Examples
    --------
    >>> import numpy as np
    >>> from odalib import IsingModel
    >>> rng = np.random.default_rng(0)
    >>> rain = rng.random(500) < 0.3
    >>> wet = rain ^ (rng.random(500) < 0.1)
    >>> X = np.column_stack([rain, wet, rng.random(500) < 0.5])
    >>> model = IsingModel().fit(X)
    >>> model.edges(1)
    [Edge(first='x0', second='x1', coupling=1.16...)]
    >>> model.transform([[np.nan, 1.0, 0.0]]).round(2)
    array([[0.77, 1.  , 0.  ]])
    """

    _parameter_constraints: ClassVar[dict] = {
        "alpha": [Interval(Real, 0, None, closed="left")],
        "penalty": [StrOptions({"l1", "l2"})],
        "fit_method": [StrOptions(set(OBJECTIVES))],
        "inference": [StrOptions(set(METHODS))],
        "binarize": [Interval(Real, None, None, closed="neither"), None],
        "coding": [StrOptions({"auto", *CODINGS})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        alpha=10.0,
        *,
        penalty="l2",
        fit_method="pseudolikelihood",
        inference="auto",
        binarize=None,
        coding="auto",
        max_iter=1000,
        tol=1e-5,
        random_state=None,
    ):
        self.alpha = alpha
        self.penalty = penalty
        self.fit_method = fit_method
        self.inference = inference
        self.binarize = binarize
        self.coding = coding
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Learn from all rows, from the start.

        Entries may be missing (NaN), whatever would have stood there: they are filled
        in given the rest of their row, in all ways or in ways that are drawn, while
        the couplings are learnt; rows in which nothing was observed are left out.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Binary data. The empty entries of a sparse matrix are zeros.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of w is w copies of the row; zero leaves it out.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            For values outside of the coding, with the row and the codings there are;
            where no entry was observed; for weights that are negative or all zero; and
            for an `inference` that does not serve so many columns.

        Warns
        -----
        ConvergenceWarning
            Where the fit or inference did not meet its tolerance; it states the
            gradient, the drift between rounds of filling rows, or what failed.
        UserWarning
            For columns that never vary or were never observed, by name; and where the
            log partition function is approximate, and pairs correct it by 0.4 nats
            or more.
        """
        return self._fit(X, sample_weight)

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None, sample_weight=None):
        """Learn some more rows in the order of arrival, by a step for each.

        How a stream is cut into calls changes nothing. A row costs in proportion to
        the square of the number of columns; one pass comes near what a fit to the
        same rows finds, and after `fit` a stream goes on with the small steps that
        its rows have left.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            As for `fit`. What is missing is drawn given the rest of its row.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of w is w visits to the row in turn, the last by what w has beyond
            a whole number; zero leaves the row out.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            As `fit`; for weights that sum to 1e7 more than there are rows; for
            parameters that cannot change in mid-stream; and for ``penalty='l1'`` and
            ``fit_method='likelihood'``, which need all rows at once. The estimator is
            then exactly as before.
        """
        return self._partial_fit(X, sample_weight)

    @all_or_nothing
    def _fit(self, X, sample_weight):
        rows, weights, learnt_as = self._training_spins(X, sample_weight, reset=True)
        if not len(rows):
            raise ValueError(
                "Every entry of X is missing in the rows of positive weight; there is "
                "nothing to learn from."
            )
        rng = self._generator()
        with single_threaded_blas():
            completed = fit_rows(
                rows,
                weights,
                OBJECTIVES[self.fit_method],
                rng,
                Settings(self.alpha, self.penalty, self.max_iter, self.tol),
            )
            fit = completed.fit
            learnt = PseudoLikelihood(
                completed.spins, completed.weights, completed.observed
            )
            stream = Stream.after(fit, learnt, rng)
            inferred, correction = corrected_inference(
                fit.couplings, fit.fields, self.inference
            )
        warn_of_columns(rows, self.get_feature_names_out())
        warn_of_fit(completed, self.max_iter)
        warn_of_inference(inferred)
        warn_of_correction(correction, stacklevel=6)
        self._become(stream, learnt_as, completed.converged)
        self._inferred = inferred
        self.n_iter_ = fit.n_iter

    @all_or_nothing
    def _partial_fit(self, X, sample_weight):
        if self.penalty == "l1" or self.fit_method == "likelihood":
            raise ValueError(
                "partial_fit takes a step for every row, for which it needs "
                "penalty='l2' and fit_method='pseudolikelihood'; the others need all "
                "rows at once, in fit."
            )
        first = not hasattr(self, "_stream")
        if not first:
            check_midstream(self, self._fixed)
        rows, weights, learnt_as = self._training_spins(X, sample_weight, reset=first)
        check_updates(weights)
        if first:
            stream = Stream.begin(rows.shape[1], self._generator())
        else:
            stream = self._stream
        with single_threaded_blas():
            stream = stream.learn(rows, weights, self.alpha)
        self._become(stream, learnt_as, True)
        for name in ("_inferred", "n_iter_"):
            vars(self).pop(name, None)

    def _training_spins(self, X, sample_weight, *, reset):
        """Spins of the rows that tell something, their weights, coding and dtype."""
        if isinstance(self.binarize, bool):
            raise ValueError(
                f"binarize={self.binarize} is no threshold. Give the number above "
                "which values are 1, such as 0.5; None takes binary data."
            )
        rows = validate_rows(self, X, reset=reset, missing=True)
        refuse_inference(self.inference, rows.shape[1])
        weights = check_weights(sample_weight, rows)
        check_beside_penalty(weights)
        if not reset:
            coding = self._coding
        elif self.coding != "auto":
            coding = self.coding
        elif self.binarize is not None:
            coding = "zero_one"
        else:
            coding = coding_of(rows)
        spins = to_spins(rows, coding, self.binarize)
        telling = (weights > 0) & spins.any(axis=1)
        return spins[telling], weights[telling], (coding, rows.dtype.type)

    def _generator(self):
        """Make the generator of random numbers that ``random_state`` seeds."""
        seed = check_random_state(self.random_state).randint(2**31)
        return np.random.default_rng(seed)

    def _become(self, stream, learnt_as, converged):
        """Take over what was learnt."""
        coding, dtype = learnt_as
        vars(self).update(
            _stream=stream,
            _coding=coding,
            _dtype=dtype,
            _inference=self.inference,
            _fit_converged=converged,
            _fixed={name: getattr(self, name) for name in FIXED},
            coupling_=stream.couplings.astype(dtype),
            intercept_=stream.fields.astype(dtype),
            n_samples_seen_=float(stream.n_seen),
        )
