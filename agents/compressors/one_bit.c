/* agents/compressors/one_bit.c: `1-bit`: of every value its sign travels, and for 512 values two means; what that leaves out is
 * added to the next gradient.
 *
 * Source: F. Seide, H. Fu, J. Droppo, G. Li, D. Yu, "1-bit stochastic gradient descent and its application to data-parallel
 * distributed training of speech DNNs", Interspeech 2014. There a column of a weight matrix shares its two values, here a block
 * of floats does.
 *
 *     d = e + g        values d_i without a sign stand for their mean, the others for theirs; e = d - what they stand for
 *
 * The two means are what makes the squared error of the block least, and leave its sum as it is.
 *
 * Form, one block after the other:
 *
 *     bytes 0 .. 3          mean of the values with a sign (those below zero, and -0), float32; 0 where there is none
 *     bytes 4 .. 7          mean of the others, float32; 0 where there is none
 *     bytes 8 ..            a bit a value, set where it has no sign; the first in the lowest bit; unused ones are 0
 *
 * 72 bytes for 2,048. Example: d = (1, -5, 3, -1): means -3 and 2, bits 0101 = 5; e = (-1, -2, 1, 2). */
#include <math.h>

#include "agents/compressors/compressor.h"
#include "agents/compressors/compressor_internal.h"
#include "base/err.h"

#pragma GCC optimize("O3") /* as in vector.c */

enum { MEANS_BYTES = 8, LANES = 8 };

static size_t block_bytes(size_t floats)
{
    return MEANS_BYTES + (floats + 7) / 8;
}

static size_t encoded_bytes(const struct compression *compression, size_t count)
{
    (void)compression;
    size_t whole = count / COMPRESSOR_BLOCK, rest = count % COMPRESSOR_BLOCK;
    return whole * block_bytes(COMPRESSOR_BLOCK) + (rest ? block_bytes(rest) : 0);
}

/* By bits alone, which no compiler makes a jump of: all ones where the value's sign is set. */
static uint32_t sign_mask(float value)
{
    return 0 - (bits_of(value) >> 31);
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* The lanes are part of the definition: the order of the sums. */
static void find_means(const float *values, size_t count, float means[2])
{
    double below[LANES] = {0}, other[LANES] = {0}, sum[2] = {0, 0};
    uint32_t signs = 0;
    size_t i = 0;
    for (; i + LANES <= count; i += LANES)
        for (size_t lane = 0; lane < LANES; lane++) {
            const uint32_t bits = bits_of(values[i + lane]), mask = sign_mask(values[i + lane]);
            below[lane] += (double)float_of(bits & mask);
            other[lane] += (double)float_of(bits & ~mask);
        }
    for (size_t lane = 0; lane < LANES; lane++) {
        sum[0] += below[lane];
        sum[1] += other[lane];
    }
    for (; i < count; i++)
        sum[sign_mask(values[i]) == 0] += (double)values[i];
    for (size_t k = 0; k < count; k++)
        signs += sign_mask(values[k]) & 1;
    means[0] = signs > 0 ? (float)(sum[0] / (double)signs) : 0;
    means[1] = signs < count ? (float)(sum[1] / (double)(count - signs)) : 0;
}

static void put_signs(const float *values, size_t count, uint8_t *bytes)
{
    const size_t whole = count - count % 8;
    for (size_t i = 0; i < whole; i += 8) {
        uint32_t byte = 0;
        for (size_t bit = 0; bit < 8; bit++)
            byte |= ~sign_mask(values[i + bit]) & UINT32_C(1) << bit;
        bytes[i / 8] = (uint8_t)byte;
    }
    if (whole < count)
        bytes[whole / 8] = 0;
    for (size_t i = whole; i < count; i++)
        bytes[whole / 8] |= (uint8_t)(~sign_mask(values[i]) & UINT32_C(1) << i % 8);
}

static void encode(const struct compression *compression, const struct compressor_input *input, uint8_t *bytes)
{
    (void)compression;
    const size_t count = input->count;
    for (size_t block = 0; block * COMPRESSOR_BLOCK < count; block++) {
        const size_t floats = block_floats(count, block);
        const float *gradient = input->gradient + block * COMPRESSOR_BLOCK;
        float *values = input->residual + block * COMPRESSOR_BLOCK, means[2];
        for (size_t i = 0; i < floats; i++)
            values[i] += gradient[i];
        find_means(values, floats, means);
        put_float(bytes, means[0]);
        put_float(bytes + 4, means[1]);
        put_signs(values, floats, bytes + MEANS_BYTES);
        bytes += block_bytes(floats);
        const uint32_t below = bits_of(means[0]), other = bits_of(means[1]);
        for (size_t i = 0; i < floats; i++) {
            const uint32_t mask = sign_mask(values[i]);
            values[i] -= float_of((below & mask) | (other & ~mask));
        }
    }
}

static int check(const struct compression *compression, size_t count, const uint8_t *bytes, size_t length, struct err *err)
{
    if (compressor_check_length(&compressor_one_bit, compression, count, length, err) < 0)
        return -ERR_TRIAL;
    for (size_t block = 0; block * COMPRESSOR_BLOCK < count; block++) {
        const size_t floats = block_floats(count, block);
        float below = get_float(bytes), other = get_float(bytes + 4);
        if (below > 0 || other < 0)
            return err_set(err, ERR_TRIAL,
                           "1-bit: block %zu has the means %g and %g, the first is never above zero, the second never below", block,
                           (double)below, (double)other);
        bytes += block_bytes(floats);
        if (floats % 8 && bytes[-1] >> floats % 8)
            return err_set(err, ERR_TRIAL, "1-bit: the last byte, %u, has bits behind the last value", bytes[-1]);
    }
    return 0;
}

static void decode(const struct compression *compression, size_t count, const uint8_t *bytes, bool first, float *sum)
{
    (void)compression;
    for (size_t block = 0; block * COMPRESSOR_BLOCK < count; block++) {
        const size_t floats = block_floats(count, block);
        const float means[2] = {get_float(bytes), get_float(bytes + 4)};
        float *out = sum + block * COMPRESSOR_BLOCK;
        bytes += MEANS_BYTES;
        for (size_t i = 0; i < floats; i += 8) {
            unsigned byte = *bytes++;
            for (size_t bit = 0; bit < 8 && i + bit < floats; bit++, byte >>= 1)
                out[i + bit] = first ? means[byte & 1] : out[i + bit] + means[byte & 1];
        }
    }
}

const struct compressor compressor_one_bit = {
    .name = "1-bit",
    .source = "Seide, Fu, Droppo, Li and Yu, Interspeech 2014",
    .feedback = true,
    .encoded_bytes = encoded_bytes,
    .encode = encode,
    .check = check,
    .decode = decode,
    .encode_additions = 3.5,
    .decode_additions = 1.2,
};
