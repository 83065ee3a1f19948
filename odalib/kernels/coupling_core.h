/* Many classes from all of their pairs: tiles of rows. */
#ifndef ODALIB_COUPLING_CORE_H
#define ODALIB_COUPLING_CORE_H

#include <math.h>

#include "normal_cdf.h"
#include "turned_core.h"

/* Sum of squares of every row of a tile, and a start. */
ODALIB_CLONES
static void odalib_squares(
    const double *ODALIB_RESTRICT turned, double *ODALIB_RESTRICT squares,
    double start, ptrdiff_t d)
{
    ptrdiff_t j;
    int r;
    for (r = 0; r < ODALIB_TILE; r++)
        squares[r] = start;
    for (j = 0; j < d; j++)
        for (r = 0; r < ODALIB_TILE; r++) {
            double x = turned[j * ODALIB_TILE + r];
            squares[r] += x * x;
        }
}

/* At least Phi(-z), and at most 0.0005 more, for z >= 0. */
ODALIB_INLINE double odalib_loss_bound(double z)
{
    double p = 1.0 + z * (0.196854 + z * (0.115194 + z * (0.000344 + z * 0.019527)));
    p *= p;
    return 0.5 / (p * p) + 0.00025;
}

/* Number of the pair of two of so many classes, (0, 1), (0, 2), ... */
ODALIB_INLINE ptrdiff_t odalib_pair(ptrdiff_t n_classes, ptrdiff_t i, ptrdiff_t j)
{
    ptrdiff_t first = i < j ? i : j, second = i < j ? j : i;
    return first * (2 * n_classes - first - 1) / 2 + second - first - 1;
}

/* Number of the sure winner of every row of a tile, or -1.

   means    n_pairs by ODALIB_TILE; of latent values, positive for the second class
   squares  of the rows, whose latent variances are at most widths times as large
   rivals   2 (n_classes - 1) by ODALIB_TILE; means and widths of the winner's pairs
   slack    by how much its losses stay below one
*/
ODALIB_CLONES
static void odalib_sure_winners(
    const double *ODALIB_RESTRICT means, const double *ODALIB_RESTRICT squares,
    const double *ODALIB_RESTRICT widths, double *ODALIB_RESTRICT rivals,
    double *ODALIB_RESTRICT winners, double slack, ptrdiff_t n_classes)
{
    double losses[ODALIB_TILE], worst[ODALIB_TILE], least[ODALIB_TILE];
    ptrdiff_t c, j, n_rivals = n_classes - 1;
    int r;
    memset(rivals, 0, 2 * n_rivals * ODALIB_TILE * sizeof(double));
    for (r = 0; r < ODALIB_TILE; r++) {
        losses[r] = worst[r] = 0.0;
        winners[r] = -1.0;
    }
    for (c = 0; c < n_classes; c++) {
        for (r = 0; r < ODALIB_TILE; r++)
            least[r] = HUGE_VAL;
        for (j = 0; j < n_rivals; j++) {
            const ptrdiff_t pair = odalib_pair(n_classes, c, j + (j >= c));
            const double *mean = means + pair * ODALIB_TILE;
            const double side = c <= j ? -1.0 : 1.0;
            for (r = 0; r < ODALIB_TILE; r++) {
                double ahead = side * mean[r];
                least[r] = ahead > least[r] ? least[r] : ahead;
            }
        }
        for (r = 0; r < ODALIB_TILE; r++)
            winners[r] = least[r] > 0.0 ? (double)c : winners[r];
        for (j = 0; j < n_rivals; j++) {
            const ptrdiff_t pair = odalib_pair(n_classes, c, j + (j >= c));
            const double *mean = means + pair * ODALIB_TILE;
            const double width = widths[pair], side = c <= j ? -1.0 : 1.0;
            double *own = rivals + 2 * j * ODALIB_TILE, *its = own + ODALIB_TILE;
            for (r = 0; r < ODALIB_TILE; r++) {
                own[r] = least[r] > 0.0 ? side * mean[r] : own[r];
                its[r] = least[r] > 0.0 ? width : its[r];
            }
        }
    }
    for (j = 0; j < n_rivals; j++) {
        const double *own = rivals + 2 * j * ODALIB_TILE, *its = own + ODALIB_TILE;
        for (r = 0; r < ODALIB_TILE; r++) {
            double loss = odalib_loss_bound(own[r] / sqrt(1.0 + its[r] * squares[r]));
            losses[r] += loss;
            worst[r] = loss > worst[r] ? loss : worst[r];
        }
    }
    for (r = 0; r < ODALIB_TILE; r++)
        winners[r] = losses[r] + worst[r] < 1.0 - slack ? winners[r] : -1.0;
}

/* Coupled probabilities of a tile of rows, n_classes by ODALIB_TILE, from the margins of
   all pairs, n_pairs by ODALIB_TILE.

   rates   n_classes by n_classes by ODALIB_TILE; of going from a class to another
   rarest  least rate of every row
*/
ODALIB_CLONES
static void odalib_couple(
    const double *ODALIB_RESTRICT margins, double *ODALIB_RESTRICT rates,
    double *ODALIB_RESTRICT probabilities, double *ODALIB_RESTRICT rarest,
    ptrdiff_t n_classes)
{
    const ptrdiff_t line = n_classes * ODALIB_TILE;
    double total[ODALIB_TILE];
    ptrdiff_t state, from, to;
    int r;
    for (r = 0; r < ODALIB_TILE; r++)
        rarest[r] = 1.0;
    for (from = 0; from < n_classes; from++)
        for (to = from + 1; to < n_classes; to++, margins += ODALIB_TILE) {
            double *back = rates + to * line + from * ODALIB_TILE;
            double *ahead = rates + from * line + to * ODALIB_TILE;
            odalib_both_sides(margins, back, ahead);
            for (r = 0; r < ODALIB_TILE; r++) {
                double rarer = back[r] < ahead[r] ? back[r] : ahead[r];
                rarest[r] = rarer < rarest[r] ? rarer : rarest[r];
            }
        }
    for (state = n_classes - 1; state > 0; state--) {
        const double *out = rates + state * line;
        for (r = 0; r < ODALIB_TILE; r++)
            total[r] = out[r];
        for (to = 1; to < state; to++)
            for (r = 0; r < ODALIB_TILE; r++)
                total[r] += out[to * ODALIB_TILE + r];
        for (from = 0; from < state; from++) {
            double *row = rates + from * line, *in = row + state * ODALIB_TILE;
            for (r = 0; r < ODALIB_TILE; r++)
                in[r] /= total[r];
            for (to = 0; to < state; to++)
                for (r = 0; r < ODALIB_TILE; r++)
                    row[to * ODALIB_TILE + r] += in[r] * out[to * ODALIB_TILE + r];
        }
    }
    for (r = 0; r < ODALIB_TILE; r++)
        probabilities[r] = total[r] = 1.0;
    for (state = 1; state < n_classes; state++) {
        double *own = probabilities + state * ODALIB_TILE;
        for (r = 0; r < ODALIB_TILE; r++)
            own[r] = 0.0;
        for (from = 0; from < state; from++) {
            const double *in = rates + from * line + state * ODALIB_TILE;
            for (r = 0; r < ODALIB_TILE; r++)
                own[r] += probabilities[from * ODALIB_TILE + r] * in[r];
        }
        for (r = 0; r < ODALIB_TILE; r++)
            total[r] += own[r];
    }
    for (state = 0; state < n_classes; state++)
        for (r = 0; r < ODALIB_TILE; r++)
            probabilities[state * ODALIB_TILE + r] /= total[r];
}

#endif
