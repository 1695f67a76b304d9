/* agents/mixing/mixing.h: what decentralised schemes share about their graph: whether it can be used, its mixing weights, and how
 * both get to the nodes.
 *
 *     W = I - alpha L      w_ij = alpha for neighbours, w_ii = 1 - alpha degree(i)      alpha = 2 / (lambda_2 + lambda_n)
 *
 * With this alpha no constant weight brings the models together faster: the largest eigenvalue of W - J by amount (J averages all)
 * is (lambda_n - lambda_2) / (lambda_n + lambda_2). On the complete graph alpha = 1/n and W = J. Rows and columns sum to 1, so that
 * mixing keeps the sum of all models, to rounding.
 *
 * Source: L. Xiao, S. Boyd, "Fast linear iterations for distributed averaging", Systems & Control Letters 53 (2004), section 4.1.
 *
 * alpha is rounded to float32: that is the grid by which the last bits of LAPACK's eigenvalues (spectrum.h) do not matter, and
 * weights are float32 anyway.
 *
 * Example, a ring of 4: eigenvalues 0, 2, 2, 4; alpha = 1/3; all three weights of a row are 1/3.
 *
 * The controller prepares a blob: a head, and of a file's graph the edges. Where there is none (tests, predictions) the same is
 * worked out anew. A scheme that prepares more puts it behind, from mixing_blob_bytes() on. */
#ifndef LAGGARD_AGENTS_MIXING_MIXING_H
#define LAGGARD_AGENTS_MIXING_MIXING_H

#include "agents/mixing/graph.h"
#include "agents/mixing/spectrum.h"

struct err;
struct node;

/* The graph that the setup's parameter of GRAPH_PARAM means. Of a file that nobody named: without edges. */
struct graph mixing_graph(const struct scheme_setup *setup);
/* Refuses, as ERR_USAGE: no file where one is needed, a graph that does not hold together (and who is not reached), a file's graph
 * between more than SPECTRUM_WORKERS_MOST workers. */
int mixing_check(const struct scheme_setup *setup, struct err *err);
bool mixing_talks(const struct scheme_setup *setup, int node, int peer); /* neighbours do */

/* Makes a blob with `behind` zeroed bytes more for the scheme's own; *own points to them. own may be NULL. */
int mixing_prepare(const struct scheme_setup *setup, size_t behind, struct blob *blob, uint8_t **own, struct err *err);
size_t mixing_blob_bytes(const struct scheme_setup *setup); /* of a prepared setup, without what the scheme put behind */

float mixing_alpha_of(const struct spectrum *spectrum);
/* As prepared, or worked out anew; NAN with the sentence: it cannot be. */
float mixing_alpha(const struct scheme_setup *setup, struct err *err);
static inline float mixing_own_weight(float alpha, int degree)
{
    return (float)(1.0 - (double)alpha * degree);
}

/* A weighted sum of vectors, term by term: output = weight x values, then output += weight x values. The order of terms decides the
 * bits. Records a reduce span of the round; `peer` is whose vector it is, -1: the own one. */
struct mixing_sum {
    float *output;
    size_t count;
    bool begun; /* false: the first term comes next */
};
void mixing_add(struct node *node, struct mixing_sum *sum, float weight, const float *values, uint64_t round, int peer);

#endif
