"""Inference in pairwise models: one call, one result."""

from numbers import Integral, Real

from odalib.inference.ep.likelihood import Likelihood
from odalib.inference.pairwise.adaptive_tap import adaptive_tap
from odalib.inference.pairwise.belief_propagation import belief_propagation
from odalib.inference.pairwise.choice import infer_automatically
from odalib.inference.pairwise.couplings import check_couplings
from odalib.inference.pairwise.exact_solution import exact
from odalib.inference.pairwise.mean_field import mean_field
from odalib.inference.pairwise.result import PairwiseInference
from odalib.inference.pairwise.tap import thouless_anderson_palmer

__all__ = ["METHODS", "infer_ising"]

SPIN_METHODS = {
    "mean_field": mean_field,
    "belief_propagation": belief_propagation,
    "tap": thouless_anderson_palmer,
}
METHODS = ("auto", "exact", *SPIN_METHODS, "adaptive_tap", "double_loop")
SOLVERS = ("auto", "parallel", "sequential", "blocked")


def infer_ising(
    J, B, method="auto", *, site=None, solver="auto", tol=1e-8, max_iter=None
):
    """Infer the marginals and the log partition function of a pairwise model.

    The model is ``p(x) ~ exp(x' J x / 2 + B' x)`` of spins x, each -1 or 1.

    Parameters
    ----------
    J : array-like or sparse matrix of shape (n, n)
        Couplings: real, symmetric, with a zero diagonal. All methods take them dense
        or sparse.
    B : array-like of shape (n,)
        Fields.
    method : str, default='auto'
        ``'exact'`` (up to 24 spins; more where the graph is nearly a tree),
        ``'mean_field'``, ``'belief_propagation'``, ``'tap'``, ``'adaptive_tap'``
        (expectation propagation; up to 5000 spins) or ``'double_loop'`` (a fixed
        point of the same equations, of which strong couplings have several, by
        a descent of their free energy: slower, and the surest; up to 500 spins).
        ``'auto'``
        takes exact inference where it is affordable, belief propagation on sparse
        graphs, adaptive TAP on others and where that stalls, and the double loop
        where adaptive TAP stalls; the result says which, and why.
    site : Likelihood, default=None
        Other factors ``f_i(x_i)`` in the place of the two states -1 and 1, discrete
        or continuous: any likelihood of the EP engine that takes improper cavities.
        For 'auto', 'adaptive_tap' and 'double_loop'.
    solver : str, default='auto'
        Of ``method='adaptive_tap'``: ``'parallel'``, ``'sequential'``, ``'blocked'``
        (sequential in large matrix products), or ``'auto'``, which tries parallel,
        blocked and the double loop until one converges.
    tol : float, default=1e-8
        Largest residual of a fixed point: the change that one more step would make to
        a magnetisation, to a message, or (adaptive TAP) to a site in standard
        deviations. A positive number. Marginals are then as exact as the method is.
    max_iter : int, default=None
        Iterations, at the most. None for 1000 where one costs a product with J, and
        for 200 of a solver of adaptive TAP, where it costs a factorisation.

    Returns
    -------
    inference : PairwiseInference
        ``magnetisations``, ``correlations``, ``log_partition``, ``converged``,
        ``n_iter``, ``residuals``, ``method``, ``reason``; `linear_response()` gives
        the covariances of all pairs, and `pair_corrected()` a better
        ``log_partition`` after adaptive TAP.

    Raises
    ------
    ValueError
        For couplings or fields that are none, or that put fields beyond 1e6 on a
        spin, where floats lose the differences between states; for an unknown method
        or option; and for a method that does not fit the model.

    References
    ----------
    .. [1] M. Opper and O. Winther, "Adaptive and Self-Averaging
       Thouless-Anderson-Palmer Mean-Field Theory for Probabilistic Modeling",
       Physical Review E 64, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from odalib import infer_ising
    >>> J = np.array([[0.0, 0.5, 0.0], [0.5, 0.0, -1.0], [0.0, -1.0, 0.0]])
    >>> inference = infer_ising(J, [0.2, 0.0, 0.4])
    >>> inference.magnetisations.round(3)
    array([ 0.065, -0.204,  0.319])
    >>> inference.method, inference.reason
    ('exact', 'exact is affordable: at most 24 spins')
    >>> round(infer_ising(J, [0.2, 0.0, 0.4], "belief_propagation").log_partition, 6)
    2.704411
    """
    if method not in METHODS:
        raise ValueError(f"method={method!r} is none of {', '.join(METHODS)}.")
    if solver not in SOLVERS:
        raise ValueError(f"solver={solver!r} is none of {', '.join(SOLVERS)}.")
    if solver != "auto" and method != "adaptive_tap":
        raise ValueError(
            f"solver={solver!r} is one of method='adaptive_tap'; method={method!r} has "
            f"no choice of solvers."
        )
    if site is not None and method not in {"auto", "adaptive_tap", "double_loop"}:
        raise ValueError(
            f"method={method!r} is for spins only; with site=, use 'adaptive_tap', "
            f"'double_loop' or 'auto'."
        )
    refuse_other_sites(site)
    refuse_limits(tol, max_iter)
    couplings = check_couplings(J, B)
    limits = {} if max_iter is None else {"max_iter": max_iter}
    if method == "auto":
        estimate, reason = infer_automatically(couplings, site, tol=tol, **limits)
        return PairwiseInference.of(estimate, reason)
    if method == "exact":
        estimate = exact(couplings)
    elif method in SPIN_METHODS:
        estimate = SPIN_METHODS[method](couplings, tol=tol, **limits)
    else:
        solver = "double_loop" if method == "double_loop" else solver
        estimate = adaptive_tap(couplings, site=site, solver=solver, tol=tol, **limits)
    return PairwiseInference.of(estimate, "asked for")


def refuse_other_sites(site):
    """Raise a ValueError for a `site` that is no likelihood."""
    if site is None or isinstance(site, Likelihood):
        return
    kind = f"the class {site.__name__}" if isinstance(site, type) else repr(site)
    raise ValueError(
        f"site must be a Likelihood of the EP engine, an instance made for the "
        f"variables of J, or None for spins; it is {kind}."
    )


def refuse_limits(tol, max_iter):
    """Raise a ValueError for limits that no iteration can keep."""
    is_real = isinstance(tol, Real) and not isinstance(tol, bool)
    if not (is_real and 0.0 < tol < float("inf")):
        raise ValueError(f"tol={tol!r} must be a positive number.")
    if max_iter is None:
        return
    is_count = isinstance(max_iter, Integral) and not isinstance(max_iter, bool)
    if not (is_count and max_iter > 0):
        raise ValueError(f"max_iter={max_iter!r} must be a positive integer, or None.")
