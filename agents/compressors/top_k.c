/* agents/compressors/top_k.c: `top-k`: the entries of largest magnitude travel, what is left out is added to the next gradient.
 *
 * Sources: A. F. Aji, K. Heafield, "Sparse communication for distributed gradient descent", EMNLP 2017; S. U. Stich,
 * J.-B. Cordonnier, M. Jaggi, "Sparsified SGD with memory", NeurIPS 2018 (algorithm 1 with comp = top-k; here the memory is in
 * units of the gradient, the learning rate is applied to what arrives).
 *
 *     d = e + g        the k largest |d_i| are sent, e = d without them
 *
 * Form, k = max(1, share x count) to the nearest whole number:
 *
 *     bytes 0 .. 4k-1       k indexes, uint32, strictly ascending, below count
 *     bytes 4k .. 8k-1      k values, float32, in the same order
 *
 * Always k entries, zeros among them where there are not as many others. Example: d = (1, -5, 0, 4), k = 2: indexes 1, 3, values
 * -5, 4; e = (1, 0, 0, 0).
 *
 * Selection. Magnitudes order as their bits do, without the sign; what is not a number stands above infinity, and is sent. Three
 * counts over 11, 10 and 10 bits find the k-th largest exactly; of several that equal it the first ones go. Time and memory do
 * not depend on the values: three passes that count, one that collects. */
#include <assert.h>
#include <math.h>

#include "agents/compressors/compressor.h"
#include "agents/compressors/compressor_internal.h"
#include "base/err.h"

#pragma GCC optimize("O3") /* as in vector.c */

enum { DIGITS_MOST = 2048 };

static size_t kept(const struct compression *compression, size_t count)
{
    double wanted = rint(compression->share * (double)count);
    return wanted < 1 ? (count > 0) : wanted < (double)count ? (size_t)wanted : count;
}

static size_t encoded_bytes(const struct compression *compression, size_t count)
{
    return kept(compression, count) * (sizeof(uint32_t) + sizeof(float));
}

static uint32_t magnitude(float value)
{
    return bits_of(value) & INT32_MAX;
}

/* One digit of the k-th largest magnitude: counts this digit among the magnitudes that begin with `prefix` and goes down from the
 * top. *wanted is left with how many are wanted of those that have this digit, too. */
static uint32_t find_digit(const float *values, size_t count, unsigned shift, unsigned bits, uint32_t prefix, size_t *wanted)
{
    size_t counts[DIGITS_MOST] = {0};
    const uint32_t mask = (UINT32_C(1) << bits) - 1;
    for (size_t i = 0; i < count; i++) {
        uint32_t digits = magnitude(values[i]) >> shift;
        if (digits >> bits == prefix)
            counts[digits & mask]++;
    }
    uint32_t digit = mask;
    for (; digit > 0 && counts[digit] < *wanted; digit--)
        *wanted -= counts[digit];
    return prefix << bits | digit;
}

static void encode(const struct compression *compression, const struct compressor_input *input, uint8_t *bytes)
{
    const size_t count = input->count, k = kept(compression, count);
    float *values = input->residual;
    for (size_t i = 0; i < count; i++)
        values[i] += input->gradient[i];
    size_t equal = k; /* of those that equal the k-th largest */
    uint32_t least = find_digit(values, count, 20, 11, 0, &equal);
    least = find_digit(values, count, 10, 10, least, &equal);
    least = find_digit(values, count, 0, 10, least, &equal);
    size_t sent = 0;
    for (size_t i = 0; i < count && sent < k; i++) {
        uint32_t size = magnitude(values[i]);
        if (size < least || (size == least && equal == 0))
            continue;
        equal -= size == least;
        put_u32(bytes + 4 * sent, (uint32_t)i);
        put_float(bytes + 4 * (k + sent), values[i]);
        values[i] = 0;
        sent++;
    }
    assert(sent == k);
}

static int check(const struct compression *compression, size_t count, const uint8_t *bytes, size_t length, struct err *err)
{
    const size_t k = kept(compression, count);
    if (compressor_check_length(&compressor_top_k, compression, count, length, err) < 0)
        return -ERR_TRIAL;
    for (size_t i = 0; i < k; i++) {
        uint32_t index = get_u32(bytes + 4 * i);
        if (index >= count || (i > 0 && index <= get_u32(bytes + 4 * (i - 1))))
            return err_set(err, ERR_TRIAL, "top-k: index %zu is %u, which is out of range or out of order", i, index);
    }
    return 0;
}

static void decode(const struct compression *compression, size_t count, const uint8_t *bytes, bool first, float *sum)
{
    const size_t k = kept(compression, count);
    if (first)
        memset(sum, 0, count * sizeof(float));
    for (size_t i = 0; i < k; i++)
        sum[get_u32(bytes + 4 * i)] += get_float(bytes + 4 * (k + i));
}

const struct compressor compressor_top_k = {
    .name = "top-k",
    .source = "Aji and Heafield, EMNLP 2017; Stich, Cordonnier and Jaggi, NeurIPS 2018",
    .feedback = true,
    .encoded_bytes = encoded_bytes,
    .encode = encode,
    .check = check,
    .decode = decode,
    .encode_additions = 7,
    .decode_additions = 0.2,
};
