/* agents/shards.h: which training samples each worker owns: alike or skewed by label, of equal or unequal sizes. */
#ifndef LAGGARD_AGENTS_SHARDS_H
#define LAGGARD_AGENTS_SHARDS_H

#include <stdint.h>

#include "schemas/settings.h"

struct dataset;

struct shard_rule {
    const struct shard_settings *settings;
    uint64_t seed;
    int workers;
    /* Every shard has so many, a mini-batch; where there are too few samples for that, an equal share. Never 0. */
    uint32_t least;
};

/* Samples in the training split as it is published: what schemes are told of sizes rests on it. */
uint32_t shards_standard_samples(enum dataset_kind kind);
/* How many of sample_count >= workers samples each worker owns; they add up to sample_count. */
void shards_sizes(const struct shard_rule *rule, uint32_t sample_count, uint32_t *sizes);
/* Deals every sample out to exactly one worker: of worker w indexes[first .. first + sizes[w]), first being the sizes before it
 * added up. `indexes` has room for all. */
void shards_deal(const struct shard_rule *rule, const struct dataset *dataset, uint32_t *sizes, uint32_t *indexes);

#endif
