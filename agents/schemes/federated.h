/* agents/schemes/federated.h: clients that train for a while on data of their own, and a server that merges what they send: what
 * fedavg, fedbuff and safa share. A scheme's row is a few lines, its `detail` is a struct federated_policy, and its own file says
 * what the server does.
 *
 * Theory of operation. Clients are nodes 0 .. P-1, the server is node P. A client waits until the server sends it the model; that
 * is an assignment. It takes `period` steps of its own from there and sends one update, S bytes: the model it came to, or, where
 * the policy says so, the difference between the model it got and that one. Then it waits again. An update of the server's model
 * is a round. After the last one everyone gets STOP.
 *
 * Drop-out. With probability `dropout`, drawn from the client's own keyed stream for each assignment, a client fails after its last
 * step: its work is lost, and it says nothing. On the wire that looks like a client that is slow. Nobody is told, and the server
 * does not look: its `deadline`, its quota or its tolerance of lag ends the waiting, by rules that are the scheme's. A client that
 * failed is back when the server sends it the model the next time; with safa, whose clients work all the time, it takes the same
 * steps from the same model once more by itself.
 *
 * A model that comes while a client still works: it gives its work up (fedavg, safa) or finishes that first (fedbuff). To one
 * client at most one model is under way; if it is owed another meanwhile, the newest follows. Assignments are numbered for each
 * client, and its update has the number, so the server knows what crossed a newer model.
 *
 * A synthetic workload has no model: the gradient of the last step travels in an update's place, and the last sum in the model's;
 * the server checks sums. They are not weighted then.
 *
 * Messages: MODEL (kind 1: step = version, index = assignment; S bytes), UPDATE (kind 2: step = the version it began at, index =
 * assignment, argument = the last step; S bytes), STOP (kind 3; no bytes).
 *
 * A lost client is no longer counted on; the trial fails when nobody is left. No deadlock: a client that has a model computes and
 * sends without waiting for anyone, and where it may fall silent there is a deadline. */
#ifndef LAGGARD_AGENTS_SCHEMES_FEDERATED_H
#define LAGGARD_AGENTS_SCHEMES_FEDERATED_H

#include "agents/node.h"
#include "agents/scheme.h"
#include "agents/schemes/server_rounds.h"

enum { FEDERATED_MODEL = 1, FEDERATED_UPDATE, FEDERATED_STOP }; /* kinds of messages */
/* The first parameters of every row. */
enum { FEDERATED_PERIOD, FEDERATED_DROPOUT, FEDERATED_DEADLINE, FEDERATED_OWN };
#define FEDERATED_PARAMS                                                                                                           \
    [FEDERATED_PERIOD] = {.name = "period",                                                                                        \
                          .unit = PARAM_COUNT,                                                                                     \
                          .minimum = 1,                                                                                            \
                          .maximum = 1000000,                                                                                      \
                          .standard = 10,                                                                                          \
                          .help = "steps of a client's own from a model to its update"},                                           \
    [FEDERATED_DROPOUT] = {.name = "dropout",                                                                                      \
                           .unit = PARAM_NUMBER,                                                                                   \
                           .minimum = 0,                                                                                           \
                           .maximum = 0.99,                                                                                        \
                           .standard = 0,                                                                                          \
                           .help = "probability of a client to fail after its steps: it sends nothing; needs a deadline"},         \
    [FEDERATED_DEADLINE] = {.name = "deadline",                                                                                    \
                            .unit = PARAM_TIME,                                                                                    \
                            .minimum = 0,                                                                                          \
                            .maximum = 3600e9,                                                                                     \
                            .standard = 0,                                                                                         \
                            .help = "how long the server waits for a client at most; 0: until it answers"}
#define FEDERATED_PARAM_FRACTION(default_value)                                                                                    \
    {                                                                                                                              \
        .name = "fraction", .unit = PARAM_NUMBER, .minimum = 0.0001, .maximum = 1, .standard = (default_value),                    \
        .help = "C: a round merges ceil(C x clients) of them"                                                                      \
    }

struct federated_policy {
    bool differences; /* updates are differences of models */
    bool resumes;     /* a client that has failed does the same work once more by itself; else it waits for a model */
    bool finishes;    /* a client finishes its work before it takes a newer model */
    bool counts;      /* a client numbers its mini-batches by those that it has done; else by the model's version */
    /* At the server: takes its memory, besides the shared state's; may be NULL. */
    void (*prepare)(struct node *node);
    void (*begin)(struct node *node); /* the first round, and each one after federated_round_over() */
    /* `current`: the update is of the client's newest assignment; the client works no longer. */
    void (*arrived)(struct node *node, const struct message *message, bool current);
    void (*deadline)(struct node *node); /* the timer that federated_arm() set */
    void (*lost)(struct node *node, int worker, bool worked);
};

struct federated_peer {  /* a client, as the server sees it */
    uint32_t assignment; /* number of the newest one */
    bool working;        /* nothing has come of that one */
    bool owed, sending;  /* a model is to be sent, is under way */
    bool lost;
};

struct federated_state {
    const struct federated_policy *policy;
    float *model; /* NULL: synthetic, or values are not carried */
    uint64_t version;
    bool stopped;
    struct rng random; /* a client's failures, a server's choices */
    /* client */
    float *received, *base, *gradient, *update; /* base: of differences */
    uint64_t first_step, done;                  /* steps: number of the first one, how many since */
    uint64_t received_version;                  /* of what lies in `received` */
    uint32_t assignment, received_assignment;
    bool pending;          /* what lies there is to be taken when the work is finished */
    bool sending, starved; /* starved: an update is ready, and the one before it still under way */
    uint32_t generation;   /* 0: not computing */
    int64_t wait_begin_ns; /* -1: not waiting */
    /* server */
    struct federated_peer *peers;
    float *sum;
    struct buffer *snapshot; /* a copy of this version of the model; NULL: not made yet */
    double weight;           /* of what has been added to the sum */
    double mean_samples;
    int collected, arrivals, alive, timer;
    void *own; /* the scheme's */
};

/* ---- what the schemes' own files call, at the server ---- */
int federated_quota(int clients, double fraction);      /* ceil(fraction x clients), 1 at least */
double federated_weight(struct node *node, int worker); /* its samples over the mean; 1: equal, or there are none */
/* Gives the client a new assignment: the newest model goes to it as soon as none is under way. */
void federated_assign(struct node *node, int worker);
/* Adds so many times the vector to the sum, the first one of a round in its place. */
void federated_add(struct node *node, const float *vector, double weight, int source);
/* The sum over its weight becomes the model; synthetic: is checked. Nothing has been added: the model stays. */
void federated_average(struct node *node);
/* What became of an update; `order` counts those of a round as records are made. */
struct gradient_record federated_record(struct node *node, const struct message *message, enum gradient_fate fate);
void federated_tell(struct node *node, const struct message *message, enum gradient_fate fate);
void federated_arm(struct node *node, int64_t from_ns); /* the timer, one deadline later; nothing without one */
/* The model of this round is there: the next one begins, or all is over. */
void federated_round_over(struct node *node);

/* ---- members of a struct scheme; their contracts are there ---- */
int federated_check(const struct scheme_setup *setup, struct err *err);
void federated_prepare(struct node *node);
void federated_start(struct node *node);
void federated_on_task(struct node *node, const struct task_result *result);
struct landing federated_on_header(struct node *node, const struct message *message);
void federated_on_message(struct node *node, const struct message *message);
void federated_on_sent(struct node *node, struct buffer *buffer, int destination);
void federated_on_timer(struct node *node, int timer);
void federated_on_peer(struct node *node, int peer, enum peer_state state);
const float *federated_model(struct node *node);
uint64_t federated_assignment_spans(const struct scheme_setup *setup); /* that one leaves at its client */

/* ---- between federated_server.c and federated_client.c ---- */
void federated_client_prepare(struct node *node);
void federated_client_announced(struct node *node);                            /* a model's header has come */
void federated_client_model(struct node *node, const struct message *message); /* it has come, into `received` */
void federated_client_sent(struct node *node);
void federated_client_stop(struct node *node);

static inline size_t federated_bytes(const struct node *node)
{
    return node->setup->parameter_count * sizeof(float);
}

#define FEDERATED_FLAGS (SCHEME_ROUNDS_AT_SERVER | SCHEME_SURVIVES_PEER_LOSS)
#define FEDERATED(policy)                                                                                                          \
    .family = FAMILY_FEDERATED, .detail = &(policy), .state_bytes = sizeof(struct federated_state),                                \
    .servers = server_rounds_servers, .talks = server_rounds_talks, .prepare_node = federated_prepare, .start = federated_start,   \
    .on_task = federated_on_task, .on_header = federated_on_header, .on_message = federated_on_message,                            \
    .on_sent = federated_on_sent, .on_timer = federated_on_timer, .on_peer = federated_on_peer,                                    \
    .model_to_evaluate = federated_model

#endif
