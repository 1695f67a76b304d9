/* agents/synthetic.h: gradients whose exact mean is known, so that every reduction is checked on every node.
 *
 * Worker i of P gives, for element j of step r (all small integers, exact in float32 in whatever order they are summed, P up to
 * 2,000):
 *
 *     g_i[j] = m(j, r) + d_i w(j)      d_i = 2 i - (P - 1), which sums to 0 over all workers;  w(j) = 1 + j mod 5
 *     m(j, r) = (j mod 61) - 30, and 1 + r mod 97 more where j is a multiple of 1024, so that a stale step shows
 *
 * A sum of n contributions is n m(j, r) + c w(j) with one integer c for all j. With all P workers once, c = 0 and the mean is m.
 * With fewer (backup workers, k-sync), c is read off one element and every other element must agree with it. */
#ifndef LAGGARD_AGENTS_SYNTHETIC_H
#define LAGGARD_AGENTS_SYNTHETIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SYNTHETIC_STEP_STRIDE = 1024 };

float synthetic_value(int workers, int worker, uint64_t step, size_t element);
double synthetic_mean(uint64_t step, size_t element);
void synthetic_fill(float *gradient, size_t count, int workers, int worker, uint64_t step);
/* The sum of several workers' gradients, each times its weight (NULL: 1). */
void synthetic_fill_sum(float *gradient, size_t count, int workers, const int *which, const float *weights, int which_count,
                        uint64_t step);
/* Turns a gradient of any other step of the same worker into the one of `step`: writes only the elements that depend on it. */
void synthetic_refresh(float *gradient, size_t count, int workers, int worker, uint64_t step);

struct synthetic_check {
    int workers, contributors;
    uint64_t step;
    bool all_once; /* every worker contributed exactly once: the mean must be m */
    /* All contributions are of `step`; false (asynchronous schemes): elements that depend on the step are left out. */
    bool same_step;
    bool approximate; /* the sum is one by intent: there is nothing to compare it with */
    /* The sum is one of multiples of gradients: how many times float32's errors grow. 0 or 1: there are none. */
    double amplification;
    /* Contributions have weights, so that sums may be beyond the whole numbers that a float32 holds: so many additions may then
     * have been rounded. 0: none. */
    int rounded;
};
struct synthetic_result {
    uint64_t checks, failures;
    size_t element;         /* of the first failure */
    double found, expected; /* sum / contributors there */
};
/* Compares sum[first .. first+count): a sample of it (its first and last element always, 256 others at most), or every element.
 * Adds to *result. Returns whether all agreed, to 1e-4 relative, or
 * to what the amplification makes of rounding. Of an approximate sum nothing is compared, and no check
 * counted. */
bool synthetic_check(const struct synthetic_check *check, const float *sum, size_t first, size_t count, bool every,
                     struct synthetic_result *result);

#endif
