/* tests/unit/scheme_rig.h: what a scheme is told about a run that exists in a test only. */
#ifndef LAGGARD_TESTS_UNIT_SCHEME_RIG_H
#define LAGGARD_TESTS_UNIT_SCHEME_RIG_H

#include "agents/scheme.h"

/* One round over `count` floats at learning rate 0.125. `parameter` is the scheme's first one, where it has one of its own. Every
 * path has 1 ms and 100 MB/s. Fails the test
 * when there is no such scheme. */
struct scheme_setup scheme_setup_of(const char *scheme, int workers, size_t count, double parameter);
/* The place of a parameter of this name; -1: the scheme has none. */
int scheme_param(const struct scheme *scheme, const char *name);

#endif
