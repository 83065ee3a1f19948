"""Search for the hyperparameters of a kernel by the log evidence."""

import warnings

import numpy as np
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from odalib.estimators._sklearn import warn_at_bounds
from odalib.inference.ep.gaussians.model import LostDefiniteness

__all__ = ["settled"]

# Where a search ends: by its slope in the log of a hyperparameter the log evidence is
# the largest there is to about half its square; or a step gains next to nothing.
SLOPE_TOL, GAIN_TOL = 1e-3, 1e-5
# Residual of the sites on the way: the log evidence is stationary in them, and so
# exact to about its square.
SEARCH_TOL = 3e-4


def settled(function, kernel, optimizer, n_restarts, random_state):
    """Kernel of largest log evidence; the function has inferred with it.

    Parameters
    ----------
    function : LatentFunction
    kernel : kernel instance
        To start from, and within whose bounds to stay.
    optimizer : 'fmin_l_bfgs_b', callable or None
    n_restarts : int
        Further searches, from values drawn log-uniformly within the bounds.
    random_state : RandomState

    Returns
    -------
    kernel instance
    """
    if optimizer is None or kernel.n_dims == 0:
        function.settle(kernel)
        return kernel
    bounds = kernel.bounds
    if n_restarts and not np.isfinite(bounds).all():
        raise ValueError(
            f"n_restarts_optimizer={n_restarts} draws within the bounds of the "
            "hyperparameters; make them finite."
        )

    rough = function.with_tol(SEARCH_TOL)
    rough.settle(kernel)

    def objective(theta, eval_gradient=True):
        try:
            value, slopes = rough.evaluate(
                kernel.clone_with_theta(theta), eval_gradient
            )
        except LostDefiniteness:
            # No covariance there; the search turns back.
            value, slopes = -np.inf, np.zeros(len(theta))
        return (-value, -slopes) if eval_gradient else -value

    starts = [kernel.theta]
    starts += [random_state.uniform(*bounds.T) for _ in range(n_restarts)]
    found = [minimise(objective, start, bounds, optimizer) for start in starts]
    theta, _ = min(found, key=lambda end: end[1])
    best = kernel.clone_with_theta(theta)
    warn_at_bounds(best)
    function.sites = rough.sites
    function.settle(best)
    return best


def minimise(objective, start, bounds, optimizer):
    """Theta of smallest objective, and its value."""
    if callable(optimizer):
        return optimizer(objective, start, bounds=bounds)
    first = objective(start)
    value, slopes = first
    # The first step is as long as the slope: at most one, in these units.
    unit = max(1.0, np.linalg.norm(slopes))

    def scaled(theta):
        value, slopes = first if np.array_equal(theta, start) else objective(theta)
        return value / unit, slopes / unit

    end = minimize(
        scaled,
        start,
        method="L-BFGS-B",
        jac=True,
        bounds=bounds,
        options={
            "gtol": SLOPE_TOL / unit,
            "ftol": GAIN_TOL / max(1.0, abs(value)),
        },
    )
    if end.status == 1:
        warnings.warn(
            f"The search for hyperparameters ended after {end.nit} iterations, before "
            "it converged. Start from a kernel nearer to the data, or scale these.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return end.x, end.fun * unit
