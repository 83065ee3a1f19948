"""Gaussian-process classification by expectation propagation."""

from numbers import Integral
from typing import ClassVar

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.gaussian_process.kernels import CompoundKernel, Kernel
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from odalib.estimators._decomposition import Decomposition
from odalib.estimators._evidence_search import settled
from odalib.estimators._labels import classes_of, encode, labelled_rows
from odalib.estimators._latent_function import (
    ExactFunction,
    InducedFunction,
    default_kernel,
    latent_moments,
    loo_moments,
    mean_and_bound,
)
from odalib.estimators._propagation import BasePropagation
from odalib.estimators._sklearn import (
    Interval,
    StrOptions,
    fit_context,
    validate_structures,
)
from odalib.estimators._state import all_or_nothing, on_one_state
from odalib.estimators._threads import single_threaded_blas
from odalib.estimators.oda_clusterer import ODAClusterer
from odalib.inference.ep.multiple import Report
from odalib.inference.ep.solvers import ITERATIVE

__all__ = ["EPGaussianProcessClassifier"]

# Residual of the sites, which leaves the log evidence with about twice the digits.
TOL = 1e-6
SCHEMES = {"one_vs_rest": "ovr", "one_vs_one": "ovo"}


class EPGaussianProcessClassifier(BasePropagation):
    """Gaussian-process classifier: a latent function, by expectation propagation.

    The latent function has a Gaussian-process prior with a kernel of scikit-learn,
    ``P(y = 1 | f) = Phi(f)``, and its posterior is approximated by the Gaussian
    process whose moments agree with those of the data, row by row: more exact than
    Laplace's approximation at the mode, in its probabilities and in the evidence.
    It takes the place of scikit-learn's GaussianProcessClassifier.

    Parameters
    ----------
    kernel : kernel instance, default=None
        Covariance of the latent function. None is ``1.0 * RBF(1.0)``, held fixed.
        Hyperparameters are optimised in a fit, within their bounds.
    optimizer : 'fmin_l_bfgs_b', callable or None, default='fmin_l_bfgs_b'
        Maximises the log evidence over the hyperparameters; None keeps them. A
        callable is ``optimizer(obj_func, initial_theta, bounds)``, minimises, and
        returns the best theta and its value.
    n_restarts_optimizer : int, default=0
        Further searches, from values drawn log-uniformly within the bounds.
    max_iter_predict : int, default=100
        Iterations of one solver, at the most.
    warm_start : bool, default=False
        Start from the sites of the last fit, where it had as many rows. Within a
        fit every evaluation starts from the last anyway.
    copy_X_train : bool, default=True
        Keep a copy of the training rows, rather than the array given.
    random_state : int, RandomState instance or None, default=None
        Seeds the restarts, and the choice of inducing points.
    multi_class : {'one_vs_rest', 'one_vs_one'}, default='one_vs_rest'
        A latent function for every class, whose probabilities are normalised; or
        for every pair of classes, whose probabilities are coupled.
    n_jobs : int, default=None
        Problems of more than two classes that are fitted at a time. The result is
        the same bits for every number.
    solver : {'auto', 'parallel', 'sequential', 'blocked', 'double_loop', \
'variational'}, default='auto'
        Way to the fixed point, which is the same for all but ``'variational'``: that
        maximises a lower bound of the evidence.
    inducing_points : int, array-like of shape (m, n_features) or None, default=None
        Points through which rows hear of each other: a fit then costs
        O(n_samples m^2), and no array of (n_samples, n_samples) is formed. An
        integer takes so many codevectors of the rows (`ODAClusterer`).

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_classes_ : int
    kernel_ : kernel instance
        With the hyperparameters found; of more than two classes a CompoundKernel of
        those of every problem.
    log_marginal_likelihood_value_ : float
        Log evidence, in nats; of more than two classes the mean over the problems.
    X_train_ : array of shape (n_samples, n_features)
    inducing_points_ : ndarray of shape (m, n_features)
        Only with ``inducing_points``.
    site_precision_, site_shift_ : ndarray of shape (n_problems, n_samples)
        Sites of the rows, zero where a row takes no part.
    n_iter_ : ndarray of int of shape (n_problems,)
        Iterations with the hyperparameters of the end.
    converged_ : bool
    residuals_ : list of list of float
        Residual of every iteration, per problem.
    solver_ : list of str
        The solver whose result it is, per problem.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Where X has column names that are all strings.

    See Also
    --------
    EPProbitClassifier : The same with a linear latent function, for large data.

    References
    ----------
    C. Rasmussen and C. Williams, "Gaussian Processes for Machine Learning", 2006,
    sections 3.6 and 5.5.2.
    A. Naish-Guzman and S. Holden, "The generalized FITC approximation", NIPS 2007.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from odalib import EPGaussianProcessClassifier
    >>> X, y = make_moons(200, noise=0.3, random_state=0)
    >>> model = EPGaussianProcessClassifier(1.0 * RBF(1.0)).fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    >>> model.predict_proba([[0.0, 1.0], [10.0, 10.0]]).round(2)
    array([[0.95, 0.05],
           [0.5 , 0.5 ]])
    """

    _parameter_constraints: ClassVar[dict] = {
        "kernel": [Kernel, None],
        "optimizer": [StrOptions({"fmin_l_bfgs_b"}), callable, None],
        "n_restarts_optimizer": [Interval(Integral, 0, None, closed="left")],
        "max_iter_predict": [Interval(Integral, 1, None, closed="left")],
        "warm_start": ["boolean"],
        "copy_X_train": ["boolean"],
        "random_state": ["random_state"],
        "multi_class": [StrOptions(set(SCHEMES))],
        "n_jobs": [Integral, None],
        "solver": [StrOptions({"auto", *ITERATIVE})],
        "inducing_points": [
            Interval(Integral, 1, None, closed="left"),
            "array-like",
            None,
        ],
    }

    def __init__(
        self,
        kernel=None,
        *,
        optimizer="fmin_l_bfgs_b",
        n_restarts_optimizer=0,
        max_iter_predict=100,
        warm_start=False,
        copy_X_train=True,
        random_state=None,
        multi_class="one_vs_rest",
        n_jobs=None,
        solver="auto",
        inducing_points=None,
    ):
        self.kernel = kernel
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.max_iter_predict = max_iter_predict
        self.warm_start = warm_start
        self.copy_X_train = copy_X_train
        self.random_state = random_state
        self.multi_class = multi_class
        self.n_jobs = n_jobs
        self.solver = solver
        self.inducing_points = inducing_points

    # A kernel is a nested object of its own parameters.
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None):
        """Learn from all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Or a list of whatever the kernel takes.
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
            For values that are not finite, labels that are no classes or all of one
            class, weights that are negative or all zero, and a kernel whose matrix
            is not positive definite: the message says how far, and which jitter was
            tried.

        Warns
        -----
        ConvergenceWarning
            Where no solver met the tolerance, where the search for hyperparameters
            ended early, and where it ended at a bound.
        """
        return self._fit(X, y, sample_weight)

    @on_one_state
    def log_marginal_likelihood(
        self, theta=None, eval_gradient=False, clone_kernel=True
    ):
        """Log evidence of the training data.

        Parameters
        ----------
        theta : array-like of shape (n_kernel_params,), default=None
            Hyperparameters, in logarithms; None for those of the fit. Of more than
            two classes those of every problem one after the other, or one set for
            all.
        eval_gradient : bool, default=False
            Return the gradient in theta as well.
        clone_kernel : bool, default=True
            Present for the interface of scikit-learn; ``kernel_`` is never changed.

        Returns
        -------
        log_likelihood : float
            In nats; of more than two classes the mean over the problems.
        gradient : ndarray of shape (n_kernel_params,)
            Only with ``eval_gradient``.
        """
        check_is_fitted(self)
        if theta is None:
            if eval_gradient:
                raise ValueError("Give theta where the gradient is wanted.")
            return self.log_marginal_likelihood_value_
        theta = np.asarray(theta, dtype=np.float64)
        n_problems, n_dims = len(self._functions), self._kernels[0].n_dims
        if theta.shape not in {(n_dims,), (n_problems * n_dims,)}:
            raise ValueError(
                f"theta has shape {theta.shape}; the kernel has {n_dims} "
                f"hyperparameters, and there are {n_problems} problems."
            )
        shared = theta.shape == (n_dims,)
        parts = np.tile(theta, n_problems) if shared else theta
        with single_threaded_blas():
            values, gradients = zip(
                *(
                    function.fresh().evaluate(
                        kernel.clone_with_theta(part), eval_gradient
                    )
                    for function, kernel, part in zip(
                        self._functions,
                        self._kernels,
                        parts.reshape(n_problems, n_dims),
                        strict=True,
                    )
                ),
                strict=True,
            )
        value = float(np.mean(values))
        if not eval_gradient:
            return value
        gradients = np.array(gradients) / n_problems
        return value, gradients.sum(axis=0) if shared else gradients.ravel()

    @property
    def kernel_(self):
        """Kernel with the hyperparameters found."""
        check_is_fitted(self)
        if len(self._kernels) == 1:
            return self._kernels[0]
        return CompoundKernel(list(self._kernels))

    @property
    def _kernels(self):
        """Kernels of the problems. The default learns nothing, and is not saved."""
        if self._own_kernels is None:
            return [default_kernel()] * len(self._functions)
        return self._own_kernels

    @all_or_nothing
    def _fit(self, X, y, sample_weight):
        if isinstance(self.kernel, CompoundKernel):
            raise ValueError(
                "kernel cannot be a CompoundKernel, which is several kernels side by "
                "side; add or multiply them."
            )
        rows, labels, weights = labelled_rows(
            self, X, y, sample_weight, reset=True, validate=validate_structures
        )
        weighing = np.flatnonzero(weights > 0)
        classes = classes_of(self, labels[weighing])
        decomposition = Decomposition(len(classes), SCHEMES[self.multi_class])
        codes = encode(labels[weighing], classes)
        sides = [problem.rows(codes) for problem in decomposition.problems]
        random_state = check_random_state(self.random_state)
        with single_threaded_blas():
            inducing = self._choose_inducing(rows, weights, random_state)
            functions = [
                self._function(rows, y, weighing[part], weights, inducing, start)
                for (part, y), start in zip(sides, self._starts(sides), strict=True)
            ]
            seeds = random_state.randint(2**31, size=len(functions))
            kernels = Parallel(n_jobs=self.n_jobs, require="sharedmem")(
                delayed(settled)(
                    function,
                    self._first_kernel(),
                    self.optimizer,
                    self.n_restarts_optimizer,
                    np.random.RandomState(seed),
                )
                for function, seed in zip(functions, seeds, strict=True)
            )
            parts = [weighing[part] for part, _ in sides]
            if decomposition.is_coupled:
                mean, variance = loo_moments(rows, functions, kernels, parts)
                decomposition = decomposition.sharpened(
                    mean[weighing], variance[weighing], codes, weights[weighing]
                )
        report = self._report_of(len(rows), functions, parts)
        values = [f.process.inference.log_evidence for f in functions]
        state = {
            "classes_": classes,
            "n_classes_": len(classes),
            "X_train_": np.copy(rows) if self.copy_X_train else rows,
            "log_marginal_likelihood_value_": float(np.mean(values)),
            "_decomposition": decomposition,
            "_functions": functions,
            "_own_kernels": None if self.kernel is None else kernels,
            "_parts": parts,
            "_dtype": np.float32 if rows.dtype == np.float32 else np.float64,
            **self._of_report(report, depth=5),
        }
        if inducing is not None:
            state["inducing_points_"] = inducing
        vars(self).pop("inducing_points_", None)
        vars(self).update(state)

    def _first_kernel(self):
        return default_kernel() if self.kernel is None else clone(self.kernel)

    def _choose_inducing(self, rows, weights, random_state):
        """Inducing points, shape (m, d), or None."""
        if self.inducing_points is None:
            return None
        if self.kernel is not None and not self.kernel.requires_vector_input:
            raise ValueError(
                "inducing_points are vectors of features; with a kernel of other "
                "structures, fit without them."
            )
        if not isinstance(self.inducing_points, Integral):
            points = check_array(self.inducing_points, dtype=np.float64)
            if points.shape[1] != rows.shape[1]:
                raise ValueError(
                    f"inducing_points has {points.shape[1]} features and X has "
                    f"{rows.shape[1]}; give points of the features of X, or their "
                    "number."
                )
            return points
        n_distinct = len(np.unique(rows[weights > 0], axis=0))
        clusterer = ODAClusterer(
            min(self.inducing_points, n_distinct), random_state=random_state
        )
        return clusterer.fit(rows, sample_weight=weights).cluster_centers_

    def _function(self, rows, y, part, weights, inducing, start):
        options = {"solver": self.solver, "max_iter": self.max_iter_predict, "tol": TOL}
        data = rows[part], y, weights[part], options, start
        if inducing is None:
            return ExactFunction(*data)
        return InducedFunction(*data, inducing=inducing)

    def _starts(self, sides):
        """Sites of the last fit where asked for and as many, else None; a list."""
        before = getattr(self, "_functions", []) if self.warm_start else []
        same = [len(f.y) for f in before] == [len(y) for _, y in sides]
        return [f.sites for f in before] if same else [None] * len(sides)

    def _report_of(self, n_rows, functions, parts):
        """Gather what was found out about the rows."""
        precision, shift = np.zeros((2, len(functions), n_rows))
        for k, (function, part) in enumerate(zip(functions, parts, strict=True)):
            sites = function.process.inference.sites
            precision[k, part], shift[k, part] = sites.precision, sites.shift
        inferences = [function.process.inference for function in functions]
        return Report(precision, shift, inferences)

    def _loo_moments(self):
        with single_threaded_blas():
            return loo_moments(
                self.X_train_, self._functions, self._kernels, self._parts
            )

    def _latent(self, rows):
        return latent_moments(rows, self._functions, self._kernels)

    def _mean_and_bound(self, rows):
        return mean_and_bound(rows, self._functions[0], self._kernels[0])

    def _rows_to_predict(self, X):
        return validate_structures(self, X, reset=False)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags
