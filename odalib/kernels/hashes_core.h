/* Hashes of rows, as odalib.kernels.reference.hashes. */
#ifndef ODALIB_HASHES_CORE_H
#define ODALIB_HASHES_CORE_H

#include <math.h>
#include "vector.h"

ODALIB_INLINE uint64_t odalib_mix(uint64_t bits)
{
    bits += 0x9E3779B97F4A7C15ULL;
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9ULL;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBULL;
    return bits ^ (bits >> 31);
}

/* Hashes of one batch of n rows of d entries, scaled by its largest. */
ODALIB_CLONES
static void odalib_row_hashes(
    const double *ODALIB_RESTRICT rows, const uint64_t *ODALIB_RESTRICT salts,
    uint64_t *ODALIB_RESTRICT hashes, ptrdiff_t n, ptrdiff_t d)
{
    double largest = 0.0, scale;
    int exponent, by_parts;
    ptrdiff_t i, j;
#pragma omp simd reduction(max : largest)
    for (i = 0; i < n * d; i++) {
        double size = fabs(rows[i]);
        largest = size > largest ? size : largest;
    }
    frexp(largest, &exponent);
    /* Powers of two beyond these may not be numbers. */
    by_parts = exponent > 1000 || exponent < -1000;
    scale = by_parts ? 1.0 : ldexp(1.0, -exponent);
    for (i = 0; i < n; i++) {
        const double *row = rows + i * d;
        uint64_t sum = 0;
        for (j = 0; j < d; j++) {
            double value = by_parts ? ldexp(row[j], -exponent) : row[j] * scale;
            uint64_t bits;
            memcpy(&bits, &value, sizeof bits);
            sum += value == 0.0 ? 0 : odalib_mix(bits + salts[j]);
        }
        hashes[i] = sum;
    }
}

/* Numbers in (0, 1] from hashes, of another draw for another salt. */
ODALIB_CLONES
static void odalib_uniforms(
    const uint64_t *ODALIB_RESTRICT hashes, uint64_t salt,
    double *ODALIB_RESTRICT uniforms, ptrdiff_t n)
{
    ptrdiff_t i;
    for (i = 0; i < n; i++) {
        uint64_t bits = odalib_mix(hashes[i] + salt) >> 11;
        uniforms[i] = (double)(int64_t)(bits + 1) * 0x1p-53;
    }
}

#endif
