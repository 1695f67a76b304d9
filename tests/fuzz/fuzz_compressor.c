/* fuzz_compressor.c: damaged encoded gradients: what is accepted decodes within its vector, to values that the form can hold,
 * whichever its length; what an encoder made is always accepted. */
#include <math.h>

#include "agents/compressors/compressor.h"
#include "base/cleanup.h"
#include "tests/fuzz/fuzz.h"

enum { COUNT_MOST = 1200, BYTES_MOST = 8 * COUNT_MOST + 256 };

/* The sum of four even draws is near enough to a normal one, of standard deviation 1. */
static double bell(struct fuzz *fuzz)
{
    const uint64_t word = fuzz_u64(fuzz);
    const int32_t sum = (int32_t)((word & 0xffff) + (word >> 16 & 0xffff) + (word >> 32 & 0xffff) + (word >> 48));
    return (sum - 2 * 65535) / 37837.0;
}

static size_t make_message(struct fuzz *fuzz, struct compression *compression, size_t *count, uint8_t bytes[BYTES_MOST])
{
    static const double scales[] = {0, 1e-44, 1, 1e30};
    static float gradient[COUNT_MOST], residual[COUNT_MOST];
    const double scale = scales[fuzz_below(fuzz, 4)];
    *compression = (struct compression){.compressor = compressor_at(1 + (int)fuzz_below(fuzz, COMPRESSOR_QSGD)),
                                        .share = (fuzz_u32(fuzz) + 0.5) * 0x1p-32,
                                        .levels = 1 + (int)fuzz_below(fuzz, 127),
                                        .rank = 1};
    *count = 1 + fuzz_below(fuzz, fuzz_below(fuzz, 8) ? 40 : COUNT_MOST);
    for (size_t i = 0; i < *count; i++) {
        gradient[i] = (float)(scale * bell(fuzz));
        residual[i] = 0;
    }
    const struct compressor_input input = {.gradient = gradient,
                                           .count = *count,
                                           .residual = compression->compressor->feedback ? residual : NULL,
                                           .seed = fuzz->seed,
                                           .step = fuzz->iteration};
    compression->compressor->encode(compression, &input, bytes);
    return compression->compressor->encoded_bytes(compression, *count);
}

static void fuzz_one(struct fuzz *fuzz)
{
    static uint8_t bytes[BYTES_MOST], before[BYTES_MOST];
    struct compression compression;
    size_t count, whole = make_message(fuzz, &compression, &count, bytes);
    memcpy(before, bytes, whole);
    size_t length = fuzz_mutate(fuzz, bytes, whole, sizeof(bytes));
    const bool same = length == whole && memcmp(bytes, before, whole) == 0;
    /* copies of exactly these sizes: reading or writing past an end would be seen by an address sanitizer */
    cleanup(free_pointer) uint8_t *exact = malloc(length ? length : 1);
    cleanup(free_pointer) float *sum = malloc(count * sizeof(float));
    FUZZ_CHECK(fuzz, exact && sum);
    memcpy(exact, bytes, length);
    struct err err = {0};
    int status = compression.compressor->check(&compression, count, exact, length, &err);
    FUZZ_CHECK(fuzz, status == 0 || (status == -ERR_TRIAL && err.text[0] && !same));
    if (status < 0)
        return;
    fuzz->accepted++;
    FUZZ_CHECK(fuzz, length == whole);
    compression.compressor->decode(&compression, count, exact, true, sum);
    size_t others = 0;
    for (size_t i = 0; i < count; i++)
        others += sum[i] != 0;
    FUZZ_CHECK(fuzz, compression.compressor != &compressor_top_k || others <= whole / 8);
    compression.compressor->decode(&compression, count, exact, false, sum);
}

FUZZ_MAIN("compressor")
