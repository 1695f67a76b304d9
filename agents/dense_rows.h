/* agents/dense_rows.h: what a dense layer does beside its matrix products, row by row, for whoever trains such layers:
 * model_dense.c on one node, a coded scheme with the products elsewhere. Matrices are row-major float32; sums run in the order of
 * the rows, exp and log are detmath's, so the results are the same bits on every machine. */
#ifndef LAGGARD_AGENTS_DENSE_ROWS_H
#define LAGGARD_AGENTS_DENSE_ROWS_H

#include <stddef.h>
#include <stdint.h>

enum { DENSE_CLASSES_MAX = UINT8_MAX + 1 }; /* labels are bytes */

/* out[i] = pixels[i] / 255 */
void dense_rows_scale_pixels(const uint8_t *pixels, size_t count, float *out);
/* Each of the rows += biases. */
void dense_rows_add_biases(float *out, const float *biases, int rows, int outputs);
/* ReLU: negative values become 0. */
void dense_rows_rectify(float *values, size_t count);
/* Its derivative: delta becomes 0 where the layer's input was not positive. */
void dense_rows_mask(float *delta, const float *activation, size_t count);
/* biases[j] = sum of column j of delta. */
void dense_rows_sum(const float *delta, int rows, int outputs, float *biases);
/* Cross-entropy of one row of scores, in nats. */
double dense_rows_loss(const float *scores, int classes, int label);
/* The same, and its derivative by the scores as part of a mean over `rows` rows: delta = (softmax - one-hot) / rows. */
double dense_rows_loss_delta(const float *scores, int classes, int label, int rows, float *delta);

#endif
