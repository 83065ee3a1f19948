/* Vectors of columns padded to whole ones: sums and products. */
#ifndef ODALIB_COLUMNS_CORE_H
#define ODALIB_COLUMNS_CORE_H

#include "vector.h"

/* Numbers of a vector, and columns that are passed over together. */
#if defined(__GNUC__)
#define ODALIB_LANES 8
#define ODALIB_GROUP 4
typedef double odalib_vec __attribute__((vector_size(64), may_alias));
/* Numbers of two vectors, at places in the first or, from LANES on, the second. */
#if defined(__clang__)
#define ODALIB_PICK(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
typedef int64_t odalib_places __attribute__((vector_size(64)));
#define ODALIB_PICK(a, b, ...) __builtin_shuffle(a, b, (odalib_places){__VA_ARGS__})
#endif
#define ODALIB_SUM(v) \
    ((((v)[0] + (v)[4]) + ((v)[2] + (v)[6])) + (((v)[1] + (v)[5]) + ((v)[3] + (v)[7])))
#else
#define ODALIB_LANES 1
#define ODALIB_GROUP 1
typedef double odalib_vec;
#define ODALIB_SUM(v) (v)
#endif

/* Have what is soon to be read and written brought to the cache. */
ODALIB_INLINE void odalib_prefetch(const void *place)
{
#if defined(__GNUC__)
    __builtin_prefetch(place, 1);
#else
    (void)place;
#endif
}

/* Whether all of n numbers are zero. */
ODALIB_CLONES
static int odalib_is_zero(const double *values, ptrdiff_t n)
{
    int64_t differ = 0;
    ptrdiff_t i;
    for (i = 0; i < n; i++)
        differ |= values[i] != 0.0;
    return !differ;
}

ODALIB_INLINE double odalib_product(const double *left, const double *right, ptrdiff_t ld)
{
    odalib_vec part[2] = {{0.0}};
    ptrdiff_t i = 0;
    for (; i + 2 * ODALIB_LANES <= ld; i += 2 * ODALIB_LANES) {
        part[0] += *(const odalib_vec *)(left + i) * *(const odalib_vec *)(right + i);
        part[1] += *(const odalib_vec *)(left + i + ODALIB_LANES)
            * *(const odalib_vec *)(right + i + ODALIB_LANES);
    }
    if (i < ld)
        part[0] += *(const odalib_vec *)(left + i) * *(const odalib_vec *)(right + i);
    part[0] += part[1];
    return ODALIB_SUM(part[0]);
}

/* Sums of as many vectors as they have numbers. */
ODALIB_INLINE odalib_vec odalib_sums(const odalib_vec part[ODALIB_LANES])
{
#if ODALIB_LANES == 8
    odalib_vec two[4], four[2];
    int g;
    for (g = 0; g < 4; g++) {
        const odalib_vec a = part[2 * g], b = part[2 * g + 1];
        two[g] = ODALIB_PICK(a, b, 0, 8, 2, 10, 4, 12, 6, 14)
            + ODALIB_PICK(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
    }
    for (g = 0; g < 2; g++) {
        const odalib_vec a = two[2 * g], b = two[2 * g + 1];
        four[g] = ODALIB_PICK(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
            + ODALIB_PICK(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
    }
    return ODALIB_PICK(four[0], four[1], 0, 1, 2, 3, 8, 9, 10, 11)
        + ODALIB_PICK(four[0], four[1], 4, 5, 6, 7, 12, 13, 14, 15);
#else
    return part[0];
#endif
}

/* sums_j = sum of left_k right_k over k >= j, and later_j over k > j. */
ODALIB_INLINE void odalib_suffix_sums(
    const double *ODALIB_RESTRICT left, const double *ODALIB_RESTRICT right,
    double *ODALIB_RESTRICT sums, double *ODALIB_RESTRICT later, ptrdiff_t ld)
{
    odalib_vec after = {0.0};
    ptrdiff_t j;
    for (j = ld - ODALIB_LANES; j >= 0; j -= ODALIB_LANES) {
        odalib_vec v = *(const odalib_vec *)(left + j) * *(const odalib_vec *)(right + j);
#if ODALIB_LANES == 8
        const odalib_vec zero = {0.0};
        v += ODALIB_PICK(v, zero, 1, 2, 3, 4, 5, 6, 7, 8);
        v += ODALIB_PICK(v, zero, 2, 3, 4, 5, 6, 7, 8, 8);
        v += ODALIB_PICK(v, zero, 4, 5, 6, 7, 8, 8, 8, 8);
        *(odalib_vec *)(later + j)
            = after + ODALIB_PICK(v, zero, 1, 2, 3, 4, 5, 6, 7, 8);
        v += after;
        after = ODALIB_PICK(v, zero, 0, 0, 0, 0, 0, 0, 0, 0);
#else
        *(odalib_vec *)(later + j) = after;
        after = v += after;
#endif
        *(odalib_vec *)(sums + j) = v;
    }
}

#endif
