/* results/comparison_internal.h: what the files of comparison share. */
#ifndef LAGGARD_RESULTS_COMPARISON_INTERNAL_H
#define LAGGARD_RESULTS_COMPARISON_INTERNAL_H

#include "results/comparison.h"

enum { COMPARISON_THINNED = 1000 };

void comparison_sort(double *values, size_t count); /* ascending, in place; fast for few */

#endif
