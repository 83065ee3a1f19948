/* Small matrices: one pass for every row learnt.

   Matrices are held column by column, padded with zeros to whole vectors of LANES
   numbers, and so are vectors: ld is the padded length. One pass takes the update of
   the row before and the products with the row that comes next. */
#ifndef ODALIB_ADF_CORE_H
#define ODALIB_ADF_CORE_H

#include <math.h>

#include "columns_core.h"
#include "probit.h"

/* Update a factor: direction is the factor before times given, products are those of
   the factor after with the row that comes next. */
ODALIB_INLINE void odalib_move_factor(
    double *ODALIB_RESTRICT factor, const double *ODALIB_RESTRICT given,
    const double *ODALIB_RESTRICT taken, const double *ODALIB_RESTRICT next,
    double *ODALIB_RESTRICT direction, double *ODALIB_RESTRICT products, ptrdiff_t ld)
{
    ptrdiff_t i, j;
    int g;
    for (i = 0; i < ld; i++)
        direction[i] = 0.0;
    for (j = ld - ODALIB_LANES; j >= 0; j -= ODALIB_LANES) {
        odalib_vec part[ODALIB_LANES] = {{0.0}};
        for (i = j; i < ld; i += ODALIB_LANES) {
            const odalib_vec x = *(const odalib_vec *)(next + i);
            odalib_vec sum = *(odalib_vec *)(direction + i);
            for (g = ODALIB_LANES - 1; g >= 0; g--) {
                odalib_vec *own = (odalib_vec *)(factor + (j + g) * ld + i);
                const odalib_vec old = *own, moved = old - taken[j + g] * sum;
                sum += given[j + g] * old;
                *own = moved;
                part[g] += moved * x;
            }
            *(odalib_vec *)(direction + i) = sum;
        }
        *(odalib_vec *)(products + j) = odalib_sums(part);
    }
}

/* Bierman's update of the factors of a covariance C = U diag(v) U', U lower triangular
   with a unit diagonal: with g = U' x, given = v g and rest = kept x'C x / (1 - kept),
   C loses (1 - kept) / x'C x C x x'C when every v_j becomes so much smaller, and
   every column U_j - taken_j (sum of given_k U_k over the columns k after it). Here v
   is updated, and the two vectors of the pass over U are found. */
ODALIB_INLINE void odalib_observe(
    double *ODALIB_RESTRICT v, const double *ODALIB_RESTRICT g,
    double *ODALIB_RESTRICT given, double *ODALIB_RESTRICT taken,
    double *ODALIB_RESTRICT sums, double latent, double label, double weight,
    double noise, double *gain, ptrdiff_t ld)
{
    double *later = sums + ld, variance, kept;
    ptrdiff_t j;
    for (j = 0; j < ld; j++)
        given[j] = v[j] * g[j];
    variance = odalib_product(given, g, ld);
    odalib_suffix_sums(given, g, sums, later, ld);
    odalib_see(label, latent, variance, weight, noise, gain, &kept);
    if (kept < 1.0) {
        double rest = kept / (1.0 - kept) * variance;
        rest = rest > ODALIB_CERTAIN ? rest : ODALIB_CERTAIN;
        for (j = 0; j < ld; j++) {
            const double after = rest + later[j];
            v[j] *= after / (rest + sums[j]);
            taken[j] = g[j] / after;
        }
    } else
        for (j = 0; j < ld; j++)
            taken[j] = 0.0;
}

ODALIB_INLINE void odalib_learn_factor_of(
    double *ODALIB_RESTRICT factor, double *ODALIB_RESTRICT v,
    double *ODALIB_RESTRICT mean, double *ODALIB_RESTRICT work, const double *rows,
    const double *y, const double *weights, double noise,
    ptrdiff_t n, ptrdiff_t n_columns, ptrdiff_t d, ptrdiff_t ld)
{
    double *given = work, *taken = work + ld, *x = work + 2 * ld;
    double *direction = work + 3 * ld, *g = work + 4 * ld, *sums = work + 5 * ld;
    double gain, latent;
    ptrdiff_t i, j;
    for (j = 0; j < d; j++)
        x[j] = j < n_columns ? rows[j] : 1.0;
    odalib_move_factor(factor, given, taken, x, direction, g, ld);
    for (i = 0; i < n; i++) {
        latent = odalib_product(x, mean, ld);
        if (i + 1 < n)
            for (j = 0; j < n_columns; j++)
                x[j] = rows[(i + 1) * n_columns + j];
        odalib_observe(
            v, g, given, taken, sums, latent, y[i], weights[i], noise, &gain, ld);
        odalib_move_factor(factor, given, taken, x, direction, g, ld);
        for (j = 0; j < ld; j++)
            mean[j] += gain * direction[j];
    }
}

/* The same for a factor that is larger than the cache: two rows for every pass. What
   the second makes of the factor that the first leaves follows from its products h
   with the one before, g = h - taken_j (sum of given_k h_k over k after j). */
ODALIB_INLINE void odalib_move_twice(
    double *ODALIB_RESTRICT factor, const double *ODALIB_RESTRICT given,
    const double *ODALIB_RESTRICT taken, const double *ODALIB_RESTRICT next,
    double *ODALIB_RESTRICT direction, double *ODALIB_RESTRICT products,
    ptrdiff_t d, ptrdiff_t ld)
{
    ptrdiff_t i, j;
    int g;
    for (i = 0; i < 2 * ld; i++)
        direction[i] = 0.0;
    for (j = (d - 1) / ODALIB_GROUP * ODALIB_GROUP; j >= 0; j -= ODALIB_GROUP) {
        odalib_vec first[ODALIB_GROUP] = {{0.0}}, second[ODALIB_GROUP] = {{0.0}};
        for (i = j - j % ODALIB_LANES; i < ld; i += ODALIB_LANES) {
            const odalib_vec x = *(const odalib_vec *)(next + i);
            const odalib_vec z = *(const odalib_vec *)(next + ld + i);
            odalib_vec sum = *(odalib_vec *)(direction + i);
            odalib_vec later = *(odalib_vec *)(direction + ld + i);
            for (g = ODALIB_GROUP - 1; g >= 0; g--) {
                odalib_vec *own = (odalib_vec *)(factor + (j + g) * ld + i);
                const odalib_vec old = *own, once = old - taken[j + g] * sum;
                const odalib_vec twice = once - taken[ld + j + g] * later;
                sum += given[j + g] * old;
                later += given[ld + j + g] * once;
                *own = twice;
                first[g] += twice * x;
                second[g] += twice * z;
            }
            *(odalib_vec *)(direction + i) = sum;
            *(odalib_vec *)(direction + ld + i) = later;
        }
        for (g = 0; g < ODALIB_GROUP; g++) {
            products[j + g] = ODALIB_SUM(first[g]);
            products[ld + j + g] = ODALIB_SUM(second[g]);
        }
    }
}

/* Learn pairs of rows; as odalib_learn_factor, but for 12 ld zeros of work and an
   even number of rows. */
ODALIB_CLONES
static void odalib_learn_factor_in_pairs(
    double *ODALIB_RESTRICT factor, double *ODALIB_RESTRICT v,
    double *ODALIB_RESTRICT mean, double *ODALIB_RESTRICT work, const double *rows,
    const double *y, const double *weights, double noise,
    ptrdiff_t n, ptrdiff_t n_columns, ptrdiff_t d, ptrdiff_t ld)
{
    double *given = work, *taken = work + 2 * ld, *x = work + 4 * ld;
    double *direction = work + 6 * ld, *g = work + 8 * ld, *sums = work + 10 * ld;
    double gain[2], latent;
    ptrdiff_t i, j, k;
    for (k = 0; k < 2; k++)
        for (j = 0; j < d; j++)
            x[k * ld + j] = j < n_columns ? rows[k * n_columns + j] : 1.0;
    odalib_move_twice(factor, given, taken, x, direction, g, d, ld);
    for (i = 0; i < n; i += 2) {
        for (k = 0; k < 2; k++) {
            latent = odalib_product(x + k * ld, mean, ld);
            if (k == 1) {
                odalib_suffix_sums(given, g + ld, sums, sums + ld, ld);
                latent += gain[0] * sums[0];
                for (j = 0; j < ld; j++)
                    g[ld + j] -= taken[j] * sums[ld + j];
            }
            odalib_observe(
                v, g + k * ld, given + k * ld, taken + k * ld, sums, latent, y[i + k],
                weights[i + k], noise, gain + k, ld);
        }
        if (i + 2 < n)
            for (k = 0; k < 2; k++)
                for (j = 0; j < n_columns; j++)
                    x[k * ld + j] = rows[(i + 2 + k) * n_columns + j];
        odalib_move_twice(factor, given, taken, x, direction, g, d, ld);
        for (j = 0; j < ld; j++)
            mean[j] += gain[0] * direction[j] + gain[1] * direction[ld + j];
    }
}

/* Learn rows one after the other.

   factor   ld columns of ld numbers, lower triangular; updated
   v, mean  ld; updated
   work     7 ld zeros
   rows     n rows of n_columns numbers, at least one; further features are one
*/
ODALIB_CLONES
static void odalib_learn_factor(
    double *factor, double *v, double *mean, double *work, const double *rows,
    const double *y, const double *weights, double noise,
    ptrdiff_t n, ptrdiff_t n_columns, ptrdiff_t d, ptrdiff_t ld)
{
    if (ld == ODALIB_LANES)
        odalib_learn_factor_of(
            factor, v, mean, work, rows, y, weights, noise, n, n_columns, d,
            ODALIB_LANES);
    else if (ld == 2 * ODALIB_LANES)
        odalib_learn_factor_of(
            factor, v, mean, work, rows, y, weights, noise, n, n_columns, d,
            2 * ODALIB_LANES);
    else if (ld == 3 * ODALIB_LANES)
        odalib_learn_factor_of(
            factor, v, mean, work, rows, y, weights, noise, n, n_columns, d,
            3 * ODALIB_LANES);
    else
        odalib_learn_factor_of(
            factor, v, mean, work, rows, y, weights, noise, n, n_columns, d,
            ld);
}

#endif
