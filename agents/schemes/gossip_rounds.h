/* agents/schemes/gossip_rounds.h: rounds of schemes whose workers have models of their own and mix them with their neighbours':
 * d-psgd, matcha. There is no server and no barrier: a worker waits for its neighbours of a round alone. */
#ifndef LAGGARD_AGENTS_SCHEMES_GOSSIP_ROUNDS_H
#define LAGGARD_AGENTS_SCHEMES_GOSSIP_ROUNDS_H

#include "agents/mixing/exchange.h"
#include "agents/mixing/matching_plan.h"
#include "agents/mixing/mixing.h"

/* The parameters of all; a row's own come behind. */
enum gossip_common { GOSSIP_GRAPH, GOSSIP_OVERLAP, GOSSIP_COMMON_COUNT };
#define GOSSIP_PARAMS(overlaps)                                                                                                    \
    [GOSSIP_GRAPH] = GRAPH_PARAM,                                                                                                  \
    [GOSSIP_OVERLAP] = {                                                                                                           \
        .name = "overlap",                                                                                                         \
        .unit = PARAM_BOOL,                                                                                                        \
        .minimum = 0,                                                                                                              \
        .maximum = 1,                                                                                                              \
        .standard = (overlaps),                                                                                                    \
        .help = "true: models travel while the gradient is computed, and the step is taken on their mixture; false: the step is "  \
                "taken first, and what comes out travels",                                                                         \
    }

struct gossip_state;
/* What a row has of its own: `detail` points to it. */
struct gossip_kind {
    /* In prepare_node(), after the common part: sets alpha, and whatever choose() needs. */
    int (*prepare)(struct node *node, struct err *err);
    void (*choose)(struct node *node); /* before each round: who is active. NULL: all neighbours, always */
    /* For predictions: the matchings, of which choose() takes some. NULL: there are none. */
    int (*plan)(const struct scheme_setup *setup, struct arena *arena, struct matching_plan *plan, struct err *err);
};

struct gossip_state { /* a row's own state begins with it */
    struct exchange *exchange;
    int *neighbours;
    bool *active; /* [degree] */
    int degree, active_degree;
    float alpha;
    bool trained;            /* `vector` is a model; else the last gradient, or values are not carried */
    float *vector, *mixture; /* in turns: what travels, and the sum of what comes */
    float *gradient;
    struct mixing_sum sum;
    bool computing;
    uint64_t round;
    uint32_t generation;
};

void gossip_prepare_node(struct node *node);
void gossip_start(struct node *node);
void gossip_on_task(struct node *node, const struct task_result *result);
struct landing gossip_on_header(struct node *node, const struct message *message);
void gossip_on_message(struct node *node, const struct message *message);
void gossip_on_sent(struct node *node, struct buffer *buffer, int destination);
const float *gossip_model(struct node *node);
uint64_t gossip_spans(const struct scheme_setup *setup, int node);
/* gossip_predict.c */
void gossip_predict(const struct scheme_setup *setup, struct prediction *prediction);

/* Everything of a row but its name, texts, parameters, state_bytes and prepare. */
#define GOSSIP_ROUNDS(kind)                                                                                                        \
    .family = FAMILY_DECENTRALISED, .detail = (kind), .check = mixing_check, .talks = mixing_talks, .spans_a_round = gossip_spans, \
    .prepare_node = gossip_prepare_node, .start = gossip_start, .on_task = gossip_on_task, .on_header = gossip_on_header,          \
    .on_message = gossip_on_message, .on_sent = gossip_on_sent, .model_to_evaluate = gossip_model, .predict = gossip_predict

#endif
