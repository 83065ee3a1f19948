# Hashes of rows and what is drawn by them; part of _annealing.pyx.

from libc.stdint cimport uint64_t

cdef extern from "hashes_core.h" nogil:
    void odalib_row_hashes(const double*, const uint64_t*, uint64_t*,
                           Py_ssize_t, Py_ssize_t)
    void odalib_uniforms(const uint64_t*, uint64_t, double*, Py_ssize_t)


def row_hashes(const double[:, ::1] rows, const int64_t[::1] starts,
               const uint64_t[::1] salts):
    """As `reference.hashes.row_hashes`."""
    cdef Py_ssize_t n_rows = rows.shape[0], d = rows.shape[1]
    cdef Py_ssize_t n_batches = starts.shape[0], i, start, stop
    hashes = np.zeros(n_rows, dtype=np.uint64)
    cdef uint64_t[::1] hashes_view = hashes
    if n_rows == 0 or d == 0:
        return hashes
    with nogil:
        for i in range(n_batches):
            start = starts[i]
            stop = starts[i + 1] if i + 1 < n_batches else n_rows
            if start < stop:
                odalib_row_hashes(&rows[start, 0], &salts[0], &hashes_view[start],
                                  stop - start, d)
    return hashes


def uniforms(const uint64_t[::1] hashes, uint64_t salt):
    """As `reference.hashes.uniforms`."""
    cdef Py_ssize_t n = hashes.shape[0]
    drawn = np.empty(n)
    cdef double[::1] view = drawn
    if n:
        with nogil:
            odalib_uniforms(&hashes[0], salt, &view[0], n)
    return drawn
