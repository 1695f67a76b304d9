/* agents/schemes/ps_internal.h: what the worker's half (ps_sync.c) and the shard's half (ps_shard.c) of ps-sync share. */
#ifndef LAGGARD_AGENTS_SCHEMES_PS_INTERNAL_H
#define LAGGARD_AGENTS_SCHEMES_PS_INTERNAL_H

#include "agents/collectives/allreduce.h"
#include "agents/node.h"

enum { KIND_GRADIENT = 1, KIND_MODEL = 2 };
enum { SERVERS, PLACEMENT };
enum { DEDICATED, COLOCATED };

struct shard { /* count 0: there is none on this node */
    size_t first, count;
    float *model;         /* of these floats alone; NULL: synthetic, or values are not carried */
    float *sum;           /* likewise */
    const float **pieces; /* [workers]: that have come and are not added yet */
    struct buffer **held; /* [workers]: where they lie; NULL: in the own worker's gradient */
    bool *expected;       /* [workers]: this round's has not come yet */
    int added;            /* the pieces of workers 0 .. added-1 are in the sum */
    int in_flight;        /* broadcasts that are not over */
    uint32_t arrivals;    /* pieces of this round that have come */
    bool tells;           /* the first shard: it records which gradient came when */
    uint64_t round;
};
struct ps_sync_state {
    struct shard shard;
    /* worker */
    float *model;    /* NULL: synthetic, or values are not carried */
    float *received; /* where broadcasts land; the model where there is one */
    float *gradient;
    bool *awaited; /* [shards]: this round's piece of the model has not come yet */
    int missing;   /* how many of them */
    int in_flight; /* of the gradient's pieces */
    bool computing, worker_over, shard_over;
    uint64_t round;
    uint32_t generation; /* of the running gradient */
    int64_t wait_begin_ns;
};

static inline int ps_shards(const struct scheme_setup *setup)
{
    return (int)setup->values[SERVERS];
}
static inline bool ps_colocated(const struct scheme_setup *setup)
{
    return setup->values[PLACEMENT] == COLOCATED;
}
struct allreduce_range ps_range(const struct scheme_setup *setup, int shard);

/* Takes the step, or checks the sum of a synthetic workload; `model` and `sum` hold the range's floats alone. */
void ps_apply(struct node *node, float *model, float *sum, const struct allreduce_range *range, uint64_t round);

/* ps_shard.c */
void ps_shard_prepare(struct node *node, int index);
bool ps_shard_accepts(const struct node *node, const struct message *message);
void ps_shard_take(struct node *node, int worker, const float *piece, struct buffer *held); /* NULL: the own worker's */
void ps_shard_sent(struct node *node);
/* ps_sync.c: the shard beside this worker has taken its step in the worker's own model. */
void ps_worker_has_own_piece(struct node *node);
void ps_finish_if_over(struct node *node);

#endif
