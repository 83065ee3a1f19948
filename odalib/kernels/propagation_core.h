/* The probit sites of a block, matched one after the other. */
#ifndef ODALIB_PROPAGATION_CORE_H
#define ODALIB_PROPAGATION_CORE_H

#include <math.h>
#include <stddef.h>

#include "probit.h"
#include "vector.h"

/* As reference.match_block.

   mean             b
   covariance       b columns of b numbers; of every column, those of later sites count
   y, noise         b
   precision, shift b; updated
*/
ODALIB_CLONES
static int odalib_match_block(
    double *ODALIB_RESTRICT mean, double *ODALIB_RESTRICT covariance,
    const double *ODALIB_RESTRICT y, const double *ODALIB_RESTRICT noise,
    double *ODALIB_RESTRICT precision, double *ODALIB_RESTRICT shift, ptrdiff_t b)
{
    ptrdiff_t i, j, k;
    int n_improper = 0;
    for (i = 0; i < b; i++) {
        const double *column = covariance + i * b;
        const double variance = column[i], share = 1.0 - precision[i] * variance;
        double sharpened, moved, left, pull, matched[2];
        if (!(share > 0.0 && variance >= 0.0)) {
            n_improper++;
            continue;
        }
        odalib_probit_site(
            y[i], (mean[i] - variance * shift[i]) / share, variance / share, noise[i],
            matched);
        sharpened = matched[0] - precision[i];
        moved = matched[1] - shift[i];
        precision[i] = matched[0];
        shift[i] = matched[1];
        left = 1.0 + variance * sharpened;
        if (!(left > 0.0))
            return -1;
        pull = (moved - sharpened * mean[i]) / left;
        sharpened /= left;
        for (j = i + 1; j < b; j++)
            mean[j] += pull * column[j];
        for (j = i + 1; j < b; j++) {
            double *later = covariance + j * b;
            const double scaled = sharpened * column[j];
            for (k = j; k < b; k++)
                later[k] -= scaled * column[k];
        }
    }
    return n_improper;
}

#endif
