/* agents/dataset.h: labelled images read from gzipped IDX files (LeCun's MNIST format), pixels 0..255 as they are in the file. */
#ifndef LAGGARD_AGENTS_DATASET_H
#define LAGGARD_AGENTS_DATASET_H

#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"
#include "schemas/names.h"

struct arena;
struct err;

enum dataset_split { SPLIT_TRAIN, SPLIT_TEST, SPLIT_COUNT };
struct dataset {
    uint32_t sample_count, inputs, classes;
    const uint8_t *pixels; /* sample_count x inputs, 0..255 */
    const uint8_t *labels; /* each below classes */
    void *mapping;         /* of dataset_import(), for dataset_release(); NULL otherwise */
    size_t mapping_bytes;
};

/* What every file of this kind must hold: pixels an image, and labels 0 .. classes-1. */
void dataset_dimensions(enum dataset_kind kind, uint32_t *inputs, uint32_t *classes);
/* `path` is the directory of the four files; NULL: where Debian's package puts them. Errors name the file and the package to
 * install (ERR_HOST when a file is missing, ERR_USAGE with the byte offset when it is not what it should be). The pixels live in
 * the arena. */
int dataset_load(enum dataset_kind kind, enum dataset_split split, const char *path, struct arena *arena, struct dataset *dataset,
                 struct err *err);
/* The cheap check before anything is built: the files are there and start as IDX files should. */
int dataset_check(enum dataset_kind kind, const char *path, struct err *err);

/* Decompressing costs each process a quarter of a second, so it is done once: the controller exports both splits into a sealed
 * memfd (close on exec; nobody can change or shrink it), and every agent that inherits the descriptor maps it. */
int dataset_export(enum dataset_kind kind, const char *path, int *memfd, struct err *err);
/* Maps one split read-only after checking the header, the seals, the sizes and the labels; the descriptor may be closed
 * afterwards. */
int dataset_import(int memfd, enum dataset_split split, struct dataset *dataset, struct err *err);
/* Unmaps what dataset_import() mapped; harmless after dataset_load(); also for cleanup(). */
void dataset_release(struct dataset *dataset);

/* The pure parser: a decompressed IDX file of unsigned bytes; dimensions up to 3; no byte may follow the values. */
enum { IDX_DIMENSIONS_MAX = 3, IDX_HEADER_MAX = 4 + 4 * IDX_DIMENSIONS_MAX };
struct idx {
    uint32_t dimensions[IDX_DIMENSIONS_MAX];
    int dimension_count;
    const uint8_t *values;
    size_t value_count;
};
int idx_parse(const uint8_t *bytes, size_t length, struct idx *idx, struct err *err);
/* The header alone: values is set to NULL, value_count to what the dimensions say; returns the header's length or a negative
 * code. */
int idx_parse_header(const uint8_t *bytes, size_t length, struct idx *idx, struct err *err);

/* The mini-batch of (worker, step) out of a shard: with replacement by the keyed stream RNG_BATCH at position step, so that one
 * process with the same data can replay any worker. */
void dataset_batch(uint64_t seed, uint32_t worker, uint64_t step, const uint32_t *shard, uint32_t shard_count, int batch,
                   uint32_t *out);

#endif
