/* Predictions: tiles of rows, turned so that a lane is a row, against planes. */
#ifndef ODALIB_ASSOCIATION_CORE_H
#define ODALIB_ASSOCIATION_CORE_H

#include <math.h>

#include "normal_cdf.h"
#include "turned_core.h"

/* Largest absolute value so far and of one more number, as an integer; what is not
   finite is larger than all others. */
ODALIB_INLINE int64_t odalib_larger(int64_t largest, double value)
{
    int64_t size;
    memcpy(&size, &value, sizeof size);
    size &= INT64_MAX;
    return size > largest ? size : largest;
}

/* Largest absolute value so far and of n more numbers; not finite once one is not. */
ODALIB_CLONES
static void odalib_measure(
    const double *ODALIB_RESTRICT values, double *ODALIB_RESTRICT largest, ptrdiff_t n)
{
    int64_t part[ODALIB_TILE] = {0}, size = odalib_larger(0, *largest);
    ptrdiff_t j, end = n - n % ODALIB_TILE;
    int r;
    for (j = 0; j < end; j += ODALIB_TILE)
        for (r = 0; r < ODALIB_TILE; r++)
            part[r] = odalib_larger(part[r], values[j + r]);
    for (r = 0; r < ODALIB_TILE; r++)
        size = part[r] > size ? part[r] : size;
    for (; j < n; j++)
        size = odalib_larger(size, values[j]);
    memcpy(largest, &size, sizeof size);
}

/* Probabilities of the classes of a tile of rows, n_classes by ODALIB_TILE.

   values  K by ODALIB_TILE; log votes of codevectors, class by class
   starts  n_classes + 1; where the codevectors of a class begin, and the end
   adds    whether the votes of a class are added; else the largest counts alone
*/
ODALIB_CLONES
static void odalib_class_votes(
    const double *ODALIB_RESTRICT values, const ptrdiff_t *ODALIB_RESTRICT starts,
    double *ODALIB_RESTRICT votes, ptrdiff_t n_classes, int adds)
{
    double largest[ODALIB_TILE], total[ODALIB_TILE];
    ptrdiff_t i, c, K = starts[n_classes];
    int r;
    for (r = 0; r < ODALIB_TILE; r++) {
        largest[r] = values[r];
        total[r] = 0.0;
    }
    for (i = 1; i < K; i++)
        for (r = 0; r < ODALIB_TILE; r++) {
            double value = values[i * ODALIB_TILE + r];
            largest[r] = value > largest[r] ? value : largest[r];
        }
    for (c = 0; c < n_classes; c++) {
        double *own = votes + c * ODALIB_TILE;
        const double *value = values + starts[c] * ODALIB_TILE;
        for (r = 0; r < ODALIB_TILE; r++)
            own[r] = adds ? 0.0 : value[r];
        for (i = starts[c]; i < starts[c + 1]; i++) {
            value = values + i * ODALIB_TILE;
            if (adds)
                for (r = 0; r < ODALIB_TILE; r++)
                    own[r] += odalib_exp(value[r] - largest[r]);
            else
                for (r = 0; r < ODALIB_TILE; r++)
                    own[r] = value[r] > own[r] ? value[r] : own[r];
        }
        if (!adds)
            for (r = 0; r < ODALIB_TILE; r++)
                own[r] = odalib_exp(own[r] - largest[r]);
        for (r = 0; r < ODALIB_TILE; r++)
            total[r] += own[r];
    }
    for (c = 0; c < n_classes; c++)
        for (r = 0; r < ODALIB_TILE; r++)
            votes[c * ODALIB_TILE + r] /= total[r];
}

#if ODALIB_HAS_LANES
/* Bits of four doubles. */
typedef int64_t odalib_four_bits __attribute__((vector_size(32), aligned(8)));

#if defined(__clang__)
#define ODALIB_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define ODALIB_SHUFFLE(a, b, ...) \
    __builtin_shuffle(a, b, (odalib_four_bits){__VA_ARGS__})
#endif

/* Four columns of four rows; largest sizes as of `odalib_larger`. */
ODALIB_INLINE void odalib_turn_four(
    const double *row, double *out, ptrdiff_t d, odalib_four_bits *largest)
{
    const odalib_four_bits positive = (odalib_four_bits){0} + INT64_MAX;
    odalib_quad rows[4], low[2], high[2];
    int q;
#pragma GCC unroll 4
    for (q = 0; q < 4; q++) {
        odalib_four_bits size, more;
        rows[q] = *(const odalib_quad *)(row + q * d);
        size = (odalib_four_bits)rows[q] & positive;
        more = size > *largest;
        *largest = (more & size) | (~more & *largest);
    }
#pragma GCC unroll 2
    for (q = 0; q < 2; q++) {
        low[q] = ODALIB_SHUFFLE(rows[2 * q], rows[2 * q + 1], 0, 4, 2, 6);
        high[q] = ODALIB_SHUFFLE(rows[2 * q], rows[2 * q + 1], 1, 5, 3, 7);
    }
    *(odalib_quad *)out = ODALIB_SHUFFLE(low[0], low[1], 0, 1, 4, 5);
    *(odalib_quad *)(out + ODALIB_TILE) = ODALIB_SHUFFLE(high[0], high[1], 0, 1, 4, 5);
    *(odalib_quad *)(out + 2 * ODALIB_TILE) = ODALIB_SHUFFLE(low[0], low[1], 2, 3, 6, 7);
    *(odalib_quad *)(out + 3 * ODALIB_TILE) =
        ODALIB_SHUFFLE(high[0], high[1], 2, 3, 6, 7);
}
#endif

/* Turn n rows of d entries into d by ODALIB_TILE.

   largest  absolute value of entries so far; not finite once an entry is not
*/
ODALIB_CLONES
static void odalib_turn_measured(
    const double *ODALIB_RESTRICT rows, double *ODALIB_RESTRICT turned,
    double *ODALIB_RESTRICT largest, ptrdiff_t n, ptrdiff_t d)
{
    ptrdiff_t r = 0, j, q;
    int64_t size = odalib_larger(0, *largest);
#if ODALIB_HAS_LANES
    odalib_four_bits sizes = {0};
    for (; ODALIB_HOLDS_FOUR && r + 4 <= n; r += 4) {
        const double *row = rows + r * d;
        for (j = 0; j + 4 <= d; j += 4)
            odalib_turn_four(row + j, turned + j * ODALIB_TILE + r, d, &sizes);
        for (; j < d; j++)
            for (q = r; q < r + 4; q++) {
                turned[j * ODALIB_TILE + q] = rows[q * d + j];
                size = odalib_larger(size, rows[q * d + j]);
            }
    }
    for (q = 0; q < 4; q++)
        size = sizes[q] > size ? sizes[q] : size;
#endif
    for (; r < n; r++)
        for (j = 0; j < d; j++) {
            turned[j * ODALIB_TILE + r] = rows[r * d + j];
            size = odalib_larger(size, rows[r * d + j]);
        }
    for (; r < ODALIB_TILE; r++)
        for (j = 0; j < d; j++)
            turned[j * ODALIB_TILE + r] = 0.0;
    memcpy(largest, &size, sizeof size);
}

#if ODALIB_HAS_LANES
/* bias + <plane, x> of one plane and a tile of rows, in registers. */
ODALIB_INLINE void odalib_plane_in_lanes(
    const double *turned, const double *plane, double bias, odalib_lanes sums[4],
    ptrdiff_t d)
{
    ptrdiff_t j;
    sums[0] = sums[1] = sums[2] = sums[3] = (odalib_lanes){0.0} + bias;
    for (j = 0; j < d; j++) {
        const odalib_lanes *x = (const odalib_lanes *)(turned + j * ODALIB_TILE);
        sums[0] += plane[j] * x[0];
        sums[1] += plane[j] * x[1];
        sums[2] += plane[j] * x[2];
        sums[3] += plane[j] * x[3];
    }
}

/* As `odalib_latent`, where a register holds eight doubles. */
ODALIB_INLINE void odalib_latent_in_lanes(
    const double *turned, const double *planes, const double *biases,
    const ptrdiff_t *begins, const ptrdiff_t *ends, odalib_lanes *mean,
    odalib_lanes *variance, ptrdiff_t K, ptrdiff_t d)
{
    odalib_lanes sums[16], squares[4] = {{0.0}, {0.0}, {0.0}, {0.0}};
    ptrdiff_t i = 1, begin, end;
    int r;
    odalib_plane_in_lanes(turned, planes, biases[0], sums, d);
#pragma GCC unroll 4
    for (r = 0; r < 4; r++)
        mean[r] = sums[r];
    for (; i + 4 <= K; i += 4) {
        begin = begins[i];
        end = ends[i];
        for (r = 1; r < 4; r++) {
            begin = begins[i + r] < begin ? begins[i + r] : begin;
            end = ends[i + r] > end ? ends[i + r] : end;
        }
        odalib_four_planes(
            turned + begin * ODALIB_TILE, planes + i * d + begin, biases + i, sums,
            end - begin, d);
#pragma GCC unroll 4
        for (r = 0; r < 4; r++)
            squares[r] += (sums[r] * sums[r] + sums[4 + r] * sums[4 + r]) +
                          (sums[8 + r] * sums[8 + r] + sums[12 + r] * sums[12 + r]);
    }
    for (; i < K; i++) {
        begin = begins[i];
        odalib_plane_in_lanes(
            turned + begin * ODALIB_TILE, planes + i * d + begin, biases[i], sums,
            ends[i] - begin);
#pragma GCC unroll 4
        for (r = 0; r < 4; r++)
            squares[r] += sums[r] * sums[r];
    }
#pragma GCC unroll 4
    for (r = 0; r < 4; r++)
        variance[r] = squares[r];
}
#endif

/* Mean and variance of the latent value of every row of a tile: biases_i + <plane_i, x>
   of the first plane, and the sum of the squares of those of all others.

   begins, ends  entries of every plane outside of which it is zero
*/
ODALIB_CLONES
static void odalib_latent(
    const double *ODALIB_RESTRICT turned, const double *ODALIB_RESTRICT planes,
    const double *ODALIB_RESTRICT biases, const ptrdiff_t *ODALIB_RESTRICT begins,
    const ptrdiff_t *ODALIB_RESTRICT ends, double *ODALIB_RESTRICT mean,
    double *ODALIB_RESTRICT variance, ptrdiff_t K, ptrdiff_t d)
{
    double values[ODALIB_TILE];
    ptrdiff_t i;
    int r;
#if ODALIB_HAS_LANES
    if (ODALIB_HOLDS_EIGHT) {
        odalib_latent_in_lanes(
            turned, planes, biases, begins, ends, (odalib_lanes *)mean,
            (odalib_lanes *)variance, K, d);
        return;
    }
#endif
    odalib_one_plane(turned, planes, biases[0], mean, d);
    for (r = 0; r < ODALIB_TILE; r++)
        variance[r] = 0.0;
    for (i = 1; i < K; i++) {
        odalib_one_plane(
            turned + begins[i] * ODALIB_TILE, planes + i * d + begins[i], biases[i],
            values, ends[i] - begins[i]);
        for (r = 0; r < ODALIB_TILE; r++)
            variance[r] += values[r] * values[r];
    }
}

/* Probabilities of both sides of every row of a tile, ODALIB_TILE by 2, under the
   noise of variance one. */
ODALIB_CLONES
static void odalib_probit_sides(
    const double *ODALIB_RESTRICT mean, const double *ODALIB_RESTRICT variance,
    double *ODALIB_RESTRICT sides)
{
    double margins[ODALIB_TILE], negative[ODALIB_TILE], positive[ODALIB_TILE];
    int r;
    for (r = 0; r < ODALIB_TILE; r++)
        margins[r] = mean[r] / sqrt(1.0 + variance[r]);
    odalib_both_sides(margins, negative, positive);
    for (r = 0; r < ODALIB_TILE; r++) {
        sides[2 * r] = negative[r];
        sides[2 * r + 1] = positive[r];
    }
}

#endif
