/* loopback_bytes.h: what workers send in a round by the formulas of their schemes, encoded or not: what agents_loopback counts must
 * be equal to it. */
#ifndef LAGGARD_TESTS_LOOPBACK_BYTES_H
#define LAGGARD_TESTS_LOOPBACK_BYTES_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "agents/compressors/compressor.h"
#include "agents/scheme.h"
#include "schemas/control.h"

struct loopback_sum {
    const struct scheme *scheme;
    const struct control_value *values; /* of the scheme's parameters */
    int workers;
    uint64_t parameter_count;
    bool synthetic;
};

static inline double ring_gradients(int workers)
{
    return 2.0 * (workers - 1);
}
static inline double server_gradients(int workers)
{
    return workers;
}
static inline double naive_gradients(int workers)
{
    return (double)workers * (workers - 1);
}
/* What all workers of a scheme send together in a round, in gradients. */
static const struct expectation {
    const char *scheme;
    double (*gradients)(int workers);
} expectations[] = {{"ring", ring_gradients}, {"ps-sync", server_gradients}, {"naive", naive_gradients}, {NULL, NULL}};

static inline double parameter(const struct loopback_sum *sum, const char *name)
{
    for (int i = 0; i < sum->scheme->param_count; i++)
        if (strcmp(sum->scheme->params[i].name, name) == 0)
            return sum->values[i].value;
    return 0;
}

/* What of a gradient of n floats a worker sends to each of the others, encoded; 0: nothing is encoded to a length of its own. */
static inline double encoded_bytes(const struct loopback_sum *sum, double n)
{
    const double levels = parameter(sum, "compress_levels"), bits = ceil(log2(2 * levels + 1)), blocks = ceil(n / 512);
    switch ((int)parameter(sum, "compress")) {
    case COMPRESSOR_TOP_K:
        return 8 * fmax(1, rint(parameter(sum, "compress_share") * n));
    case COMPRESSOR_ONE_BIT:
        return 8 * blocks + ceil(n / 8);
    case COMPRESSOR_QSGD:
        return 4 * blocks + ceil(n * bits / 8);
    default:
        return 0;
    }
}

/* The bytes of both factors of a synthetic gradient, which is taken for a square. */
static inline double factor_bytes(const struct loopback_sum *sum, double n)
{
    const double height = floor(sqrt(n)), width = ceil(n / height), rank = fmin(height, parameter(sum, "compress_rank"));
    return 4 * fmin(n, rank * (height + width));
}

/* Of a whole gradient, in buckets that differ by one float at most. */
static inline double vector_bytes(const struct loopback_sum *sum)
{
    const double n = (double)sum->parameter_count, floats = floor(parameter(sum, "bucket") / 4);
    const double buckets = floats > 0 ? ceil(n / floats) : 1, longer = fmod(n, buckets), each = floor(n / buckets);
    if ((int)parameter(sum, "compress") == COMPRESSOR_POWERSGD)
        return factor_bytes(sum, n);
    if (encoded_bytes(sum, n) > 0)
        return longer * encoded_bytes(sum, each + 1) + (buckets - longer) * encoded_bytes(sum, each);
    return 4 * n;
}

/* What all workers together send in a round; -1: not known here. */
static inline double loopback_bytes(const struct loopback_sum *sum)
{
    const bool layers = !sum->synthetic && (int)parameter(sum, "compress") == COMPRESSOR_POWERSGD;
    const struct expectation *row = expectations;
    while (row->scheme && strcmp(row->scheme, sum->scheme->name) != 0)
        row++;
    return row->scheme && !layers ? row->gradients(sum->workers) * vector_bytes(sum) : -1;
}

#endif
