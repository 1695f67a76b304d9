/* agents/vector.h: the arithmetic on float32 vectors, for both worlds. Results are the same bits on every machine: sums run in a
 * fixed order, nothing is contracted. `out` may be an input itself; vectors that overlap otherwise are not allowed. */
#ifndef LAGGARD_AGENTS_VECTOR_H
#define LAGGARD_AGENTS_VECTOR_H

#include <stddef.h>

void vector_add(float *out, const float *a, const float *b, size_t count);
void vector_scale(float *out, float factor, const float *a, size_t count);
void vector_axpy(float *y, float factor, const float *x, size_t count); /* y += factor x */
void vector_copy(float *out, const float *in, size_t count);
double vector_dot(const float *a, const float *b, size_t count);

/* Uniform quantisation to `bits` (1..8) a value: a float32 scale s = max |in|, then codes c of `bits` each, the first in the lowest
 * bits of its byte; c stands for s (2 c / (2^bits - 1) - 1). The error of a value is at most s / (2^bits - 1). Values must be
 * finite. */
size_t vector_quantised_bytes(int bits, size_t count); /* ceil(count bits / 8) + 4 */
size_t vector_quantise(int bits, const float *in, size_t count, void *out);
void vector_dequantise(int bits, const void *in, size_t count, float *out);

#endif
