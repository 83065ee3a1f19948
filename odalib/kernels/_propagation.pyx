# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Expectation propagation, compiled: the probit sites of a block.

Signatures and meaning are those of `odalib.kernels.reference.propagation`.
"""

import numpy as np

cdef extern from "propagation_core.h" nogil:
    int odalib_match_block(double*, double*, const double*, const double*, double*,
                           double*, Py_ssize_t)


def match_block(double[::1] mean, double[::1, :] covariance, const double[::1] y,
                const double[::1] noise_variance, double[::1] precision,
                double[::1] shift):
    """As `reference.match_block`."""
    cdef Py_ssize_t b = y.shape[0]
    cdef int n_improper = 0
    sizes = (len(mean), *np.shape(covariance), len(noise_variance), len(precision),
             len(shift))
    if set(sizes) != {b}:
        raise ValueError(
            f"There are {b} labels; the other arrays have "
            f"{', '.join(map(str, sizes))} sites."
        )
    if b:
        with nogil:
            n_improper = odalib_match_block(
                &mean[0], &covariance[0, 0], &y[0], &noise_variance[0], &precision[0],
                &shift[0], b
            )
    return n_improper
