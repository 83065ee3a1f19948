/* Steps of one row each: a codebook that moves towards every row in turn.

   n rows of d entries and K codevectors. Of row r, a share steps[r] goes into the means;
   what is associated by less than ODALIB_FAINT of the largest association is not moved.

   rows     n x d
   weights  n; of the rows
   steps    n
   rho      K; weights of the codevectors, changed
   mass     K; row weights by association are added
   factors  multipliers of the axis sums: n numbers where kind is 1, a covector for every
            codevector where it is 2
   work     3 K
*/
#ifndef ODALIB_FOLLOW_CORE_H
#define ODALIB_FOLLOW_CORE_H

#include <math.h>
#include "vector.h"

#define ODALIB_FAINT 1e-12
/* Below this sum of rho exp(-beta (d - min d)), the logarithms are summed. */
#define ODALIB_LOST 1e-250

/* p_k proportional to rho_k exp(-beta gap_k), for codevectors so light that the
   product vanishes where the gap does. */
static void odalib_associate_by_logs(
    double *p, const double *gap, const double *rho, double beta, ptrdiff_t K)
{
    double best = -INFINITY;
    ptrdiff_t k;
    for (k = 0; k < K; k++) {
        p[k] = log(rho[k]) - beta * gap[k];
        best = p[k] > best ? p[k] : best;
    }
    for (k = 0; k < K; k++)
        p[k] = exp(p[k] - best);
}

/* Association of one row from its divergences, and the weights after its step.

   gap      K; divergences in; what moves each codevector out, step p / rho
   p        K; out, row weight times association
*/
ODALIB_INLINE void odalib_weigh(
    double *ODALIB_RESTRICT gap, double *ODALIB_RESTRICT p,
    double *ODALIB_RESTRICT rho, double *ODALIB_RESTRICT mass,
    double beta, double step, double weight, ptrdiff_t K)
{
    double least = INFINITY, largest = 0.0, scale;
    ptrdiff_t k;
#pragma omp simd reduction(min : least)
    for (k = 0; k < K; k++)
        least = gap[k] < least ? gap[k] : least;
#pragma omp simd reduction(max : largest)
    for (k = 0; k < K; k++) {
        p[k] = rho[k] * odalib_exp(beta * (least - gap[k]));
        largest = p[k] > largest ? p[k] : largest;
    }
    if (!(largest > ODALIB_LOST)) {
        odalib_associate_by_logs(p, gap, rho, beta, K);
        largest = 1.0;
    }
    for (k = 0; k < K; k++)
        p[k] = p[k] < ODALIB_FAINT * largest ? 0.0 : p[k];
    scale = 1.0 / odalib_total(p, K);
    for (k = 0; k < K; k++) {
        double share = p[k] * scale, after = rho[k] + step * (share - rho[k]);
        gap[k] = share > 0.0 ? step * share / after : 0.0;
        rho[k] = after;
        p[k] = weight * share;
        mass[k] += p[k];
    }
    scale = 1.0 / odalib_total(rho, K);
    for (k = 0; k < K; k++)
        rho[k] *= scale;
}

#if ODALIB_HAS_LANES
/* Squared Euclidean, few features: eight codevectors side by side.

   points, axis, covectors  K / 8 x d x 8; K is a multiple of eight, and codevectors that
                            fill it up lie far from all rows with a rho of zero
*/
ODALIB_CLONES
static void odalib_follow_narrow(
    const double *ODALIB_RESTRICT rows, const double *ODALIB_RESTRICT weights,
    const double *ODALIB_RESTRICT steps, const double *ODALIB_RESTRICT factors,
    int kind, double beta,
    double *ODALIB_RESTRICT points, double *ODALIB_RESTRICT rho,
    double *ODALIB_RESTRICT axis, double *ODALIB_RESTRICT mass,
    double *ODALIB_RESTRICT work, ptrdiff_t n, ptrdiff_t d, ptrdiff_t K)
{
    const odalib_lanes zero = {0.0};
    odalib_lanes *gap = (odalib_lanes *)work, *p = (odalib_lanes *)(work + K);
    odalib_lanes *share_of = (odalib_lanes *)rho, *total = (odalib_lanes *)mass;
    ptrdiff_t r, b, j, blocks = K / 8;
    for (r = 0; r < n; r++) {
        const double *x = rows + r * d;
        odalib_lanes low = zero + INFINITY, high = zero, sum = zero, whole = zero;
        double least, largest, scale;
        for (b = 0; b < blocks; b++) {
            const odalib_lanes *own = (const odalib_lanes *)points + b * d;
            odalib_lanes square = zero;
            for (j = 0; j < d; j++) {
                odalib_lanes apart = x[j] - own[j];
                square += apart * apart;
            }
            gap[b] = square;
            low = odalib_where(square < low, square, low);
        }
        least = odalib_least(low);
        for (b = 0; b < blocks; b++) {
            p[b] = share_of[b] * odalib_exp_lanes(beta * (least - gap[b]));
            high = odalib_where(p[b] > high, p[b], high);
        }
        largest = odalib_largest(high);
        if (!(largest > ODALIB_LOST)) {
            odalib_associate_by_logs((double *)p, (double *)gap, rho, beta, K);
            largest = 1.0;
        }
        for (b = 0; b < blocks; b++) {
            p[b] = odalib_where(p[b] < ODALIB_FAINT * largest, zero, p[b]);
            sum += p[b];
        }
        scale = 1.0 / odalib_sum(sum);
        for (b = 0; b < blocks; b++) {
            odalib_lanes share = p[b] * scale;
            odalib_lanes after = share_of[b] + steps[r] * (share - share_of[b]);
            gap[b] = steps[r] * share / odalib_where(after > 0.0, after, zero + 1.0);
            share_of[b] = after;
            p[b] = weights[r] * share;
            total[b] += p[b];
            whole += after;
        }
        scale = 1.0 / odalib_sum(whole);
        for (b = 0; b < blocks; b++) {
            odalib_lanes *own = (odalib_lanes *)points + b * d;
            odalib_lanes *along = (odalib_lanes *)axis + b * d;
            odalib_lanes pull = p[b], gain = gap[b];
            share_of[b] *= scale;
            if (odalib_sum(pull) == 0.0)
                continue;
            if (kind == 0) {
                for (j = 0; j < d; j++)
                    own[j] += gain * (x[j] - own[j]);
                continue;
            }
            if (kind == 1)
                pull *= factors[r];
            else {
                const odalib_lanes *covector = (const odalib_lanes *)factors + b * d;
                odalib_lanes factor = zero;
                for (j = 0; j < d; j++)
                    factor += covector[j] * (x[j] - own[j]);
                pull *= factor;
            }
            for (j = 0; j < d; j++) {
                odalib_lanes apart = x[j] - own[j];
                along[j] += pull * apart;
                own[j] += gain * apart;
            }
        }
    }
}
#else
#define odalib_follow_narrow odalib_follow_wide
#endif

/* Move one codevector, and add to its axis sum. */
ODALIB_INLINE void odalib_move(
    const double *ODALIB_RESTRICT x, double *ODALIB_RESTRICT point,
    double *ODALIB_RESTRICT axis, const double *covector, double factor, int kind,
    double mass, double gain, ptrdiff_t d)
{
    ptrdiff_t j;
    if (kind == 2)
        factor = odalib_along(covector, x, point, d);
    if (kind) {
        factor *= mass;
        for (j = 0; j < d; j++) {
            double apart = x[j] - point[j];
            axis[j] += factor * apart;
            point[j] += gain * apart;
        }
    } else
        for (j = 0; j < d; j++)
            point[j] += gain * (x[j] - point[j]);
}

/* Squared Euclidean, many features.

   points, axis, covectors  K x d
*/
ODALIB_CLONES
static void odalib_follow_wide(
    const double *ODALIB_RESTRICT rows, const double *ODALIB_RESTRICT weights,
    const double *ODALIB_RESTRICT steps, const double *ODALIB_RESTRICT factors,
    int kind, double beta,
    double *ODALIB_RESTRICT points, double *ODALIB_RESTRICT rho,
    double *ODALIB_RESTRICT axis, double *ODALIB_RESTRICT mass,
    double *ODALIB_RESTRICT work, ptrdiff_t n, ptrdiff_t d, ptrdiff_t K)
{
    double *gap = work, *p = work + K;
    ptrdiff_t r, k;
    for (r = 0; r < n; r++) {
        const double *x = rows + r * d;
        for (k = 0; k < K; k++)
            gap[k] = odalib_distance(x, points + k * d, d);
        odalib_weigh(gap, p, rho, mass, beta, steps[r], weights[r], K);
        for (k = 0; k < K; k++)
            if (p[k] > 0.0)
                odalib_move(x, points + k * d, axis + k * d,
                            kind == 2 ? factors + k * d : 0,
                            kind == 1 ? factors[r] : 0.0, kind, p[k], gap[k], d);
    }
}

enum {
    ODALIB_KULLBACK_LEIBLER, ODALIB_ITAKURA_SAITO, ODALIB_LOGISTIC, ODALIB_MAHALANOBIS
};
/* As BOUNDARY of odalib.inference.annealing.divergences. */
#define ODALIB_BOUNDARY 1e-10

/* Whether codevectors at some coordinate lie where gradients depend on the mean. */
ODALIB_INLINE int odalib_at_boundary(int divergence, double value, double mean)
{
    if (divergence == ODALIB_KULLBACK_LEIBLER)
        return value < ODALIB_BOUNDARY * mean;
    return value < ODALIB_BOUNDARY * mean ||
           value > 1.0 - ODALIB_BOUNDARY * (1.0 - mean);
}

/* Tangent plane of one codevector: its gradient; the offset is returned. */
ODALIB_INLINE double odalib_tangent(
    int divergence, const double *point, const double *mean, const double *precision,
    double *gradient, ptrdiff_t d)
{
    double offset = 0.0;
    ptrdiff_t i, j;
    if (divergence == ODALIB_MAHALANOBIS) {
        for (i = 0; i < d; i++) {
            double sum = odalib_dot(precision + i * d, point, d);
            gradient[i] = 2.0 * sum;
            offset += point[i] * sum;
        }
        return offset;
    }
    for (j = 0; j < d; j++) {
        double value = point[j];
        if (divergence == ODALIB_ITAKURA_SAITO) {
            gradient[j] = -1.0 / value;
            offset += log(value) - 1.0;
            continue;
        }
        if (odalib_at_boundary(divergence, value, mean[j])) {
            double low = ODALIB_BOUNDARY * mean[j];
            value = value < low ? low : 1.0 - ODALIB_BOUNDARY * (1.0 - mean[j]);
        }
        gradient[j] = 0.0;
        if (divergence == ODALIB_KULLBACK_LEIBLER) {
            if (value > 0.0)
                gradient[j] = log(value);
            offset += value;
        } else if (value > 0.0 && value < 1.0) {
            gradient[j] = log(value) - log1p(-value);
            /* value gradient - phi(value) */
            offset -= log1p(-value);
        }
    }
    return offset;
}

/* Any divergence that has a name here, by tangent planes.

   points, axis, covectors  K x d
   planes, offsets  K x d and K; work
   mean       d; work
   precision  d x d, of the Mahalanobis divergence
*/
ODALIB_CLONES
static void odalib_follow_planes(
    const double *ODALIB_RESTRICT rows, const double *ODALIB_RESTRICT weights,
    const double *ODALIB_RESTRICT steps, const double *ODALIB_RESTRICT factors,
    int kind, double beta,
    double *ODALIB_RESTRICT points, double *ODALIB_RESTRICT rho,
    double *ODALIB_RESTRICT axis, double *ODALIB_RESTRICT mass,
    double *ODALIB_RESTRICT work, ptrdiff_t n, ptrdiff_t d, ptrdiff_t K,
    int divergence, double *ODALIB_RESTRICT planes, double *ODALIB_RESTRICT offsets,
    double *ODALIB_RESTRICT mean, const double *ODALIB_RESTRICT precision)
{
    double *gap = work, *p = work + K;
    int has_boundary = divergence == ODALIB_KULLBACK_LEIBLER ||
                       divergence == ODALIB_LOGISTIC;
    ptrdiff_t r, j, k;
    for (k = 0; k < K; k++)
        p[k] = 1.0;
    for (r = 0; r < n; r++) {
        const double *x = rows + r * d;
        /* Planes of what the last row has moved; of all codevectors at first. */
        if (has_boundary) {
            for (j = 0; j < d; j++)
                mean[j] = 0.0;
            for (k = 0; k < K; k++)
                for (j = 0; j < d; j++)
                    mean[j] += rho[k] * points[k * d + j];
        }
        for (k = 0; k < K; k++) {
            int changed = p[k] > 0.0;
            for (j = 0; has_boundary && !changed && j < d; j++)
                changed = odalib_at_boundary(divergence, points[k * d + j], mean[j]);
            if (changed)
                offsets[k] = odalib_tangent(divergence, points + k * d, mean,
                                            precision, planes + k * d, d);
        }
        for (k = 0; k < K; k++)
            gap[k] = offsets[k] - odalib_dot(planes + k * d, x, d);
        odalib_weigh(gap, p, rho, mass, beta, steps[r], weights[r], K);
        for (k = 0; k < K; k++)
            if (p[k] > 0.0)
                odalib_move(x, points + k * d, axis + k * d,
                            kind == 2 ? factors + k * d : 0,
                            kind == 1 ? factors[r] : 0.0, kind, p[k], gap[k], d);
    }
}

#endif
