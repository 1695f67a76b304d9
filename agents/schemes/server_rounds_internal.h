/* agents/schemes/server_rounds_internal.h: what the files of server_rounds.h share: server_rounds.c (how messages reach either
 * side), server_side.c (the server), server_worker.c, server_row.c (what follows from a scheme's row alone). */
#ifndef LAGGARD_AGENTS_SCHEMES_SERVER_ROUNDS_INTERNAL_H
#define LAGGARD_AGENTS_SCHEMES_SERVER_ROUNDS_INTERNAL_H

#include <assert.h>

#include "agents/schemes/server_coding.h"
#include "agents/schemes/server_rate.h"
#include "agents/schemes/server_rounds.h"
#include "agents/schemes/server_zeno.h"

enum { KIND_GRADIENT = 1, KIND_MODEL, KIND_STOP };
enum { ACCEPTED = 0, REFUSED = 1 }; /* argument of KIND_MODEL */
enum { GRADIENT_BUFFERS = 2 };

struct client {       /* a worker, as the server sees it */
    uint64_t version; /* of the last model sent to it */
    uint64_t done;    /* gradients finished */
    bool sending;     /* a model is under way to it */
    bool waits;       /* it has pushed and waits for a model */
    bool counted;     /* in the update being collected */
    bool owed;        /* it is to get the newest model as soon as none is under way */
    bool refused;     /* its last gradient was */
    bool lost;
    struct buffer *read; /* the model last sent to it, where rates follow; NULL: the initial one */
};

struct server_rounds_state {
    const struct server_policy *policy;
    float *model; /* NULL: synthetic, or values are not carried */
    uint64_t version;
    bool stopped;
    struct server_coding *coding; /* NULL: gradients are sent as they are */
    /* worker */
    float *received; /* where a model lands, while the own one is computed at */
    float *gradients[GRADIENT_BUFFERS];
    bool in_flight[GRADIENT_BUFFERS];
    int buffers, current;    /* how many there are; the one that is computed into */
    int pushed;              /* gradients at this version */
    uint64_t step;           /* mini-batches begun */
    uint32_t generation;     /* 0: not computing */
    bool receiving, starved; /* starved: wants to compute, but both buffers are under way */
    int64_t wait_begin_ns;   /* -1: not waiting */
    /* server */
    float *sum;
    struct client *clients;
    int *contributors; /* who is counted in the update being collected, ascending */
    int contributor_count;
    struct buffer *snapshot;               /* a copy of this version of the model; NULL: not made yet */
    int collected, arrivals, alive, quota; /* quota: of the update being collected */
    struct server_rate rate;
    struct aggregate aggregate;
    float *scratch;       /* of median and trimmed mean; NULL: gradients are added */
    struct buffer **kept; /* the gradients of the update being collected, for these */
    const float **rows;   /* where they lie */
    struct server_zeno zeno;
};
static_assert(sizeof(struct server_rounds_state) <= SERVER_ROUNDS_STATE_BYTES, "raise SERVER_ROUNDS_STATE_BYTES");

static inline size_t vector_bytes(const struct node *node)
{
    return node->setup->parameter_count * sizeof(float);
}

/* server_row.c */
struct aggregate server_aggregate(const struct scheme_setup *setup);
int server_quota_most(const struct scheme_setup *setup); /* what no update takes more than */
bool server_interrupts(const struct scheme_setup *setup);

/* server_rounds.c */
void server_rounds_refuse(struct node *node, const struct message *message);

/* server_side.c */
void server_prepare(struct node *node);
void server_start(struct node *node);
void server_stop(struct node *node);
void server_take_gradient(struct node *node, const struct message *message);
void server_take_validation(struct node *node, const struct task_result *result);
void server_update(struct node *node); /* with what has been collected */
/* Sends the newest model to whoever is owed one and may go on. */
void server_serve_all(struct node *node);
/* The same where something has changed about one worker, which changes nothing for others, unless they wait for the slowest: a
 * thousand workers are not to be looked at for every message. */
void server_serve(struct node *node, int worker);
void server_forget_read(struct node *node, struct client *client);

/* server_worker.c */
void server_worker_compute(struct node *node); /* unless it computes, or has no buffer free */
void server_worker_end_wait(struct node *node, int source);
void server_worker_take_model(struct node *node, const struct message *message);
void server_worker_stop(struct node *node);

#endif
