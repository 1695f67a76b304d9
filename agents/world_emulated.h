/* agents/world_emulated.h: the world of real time: one node in this process, its peers behind TCP connections, CLOCK_MONOTONIC.
 *
 *     emulated_new()      the node, its connections' listening socket, the scheme's memory
 *     transport_connect() on emulated_transport(); `connected` is called
 *     emulated_start()    at that moment scheme->start(); from then on messages are read
 *     `finished`          the scheme has nothing more to do; messages are still answered
 *     emulated_next_size() where message sizes are swept, and every node has finished; `sized` is called; then emulated_start()
 *     emulated_stop()     the trial is over: scheme->stop(); nothing is called any more
 */
#ifndef LAGGARD_AGENTS_WORLD_EMULATED_H
#define LAGGARD_AGENTS_WORLD_EMULATED_H

#include "agents/node.h"
#include "agents/optimiser.h"
#include "agents/transport.h"
#include "schemas/settings.h"

struct arena;
struct emulated;
struct err;
struct loop;
struct recorder;
struct workload;

struct emulated_events {
    void (*connected)(void *context);
    void (*round_finished)(void *context, uint64_t rounds_done);
    void (*finished)(void *context);
    void (*sized)(void *context);                        /* all is as before a start, for the next message size */
    void (*failed)(void *context, const char *sentence); /* the trial cannot go on; called once */
    /* A peer was lost in a scheme that does not survive this. */
    void (*peer_lost)(void *context, int peer, const char *sentence);
    void (*thread_begins)(void *context); /* on the compute thread, first of all; may be NULL */
};
struct emulated_options {
    struct loop *loop;
    struct arena *arena;
    const struct scheme_setup *setup; /* of the first message size; the others follow it */
    int size_count;                   /* 0: sizes are not swept, there is one */
    int index;
    const struct distribution *compute_time;
    double slow_factor;
    struct workload *workload;
    struct recorder *recorder;
    struct optimiser_settings optimiser;
    struct transport_options transport; /* all but loop, arena, talks, payload_max, events */
    const struct emulated_events *events;
    void *context;
};
struct emulated *emulated_new(const struct emulated_options *options, struct err *err);
void emulated_free(struct emulated *emulated); /* also ends the compute thread; NULL allowed */
/* The second thread, where gradients are real: after privileges are dropped (they belong to threads). */
int emulated_start_thread(struct emulated *emulated, struct err *err);

struct node *emulated_node(struct emulated *emulated);
struct transport *emulated_transport(struct emulated *emulated);
/* Takes the snapshot of the initial model, where this node is the one that evaluates. */
void emulated_evaluate_here(struct emulated *emulated);
void emulated_start(struct emulated *emulated, int64_t start_ns);
int emulated_size(const struct emulated *emulated); /* position of the present message size, from 0 */
/* Ends the present message size: lets through and drops what is still under way from every peer, gives the scheme's memory back and
 * prepares the next size. There must be one; every node has to be finished. */
void emulated_next_size(struct emulated *emulated);
void emulated_peer_lost(struct emulated *emulated, int peer); /* by the controller's word */
void emulated_stop(struct emulated *emulated);
/* Fills what the world counts: all but TCP timeouts and memory. */
void emulated_counters(const struct emulated *emulated, struct node_counters *counters);
uint64_t emulated_rounds_done(const struct emulated *emulated);

#endif
