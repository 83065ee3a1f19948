/* Sums under the association where few codevectors are near a row.

   Products in single precision, whose error is bounded, tell which codevectors may
   have an association above exp(-ODALIB_CUT) of the largest; theirs are computed in
   double precision, and all others count as zero. */
#ifndef ODALIB_SCREENING_CORE_H
#define ODALIB_SCREENING_CORE_H

#include <math.h>
#include "vector.h"

/* Associations of less do not reach the last digit of a sum. */
#define ODALIB_CUT 40.0

/* Largest length of n vectors. */
ODALIB_CLONES
static double odalib_longest(const double *ODALIB_RESTRICT vectors,
                             ptrdiff_t n, ptrdiff_t d)
{
    double longest = 0.0;
    ptrdiff_t i;
    for (i = 0; i < n; i++) {
        const double *own = vectors + i * d;
        double square = odalib_dot(own, own, d);
        longest = square > longest ? square : longest;
    }
    return sqrt(longest);
}

/* Numbers over a scale, in single precision. */
ODALIB_CLONES
static void odalib_narrowed(const double *ODALIB_RESTRICT values, double scale,
                            float *ODALIB_RESTRICT narrow, ptrdiff_t size)
{
    ptrdiff_t i;
    double inverse = 1.0 / scale;
    for (i = 0; i < size; i++)
        narrow[i] = (float)(values[i] * inverse);
}

/* Bound on the error of logits of products in single precision of vectors of length one
   at the most, scaled by alpha, and biases added. */
static double odalib_screening_error(
    double alpha, const double *biases, ptrdiff_t K, ptrdiff_t d)
{
    double largest = 0.0;
    ptrdiff_t i;
    for (i = 0; i < K; i++) {
        double size = fabs(biases[i]);
        largest = size > largest && size < INFINITY ? size : largest;
    }
    return 1.1 * 0x1p-24 * ((double)(d + 4) * alpha + 3.0 * largest);
}

/* Add biases to a row of products; the largest is returned. */
ODALIB_INLINE float odalib_biased(float *ODALIB_RESTRICT own,
                                  const float *ODALIB_RESTRICT biases, ptrdiff_t K)
{
    float largest = -INFINITY;
    ptrdiff_t i;
#pragma omp simd reduction(max : largest)
    for (i = 0; i < K; i++) {
        own[i] += biases[i];
        largest = own[i] > largest ? own[i] : largest;
    }
    return largest;
}

/* Number of candidates of n rows; products become logits. */
ODALIB_CLONES
static ptrdiff_t odalib_count_candidates(
    float *ODALIB_RESTRICT products, const float *ODALIB_RESTRICT biases, float margin,
    ptrdiff_t K, ptrdiff_t n)
{
    ptrdiff_t i, j, count = 0;
    for (j = 0; j < n; j++) {
        float *own = products + j * K;
        float bound = odalib_biased(own, biases, K) - margin;
        for (i = 0; i < K; i++)
            count += own[i] >= bound;
    }
    return count;
}

/* Places of the logits from a bound on, and their number. */
ODALIB_INLINE ptrdiff_t odalib_choose(
    const float *ODALIB_RESTRICT own, float bound, ptrdiff_t *ODALIB_RESTRICT chosen,
    ptrdiff_t K)
{
    ptrdiff_t i, k, count = 0;
    for (i = 0; i + 32 <= K; i += 32) {
        int any = 0;
#pragma omp simd reduction(| : any)
        for (k = 0; k < 32; k++)
            any |= own[i + k] >= bound;
        if (any)
            for (k = 0; k < 32; k++)
                if (own[i + k] >= bound)
                    chosen[count++] = i + k;
    }
    for (; i < K; i++)
        if (own[i] >= bound)
            chosen[count++] = i;
    return count;
}

/* Sums over n rows.

   products      n x K, in single precision; of the first n_biased rows, logits
   margin        of logits in single precision, below which none can count
   planes        K x d; the logit is scale <plane, x> + bias
   work          2 K
   chosen        K
   largest, norm n; of each row, the largest logit and the sum of exponentials from there
   weight, total  K and K x d; sums of the weighted associations, and of the rows by them
   axis          K x d; sums of the rows about the points by associations and multipliers
   multipliers   n numbers where kind is 1, K x d covectors where it is 2
   centre        K; covectors times points
*/
ODALIB_CLONES
static void odalib_screened_sums(
    float *ODALIB_RESTRICT products, const float *ODALIB_RESTRICT narrow_biases,
    float margin, ptrdiff_t n_biased, const double *ODALIB_RESTRICT planes,
    double scale, const double *ODALIB_RESTRICT biases,
    const double *ODALIB_RESTRICT rows, const double *ODALIB_RESTRICT row_weights,
    double *ODALIB_RESTRICT weight, double *ODALIB_RESTRICT total,
    double *ODALIB_RESTRICT axis, int kind,
    const double *ODALIB_RESTRICT multipliers, const double *ODALIB_RESTRICT centre,
    const double *ODALIB_RESTRICT points, double *ODALIB_RESTRICT work, ptrdiff_t *ODALIB_RESTRICT chosen,
    double *ODALIB_RESTRICT largest, double *ODALIB_RESTRICT norm,
    ptrdiff_t K, ptrdiff_t n, ptrdiff_t d)
{
    ptrdiff_t i, j, k, c;
    for (j = 0; j < n; j++) {
        float *own = products + j * K, bound = -INFINITY;
        const double *row = rows + j * d;
        double best = -INFINITY, sum = 0.0;
        ptrdiff_t count;
        if (j < n_biased) {
#pragma omp simd reduction(max : bound)
            for (i = 0; i < K; i++)
                bound = own[i] > bound ? own[i] : bound;
        } else
            bound = odalib_biased(own, narrow_biases, K);
        bound -= margin;
        count = odalib_choose(own, bound, chosen, K);
        for (c = 0; c < count; c++) {
            work[c] = scale * odalib_dot(planes + chosen[c] * d, row, d) +
                      biases[chosen[c]];
            best = work[c] > best ? work[c] : best;
        }
        for (c = 0; c < count; c++) {
            double apart = work[c] - best;
            work[c] = apart == 0.0 ? 1.0
                                   : apart < -ODALIB_CUT ? 0.0 : odalib_exp(apart);
            sum += work[c];
        }
        largest[j] = best;
        norm[j] = sum;
        for (c = 0; c < count; c++) {
            double share = row_weights[j] * work[c] / sum, factor = 0.0;
            double *ODALIB_RESTRICT mean = total + chosen[c] * d;
            double *ODALIB_RESTRICT along = axis + chosen[c] * d;
            const double *ODALIB_RESTRICT point;
            if (share == 0.0)
                continue;
            weight[chosen[c]] += share;
            if (kind == 0) {
                for (k = 0; k < d; k++)
                    mean[k] += share * row[k];
                continue;
            }
            if (kind == 1)
                factor = multipliers[j];
            else
                factor = odalib_dot(multipliers + chosen[c] * d, row, d) -
                         centre[chosen[c]];
            factor *= share;
            point = points + chosen[c] * d;
            for (k = 0; k < d; k++) {
                mean[k] += share * row[k];
                along[k] += factor * (row[k] - point[k]);
            }
        }
    }
}

/* Nearest codevector of n rows, the first of several, and its logit; parameters as those
   of odalib_screened_sums, and margin that of the largest alone. */
ODALIB_CLONES
static void odalib_screened_nearest(
    float *ODALIB_RESTRICT products, const float *ODALIB_RESTRICT narrow_biases,
    float margin, const double *ODALIB_RESTRICT planes, double scale,
    const double *ODALIB_RESTRICT biases, const double *ODALIB_RESTRICT rows,
    ptrdiff_t *ODALIB_RESTRICT chosen, int64_t *ODALIB_RESTRICT labels,
    double *ODALIB_RESTRICT largest, ptrdiff_t K, ptrdiff_t n, ptrdiff_t d)
{
    ptrdiff_t j, c;
    for (j = 0; j < n; j++) {
        float *own = products + j * K;
        float bound = odalib_biased(own, narrow_biases, K) - margin;
        ptrdiff_t count = odalib_choose(own, bound, chosen, K);
        largest[j] = -INFINITY;
        labels[j] = 0;
        for (c = 0; c < count; c++) {
            double logit = scale * odalib_dot(planes + chosen[c] * d, rows + j * d, d) +
                           biases[chosen[c]];
            if (logit > largest[j]) {
                largest[j] = logit;
                labels[j] = (int64_t)chosen[c];
            }
        }
    }
}

#endif
