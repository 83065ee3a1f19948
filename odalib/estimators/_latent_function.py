"""One latent function with a kernel, for one problem of two classes."""

from copy import copy

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from odalib.estimators._multiclass import stack_moments
from odalib.inference.ep.gaussians.covariance import check_covariance
from odalib.inference.ep.leave_one_out import leave_one_out
from odalib.inference.ep.process import InducedProcess, InducingBasis, Process

__all__ = [
    "ExactFunction",
    "InducedFunction",
    "default_kernel",
    "latent_moments",
    "loo_moments",
    "mean_and_bound",
]

# Rows whose covariances with the inducing points are formed at a time.
BLOCK_ROWS = 4096
# Covariances that stay in the cache while they are weighted: 2 MB.
CACHED_ELEMENTS = 2**18


class LatentFunction:
    """Base of the functions.

    Parameters
    ----------
    X : array of shape (n, d), or rows of whatever the kernel takes
    y : array of shape (n,)
        -1.0 or 1.0.
    row_weights : array of shape (n,)
        Positive.
    options : dict
        Of `infer`.
    start : Sites or None
        Sites to start from.

    Attributes
    ----------
    process : Process or InducedProcess
        Of the last kernel that was asked for. The next starts from its sites.
    """

    def __init__(self, X, y, row_weights, options, start=None):
        self.X, self.y = X, y
        self.row_weights = row_weights
        self.options = options
        self.sites = start

    def evaluate(self, kernel, eval_gradient):
        """Log evidence with a kernel, and its slope in theta, or None for that."""
        raise NotImplementedError

    def settle(self, kernel):
        """Infer with a kernel, whose covariance is looked at closely."""
        raise NotImplementedError

    def with_tol(self, tol):
        """Give the same function, to infer up to another residual."""
        other = copy(self)
        other.options = {**self.options, "tol": tol}
        return other

    def fresh(self):
        """Give the same function without sites to start from."""
        other = copy(self)
        other.sites = None
        return other

    def _take(self, process):
        self.process, self.sites = process, process.inference.sites
        return process


class ExactFunction(LatentFunction):
    """Function whose covariance is formed between all rows."""

    def evaluate(self, kernel, eval_gradient):
        if not eval_gradient:
            return self._infer(kernel(self.X)).inference.log_evidence, None
        covariance, gradient = kernel(self.X, eval_gradient=True)
        process = self._infer(covariance)
        slopes = process.slope.ravel() @ gradient.reshape(-1, gradient.shape[-1])
        return process.inference.log_evidence, slopes

    def settle(self, kernel):
        covariance = kernel(self.X)
        check_covariance(covariance)
        self._infer(covariance)

    def _infer(self, covariance):
        process = Process(
            covariance, self.y, self.row_weights, start=self.sites, **self.options
        )
        return self._take(process)

    def latent(self, kernel, rows):
        """Mean and variance of the function at some rows, shape (m,) each."""
        parts = [
            self.process.latent(kernel(block, self.X), kernel.diag(block))
            for block in blocks(rows, BLOCK_ROWS)
        ]
        mean, variance = zip(*parts, strict=True)
        return np.concatenate(mean), np.concatenate(variance)

    def latent_mean(self, kernel, rows):
        """Mean of the function at some rows, shape (m,)."""
        weights = self.process.inference.posterior.weights
        size = max(CACHED_ELEMENTS // len(weights), 1)
        return np.concatenate(
            [kernel(block, self.X) @ weights for block in blocks(rows, size)]
        )

    def loo(self):
        """Mean and variance at the training rows, each left out."""
        return leave_one_out(self.process.inference)


class InducedFunction(LatentFunction):
    """Function whose rows hear of each other through inducing points only.

    Parameters
    ----------
    X, y, row_weights, options, start
        As for `LatentFunction`.
    inducing : array of shape (m, d)
        Inducing points.
    """

    def __init__(self, X, y, row_weights, options, start=None, *, inducing):
        super().__init__(X, y, row_weights, options, start)
        self.inducing = inducing

    def _infer(self, kernel):
        # Asked for between two sets of points, a kernel leaves out its noise.
        self._basis = InducingBasis(kernel(self.inducing, self.inducing))
        features, remainder = self._features(kernel, self.X)
        process = InducedProcess(
            features,
            remainder,
            self.y,
            self.row_weights,
            start=self.sites,
            **self.options,
        )
        return self._take(process)

    def _features(self, kernel, rows):
        parts = [
            self._basis.features(kernel(block, self.inducing), kernel.diag(block))
            for block in blocks(rows, BLOCK_ROWS)
        ]
        features, remainder = zip(*parts, strict=True)
        return np.concatenate(features), np.concatenate(remainder)

    def evaluate(self, kernel, eval_gradient):
        process = self._infer(kernel)
        if not eval_gradient:
            return process.inference.log_evidence, None
        cross, inducing, diagonal = process.slopes(self._basis)
        m = len(self.inducing)
        slopes = 0.0
        for start in range(0, len(self.X), m):
            block = self.X[start : start + m]
            gradient = kernel(np.vstack([block, self.inducing]), eval_gradient=True)[1]
            size = len(block)
            slopes += np.einsum(
                "ij,ijp->p", cross[start : start + m], gradient[:size, size:]
            )
            own = gradient[np.arange(size), np.arange(size)]
            slopes += diagonal[start : start + m] @ own
        twice = np.vstack([self.inducing, self.inducing])
        gradient = kernel(twice, eval_gradient=True)[1]
        slopes += np.einsum("ij,ijp->p", inducing, gradient[:m, m:])
        return process.inference.log_evidence, slopes

    def settle(self, kernel):
        check_covariance(kernel(self.inducing, self.inducing))
        self._infer(kernel)

    def latent(self, kernel, rows):
        """Mean and variance of the function at some rows, shape (m,) each."""
        return self.process.latent(*self._features(kernel, rows))

    def latent_mean(self, kernel, rows):
        """Mean of the function at some rows, shape (m,)."""
        parts = [self.latent(kernel, block)[0] for block in blocks(rows, BLOCK_ROWS)]
        return np.concatenate(parts)

    def loo(self):
        """Mean and variance at the training rows, each left out."""
        mean, variance = leave_one_out(self.process.inference)
        return mean, variance + self.process.remainder


def default_kernel():
    """Kernel where none is given: nothing to learn, as in scikit-learn."""
    return ConstantKernel(1.0, "fixed") * RBF(1.0, "fixed")


def blocks(rows, size):
    """Blocks of so many rows, in order."""
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def latent_moments(rows, functions, kernels):
    """Mean and variance of every function at some rows, (n, n_problems) each."""
    return stack_moments(
        function.latent(kernel, rows)
        for function, kernel in zip(functions, kernels, strict=True)
    )


def mean_and_bound(rows, function, kernel):
    """Mean of a function at some rows, (n,), and the largest of the prior variances."""
    return function.latent_mean(kernel, rows), kernel.diag(rows).max()


def loo_moments(rows, functions, kernels, parts):
    """Latent moments at all rows, each left out where it took part."""
    mean, variance = latent_moments(rows, functions, kernels)
    for k, (function, part) in enumerate(zip(functions, parts, strict=True)):
        mean[part, k], variance[part, k] = function.loo()
    return mean, variance
