"""Exact inference: by enumeration of few spins, else by elimination."""

from dataclasses import dataclass

import numpy as np

from odalib.inference.pairwise.couplings import Couplings
from odalib.inference.pairwise.elimination import eliminate
from odalib.inference.pairwise.exact import MOST_SPINS, ExactMoments, enumerate_states
from odalib.inference.pairwise.result import Estimate, Solution

__all__ = ["exact"]


def exact(couplings):
    """Enumerate the states of few spins; eliminate many, where the graph allows it.

    Parameters
    ----------
    couplings : Couplings

    Returns
    -------
    Estimate

    Raises
    ------
    ValueError
        Where neither is affordable.
    """
    if couplings.n_spins <= MOST_SPINS:
        moments = enumerate_states(couplings)
    else:
        moments = eliminate(couplings, all_pairs=not couplings.is_sparse)
    return Estimate(
        "exact",
        # Masses of all states sum to one up to rounding.
        np.clip(moments.magnetisations, -1.0, 1.0),
        moments.log_partition,
        "",
        [],
        ExactSolution(couplings, moments),
    )


@dataclass(frozen=True)
class ExactSolution(Solution):
    """Exact moments.

    Parameters
    ----------
    couplings : Couplings
    moments : ExactMoments
    """

    couplings: Couplings
    moments: ExactMoments

    def linear_response(self):
        """Exact covariances of all pairs; see `Solution.linear_response`."""
        couplings = self.couplings
        if couplings.is_sparse and couplings.n_spins > MOST_SPINS:
            return eliminate(couplings, all_pairs=True).covariances
        return self.moments.covariances.copy()

    def correlations(self):
        """See `Solution.correlations`."""
        couplings, covariances = self.couplings, self.moments.covariances
        if couplings.is_sparse and couplings.n_spins <= MOST_SPINS:
            return couplings.pick_edges(covariances)
        return covariances.copy()
