/* Tiles of the annealing kernels: K codevectors by n rows, rows contiguous. */
#ifndef ODALIB_ANNEALING_CORE_H
#define ODALIB_ANNEALING_CORE_H

#include "vector.h"

/* Logits to weighted associations, in place, and their sums.

   values   K x n; logits in, weighted associations out
   row_weights  n
   largest  n; work, the largest logit of each row
   scale    n; work, row weight over the sum of exponentials
   weight   K; what the associations sum to is added
   total    n; sum of exponentials out
*/
ODALIB_CLONES
static void odalib_associate(
    double *ODALIB_RESTRICT values,
    const double *ODALIB_RESTRICT row_weights,
    double *ODALIB_RESTRICT largest,
    double *ODALIB_RESTRICT scale,
    double *ODALIB_RESTRICT total,
    double *ODALIB_RESTRICT weight,
    ptrdiff_t K, ptrdiff_t n)
{
    ptrdiff_t i, j;
    for (j = 0; j < n; j++)
        largest[j] = values[j];
    for (i = 1; i < K; i++) {
        const double *own = values + i * n;
        for (j = 0; j < n; j++)
            largest[j] = own[j] > largest[j] ? own[j] : largest[j];
    }
    for (j = 0; j < n; j++)
        total[j] = 0.0;
    for (i = 0; i < K; i++) {
        double *own = values + i * n;
        for (j = 0; j < n; j++) {
            own[j] = odalib_exp(own[j] - largest[j]);
            total[j] += own[j];
        }
    }
    for (j = 0; j < n; j++)
        scale[j] = row_weights[j] / total[j];
    for (i = 0; i < K; i++) {
        double *own = values + i * n;
        for (j = 0; j < n; j++)
            own[j] *= scale[j];
        weight[i] += odalib_total(own, n);
    }
}

/* Multiply associations by factors of their rows, or of their own where each is K x n,
   and add up what they come to. */
ODALIB_CLONES
static void odalib_weighted(
    double *ODALIB_RESTRICT values, const double *ODALIB_RESTRICT factors, int each,
    double *ODALIB_RESTRICT mass, ptrdiff_t K, ptrdiff_t n)
{
    ptrdiff_t i, j;
    for (i = 0; i < K; i++) {
        double *ODALIB_RESTRICT own = values + i * n;
        const double *ODALIB_RESTRICT by = each ? factors + i * n : factors;
        for (j = 0; j < n; j++)
            own[j] *= by[j];
        mass[i] += odalib_total(own, n);
    }
}

/* First codevector of the largest value of every row. */
ODALIB_CLONES
static void odalib_first_largest(
    const double *ODALIB_RESTRICT values,
    int64_t *ODALIB_RESTRICT labels,
    double *ODALIB_RESTRICT largest,
    ptrdiff_t K, ptrdiff_t n)
{
    ptrdiff_t i, j;
    for (j = 0; j < n; j++) {
        largest[j] = values[j];
        labels[j] = 0;
    }
    for (i = 1; i < K; i++) {
        const double *own = values + i * n;
        for (j = 0; j < n; j++) {
            labels[j] = own[j] > largest[j] ? (int64_t)i : labels[j];
            largest[j] = own[j] > largest[j] ? own[j] : largest[j];
        }
    }
}

/* What the logits of a squared Euclidean codebook have besides products with rows:
   log rho_i - beta |mu_i|^2, given the logarithms. */
ODALIB_CLONES
static void odalib_biases(
    const double *ODALIB_RESTRICT points, const double *ODALIB_RESTRICT log_rho,
    double beta, double *ODALIB_RESTRICT biases, ptrdiff_t K, ptrdiff_t d)
{
    ptrdiff_t i;
    for (i = 0; i < K; i++) {
        const double *own = points + i * d;
        biases[i] = log_rho[i] - beta * odalib_dot(own, own, d);
    }
}

/* Move a codebook by the sums over a batch.

   share  step over the weight of the batch
   weight, total  sums under the association; both are set to zero
*/
ODALIB_CLONES
static void odalib_step(
    double *ODALIB_RESTRICT points, double *ODALIB_RESTRICT rho,
    double *ODALIB_RESTRICT weight, double *ODALIB_RESTRICT total,
    double step, double share, ptrdiff_t K, ptrdiff_t d)
{
    double sum = 0.0;
    ptrdiff_t i, k;
    for (i = 0; i < K; i++) {
        double *ODALIB_RESTRICT own = points + i * d;
        double *ODALIB_RESTRICT pull = total + i * d;
        double after = rho[i] + (share * weight[i] - step * rho[i]);
        double gain = after > 0.0 ? share / after : 0.0;
        if (weight[i] > 0.0)
            for (k = 0; k < d; k++) {
                own[k] += gain * (pull[k] - weight[i] * own[k]);
                pull[k] = 0.0;
            }
        rho[i] = after;
        weight[i] = 0.0;
        sum += after;
    }
    for (i = 0; i < K; i++)
        rho[i] /= sum;
}

/* Axis sums about the codevectors: mass times the point is taken off, and mass set to
   zero. */
ODALIB_CLONES
static void odalib_about(
    const double *ODALIB_RESTRICT points, double *ODALIB_RESTRICT mass,
    double *ODALIB_RESTRICT axis, ptrdiff_t K, ptrdiff_t d)
{
    ptrdiff_t i, k;
    for (i = 0; i < K; i++) {
        if (mass[i] != 0.0)
            for (k = 0; k < d; k++)
                axis[i * d + k] -= mass[i] * points[i * d + k];
        mass[i] = 0.0;
    }
}

/* Covectors times their codevectors. */
ODALIB_CLONES
static void odalib_centre(
    const double *ODALIB_RESTRICT covectors, const double *ODALIB_RESTRICT points,
    double *ODALIB_RESTRICT centre, ptrdiff_t K, ptrdiff_t d)
{
    ptrdiff_t i;
    for (i = 0; i < K; i++) {
        centre[i] = odalib_dot(covectors + i * d, points + i * d, d);
    }
}

/* Add rows to the sums of their cells.

   labels  n
   weight, total  K and K x d; changed
*/
ODALIB_CLONES
static void odalib_cell_sums(
    const double *ODALIB_RESTRICT rows, const double *ODALIB_RESTRICT row_weights,
    const int64_t *ODALIB_RESTRICT labels, double *ODALIB_RESTRICT weight,
    double *ODALIB_RESTRICT total, ptrdiff_t n, ptrdiff_t d)
{
    ptrdiff_t i, j;
    for (i = 0; i < n; i++) {
        const double *row = rows + i * d;
        double *ODALIB_RESTRICT sum = total + labels[i] * d, share = row_weights[i];
        weight[labels[i]] += share;
        for (j = 0; j < d; j++)
            sum[j] += share * row[j];
    }
}

/* Means of K vectors, over the largest size of an entry of each. */
ODALIB_CLONES
static void odalib_scaled_means(
    const double *ODALIB_RESTRICT sums, const double *ODALIB_RESTRICT weight,
    double *ODALIB_RESTRICT vectors, double *ODALIB_RESTRICT scale,
    ptrdiff_t K, ptrdiff_t d)
{
    ptrdiff_t i, j;
    for (i = 0; i < K; i++) {
        const double *sum = sums + i * d;
        double *vector = vectors + i * d;
        double divisor = weight[i] > 0.0 ? weight[i] : 1.0, largest = 0.0;
#pragma omp simd reduction(max : largest)
        for (j = 0; j < d; j++) {
            double size;
            vector[j] = sum[j] / divisor;
            size = fabs(vector[j]);
            largest = size > largest ? size : largest;
        }
        scale[i] = largest;
        if (largest > 0.0)
            for (j = 0; j < d; j++)
                vector[j] /= largest;
    }
}

/* Vectors over the root of their product with the curvature, zero where that is; the
   root is multiplied into the scale. */
ODALIB_CLONES
static void odalib_unit_axes(
    const double *ODALIB_RESTRICT vectors, const double *ODALIB_RESTRICT curvature,
    double *ODALIB_RESTRICT directions, double *ODALIB_RESTRICT scale,
    ptrdiff_t K, ptrdiff_t d)
{
    ptrdiff_t i, j;
    for (i = 0; i < K; i++) {
        const double *vector = vectors + i * d;
        double length = sqrt(odalib_dot(vector, curvature + i * d, d));
        for (j = 0; j < d; j++)
            directions[i * d + j] = length > 0.0 ? vector[j] / length : 0.0;
        scale[i] *= length;
    }
}

#endif
