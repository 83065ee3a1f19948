/* One probit observation of one latent value, in scalars.

   Formulas and meaning are those of odalib.kernels.reference.probit. */
#ifndef ODALIB_PROBIT_H
#define ODALIB_PROBIT_H

#include <math.h>

#include "vector.h"

#if defined(__GNUC__)
#define ODALIB_INLINE static inline __attribute__((always_inline))
#else
#define ODALIB_INLINE static inline
#endif

#define ODALIB_ROOT_HALF 0.70710678118654752440
#define ODALIB_ROOT_TWO_OVER_PI 0.79788456080286535588
#define ODALIB_LOG_ROOT_TWO_PI 0.91893853320467274178

/* Left of it, differences lose digits; right of FLAT, Phi and its powers are one. */
#define ODALIB_TAIL (-3.0)
#define ODALIB_FLAT 40.0
/* A step likelihood may contradict a value by so many standard deviations. */
#define ODALIB_FARTHEST 1e150
/* Up to this variance a latent value is certain. */
#define ODALIB_CERTAIN 1e-280

/* At z: r = phi / Phi, g = z + r, q = 1 - r g, r g, and r (1 + z g). */
typedef struct {
    double ratio, excess, slope, precision, shift;
} odalib_mills_t;

/* (1 + 2 u) exp(u^2) erfc(u) for u in [0, 7], to two units in the last place: the
   polynomial in s = 20 u / (7 u + 21) - 1 that meets it at Chebyshev's points. */
ODALIB_INLINE double odalib_scaled_erfc(double u)
{
    const double s = 20.0 / 7.0 * u / (u + 3.0) - 1.0, s2 = s * s, s4 = s2 * s2;
    double p = -1.9807309169006573e-12;
    p = p * s4 + ((2.412470084003483e-09 + 7.310535646718298e-10 * s)
                  + s2 * (-7.720927242560464e-11 - 5.123897468812039e-11 * s));
    p = p * s4 + ((6.446711178079765e-07 + 2.5794132994632222e-08 * s)
                  + s2 * (-4.23061756063128e-08 - 5.87401408859314e-09 * s));
    p = p * s4 + ((1.7800502678349826e-04 + 9.52574166224877e-07 * s)
                  + s2 * (-1.01825683499918885e-05 + 7.4003109120523e-08 * s));
    p = p * s4 + ((-6.1208984567423116e-02 + 1.8878961617252093e-02 * s)
                  + s2 * (-2.689806660965729e-03 - 3.201778595546197e-04 * s));
    return p * s4 + ((1.284763515696441 - 3.925303246489048e-02 * s)
                     + s2 * (-1.2253274415606083e-01 + 1.1919360899863117e-01 * s));
}

ODALIB_INLINE odalib_mills_t odalib_mills(double z)
{
    odalib_mills_t m;
    if (z < ODALIB_TAIL) {
        /* The deeper, the nearer to zero: depths leave less than rounding. */
        int k = z < -12.0 ? 13 : z < -6.0 ? 27 : 60;
        double h = z, inverse;
        for (; k > 2; k--)
            h = z + k / h;
        inverse = -1.0 / h;
        m.excess = 1.0 / (2.0 * inverse - z);
        m.ratio = m.excess - z;
        m.slope = m.excess * (2.0 * inverse - m.excess);
        m.precision = 1.0 - m.slope;
        m.shift = 2.0 * m.ratio * m.excess * inverse;
    } else {
        /* Without branches on what is as likely as not. Beyond its range, what is
           scaled no longer counts; nor do densities that are hardly numbers. */
        const double far = fabs(z) * ODALIB_ROOT_HALF, u = far < 7.0 ? far : 7.0;
        const double above = z > 0.0 ? z : 0.0, end = above < 37.0 ? above : 37.0;
        const double scaled = odalib_scaled_erfc(u), scale = 1.0 + 2.0 * u;
        const double density = exp(-0.5 * end * end), side = copysign(1.0, z);
        m.ratio = ODALIB_ROOT_TWO_OVER_PI * scale * density
            / ((1.0 + side) * scale - side * density * scaled);
        m.excess = z + m.ratio;
        m.precision = m.ratio * m.excess;
        m.slope = 1.0 - m.precision;
        m.shift = m.ratio + m.precision * z;
    }
    return m;
}

/* Peak, from the centre on, of Phi^power times a Gaussian, and the curvature there. */
ODALIB_INLINE double odalib_peak(
    double centre, double width2, double power, int in_tail, double *curvature)
{
    double x = 0.0;
    for (;;) {
        double before = centre + x, fall, step;
        odalib_mills_t m = odalib_mills(before);
        if (in_tail) {
            fall = x / width2 - power * m.excess;
            *curvature = 1.0 / width2 - power * m.slope;
        } else {
            fall = x / width2 - power * m.ratio;
            *curvature = 1.0 / width2 + power * m.ratio * m.excess;
        }
        step = -fall / *curvature;
        x += step;
        if (step * step * *curvature < 0.01 || centre + x == before)
            return x;
    }
}

/* log Phi(u), or log of exp(u^2 / 2) Phi(u) in the tail; and r(u). */
ODALIB_INLINE double odalib_log_factor(double u, int in_tail, double *ratio)
{
    double value;
    if (u > 0.0) {
        value = log1p(-0.5 * erfc(ODALIB_ROOT_HALF * u));
        *ratio = exp(-0.5 * u * u - ODALIB_LOG_ROOT_TWO_PI - value);
        return in_tail ? value + 0.5 * u * u : value;
    }
    *ratio = odalib_mills(u).ratio;
    value = -ODALIB_LOG_ROOT_TWO_PI - log(*ratio);
    return in_tail ? value : value - 0.5 * u * u;
}

/* Moments under Phi(u)^power, by the trapezoidal rule in t of x = a + s sinh(t). */
static inline void odalib_power_step(
    double mean, double variance, double power, double *gain, double *kept)
{
    const double reach = 9.2, widest = 0.125, at_peak = 0.4;
    double spread = 1.0 + power * variance, centre = mean, width2 = variance;
    double curvature, peak, deviation, lower, upper, anchor, scale, first, last, step;
    double ignored, top, total = 0.0, ratios = 0.0, sum = 0.0, squares = 0.0;
    int in_tail = mean < -sqrt(variance * spread), n, i;
    if (in_tail) {
        centre = mean / spread;
        width2 = variance / spread;
    }
    peak = odalib_peak(centre, width2, power, in_tail, &curvature);
    deviation = 1.0 / sqrt(curvature);
    lower = peak - reach * deviation;
    upper = peak + reach * sqrt(variance);
    *gain = 0.0;
    *kept = 1.0;
    if (centre + lower > ODALIB_FLAT)
        return;
    anchor = fmin(fmax(-centre, lower), upper);
    scale = hypot(1.0, centre + anchor);
    first = asinh((lower - anchor) / scale);
    last = asinh((upper - anchor) / scale);
    step = fmin(widest, at_peak * deviation / hypot(scale, peak - anchor));
    n = (int)fmin((last - first) / step, 1e7);
    n = n > 32 ? n : 32;
    step = (last - first) / (n - 1);
    top = power * odalib_log_factor(centre + peak, in_tail, &ignored)
        - 0.5 * peak * peak / width2;
    for (i = 0; i < n; i++) {
        double t = first + step * i, offset = scale * sinh(t), x = anchor + offset;
        double ratio, from_peak = x - peak, weight;
        weight = power
            * odalib_log_factor((centre + anchor) + offset, in_tail, &ratio);
        weight = exp(weight - 0.5 * x * x / width2 - top) * cosh(t);
        total += weight;
        ratios += weight * ratio;
        sum += weight * from_peak;
        squares += weight * from_peak * from_peak;
    }
    sum /= total;
    *gain = power * ratios / total;
    *kept = (squares / total - sum * sum) / variance;
}

/* Beside a variance of so many times the noise, a probit is a step, which is equal to
   all its powers. */
#define ODALIB_WIDEST_POWER 1e30

/* As reference.probit_step. */
ODALIB_INLINE void odalib_probit_step(
    double label, double mean, double variance, double noise, double power,
    double *gain, double *kept)
{
    double total, scale, z;
    odalib_mills_t m;
    if (power < 1.0 && variance < ODALIB_WIDEST_POWER * noise) {
        scale = sqrt(noise);
        odalib_power_step(label * mean / scale, variance / noise, power, gain, kept);
        *gain *= label / scale;
        return;
    }
    total = noise + variance;
    scale = sqrt(total);
    z = label * mean / scale;
    if (z < -ODALIB_FARTHEST) {
        *gain = 0.0;
        *kept = 1.0;
        return;
    }
    m = odalib_mills(z);
    *gain = label * m.ratio / scale;
    *kept = noise / total + variance / total * m.slope;
}

/* As reference.probit_site: precision and shift. */
ODALIB_INLINE void odalib_probit_site(
    double label, double mean, double variance, double noise, double *site)
{
    const double scale = sqrt(noise + variance), z = label * mean / scale;
    const odalib_mills_t m = odalib_mills(z);
    const double denominator = noise + variance * m.slope;
    site[0] = m.precision / denominator;
    site[1] = label * scale * m.shift / denominator;
}

/* All observations of a row, relative to the moments before: two numbers. A weight
   is so many observations, and one to the power of what it has beyond. */
ODALIB_INLINE void odalib_see(
    double label, double latent, double variance, double weight, double noise,
    double *gain, double *kept)
{
    *gain = 0.0;
    *kept = 1.0;
    if (variance <= ODALIB_CERTAIN)
        return;
    while (weight > 0.0) {
        const double power = weight < 1.0 ? weight : 1.0;
        double more, share;
        odalib_probit_step(
            label, latent, *kept * variance, noise, power, &more, &share);
        latent += more * *kept * variance;
        *gain += more * *kept;
        *kept *= share;
        weight -= power;
    }
}

#endif
