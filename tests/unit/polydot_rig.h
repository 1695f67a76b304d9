/* tests/unit/polydot_rig.h: what the tests of `polydot` share: a small model, codes, and their setups. */
#ifndef LAGGARD_TESTS_UNIT_POLYDOT_RIG_H
#define LAGGARD_TESTS_UNIT_POLYDOT_RIG_H

#include "agents/schemes/polydot_internal.h"

enum { BATCH = 6, ROUNDS = 8, CODES = 9 };
extern const struct workload_settings polydot_rig_model;
extern const int polydot_rig_codes[CODES][POLYDOT_PARAMS];

struct scheme_setup polydot_rig_setup(const int code[POLYDOT_PARAMS], int workers, int rounds);
int polydot_rig_threshold(const int code[POLYDOT_PARAMS]);
double polydot_rig_distance(const float *a, const float *b, size_t count); /* the largest difference */

#endif
