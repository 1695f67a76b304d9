/* agents/schemes/ps_internal.h: what the worker's half (ps_rounds.c) and the shard's half (ps_shard.c) of a server's synchronous
 * rounds share. */
#ifndef LAGGARD_AGENTS_SCHEMES_PS_INTERNAL_H
#define LAGGARD_AGENTS_SCHEMES_PS_INTERNAL_H

#include <assert.h>

#include "agents/collectives/allreduce.h"
#include "agents/schemes/ps_rounds.h"

enum { KIND_GRADIENT = 1, KIND_MODEL = 2 };

struct piece {           /* of one worker's gradient of this round */
    const float *floats; /* NULL: it has not come yet, is added, or is of no sample */
    struct buffer *held; /* where they lie; NULL: in the own worker's gradient */
    int64_t samples;     /* its weight */
    bool expected, come; /* not announced yet; all of it is here */
};
struct shard { /* count 0: there is none on this node */
    size_t first, count;
    float *model;             /* of these floats alone; NULL: synthetic, or values are not carried */
    float *sum;               /* likewise; sum x unit is the weighted sum */
    struct piece *pieces;     /* [workers] */
    struct piece first_piece; /* the only one taken so far, which is not in the sum yet; floats NULL: none or more */
    int64_t unit;             /* the weight that all pieces in the sum have had so far; 1 once they differ */
    int64_t samples;          /* taken so far */
    int taken;                /* the pieces of workers 0 .. taken-1 */
    int in_flight;            /* broadcasts that are not over */
    uint32_t arrivals;        /* pieces of this round that have come */
    bool tells;               /* the first shard: it records which gradient came when */
    uint64_t round;
    struct aggregate aggregate;
    float *scratch;     /* of median and trimmed mean; NULL: pieces are added */
    const float **rows; /* [workers]: the pieces, for these */
};
struct ps_state {
    const struct ps_policy *policy;
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
static_assert(sizeof(struct ps_state) <= PS_ROUNDS_STATE_BYTES, "raise PS_ROUNDS_STATE_BYTES");

static inline int ps_shards(const struct scheme_setup *setup)
{
    return (int)setup->values[PS_SERVERS];
}
static inline bool ps_colocated(const struct scheme_setup *setup)
{
    return setup->values[PS_PLACEMENT] == PS_COLOCATED;
}
struct aggregate ps_aggregate(const struct scheme_setup *setup);
struct allreduce_range ps_range(const struct scheme_setup *setup, int shard);

/* Takes the step, or checks the sum of a synthetic workload; `model` and `sum` hold the range's floats alone. Without contributors
 * nothing is done. */
void ps_apply(struct node *node, float *model, float *sum, int contributors, const struct allreduce_range *range, uint64_t round);

/* ps_shard.c */
void ps_shard_prepare(struct node *node, int index);
bool ps_shard_accepts(const struct node *node, const struct message *message);
/* `floats` in a buffer that is held from here on; NULL: the own worker's. Without samples there are none. */
void ps_shard_take(struct node *node, int worker, int64_t samples, const float *floats, struct buffer *held);
void ps_shard_sent(struct node *node);
/* ps_rounds.c: the shard beside this worker has taken its step in the worker's own model. */
void ps_worker_has_own_piece(struct node *node);
void ps_finish_if_over(struct node *node);

#endif
