/* vector.c: arithmetic on float32 vectors, written so that the compiler turns it into vector instructions.
 *
 * -O2 vectorises only loops whose trip count is known, so this file asks for the loops of -O3. `ivdep` is true for out == a:
 * element i is read before it is written and never again. Without it the compiler's overlap check would send every in-place call to
 * the scalar loop. */
#include "agents/vector.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#pragma GCC optimize("O3")

void vector_add(float *out, const float *a, const float *b, size_t count)
{
#pragma GCC ivdep
    for (size_t i = 0; i < count; i++)
        out[i] = a[i] + b[i];
}

void vector_scale(float *out, float factor, const float *a, size_t count)
{
#pragma GCC ivdep
    for (size_t i = 0; i < count; i++)
        out[i] = factor * a[i];
}

void vector_axpy(float *y, float factor, const float *x, size_t count)
{
#pragma GCC ivdep
    for (size_t i = 0; i < count; i++)
        y[i] += factor * x[i];
}

void vector_copy(float *out, const float *in, size_t count)
{
    if (out != in && count > 0)
        memcpy(out, in, count * sizeof(float));
}

double vector_dot(const float *a, const float *b, size_t count)
{
    enum { LANES = 8 }; /* part of the definition: the order of the sum */
    double lanes[LANES] = {0};
    size_t whole = count - count % LANES;
    for (size_t i = 0; i < whole; i += LANES)
        for (size_t lane = 0; lane < LANES; lane++)
            lanes[lane] += (double)a[i + lane] * (double)b[i + lane];
    for (size_t i = whole; i < count; i++)
        lanes[i - whole] += (double)a[i] * (double)b[i];
    double sum = 0;
    for (size_t lane = 0; lane < LANES; lane++)
        sum += lanes[lane];
    return sum;
}

static float largest_magnitude(const float *in, size_t count)
{
    float largest = 0;
    for (size_t i = 0; i < count; i++) {
        float magnitude = fabsf(in[i]);
        largest = magnitude > largest ? magnitude : largest;
    }
    return largest;
}

size_t vector_quantised_bytes(int bits, size_t count)
{
    return sizeof(float) + (count * (size_t)bits + 7) / 8;
}

size_t vector_quantise(int bits, const float *in, size_t count, void *out)
{
    float scale = largest_magnitude(in, count);
    float levels = (float)((1 << bits) - 1);
    float factor = scale > 0 ? levels / (2 * scale) : 0;
    if (!isfinite(factor)) /* a scale so small that its inverse overflows: all values are as good as zero */
        scale = factor = 0;
    uint8_t *bytes = out;
    memcpy(bytes, &scale, sizeof(scale));
    bytes += sizeof(scale);
    uint32_t collected = 0;
    int collected_bits = 0;
    for (size_t i = 0; i < count; i++) {
        float level = in[i] * factor + levels / 2 + 0.5f;
        uint32_t code = level <= 0 ? 0 : level >= levels ? (uint32_t)levels : (uint32_t)level;
        collected |= code << collected_bits;
        for (collected_bits += bits; collected_bits >= 8; collected_bits -= 8, collected >>= 8)
            *bytes++ = (uint8_t)collected;
    }
    if (collected_bits > 0)
        *bytes = (uint8_t)collected;
    return vector_quantised_bytes(bits, count);
}

void vector_dequantise(int bits, const void *in, size_t count, float *out)
{
    const uint8_t *bytes = in;
    float scale;
    memcpy(&scale, bytes, sizeof(scale));
    bytes += sizeof(scale);
    uint32_t mask = (1U << bits) - 1;
    float step = 2 * scale / (float)mask;
    uint32_t collected = 0;
    int collected_bits = 0;
    for (size_t i = 0; i < count; i++) {
        if (collected_bits < bits) {
            collected |= (uint32_t)*bytes++ << collected_bits;
            collected_bits += 8;
        }
        out[i] = (float)(collected & mask) * step - scale;
        collected >>= bits;
        collected_bits -= bits;
    }
}
