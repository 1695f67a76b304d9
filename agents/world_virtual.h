/* agents/world_virtual.h: the world of a virtual clock: all nodes of a cell in this process, links as servers of a queue, no
 * network, no privilege. The same settings and seed give the same results to the bit, on every machine and in every build.
 *
 *     virtual_new()   the nodes, the scheme's memory
 *     virtual_run()   until all nodes have finished, or one failed, or nothing is left to happen
 *     virtual_node()  what each node wrote down
 */
#ifndef LAGGARD_AGENTS_WORLD_VIRTUAL_H
#define LAGGARD_AGENTS_WORLD_VIRTUAL_H

#include "agents/node.h"
#include "agents/optimiser.h"
#include "schemas/settings.h"

struct arena;
struct err;
struct recorder;
struct virtual_world;
struct workload;

/* ---- the network ---- */
struct virtual_end {         /* one direction of one link, named by its sending end */
    int far;                 /* the place where it leads */
    double bytes_per_second; /* of payload; INFINITY: not limited */
    int64_t delay_ns;
    uint64_t queue_bytes; /* of payload: what may wait in front of it; 0: any */
    bool impaired;        /* impair() is asked about it */
};
struct virtual_fate { /* of one segment's packets on one end */
    int lost;         /* packets that have to be sent again */
    int64_t extra_ns; /* jitter: to be added to the delay; may be negative */
};
struct virtual_network {
    const struct virtual_end *ends;
    int end_count;
    int packet_bytes;        /* payload of a full packet */
    int64_t least_repeat_ns; /* TCP sends again after this at the earliest where nothing behind a loss tells of it */
    /* The sending end that leads from a place towards a host; -1: there is no way. Hosts are places 0 .. nodes - 1. */
    int (*next_end)(const void *context, int place, int host);
    void (*impair)(void *context, int end, int packets, struct virtual_fate *fate); /* NULL: no end is impaired */
    void *context;
};
struct virtual_end_counters {
    uint64_t packets, bytes; /* payload */
    uint64_t queue_drops, lost;
};

/* ---- the world ---- */
struct virtual_options {
    struct arena *arena;
    const struct scheme_setup
        *setup; /* its reduce_ns_per_byte is charged to the nodes' clocks, half of its message_ns to either end's */
    const struct virtual_network *network;
    const struct distribution *compute_time;
    const double *slow_factors; /* one a worker; NULL: all 1 */
    const struct workload_settings *workload;
    int dataset_fd;       /* as for workload_new() */
    size_t segment_bytes; /* how much of a flow goes at a turn; 0: a 64th of the message, from 10 packets to 1 MiB */
    uint32_t evaluate_every;
    bool record_spans;
    bool without_gradients; /* their fates are not recorded */
    int64_t deadline_ns;    /* of the virtual clock; 0: none */
    /* Asked now and then, with the rounds that node 0 (or the first server) has done: false ends the run. NULL: never asked. */
    bool (*go_on)(void *context, uint32_t rounds_done);
    /* Called at the time of virtual_alarm(), and after each of these rounds; no callback of the scheme is running then, and the
     * world may be changed. NULL: never. */
    void (*alarm)(void *context, uint32_t rounds_done);
    void *context;
};
struct virtual_node_view {
    struct node *node;
    struct recorder *recorder;
    struct workload *workload;
    const struct node_counters *counters;
    int64_t lost_ns; /* when it crashed; -1: it did not */
};

/* Refuses (ERR_USAGE, ERR_HOST) what has no data or no memory. */
struct virtual_world *virtual_new(const struct virtual_options *options, struct err *err);
/* 0; or ERR_TRIAL with the scheme's sentence, ERR_INTERRUPTED when go_on() said so. */
int virtual_run(struct virtual_world *world, struct err *err);
int64_t virtual_now_ns(const struct virtual_world *world);
uint64_t virtual_moments(const struct virtual_world *world); /* that have been */
struct virtual_node_view virtual_node(struct virtual_world *world, int node);
const struct virtual_end_counters *virtual_end_counters(const struct virtual_world *world, int end);
/* What a world of that many nodes takes beside what its scheme holds, before spans. */
size_t virtual_bytes_a_node(void);
/* ---- what happens from outside, in alarm() or before the run ---- */
void virtual_alarm(struct virtual_world *world, int64_t at_ns); /* the last one counts; INT64_MAX: none */
int64_t virtual_clock_ns(const struct virtual_world *world);
/* Segments that come to the end from now on find it so. An end that is down loses everything, and TCP tries again, ever more
 * seldom. */
void virtual_change(struct virtual_world *world, int end, const struct virtual_end *then, bool down);
/* Hosts of different groups do not reach each other; NULL: all do. The array must stay. */
void virtual_part(struct virtual_world *world, const int *groups);
void virtual_pause(struct virtual_world *world, int node, bool pauses);  /* what comes to the node meanwhile waits */
void virtual_crash(struct virtual_world *world, int node);               /* the others are told */
void virtual_abandon(struct virtual_world *world, const char *sentence); /* virtual_run() fails with it */

void virtual_free(struct virtual_world *world); /* NULL allowed; the arena stays */

#endif
