/* harness/plan_shard.h: a share of a campaign's trials, for several hosts that run one campaign together and merge their databases.
 *
 * The plan is the same everywhere: same file, same seed, same order. Where there are at least as many repeats as shards, shard K of
 * N holds whole blocks, those whose number leaves K - 1 when divided by N: then every host runs each cell equally often, and what
 * one host is faster than another does not pose as a difference between cells. Otherwise trials are dealt out one by one, in their
 * random order. */
#ifndef LAGGARD_HARNESS_PLAN_SHARD_H
#define LAGGARD_HARNESS_PLAN_SHARD_H

#include <stdbool.h>

#include "schemas/plan.h"

struct err;

struct plan_shard {
    int number, count; /* 1 .. count; count 0: everything */
    bool by_blocks;
};

/* `text` is "K/N", NULL: everything. ERR_USAGE says what was found and what is allowed: no shard may be empty. */
int plan_shard_parse(const char *text, const struct plan *plan, struct plan_shard *shard, struct err *err);
bool plan_shard_holds(const struct plan_shard *shard, const struct trial_plan *trial);

#endif
