/* detmath.c: elementary functions with the same bits everywhere.
 *
 * Only +, -, *, / and bit operations on IEEE doubles in a fixed order; no libm, no fused multiply-add (-ffp-contract=off). The
 * reductions and minimax polynomials are those of fdlibm (Sun Microsystems, "Freely Distributable LIBM", e_log.c, e_exp.c, k_sin.c,
 * k_cos.c), whose errors are below 1 ulp. */
#include "base/detmath.h"

#include <float.h>
#include <stdint.h>
#include <string.h>

#if FLT_EVAL_METHOD != 0
#error "doubles must be computed in double precision: compile for SSE2 or better"
#endif

static const double ln2_high = 6.93147180369123816490e-01; /* its last 20 bits are zero: k * ln2_high is exact */
static const double ln2_low = 1.90821492927058770002e-10;

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

static double from_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

/* 2^exponent for -1022 <= exponent <= 1023 */
static double power_of_two(int exponent)
{
    return from_bits((uint64_t)(exponent + 1023) << 52);
}

/* x = 2^k (1 + f) with sqrt(1/2) < 1 + f < sqrt(2). With s = f / (2 + f), log(1 + f) = 2 atanh(s) = f - s (f - R(s)), and R is a
 * polynomial in s^2. */
double detmath_log(double x)
{
    int k = 0;
    if (!(x > 0.0))
        return x == 0.0 ? -from_bits(UINT64_C(0x7ff) << 52) : from_bits(UINT64_C(0x7ff8) << 48);
    if (x > DBL_MAX)
        return x;
    if (x < DBL_MIN) { /* subnormal: outside the domain that draws use, but there is no reason to be wrong */
        x *= 0x1p54;
        k = -54;
    }
    uint64_t bits = bits_of(x);
    /* Adding the distance from sqrt(1/2) to 1 carries into the exponent exactly when the fraction is above sqrt(2). */
    uint64_t shifted = bits + (UINT64_C(0x3ff0000000000000) - UINT64_C(0x3fe6a09e667f3bcd));
    k += (int)(shifted >> 52) - 1023;
    double f = from_bits((shifted & UINT64_C(0x000fffffffffffff)) + UINT64_C(0x3fe6a09e667f3bcd)) - 1.0;
    double half_square = 0.5 * f * f;
    double s = f / (2.0 + f);
    double z = s * s, w = z * z;
    double even = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
    double odd = z * (6.666666666666735130e-01 +
                      w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
    double r = even + odd;
    double dk = (double)k;
    return dk * ln2_high - ((half_square - (s * (half_square + r) + dk * ln2_low)) - f);
}

/* x = k ln2 + r with |r| <= ln2 / 2, r kept as high - low. With c = r - r^2 P(r^2), where P is the minimax polynomial,
 * exp(r) = 1 + r + r c / (2 - c). */
double detmath_exp(double x)
{
    if (x != x)
        return x;
    if (x > 709.782712893383973096)
        return from_bits(UINT64_C(0x7ff) << 52);
    if (x < -745.13321910194110842)
        return 0.0;
    int k = (int)(x * 1.44269504088896338700e+00 + (x < 0.0 ? -0.5 : 0.5)); /* to the nearest: |x log2 e| < 1076 */
    double dk = (double)k;
    double high = x - dk * ln2_high, low = dk * ln2_low;
    double r = high - low, t = r * r;
    double c =
        r - t * (1.66666666666666019037e-01 +
                 t * (-2.77777777770155933842e-03 +
                      t * (6.61375632143793436117e-05 + t * (-1.65339022054652515390e-06 + t * 4.13813679705723846039e-08))));
    double y = 1.0 - ((low - (r * c) / (2.0 - c)) - high);
    if (k > 1023)
        return y * 2.0 * power_of_two(k - 1);
    if (k < -1022)
        return y * power_of_two(k + 128) * power_of_two(-128);
    return y * power_of_two(k);
}

double detmath_pow(double base, double y)
{
    return detmath_exp(y * detmath_log(base));
}

/* sin(x + tail) for |x| <= pi/4 */
static double kernel_sin(double x, double tail)
{
    double z = x * x, v = z * x;
    double r = 8.33333333332248946124e-03 +
               z * (-1.98412698298579493134e-04 +
                    z * (2.75573137070700676789e-06 + z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)));
    return x - ((z * (0.5 * tail - v * r) - tail) - v * -1.66666666666666324348e-01);
}

/* cos(x + tail) for |x| <= pi/4: 1 - z/2 is split so that its rounding error is added back. */
static double kernel_cos(double x, double tail)
{
    double z = x * x;
    double r =
        z * (4.16666666666666019037e-02 +
             z * (-1.38888888888741095749e-03 +
                  z * (2.48015872894767294178e-05 +
                       z * (-2.75573143513906633035e-07 + z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11)))));
    double half = 0.5 * z, w = 1.0 - half;
    return w + (((1.0 - w) - half) + (z * r - x * tail));
}

/* sin(2 pi (turns + quarters/4)). The reduction is exact: `turns` minus the nearest quarter loses no bit. The product with 2 pi is
 * carried as x + tail, by splitting both factors (Dekker), so that the kernels see no error of the reduction. */
static double sin_of_quarters(double turns, int quarters)
{
    static const double two_pi_high = 0x1.921fb5p+2;        /* the first 25 bits: its products with 26 bits are exact */
    static const double two_pi_low = 0x1.110b4611a6263p-24; /* 2 pi - two_pi_high */
    int nearest = (int)(turns * 4.0 + 0.5);
    double rest = turns - 0.25 * (double)nearest;
    double rest_high = from_bits(bits_of(rest) & ~UINT64_C(0x7ffffff)), rest_low = rest - rest_high;
    double first = rest_high * two_pi_high;
    double second = rest_high * two_pi_low + rest_low * two_pi_high + rest_low * two_pi_low;
    double x = first + second, tail = second - (x - first);
    switch ((nearest + quarters) & 3) {
    case 0:
        return kernel_sin(x, tail);
    case 1:
        return kernel_cos(x, tail);
    case 2:
        return -kernel_sin(x, tail);
    default:
        return -kernel_cos(x, tail);
    }
}

double detmath_sin_turns(double turns)
{
    return sin_of_quarters(turns, 0);
}

double detmath_cos_turns(double turns)
{
    return sin_of_quarters(turns, 1);
}
