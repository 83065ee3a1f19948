# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Kernels of predictions, compiled: rows as they came, tile by tile.

Signatures and meaning are those of `odalib.kernels.reference.association` and, of many
classes, `odalib.kernels.reference.coupling`. What is computed of a row depends on nothing but the row.
"""

import numpy as np

from odalib.kernels.reference.coupling import classes_of_pairs

from libc.string cimport memcpy, memset
from scipy.linalg.cython_blas cimport dgemv

cdef enum:
    # Numbers of a block of rows that is read twice: a quarter of a megabyte.
    CACHED = 32768

cdef extern from "association_core.h" nogil:
    cdef enum:
        TILE "ODALIB_TILE"
    void odalib_measure(const double*, double*, Py_ssize_t)
    void odalib_turn(const double*, const double*, double*, Py_ssize_t, Py_ssize_t)
    void odalib_affinities(const double*, const double*, const double*, double*,
                           Py_ssize_t, Py_ssize_t, Py_ssize_t)
    void odalib_turn_measured(const double*, double*, double*, Py_ssize_t, Py_ssize_t)
    void odalib_class_votes(const double*, const Py_ssize_t*, double*, Py_ssize_t, int)
    void odalib_latent(const double*, const double*, const double*,
                       const Py_ssize_t*, const Py_ssize_t*, double*, double*,
                       Py_ssize_t, Py_ssize_t)
    void odalib_both_sides(const double*, double*, double*)
    void odalib_probit_sides(const double*, const double*, double*)

cdef extern from "coupling_core.h" nogil:
    void odalib_squares(const double*, double*, double, Py_ssize_t)
    void odalib_sure_winners(const double*, const double*, const double*, double*,
                             double*, double, Py_ssize_t)
    void odalib_couple(const double*, double*, double*, double*, Py_ssize_t)


def largest_size(const double[:, ::1] rows):
    """As `reference.largest_size`."""
    cdef Py_ssize_t n = rows.shape[0] * rows.shape[1]
    cdef double largest = 0.0
    if n == 0:
        return 0.0
    with nogil:
        odalib_measure(&rows[0, 0], &largest, n)
    return largest


def row_sums(const double[:, ::1] rows, weights, double constant):
    """As `reference.row_sums`."""
    cdef Py_ssize_t n_rows = rows.shape[0], d = rows.shape[1], start = 0, n
    cdef const double[::1] entries = np.ascontiguousarray(weights, dtype=np.float64)
    sums = np.full(n_rows, constant)
    cdef double[::1] sums_view = sums
    cdef double largest = 0.0, one = 1.0
    cdef int d_ = <int>d, n_, unit = 1
    if entries.shape[0] != d:
        raise ValueError(f"Rows have {d} features, and weights {entries.shape[0]}.")
    if n_rows == 0 or d == 0:
        return sums, 0.0
    # So many rows are still in the cache when they are read again.
    cdef Py_ssize_t size = max(CACHED // d, <Py_ssize_t>1)
    with nogil:
        while start < n_rows:
            n = min(size, n_rows - start)
            n_ = <int>n
            odalib_measure(&rows[start, 0], &largest, n * d)
            dgemv(b"T", &d_, &n_, &one, <double*>&rows[start, 0], &d_,
                  <double*>&entries[0], &unit, &one, &sums_view[start], &unit)
            start += n
    return sums, largest


cdef check_planes(Py_ssize_t d, shift, gradients, offsets):
    """Planes, offsets and shift as the loops take them."""
    planes = np.ascontiguousarray(gradients, dtype=np.float64)
    offsets = np.ascontiguousarray(offsets, dtype=np.float64)
    if shift is None:
        shift = np.zeros(d)
    shift = np.ascontiguousarray(shift, dtype=np.float64)
    if planes.ndim != 2 or len(planes) == 0 or planes.shape[1] == 0:
        raise ValueError(
            f"There are planes of shape {planes.shape}; there must be one at least, "
            "of one feature at least."
        )
    if planes.shape[1] != d or shift.shape != (d,) or offsets.shape != planes.shape[:1]:
        raise ValueError(
            f"Rows have {d} features, planes the shape {planes.shape}, their offsets "
            f"{offsets.shape} and the shift {shift.shape}."
        )
    return planes, offsets, shift


def class_votes(const double[:, ::1] rows, shift, gradients, offsets, starts,
                bint adds):
    """As `reference.class_votes`."""
    cdef Py_ssize_t n_rows = rows.shape[0], d = rows.shape[1]
    cdef const double[:, ::1] planes
    cdef const double[::1] biases, centre
    planes, offsets, centre = check_planes(d, shift, gradients, offsets)
    biases = -offsets
    cdef Py_ssize_t K = planes.shape[0], C = len(starts), start = 0, n, c
    begins = np.append(starts, K).astype(np.intp)
    if C == 0 or begins[0] != 0 or (np.diff(begins) <= 0).any():
        raise ValueError(
            f"Classes begin at {list(starts)} of {K} codevectors; each must have one, "
            "and the first begin at 0."
        )
    cdef const Py_ssize_t[::1] bounds = begins
    result = np.empty((C, n_rows))
    cdef double[:, ::1] result_view = result
    cdef double[::1] turned = np.empty(TILE * d), values = np.empty(TILE * K)
    cdef double[::1] votes = np.empty(TILE * C)
    with nogil:
        while start < n_rows:
            n = min(<Py_ssize_t>TILE, n_rows - start)
            odalib_turn(&rows[start, 0], &centre[0], &turned[0], n, d)
            odalib_affinities(&turned[0], &planes[0, 0], &biases[0], &values[0],
                              TILE, K, d)
            odalib_class_votes(&values[0], &bounds[0], &votes[0], C, adds)
            for c in range(C):
                memcpy(&result_view[c, start], &votes[c * TILE], n * sizeof(double))
            start += n
    return result


cdef aligned(Py_ssize_t n):
    """n numbers, the first at the beginning of a line of the cache."""
    space = np.empty(n + 7)
    skipped = (-space.ctypes.data // 8) % 8
    return space[skipped : skipped + n]


cdef check_beliefs(Py_ssize_t d, means, roots):
    """Beliefs as the loops take them.

    Planes and biases of the mean and of the columns of the root, and where the entries
    of each that are not zero begin and end.
    """
    means, roots = np.asarray(means, np.float64), np.asarray(roots, np.float64)
    if (
        means.ndim != 2
        or means.shape[1] not in (d, d + 1)
        or roots.ndim != 3
        or roots.shape[:2] != means.shape
        or d == 0
    ):
        raise ValueError(
            f"Rows have {d} features, means the shape {means.shape} and roots "
            f"{roots.shape}."
        )
    whole = np.concatenate([means[..., np.newaxis], roots], axis=2)
    planes = np.ascontiguousarray(whole[:, :d].transpose(0, 2, 1))
    biases = np.zeros(planes.shape[:2])
    if means.shape[1] > d:
        biases[:] = whole[:, d]
    used = planes != 0.0
    begins = used.argmax(axis=2).astype(np.intp)
    ends = (used * np.arange(1, d + 1)).max(axis=2).astype(np.intp)
    return planes, biases, begins, ends


def latent_moments(const double[:, ::1] rows, means, roots):
    """As `reference.latent_moments`."""
    cdef Py_ssize_t n_rows = rows.shape[0], d = rows.shape[1], start = 0, n, p, r
    cdef const double[:, :, ::1] planes
    cdef const double[:, ::1] biases
    cdef const Py_ssize_t[:, ::1] begins, ends
    planes, biases, begins, ends = check_beliefs(d, means, roots)
    cdef Py_ssize_t P = planes.shape[0], K = planes.shape[1]
    mean, variance = np.empty((n_rows, P)), np.empty((n_rows, P))
    cdef double[:, ::1] mean_view = mean, variance_view = variance
    cdef double[::1] turned = aligned(TILE * d), work = aligned(2 * TILE)
    cdef double largest = 0.0
    with nogil:
        while start < n_rows:
            n = min(<Py_ssize_t>TILE, n_rows - start)
            odalib_turn_measured(&rows[start, 0], &turned[0], &largest, n, d)
            for p in range(P):
                odalib_latent(&turned[0], &planes[p, 0, 0], &biases[p, 0],
                              &begins[p, 0], &ends[p, 0], &work[0], &work[TILE], K, d)
                for r in range(n):
                    mean_view[start + r, p] = work[r]
                    variance_view[start + r, p] = work[TILE + r]
            start += n
    return mean, variance


def both_sides(margins):
    """As `reference.both_sides`."""
    cdef const double[::1] z = np.ascontiguousarray(margins, np.float64).ravel()
    negative, positive = np.empty(np.shape(margins)), np.empty(np.shape(margins))
    cdef double[::1] below = negative.ravel(), above = positive.ravel()
    cdef Py_ssize_t n_values = z.shape[0], start = 0, n
    cdef double tile[TILE]
    cdef double[2][TILE] sides
    memset(tile, 0, sizeof(tile))
    with nogil:
        while start < n_values:
            n = min(<Py_ssize_t>TILE, n_values - start)
            memcpy(tile, &z[start], n * sizeof(double))
            odalib_both_sides(tile, sides[0], sides[1])
            memcpy(&below[start], sides[0], n * sizeof(double))
            memcpy(&above[start], sides[1], n * sizeof(double))
            start += n
    return negative, positive


def probit_sides(const double[:, ::1] rows, mean, root):
    """As `reference.probit_sides`."""
    cdef Py_ssize_t n_rows = rows.shape[0], d = rows.shape[1], start = 0, n
    cdef const double[:, :, ::1] planes
    cdef const double[:, ::1] biases
    cdef const Py_ssize_t[:, ::1] begins, ends
    planes, biases, begins, ends = check_beliefs(
        d, np.asarray(mean)[np.newaxis], np.asarray(root)[np.newaxis]
    )
    cdef Py_ssize_t K = planes.shape[1]
    sides = np.empty((n_rows, 2))
    cdef double[:, ::1] sides_view = sides
    cdef double[::1] turned = aligned(TILE * d), work = aligned(4 * TILE)
    cdef double largest = 0.0
    with nogil:
        while start < n_rows:
            n = min(<Py_ssize_t>TILE, n_rows - start)
            odalib_turn_measured(&rows[start, 0], &turned[0], &largest, n, d)
            odalib_latent(&turned[0], &planes[0, 0, 0], &biases[0, 0], &begins[0, 0],
                          &ends[0, 0], &work[0], &work[TILE], K, d)
            odalib_probit_sides(&work[0], &work[TILE], &work[2 * TILE])
            memcpy(&sides_view[start, 0], &work[2 * TILE], 2 * n * sizeof(double))
            start += n
    return sides, largest


def sure_winners(const double[:, ::1] rows, means, widths, double slack):
    """As `coupling.sure_winners`."""
    cdef Py_ssize_t n_rows = rows.shape[0], d = rows.shape[1], start = 0, n, r
    cdef Py_ssize_t n_classes = classes_of_pairs(len(means))
    cdef const double[:, :, ::1] planes
    cdef const double[:, ::1] biases
    planes, biases, _, _ = check_beliefs(d, means, np.empty((*np.shape(means), 0)))
    cdef const double[::1] of_pairs = np.ascontiguousarray(widths, dtype=np.float64)
    cdef Py_ssize_t n_pairs = planes.shape[0]
    if of_pairs.shape[0] != n_pairs:
        raise ValueError(f"There are {n_pairs} means and {len(widths)} widths.")
    cdef double has_constant = np.shape(means)[1] > d
    result = np.empty(n_rows, np.intp)
    cdef Py_ssize_t[::1] result_view = result
    cdef double[::1] turned = aligned(TILE * d), latent = aligned(TILE * n_pairs)
    cdef double[::1] work = aligned(2 * TILE), rivals = aligned(2 * TILE * n_classes)
    cdef double largest = 0.0
    with nogil:
        while start < n_rows:
            n = min(<Py_ssize_t>TILE, n_rows - start)
            odalib_turn_measured(&rows[start, 0], &turned[0], &largest, n, d)
            odalib_affinities(&turned[0], &planes[0, 0, 0], &biases[0, 0], &latent[0],
                              TILE, n_pairs, d)
            odalib_squares(&turned[0], &work[0], has_constant, d)
            odalib_sure_winners(&latent[0], &work[0], &of_pairs[0], &rivals[0],
                                &work[TILE], slack, n_classes)
            for r in range(n):
                result_view[start + r] = <Py_ssize_t>work[TILE + r]
            start += n
    return result, largest


def couple_margins(margins):
    """As `coupling.couple_margins`."""
    cdef const double[:, ::1] z = np.ascontiguousarray(margins, dtype=np.float64)
    cdef Py_ssize_t n_rows = z.shape[0], n_pairs = z.shape[1], start = 0, n, r, p, c
    cdef Py_ssize_t k = classes_of_pairs(n_pairs)
    probabilities, rarest = np.empty((n_rows, k)), np.empty(n_rows)
    cdef double[:, ::1] probabilities_view = probabilities
    cdef double[::1] rarest_view = rarest, tile = np.zeros(TILE * n_pairs)
    cdef double[::1] rates = aligned(TILE * k * k), work = aligned(TILE * (k + 1))
    with nogil:
        while start < n_rows:
            n = min(<Py_ssize_t>TILE, n_rows - start)
            for r in range(n):
                for p in range(n_pairs):
                    tile[p * TILE + r] = z[start + r, p]
            odalib_couple(&tile[0], &rates[0], &work[TILE], &work[0], k)
            for r in range(n):
                rarest_view[start + r] = work[r]
                for c in range(k):
                    probabilities_view[start + r, c] = work[(c + 1) * TILE + r]
            start += n
    return probabilities, rarest
