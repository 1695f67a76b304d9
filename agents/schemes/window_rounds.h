/* agents/schemes/window_rounds.h: rounds of workers with models of their own that compute for a window and exchange with their
 * neighbours: what `anytime-consensus` and `quantimed-dsgd` share. A row's `detail` is a struct window_kind. */
#ifndef LAGGARD_AGENTS_SCHEMES_WINDOW_ROUNDS_H
#define LAGGARD_AGENTS_SCHEMES_WINDOW_ROUNDS_H

#include "agents/mixing/exchange.h"
#include "agents/mixing/mixing.h"
#include "agents/schemes/window.h"

/* The first parameters of all; a row's own come behind. */
enum { WINDOW_GRAPH, WINDOW_TIME, WINDOW_CAP, WINDOW_COMMON_COUNT };
#define WINDOW_COMMON_PARAMS [WINDOW_GRAPH] = GRAPH_PARAM, [WINDOW_TIME] = WINDOW_PARAM, [WINDOW_CAP] = WINDOW_PARAM_CAP

struct window_state;
struct window_kind {
    size_t own_bytes; /* zeroed memory of the row's: state->own */
    size_t (*message_bytes)(const struct scheme_setup *setup);
    void (*prepare)(struct node *node, struct window_state *state);
    /* A round begins: its window has begun. NULL: nothing. */
    void (*begin)(struct node *node, struct window_state *state);
    /* So many samples were done; `gradient` is the mean over them. The round's model may be changed from now on. */
    void (*computed)(struct node *node, struct window_state *state, int64_t samples);
    void (*take)(struct node *node, void *state, const struct exchange_part *part);
    void (*done)(struct node *node, void *state);
    int (*exchanges)(const struct scheme_setup *setup);             /* a round */
    double (*passes)(const struct scheme_setup *setup, int degree); /* over a vector, that a round makes */
    bool overlaps;                                                  /* the exchange begins with the window; else when it is over */
};

struct window_state {
    struct exchange *exchange;
    int *neighbours;
    int degree;
    float alpha, own_weight; /* of a neighbour's vector, of the own one; none is negative */
    bool trained;            /* model is one; else values are known ones, or not carried */
    float *model, *gradient;
    struct mixing_sum sum;
    bool computing;
    uint64_t round;
    uint32_t generation;
    void *own;
};

static inline size_t window_vector_bytes(const struct node *node)
{
    return node->setup->parameter_count * sizeof(float);
}
void window_send(struct window_state *state, uint64_t step, const void *memory, size_t length);
void window_end_round(struct node *node, struct window_state *state); /* and begins the next one, or ends */

/* The members of a struct scheme. */
int window_prepare(const struct scheme_setup *setup, struct blob *blob, struct err *err);
void window_prepare_node(struct node *node);
void window_start(struct node *node);
void window_on_task(struct node *node, const struct task_result *result);
struct landing window_on_header(struct node *node, const struct message *message);
void window_on_message(struct node *node, const struct message *message);
void window_on_sent(struct node *node, struct buffer *buffer, int destination);
const float *window_model(struct node *node);
uint64_t window_spans(const struct scheme_setup *setup, int node);
void window_predict(const struct scheme_setup *setup, struct prediction *prediction);

/* Everything of a row but its name, texts, parameters and flags. */
#define WINDOW_ROUNDS(kind)                                                                                                        \
    .family = FAMILY_DECENTRALISED, .detail = &(kind), .state_bytes = sizeof(struct window_state), .check = mixing_check,          \
    .prepare = window_prepare, .talks = mixing_talks, .spans_a_round = window_spans, .prepare_node = window_prepare_node,          \
    .start = window_start, .on_task = window_on_task, .on_header = window_on_header, .on_message = window_on_message,              \
    .on_sent = window_on_sent, .model_to_evaluate = window_model, .predict = window_predict

#endif
