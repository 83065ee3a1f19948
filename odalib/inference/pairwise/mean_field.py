"""Naive mean field: independent spins, and a lower bound of the partition function."""

import numpy as np
import scipy.sparse as sp
from scipy.special import entr

from odalib.inference.ep.spin import log_variance
from odalib.inference.pairwise.fixed_point import MAX_ITER, find_fixed_point
from odalib.inference.pairwise.linear_response import LinearResponse
from odalib.inference.pairwise.result import Estimate

__all__ = ["mean_field", "variational_bound"]


def mean_field(couplings, *, tol, max_iter=MAX_ITER):
    """Solve ``m = tanh(B + J m)``.

    The log partition function, ``H(m) + m' J m / 2 + B' m``, is a lower bound at any
    m; linear response is ``chi^-1 = diag(1 / v) - J`` with ``v = 1 - m^2``.

    Parameters
    ----------
    couplings : Couplings
    tol : float
        Largest change of a magnetisation.
    max_iter : int

    Returns
    -------
    Estimate
    """
    J, B = couplings.matrix, couplings.fields
    end = find_fixed_point(lambda m: np.tanh(B + J @ m), np.tanh(B), tol, max_iter)
    mean = end.state
    scale = np.exp(0.5 * log_variance(B + J @ mean))
    response = LinearResponse(couplings, scale, inverse_response(couplings, scale))
    return Estimate(
        "mean_field",
        mean,
        variational_bound(couplings, mean),
        end.failure or response.failure,
        end.residuals,
        response,
    )


def variational_bound(couplings, mean):
    """``H(m) + m' J m / 2 + B' m``, at most the log partition function."""
    entropy = entr(0.5 * (1.0 + mean)) + entr(0.5 * (1.0 - mean))
    return float(entropy.sum()) + couplings.energy(mean)


def inverse_response(couplings, scale):
    """``I - v^(1/2) J v^(1/2)``, in the form of ``J``."""
    if couplings.is_sparse:
        scaling = sp.diags_array(scale)
        return sp.eye_array(len(scale), format="csr") - scaling @ (
            couplings.matrix @ scaling
        )
    inverse = -scale[:, np.newaxis] * couplings.matrix * scale
    inverse.flat[:: len(scale) + 1] = 1.0
    return inverse
