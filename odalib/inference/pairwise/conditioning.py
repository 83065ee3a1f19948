"""What is missing in rows of spins, given what they hold."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from odalib.inference.pairwise.distinct import distinct_rows
from odalib.inference.pairwise.infer import infer_ising

__all__ = ["Conditioned", "corrected_inference", "infer_missing"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Conditioned:
    """Rows whose missing spins have been inferred.

    Attributes
    ----------
    magnetisations : ndarray of shape (n_samples, n)
        The spins that were observed, and the expected values of the others.
    log_weights : ndarray of shape (n_samples,)
        Log of the sum of ``exp(x' J x / 2 + B' x)`` over what is missing: less the log
        partition function, the log probability of what was observed. NaN where
        inference did not converge.
    n_failed : int
        Number of rows in which it did not.
    """

    magnetisations: Floats
    log_weights: Floats
    n_failed: int


def corrected_inference(couplings, fields, method):
    """Infer a pairwise model, with the pair correction where the method has one.

    Parameters
    ----------
    couplings : ndarray of shape (n, n)
    fields : ndarray of shape (n,)
    method : str
        One of `infer_ising`.

    Returns
    -------
    PairwiseInference
    """
    inference = infer_ising(couplings, fields, method)
    if inference.converged and inference.method in ("adaptive_tap", "double_loop"):
        return inference.pair_corrected()
    return inference


def infer_missing(
    spins: NDArray[np.int8], couplings: Floats, fields: Floats, method: str
) -> Conditioned:
    """Infer the missing spins of every row, given the others.

    Observed spins act on the missing ones as fields, so that these are a pairwise
    model of their own in every row.

    Parameters
    ----------
    spins : ndarray of int8 of shape (n_samples, n)
        Entries -1 and 1, and 0 where one is missing.
    couplings : ndarray of shape (n, n)
    fields : ndarray of shape (n,)
    method : str
        One of `infer_ising`.

    Returns
    -------
    Conditioned
    """
    rows, which = distinct_rows(spins)
    magnetisations = rows.astype(np.float64)
    # A zero in the place of a missing spin leaves out what is not observed.
    local = magnetisations @ couplings
    log_weights = np.einsum("ij,ij->i", magnetisations, local / 2 + fields)
    local += fields
    failed = np.zeros(len(rows), bool)
    for row in np.flatnonzero((rows == 0).any(axis=1)):
        missing = np.flatnonzero(rows[row] == 0)
        inference = corrected_inference(
            couplings[np.ix_(missing, missing)], local[row, missing], method
        )
        magnetisations[row, missing] = inference.magnetisations
        log_weights[row] += inference.log_partition
        failed[row] = not inference.converged
    return Conditioned(
        magnetisations[which],
        log_weights[which],
        int(np.count_nonzero(failed[which])),
    )
