# Axes of codevectors from their sums; part of _annealing.pyx.

cdef extern from "annealing_core.h" nogil:
    void odalib_scaled_means(const double*, const double*, double*, double*,
                             Py_ssize_t, Py_ssize_t)
    void odalib_unit_axes(const double*, const double*, double*, double*,
                          Py_ssize_t, Py_ssize_t)


def scaled_means(const double[:, ::1] sums, const double[::1] weight):
    """As `reference.axes.scaled_means`."""
    cdef Py_ssize_t K = sums.shape[0], d = sums.shape[1]
    check_shape("weight", (weight.shape[0],), (K,))
    vectors, scale = np.empty((K, d)), np.empty(K)
    cdef double[:, ::1] vectors_view = vectors
    cdef double[::1] scale_view = scale
    if K and d:
        with nogil:
            odalib_scaled_means(&sums[0, 0], &weight[0], &vectors_view[0, 0],
                                &scale_view[0], K, d)
    return vectors, scale


def unit_axes(const double[:, ::1] vectors, curvature, scale):
    """As `reference.axes.unit_axes`; Hessians leave products in any order."""
    cdef Py_ssize_t K = vectors.shape[0], d = vectors.shape[1]
    check_shape("curvature", np.shape(curvature), (K, d))
    cdef const double[:, ::1] products = np.ascontiguousarray(curvature)
    check_shape("scale", np.shape(scale), (K,))
    directions, critical = np.empty((K, d)), np.array(scale)
    cdef double[:, ::1] directions_view = directions
    cdef double[::1] critical_view = critical
    if K and d:
        with nogil:
            odalib_unit_axes(&vectors[0, 0], &products[0, 0], &directions_view[0, 0],
                             &critical_view[0], K, d)
    return directions, critical
