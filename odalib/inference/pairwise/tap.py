"""The equations of Thouless, Anderson and Palmer, to second order in the couplings."""

import numpy as np
import scipy.sparse as sp

from odalib.inference.ep.spin import log_variance
from odalib.inference.pairwise.fixed_point import MAX_ITER, find_fixed_point, growth
from odalib.inference.pairwise.linear_response import LinearResponse
from odalib.inference.pairwise.mean_field import variational_bound
from odalib.inference.pairwise.result import Estimate

__all__ = ["thouless_anderson_palmer"]


def thouless_anderson_palmer(couplings, *, tol, max_iter=MAX_ITER):
    """Solve ``m_i = tanh(B_i + sum_j J_ij m_j - m_i sum_j J_ij^2 v_j)``.

    The log partition function is that of mean field and ``sum_ij J_ij^2 v_i v_j / 4``
    more; its Hessian, ``chi^-1``, is ``-J_ij - 2 J_ij^2 m_i m_j`` with the diagonal
    ``1 / v_i + sum_j J_ij^2 v_j`` (Plefka 1982).

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
    squares = couplings.squared()

    def local_field(m):
        return B + J @ m - m * (squares @ (1.0 - m**2))

    end = find_fixed_point(lambda m: np.tanh(local_field(m)), np.tanh(B), tol, max_iter)
    mean = end.state
    v = np.exp(log_variance(local_field(mean)))
    reaction = squares @ v
    scale = np.sqrt(v / (1.0 + v * reaction))
    response = LinearResponse(
        couplings, scale, inverse_response(couplings, squares, mean, scale)
    )
    return Estimate(
        "tap",
        mean,
        variational_bound(couplings, mean) + 0.25 * float(v @ reaction),
        end.failure or response.failure or failure_of_expansion(squares, v),
        end.residuals,
        response,
    )


def failure_of_expansion(squares, v):
    """Say what is wrong where Plefka's condition fails.

    The expansion in the couplings, of which the equations are the first terms, does
    not converge where the matrix ``v_i J_ij^2 v_j`` has an eigenvalue above one.
    """
    if growth(lambda x: v * (squares @ (v * x)), np.ones(len(v))) <= 1.0:
        return ""
    return "the couplings are too strong for an expansion (Plefka's condition fails)"


def inverse_response(couplings, squares, mean, scale):
    """``chi^-1`` scaled to a unit diagonal, in the form of ``J``."""
    if couplings.is_sparse:
        moved, scaling = sp.diags_array(mean), sp.diags_array(scale)
        off = couplings.matrix + 2.0 * (moved @ squares @ moved)
        return sp.eye_array(len(mean), format="csr") - scaling @ off @ scaling
    off = couplings.matrix + 2.0 * mean[:, np.newaxis] * squares * mean
    inverse = -scale[:, np.newaxis] * off * scale
    inverse.flat[:: len(mean) + 1] = 1.0
    return inverse
