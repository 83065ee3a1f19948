/* Loops over contiguous doubles that compilers turn into vector instructions. */
#ifndef ODALIB_VECTOR_H
#define ODALIB_VECTOR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* One version of a function for each kind of vector unit, chosen as the library is
   loaded; and whether a register of that unit holds eight doubles, or four. Where it
   does not, vectors of so many go through memory, and plain loops are faster. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && \
    defined(__gnu_linux__)
#define ODALIB_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#define ODALIB_HOLDS_EIGHT __builtin_cpu_supports("avx512f")
#define ODALIB_HOLDS_FOUR __builtin_cpu_supports("avx2")
#else
#define ODALIB_CLONES
#define ODALIB_HOLDS_EIGHT 0
#define ODALIB_HOLDS_FOUR 0
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

/* exp(r) for |r| <= log(2) / 2, of doubles or of vectors of them. */
#define ODALIB_EXP_NEAR_ZERO(p, r) \
    do { \
        (p) = (r) * (1.0 / 479001600.0) + 1.0 / 39916800.0; \
        (p) = (p) * (r) + 1.0 / 3628800.0; \
        (p) = (p) * (r) + 1.0 / 362880.0; \
        (p) = (p) * (r) + 1.0 / 40320.0; \
        (p) = (p) * (r) + 1.0 / 5040.0; \
        (p) = (p) * (r) + 1.0 / 720.0; \
        (p) = (p) * (r) + 1.0 / 120.0; \
        (p) = (p) * (r) + 1.0 / 24.0; \
        (p) = (p) * (r) + 1.0 / 6.0; \
        (p) = (p) * (r) + 0.5; \
        (p) = (p) * (r) + 1.0; \
        (p) = (p) * (r) + 1.0; \
    } while (0)

ODALIB_INLINE double odalib_exp_near_zero(double r)
{
    double p;
    ODALIB_EXP_NEAR_ZERO(p, r);
    return p;
}

/* exp(x) for x <= 0, to three units in the last place; zero below -700, so that no
   result is subnormal. */
ODALIB_INLINE double odalib_exp(double x)
{
    const double shifter = 6755399441055744.0; /* 1.5 * 2^52: rounds to an integer */
    double shifted = x * 1.4426950408889634074 + shifter;
    double n = shifted - shifter;
    double r = x - n * 6.93147180369123816490e-01;
    double p;
    uint64_t exponent, bits;
    r = r - n * 1.90821492927058770002e-10;
    p = odalib_exp_near_zero(r);
    memcpy(&exponent, &shifted, sizeof exponent);
    memcpy(&bits, &p, sizeof bits);
    bits += exponent << 52;
    memcpy(&p, &bits, sizeof p);
    return x < -700.0 ? 0.0 : p;
}

#if defined(__GNUC__)
/* Eight doubles at a time, in as many registers as that takes. */
#define ODALIB_HAS_LANES 1
typedef double odalib_lanes __attribute__((vector_size(64), aligned(8)));
typedef int64_t odalib_bits __attribute__((vector_size(64), aligned(8)));
typedef uint64_t odalib_words __attribute__((vector_size(64), aligned(8)));

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
    ODALIB_EXP_NEAR_ZERO(p, r);
    p = (odalib_lanes)((odalib_words)p + ((odalib_words)shifted << 52));
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
#else
#define ODALIB_HAS_LANES 0
#endif

/* Sums whose order depends on their length and on nothing else; compilers may begin a
   loop of their own making at an address that suits them. Of vectors, and of several at
   a time, which do not wait for each other. */
#define ODALIB_SUMS(NAME, VECTOR, WIDTH) \
    ODALIB_INLINE double NAME##_added(VECTOR x) \
    { \
        double sum = 0.0; \
        int k; \
        for (k = 0; k < WIDTH; k++) \
            sum += x[k]; \
        return sum; \
    } \
    ODALIB_INLINE double NAME##_total(const double *a, ptrdiff_t n) \
    { \
        ODALIB_ADD_UP(NAME, VECTOR, WIDTH, ODALIB_AT(VECTOR, a, i), a[i]) \
    } \
    ODALIB_INLINE double NAME##_along( \
        const double *a, const double *b, const double *c, ptrdiff_t n) \
    { \
        ODALIB_ADD_UP( \
            NAME, VECTOR, WIDTH, \
            ODALIB_AT(VECTOR, a, i) * \
                (ODALIB_AT(VECTOR, b, i) - ODALIB_AT(VECTOR, c, i)), \
            a[i] * (b[i] - c[i])) \
    } \
    ODALIB_INLINE double NAME##_dot(const double *a, const double *b, ptrdiff_t n) \
    { \
        ODALIB_ADD_UP( \
            NAME, VECTOR, WIDTH, ODALIB_AT(VECTOR, a, i) * ODALIB_AT(VECTOR, b, i), \
            a[i] * b[i]) \
    } \
    ODALIB_INLINE double NAME##_distance( \
        const double *a, const double *b, ptrdiff_t n) \
    { \
        ODALIB_ADD_UP( \
            NAME, VECTOR, WIDTH, \
            (ODALIB_AT(VECTOR, a, i) - ODALIB_AT(VECTOR, b, i)) * \
                (ODALIB_AT(VECTOR, a, i) - ODALIB_AT(VECTOR, b, i)), \
            (a[i] - b[i]) * (a[i] - b[i])) \
    }

#define ODALIB_AT(VECTOR, p, i) (*(const VECTOR *)((p) + (i)))

#define ODALIB_ADD_UP(NAME, VECTOR, WIDTH, TERM, REST) \
    VECTOR first = {0.0}, second = {0.0}, third = {0.0}, fourth = {0.0}; \
    double rest = 0.0; \
    ptrdiff_t i = 0; \
    while (i + 4 * WIDTH <= n) { \
        first += TERM; \
        i += WIDTH; \
        second += TERM; \
        i += WIDTH; \
        third += TERM; \
        i += WIDTH; \
        fourth += TERM; \
        i += WIDTH; \
    } \
    for (; i + WIDTH <= n; i += WIDTH) \
        first += TERM; \
    for (; i < n; i++) \
        rest += REST; \
    return NAME##_added((first + second) + (third + fourth)) + rest;

#if ODALIB_HAS_LANES
typedef double odalib_quad __attribute__((vector_size(32), aligned(8)));
ODALIB_SUMS(odalib_by_eight, odalib_lanes, 8)
ODALIB_SUMS(odalib_by_four, odalib_quad, 4)
#define ODALIB_CHOSEN(NAME, ...) \
    (ODALIB_HOLDS_EIGHT ? odalib_by_eight_##NAME(__VA_ARGS__) \
                        : odalib_by_four_##NAME(__VA_ARGS__))
#else
#define ODALIB_PLAIN(NAME, ARGUMENTS, REST) \
    ODALIB_INLINE double odalib_plain_##NAME ARGUMENTS \
    { \
        double sum = 0.0; \
        ptrdiff_t i; \
        for (i = 0; i < n; i++) \
            sum += REST; \
        return sum; \
    }
ODALIB_PLAIN(total, (const double *a, ptrdiff_t n), a[i])
ODALIB_PLAIN(along, (const double *a, const double *b, const double *c, ptrdiff_t n),
             a[i] * (b[i] - c[i]))
ODALIB_PLAIN(dot, (const double *a, const double *b, ptrdiff_t n), a[i] * b[i])
ODALIB_PLAIN(distance, (const double *a, const double *b, ptrdiff_t n),
             (a[i] - b[i]) * (a[i] - b[i]))
#define ODALIB_CHOSEN(NAME, ...) odalib_plain_##NAME(__VA_ARGS__)
#endif

/* Sum of the values, of a (b - c), of products, and of squared differences. */
#define odalib_total(a, n) ODALIB_CHOSEN(total, a, n)
#define odalib_along(a, b, c, n) ODALIB_CHOSEN(along, a, b, c, n)
#define odalib_dot(a, b, n) ODALIB_CHOSEN(dot, a, b, n)
#define odalib_distance(a, b, n) ODALIB_CHOSEN(distance, a, b, n)

#endif
