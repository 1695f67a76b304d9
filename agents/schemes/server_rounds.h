/* agents/schemes/server_rounds.h: one parameter server that makes an update of the first so many gradients: what backup, k-sync,
 * k-async, async and their kin share. A scheme's row is a few lines: its `detail` is a struct server_policy.
 *
 * Source of the shared description: S. Dutta et al., "Slow and stale gradients can win the race", AISTATS 2018, section 2. */
#ifndef LAGGARD_AGENTS_SCHEMES_SERVER_ROUNDS_H
#define LAGGARD_AGENTS_SCHEMES_SERVER_ROUNDS_H

#include "agents/node.h"
#include "agents/scheme.h"
#include "agents/schemes/aggregate.h"

enum server_quota {
    QUOTA_ONE,     /* one gradient makes an update */
    QUOTA_K,       /* as many as the scheme's first parameter says */
    QUOTA_ALL_BUT, /* as many as there are workers, but for as many as the first parameter says */
    QUOTA_CODED,   /* as many as the code needs (server_coding.h) */
};
struct server_policy {
    enum server_quota quota;
    /* A gradient counts only for the update of the model that it was computed at; else whatever its staleness. */
    bool current_only;
    /* One worker counts at most once in an update. */
    bool distinct;
    /* A worker computes its next gradient at the same model at once, without waiting for an answer. */
    bool keeps_going;
    /* The model goes to every worker at each update, and a worker that still computes gives up and takes it. */
    bool (*interrupts)(const struct scheme_setup *setup);
    /* A worker whose gradient was counted gets the model at once, not after the update. */
    bool pulls_at_once;
    /* Whether a worker with so many finished gradients may go on, the slowest having finished `slowest`; NULL: always. */
    bool (*may_go_on)(const struct scheme_setup *setup, uint64_t own, uint64_t slowest);
    /* Workers send combinations of several partitions' gradients (server_coding.h). */
    bool coded;
    /* Parameters of server_rate.h, by their place in the scheme's table, from 1; 0: it has none. */
    int compensate_parameter, adasync_parameter;
    int aggregate_parameter; /* of aggregate.h, likewise */
    int zeno_parameter;      /* of server_zeno.h; its quota is one */
};

/* Gradients that make an update, by the row's policy and its first parameter; with adasync: at first. */
int server_rounds_quota(const struct scheme_setup *setup);
bool server_rounds_always(const struct scheme_setup *setup); /* true: for a policy's `interrupts` */

/* The members of a struct scheme of this family; their contracts are there. */
int server_rounds_servers(int workers, const double *values);
int server_rounds_check(const struct scheme_setup *setup, struct err *err); /* 1 <= quota <= workers */
int server_rounds_tolerates(const struct scheme_setup *setup);
bool server_rounds_talks(const struct scheme_setup *setup, int node, int peer);
uint64_t server_rounds_spans(const struct scheme_setup *setup, int node);
uint64_t server_rounds_gradients(const struct scheme_setup *setup, int node);
void server_rounds_prepare(struct node *node);
void server_rounds_start(struct node *node);
void server_rounds_on_task(struct node *node, const struct task_result *result);
struct landing server_rounds_on_header(struct node *node, const struct message *message);
void server_rounds_on_message(struct node *node, const struct message *message);
void server_rounds_on_sent(struct node *node, struct buffer *buffer, int destination);
void server_rounds_on_timer(struct node *node, int timer);
void server_rounds_on_peer(struct node *node, int peer, enum peer_state state);
const float *server_rounds_model(struct node *node);
/* server_predict.c. With a policy, a quota, and gradients that a worker computes before it pushes: for schemes of their own. */
void server_rounds_predict(const struct scheme_setup *setup, struct prediction *prediction);
void server_rounds_predict_policy(const struct scheme_setup *setup, const struct server_policy *policy, int quota, int steps,
                                  struct prediction *prediction);

/* Rows of a scheme's parameters (server_rate.h). */
#define SERVER_PARAM_COMPENSATE                                                                                                    \
    {                                                                                                                              \
        .name = "compensate", .unit = PARAM_NUMBER, .minimum = 0, .maximum = 1e12, .standard = 0,                                  \
        .help = "C of a stale gradient's rate, min(C/|w - w_read|^2, learning_rate); 0: the learning rate"                         \
    }
#define SERVER_PARAM_ADASYNC                                                                                                       \
    {                                                                                                                              \
        .name = "adasync", .unit = PARAM_TIME, .minimum = 0, .maximum = 3600e9, .standard = 0,                                     \
        .help = "how often k becomes k sqrt(F(w_0)/F(w)), at most all workers; 0: never"                                           \
    }

/* Everything of a row but its name, texts, parameters and flags beyond these. */
#define SERVER_ROUNDS_FLAGS (SCHEME_ROUNDS_AT_SERVER | SCHEME_SURVIVES_PEER_LOSS)
#define SERVER_ROUNDS(policy) .family = FAMILY_SERVER, .check = server_rounds_check, SERVER_ROUNDS_PROTOCOL(policy)
/* The same but for family and check. */
#define SERVER_ROUNDS_PROTOCOL(policy)                                                                                             \
    .detail = &(policy), .state_bytes = SERVER_ROUNDS_STATE_BYTES, .servers = server_rounds_servers, .talks = server_rounds_talks, \
    .tolerates = server_rounds_tolerates, .spans_a_round = server_rounds_spans, .gradients_a_round = server_rounds_gradients,      \
    .prepare_node = server_rounds_prepare, .start = server_rounds_start, .on_task = server_rounds_on_task,                         \
    .on_header = server_rounds_on_header, .on_message = server_rounds_on_message, .on_sent = server_rounds_on_sent,                \
    .on_timer = server_rounds_on_timer, .on_peer = server_rounds_on_peer, .model_to_evaluate = server_rounds_model,                \
    .predict = server_rounds_predict
enum { SERVER_ROUNDS_STATE_BYTES = 640 }; /* server_rounds.c asserts that it is enough */

#endif
