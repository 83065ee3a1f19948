/* Messages between spins, and Gibbs sweeps over chains of them. */
#ifndef ODALIB_PAIRWISE_CORE_H
#define ODALIB_PAIRWISE_CORE_H

#include "vector.h"

/* atanh(z) for |z| <= 1/3, to two units in the last place: its Taylor series. */
static inline double odalib_atanh(double z)
{
    double w = z * z, p = 1.0 / 33.0;
    p = p * w + 1.0 / 31.0;
    p = p * w + 1.0 / 29.0;
    p = p * w + 1.0 / 27.0;
    p = p * w + 1.0 / 25.0;
    p = p * w + 1.0 / 23.0;
    p = p * w + 1.0 / 21.0;
    p = p * w + 1.0 / 19.0;
    p = p * w + 1.0 / 17.0;
    p = p * w + 1.0 / 15.0;
    p = p * w + 1.0 / 13.0;
    p = p * w + 1.0 / 11.0;
    p = p * w + 1.0 / 9.0;
    p = p * w + 1.0 / 7.0;
    p = p * w + 1.0 / 5.0;
    p = p * w + 1.0 / 3.0;
    return z + z * (w * p);
}

/* atanh(tanh J tanh h) = (log cosh(J + h) - log cosh(J - h)) / 2 of n messages. */
ODALIB_CLONES
static void odalib_transmit(
    const double *ODALIB_RESTRICT coupling,
    const double *ODALIB_RESTRICT field,
    double *ODALIB_RESTRICT message,
    ptrdiff_t n)
{
    ptrdiff_t k;
    for (k = 0; k < n; k++) {
        double sum = coupling[k] + field[k], difference = coupling[k] - field[k];
        double more = sum < 0.0 ? -sum : sum;
        double less = difference < 0.0 ? -difference : difference;
        double a = odalib_exp(-2.0 * more), b = odalib_exp(-2.0 * less);
        /* log((1 + a) / (1 + b)) is twice this, and a and b are at most one. */
        double rest = odalib_atanh((a - b) / (2.0 + a + b));
        message[k] = 0.5 * (more - less) + rest;
    }
}

/* Field at which a spin goes up with probability u: atanh(2 u - 1), 0 <= u < 1. */
ODALIB_CLONES
static void odalib_thresholds(
    const double *ODALIB_RESTRICT uniforms,
    double *ODALIB_RESTRICT thresholds,
    ptrdiff_t n)
{
    const uint64_t one = 0x3ff0000000000000u, root_half = 0x3fe6a09e667f3bcdu;
    const double shifter = 6755399441055744.0; /* 1.5 * 2^52: holds integers */
    ptrdiff_t k;
    for (k = 0; k < n; k++) {
        double odds = uniforms[k] / (1.0 - uniforms[k]), fraction, exponent;
        uint64_t bits, shifted;
        int64_t power;
        memcpy(&bits, &odds, sizeof bits);
        /* odds = 2^power * fraction, between the roots of a half and of two. */
        bits += one - root_half;
        power = (int64_t)(bits >> 52) - 1023;
        bits = (bits & 0x000fffffffffffffu) + root_half;
        memcpy(&fraction, &bits, sizeof fraction);
        memcpy(&shifted, &shifter, sizeof shifted);
        shifted += (uint64_t)power;
        memcpy(&exponent, &shifted, sizeof exponent);
        exponent -= shifter;
        thresholds[k] = exponent * 0.34657359027997264
            + odalib_atanh((fraction - 1.0) / (fraction + 1.0));
    }
}

/* One sweep: every spin in turn, in all chains of a tile, then the next tile.

   spins       n x n_chains, -1 and 1
   local       n_chains x n, the fields on all spins, kept up to date
   couplings   n x n, symmetric
   thresholds  n x n_chains; a spin goes up where its field is larger
*/
ODALIB_CLONES
static void odalib_gibbs_sweep(
    double *ODALIB_RESTRICT spins,
    double *ODALIB_RESTRICT local,
    const double *ODALIB_RESTRICT couplings,
    const double *ODALIB_RESTRICT thresholds,
    ptrdiff_t n, ptrdiff_t n_chains, ptrdiff_t tile)
{
    ptrdiff_t start, end, i, j, c;
    for (start = 0; start < n_chains; start = end) {
        end = start + tile < n_chains ? start + tile : n_chains;
        for (i = 0; i < n; i++) {
            const double *coupling = couplings + i * n;
            for (c = start; c < end; c++) {
                double *own = local + c * n, *spin = spins + i * n_chains + c;
                double drawn = thresholds[i * n_chains + c] < own[i] ? 1.0 : -1.0;
                double change = drawn - *spin;
                if (change == 0.0)
                    continue;
                *spin = drawn;
                for (j = 0; j < n; j++)
                    own[j] += change * coupling[j];
            }
        }
    }
}

#endif
