/* agents/node.h: what a node may do, and nothing else: no sockets, no sleep, no wall clock, no global random state. Every call goes
 * through the world's operations, so that the same scheme runs on real time (emulated) and on a virtual clock (virtual).
 *
 * All calls are made on the node's one thread, from within a scheme's callbacks; none blocks. Memory is taken in prepare_node()
 * only. */
#ifndef LAGGARD_AGENTS_NODE_H
#define LAGGARD_AGENTS_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agents/scheme.h"
#include "base/rng.h"
#include "schemas/records.h"

struct world;

/* The part of a node that every world shares; worlds embed it as their first member. */
struct node {
    const struct world *world;
    const struct scheme_setup *setup;
    int index;
    enum node_role role;
    int role_index; /* worker or server number from 0 */
    void *state;    /* the scheme's, setup->scheme->state_bytes */
};

/* ---- buffers: reference-counted; immutable once sent ---- */
struct buffer {
    void *bytes;
    size_t length; /* bytes */
    uint32_t references;
    bool wrapped;        /* memory belongs to the scheme, not to the pool */
    intptr_t tag;        /* the scheme's own mark, returned with on_sent() */
    struct buffer *next; /* the pool's */
};

/* ---- messages ---- */
struct message_header {
    uint16_t channel; /* 0: the scheme itself; sub-machines take others */
    uint16_t kind;    /* the scheme's own meaning */
    uint32_t index;   /* chunk, segment, partition ... */
    uint64_t step;    /* round, clock, version ... */
    int64_t argument; /* anything else */
};
struct message {
    struct message_header header;
    int source;            /* node index */
    size_t length;         /* payload bytes, 0 allowed */
    void *payload;         /* on_message: where the payload landed; NULL in on_header and after LAND_DISCARD */
    struct buffer *buffer; /* the pool buffer, when it landed in one: node_hold() keeps it beyond on_message */
};
enum landing_kind {
    LAND_POOL = 0, /* into a pool buffer; released after on_message unless held */
    LAND_INTO,     /* into `into`, which stays untouched until on_message */
    LAND_DISCARD,  /* read and dropped; on_message is not called; counted */
    LAND_LATER,    /* not wanted yet: kept by the world (bounded; beyond the bound the sender is held back) until node_retry() */
};
struct landing {
    enum landing_kind kind;
    void *into;
};

/* ---- compute ---- */
enum task_kind {
    /* X is the time drawn for (node index, step): what one mini-batch takes. */
    TASK_GRADIENT,            /* of one mini-batch at `model`: X */
    TASK_GRADIENT_PARTITIONS, /* weighted sum over data partitions (partition p: worker p's mini-batch of this step): X each */
    TASK_SAMPLES,             /* per-sample work until deadline_ns or sample_cap: X / batch each; reports how many */
    TASK_VALIDATION,          /* gradient on 256 samples of the test data, the same on every node: X 256 / batch */
    TASK_MATRIX_BLOCK,        /* product of two blocks, for coded schemes: X */
    TASK_KIND_COUNT
};
struct task {
    enum task_kind kind;
    uint64_t step;      /* selects the mini-batch and the drawn time: (worker, step) is repeatable */
    const float *model; /* must not change until the result or the cancellation; NULL when values are not carried */
    /* parameter_count floats, mean over the batch; may be read part by part as parts come. Read-only for the scheme: a synthetic
     * gradient is written wholly once and then only where it depends on the step. */
    float *gradient;
    int parts; /* wanted number of parts, 1: whole. Parts come in the order of backward: last layer first */
    const int *partitions;
    const float *weights; /* of the partitions' gradients in the sum; NULL: all 1 */
    int partition_count;
    int64_t sample_cap;  /* 0: none */
    int64_t deadline_ns; /* node_now() scale; 0: none */
    const float *left, *right;
    /* TASK_MATRIX_BLOCK: gradient = left (rows x inner) * right (inner x columns). None of them may change until the result. */
    int rows, columns, inner;
};
struct task_result {
    uint32_t generation; /* what node_compute() returned */
    uint64_t step;
    enum task_kind kind;
    int part, parts;     /* part == parts - 1: the task is done */
    size_t first, count; /* the floats of `gradient` that are final with this part */
    int64_t samples;
    double loss; /* mean over the samples, with the last part */
};

/* ---- the operations of a world ---- */
struct world {
    const char *name;
    int64_t (*now)(struct node *);
    void *(*alloc)(struct node *, size_t bytes);
    uint32_t (*compute)(struct node *, const struct task *);
    void (*cancel)(struct node *, uint32_t generation);
    struct buffer *(*buffer)(struct node *, size_t bytes);
    struct buffer *(*wrap)(struct node *, void *memory, size_t bytes, intptr_t tag);
    void (*hold)(struct node *, struct buffer *);
    void (*release)(struct node *, struct buffer *);
    void (*send)(struct node *, int destination, const struct message_header *, struct buffer *, size_t offset, size_t length);
    void (*retry)(struct node *, int source);
    int (*timer)(struct node *);
    void (*arm)(struct node *, int timer, int64_t deadline_ns);
    void (*disarm)(struct node *, int timer);
    void (*add)(struct node *, float *out, const float *a, const float *b, size_t count);
    void (*scale)(struct node *, float *out, float factor, const float *a, size_t count);
    void (*axpy)(struct node *, float *y, float factor, const float *x, size_t count);
    void (*copy)(struct node *, float *out, const float *in, size_t count);
    double (*dot)(struct node *, const float *a, const float *b, size_t count);
    size_t (*quantise)(struct node *, int bits, const float *in, size_t count, void *out);
    void (*dequantise)(struct node *, int bits, const void *in, size_t count, float *out);
    bool (*arithmetic)(struct node *, double floats);
    void (*update)(struct node *, float *model, const float *sum, int contributors, size_t first, size_t count, uint64_t step);
    void (*span)(struct node *, enum span_kind, uint64_t round, int64_t begin_ns, int64_t end_ns, int peer, uint64_t bytes);
    void (*gradient)(struct node *, const struct gradient_record *);
    void (*round_finished)(struct node *, uint64_t round);
    void (*finished)(struct node *);
    void (*fail)(struct node *, const char *sentence);
    struct rng (*random)(struct node *, enum rng_purpose purpose, uint32_t which_node);
    const float *(*initial_model)(struct node *);
    void (*batch)(struct node *, uint64_t step, float *pixels, uint8_t *labels);
};

/* ---- what schemes call ---- */
static inline void *node_state(struct node *node)
{
    return node->state;
}
/* Nanoseconds since the trial's start. */
static inline int64_t node_now(struct node *node)
{
    return node->world->now(node);
}
/* Zeroed memory, 64-byte aligned, for the trial's life or, where it sweeps message sizes, this size's; in prepare_node() only. */
static inline void *node_alloc(struct node *node, size_t bytes)
{
    return node->world->alloc(node, bytes);
}
/* The common initial model (parameter_count floats; the same bits on every node, from the trial's seed); NULL when values are not
 * carried or the workload is synthetic. */
static inline const float *node_initial_model(struct node *node)
{
    return node->world->initial_model(node);
}

/* The samples of a mini-batch that no worker owns, for schemes flagged SCHEME_NEEDS_BATCHES, on servers: mini-batch `step` as a
 * single worker with all the data would draw it. pixels: batch x inputs floats, 0 to 1; labels: batch. Writes nothing where values
 * are not carried. */
static inline void node_batch(struct node *node, uint64_t step, float *pixels, uint8_t *labels)
{
    node->world->batch(node, step, pixels, labels);
}

/* Starts a task; results come by on_task(). One task at a time a node. Returns its generation, never 0. */
static inline uint32_t node_compute(struct node *node, const struct task *task)
{
    return node->world->compute(node, task);
}
/* Its results, if any still come, are discarded and counted; the node may start another task at once. */
static inline void node_cancel(struct node *node, uint32_t generation)
{
    node->world->cancel(node, generation);
}

static inline struct buffer *node_buffer(struct node *node, size_t bytes)
{
    return node->world->buffer(node, bytes);
}
/* A buffer around the scheme's own memory; its bytes must stay unchanged until on_sent(). */
static inline struct buffer *node_wrap(struct node *node, void *memory, size_t bytes, intptr_t tag)
{
    return node->world->wrap(node, memory, bytes, tag);
}
static inline void node_hold(struct node *node, struct buffer *buffer)
{
    node->world->hold(node, buffer);
}
static inline void node_release(struct node *node, struct buffer *buffer)
{
    node->world->release(node, buffer);
}
/* Queues length bytes of the buffer from offset on. Takes over one reference of the caller's (buffer NULL: a header alone); hold
 * first to send twice. Order is kept per destination. A send is never withdrawn. */
static inline void node_send(struct node *node, int destination, const struct message_header *header, struct buffer *buffer,
                             size_t offset, size_t length)
{
    node->world->send(node, destination, header, buffer, offset, length);
}
/* Shows the messages from `source` that were put off with LAND_LATER to on_header() again (source -1: from all). */
static inline void node_retry(struct node *node, int source)
{
    node->world->retry(node, source);
}

/* A new timer's number; in prepare_node() only. */
static inline int node_timer(struct node *node)
{
    return node->world->timer(node);
}
static inline void node_arm(struct node *node, int timer, int64_t deadline_ns)
{
    node->world->arm(node, timer, deadline_ns);
}
static inline void node_disarm(struct node *node, int timer)
{
    node->world->disarm(node, timer);
}

/* Vector operations, float32. out may equal an input. Where values are not carried a vector may be NULL: the operation takes its
 * time in a world whose clock is not real, and does nothing. They record no span: wrap them with node_span(). */
static inline void node_add(struct node *node, float *out, const float *a, const float *b, size_t count)
{
    node->world->add(node, out, a, b, count);
}
static inline void node_scale(struct node *node, float *out, float factor, const float *a, size_t count)
{
    node->world->scale(node, out, factor, a, count);
}
/* y += factor x */
static inline void node_axpy(struct node *node, float *y, float factor, const float *x, size_t count)
{
    node->world->axpy(node, y, factor, x, count);
}
static inline void node_copy(struct node *node, float *out, const float *in, size_t count)
{
    node->world->copy(node, out, in, count);
}
static inline double node_dot(struct node *node, const float *a, const float *b, size_t count)
{
    return node->world->dot(node, a, b, count);
}
/* Uniform quantisation to 1..8 bits with one float scale in front: returns the bytes written, ceil(count x bits / 8) + 4. */
static inline size_t node_quantise(struct node *node, int bits, const float *in, size_t count, void *out)
{
    return node->world->quantise(node, bits, in, count, out);
}
static inline void node_dequantise(struct node *node, int bits, const void *in, size_t count, float *out)
{
    node->world->dequantise(node, bits, in, count, out);
}
/* Before arithmetic of the scheme's own that takes as long as adding so many floats: a clock that is not real goes on by it. False:
 * values are not carried, and it need not be done. */
static inline bool node_arithmetic(struct node *node, double floats)
{
    return node->world->arithmetic(node, floats);
}
/* The model step for floats first .. first+count-1: model -= learning_rate / contributors x sum. Synthetic workloads have no model
 * (pass NULL): the world then checks samples of sum / contributors against the exact mean. `model` and `sum` point to the whole
 * vectors. */
static inline void node_update(struct node *node, float *model, const float *sum, int contributors, size_t first, size_t count,
                               uint64_t step)
{
    node->world->update(node, model, sum, contributors, first, count, step);
}

/* Spans of compute, send and receive are recorded by the world, under the round that this node is in (as many as it has finished);
 * schemes record reduce, apply and wait. */
static inline void node_span(struct node *node, enum span_kind kind, uint64_t round, int64_t begin_ns, int64_t end_ns, int peer,
                             uint64_t bytes)
{
    node->world->span(node, kind, round, begin_ns, end_ns, peer, bytes);
}
/* What became of a gradient. */
static inline void node_gradient(struct node *node, const struct gradient_record *record)
{
    node->world->gradient(node, record);
}
/* This node holds the new model of `round` (from 0) now. The world stamps the time and takes the snapshot to evaluate where one is
 * due. Rounds come in order and each once; with SCHEME_ROUNDS_AT_SERVER workers may leave some out. */
static inline void node_round_finished(struct node *node, uint64_t round)
{
    node->world->round_finished(node, round);
}
/* This node has nothing more to do; it still answers messages. */
static inline void node_finished(struct node *node)
{
    node->world->finished(node);
}
/* The trial cannot go on: a sentence. */
static inline void node_fail(struct node *node, const char *sentence)
{
    node->world->fail(node, sentence);
}
/* The keyed stream of this purpose: own (which_node = node->index) or common to all nodes (RNG_ALL_NODES). */
static inline struct rng node_random(struct node *node, enum rng_purpose purpose, uint32_t which_node)
{
    return node->world->random(node, purpose, which_node);
}

#endif
