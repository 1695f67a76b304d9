/* detmath.h: log, exp, pow, sin and cos whose results are the same bits on every machine and build mode (glibc's differ with FMA).
 * Plain double arithmetic in a fixed order; the file is compiled with -ffp-contract=off. Error below 2 ulp of the true value over
 * the stated domain, tested against libm. */
#ifndef LAGGARD_BASE_DETMATH_H
#define LAGGARD_BASE_DETMATH_H

double detmath_log(double x);              /* x > 0, normal numbers */
double detmath_exp(double x);              /* -700 <= x <= 700 */
double detmath_pow(double base, double y); /* base > 0: exp(y log base); error below 2 + 3 |y log base| ulp */
double detmath_sin_turns(double turns);    /* sin(2 pi turns), 0 <= turns < 1 */
double detmath_cos_turns(double turns);

#endif
