"""What is missing in rows of spins, given what they hold."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from odalib.inference.pairwise.distinct import distinct_rows
from odalib.inference.pairwise.exact import MOST_SPINS
from odalib.inference.pairwise.infer import infer_ising

__all__ = ["Conditioned", "corrected_inference", "infer_missing"]

Floats = NDArray[np.float64]

# Gaps of a row that are enumerated faster than approximated; and as many as are
# enumerated at all, in 50 milliseconds.
FEW_GAPS, FAST_GAPS = 12, 20


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
    failed : ndarray of int of shape (n_failed,)
        Rows in which it did not.
    """

    magnetisations: Floats
    log_weights: Floats
    failed: NDArray[np.intp]


def corrected_inference(couplings, fields, method):
    """Infer a pairwise model, with the pair correction where the method has one.

    The correction is that of the log partition function, in nats, and zero without
    one: inference by expectation propagation is as good as it is small.

    Parameters
    ----------
    couplings : ndarray of shape (n, n)
    fields : ndarray of shape (n,)
    method : str
        One of `infer_ising`.

    Returns
    -------
    inference : PairwiseInference
    correction : float
    """
    inference = infer_ising(couplings, fields, method)
    if inference.converged and inference.method in ("adaptive_tap", "double_loop"):
        corrected = inference.pair_corrected()
        return corrected, corrected.log_partition - inference.log_partition
    return inference, 0.0


def infer_missing(
    spins: NDArray[np.int8], couplings: Floats, fields: Floats, method: str
) -> Conditioned:
    """Infer the missing spins of every row, given the others.

    Observed spins act on the missing ones as fields, so that these are a pairwise
    model of their own in every row. Where they are few, their states are enumerated
    by ``method='auto'``, and also by the two that are expectation propagation, which
    only approximate what is then had for less time. Beyond twenty of them ``'auto'``
    goes on to approximate before the whole model would have to: a row may not take as
    long as that.

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
        inference, _ = corrected_inference(
            couplings[np.ix_(missing, missing)],
            local[row, missing],
            _method_for(len(missing), method),
        )
        magnetisations[row, missing] = inference.magnetisations
        log_weights[row] += inference.log_partition
        failed[row] = not inference.converged
    return Conditioned(
        magnetisations[which],
        log_weights[which],
        np.flatnonzero(failed[which]),
    )


def _method_for(n_missing, method):
    """Take the method that serves so many missing spins of a row."""
    if n_missing <= FEW_GAPS and method in ("auto", "adaptive_tap", "double_loop"):
        return "exact"
    if FAST_GAPS < n_missing <= MOST_SPINS and method == "auto":
        return "adaptive_tap"
    return method
