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

#if defined(_MSC_VER)
#define ODALIB_RESTRICT __restrict
#else
#define ODALIB_RESTRICT restrict
#endif

/* exp(x) for x <= 0, to three units in the last place; zero below -700, so that no
   result is subnormal. */
static inline double odalib_exp(double x)
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

#endif
