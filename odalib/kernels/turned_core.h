/* Tiles of rows, turned so that a lane is a row, against planes. */
#ifndef ODALIB_TURNED_CORE_H
#define ODALIB_TURNED_CORE_H

#include <math.h>

#include "vector.h"

/* Rows of a tile. */
#define ODALIB_TILE 32

/* Turn n rows of d entries, less a shift, into d by ODALIB_TILE. */
ODALIB_CLONES
static void odalib_turn(
    const double *ODALIB_RESTRICT rows, const double *ODALIB_RESTRICT shift,
    double *ODALIB_RESTRICT turned, ptrdiff_t n, ptrdiff_t d)
{
    ptrdiff_t r, j;
    for (r = 0; r < n; r++)
        for (j = 0; j < d; j++)
            turned[j * ODALIB_TILE + r] = rows[r * d + j] - shift[j];
    for (; r < ODALIB_TILE; r++)
        for (j = 0; j < d; j++)
            turned[j * ODALIB_TILE + r] = 0.0;
}

#if ODALIB_HAS_LANES
/* biases_i + <plane_i, x> of four planes and a tile of rows, in registers.

   stride  from one plane to the next, of which d entries count
*/
ODALIB_INLINE void odalib_four_planes(
    const double *turned, const double *plane, const double *biases,
    odalib_lanes sums[16], ptrdiff_t d, ptrdiff_t stride)
{
    ptrdiff_t j;
    int q, r;
#pragma GCC unroll 4
    for (q = 0; q < 4; q++) {
        odalib_lanes bias = (odalib_lanes){0.0} + biases[q];
#pragma GCC unroll 4
        for (r = 0; r < 4; r++)
            sums[4 * q + r] = bias;
    }
    for (j = 0; j < d; j++) {
        const odalib_lanes *x = (const odalib_lanes *)(turned + j * ODALIB_TILE);
        odalib_lanes x0 = x[0], x1 = x[1], x2 = x[2], x3 = x[3];
#pragma GCC unroll 4
        for (q = 0; q < 4; q++) {
            double entry = plane[q * stride + j];
            sums[4 * q] += entry * x0;
            sums[4 * q + 1] += entry * x1;
            sums[4 * q + 2] += entry * x2;
            sums[4 * q + 3] += entry * x3;
        }
    }
}
#endif

/* bias + <plane, x> of one plane and a tile of rows. */
ODALIB_INLINE void odalib_one_plane(
    const double *ODALIB_RESTRICT turned, const double *ODALIB_RESTRICT plane,
    double bias, double *ODALIB_RESTRICT values, ptrdiff_t d)
{
    ptrdiff_t j;
    int r;
    for (r = 0; r < ODALIB_TILE; r++)
        values[r] = bias;
    for (j = 0; j < d; j++)
        for (r = 0; r < ODALIB_TILE; r++)
            values[r] += plane[j] * turned[j * ODALIB_TILE + r];
}

/* values_i = biases_i + <plane_i, x> for K planes and a tile of rows.

   stride  from the values of a plane to those of the next
*/
ODALIB_CLONES
static void odalib_affinities(
    const double *ODALIB_RESTRICT turned, const double *ODALIB_RESTRICT planes,
    const double *ODALIB_RESTRICT biases, double *ODALIB_RESTRICT values,
    ptrdiff_t stride, ptrdiff_t K, ptrdiff_t d)
{
    ptrdiff_t i = 0;
#if ODALIB_HAS_LANES
    for (; ODALIB_HOLDS_EIGHT && i + 4 <= K; i += 4) {
        odalib_lanes sums[16];
        int q, r;
        odalib_four_planes(turned, planes + i * d, biases + i, sums, d, d);
#pragma GCC unroll 4
        for (q = 0; q < 4; q++) {
            odalib_lanes *own = (odalib_lanes *)(values + (i + q) * stride);
#pragma GCC unroll 4
            for (r = 0; r < 4; r++)
                own[r] = sums[4 * q + r];
        }
    }
#endif
    for (; i < K; i++)
        odalib_one_plane(turned, planes + i * d, biases[i], values + i * stride, d);
}

/* First plane of the largest value, and that, of every row of a tile. */
ODALIB_CLONES
static void odalib_nearest(
    const double *ODALIB_RESTRICT turned, const double *ODALIB_RESTRICT planes,
    const double *ODALIB_RESTRICT biases, double *ODALIB_RESTRICT numbers,
    double *ODALIB_RESTRICT largest, ptrdiff_t K, ptrdiff_t d)
{
    double values[ODALIB_TILE];
    ptrdiff_t i = 0;
    int r;
    for (r = 0; r < ODALIB_TILE; r++) {
        largest[r] = -HUGE_VAL;
        numbers[r] = 0.0;
    }
#if ODALIB_HAS_LANES
    for (; ODALIB_HOLDS_EIGHT && i + 4 <= K; i += 4) {
        odalib_lanes sums[16];
        int q;
        odalib_four_planes(turned, planes + i * d, biases + i, sums, d, d);
#pragma GCC unroll 4
        for (r = 0; r < 4; r++) {
            odalib_lanes best = ((odalib_lanes *)largest)[r];
            odalib_lanes number = ((odalib_lanes *)numbers)[r];
#pragma GCC unroll 4
            for (q = 0; q < 4; q++) {
                odalib_bits more = sums[4 * q + r] > best;
                odalib_lanes own = (odalib_lanes){0.0} + (double)(i + q);
                number = odalib_where(more, own, number);
                best = odalib_where(more, sums[4 * q + r], best);
            }
            ((odalib_lanes *)largest)[r] = best;
            ((odalib_lanes *)numbers)[r] = number;
        }
    }
#endif
    for (; i < K; i++) {
        odalib_one_plane(turned, planes + i * d, biases[i], values, d);
        for (r = 0; r < ODALIB_TILE; r++) {
            numbers[r] = values[r] > largest[r] ? (double)i : numbers[r];
            largest[r] = values[r] > largest[r] ? values[r] : largest[r];
        }
    }
}

#endif
