"""The likelihood of a pairwise model of few spins, by enumeration of their states.

``log p(x) = x' J x / 2 + B' x - log Z(J, B)``: its gradient is the difference of the
moments of the rows and of the model, so that at the maximum the two agree. It is the
most that rows can tell, where `PseudoLikelihood` is nearly as much for any number of
spins.
"""

import numpy as np
from numpy.typing import NDArray

from odalib.inference.pairwise.couplings import Couplings
from odalib.inference.pairwise.exact import enumerate_states
from odalib.inference.pairwise.penalised_fit import Objective

__all__ = ["MOST_SPINS", "Likelihood"]

Floats = NDArray[np.float64]

# Every evaluation enumerates the states, of which so many spins have a million.
MOST_SPINS = 20


class Likelihood(Objective):
    """Log likelihood of rows.

    Parameters
    ----------
    spins : ndarray of int8 of shape (n_samples, n)
        Entries -1 and 1.
    weights : ndarray of shape (n_samples,)
        Positive; a weight of w is w copies of the row.

    Raises
    ------
    ValueError
        For more spins than can be enumerated.
    """

    def __init__(self, spins: NDArray[np.int8], weights: Floats):
        super().__init__(spins, weights)
        n_spins = spins.shape[1]
        if n_spins > MOST_SPINS:
            raise ValueError(
                f"fit_method='likelihood' enumerates the states of at most "
                f"{MOST_SPINS} columns, and X has {n_spins}; use "
                "'pseudolikelihood', which needs no enumeration."
            )
        rows = spins.astype(np.float64)
        self.sums = weights @ rows
        self.products = (rows * weights[:, None]).T @ rows

    def evaluate(self, fields, couplings):
        """Log likelihood and its gradient, as `Objective` has it."""
        model = enumerate_states(Couplings(couplings, fields))
        mean = model.magnetisations
        value = np.sum(couplings * self.products) / 2 + fields @ self.sums
        return (
            value - self.total * model.log_partition,
            self.sums - self.total * mean,
            self.products - self.total * (model.covariances + np.outer(mean, mean)),
        )
