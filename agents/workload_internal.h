/* agents/workload_internal.h: what workload.c (data and models), workload_run.c (real gradients) and workload_synthetic.c (known
 * gradients and checks) share. */
#ifndef LAGGARD_AGENTS_WORKLOAD_INTERNAL_H
#define LAGGARD_AGENTS_WORKLOAD_INTERNAL_H

#include "agents/dataset.h"
#include "agents/workload.h"

enum workload_sort { SORT_REAL, SORT_SYNTHETIC, SORT_NONE };

struct checked_range {
    size_t first, end;
};
enum { CHECKED_RANGES_MAX = 4096 };

struct workload {
    struct workload_options options;
    enum workload_sort sort;
    size_t parameter_count;
    /* real */
    const char *blas;
    struct dataset train, test;
    struct model *model, *test_model; /* on the training data (a server's: on the test data), on the test data */
    uint32_t *shard_sizes;            /* one a worker; NULL: this node has no training data */
    uint32_t **shards;                /* each worker's samples */
    uint32_t *whole, whole_size;      /* all samples, as a single worker would have them */
    uint32_t *drawn;                  /* of `whole`, by workload_batch(); not the compute thread's */
    uint32_t *batch, *validation;
    int validation_count;
    float *scratch, *initial;
    bool *falsifies; /* [workers] */
    double gradient_ns;
    /* synthetic */
    float *filled; /* the gradient buffer that holds this worker's values */
    uint64_t checks, failures;
    const float *last_sum;
    struct synthetic_check last_check;
    struct checked_range ranges[CHECKED_RANGES_MAX]; /* of last_sum; neighbours are joined */
    int range_count;
};

/* Into workload->batch: a mini-batch of one worker's samples. */
void workload_draw_batch(struct workload *workload, int partition, uint64_t step, int count);

#endif
