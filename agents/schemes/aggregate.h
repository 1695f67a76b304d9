/* agents/schemes/aggregate.h: how a server makes one gradient of K: their mean, their median, or their trimmed mean, coordinate by
 * coordinate. Two parameters, `aggregate` and `trim`, of every scheme whose updates take K gradients.
 *
 * Source: D. Yin, Y. Chen, K. Ramchandran, P. Bartlett, "Byzantine-robust distributed learning: towards optimal statistical rates",
 * ICML 2018, definitions 1 and 2.
 *
 *     median         of each coordinate's K values the middle one; for even K the mean of the two in the middle
 *     trimmed-mean   the mean of what is left of each coordinate's values without the `trim` smallest and the `trim` largest
 *
 * The mean can be added up as gradients come. The other two need all K at once: the server keeps them until the last has come. */
#ifndef LAGGARD_AGENTS_SCHEMES_AGGREGATE_H
#define LAGGARD_AGENTS_SCHEMES_AGGREGATE_H

#include "agents/node.h"
#include "agents/scheme.h"

enum aggregate_kind { AGGREGATE_MEAN, AGGREGATE_MEDIAN, AGGREGATE_TRIMMED_MEAN };
struct aggregate {
    enum aggregate_kind kind; /* trimmed-mean that trims nothing is the mean, to the bit */
    int trim;
};

/* Rows of a scheme's parameters, the second right behind the first. */
extern const char *const aggregate_names[];
#define PARAM_AGGREGATE                                                                                                            \
    {                                                                                                                              \
        .name = "aggregate", .unit = PARAM_CHOICE, .maximum = 2, .standard = AGGREGATE_MEAN, .choices = aggregate_names,           \
        .help = "what an update makes of its gradients, coordinate by coordinate"                                                  \
    }
#define PARAM_TRIM                                                                                                                 \
    {                                                                                                                              \
        .name = "trim", .unit = PARAM_COUNT, .minimum = 0, .maximum = 499, .standard = 1,                                          \
        .help = "values that trimmed-mean leaves out at either end"                                                                \
    }

/* `values`: of the two parameters; NULL: the mean. */
struct aggregate aggregate_of(const double *values);
/* Refuses to trim all of an update's gradients. */
int aggregate_check(const struct scheme_setup *setup, struct aggregate aggregate, int gradients, struct err *err);
/* How many Byzantine gradients of so many cannot move the result beyond the honest ones. */
int aggregate_tolerates(struct aggregate aggregate, int gradients);
/* By what the result is to be divided: the number of gradients that are left in the sum; the median is one gradient. */
int aggregate_contributors(struct aggregate aggregate, int gradients);

/* Memory for so many gradients, in prepare_node(). */
float *aggregate_scratch(struct node *node, int gradients_most);
/* For median and trimmed mean: out[0 .. count) from rows[0 .. gradients), each of `count` floats; a reduce span of the round. */
void aggregate_run(struct node *node, struct aggregate aggregate, const float *const *rows, int gradients, size_t count,
                   float *scratch, float *out, uint64_t round);
/* How much longer it takes than adding one gradient. */
double aggregate_cost(struct aggregate aggregate, int gradients);

/* The arithmetic alone. */
void aggregate_combine(struct aggregate aggregate, const float *const *rows, int gradients, size_t count, float *scratch,
                       float *out);
size_t aggregate_scratch_floats(int gradients_most);

#endif
