/* Predictions: tiles of rows, turned so that a lane is a row, against planes. */
#ifndef ODALIB_ASSOCIATION_CORE_H
#define ODALIB_ASSOCIATION_CORE_H

#include <math.h>

#include "turned_core.h"

/* Largest absolute value of n numbers. */
ODALIB_CLONES
static double odalib_largest_size(const double *ODALIB_RESTRICT values, ptrdiff_t n)
{
    double part[ODALIB_TILE] = {0.0}, largest = 0.0;
    ptrdiff_t j, end = n - n % ODALIB_TILE;
    int r;
    for (j = 0; j < end; j += ODALIB_TILE)
        for (r = 0; r < ODALIB_TILE; r++) {
            double value = values[j + r], size = value < 0.0 ? -value : value;
            part[r] = size > part[r] ? size : part[r];
        }
    for (r = 0; r < ODALIB_TILE; r++)
        largest = part[r] > largest ? part[r] : largest;
    for (; j < n; j++) {
        double size = values[j] < 0.0 ? -values[j] : values[j];
        largest = size > largest ? size : largest;
    }
    return largest;
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

/* Sum of the squares of biases_i + <plane_i, x> of every row of a tile.

   begins, ends  for every four planes, the entries that are not all zero
*/
ODALIB_CLONES
static void odalib_square_sums(
    const double *ODALIB_RESTRICT turned, const double *ODALIB_RESTRICT planes,
    const double *ODALIB_RESTRICT biases, const ptrdiff_t *ODALIB_RESTRICT begins,
    const ptrdiff_t *ODALIB_RESTRICT ends, double *ODALIB_RESTRICT squares,
    ptrdiff_t K, ptrdiff_t d)
{
    double values[ODALIB_TILE];
    ptrdiff_t i = 0;
    int r;
    for (r = 0; r < ODALIB_TILE; r++)
        squares[r] = 0.0;
#if ODALIB_HAS_LANES
    for (; i + 4 <= K; i += 4) {
        odalib_lanes sums[16];
        ptrdiff_t begin = begins[i / 4], end = ends[i / 4];
        odalib_four_planes(
            turned + begin * ODALIB_TILE, planes + i * d + begin, biases + i, sums,
            end - begin, d);
#pragma GCC unroll 4
        for (r = 0; r < 4; r++)
            ((odalib_lanes *)squares)[r] +=
                (sums[r] * sums[r] + sums[4 + r] * sums[4 + r]) +
                (sums[8 + r] * sums[8 + r] + sums[12 + r] * sums[12 + r]);
    }
#endif
    for (; i < K; i++) {
        odalib_one_plane(turned, planes + i * d, biases[i], values, d);
        for (r = 0; r < ODALIB_TILE; r++)
            squares[r] += values[r] * values[r];
    }
}

#endif
