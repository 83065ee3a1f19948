/* Loops over contiguous doubles that compilers turn into vector instructions. */
#ifndef ODALIB_VECTOR_H
#define ODALIB_VECTOR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* One version of a function for each kind of vector unit, chosen as the library is
   loaded. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && \
    defined(__gnu_linux__)
#define ODALIB_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define ODALIB_CLONES
#endif

/* What is called by versions for several vector units is compiled for each. */
#if defined(__GNUC__)
#define ODALIB_INLINE static inline __attribute__((always_inline))
#else
#define ODALIB_INLINE static inline
#endif

#if defined(_MSC_VER)
#define ODALIB_RESTRICT __restrict
#else
#define ODALIB_RESTRICT restrict
#endif

/* exp(x) for x <= 0, to three units in the last place; zero below -700, so that no
   result is subnormal. */
ODALIB_INLINE double odalib_exp(double x)
{
    const double shifter = 6755399441055744.0; /* 1.5 * 2^52: rounds to an integer */
    double shifted = x * 1.4426950408889634074 + shifter;
    double n = shifted - shifter;
    double r = x - n * 6.93147180369123816490e-01;
    double p;
    int64_t exponent, bits;
    r = r - n * 1.90821492927058770002e-10;
    p = 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    memcpy(&exponent, &shifted, sizeof exponent);
    memcpy(&bits, &p, sizeof bits);
    bits += (int64_t)((uint64_t)exponent << 52);
    memcpy(&p, &bits, sizeof p);
    return x < -700.0 ? 0.0 : p;
}

#if defined(__GNUC__)
/* Eight doubles at a time, in as many registers as that takes. */
#define ODALIB_HAS_LANES 1
typedef double odalib_lanes __attribute__((vector_size(64), aligned(8)));
typedef int64_t odalib_bits __attribute__((vector_size(64), aligned(8)));

ODALIB_INLINE odalib_lanes odalib_where(
    odalib_bits mask, odalib_lanes yes, odalib_lanes no)
{
    return (odalib_lanes)((mask & (odalib_bits)yes) | (~mask & (odalib_bits)no));
}

ODALIB_INLINE odalib_lanes odalib_exp_lanes(odalib_lanes x)
{
    const double shifter = 6755399441055744.0;
    odalib_lanes shifted = x * 1.4426950408889634074 + shifter;
    odalib_lanes n = shifted - shifter, zero = {0.0}, r, p;
    r = x - n * 6.93147180369123816490e-01;
    r = r - n * 1.90821492927058770002e-10;
    p = r * (1.0 / 479001600.0) + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    p = (odalib_lanes)((odalib_bits)p + ((odalib_bits)shifted << 52));
    return odalib_where(x < -700.0, zero, p);
}

ODALIB_INLINE double odalib_least(odalib_lanes x)
{
    double least = x[0];
    int i;
    for (i = 1; i < 8; i++)
        least = x[i] < least ? x[i] : least;
    return least;
}

ODALIB_INLINE double odalib_largest(odalib_lanes x)
{
    double largest = x[0];
    int i;
    for (i = 1; i < 8; i++)
        largest = x[i] > largest ? x[i] : largest;
    return largest;
}

ODALIB_INLINE double odalib_sum(odalib_lanes x)
{
    return ((x[0] + x[4]) + (x[1] + x[5])) + ((x[2] + x[6]) + (x[3] + x[7]));
}

/* Sums whose order depends on their length and on nothing else; compilers may begin a
   loop of their own making at an address that suits them. */
ODALIB_INLINE double odalib_total(const double *values, ptrdiff_t n)
{
    odalib_lanes sums = {0.0};
    double rest = 0.0;
    ptrdiff_t i;
    for (i = 0; i + 8 <= n; i += 8)
        sums += *(const odalib_lanes *)(values + i);
    for (; i < n; i++)
        rest += values[i];
    return odalib_sum(sums) + rest;
}

/* Sum of a (b - c). */
ODALIB_INLINE double odalib_along(
    const double *a, const double *b, const double *c, ptrdiff_t n)
{
    odalib_lanes sums = {0.0};
    double rest = 0.0;
    ptrdiff_t i;
    for (i = 0; i + 8 <= n; i += 8)
        sums += *(const odalib_lanes *)(a + i) *
                (*(const odalib_lanes *)(b + i) - *(const odalib_lanes *)(c + i));
    for (; i < n; i++)
        rest += a[i] * (b[i] - c[i]);
    return odalib_sum(sums) + rest;
}

/* Sum of products; several sums at a time, which do not wait for each other. */
ODALIB_INLINE double odalib_dot(
    const double *ODALIB_RESTRICT a, const double *ODALIB_RESTRICT b, ptrdiff_t n)
{
    odalib_lanes sums[4] = {{0.0}, {0.0}, {0.0}, {0.0}};
    double rest = 0.0;
    ptrdiff_t i, k;
    for (i = 0; i + 32 <= n; i += 32)
        for (k = 0; k < 4; k++)
            sums[k] += *(const odalib_lanes *)(a + i + 8 * k) *
                       *(const odalib_lanes *)(b + i + 8 * k);
    for (; i + 8 <= n; i += 8)
        sums[0] += *(const odalib_lanes *)(a + i) * *(const odalib_lanes *)(b + i);
    for (; i < n; i++)
        rest += a[i] * b[i];
    return odalib_sum((sums[0] + sums[1]) + (sums[2] + sums[3])) + rest;
}

/* Squared distance, likewise. */
ODALIB_INLINE double odalib_distance(
    const double *ODALIB_RESTRICT a, const double *ODALIB_RESTRICT b, ptrdiff_t n)
{
    odalib_lanes sums[4] = {{0.0}, {0.0}, {0.0}, {0.0}};
    double rest = 0.0;
    ptrdiff_t i, k;
    for (i = 0; i + 32 <= n; i += 32)
        for (k = 0; k < 4; k++) {
            odalib_lanes apart = *(const odalib_lanes *)(a + i + 8 * k) -
                                 *(const odalib_lanes *)(b + i + 8 * k);
            sums[k] += apart * apart;
        }
    for (; i + 8 <= n; i += 8) {
        odalib_lanes apart = *(const odalib_lanes *)(a + i) -
                             *(const odalib_lanes *)(b + i);
        sums[0] += apart * apart;
    }
    for (; i < n; i++)
        rest += (a[i] - b[i]) * (a[i] - b[i]);
    return odalib_sum((sums[0] + sums[1]) + (sums[2] + sums[3])) + rest;
}
#else
#define ODALIB_HAS_LANES 0

ODALIB_INLINE double odalib_total(const double *values, ptrdiff_t n)
{
    double sum = 0.0;
    ptrdiff_t i;
    for (i = 0; i < n; i++)
        sum += values[i];
    return sum;
}

ODALIB_INLINE double odalib_along(
    const double *a, const double *b, const double *c, ptrdiff_t n)
{
    double sum = 0.0;
    ptrdiff_t i;
    for (i = 0; i < n; i++)
        sum += a[i] * (b[i] - c[i]);
    return sum;
}

ODALIB_INLINE double odalib_dot(const double *a, const double *b, ptrdiff_t n)
{
    double sum = 0.0;
    ptrdiff_t i;
    for (i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

ODALIB_INLINE double odalib_distance(const double *a, const double *b, ptrdiff_t n)
{
    double sum = 0.0;
    ptrdiff_t i;
    for (i = 0; i < n; i++)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum;
}
#endif

#endif
