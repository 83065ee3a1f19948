# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Assumed-density filtering, compiled: rows one after the other, nothing allocated.

Signatures and meaning are those of `odalib.kernels.reference.adf`. A matrix is passed
over once for every row: the update by the row before and the products with the next
meet in the cache; once for two rows, where it is larger than that. A large covariance
stays as it is for `BLOCK` steps, which are few numbers each relative to it, and then
takes them all as one product: the same sums in another order. Rows may lack the last
feature, which is then one.
"""

import numpy as np

from libc.math cimport pow, sqrt
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset
from scipy.linalg.cython_blas cimport daxpy, ddot, dgemv, dsymm, dsyrk

cdef extern from "probit.h" nogil:
    double CERTAIN "ODALIB_CERTAIN"
    void odalib_see(double, double, double, double, double, double*, double*)

cdef extern from "columns_core.h" nogil:
    enum:
        LANES "ODALIB_LANES"
    void odalib_prefetch(const void*)
    bint odalib_is_zero(const double*, Py_ssize_t)

cdef extern from "adf_core.h" nogil:
    void odalib_learn_factor(double*, double*, double*, double*, const double*,
                             const double*, const double*, double, Py_ssize_t,
                             Py_ssize_t, Py_ssize_t, Py_ssize_t)
    void odalib_learn_factor_in_pairs(double*, double*, double*, double*,
                                      const double*, const double*, const double*,
                                      double, Py_ssize_t, Py_ssize_t, Py_ssize_t,
                                      Py_ssize_t)

cdef extern from "covariance_core.h" nogil:
    void odalib_learn_covariance(double*, double*, const double*, const double*,
                                 double, double*, const double*, const double*,
                                 const double*, double, Py_ssize_t, Py_ssize_t,
                                 Py_ssize_t, Py_ssize_t)

ctypedef fused index_t:
    int32_t
    int64_t

cdef enum:
    # Steps that a large matrix waits for.
    BLOCK = 64
    # Weights from which a covariance is large.
    LARGE = 200
    # Weights from which rows are learnt in pairs.
    PAIRED = 500

cdef double next_power(double* left) noexcept nogil:
    """Power of the next observation of a row, of which so much weight is left."""
    cdef double power = 1.0 if left[0] >= 1.0 else left[0]
    left[0] -= power
    return power


cdef Py_ssize_t padded(Py_ssize_t d) noexcept nogil:
    return (d + LANES - 1) // LANES * LANES


cdef aligned(Py_ssize_t n, Py_ssize_t ld):
    """Zeros of shape (n, ld) whose vectors of `LANES` lie in one line of the cache."""
    numbers = np.zeros(n * ld + LANES)
    first = -(numbers.ctypes.data // 8) % LANES
    return numbers[first : first + n * ld].reshape(n, ld)


cdef check_sizes(Py_ssize_t d, Py_ssize_t n, n_columns, lengths, shapes):
    """Refuse rows and moments that do not fit each other: here nobody else looks."""
    if d == 0 or n_columns not in (d, d - 1) or set(lengths) - {n} or set(shapes) - {d}:
        raise ValueError(
            f"There are {d} weights and {n} rows of {n_columns} features; the other "
            f"arrays have {', '.join(map(str, lengths))} rows and "
            f"{', '.join(map(str, shapes))} weights."
        )


def is_unit_triangle(const double[::1, :] factor):
    """Whether a square matrix is lower triangular, with ones on its diagonal."""
    cdef Py_ssize_t d = factor.shape[0], j
    cdef bint is_one = factor.shape[1] == d
    with nogil:
        for j in range(d):
            if not is_one:
                break
            is_one = odalib_is_zero(&factor[0, j], j) and factor[j, j] == 1.0
    return is_one


cdef void copy_triangle(const double* source, Py_ssize_t source_ld, double* target,
                        Py_ssize_t target_ld, Py_ssize_t d) noexcept nogil:
    """Copy what is on and below the diagonal, column by column."""
    cdef Py_ssize_t j
    for j in range(d):
        memcpy(target + j * target_ld + j, source + j * source_ld + j,
               (d - j) * sizeof(double))


def learn_factor(double[::1] mean, double[::1, :] factor, double[::1] variances,
                 const double[:, ::1] rows, const double[::1] y,
                 const double[::1] weights, double noise_variance):
    """As `reference.learn_factor`, of a triangle, which it stays.

    The factor is lower triangular with ones on its diagonal; what is above is not
    looked at.
    """
    cdef Py_ssize_t d = mean.shape[0], ld = padded(d), n = rows.shape[0]
    check_sizes(d, n, rows.shape[1], (len(y), len(weights)),
                (*np.shape(factor), len(variances)))
    cdef Py_ssize_t n_paired = n - n % 2 if d >= PAIRED else 0
    own, vectors, work = aligned(ld, ld), aligned(2, ld), aligned(12, ld)
    vectors[:, :d] = variances, mean
    cdef double[:, ::1] U = own, v = vectors, room = work
    with nogil:
        copy_triangle(&factor[0, 0], d, &U[0, 0], ld, d)
        if n_paired:
            odalib_learn_factor_in_pairs(
                &U[0, 0], &v[0, 0], &v[1, 0], &room[0, 0], &rows[0, 0], &y[0],
                &weights[0], noise_variance, n_paired, rows.shape[1], d, ld
            )
            memset(&room[0, 0], 0, 12 * ld * sizeof(double))
        if n_paired < n:
            odalib_learn_factor(
                &U[0, 0], &v[0, 0], &v[1, 0], &room[0, 0], &rows[n_paired, 0],
                &y[n_paired], &weights[n_paired], noise_variance, n - n_paired,
                rows.shape[1], d, ld
            )
        copy_triangle(&U[0, 0], ld, &factor[0, 0], d, d)
    np.asarray(variances)[:], np.asarray(mean)[:] = vectors[:, :d]


def learn_covariance(double[::1] mean, double[::1, :] covariance,
                     const double[::1] prior_mean, const double[::1] prior_variance,
                     double forgetting, const double[:, ::1] rows,
                     const double[::1] y, const double[::1] weights,
                     double noise_variance):
    """As `reference.learn_covariance`."""
    check_sizes(
        len(mean), len(rows), rows.shape[1], (len(y), len(weights)),
        (*np.shape(covariance), len(prior_mean), len(prior_variance))
    )
    if mean.shape[0] >= LARGE:
        learn_large_covariance(mean, covariance, prior_mean, prior_variance,
                               forgetting, rows, y, weights, noise_variance)
    else:
        learn_small_covariance(mean, covariance, prior_mean, prior_variance,
                               forgetting, rows, y, weights, noise_variance)


cdef void relax_mean(double* mean, const double* prior_mean, double left,
                     Py_ssize_t d) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(d):
        mean[j] = left * mean[j] + (1.0 - left) * prior_mean[j]


cdef learn_small_covariance(double[::1] mean, double[::1, :] covariance,
                            const double[::1] prior_mean,
                            const double[::1] prior_variance, double forgetting,
                            const double[:, ::1] rows, const double[::1] y,
                            const double[::1] weights, double noise):
    cdef Py_ssize_t d = mean.shape[0], ld = padded(d), n = rows.shape[0]
    whole, vectors, work = aligned(ld, ld), aligned(3, ld), aligned(3 + LANES, ld)
    lower = np.tril(covariance)
    whole[:d, :d] = lower + np.tril(lower, -1).T
    vectors[:, :d] = mean, prior_mean, prior_variance
    cdef double[:, ::1] C = whole, v = vectors, room = work
    if n:
        with nogil:
            odalib_learn_covariance(&C[0, 0], &v[0, 0], &v[1, 0], &v[2, 0],
                                    forgetting, &room[0, 0], &rows[0, 0], &y[0],
                                    &weights[0], noise, n, rows.shape[1], d, ld)
    below = np.tril_indices(d)
    np.asarray(covariance)[below] = whole[:d, :d].T[below]
    np.asarray(mean)[:] = vectors[0, :d]


cdef learn_large_covariance(double[::1] mean, double[::1, :] covariance,
                            const double[::1] prior_mean,
                            const double[::1] prior_variance, double forgetting,
                            const double[:, ::1] rows, const double[::1] y,
                            const double[::1] weights, double noise):
    """Blocks of steps, ``C_t = s C_0 + (1 - s) V - sum_i a_i c_i c_i'``."""
    cdef Py_ssize_t d = mean.shape[0], n = rows.shape[0], row = 0
    cdef double[:, ::1] gathered = np.ones((BLOCK, d))
    cdef double[::1, :] products = np.empty((d, BLOCK), order="F")
    cdef double[::1, :] directions = np.empty((d, BLOCK), order="F")
    cdef double[:, ::1] vectors = np.empty((4, BLOCK))
    cdef double *power = &vectors[0, 0]
    cdef double *label = &vectors[1, 0]
    cdef double *loss = &vectors[2, 0]
    cdef double *w = &vectors[3, 0]
    cdef double *X = &gathered[0, 0]
    cdef double *Y = &products[0, 0]
    cdef double *D = &directions[0, 0]
    cdef double *x
    cdef double *c
    cdef double zero = 0.0, plus = 1.0, minus = -1.0, variance, gain, kept, left
    cdef double share, prior_share, rest = weights[0] if n else 0.0
    cdef int d_ = <int>d, one = 1, b, t, i
    with nogil:
        while row < n:
            b = 0
            while b < BLOCK and row < n:
                memcpy(X + b * d, &rows[row, 0], rows.shape[1] * sizeof(double))
                label[b] = y[row]
                power[b] = next_power(&rest)
                b += 1
                if rest == 0.0:
                    row += 1
                    if row < n:
                        rest = weights[row]
            dsymm(b"L", b"L", &d_, &b, &plus, &covariance[0, 0], &d_, X, &d_, &zero,
                  Y, &d_)
            share, prior_share = 1.0, 0.0
            for t in range(b):
                x, c = X + t * d, D + t * d
                for i in range(d_):
                    c[i] = (
                        share * Y[i + t * d] + prior_share * prior_variance[i] * x[i]
                    )
                if t:
                    dgemv(b"T", &d_, &t, &plus, D, &d_, x, &one, &zero, w, &one)
                    for i in range(t):
                        w[i] *= loss[i]
                    dgemv(b"N", &d_, &t, &minus, D, &d_, w, &one, &plus, c, &one)
                variance = ddot(&d_, x, &one, c, &one)
                odalib_see(label[t], ddot(&d_, x, &one, &mean[0], &one), variance,
                           power[t], noise, &gain, &kept)
                daxpy(&d_, &gain, c, &one, &mean[0], &one)
                # By rounding, what is kept may be a little more than all.
                loss[t] = (1.0 - kept) / variance if kept < 1.0 else 0.0
                left = forgetting if power[t] == 1.0 else pow(forgetting, power[t])
                relax_mean(&mean[0], &prior_mean[0], left, d)
                left *= left
                share *= left
                prior_share = left * prior_share + (1.0 - left)
                for i in range(t + 1):
                    loss[i] *= left
            for t in range(b):
                for i in range(d_):
                    D[i + t * d] *= sqrt(loss[t])
            dsyrk(b"L", b"N", &d_, &b, &minus, D, &d_, &share, &covariance[0, 0], &d_)
            for i in range(d_):
                covariance[i, i] += prior_share * prior_variance[i]


def learn_diagonal(double[:] mean, double[:] variance, double[::1] touched,
                   double clock, const double[::1] prior_mean,
                   const double[::1] prior_variance, double forgetting, rows, visits,
                   const double[::1] y, const double[::1] weights,
                   double noise_variance, bint has_intercept):
    """As `reference.learn_diagonal`; mean and variance side by side are faster."""
    data, indices, indptr = rows
    check_sizes(
        len(mean), len(visits), len(mean), (len(y), len(weights)),
        (len(variance), len(touched), len(prior_mean), len(prior_variance))
    )
    if indices.dtype == np.int32 and indptr.dtype == np.int32:
        return visit_rows[int32_t](
            mean, variance, touched, clock, prior_mean, prior_variance, forgetting,
            data, indices, indptr, visits, y, weights, noise_variance, has_intercept
        )
    return visit_rows[int64_t](
        mean, variance, touched, clock, prior_mean, prior_variance, forgetting, data,
        indices.astype(np.int64), indptr.astype(np.int64), visits, y, weights,
        noise_variance, has_intercept
    )


cdef struct Weights:
    # Moments of all weights, the means and the variances so many numbers apart, and
    # what they relax to.
    double *mean
    double *variance
    Py_ssize_t mean_step
    Py_ssize_t variance_step
    double *touched
    const double *prior_mean
    const double *prior_variance


cdef inline void relax(Weights* w, Py_ssize_t j, double forgetting,
                       double clock) noexcept nogil:
    """Make up for the relaxations that are due to a weight."""
    cdef double left = pow(forgetting, clock - w.touched[j])
    cdef double *mean = w.mean + j * w.mean_step
    cdef double *variance = w.variance + j * w.variance_step
    mean[0] = left * mean[0] + (1.0 - left) * w.prior_mean[j]
    left *= left
    variance[0] = left * variance[0] + (1.0 - left) * w.prior_variance[j]
    w.touched[j] = clock


cdef double visit_rows(double[:] mean, double[:] variance, double[::1] touched,
                       double clock, const double[::1] prior_mean,
                       const double[::1] prior_variance, double forgetting,
                       const double[::1] data, const index_t[::1] indices,
                       const index_t[::1] indptr, const int64_t[::1] visits,
                       const double[::1] y, const double[::1] weights, double noise,
                       bint has_intercept) except? -1.0:
    cdef Py_ssize_t n = visits.shape[0], i, k, j, first, end, last
    cdef double total, latent, gain, kept, power, rest, others, part
    cdef double intercept_variance = 0.0
    cdef double more, further, second_part
    cdef Py_ssize_t second
    # Room for the entries of the longest row.
    longest = int(np.diff(indptr).max(initial=0)) + 1
    cdef double[::1] spread = np.empty(longest)
    cdef Weights w = Weights(
        &mean[0], &variance[0], mean.strides[0] // sizeof(double),
        variance.strides[0] // sizeof(double), &touched[0], &prior_mean[0],
        &prior_variance[0]
    )
    cdef double *m = w.mean
    cdef double *v = w.variance
    cdef Py_ssize_t m_step = w.mean_step, v_step = w.variance_step
    last = mean.shape[0] - 1
    with nogil:
        for i in range(n):
            first, end = indptr[visits[i]], indptr[visits[i] + 1]
            if i + 1 < n:
                for k in range(indptr[visits[i + 1]], indptr[visits[i + 1] + 1]):
                    odalib_prefetch(m + indices[k] * m_step)
                    if v != m + 1:
                        odalib_prefetch(v + indices[k] * v_step)
            rest = weights[i]
            while rest > 0.0:
                power = next_power(&rest)
                if forgetting != 1.0:
                    for k in range(first, end):
                        relax(&w, indices[k], forgetting, clock)
                    if has_intercept:
                        relax(&w, last, forgetting, clock)
                # Two sums each, which need not wait for each other.
                total, latent, more, further = 0.0, 0.0, 0.0, 0.0
                for k in range(first, end - 1, 2):
                    j, second = indices[k], indices[k + 1]
                    part = v[j * v_step] * data[k]
                    second_part = v[second * v_step] * data[k + 1]
                    spread[k - first] = part
                    spread[k + 1 - first] = second_part
                    total += part * data[k]
                    more += second_part * data[k + 1]
                    latent += m[j * m_step] * data[k]
                    further += m[second * m_step] * data[k + 1]
                if (end - first) % 2:
                    k = end - 1
                    j = indices[k]
                    part = v[j * v_step] * data[k]
                    spread[k - first] = part
                    total += part * data[k]
                    latent += m[j * m_step] * data[k]
                if has_intercept:
                    # In the sums that it would be in as one more entry.
                    intercept_variance = v[last * v_step]
                    if (end - first) % 2:
                        more += intercept_variance
                        further += m[last * m_step]
                    else:
                        total += intercept_variance
                        latent += m[last * m_step]
                total += more
                latent += further
                if total > CERTAIN:
                    odalib_see(y[i], latent, total, power, noise, &gain, &kept)
                    others = (1.0 - kept) / total
                    for k in range(first, end):
                        j = indices[k]
                        part = spread[k - first]
                        m[j * m_step] += gain * part
                        v[j * v_step] *= (
                            kept + others * (total - part * data[k])
                        )
                    if has_intercept:
                        m[last * m_step] += gain * intercept_variance
                        v[last * v_step] *= (
                            kept + others * (total - intercept_variance)
                        )
                clock += power
    return clock
