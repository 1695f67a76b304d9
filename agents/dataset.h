/* agents/dataset.h: labelled images read from gzipped IDX files (LeCun's MNIST format), pixels scaled to 0..1. */
#ifndef LAGGARD_AGENTS_DATASET_H
#define LAGGARD_AGENTS_DATASET_H

#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"
#include "schemas/names.h"

struct arena;
struct err;

enum dataset_split { SPLIT_TRAIN, SPLIT_TEST };
struct dataset {
    uint32_t sample_count, inputs, classes;
    const uint8_t *pixels; /* sample_count x inputs, 0..255 */
    const uint8_t *labels;
};

/* path NULL: /usr/share/datasets/fashion-mnist. Errors name the file and the package to install (ERR_HOST when a file is missing,
 * ERR_USAGE with the byte offset when it is not what it should be). The pixel memory is one mapping. */
int dataset_load(enum dataset_kind kind, enum dataset_split split, const char *path, struct arena *arena, struct dataset *dataset,
                 struct err *err);
/* The cheap check before anything is built: the files are there and start as IDX files should. */
int dataset_check(enum dataset_kind kind, const char *path, struct err *err);
/* The pure parser: a decompressed IDX file; dimensions up to 3. */
struct idx {
    uint32_t dimensions[3];
    int dimension_count;
    const uint8_t *values;
    size_t value_count;
};
int idx_parse(const uint8_t *bytes, size_t length, struct idx *idx, struct err *err);

/* Which samples worker `worker` of `workers` owns: a seeded permutation of all, dealt in turn (sizes differ by at most one). Writes
 * indexes[0..count) and returns count; indexes must hold sample_count / workers + 1. */
uint32_t dataset_shard(const struct dataset *dataset, uint64_t seed, int workers, int worker, uint32_t *indexes);
/* The mini-batch of (worker, step) out of a shard: with replacement by the keyed stream RNG_BATCH at position step, so that one process with
 * the same data can replay any worker. */
void dataset_batch(uint64_t seed, uint32_t worker, uint64_t step, const uint32_t *shard, uint32_t shard_count, int batch,
                   uint32_t *out);

#endif
