# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Kernels of pairwise models, compiled: a sweep of messages, and a Gibbs sweep.

Signatures and meaning are those of `odalib.kernels.reference.pairwise`.
"""

import numpy as np

cdef extern from "pairwise_core.h" nogil:
    void odalib_transmit(const double*, const double*, double*, Py_ssize_t)
    void odalib_thresholds(const double*, double*, Py_ssize_t)
    void odalib_gibbs_sweep(double*, double*, const double*, const double*,
                            Py_ssize_t, Py_ssize_t, Py_ssize_t)

cdef enum:
    # Edges whose fields are in the first cache when their messages are computed.
    EDGES = 512
    # Numbers in the fields of a tile of chains: a quarter of a megabyte.
    TILE = 32768


cdef void add_arrivals(const double* messages, const Py_ssize_t* first,
                       const Py_ssize_t* second, double* total,
                       Py_ssize_t m) noexcept nogil:
    """Add to the total of every spin the messages that arrive there."""
    cdef Py_ssize_t edge
    for edge in range(m):
        total[second[edge]] += messages[edge]
        total[first[edge]] += messages[m + edge]


def fields_beside(const double[::1] messages, const Py_ssize_t[::1] first,
                  const Py_ssize_t[::1] second, const double[::1] fields):
    """As `reference.fields_beside`."""
    cdef Py_ssize_t m = first.shape[0], edge
    total, beside = np.array(fields), np.empty(2 * m)
    cdef double[::1] total_view = total, beside_view = beside
    _check_edges(messages, first, second, first)
    if m == 0:
        return total, beside
    with nogil:
        add_arrivals(&messages[0], &first[0], &second[0], &total_view[0], m)
        for edge in range(m):
            beside_view[edge] = total_view[first[edge]] - messages[m + edge]
            beside_view[m + edge] = total_view[second[edge]] - messages[edge]
    return total, beside


def passed_messages(const double[::1] messages, const Py_ssize_t[::1] first,
                    const Py_ssize_t[::1] second, const double[::1] coupling,
                    const double[::1] fields):
    """As `reference.passed_messages`."""
    cdef Py_ssize_t m = first.shape[0], start = 0, n, k, edge
    passed = np.empty(2 * m)
    cdef double[::1] passed_view = passed, total = np.array(fields)
    cdef double onward[EDGES]
    cdef double back[EDGES]
    _check_edges(messages, first, second, coupling)
    if m == 0:
        return passed
    with nogil:
        add_arrivals(&messages[0], &first[0], &second[0], &total[0], m)
        while start < m:
            n = min(<Py_ssize_t>EDGES, m - start)
            for k in range(n):
                edge = start + k
                onward[k] = total[first[edge]] - messages[m + edge]
                back[k] = total[second[edge]] - messages[edge]
            odalib_transmit(&coupling[start], onward, &passed_view[start], n)
            odalib_transmit(&coupling[start], back, &passed_view[m + start], n)
            start += n
    return passed


def _check_edges(messages, first, second, coupling):
    """Refuse arrays that do not belong together."""
    m = len(first)
    if len(second) != m or len(coupling) != m or len(messages) != 2 * m:
        raise ValueError(
            f"There are {m} and {len(second)} ends of edges, {len(coupling)} "
            f"couplings and {len(messages)} messages; messages must be twice as many "
            "as all others."
        )


def gibbs_sweep(double[:, ::1] spins, double[:, ::1] local,
                const double[:, ::1] couplings, const double[::1] uniforms,
                free=None):
    """As `reference.gibbs_sweep`."""
    cdef Py_ssize_t n = spins.shape[0], n_chains = spins.shape[1]
    cdef Py_ssize_t n_drawn = uniforms.shape[0], tile, i, c, k = 0
    cdef double[::1] drawn, thresholds
    cdef const unsigned char[:, ::1] is_free
    cdef bint masked = free is not None
    n_free = np.count_nonzero(free) if masked else n * n_chains
    if n_drawn != n_free:
        raise ValueError(f"{n_free} spins are drawn from {n_drawn} random numbers.")
    if (local.shape[0], local.shape[1]) != (n_chains, n):
        raise ValueError(
            f"Spins of shape {(n, n_chains)} need fields of shape {(n_chains, n)}, "
            f"not {(local.shape[0], local.shape[1])}."
        )
    if (couplings.shape[0], couplings.shape[1]) != (n, n):
        raise ValueError(f"{n} spins need couplings of shape {(n, n)}.")
    if n_drawn == 0:
        return
    tile = max(<Py_ssize_t>1, TILE // n)
    thresholds = drawn = np.empty(n_drawn)
    if masked:
        if np.shape(free) != (n, n_chains):
            raise ValueError(f"Spins of shape {(n, n_chains)} need as many in free.")
        is_free = np.ascontiguousarray(free).view(np.uint8)
        thresholds = np.empty(n * n_chains)
    with nogil:
        odalib_thresholds(&uniforms[0], &drawn[0], n_drawn)
        if masked:
            for i in range(n):
                for c in range(n_chains):
                    if is_free[i, c]:
                        thresholds[i * n_chains + c] = drawn[k]
                        k += 1
                    else:
                        # What is not drawn stays.
                        thresholds[i * n_chains + c] = -1e300 * spins[i, c]
        odalib_gibbs_sweep(&spins[0, 0], &local[0, 0], &couplings[0, 0],
                           &thresholds[0], n, n_chains, tile)
