"""Rows, their divergence and random numbers, and what all passes share."""

import numpy as np
import scipy.sparse as sp

from odalib.inference.annealing.codebook import collect_moments

__all__ = ["Problem"]


class Problem:
    """An annealing problem in memory.

    Parameters
    ----------
    rows : RowBlocks
    divergence : BregmanDivergence
    uniforms : array of shape (n,)
        A random number in (0, 1] per row.

    Attributes
    ----------
    phi : array of shape (n,)
    total_phi : float
        Weighted sum of ``phi``; the part of every distortion that no codebook
        changes.
    signs : array of shape (n,)
        Random numbers in (-1, 1]; where power iterations start.
    """

    def __init__(self, rows, divergence, uniforms):
        self.rows = rows
        self.divergence = divergence
        self.uniforms = uniforms
        self.phi = rows.phi(divergence)
        self.total_phi = float(rows.row_weights @ self.phi)
        self.signs = 2.0 * uniforms - 1.0

    def moments(self, codebook, temperature, multipliers=None):
        """Moments under the codebook, see `collect_moments`."""
        return collect_moments(
            self.rows, self.divergence, codebook, temperature, multipliers
        )

    def losses(self, indices, codebook, labels):
        """``d(x, mu_label)`` of some rows, shape (len(indices),)."""
        gradients, offsets = codebook.planes(self.divergence)
        rows, own = self.rows.select(indices), gradients[labels]
        if sp.issparse(rows):
            linear = np.asarray(rows.multiply(own).sum(axis=1)).ravel()
        else:
            linear = np.einsum("ij,ij->i", own, rows)
        return self.phi[indices] + offsets[labels] - linear
