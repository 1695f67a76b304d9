/* skipping.h: leaves a test that this host cannot run, and says why. cmocka's skip() prints "not ok # SKIP", which counts as a
 * failure wherever TAP is read. */
#ifndef LAGGARD_TESTS_UNIT_SKIPPING_H
#define LAGGARD_TESTS_UNIT_SKIPPING_H

#include <stdio.h>

/* In the body of the test itself. */
#define SKIP_BECAUSE(reason)                                                                                                       \
    do {                                                                                                                           \
        printf("# skipped: %s: %s\n", __func__, reason);                                                                           \
        return;                                                                                                                    \
    } while (0)

#endif
