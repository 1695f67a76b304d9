/* agents/schemes/polydot_step.h: one training step of a stack of dense layers as a sequence of matrix products, each of which
 * someone else computes, and the arithmetic between them.
 *
 * Of L layers, layer l with weights W_l (outputs x inputs), batch rows:
 *
 *     forward, l = 0 .. L-1    Z = A_l W_l^T        then A_(l+1) = ReLU(Z + b_l); the last: delta = (softmax - one-hot) / batch
 *     back, l = L-1 .. 0       dW_l = delta^T A_l   then db_l = column sums of delta
 *              for l > 0       D = delta W_l        then delta = D where A_l > 0, else 0
 *
 * 3 L - 1 products a step, one after the other. */
#ifndef LAGGARD_AGENTS_SCHEMES_POLYDOT_STEP_H
#define LAGGARD_AGENTS_SCHEMES_POLYDOT_STEP_H

#include <stdint.h>

#include "agents/scheme.h"
#include "agents/schemes/polydot_code.h"

struct node;

/* How many products; 0: the model has no layers. */
int polydot_step_products(const struct scheme_setup *setup);

/* The product's shape as a whole, and of what one worker multiplies. */
struct polydot_shape {
    int rows, inner, columns;
    int block_rows, block_inner, block_columns;
};
struct polydot_shape polydot_step_shape(const struct scheme_setup *setup, struct polydot_code code, int product);
size_t polydot_shape_job_bytes(const struct polydot_shape *shape);     /* both encoded blocks, left first */
size_t polydot_shape_result_bytes(const struct polydot_shape *shape);  /* their product */
double polydot_shape_encode_floats(const struct polydot_shape *shape); /* arithmetic for one worker */
double polydot_shape_decode_floats(const struct polydot_shape *shape, struct polydot_code code);

/* What the step's products are made of and where they go. Memory of the scheme's (node_alloc), all NULL where values are not
 * carried. */
struct polydot_step {
    float *model, *gradient;
    float *activations[MODEL_MATRICES_MAX + 1]; /* batch x width of layer l's inputs; the last: the scores */
    float *deltas[2];                           /* batch x width of layer l's outputs, layer l's at l mod 2 */
    uint8_t *labels;
};
void polydot_step_prepare(struct polydot_step *step, struct node *node); /* in prepare_node() */
void polydot_step_begin(struct polydot_step *step, struct node *node, uint64_t number);
void polydot_step_factors(const struct polydot_step *step, const struct scheme_setup *setup, int product, struct polydot_view *left,
                          struct polydot_view *right);
float *polydot_step_result(struct polydot_step *step, const struct scheme_setup *setup, int product);
/* The product is there: the arithmetic that follows it. */
void polydot_step_go_on(struct polydot_step *step, struct node *node, int product);

#endif
