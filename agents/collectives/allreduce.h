/* agents/collectives/allreduce.h: what every all-reduce algorithm is to those who use it: a sub-machine of a scheme, on a channel
 * of its own, that leaves the sum of all members' vectors on every member.
 *
 *     allreduce_open(a, round, output)       from now on the other members' parts may land in `output`
 *     allreduce_contribute(a, input)         this member's vector is there: `input` is only read
 *     segment_ready(first, count) ...        these floats of `output` hold the sum of all members
 *     done()                                 all of `output` does, and `input` is needed no longer
 *
 * The members must run the same all-reduces in the same order. An algorithm is one file, one const struct allreduce_algorithm and
 * one row of the table in allreduce.c. Its own structure begins with a struct allreduce. */
#ifndef LAGGARD_AGENTS_COLLECTIVES_ALLREDUCE_H
#define LAGGARD_AGENTS_COLLECTIVES_ALLREDUCE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agents/compressors/compressor.h"
#include "agents/node.h"
#include "base/clock.h"

struct err;
struct allreduce;

/* What decides which messages there are. */
struct allreduce_shape {
    int size;                                  /* members */
    size_t count;                              /* floats */
    size_t segment_bytes;                      /* 0: automatic; algorithms without segments ignore it */
    int group;                                 /* hierarchical: members a group */
    struct compression compression;            /* of what encoded_allgather.c and low_rank_allreduce.c carry */
    const struct allreduce_algorithm *carrier; /* of the factors */
    const struct model_matrix *matrices;       /* of a vector of `count` floats; NULL: none are known */
    int matrix_count;
};

enum allreduce_parameter { ALLREDUCE_NO_PARAMETER, ALLREDUCE_SEGMENT, ALLREDUCE_GROUP }; /* what of its shape a user may choose */

struct allreduce_spec {
    const struct allreduce_algorithm *algorithm;
    struct allreduce_shape shape;
    uint16_t channel;
    int rank;
    const int *members; /* [size]: node indexes in the order of ranks; must live as long as the all-reduce */
    bool background;    /* the node does other work meanwhile: that its neighbours are heard late is no wait */
    void *context;
    void (*segment_ready)(struct node *node, void *context, size_t first, size_t count); /* may be NULL */
    void (*done)(struct node *node, void *context); /* may open and contribute to the next one */
};

/* What prediction knows of the network: one-way paths between ranks. */
struct allreduce_path {
    double latency_ns;
    double bytes_per_second; /* payload; INFINITY: not limited */
};
struct allreduce_network {
    struct allreduce_shape shape;
    struct allreduce_path (*path)(const void *context, int from, int to); /* ranks */
    const void *context;
    double message_ns;         /* a rank's messages leave at least this far apart */
    double reduce_ns_per_byte; /* gamma */
    int rounds;                /* all-reduces one after the other; 0: one */
    /* [rounds][size]: what each rank's gradient takes, from its own end of the round before on; NULL: nothing */
    const double *compute_ns;
};
static inline int allreduce_network_rounds(const struct allreduce_network *network)
{
    return network->rounds > 1 ? network->rounds : 1;
}

struct schedule;
struct allreduce_algorithm {
    const char *name;
    enum allreduce_parameter parameter;
    /* What one rank does, for algorithms that are carried out by schedule.c. */
    void (*plan)(const struct allreduce_shape *shape, int rank, struct schedule *schedule);
    /* Refuses a shape (ERR_USAGE with the allowed range). NULL: any. */
    int (*check)(const struct allreduce_shape *shape, struct err *err);
    /* In prepare_node() only; the structure begins with struct allreduce, whose members the caller fills in. */
    struct allreduce *(*create)(struct node *node, const struct allreduce_spec *spec);
    void (*open)(struct allreduce *allreduce, uint64_t round, float *output);
    void (*contribute)(struct allreduce *allreduce, const float *input);
    struct landing (*on_header)(struct allreduce *allreduce, const struct message *message);
    void (*on_message)(struct allreduce *allreduce, const struct message *message);
    void (*on_sent)(struct allreduce *allreduce, const struct buffer *buffer); /* its buffers carry allreduce_tag() */
    /* The rest is about one shape. talks: symmetric; NULL: everyone with everyone. */
    bool (*talks)(const struct allreduce_algorithm *self, const struct allreduce_shape *shape, int rank, int peer);
    /* One all-reduce leaves at most so many. */
    uint64_t (*spans)(const struct allreduce_algorithm *self, const struct allreduce_shape *shape, int rank);
    /* Payload of one all-reduce, exact. */
    uint64_t (*sent_bytes)(const struct allreduce_algorithm *self, const struct allreduce_shape *shape, int rank);
    /* When the last round is over for the last member, in each of several networks of one shape; ns, NAN where memory is short or
     * the members are too many to work it out. Networks of low-rank gradients have one round. */
    void (*predict_ns)(const struct allreduce_algorithm *self, const struct allreduce_network *networks, int count,
                       double *times_ns);
    const char *method; /* of that prediction: prediction.h */
};
extern const struct allreduce_algorithm allreduce_ring, allreduce_halving_doubling, allreduce_recursive_doubling,
    allreduce_binomial_tree, allreduce_double_binary_tree, allreduce_hierarchical, allreduce_direct, allreduce_naive;
/* Not of the table: they carry compressed gradients, and stand in the place of what a scheme names. A low-rank one takes a second
 * channel, the one above its own. */
extern const struct allreduce_algorithm allreduce_encoded, allreduce_low_rank;

struct allreduce {
    const struct allreduce_algorithm *algorithm;
    struct node *node;
    struct allreduce_spec spec;
};

/* The table. */
int allreduce_algorithm_count(void);
const struct allreduce_algorithm *allreduce_algorithm_at(int index);

struct allreduce *allreduce_new(struct node *node, const struct allreduce_spec *spec);
static inline void allreduce_open(struct allreduce *allreduce, uint64_t round, float *output)
{
    allreduce->algorithm->open(allreduce, round, output);
}
/* Once after each open. May call segment_ready() and done() (always so where no other member has to be heard). */
static inline void allreduce_contribute(struct allreduce *allreduce, const float *input)
{
    allreduce->algorithm->contribute(allreduce, input);
}

/* A buffer's tag: the channel in the upper half, so that a scheme knows whose on_sent() it is; the rest is the algorithm's. */
static inline intptr_t allreduce_tag(const struct allreduce *allreduce, uint32_t own)
{
    return (intptr_t)((uint64_t)allreduce->spec.channel << 32 | own);
}
static inline uint16_t allreduce_tag_channel(const struct buffer *buffer)
{
    return (uint16_t)((uint64_t)buffer->tag >> 32);
}

/* Fails the node with one sentence about a message that should not exist. */
struct landing allreduce_refuse(const struct allreduce *allreduce, const struct message *message, const char *why);

/* [first, first + count) cut into `pieces`, the remainder spread over the first ones. */
struct allreduce_range {
    size_t first, count;
};
struct allreduce_range allreduce_cut(size_t first, size_t count, size_t pieces, size_t piece);

static inline double allreduce_transmission_ns(double bytes, double bytes_per_second)
{
    return isinf(bytes_per_second) ? 0 : bytes / bytes_per_second * (double)NS_PER_S;
}

#endif
