/* subsets.h: which workers an answer came from, one set after the other: for the tests of codes. */
#ifndef LAGGARD_TESTS_SUBSETS_H
#define LAGGARD_TESTS_SUBSETS_H

#include <stdbool.h>

/* The next set of `count` of `total` in lexicographic order; false: that was the last. */
static inline bool next_subset(int *chosen, int count, int total)
{
    int i = count - 1;
    while (i >= 0 && chosen[i] == total - count + i)
        i--;
    if (i < 0)
        return false;
    chosen[i]++;
    for (int k = i + 1; k < count; k++)
        chosen[k] = chosen[k - 1] + 1;
    return true;
}

#endif
