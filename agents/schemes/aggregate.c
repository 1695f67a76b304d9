/* agents/schemes/aggregate.c: median and trimmed mean of K gradients; see aggregate.h.
 *
 * Theory of operation. Sixty-four coordinates at a time, the K values of each are put into a table of K rows, which lies in the
 * cache; the columns are sorted, all at once, by Batcher's merge exchange (D. E. Knuth, "The art of computer programming",
 * volume 3, section 5.2.2, algorithm M): a list of pairs of rows, the same whatever the values are, in which the smaller of two
 * values goes up and the larger down. Without branches that depend on values a pair of rows is a few vector instructions, and the
 * time does not depend on what a Byzantine worker sends. Then the middle row, or the sum of the rows that are left, is the result.
 *
 * Values that are sorted have forgotten where they came from: the result's bits do not depend on the order of the gradients.
 *
 * What is not a number counts as plus infinity, and infinities are values like others: they stand at an end, where the median does
 * not look and the trimmed mean trims. Only with more of them than are tolerated is the result infinite, or not a number.
 *
 * Example, K = 4, values 3, -40, NaN, 1: sorted -40, 1, 3, inf. Median (1 + 3)/2 = 2; trimmed by 1: (1 + 3)/2 = 2.
 *
 * Cost. Pairs of rows: 9 for K = 5, 19 for 8, 63 for 16, 191 for 32, 543 for 64; a pair takes 0.4 ns a coordinate, where adding
 * vectors that do not fit the caches takes 0.6. No bytes go on the wire. */
#include "agents/schemes/aggregate.h"

#include <math.h>

#include "base/err.h"
#include "base/units.h"

#pragma GCC optimize("O3")

enum { COLUMNS = 64 };
/* Against adding a float to another, measured on a development host that was busy, with K = 5 to 64: a value's way into the table,
 * and a pair. */
static const double LOAD_COST = 0.5, PAIR_COST = 0.7;

const char *const aggregate_names[] = {
    [AGGREGATE_MEAN] = "mean", [AGGREGATE_MEDIAN] = "median", [AGGREGATE_TRIMMED_MEAN] = "trimmed-mean", NULL};

struct aggregate aggregate_of(const double *values)
{
    struct aggregate aggregate = {.kind = values ? (enum aggregate_kind)values[0] : AGGREGATE_MEAN};
    if (aggregate.kind == AGGREGATE_TRIMMED_MEAN)
        aggregate.trim = (int)values[1];
    if (aggregate.trim == 0 && aggregate.kind == AGGREGATE_TRIMMED_MEAN)
        aggregate.kind = AGGREGATE_MEAN;
    return aggregate;
}

int aggregate_check(const struct scheme_setup *setup, struct aggregate aggregate, int gradients, struct err *err)
{
    if (2 * aggregate.trim < gradients)
        return 0;
    return err_set(
        err, ERR_USAGE,
        "scheme '%s': found trim %d, but an update has %d gradient%s, of which one at least has to be left: allowed are 0 "
        "to %d",
        setup->scheme->name, aggregate.trim, gradients, units_plural(gradients), (gradients - 1) / 2);
}

/* An update may have fewer gradients than the check saw, where workers are lost or K follows the loss: one is left, or two. */
static int trim_of(struct aggregate aggregate, int gradients)
{
    return aggregate.trim <= (gradients - 1) / 2 ? aggregate.trim : (gradients - 1) / 2;
}

int aggregate_tolerates(struct aggregate aggregate, int gradients)
{
    return aggregate.kind == AGGREGATE_MEDIAN ? (gradients - 1) / 2 : trim_of(aggregate, gradients);
}

int aggregate_contributors(struct aggregate aggregate, int gradients)
{
    return aggregate.kind == AGGREGATE_MEDIAN ? 1 : gradients - 2 * trim_of(aggregate, gradients);
}

/* ---- sorting columns ---- */

/* The compiler makes branches of min and max, which no processor foresees: hence vectors by name, and masks. */
enum { LANES = 4 };
typedef float lanes __attribute__((vector_size(LANES * sizeof(float)), may_alias));
typedef int32_t mask __attribute__((vector_size(LANES * sizeof(float)), may_alias));

static void exchange(float *upper, float *lower)
{
    lanes *above = (lanes *)upper, *below = (lanes *)lower;
    for (size_t i = 0; i < COLUMNS / LANES; i++) {
        const lanes a = above[i], b = below[i];
        const mask swapped = ((mask)a ^ (mask)b) & (b < a);
        above[i] = (lanes)((mask)a ^ swapped);
        below[i] = (lanes)((mask)b ^ swapped);
    }
}

/* Rows `row` and `row + distance`. */
struct pair {
    int row, distance;
};
struct pairs { /* algorithm M's variables */
    int rows, top, p, q, r, distance, next;
};

static struct pairs pairs_of(int rows)
{
    int top = 1;
    while (2 * top < rows)
        top *= 2;
    return (struct pairs){.rows = rows, .top = top, .p = rows > 1 ? top : 0, .q = top, .distance = top};
}

static bool next_pair(struct pairs *pairs, struct pair *pair)
{
    while (pairs->p > 0) {
        for (; pairs->next + pairs->distance < pairs->rows; pairs->next++)
            if ((pairs->next & pairs->p) == pairs->r) {
                *pair = (struct pair){pairs->next++, pairs->distance};
                return true;
            }
        pairs->next = 0;
        if (pairs->q != pairs->p) {
            pairs->distance = pairs->q - pairs->p;
            pairs->q /= 2;
            pairs->r = pairs->p;
        } else {
            pairs->p /= 2;
            pairs->q = pairs->top;
            pairs->r = 0;
            pairs->distance = pairs->p;
        }
    }
    return false;
}

static void sort_columns(float *table, int rows)
{
    struct pairs pairs = pairs_of(rows);
    for (struct pair pair; next_pair(&pairs, &pair);)
        exchange(table + (size_t)pair.row * COLUMNS, table + (size_t)(pair.row + pair.distance) * COLUMNS);
}

/* ---- a block of columns ---- */

static void load(float *table, const float *const *rows, int gradients, size_t first, size_t width)
{
    for (int row = 0; row < gradients; row++) {
        const float *from = rows[row] + first;
        float *to = table + (size_t)row * COLUMNS;
        for (size_t i = 0; i < width; i++) {
            const float value = from[i] + 0.0f; /* there is one zero */
            to[i] = value == value ? value : INFINITY;
        }
        for (size_t i = width; i < COLUMNS; i++)
            to[i] = 0;
    }
}

static void middle(const float *table, int gradients, size_t width, float *out)
{
    const float *below = table + (size_t)((gradients - 1) / 2) * COLUMNS, *above = table + (size_t)(gradients / 2) * COLUMNS;
    for (size_t i = 0; i < width; i++)
        out[i] = below == above ? below[i] : 0.5f * below[i] + 0.5f * above[i];
}

static void sum_of_rest(const float *table, int first, int end, size_t width, float *out)
{
    float sum[COLUMNS];
    for (size_t i = 0; i < COLUMNS; i++)
        sum[i] = table[(size_t)first * COLUMNS + i];
    for (int row = first + 1; row < end; row++)
        for (size_t i = 0; i < COLUMNS; i++)
            sum[i] += table[(size_t)row * COLUMNS + i];
    for (size_t i = 0; i < width; i++)
        out[i] = sum[i];
}

void aggregate_combine(struct aggregate aggregate, const float *const *rows, int gradients, size_t count, float *scratch,
                       float *out)
{
    const int trim = trim_of(aggregate, gradients);
    for (size_t first = 0; first < count; first += COLUMNS) {
        const size_t width = count - first < COLUMNS ? count - first : COLUMNS;
        load(scratch, rows, gradients, first, width);
        sort_columns(scratch, gradients);
        if (aggregate.kind == AGGREGATE_MEDIAN)
            middle(scratch, gradients, width, out + first);
        else
            sum_of_rest(scratch, trim, gradients - trim, width, out + first);
    }
}

/* ---- on a node ---- */

size_t aggregate_scratch_floats(int gradients_most)
{
    return (size_t)gradients_most * COLUMNS;
}

float *aggregate_scratch(struct node *node, int gradients_most)
{
    return node_alloc(node, aggregate_scratch_floats(gradients_most) * sizeof(float));
}

double aggregate_cost(struct aggregate aggregate, int gradients)
{
    struct pairs pairs = pairs_of(gradients);
    double cost = LOAD_COST * gradients;
    for (struct pair pair; next_pair(&pairs, &pair);)
        cost += PAIR_COST;
    return aggregate.kind == AGGREGATE_MEAN ? 0 : cost;
}

void aggregate_run(struct node *node, struct aggregate aggregate, const float *const *rows, int gradients, size_t count,
                   float *scratch, float *out, uint64_t round)
{
    const int64_t begin_ns = node_now(node);
    if (node_arithmetic(node, aggregate_cost(aggregate, gradients) * (double)count))
        aggregate_combine(aggregate, rows, gradients, count, scratch, out);
    node_span(node, SPAN_REDUCE, round, begin_ns, node_now(node), -1, (uint64_t)gradients * count * sizeof(float));
}
