/* The normal distribution function, both of its sides, in loops without branches. */
#ifndef ODALIB_NORMAL_CDF_H
#define ODALIB_NORMAL_CDF_H

#include "vector.h"

/* Values that are taken at a time. */
#define ODALIB_NORMALS 32
/* Phi(-a) is no float any more, not even a subnormal one. */
#define ODALIB_NORMAL_END 39.0

/* Phi(-a) for a >= 0, to four units in the last place, subnormal results to one; never
   above a half. NaN stays NaN.

   As exp(-a^2 / 2) g(a) / (1 + sqrt(2 / pi) a), whose g has no slope at zero; g is
   1 / 2 + t^2 q(s), t = a / (a + 5), q the polynomial that meets it at Chebyshev's
   points of [0, 39]. The square is exact, in two parts: the relative error of the
   exponential is the absolute one of what it is taken of. */
ODALIB_INLINE double odalib_normal_tail(double a)
{
    const double shifter = 6755399441055744.0; /* 1.5 * 2^52: rounds to an integer */
    double end = a > ODALIB_NORMAL_END ? ODALIB_NORMAL_END : a;
    double head, high, low, shifted, n, r, t, s, s2, even, odd, scale;
    uint64_t bits;
    int is_tiny;
    memcpy(&bits, &end, sizeof bits);
    bits &= ~(uint64_t)0x7ffffff;
    memcpy(&head, &bits, sizeof head);
    high = -0.5 * (head * head);
    low = -0.5 * ((end - head) * (end + head));
    shifted = high * 1.4426950408889634074 + shifter;
    n = shifted - shifter;
    r = high - n * 6.93147180369123816490e-01;
    r = (r - n * 1.90821492927058770002e-10) + low;
    /* 2^n, which is a normal number by a detour. */
    is_tiny = high < -690.0;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + (is_tiny ? 1023 + 128 : 1023)) << 52;
    memcpy(&scale, &bits, sizeof scale);

    t = end / (end + 5.0);
    s = t * (88.0 / 39.0) - 1.0;
    s2 = s * s;
    even = 2.5910861140027953e-10;
    even = even * s2 + -3.256518913741689e-09;
    even = even * s2 + 2.7991053831855463e-08;
    even = even * s2 + -2.40619221537914e-07;
    even = even * s2 + 2.35114882529489e-06;
    even = even * s2 + -2.576048645000925e-05;
    even = even * s2 + 0.00027001941012955334;
    even = even * s2 + -0.0010682702984369551;
    even = even * s2 + -0.06640815010505208;
    even = even * s2 + -0.36645654828967117;
    even = even * s2 + -0.5294458834934967;
    odd = 1.9974864852454506e-10;
    odd = odd * s2 + -3.5476764753378417e-09;
    odd = odd * s2 + 3.899680972526246e-08;
    odd = odd * s2 + -3.3564946891121025e-07;
    odd = odd * s2 + 1.888597675883465e-06;
    odd = odd * s2 + 1.350195989359418e-05;
    odd = odd * s2 + -0.0008034917431417979;
    odd = odd * s2 + 0.015825605203767724;
    odd = odd * s2 + 0.18174195028673057;
    odd = odd * s2 + 0.5478355425506978;
    t = 0.5 + (t * t) * (even + s * odd);
    t = odalib_exp_near_zero(r) * t / (1.0 + 0.79788456080286535588 * end);
    return t * scale * (is_tiny ? 0x1p-128 : 1.0);
}

/* Phi(-z) and Phi(z) of ODALIB_NORMALS values: the less probable to full relative
   precision, and what it leaves. */
ODALIB_CLONES
static void odalib_both_sides(
    const double *ODALIB_RESTRICT z, double *ODALIB_RESTRICT negative,
    double *ODALIB_RESTRICT positive)
{
    int r;
    for (r = 0; r < ODALIB_NORMALS; r++) {
        double rarer = odalib_normal_tail(z[r] < 0.0 ? -z[r] : z[r]);
        double likelier = 1.0 - rarer;
        negative[r] = z[r] > 0.0 ? rarer : likelier;
        positive[r] = z[r] > 0.0 ? likelier : rarer;
    }
}

#endif
