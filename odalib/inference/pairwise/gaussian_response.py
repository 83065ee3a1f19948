"""How the magnetisations of adaptive TAP follow the fields, cavities included."""

import numpy as np
from scipy.linalg import lapack

__all__ = ["response_of_fixed_point"]


def response_of_fixed_point(inference):
    r"""Differentiate the fixed point of expectation propagation in the fields.

    With the deviations of the Gaussian as units, ``R`` the correlations of the Gaussian
    and ``Q = R * R - I`` (by entries), fields that change by b change the precisions of
    the sites by l, those of the cavities by ``Q l``, and the means by n::

        n = R (b - s Q l / 2)       l = -s n - (s^2 - k) Q l / 2

    where ``s`` and ``k`` are the skewness and the excess kurtosis of the tilted
    distributions. (Implicit differentiation of ``mean = tilted mean`` and
    ``variance = tilted variance``; of the cavities' shifts about their means.)

    Parameters
    ----------
    inference : Inference
        That has converged.

    Returns
    -------
    response : array of shape (n, n)

    Raises
    ------
    ValueError
        Where the equations are singular, or the response is not that of a minimum of
        the free energy.
    """
    deviation = np.sqrt(inference.variance)
    R = inference.posterior.covariance() / deviation[:, np.newaxis] / deviation
    third, fourth = inference.problem.likelihood.higher_cumulants(inference.cavity)
    skewness = third / deviation**2 / deviation
    kurtosis = fourth / deviation**2 / deviation**2
    Q = R**2
    np.fill_diagonal(Q, 0.0)
    skewed = skewness[:, np.newaxis] * R
    matrix = -0.5 * (skewed * skewness) @ Q
    matrix += 0.5 * (skewness**2 - kurtosis)[:, np.newaxis] * Q
    matrix.flat[:: len(Q) + 1] += 1.0
    sites = solve_regular(matrix, -skewed)
    response = R - 0.5 * (R * skewness) @ (Q @ sites)
    # Symmetric but for rounding.
    response = 0.5 * (response + response.T)
    if lapack.dpotrf(response, lower=1)[1] != 0:
        refuse()
    return deviation[:, np.newaxis] * response * deviation


def solve_regular(matrix, right):
    """Solve linear equations whose rows are scaled to equal sizes; refuse singular."""
    scale = 1.0 / np.abs(matrix).max(axis=1, keepdims=True)
    matrix = scale * matrix
    norm = np.abs(matrix).sum(axis=0).max()
    factor, pivots, info = lapack.dgetrf(matrix)
    if info != 0 or lapack.dgecon(factor, norm)[0] < np.finfo(np.float64).eps:
        refuse()
    return lapack.dgetrs(factor, pivots, scale * right)[0]


def refuse():
    """Raise what all methods do whose fixed point is no minimum."""
    raise ValueError(
        "Linear response does not exist here: the magnetisations are no minimum of the "
        "method's free energy. The couplings are too strong for this method; use "
        "method='exact' where it is affordable, or correlations, which hold the "
        "covariance of the Gaussian."
    )
