/* near.h: that a time is the expected one but for rounding; behind cmocka.h. */
#ifndef LAGGARD_TESTS_NEAR_H
#define LAGGARD_TESTS_NEAR_H

#include <math.h>

static inline void assert_near(double found, double expected, double relative)
{
    if (!(fabs(found - expected) <= relative * fmax(fabs(expected), 1)))
        fail_msg("found %.9g, expected %.9g", found, expected);
}

#endif
