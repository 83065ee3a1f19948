"""The pseudo-likelihood of a pairwise model, which needs no partition function.

The pseudo-likelihood of a row x in {-1, 1}^n is the product of the conditional
probabilities of its spins,

``PL(x) = prod_i p(x_i | x_j, j != i) = prod_i 1 / (1 + exp(-2 x_i h_i))``,
``h_i = B_i + sum_j J_ij x_j``

(J. Besag, "Statistical analysis of non-lattice data", The Statistician 24, 1975). Its
logarithm is concave, and its maximum is a consistent estimate of a symmetric J, of
which both spins of a pair share an entry.
"""

import numpy as np
from numpy.typing import NDArray

from odalib.inference.pairwise.penalised_fit import Objective

__all__ = ["PseudoLikelihood"]

Floats = NDArray[np.float64]

# Rows whose local fields are held at a time.
BLOCK = 4096


class PseudoLikelihood(Objective):
    """Log pseudo-likelihood of rows.

    Parameters
    ----------
    spins : ndarray of int8 of shape (n_samples, n)
        Entries -1 and 1.
    weights : ndarray of shape (n_samples,)
        Positive; a weight of w is w copies of the row.
    observed : ndarray of bool of shape (n_samples, n), default=None
        Entries whose conditional probabilities count; None for all. Those of others
        are only conditioned on.
    """

    def __init__(
        self,
        spins: NDArray[np.int8],
        weights: Floats,
        observed: NDArray[np.bool_] | None = None,
    ):
        super().__init__(spins, weights)
        self.spins = spins
        self.weights = weights
        self.observed = observed
        if observed is not None:
            self.shares = weights @ observed / self.total

    @classmethod
    def of_completed(cls, spins, weights, observed):
        """Only observed spins count, see `Objective.of_completed`."""
        return cls(spins, weights, observed)

    def evaluate(self, fields, couplings):
        """Log pseudo-likelihood and its gradient, as `Objective` has it."""
        value, of_fields = 0.0, np.zeros_like(fields)
        products = np.zeros_like(couplings)
        for rows, local, weights in self._local_fields(fields, couplings):
            # One exponential for both log(1 + exp(-2 x h)) and tanh(h).
            size = np.abs(local)
            small = np.exp(-2.0 * size)
            losses = np.log1p(small) + size - rows * local
            value -= np.sum(weights * losses)
            mean = np.copysign((1.0 - small) / (1.0 + small), local)
            residuals = weights * (rows - mean)
            of_fields += residuals.sum(axis=0)
            products += residuals.T @ rows
        return value, of_fields, products + products.T

    def curvature(self, fields: Floats, couplings: Floats) -> Floats:
        """Curvature of its negative in every field.

        Parameters
        ----------
        fields : ndarray of shape (n,)
        couplings : ndarray of shape (n, n)

        Returns
        -------
        curvature : ndarray of shape (n,)
            ``sum_r w_r (1 - tanh(h_ri)^2)`` over the rows that count; that in a
            coupling is the sum of those of its two spins.
        """
        found = np.zeros_like(fields)
        for _, local, weights in self._local_fields(fields, couplings):
            found += np.sum(weights * (1.0 - np.tanh(local) ** 2), axis=0)
        return found

    def _local_fields(self, fields, couplings):
        """Yield rows, their local fields and the entries' weights, block by block."""
        for begin in range(0, len(self.spins), BLOCK):
            block = slice(begin, begin + BLOCK)
            rows = self.spins[block].astype(np.float64)
            weights = self.weights[block, np.newaxis]
            if self.observed is not None:
                weights = weights * self.observed[block]
            yield rows, rows @ couplings + fields, weights
