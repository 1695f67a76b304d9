/* rng.c: keyed random streams on Philox4x32-10, and the draws that everything else is derived from. */
#include "base/rng.h"

#include <math.h>

#include "base/detmath.h"

void rng_philox4x32_10(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t x0 = counter[0], x1 = counter[1], x2 = counter[2], x3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = UINT64_C(0xD2511F53) * x0, p1 = UINT64_C(0xCD9E8D57) * x2;
        x0 = (uint32_t)(p1 >> 32) ^ x1 ^ k0;
        x1 = (uint32_t)p1;
        x2 = (uint32_t)(p0 >> 32) ^ x3 ^ k1;
        x3 = (uint32_t)p0;
        k0 += UINT32_C(0x9E3779B9);
        k1 += UINT32_C(0xBB67AE85);
    }
    out[0] = x0;
    out[1] = x1;
    out[2] = x2;
    out[3] = x3;
}

struct rng rng_stream(uint64_t seed, uint32_t cell, uint32_t node, enum rng_purpose purpose)
{
    return (struct rng){
        .key = {(uint32_t)seed, (uint32_t)(seed >> 32)},
        .counter = {0, cell, node, (uint32_t)purpose},
        .used = 4, /* no block yet */
    };
}

uint32_t rng_u32(struct rng *rng)
{
    if (rng->used == 4) {
        rng_philox4x32_10(rng->counter, rng->key, rng->block);
        rng->counter[0]++; /* 2^34 words before a stream repeats; the other words of the counter are its name and stay */
        rng->used = 0;
    }
    return rng->block[rng->used++];
}

uint64_t rng_u64(struct rng *rng)
{
    uint64_t low = rng_u32(rng);
    return (uint64_t)rng_u32(rng) << 32 | low;
}

/* Lemire, "Fast random integer generation in an interval", 2019: the high word of word * bound is uniform once the low words below
 * 2^32 mod bound are drawn again. */
uint32_t rng_below(struct rng *rng, uint32_t bound)
{
    uint64_t product = (uint64_t)rng_u32(rng) * bound;
    if ((uint32_t)product < bound) {
        uint32_t threshold = -bound % bound;
        while ((uint32_t)product < threshold)
            product = (uint64_t)rng_u32(rng) * bound;
    }
    return (uint32_t)(product >> 32);
}

/* An odd multiple of 2^-53: exact in a double, symmetric about 1/2, and never 0 or 1 (adding 0.5 to all 53 bits would round the
 * largest value up to 1). */
double rng_uniform(struct rng *rng)
{
    return (double)(rng_u64(rng) >> 11 | 1) * 0x1p-53;
}

double rng_exponential(struct rng *rng)
{
    return -detmath_log(rng_uniform(rng));
}

double rng_normal(struct rng *rng)
{
    double radius = sqrt(-2.0 * detmath_log(rng_uniform(rng))); /* IEEE 754 rounds sqrt correctly: the same bits everywhere */
    return radius * detmath_cos_turns(rng_uniform(rng));
}

/* G. Marsaglia, W. W. Tsang, "A simple method for generating gamma variables", ACM TOMS 26(3), 2000; below shape 1 a draw of
 * shape + 1 times U^(1 / shape) (there, section 6). */
double rng_log_gamma(struct rng *rng, double shape)
{
    if (shape < 1) {
        double larger = rng_log_gamma(rng, shape + 1);
        return larger + detmath_log(rng_uniform(rng)) / shape;
    }
    const double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        double x = rng_normal(rng), v = 1 + c * x;
        if (v <= 0)
            continue;
        double log_v = 3 * detmath_log(v);
        if (detmath_log(rng_uniform(rng)) < x * x / 2 + d - d * (v * v * v) + d * log_v)
            return detmath_log(d) + log_v;
    }
}
