# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Annealing kernels, compiled: blocks of dense rows in tiles that stay in the cache.

Signatures and meaning are those of `odalib.kernels.reference.annealing`. Where a tile
begins depends on the shapes only, and so do the bits of the sums.
"""

import numpy as np

from libc.math cimport log
from libc.stdint cimport int64_t
from scipy.linalg.cython_blas cimport dgemm, sgemm

include "tiles.pxi"
include "axes.pxi"
include "hashes.pxi"

cdef extern from "follow_core.h" nogil:
    void odalib_follow_narrow(const double*, const double*, const double*,
                              const double*, int, double, double*, double*, double*,
                              double*, double*, Py_ssize_t, Py_ssize_t, Py_ssize_t)
    void odalib_follow_wide(const double*, const double*, const double*,
                            const double*, int, double, double*, double*, double*,
                            double*, double*, Py_ssize_t, Py_ssize_t, Py_ssize_t)
    void odalib_follow_planes(const double*, const double*, const double*,
                              const double*, int, double, double*, double*, double*,
                              double*, double*, Py_ssize_t, Py_ssize_t, Py_ssize_t,
                              int, double*, double*, double*, const double*)
    bint ODALIB_HOLDS_EIGHT
    enum:
        ODALIB_KULLBACK_LEIBLER, ODALIB_ITAKURA_SAITO, ODALIB_LOGISTIC
        ODALIB_MAHALANOBIS

cdef enum:
    # Codevectors of so many features are held side by side, in lanes of vectors.
    NARROW = 64
    LANES = 8
    # Rows that are shifted at a time, and then lie in the cache.
    SHIFTED = 64

# Where codevectors lie that fill up a vector: no row is near.
FAR = 1e100

FORMULAS = {
    "kullback_leibler": ODALIB_KULLBACK_LEIBLER,
    "itakura_saito": ODALIB_ITAKURA_SAITO,
    "logistic": ODALIB_LOGISTIC,
    "mahalanobis": ODALIB_MAHALANOBIS,
}


cdef check_shape(str name, tuple shape, tuple wanted):
    """Refuse an array whose shape is not what it is to be."""
    if shape != wanted:
        raise ValueError(f"{name} has the shape {shape}; it must be {wanted}.")


cdef check_multipliers(multipliers, Py_ssize_t K, Py_ssize_t n_rows, Py_ssize_t d):
    """Kind of multipliers: 1 for one per row, 2 for covectors, 0 for None."""
    if multipliers is None:
        return 0
    if multipliers.ndim == 1:
        check_shape("multipliers", np.shape(multipliers), (n_rows,))
    else:
        check_shape("multipliers", np.shape(multipliers), (K, d))
    return multipliers.ndim


cdef check_sizes(Py_ssize_t K, Py_ssize_t n_rows, Py_ssize_t d):
    """Refuse nothing to sum over."""
    if K == 0 or n_rows == 0 or d == 0:
        raise ValueError(
            f"There are {K} codevectors, {n_rows} rows and {d} features; all three "
            "must be at least one."
        )


def gibbs_sums(const double[:, ::1] rows, const double[::1] row_weights,
               gradients, offsets, log_weights, double inverse_temperature,
               codevectors, multipliers=None):
    """As `reference.gibbs_sums`."""
    cdef Py_ssize_t n_rows = rows.shape[0], d = rows.shape[1]
    cdef const double[:, ::1] planes = np.ascontiguousarray(gradients)
    cdef const double[::1] biases = log_weights - inverse_temperature * offsets
    cdef Py_ssize_t K = planes.shape[0]
    check_sizes(K, n_rows, d)
    check_shape("row_weights", (row_weights.shape[0],), (n_rows,))
    check_shape("gradients", gradients.shape, (K, d))
    check_shape("offsets", (biases.shape[0],), (K,))
    check_shape("codevectors", codevectors.shape, (K, d))
    weight, total = np.zeros(K), np.zeros((K, d))
    axis, mass = np.zeros((K, d)), np.zeros(K)
    cdef double[:, ::1] total_view = total, axis_view = axis
    cdef double[::1] weight_view = weight, mass_view = mass
    cdef int kind = check_multipliers(multipliers, K, n_rows, d)
    cdef const double[::1] factors
    cdef const double[:, ::1] points = np.ascontiguousarray(codevectors)
    cdef Room room = Room(K, d, n_rows, kind)
    cdef Codes* codes = &room.codes
    cdef Sums* sums = &room.sums
    sums.weight, sums.mass = &weight_view[0], &mass_view[0]
    sums.total, sums.axis = &total_view[0, 0], &axis_view[0, 0]
    if kind:
        factors = np.ravel(multipliers)
    sums.points = &points[0, 0]
    if kind == 2:
        sums.covectors = &factors[0]
        odalib_centre(sums.covectors, &points[0, 0], sums.centre, K, d)
    cdef double log_normaliser = 0.0
    cdef Py_ssize_t start = 0, n, j
    with nogil:
        set_codes(codes, &planes[0, 0], inverse_temperature, &biases[0])
        while start < n_rows:
            n = min(sums.size, n_rows - start)
            add_tile(codes, sums, &rows[start, 0], &row_weights[start],
                     &factors[start] if kind == 1 else NULL, n)
            for j in range(n):
                log_normaliser += row_weights[start + j] * (
                    sums.largest[j] + log(sums.norm[j])
                )
            start += n
    odalib_about(sums.points, sums.mass, sums.axis, K, d)
    return weight, total, log_normaliser, axis


def nearest(rows, gradients, offsets, shift=None):
    """As `reference.nearest`."""
    labels, largest, _, _ = _nearest(rows, None, gradients, offsets, shift)
    return labels, largest


def nearest_cells(rows, row_weights, gradients, offsets):
    """As `reference.nearest_cells`."""
    return _nearest(rows, row_weights, gradients, offsets, None)


def _nearest(const double[:, ::1] rows, row_weights, gradients, offsets, shift):
    cdef Py_ssize_t n_rows = rows.shape[0], d = rows.shape[1]
    cdef const double[:, ::1] planes = np.ascontiguousarray(gradients)
    cdef const double[::1] biases = np.negative(offsets)
    cdef Py_ssize_t K = planes.shape[0]
    if K == 0 or d == 0:
        raise ValueError(
            f"There are {K} codevectors and {d} features; both must be at least one."
        )
    check_shape("gradients", gradients.shape, (K, d))
    check_shape("offsets", (biases.shape[0],), (K,))
    if row_weights is not None:
        check_shape("row_weights", row_weights.shape, (n_rows,))
    if shift is not None:
        check_shape("shift", shift.shape, (d,))
    labels, largest = np.empty(n_rows, dtype=np.int64), np.empty(n_rows)
    weight, total = np.zeros(K), np.zeros((K, d))
    if n_rows == 0:
        return labels, largest, weight, total
    cdef int64_t[::1] labels_view = labels
    cdef double[::1] largest_view = largest, weight_view = weight
    cdef double[:, ::1] total_view = total
    cdef bint sums_up = row_weights is not None
    cdef const double[::1] shares = row_weights if sums_up else largest
    cdef Room room = Room(K, d, n_rows, 0)
    cdef Codes* codes = &room.codes
    cdef Sums* sums = &room.sums
    cdef Py_ssize_t start = 0, n
    cdef const double[::1] centre
    if shift is not None and codes.scaled == NULL:
        rows = np.subtract(rows, shift)
    elif shift is not None:
        centre = np.ascontiguousarray(shift, dtype=np.float64)
        codes.centre = &centre[0]
    with nogil:
        set_codes(codes, &planes[0, 0], 1.0, &biases[0])
        while start < n_rows:
            n = min(sums.size, n_rows - start)
            find_nearest(codes, sums, &rows[start, 0], &labels_view[start],
                         &largest_view[start], n)
            if sums_up:
                odalib_cell_sums(&rows[start, 0], &shares[start], &labels_view[start],
                                 &weight_view[0], &total_view[0, 0], n, d)
            start += n
    return labels, largest, weight, total


def cell_sums(const double[:, ::1] rows, const double[::1] row_weights,
              const int64_t[::1] labels, Py_ssize_t n_codevectors):
    """As `reference.cell_sums`."""
    cdef Py_ssize_t n_rows = rows.shape[0], d = rows.shape[1], i
    check_shape("row_weights", (row_weights.shape[0],), (n_rows,))
    check_shape("labels", (labels.shape[0],), (n_rows,))
    weight, total = np.zeros(n_codevectors), np.zeros((n_codevectors, d))
    cdef double[::1] weight_view = weight
    cdef double[:, ::1] total_view = total
    for i in range(n_rows):
        if not 0 <= labels[i] < n_codevectors:
            raise ValueError(
                f"Row {i} is of cell {labels[i]}, and there are {n_codevectors}."
            )
    if n_rows and d:
        with nogil:
            odalib_cell_sums(&rows[0, 0], &row_weights[0], &labels[0], &weight_view[0],
                             &total_view[0, 0], n_rows, d)
    return weight, total


cdef check_followed(const double[::1] row_weights, Py_ssize_t n_rows,
                    const double[::1] steps, Py_ssize_t n_steps, points, axis, mass,
                    Py_ssize_t K, Py_ssize_t d):
    """Refuse arrays that are not of the shapes that `reference.follow` asks for."""
    check_sizes(K, n_rows, d)
    check_shape("row_weights", (row_weights.shape[0],), (n_rows,))
    check_shape("steps", (steps.shape[0],), (n_steps,))
    check_shape("points", points.shape, (K, d))
    check_shape("axis", axis.shape, (K, d))
    check_shape("mass", mass.shape, (K,))


def follow_batches(const double[:, ::1] rows, const double[::1] row_weights,
                   const int64_t[::1] starts, const double[::1] steps,
                   points, weights, double inverse_temperature, multipliers,
                   axis, mass, shift=None):
    """As `reference.follow`, of the squared Euclidean divergence."""
    cdef Py_ssize_t n_rows = rows.shape[0], d = rows.shape[1], K = len(weights)
    check_followed(row_weights, n_rows, steps, len(starts), points, axis, mass, K, d)
    points, axis = np.array(points, order="C"), np.array(axis, order="C")
    weights, mass = np.array(weights), np.array(mass)
    cdef double[:, ::1] points_view = points, axis_view = axis
    cdef double[:, ::1] total = np.zeros((K, d))
    cdef double[::1] rho = weights, mass_view = mass
    cdef double[:, ::1] of_step = np.zeros((2, K)), logs = np.empty((2, K))
    cdef int kind = check_multipliers(multipliers, K, n_rows, d)
    cdef const double[::1] factors
    cdef Room room = Room(K, d, n_rows, kind)
    cdef Codes* codes = &room.codes
    cdef Sums* sums = &room.sums
    sums.weight, sums.mass = &of_step[0, 0], &of_step[1, 0]
    sums.total, sums.axis = &total[0, 0], &axis_view[0, 0]
    sums.points = &points_view[0, 0]
    if kind:
        factors = np.ravel(multipliers)
    if kind == 2:
        sums.covectors = &factors[0]
    cdef Py_ssize_t n_steps = starts.shape[0], s, start, stop, n, i, j
    cdef double weight
    cdef double[::1] work = np.empty(3 * K)
    cdef Shift off = Shift(shift, sums.size, d)
    with nogil:
        for s in range(n_steps):
            start = starts[s]
            stop = starts[s + 1] if s + 1 < n_steps else n_rows
            if stop == start + 1:
                odalib_follow_wide(
                    off.taken(&rows[start, 0], 1), &row_weights[start], &steps[s],
                    &factors[start] if kind == 1 else sums.covectors, kind,
                    inverse_temperature, &points_view[0, 0], &rho[0], sums.axis,
                    &mass_view[0], &work[0], 1, d, K)
                continue
            weight = 0.0
            for j in range(start, stop):
                weight += row_weights[j]
            for i in range(K):
                logs[0, i] = log(rho[i])
            odalib_biases(&points_view[0, 0], &logs[0, 0], inverse_temperature,
                          &logs[1, 0], K, d)
            set_codes(codes, &points_view[0, 0], 2.0 * inverse_temperature,
                      &logs[1, 0])
            if kind == 2:
                odalib_centre(sums.covectors, &points_view[0, 0], sums.centre, K, d)
            while start < stop:
                n = min(sums.size, stop - start)
                add_tile(codes, sums, off.taken(&rows[start, 0], n),
                         &row_weights[start], &factors[start] if kind == 1 else NULL, n)
                start += n
            for i in range(K):
                mass_view[i] += sums.weight[i]
            if kind:
                odalib_about(&points_view[0, 0], sums.mass, sums.axis, K, d)
            odalib_step(&points_view[0, 0], &rho[0], sums.weight, sums.total,
                        steps[s], steps[s] / weight, K, d)
    return points, weights, axis, mass


def follow_rows(const double[:, ::1] rows, const double[::1] row_weights, starts,
                const double[::1] steps, points, weights, formula, precision,
                double inverse_temperature, multipliers, axis, mass, shift=None):
    """As `reference.follow`, of steps of one row.

    The divergence goes by its formula, and the Mahalanobis divergence by its precision,
    None for others.
    """
    cdef Py_ssize_t n_rows = rows.shape[0], d = rows.shape[1], K = len(weights)
    check_followed(row_weights, n_rows, steps, len(starts), points, axis, mass, K, d)
    cdef bint is_square = formula == "squared_euclidean"
    cdef bint narrow = ODALIB_HOLDS_EIGHT and is_square and d <= NARROW
    cdef Py_ssize_t width = (K + LANES - 1) // LANES * LANES if narrow else K
    cdef int kind = check_multipliers(multipliers, K, n_rows, d)
    multipliers = None if kind == 0 else np.ascontiguousarray(multipliers)
    if narrow:
        points, axis = (
            beside(np.ascontiguousarray(points), width, FAR),
            beside(np.ascontiguousarray(axis), width, 0.0),
        )
        if kind == 2:
            multipliers = beside(multipliers, width, 0.0)
        weights, mass = (np.append(a, np.zeros(width - K)) for a in (weights, mass))
    else:
        points, axis = np.array(points, order="C"), np.array(axis, order="C")
        weights, mass = np.array(weights), np.array(mass)
    cdef double[::1] points_view = points.reshape(-1), axis_view = axis.reshape(-1)
    cdef double[::1] rho = weights, mass_view = mass
    cdef const double[::1] factors = multipliers.reshape(-1) if kind else steps
    cdef double[::1] work = np.empty(3 * width), tangents
    cdef const double[:, ::1] precision_view
    cdef const double* form = NULL
    cdef const double* own
    cdef int code = 0
    if not is_square:
        code, tangents = FORMULAS[formula], np.empty(K * d + K + d)
    if precision is not None:
        precision_view = np.ascontiguousarray(precision)
        form = &precision_view[0, 0]
    cdef Py_ssize_t size = n_rows if shift is None else min(n_rows, SHIFTED)
    cdef Py_ssize_t start = 0, n
    cdef Shift off = Shift(shift, size, d)
    with nogil:
        while start < n_rows:
            n = min(size, n_rows - start)
            own = &factors[start if kind == 1 else 0]
            if narrow:
                odalib_follow_narrow(
                    off.taken(&rows[start, 0], n), &row_weights[start], &steps[start],
                    own, kind, inverse_temperature, &points_view[0], &rho[0],
                    &axis_view[0], &mass_view[0], &work[0], n, d, width)
            elif is_square:
                odalib_follow_wide(
                    off.taken(&rows[start, 0], n), &row_weights[start], &steps[start],
                    own, kind, inverse_temperature, &points_view[0], &rho[0],
                    &axis_view[0], &mass_view[0], &work[0], n, d, K)
            else:
                odalib_follow_planes(
                    off.taken(&rows[start, 0], n), &row_weights[start], &steps[start],
                    own, kind, inverse_temperature, &points_view[0], &rho[0],
                    &axis_view[0], &mass_view[0], &work[0], n, d, K, code,
                    &tangents[0], &tangents[K * d], &tangents[K * d + K], form)
            start += n
    if narrow:
        return apart(points, K), weights[:K], apart(axis, K), mass[:K]
    return points, weights, axis, mass


cdef beside(const double[:, ::1] vectors, Py_ssize_t width, double rest):
    """Vectors, K by d, eight by eight side by side, and a number beyond the last."""
    cdef Py_ssize_t K = vectors.shape[0], d = vectors.shape[1], i, j
    lanes = np.empty((width // LANES, d, LANES))
    cdef double[:, :, ::1] view = lanes
    for i in range(width):
        for j in range(d):
            view[i // LANES, j, i % LANES] = vectors[i, j] if i < K else rest
    return lanes


cdef apart(const double[:, :, ::1] lanes, Py_ssize_t n_vectors):
    """Vectors that `beside` has put side by side."""
    cdef Py_ssize_t d = lanes.shape[1], i, j
    vectors = np.empty((n_vectors, d))
    cdef double[:, ::1] view = vectors
    for i in range(n_vectors):
        for j in range(d):
            view[i, j] = lanes[i // LANES, j, i % LANES]
    return vectors
