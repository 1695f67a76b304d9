/* agents/schemes/ps_rounds.h: synchronous rounds of a parameter server in shards: what `ps-sync` and `anytime` share. A scheme's
 * row is a few lines: its `detail` is a struct ps_policy. */
#ifndef LAGGARD_AGENTS_SCHEMES_PS_ROUNDS_H
#define LAGGARD_AGENTS_SCHEMES_PS_ROUNDS_H

#include "agents/node.h"
#include "agents/scheme.h"
#include "agents/schemes/aggregate.h"

struct ps_policy {
    /* Turns the task of a mini-batch into the scheme's own; NULL: it is that. */
    void (*bound_task)(struct node *node, struct task *task);
    /* A gradient counts as often as it has samples; one of none does not. */
    bool weighted;
    int aggregate_parameter; /* of aggregate.h, by its place in the scheme's table, from 1; 0: the mean */
};

/* The members of a struct scheme of this family; their contracts are there. */
int ps_rounds_servers(int workers, const double *values);
int ps_rounds_check(const struct scheme_setup *setup, struct err *err);
int ps_rounds_tolerates(const struct scheme_setup *setup);
bool ps_rounds_talks(const struct scheme_setup *setup, int node, int peer);
uint64_t ps_rounds_spans(const struct scheme_setup *setup, int node);
uint64_t ps_rounds_gradients(const struct scheme_setup *setup, int node);
void ps_rounds_prepare(struct node *node);
void ps_rounds_start(struct node *node);
void ps_rounds_on_task(struct node *node, const struct task_result *result);
struct landing ps_rounds_on_header(struct node *node, const struct message *message);
void ps_rounds_on_message(struct node *node, const struct message *message);
void ps_rounds_on_sent(struct node *node, struct buffer *buffer, int destination);
const float *ps_rounds_model(struct node *node);
/* Fills the prediction for gradients that are ready as setup->compute_time says. */
void ps_rounds_predict(const struct scheme_setup *setup, struct prediction *prediction);

/* The first parameters of every such scheme. */
enum { PS_SERVERS, PS_PLACEMENT, PS_PARAM_COUNT };
enum { PS_DEDICATED, PS_COLOCATED };
extern const char *const ps_placements[];
#define PS_PARAMS                                                                                                                  \
    [PS_SERVERS] = {.name = "servers",                                                                                             \
                    .unit = PARAM_COUNT,                                                                                           \
                    .minimum = 1,                                                                                                  \
                    .maximum = 1000,                                                                                               \
                    .standard = 1,                                                                                                 \
                    .help = "shards of the model, each with a server of its own"},                                                 \
    [PS_PLACEMENT] = {.name = "placement",                                                                                         \
                      .unit = PARAM_CHOICE,                                                                                        \
                      .maximum = 1,                                                                                                \
                      .standard = PS_DEDICATED,                                                                                    \
                      .choices = ps_placements,                                                                                    \
                      .help = "servers on nodes of their own, or beside the first workers"}

/* Everything of a row but its name, texts, parameters, flags and prediction. */
#define PS_ROUNDS(policy)                                                                                                          \
    .family = FAMILY_SERVER, .detail = &(policy), .state_bytes = PS_ROUNDS_STATE_BYTES, .servers = ps_rounds_servers,              \
    .check = ps_rounds_check, .tolerates = ps_rounds_tolerates, .talks = ps_rounds_talks, .spans_a_round = ps_rounds_spans,        \
    .gradients_a_round = ps_rounds_gradients, .prepare_node = ps_rounds_prepare, .start = ps_rounds_start,                         \
    .on_task = ps_rounds_on_task, .on_header = ps_rounds_on_header, .on_message = ps_rounds_on_message,                            \
    .on_sent = ps_rounds_on_sent, .model_to_evaluate = ps_rounds_model
enum { PS_ROUNDS_STATE_BYTES = 384 }; /* ps_internal.h asserts that it is enough */

#endif
