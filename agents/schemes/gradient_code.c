/* agents/schemes/gradient_code.c: the cyclic gradient code; see gradient_code.h.
 *
 * Source: R. Tandon, Q. Lei, A. Dimakis, N. Karampatziakis, "Gradient coding: avoiding stragglers in distributed learning", ICML
 * 2017 (its cyclic repetition scheme).
 *
 * The code. n workers, n partitions, s stragglers. H is a random s x n matrix whose rows sum to 0. Row i of the n x n matrix B has
 * its entries at i .. i+s (mod n), the first of them 1, and is orthogonal to H:
 *
 *     H[:, i+1 .. i+s] b = -H[:, i]        a system of s equations a worker
 *
 * All rows lie in the kernel of H, of dimension n - s, and so does (1, ..., 1). Any n - s rows span the kernel but for unlucky H:
 * there is an a with a B = (1, ..., 1) that is 0 at any s workers.
 *
 * Decoding. Column j of B has entries in rows j-s .. j only, that in row j is 1: a B = (1, ..., 1) says a_j = 1 - sum over t = 1 ..
 * s of a_{j-t} B[j-t, j], and z B = 0 the same without the 1. So all solutions follow from their first s numbers. `whole` is one a,
 * `nothing` a basis of the s-dimensional space of z. For stragglers S a system of s equations gives the c with (whole + c
 * nothing)_S = 0, whatever n is: nothing needs to be kept from one set of stragglers to the next.
 *
 * Rounding. What workers send has float32's relative error e = 2^-24 from each operation. Partition p's share of the decoded sum is
 * sum_i a_i B[i, p] = 1, of terms whose absolute values sum to more: the largest such sum over p is the amplification A of this set
 * of stragglers. The decoded sum differs from the exact one by about A (2s + 1) e times the sum of the gradients' absolute values
 * at most. A fractional code has A = 1.
 *
 * The choice of H. A random one is bad. Waves are better: rows sin(2 pi f x + pi/4) at x = (column + 1/2)/n with the s frequencies
 * around n/2, f = (n - s + 1)/2 + row. Together they are the highest s frequencies of n places, so that the kernel holds all lower
 * ones; where n - s is even, the f are halves, and a factor sin(pi x) for each column brings the constant into the kernel. Waves
 * and many seeded random H are compared by the worst A over all sets of stragglers, or, where these are many, over all runs of
 * neighbours (the worst for waves) and a seeded sample; the best is taken. The worst A, and that of the best of 1,000 random ones:
 *
 *     n, s      4, 1   5, 1   5, 2   8, 2   8, 3   10, 3   20, 3   50, 1   100, 3
 *     A          1.0    3.1    3.0   13.2   10.7    17.9    78.7     1.0     2024
 *     random           3.1    4.5   13.2   33.3    76.0    2906    55.3
 *
 * Example, n = 3, s = 1, H = (1 1 -2): B = (1 -1 0; 0 1 1/2; 2 0 1). Worker 2 missing: a = (1, 2, 0): 1 (g0 - g1) + 2 (g1 + g2/2) =
 * g0 + g1 + g2, amplification 3, of partition 1. */
#include "agents/schemes/gradient_code.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agents/linear_system.h"
#include "base/cleanup.h"
#include "base/detmath.h"
#include "base/rng.h"

enum { SEED = 2017, SETS_MOST = 20000, SYSTEM = GRADIENT_CODE_STRAGGLERS_MAX * GRADIENT_CODE_STRAGGLERS_MAX };
/* Random codes, besides the waves. With more workers none has ever been found to be the better one. */
enum { CANDIDATES = 1000, CANDIDATES_WORKERS_MAX = 32 };

size_t gradient_code_numbers(int workers, int stragglers)
{
    return (size_t)workers * (size_t)(2 * stragglers + 2) + 1;
}

struct gradient_code gradient_code_of(int workers, int stragglers, const double *numbers)
{
    const size_t n = (size_t)workers, s = (size_t)stragglers;
    return (struct gradient_code){.workers = workers,
                                  .stragglers = stragglers,
                                  .weights = numbers,
                                  .whole = numbers + n * (s + 1),
                                  .nothing = numbers + n * (s + 2),
                                  .amplification = numbers[n * (2 * s + 2)]};
}

/* ---- decoding ---- */

static double amplification_of(const struct gradient_code *code, const double *coefficients)
{
    const int n = code->workers, s = code->stragglers;
    double worst = 0;
    for (int partition = 0; partition < n; partition++) {
        double sum = 0, size = 0;
        for (int j = 0; j <= s; j++) {
            const int worker = (partition - j + n) % n;
            const double term = coefficients[worker] * code->weights[worker * (s + 1) + j];
            sum += term;
            size += fabs(term);
        }
        if (!(fabs(sum - 1) < 1e-6)) /* the partition is not there once */
            return INFINITY;
        worst = fmax(worst, size);
    }
    return worst;
}

double gradient_code_decode(const struct gradient_code *code, const bool *present, double *coefficients)
{
    const int n = code->workers, s = code->stragglers;
    double matrix[SYSTEM], shares[GRADIENT_CODE_STRAGGLERS_MAX];
    int row = 0;
    for (int worker = 0; worker < n; worker++) {
        if (present[worker])
            continue;
        if (row == s)
            return INFINITY;
        for (int k = 0; k < s; k++)
            matrix[row * s + k] = code->nothing[k * n + worker];
        shares[row++] = -code->whole[worker];
    }
    if (row < s || !linear_system_solve(matrix, shares, s))
        return INFINITY;
    for (int worker = 0; worker < n; worker++) {
        double coefficient = code->whole[worker];
        for (int k = 0; k < s; k++)
            coefficient += shares[k] * code->nothing[k * n + worker];
        coefficients[worker] = present[worker] ? coefficient : 0;
    }
    return amplification_of(code, coefficients);
}

/* ---- a code from a seed ---- */

/* Column by column, so that neighbours lie side by side. */
static void random_rows(int n, int s, uint32_t candidate, double *columns)
{
    struct rng rng = rng_stream(SEED, candidate, RNG_ALL_NODES, RNG_COMMON);
    for (int row = 0; row < s; row++) {
        double sum = 0;
        for (int column = 0; column < n - 1; column++)
            sum += columns[column * s + row] = rng_normal(&rng);
        columns[(n - 1) * s + row] = -sum;
    }
}

static double sine_of_turns(double turns)
{
    return detmath_sin_turns(turns - floor(turns));
}

static void wave_rows(int n, int s, double *columns)
{
    const bool twisted = (n - s) % 2 == 0;
    for (int column = 0; column < n; column++) {
        const double place = (column + 0.5) / n;
        const double scale = twisted ? sine_of_turns(place / 2) : 1;
        for (int row = 0; row < s; row++)
            columns[column * s + row] = scale * sine_of_turns(0.5 * (n - s + 1 + 2 * row) * place + 0.125);
    }
}

static bool make_weights(int n, int s, uint32_t candidate, double *columns, double *weights)
{
    if (candidate == 0)
        wave_rows(n, s, columns);
    else
        random_rows(n, s, candidate, columns);
    for (int worker = 0; worker < n; worker++) {
        double matrix[SYSTEM], right[GRADIENT_CODE_STRAGGLERS_MAX];
        for (int row = 0; row < s; row++) {
            right[row] = -columns[worker * s + row];
            for (int j = 0; j < s; j++)
                matrix[row * s + j] = columns[(worker + 1 + j) % n * s + row];
        }
        if (!linear_system_solve(matrix, right, s))
            return false;
        weights[worker * (s + 1)] = 1;
        memcpy(weights + worker * (s + 1) + 1, right, (size_t)s * sizeof(*right));
    }
    return true;
}

/* Extends the first s numbers to a solution of x B = (value, ..., value). */
static void extend(const double *weights, int n, int s, double value, double *x)
{
    for (int column = s; column < n; column++) {
        double rest = value;
        for (int j = 1; j <= s; j++)
            rest -= x[column - j] * weights[(column - j) * (s + 1) + j];
        x[column] = rest;
    }
}

static bool make_code(int n, int s, uint32_t candidate, double *columns, double *numbers)
{
    double *whole = numbers + n * (s + 1), *nothing = whole + n;
    if (!make_weights(n, s, candidate, columns, numbers))
        return false;
    memset(whole, 0, (size_t)n * (size_t)(s + 1) * sizeof(*whole));
    extend(numbers, n, s, 1, whole);
    for (int k = 0; k < s; k++) {
        nothing[k * n + k] = 1;
        extend(numbers, n, s, 0, nothing + k * n);
    }
    return true;
}

/* ---- the best code ---- */

/* The next set of s of n in lexicographic order; false: it was the last. */
static bool next_set(int *set, int n, int s)
{
    int place = s - 1;
    while (place >= 0 && set[place] == n - s + place)
        place--;
    if (place < 0)
        return false;
    set[place]++;
    for (int i = place + 1; i < s; i++)
        set[i] = set[i - 1] + 1;
    return true;
}

static bool few_sets(int n, int s)
{
    double sets = 1;
    for (int i = 0; i < s; i++)
        sets = sets * (n - i) / (i + 1);
    return sets <= SETS_MOST;
}

static double one_set(const struct gradient_code *code, const int *set, bool *present, double *coefficients)
{
    for (int worker = 0; worker < code->workers; worker++)
        present[worker] = true;
    for (int i = 0; i < code->stragglers; i++)
        present[set[i]] = false;
    return gradient_code_decode(code, present, coefficients);
}

static void sample_set(struct rng *rng, int n, int s, int *set)
{
    for (int i = 0; i < s; i++) {
        bool taken = true;
        while (taken) {
            set[i] = (int)rng_below(rng, (uint32_t)n);
            taken = false;
            for (int k = 0; k < i; k++)
                taken |= set[k] == set[i];
        }
    }
}

/* The worst amplification, or what is worse than `bound` already. */
static double worst_amplification(const struct gradient_code *code, double bound, bool *present, double *coefficients)
{
    const int n = code->workers, s = code->stragglers;
    int set[GRADIENT_CODE_STRAGGLERS_MAX] = {0};
    double worst = 0;
    if (few_sets(n, s)) {
        for (int i = 0; i < s; i++)
            set[i] = i;
        do {
            worst = fmax(worst, one_set(code, set, present, coefficients));
        } while (worst < bound && next_set(set, n, s));
        return worst;
    }
    struct rng rng = rng_stream(SEED, 0, 0, RNG_COMMON);
    for (int i = 0; i < SETS_MOST && worst < bound; i++) {
        for (int k = 0; k < s && i < n; k++)
            set[k] = (i + k) % n;
        if (i >= n)
            sample_set(&rng, n, s, set);
        worst = fmax(worst, one_set(code, set, present, coefficients));
    }
    return worst;
}

bool gradient_code_choose(int workers, int stragglers, double *numbers)
{
    const size_t n = (size_t)workers, s = (size_t)stragglers, count = gradient_code_numbers(workers, stragglers);
    cleanup(free_pointer) double *columns = malloc(n * s * sizeof(*columns));
    cleanup(free_pointer) double *candidate = malloc(count * sizeof(*candidate));
    cleanup(free_pointer) double *coefficients = malloc(n * sizeof(*coefficients));
    cleanup(free_pointer) bool *present = malloc(n);
    double best = INFINITY;
    if (!columns || !candidate || !coefficients || !present)
        return false;
    for (uint32_t i = 0; i <= (workers > CANDIDATES_WORKERS_MAX ? 0 : CANDIDATES); i++) { /* 0: waves */
        const struct gradient_code code = gradient_code_of(workers, stragglers, candidate);
        if (!make_code(workers, stragglers, i, columns, candidate))
            continue;
        const double worst = worst_amplification(&code, best, present, coefficients);
        if (!(worst < best))
            continue;
        best = candidate[count - 1] = worst;
        memcpy(numbers, candidate, count * sizeof(*numbers));
    }
    return isfinite(best);
}
