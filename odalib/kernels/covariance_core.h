/* Small covariances that forget: one pass for every row learnt.

   Held as factors are; one pass takes the update of the row before and the product with
   the row that comes next. */
#ifndef ODALIB_COVARIANCE_CORE_H
#define ODALIB_COVARIANCE_CORE_H

#include <math.h>

#include "columns_core.h"
#include "probit.h"

/* Update a covariance, C <- left C - e e' + diag(widening), of which the lower triangle
   counts, and whole blocks of LANES on the diagonal; and multiply the row that comes
   next by it. Of the widening, a vector for every column holds its entry of the
   diagonal at its place in the block. */
ODALIB_INLINE void odalib_move_covariance(
    double *ODALIB_RESTRICT covariance, const double *ODALIB_RESTRICT e, double left,
    const double *ODALIB_RESTRICT widening, const double *ODALIB_RESTRICT next,
    double *ODALIB_RESTRICT product, ptrdiff_t d, ptrdiff_t ld)
{
    ptrdiff_t i, j;
    int g;
    for (i = 0; i < ld; i++)
        product[i] = 0.0;
    for (j = 0; j < d; j += ODALIB_GROUP) {
        odalib_vec part[ODALIB_GROUP] = {{0.0}};
        for (i = j - j % ODALIB_LANES; i < ld; i += ODALIB_LANES) {
            const odalib_vec ei = *(const odalib_vec *)(e + i);
            const odalib_vec x = *(const odalib_vec *)(next + i);
            odalib_vec sum = *(odalib_vec *)(product + i);
            for (g = 0; g < ODALIB_GROUP; g++) {
                odalib_vec *own = (odalib_vec *)(covariance + (j + g) * ld + i);
                odalib_vec moved = left * *own - e[j + g] * ei;
                if (i > j)
                    part[g] += moved * x;
                else
                    moved += *(odalib_vec *)(widening + (j + g) * ODALIB_LANES);
                *own = moved;
                sum += moved * next[j + g];
            }
            *(odalib_vec *)(product + i) = sum;
        }
        for (g = 0; g < ODALIB_GROUP; g++)
            product[j + g] += ODALIB_SUM(part[g]);
    }
}

/* Learn rows one after the other and forget.

   covariance  ld columns of ld numbers, symmetric; of what comes out the lower
               triangle counts
   mean        ld; updated
   centre, spread  ld; mean and variance of the prior
   work        (3 + LANES) ld zeros
   rows        n rows of n_columns numbers; further features are one
*/
ODALIB_CLONES
static void odalib_learn_covariance(
    double *ODALIB_RESTRICT covariance, double *ODALIB_RESTRICT mean,
    const double *ODALIB_RESTRICT centre, const double *ODALIB_RESTRICT spread,
    double forgetting, double *ODALIB_RESTRICT work, const double *rows,
    const double *y, const double *weights, double noise,
    ptrdiff_t n, ptrdiff_t n_columns, ptrdiff_t d, ptrdiff_t ld)
{
    double *c = work, *product = work + ld, *x = work + 2 * ld;
    double *widening = work + 3 * ld, *other;
    double gain, kept, left = 1.0, loss, rest, power, variance, latent;
    double power_before = 0.0, left_mean = 1.0;
    ptrdiff_t i, j;
    for (j = n_columns; j < d; j++)
        x[j] = 1.0;
    for (i = 0; i < n; i++) {
        for (j = 0; j < n_columns; j++)
            x[j] = rows[i * n_columns + j];
        for (rest = weights[i]; rest > 0.0; rest -= power) {
            power = rest < 1.0 ? rest : 1.0;
            odalib_move_covariance(
                covariance, c, left, widening, x, product, d, ld);
            other = c;
            c = product;
            product = other;
            variance = odalib_product(x, c, ld);
            latent = odalib_product(x, mean, ld);
            odalib_see(y[i], latent, variance, power, noise, &gain, &kept);
            /* By rounding, what is kept may be a little more than all. */
            loss = kept < 1.0 ? (1.0 - kept) / variance : 0.0;
            if (power != power_before) {
                left_mean = pow(forgetting, power);
                left = left_mean * left_mean;
                for (j = 0; j < d; j++)
                    widening[j * ODALIB_LANES + j % ODALIB_LANES]
                        = (1.0 - left) * spread[j];
                power_before = power;
            }
            for (j = 0; j < ld; j++)
                mean[j] = left_mean * (mean[j] + gain * c[j])
                    + (1.0 - left_mean) * centre[j];
            loss = sqrt(left * loss);
            for (j = 0; j < ld; j++)
                c[j] *= loss;
        }
    }
    odalib_move_covariance(covariance, c, left, widening, x, product, d, ld);
}

#endif
