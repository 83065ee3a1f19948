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
        double part[8] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0}, sum = 0.0;
        ptrdiff_t k, end = n - n % 8;
        for (j = 0; j < end; j += 8)
            for (k = 0; k < 8; k++) {
                own[j + k] *= scale[j + k];
                part[k] += own[j + k];
            }
        for (; j < n; j++) {
            own[j] *= scale[j];
            sum += own[j];
        }
        for (k = 0; k < 8; k++)
            sum += part[k];
        weight[i] += sum;
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

#endif
