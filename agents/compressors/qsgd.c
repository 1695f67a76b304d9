/* agents/compressors/qsgd.c: `qsgd`: every value is rounded at random to one of a few levels, so that the mean of many roundings
 * is the value itself. Nothing is kept for the next round.
 *
 * Source: D. Alistarh, D. Grubic, J. Li, R. Tomioka, M. Vojnovic, "QSGD: communication-efficient SGD via gradient quantization and
 * encoding", NIPS 2017, section 3.1, in blocks ("buckets" there) of 512 floats. With s levels and the norm |v| of the block,
 *
 *     a = s |v_i| / |v|        v_i becomes sign(v_i) |v| l / s,   l = floor(a) + 1 with probability a - floor(a), else floor(a)
 *
 *     E[Q(v)] = v,     E|Q(v) - v|^2 <= min(n / s^2, sqrt(n) / s) |v|^2          (lemma 3.1; n = 512, or what the last block has)
 *
 * The paper packs levels by Elias codes, whose length depends on the values; here all have the b bits that 2 s + 1 values need,
 * so that the bytes of a round are known before it.
 *
 * Form, one block after the other:
 *
 *     bytes 0 .. 3          norm, float32, not negative; not a number: none of the block's values counts
 *     bytes 4 ..            codes of b bits, level + s, 0 .. 2 s; the first in the lowest bits of its byte; unused bits 0
 *
 * s = 7: 260 bytes for 2,048. Example: v = (3, -4), s = 5: norm 5, levels 3 and -4, codes 8 and 1 of 4 bits, 0x18: nothing is
 * left to chance where a is whole.
 *
 * Random numbers: one of 32 bits a value, from the stream of (the vector's seed, step), block by block: the same in every run. */
#include <float.h>
#include <math.h>

#include "agents/compressors/compressor.h"
#include "agents/compressors/compressor_internal.h"
#include "base/err.h"
#include "base/rng.h"

#pragma GCC optimize("O3") /* as in vector.c */

enum { NORM_BYTES = 4, GROUP = 8 }; /* codes of a group fill whole bytes */

static unsigned code_bits(const struct compression *compression)
{
    unsigned bits = 1;
    while ((UINT32_C(1) << bits) < 2 * (uint32_t)compression->levels + 1)
        bits++;
    return bits;
}

static size_t block_bytes(unsigned bits, size_t floats)
{
    return NORM_BYTES + (floats * bits + 7) / 8;
}

static size_t encoded_bytes(const struct compression *compression, size_t count)
{
    const unsigned bits = code_bits(compression);
    size_t whole = count / COMPRESSOR_BLOCK, rest = count % COMPRESSOR_BLOCK;
    return whole * block_bytes(bits, COMPRESSOR_BLOCK) + (rest ? block_bytes(bits, rest) : 0);
}

/* Four random numbers a call: generator and counter as in rng.h, the position in the first word. */
struct draws {
    uint32_t key[2], counter[4];
};

static struct draws draws_of(const struct compressor_input *input)
{
    return (struct draws){.key = {(uint32_t)input->seed, (uint32_t)(input->seed >> 32)},
                          .counter = {0, (uint32_t)input->step, (uint32_t)(input->step >> 32), RNG_SCHEME}};
}

static float norm_of(const float *values, size_t count)
{
    double lanes[GROUP] = {0}, squares = 0;
    size_t i = 0;
    for (; i + GROUP <= count; i += GROUP)
        for (size_t lane = 0; lane < GROUP; lane++)
            lanes[lane] += (double)values[i + lane] * (double)values[i + lane];
    for (; i < count; i++)
        lanes[i % GROUP] += (double)values[i] * (double)values[i];
    for (size_t lane = 0; lane < GROUP; lane++)
        squares += lanes[lane];
    if (!isfinite(squares))
        return NAN;
    double norm = sqrt(squares);
    return norm > (double)FLT_MAX ? FLT_MAX : (float)norm; /* a scale need not be the norm, only as large as any value */
}

/* The codes of up to eight values, the first in the lowest bits. */
static uint64_t group_codes(const float *values, size_t count, double scale, uint32_t levels, unsigned bits, struct draws *draws)
{
    uint32_t random[GROUP];
    for (size_t half = 0; half < GROUP; half += 4) {
        rng_philox4x32_10(draws->counter, draws->key, random + half);
        draws->counter[0]++;
    }
    uint64_t codes = 0;
    for (size_t i = 0; i < count; i++) {
        double wanted = fabs((double)values[i]) * scale + (double)random[i] * 0x1p-32;
        uint32_t level = wanted < (double)levels ? (uint32_t)wanted : levels;
        codes |= (uint64_t)(values[i] < 0 ? levels - level : levels + level) << i * bits;
    }
    return codes;
}

static void encode(const struct compression *compression, const struct compressor_input *input, uint8_t *bytes)
{
    const unsigned bits = code_bits(compression);
    const uint32_t levels = (uint32_t)compression->levels;
    struct draws draws = draws_of(input);
    for (size_t block = 0; block * COMPRESSOR_BLOCK < input->count; block++) {
        const size_t floats = block_floats(input->count, block);
        const float *values = input->gradient + block * COMPRESSOR_BLOCK;
        const float norm = norm_of(values, floats);
        const double scale = norm > 0 ? (double)levels / (double)norm : 0;
        put_float(bytes, norm);
        bytes += NORM_BYTES;
        for (size_t i = 0; i < floats; i += GROUP) {
            const size_t count = floats - i < GROUP ? floats - i : GROUP;
            uint64_t codes = group_codes(values + i, count, scale, levels, bits, &draws);
            for (size_t left = (count * bits + 7) / 8; left > 0; left--, codes >>= 8)
                *bytes++ = (uint8_t)codes;
        }
    }
}

/* The bits of a group that begins there; those of values that do not exist are what stands in the rest of the last byte. */
static uint64_t take_group(const uint8_t *bytes, size_t length)
{
    uint64_t codes = 0;
    for (size_t i = 0; i < length; i++)
        codes |= (uint64_t)bytes[i] << 8 * i;
    return codes;
}

static int check(const struct compression *compression, size_t count, const uint8_t *bytes, size_t length, struct err *err)
{
    const unsigned bits = code_bits(compression);
    const uint64_t mask = (UINT64_C(1) << bits) - 1, most = 2 * (uint64_t)compression->levels;
    if (compressor_check_length(&compressor_qsgd, compression, count, length, err) < 0)
        return -ERR_TRIAL;
    for (size_t block = 0; block * COMPRESSOR_BLOCK < count; block++) {
        const size_t floats = block_floats(count, block);
        float norm = get_float(bytes);
        if (norm < 0 || isinf(norm))
            return err_set(err, ERR_TRIAL, "qsgd: the norm of block %zu is %g", block, (double)norm);
        bytes += NORM_BYTES;
        for (size_t i = 0; i < floats; i += GROUP) {
            const size_t here = floats - i < GROUP ? floats - i : GROUP, taken = (here * bits + 7) / 8;
            uint64_t codes = take_group(bytes, taken);
            bytes += taken;
            bool good = true;
            for (size_t k = 0; k < here; k++, codes >>= bits)
                good &= (codes & mask) <= most;
            if (!good || codes != 0)
                return err_set(err, ERR_TRIAL,
                               "qsgd: values %zu to %zu of block %zu have codes above %llu, or bits behind the last one", i,
                               i + here - 1, block, (unsigned long long)most);
        }
    }
    return 0;
}

static void decode(const struct compression *compression, size_t count, const uint8_t *bytes, bool first, float *sum)
{
    const unsigned bits = code_bits(compression);
    const uint64_t mask = (UINT64_C(1) << bits) - 1;
    const int32_t levels = compression->levels;
    for (size_t block = 0; block * COMPRESSOR_BLOCK < count; block++) {
        const size_t floats = block_floats(count, block);
        const double step = (double)get_float(bytes) / levels;
        float *out = sum + block * COMPRESSOR_BLOCK;
        bytes += NORM_BYTES;
        for (size_t i = 0; i < floats; i += GROUP) {
            const size_t here = floats - i < GROUP ? floats - i : GROUP, taken = (here * bits + 7) / 8;
            uint64_t codes = take_group(bytes, taken);
            bytes += taken;
            for (size_t k = 0; k < here; k++, codes >>= bits) {
                float value = (float)((double)((int32_t)(codes & mask) - levels) * step);
                out[i + k] = first ? value : out[i + k] + value;
            }
        }
    }
}

const struct compressor compressor_qsgd = {
    .name = "qsgd",
    .source = "Alistarh, Grubic, Li, Tomioka and Vojnovic, NIPS 2017",
    .encoded_bytes = encoded_bytes,
    .encode = encode,
    .check = check,
    .decode = decode,
    .encode_additions = 8,
    .decode_additions = 3.1,
};
