# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Annealing kernels, compiled: blocks of dense rows in tiles that stay in the cache.

Signatures and meaning are those of `odalib.kernels.reference.annealing`. Where a tile
begins depends on the shapes only, and so do the bits of the sums.
"""

import numpy as np

from libc.math cimport log
from libc.stdint cimport int64_t
from scipy.linalg.cython_blas cimport dgemm

cdef extern from "annealing_core.h" nogil:
    void odalib_associate(double*, const double*, double*, double*, double*, double*,
                          Py_ssize_t, Py_ssize_t)
    void odalib_first_largest(const double*, int64_t*, double*, Py_ssize_t, Py_ssize_t)

cdef enum:
    # Numbers in a tile of codevectors by rows: half a megabyte, for the second cache.
    TILE = 65536
    LEAST_ROWS = 64
    MOST_ROWS = 1024


cdef Py_ssize_t tile_rows(Py_ssize_t n_codevectors) noexcept nogil:
    """Rows of a tile: a multiple of eight, so that vectors are full."""
    cdef Py_ssize_t n = TILE // max(n_codevectors, <Py_ssize_t>1)
    n = min(max(n, <Py_ssize_t>LEAST_ROWS), <Py_ssize_t>MOST_ROWS)
    return n - n % 8


cdef void add_products(const double* planes, const double* rows, double* values,
                       Py_ssize_t K, Py_ssize_t n, Py_ssize_t d) noexcept nogil:
    """Add ``<plane_i, x_j>`` to values, K by n."""
    cdef int n_ = <int>n, K_ = <int>K, d_ = <int>d
    cdef double one = 1.0
    # To a library that reads column by column, values are n by K.
    dgemm(b"T", b"N", &n_, &K_, &d_, &one, <double*>rows, &d_, <double*>planes, &d_,
          &one, values, &n_)


cdef void add_sums(const double* shares, const double* rows, double* total,
                   Py_ssize_t K, Py_ssize_t n, Py_ssize_t d) noexcept nogil:
    """Add ``sum_j shares_ij x_j`` to totals, K by d."""
    cdef int n_ = <int>n, K_ = <int>K, d_ = <int>d
    cdef double one = 1.0
    dgemm(b"N", b"N", &d_, &K_, &n_, &one, <double*>rows, &d_, <double*>shares, &n_,
          &one, total, &d_)


cdef void fill(double* values, const double* biases, double sign,
               Py_ssize_t K, Py_ssize_t n) noexcept nogil:
    """Set row i of values, K by n, to a number."""
    cdef Py_ssize_t i, j
    for i in range(K):
        for j in range(n):
            values[i * n + j] = sign * biases[i]


def gibbs_sums(const double[:, ::1] rows, const double[::1] row_weights,
               gradients, offsets, log_weights, double inverse_temperature,
               codevectors, multipliers=None):
    """As `reference.gibbs_sums`."""
    cdef Py_ssize_t n_rows = rows.shape[0], d = rows.shape[1]
    cdef const double[:, ::1] planes = np.ascontiguousarray(
        inverse_temperature * gradients
    )
    cdef const double[::1] biases = log_weights - inverse_temperature * offsets
    cdef Py_ssize_t K = planes.shape[0], size = min(tile_rows(K), n_rows)
    weight, total = np.zeros(K), np.zeros((K, d))
    axis, mass = np.zeros((K, d)), np.zeros(K)
    cdef double[::1] weight_view = weight, mass_view = mass
    cdef double[:, ::1] total_view = total, axis_view = axis
    cdef double[::1] values = np.empty(K * size), work = np.empty(3 * size)
    cdef double[::1] factors
    cdef const double[::1] by_row, centre
    cdef const double[:, ::1] covectors
    cdef int kind = 0
    if multipliers is not None:
        kind = multipliers.ndim
        if kind == 1:
            by_row = np.ascontiguousarray(multipliers)
        else:
            covectors = np.ascontiguousarray(multipliers)
            centre = np.einsum("ij,ij->i", multipliers, codevectors)
            factors = np.empty(K * size)
    cdef double log_normaliser = 0.0
    cdef Py_ssize_t start = 0, n, i, j
    if K == 0 or n_rows == 0 or d == 0:
        raise ValueError(
            f"There are {K} codevectors, {n_rows} rows and {d} features; all three "
            "must be at least one."
        )
    with nogil:
        while start < n_rows:
            n = min(size, n_rows - start)
            fill(&values[0], &biases[0], 1.0, K, n)
            add_products(&planes[0, 0], &rows[start, 0], &values[0], K, n, d)
            odalib_associate(&values[0], &row_weights[start], &work[0], &work[size],
                             &work[2 * size], &weight_view[0], K, n)
            add_sums(&values[0], &rows[start, 0], &total_view[0, 0], K, n, d)
            for j in range(n):
                log_normaliser += row_weights[start + j] * (
                    work[j] + log(work[2 * size + j])
                )
            if kind == 1:
                for i in range(K):
                    for j in range(n):
                        values[i * n + j] *= by_row[start + j]
            elif kind == 2:
                fill(&factors[0], &centre[0], -1.0, K, n)
                add_products(&covectors[0, 0], &rows[start, 0], &factors[0], K, n, d)
                for i in range(K):
                    for j in range(n):
                        values[i * n + j] *= factors[i * n + j]
            if kind:
                for i in range(K):
                    for j in range(n):
                        mass_view[i] += values[i * n + j]
                add_sums(&values[0], &rows[start, 0], &axis_view[0, 0], K, n, d)
            start += n
    if kind:
        axis -= mass[:, np.newaxis] * codevectors
    return weight, total, log_normaliser, axis


def nearest(const double[:, ::1] rows, gradients, offsets):
    """As `reference.nearest`."""
    cdef Py_ssize_t n_rows = rows.shape[0], d = rows.shape[1]
    cdef const double[:, ::1] planes = np.ascontiguousarray(gradients)
    cdef const double[::1] biases = np.ascontiguousarray(offsets)
    cdef Py_ssize_t K = planes.shape[0], size = min(tile_rows(K), n_rows)
    labels, largest = np.empty(n_rows, dtype=np.int64), np.empty(n_rows)
    cdef int64_t[::1] labels_view = labels
    cdef double[::1] largest_view = largest, values = np.empty(K * size)
    cdef Py_ssize_t start = 0, n
    if K == 0 or d == 0:
        raise ValueError(
            f"There are {K} codevectors and {d} features; both must be at least one."
        )
    with nogil:
        while start < n_rows:
            n = min(size, n_rows - start)
            fill(&values[0], &biases[0], -1.0, K, n)
            add_products(&planes[0, 0], &rows[start, 0], &values[0], K, n, d)
            odalib_first_largest(&values[0], &labels_view[start], &largest_view[start],
                                 K, n)
            start += n
    return labels, largest
