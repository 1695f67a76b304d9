/* rng.h: keyed random streams. Stream (seed, cell, node, purpose) is the same on every machine and in every build mode, and
 * independent of how much other streams were used. Generator: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers:
 * as easy as 1, 2, 3", SC11): key = seed, counter = (position, cell, node, purpose). Known answers of the paper's reference code
 * are in tests/unit/test_rng.c. The derived draws use only detmath.h, never libm, so that they are bit-identical everywhere. */
#ifndef LAGGARD_BASE_RNG_H
#define LAGGARD_BASE_RNG_H

#include <stdint.h>

/* Append only: the numbers are part of every stored seed. */
enum rng_purpose {
    RNG_ORDER = 0,    /* order of trials within a block */
    RNG_COMPUTE_TIME, /* drawn compute times */
    RNG_MODEL,        /* initial weights */
    RNG_BATCH,        /* mini-batch selection */
    RNG_SHARD,        /* assignment of samples to workers */
    RNG_SCHEME,       /* a scheme's own choices, per node */
    RNG_COMMON,       /* a scheme's choices that all nodes share (node = RNG_ALL_NODES) */
    RNG_LINK,         /* jitter, loss, duplication, corruption of one link direction */
    RNG_PREDICT,      /* seeded simulation inside a prediction */
    RNG_BOOTSTRAP,    /* resampling in statistics */
    RNG_TRAFFIC,      /* how long a flow of cross traffic sends and is silent */
    RNG_ATTACK,       /* noise of Byzantine workers */
    RNG_PURPOSE_COUNT
};
#define RNG_ALL_NODES UINT32_C(0xffffffff)

struct rng {
    uint32_t key[2], counter[4], block[4];
    unsigned used;
};

struct rng rng_stream(uint64_t seed, uint32_t cell, uint32_t node, enum rng_purpose purpose);
void rng_philox4x32_10(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);
uint32_t rng_u32(struct rng *rng);
uint64_t rng_u64(struct rng *rng);
uint32_t rng_below(struct rng *rng, uint32_t bound); /* uniform on 0..bound-1, unbiased; bound >= 1 */
double rng_uniform(struct rng *rng);                 /* open interval (0, 1): odd multiples of 2^-53 */
double rng_exponential(struct rng *rng);             /* mean 1 */
double rng_normal(struct rng *rng);                  /* mean 0, variance 1; Box-Muller, one value a call */
/* The logarithm of a gamma draw of scale 1; shape > 0. With small shapes the draw itself would be 0. */
double rng_log_gamma(struct rng *rng, double shape);

#endif
