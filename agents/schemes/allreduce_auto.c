/* agents/schemes/allreduce_auto.c: `allreduce-auto`, synchronous training with the all-reduce that is predicted to be the fastest:
 * allreduce_choice.c. With compression it is the compressed gradient that counts; encoded ones leave no choice, since nobody can
 * sum them on the way. */
#include "agents/schemes/allreduce_choice.h"
#include "agents/schemes/allreduce_rounds.h"
#include "agents/schemes/schemes.h"

static int prepare(const struct scheme_setup *setup, struct blob *blob, struct err *err)
{
    return allreduce_choice_prepare(setup, setup->parameter_count, allreduce_rounds_compressed, blob, err);
}

static const struct param params[] = {ALLREDUCE_PARAMS};

const struct scheme scheme_allreduce_auto = {
    .name = "allreduce-auto",
    .summary = "the all-reduce that is predicted to be the fastest for this size, these workers and links",
    .source = "the formulas of the other all-reduce schemes",
    .formula = "the least of theirs",
    .prepare = prepare,
    .params = params,
    .param_count = sizeof(params) / sizeof(params[0]),
    ALLREDUCE_ROUNDS(NULL),
};
