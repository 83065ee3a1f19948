# Tiles of dense rows against a codebook, and the sums over them; part of _annealing.pyx.

cdef extern from "annealing_core.h" nogil:
    void odalib_associate(double*, const double*, double*, double*, double*, double*,
                          Py_ssize_t, Py_ssize_t)
    void odalib_weighted(double*, const double*, int, double*, Py_ssize_t, Py_ssize_t)
    void odalib_first_largest(const double*, int64_t*, double*, Py_ssize_t, Py_ssize_t)
    void odalib_biases(const double*, const double*, double, double*,
                       Py_ssize_t, Py_ssize_t)
    void odalib_step(double*, double*, double*, double*, double, double,
                     Py_ssize_t, Py_ssize_t)
    void odalib_about(const double*, double*, double*, Py_ssize_t, Py_ssize_t)
    void odalib_cell_sums(const double*, const double*, const int64_t*, double*,
                          double*, Py_ssize_t, Py_ssize_t)
    void odalib_centre(const double*, const double*, double*, Py_ssize_t, Py_ssize_t)

cdef extern from "turned_core.h" nogil:
    cdef enum:
        TURNED "ODALIB_TILE"
    void odalib_turn(const double*, const double*, double*, Py_ssize_t, Py_ssize_t)
    void odalib_affinities(const double*, const double*, const double*, double*,
                           Py_ssize_t, Py_ssize_t, Py_ssize_t)
    void odalib_nearest(const double*, const double*, const double*, double*, double*,
                        Py_ssize_t, Py_ssize_t)

cdef extern from "screening_core.h" nogil:
    void odalib_screened_nearest(
        float*, const float*, float, const double*, double, const double*,
        const double*, Py_ssize_t*, int64_t*, double*, Py_ssize_t, Py_ssize_t,
        Py_ssize_t)
    double ODALIB_CUT
    double odalib_longest(const double*, Py_ssize_t, Py_ssize_t)
    void odalib_narrowed(const double*, double, float*, Py_ssize_t)
    double odalib_screening_error(double, const double*, Py_ssize_t, Py_ssize_t)
    Py_ssize_t odalib_count_candidates(float*, const float*, float, Py_ssize_t,
                                       Py_ssize_t)
    void odalib_screened_sums(
        float*, const float*, float, Py_ssize_t, const double*, double, const double*,
        const double*, const double*, double*, double*, double*, int,
        const double*, const double*, const double*, double*, Py_ssize_t*, double*,
        double*, Py_ssize_t, Py_ssize_t, Py_ssize_t)

cdef enum:
    # Numbers in a tile of codevectors by rows: half a megabyte, for the second cache.
    TILE = 65536
    LEAST_ROWS = 64
    MOST_ROWS = 256
    # Rows of LONG entries or more are screened against MANY codevectors or more, where
    # of the first PROBE rows of a tile one codevector in FEW or less is near.
    LONG = 32
    MANY = 16
    PROBE = 32
    FEW = 8
    # Other rows of so many entries are turned in tiles that stay in the first cache;
    # longer ones are left to BLAS.
    WIDEST = 64

# Beyond this, logits may overflow in single precision.
cdef double LARGEST_LOGIT = 1e30

cdef struct Codes:
    # A codebook: the logit of a row is scale <plane, x> + bias.
    Py_ssize_t K
    Py_ssize_t d
    const double* planes
    double scale
    const double* biases
    # In single precision, the planes over the longest; NULL where none are screened.
    float* planes_32
    float* biases_32
    double longest
    # Planes times the scale, and room for rows that are turned; NULL where none are.
    double* scaled
    double* turned
    # Subtracted from rows that are turned.
    const double* centre

cdef struct Sums:
    # Sums over rows, see `odalib_screened_sums`, and room to work in. Of axis, mass times
    # the points is still to be taken off.
    double* weight
    double* total
    double* axis
    double* mass
    int kind
    const double* covectors
    double* centre
    const double* points
    Py_ssize_t size
    double* values
    double* factors
    # Largest logit and sum of exponentials of every row of a tile.
    double* largest
    double* norm
    double* work
    Py_ssize_t* chosen
    float* rows_32
    float* values_32


cdef class Room:
    """Room for the work of one call, and where its parts are."""

    cdef double[::1] doubles
    cdef float[::1] floats
    cdef Py_ssize_t[::1] chosen
    cdef Sums sums
    cdef Codes codes

    def __init__(self, Py_ssize_t K, Py_ssize_t d, Py_ssize_t n_rows, int kind):
        cdef Py_ssize_t size = min(tile_rows(K), n_rows)
        cdef Py_ssize_t tables = 2 if kind == 2 else 1
        cdef bint screens = d >= LONG and K >= MANY
        cdef bint turns = d <= WIDEST and not screens
        self.doubles = np.empty(
            tables * K * size + 2 * size + max(2 * K, size) + K
            + turns * (K * d + TURNED * d + d)
        )
        self.chosen = np.empty(K, dtype=np.intp)
        self.sums.kind, self.sums.size = kind, size
        self.sums.covectors = NULL
        self.sums.values = &self.doubles[0]
        self.sums.factors = &self.doubles[(tables - 1) * K * size]
        self.sums.largest = &self.doubles[tables * K * size]
        self.sums.norm = self.sums.largest + size
        self.sums.work = self.sums.norm + size
        self.sums.centre = self.sums.work + max(2 * K, size)
        self.sums.chosen = &self.chosen[0]
        self.codes.K, self.codes.d = K, d
        self.codes.planes_32 = NULL
        self.codes.scaled = NULL
        if turns:
            self.codes.scaled = self.sums.centre + K
            self.codes.turned = self.codes.scaled + K * d
            self.doubles[len(self.doubles) - d:] = 0.0
            self.codes.centre = self.codes.turned + TURNED * d
        if screens:
            self.floats = np.empty(
                K * d + K + size * d + size * K, dtype=np.float32
            )
            self.codes.planes_32 = &self.floats[0]
            self.codes.biases_32 = self.codes.planes_32 + K * d
            self.sums.rows_32 = self.codes.biases_32 + K
            self.sums.values_32 = self.sums.rows_32 + size * d


cdef class Shift:
    """What is subtracted from rows, or None, and room for rows without it."""

    cdef const double[::1] shift
    cdef double[::1] room
    cdef bint is_given
    cdef Py_ssize_t d

    def __init__(self, shift, Py_ssize_t size, Py_ssize_t d):
        self.d, self.is_given = d, shift is not None
        if self.is_given:
            check_shape("shift", np.shape(shift), (d,))
            self.shift = np.ascontiguousarray(shift, dtype=np.float64)
            self.room = np.empty(size * d)

    cdef const double* taken(self, const double* rows, Py_ssize_t n) noexcept nogil:
        """Rows without the shift, until the next call."""
        cdef Py_ssize_t i, j
        if not self.is_given:
            return rows
        for i in range(n):
            for j in range(self.d):
                self.room[i * self.d + j] = rows[i * self.d + j] - self.shift[j]
        return &self.room[0]


cdef Py_ssize_t tile_rows(Py_ssize_t n_codevectors) noexcept nogil:
    """Rows of a tile: a multiple of eight, so that vectors are full."""
    cdef Py_ssize_t n = TILE // max(n_codevectors, <Py_ssize_t>1)
    n = min(max(n, <Py_ssize_t>LEAST_ROWS), <Py_ssize_t>MOST_ROWS)
    return n - n % 8


cdef void add_products(const double* planes, double scale, const double* rows,
                       double* values, Py_ssize_t K, Py_ssize_t n, Py_ssize_t d
                       ) noexcept nogil:
    """Add ``scale <plane_i, x_j>`` to values, K by n."""
    cdef int n_ = <int>n, K_ = <int>K, d_ = <int>d
    cdef double one = 1.0
    # To a library that reads column by column, values are n by K.
    dgemm(b"T", b"N", &n_, &K_, &d_, &scale, <double*>rows, &d_, <double*>planes, &d_,
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


cdef void set_codes(Codes* codes, const double* planes, double scale,
                    const double* biases) noexcept nogil:
    """Let rows be compared with a codebook."""
    cdef Py_ssize_t i
    codes.planes, codes.scale, codes.biases = planes, scale, biases
    if codes.scaled != NULL:
        for i in range(codes.K * codes.d):
            codes.scaled[i] = scale * planes[i]
    if codes.planes_32 != NULL:
        codes.longest = odalib_longest(planes, codes.K, codes.d)
        odalib_narrowed(planes, codes.longest or 1.0, codes.planes_32,
                        codes.K * codes.d)
        odalib_narrowed(biases, 1.0, codes.biases_32, codes.K)


cdef void add_tile(Codes* codes, Sums* sums, const double* rows,
                   const double* row_weights, const double* by_row,
                   Py_ssize_t n) noexcept nogil:
    """Add a tile of rows to the sums under the association."""
    if codes.planes_32 == NULL or not add_screened(codes, sums, rows, row_weights,
                                                   by_row, n):
        add_all(codes, sums, rows, row_weights, by_row, n)


cdef bint add_screened(Codes* codes, Sums* sums, const double* rows,
                       const double* row_weights, const double* by_row,
                       Py_ssize_t n) noexcept nogil:
    """As `add_tile`, where few codevectors are near a row; whether they are."""
    cdef Py_ssize_t K = codes.K, d = codes.d, probe = min(n, <Py_ssize_t>PROBE)
    cdef double alpha = screening_scale(codes, sums, rows, n)
    cdef double error = odalib_screening_error(alpha, codes.biases, K, d)
    cdef float margin = <float>(1.000001 * (ODALIB_CUT + 2.0 * error))
    if not error < LARGEST_LOGIT:
        return False
    narrow_products(codes, alpha, sums.rows_32, sums.values_32, probe)
    if FEW * odalib_count_candidates(sums.values_32, codes.biases_32, margin, K,
                                     probe) > K * probe:
        return False
    if n > probe:
        narrow_products(codes, alpha, sums.rows_32 + probe * d,
                        sums.values_32 + probe * K, n - probe)
    odalib_screened_sums(
        sums.values_32, codes.biases_32, margin, probe, codes.planes, codes.scale,
        codes.biases, rows, row_weights, sums.weight, sums.total, sums.axis, sums.kind,
        by_row if sums.kind == 1 else sums.covectors, sums.centre, sums.points,
        sums.work, sums.chosen, sums.largest, sums.norm, K, n, d)
    return True


cdef double screening_scale(Codes* codes, Sums* sums, const double* rows,
                            Py_ssize_t n) noexcept nogil:
    """Scale of products of rows in single precision, which are set."""
    cdef double longest = odalib_longest(rows, n, codes.d)
    odalib_narrowed(rows, longest or 1.0, sums.rows_32, n * codes.d)
    return codes.scale * codes.longest * longest


cdef void find_nearest(Codes* codes, Sums* sums, const double* rows, int64_t* labels,
                       double* largest, Py_ssize_t n) noexcept nogil:
    """First codevector of the largest logit of every row of a tile, and that logit."""
    cdef Py_ssize_t K = codes.K, d = codes.d, start = 0, i, m
    cdef double alpha, error
    cdef double numbers[TURNED]
    cdef double values[TURNED]
    if codes.scaled != NULL:
        while start < n:
            m = min(n - start, <Py_ssize_t>TURNED)
            odalib_turn(rows + start * d, codes.centre, codes.turned, m, d)
            odalib_nearest(codes.turned, codes.scaled, codes.biases, numbers, values,
                           K, d)
            for i in range(m):
                labels[start + i] = <int64_t>numbers[i]
                largest[start + i] = values[i]
            start += TURNED
        return
    if codes.planes_32 != NULL:
        alpha = screening_scale(codes, sums, rows, n)
        error = odalib_screening_error(alpha, codes.biases, K, d)
        if error < LARGEST_LOGIT:
            narrow_products(codes, alpha, sums.rows_32, sums.values_32, n)
            odalib_screened_nearest(
                sums.values_32, codes.biases_32, <float>(2.000002 * error),
                codes.planes, codes.scale, codes.biases, rows, sums.chosen, labels,
                largest, K, n, d)
            return
    set_logits(codes, sums.values, rows, n)
    odalib_first_largest(sums.values, labels, largest, K, n)


cdef void set_logits(Codes* codes, double* values, const double* rows, Py_ssize_t n
                     ) noexcept nogil:
    """Set values, K by n, to the logits of a tile of rows."""
    cdef Py_ssize_t K = codes.K, d = codes.d, start = 0, i, j
    cdef double part[TURNED]
    if codes.scaled == NULL:
        fill(values, codes.biases, 1.0, K, n)
        add_products(codes.planes, codes.scale, rows, values, K, n, d)
        return
    while start + TURNED <= n:
        odalib_turn(rows + start * d, codes.centre, codes.turned, TURNED, d)
        odalib_affinities(codes.turned, codes.scaled, codes.biases, values + start, n,
                          K, d)
        start += TURNED
    if start < n:
        odalib_turn(rows + start * d, codes.centre, codes.turned, n - start, d)
        for i in range(K):
            odalib_affinities(codes.turned, codes.scaled + i * d, codes.biases + i,
                              part, TURNED, 1, d)
            for j in range(n - start):
                values[i * n + start + j] = part[j]


cdef void narrow_products(Codes* codes, double alpha, float* rows, float* values,
                          Py_ssize_t n) noexcept nogil:
    """Set values, n by K, to ``alpha <plane_i, x_j>`` in single precision."""
    cdef int n_ = <int>n, K_ = <int>codes.K, d_ = <int>codes.d
    cdef float scale = <float>alpha, zero = 0.0
    sgemm(b"T", b"N", &K_, &n_, &d_, &scale, codes.planes_32, &d_, rows, &d_, &zero,
          values, &K_)


cdef void add_all(Codes* codes, Sums* sums, const double* rows,
                  const double* row_weights, const double* by_row,
                  Py_ssize_t n) noexcept nogil:
    """As `add_tile`, with all associations."""
    cdef Py_ssize_t K = codes.K, d = codes.d
    set_logits(codes, sums.values, rows, n)
    odalib_associate(sums.values, row_weights, sums.largest, sums.work, sums.norm,
                     sums.weight, K, n)
    add_sums(sums.values, rows, sums.total, K, n, d)
    if sums.kind == 2:
        fill(sums.factors, sums.centre, -1.0, K, n)
        add_products(sums.covectors, 1.0, rows, sums.factors, K, n, d)
    if sums.kind:
        odalib_weighted(sums.values, by_row if sums.kind == 1 else sums.factors,
                        sums.kind == 2, sums.mass, K, n)
        add_sums(sums.values, rows, sums.axis, K, n, d)
