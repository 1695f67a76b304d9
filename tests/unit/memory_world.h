/* tests/unit/memory_world.h: a world for unit tests that carries all nodes in one process, hostile within the contract of
 * agents/node.h.
 *
 * Starts, computing, deliveries and on_sent() come at seeded random moments; only the order between one source and one
 * destination is kept. What the contract forbids is checked: callbacks nested in callbacks, memory taken outside of
 * prepare_node(), a sent buffer changed before on_sent(), a landing place touched before on_message(), a model changed while a
 * gradient is computed at it. A breach fails the test at once. Memory that is not written yet holds NaNs, so that reading it
 * early shows in the results. */
#ifndef LAGGARD_TESTS_UNIT_MEMORY_WORLD_H
#define LAGGARD_TESTS_UNIT_MEMORY_WORLD_H

#include "agents/node.h"

struct memory_world;

enum memory_world_sent {
    SENT_ANY_TIME, /* on_sent() independent of the receiver, as with a kernel's buffers */
    SENT_ON_TAKE,  /* only after the receiver took the payload: no buffer anywhere */
};

struct memory_world_settings {
    const struct scheme_setup *setup;
    uint64_t seed;
    bool immediate_compute; /* a gradient takes no time; else a random one */
    enum memory_world_sent sent;
    uint32_t later_limit;       /* messages put off a connection before its sender is held back; 0: the first one holds it back */
    uint32_t slow_first_node;   /* node 0 takes messages so many times later than others; 0: as they do */
    const float *initial_model; /* NULL: synthetic */
    void *context;
    void (*gradient)(void *context, int worker, uint64_t step, const float *model, float *gradient);
    /* How many samples a TASK_SAMPLES does before its deadline, and the gradient is the mean of; of none nothing is written. */
    int64_t (*samples)(void *context, int worker, uint64_t step);
    /* TASK_VALIDATION, on any node. NULL: no scheme asks for it. */
    void (*validation)(void *context, const float *model, float *gradient);
    double (*loss)(void *context, int worker, uint64_t step); /* of the same mini-batch. NULL: 0 */
    /* node_batch(). May be NULL where no scheme asks. */
    void (*batch)(void *context, uint64_t step, float *pixels, uint8_t *labels);
    /* Every node_gradient(). May be NULL. */
    void (*gradient_told)(void *context, int node, const struct gradient_record *record);
    /* A node_update() without a model. May be NULL. */
    void (*check)(void *context, int node, const float *sum, int contributors, size_t first, size_t count, uint64_t step);
};

/* Settings for every combination of the ways in which the world can be hostile, by the lowest four bits of the seed. */
struct memory_world_settings memory_world_hostile(const struct scheme_setup *setup, uint64_t seed);

struct memory_node_result {
    uint64_t sent_bytes, sent_messages;
    uint64_t
        rounds_finished; /* one more than the last; in order, each once but for workers of schemes whose rounds are the server's */
    uint64_t spans[SPAN_COUNT];
    uint64_t gradients[GRADIENT_FATE_COUNT];
    bool finished;
    const float *model; /* model_to_evaluate() at the end */
};

/* Allocates the nodes and runs prepare_node() on each. The setup, and what its prepare() made, are copied: neither has to live as
 * long as the world, which looks at them until memory_world_cleanup(). */
struct memory_world *memory_world_new(const struct memory_world_settings *settings);
/* Until nothing is left to happen, or a node failed. */
void memory_world_run(struct memory_world *world);
struct memory_node_result memory_world_result(struct memory_world *world, int node);
const char *memory_world_failure(const struct memory_world *world); /* the first node_fail()'s sentence, or NULL */
/* Buffers, from the pool or wrapped, whose last reference was not given back. */
uint64_t memory_world_buffers_out(const struct memory_world *world);
/* Puts a message of the test's own on the way, as if `source` had sent it now. */
void memory_world_inject(struct memory_world *world, int source, int destination, const struct message_header *header,
                         const void *payload, size_t length);
void memory_world_cleanup(struct memory_world **world);

#endif
