/* agents/virtual_internal.h: what world_virtual.c (life), virtual_operations.c, virtual_links.c (turns, queues, hops),
 * virtual_messages.c (sends and deliveries) and virtual_compute.c share.
 *
 * Theory of operation. One heap holds all that is still to happen; its earliest moment is taken, the clock jumps there, and at most
 * one node's callback runs. A node is a processor of its own, with a clock of its own: what a callback charges (vector operations,
 * messages) moves that clock on, and what comes meanwhile is handled when it is done, in the order in which it came. So a callback
 * begins at the later of the moment and the node's clock, and what it sends leaves at the node's clock.
 *
 * Flows. What one node sends to one other is a flow: its parcels leave in order and are delivered in order. A sender's flows take
 * turns on its link, one segment a turn. State of a pair of nodes exists once they talk.
 *
 * Links. A sending end serves segments in the order in which they come to it, at the payload rate. A segment's packets travel one
 * by one: it begins on the next link one packet's time after it began on the one before, but ends there no sooner than one packet's
 * time after its last packet has come. It keeps the link busy for its own time alone, so that segments which trickle in from slower
 * links share it as packets do. One moment a link passed, and one for the departure.
 *
 * Callbacks are never nested: each runs from a moment, and retries that it asks for follow it. */
#ifndef LAGGARD_AGENTS_VIRTUAL_INTERNAL_H
#define LAGGARD_AGENTS_VIRTUAL_INTERNAL_H

#include <assert.h>

#include "agents/buffer_pool.h"
#include "agents/grow.h"
#include "agents/moments.h"
#include "agents/recorder.h"
#include "agents/workload.h"
#include "agents/world_virtual.h"

enum moment_kind {
    MOMENT_START,  /* subject: node */
    MOMENT_TASK,   /* node, generation */
    MOMENT_TIMER,  /* timer, arming */
    MOMENT_TURN,   /* end; detail: the parcel that has left it, or NONE */
    MOMENT_DEPART, /* parcel: its sender, which was paused, is told that it has left */
    MOMENT_HOP,    /* segment: its first packet has come to a place on its way */
    MOMENT_ARRIVE, /* segment: its last packet has come to the host */
    MOMENT_LOSS,   /* node: it hears that another one, detail, is lost */
    MOMENT_ALARM,  /* alarm()'s; detail: the arming, or NONE: a round is over */
    MOMENT_COUNT
};
static_assert(MOMENT_COUNT <= 1 << MOMENT_KIND_BITS, "raise MOMENT_KIND_BITS");
#define NONE UINT32_MAX

struct parcel { /* a message on its way */
    struct message_header header;
    struct buffer *buffer;  /* the sender's, until it has departed */
    struct buffer *carried; /* what travels from then on; NULL: values are not carried, or there are none */
    size_t offset, length;
    size_t unsent, missing; /* bytes */
    int64_t ready_ns;       /* the sender's clock when it was sent */
    int64_t begin_ns;       /* its first segment began on the first link */
    int64_t first_ns;       /* its first packet came; -1: not yet */
    int source, destination;
    uint32_t flow, next; /* the next one of the flow; of those put off; of those that are free */
    bool came;           /* all of it */
    bool landed;         /* delivered before its paused sender was told of its departure, which frees it */
};
struct flow {
    int source, destination, end;
    uint32_t first, last, sending; /* parcels: not delivered; of these, the first that has bytes left to send */
    uint32_t next;                 /* of the flows that wait for their turn at the same end */
    bool waiting;
};
struct segment {
    uint32_t parcel, bytes; /* parcel: the next free one while not used */
    int place;
    bool repeated;      /* was dropped once for want of room */
    uint8_t refused;    /* how often the end was down, or lost all that was sent again */
    int64_t refused_ns; /* when it was for the first time */
    int64_t last_ns;
};
struct end {
    struct virtual_end asked;
    double ns_per_byte;
    int64_t packet_ns;       /* of a full packet */
    int64_t free_ns, out_ns; /* when all that it has taken has gone; when the first packet of the newest segment comes out */
    uint32_t first, last;    /* flows that wait for their turn */
    uint32_t flow;           /* whose turn it is, or was */
    bool busy;               /* it is the turn of a flow of its own place */
    bool down;
    struct virtual_end_counters counters;
};

struct virtual_compute {
    struct task task;
    int64_t begin_ns, samples;
    double whole_ns, loss;
    uint32_t generation, round;
    int delivered; /* parts */
    bool active;
};
struct virtual_node {
    struct node node; /* first: struct node * of the scheme */
    struct virtual_world *world;
    int64_t clock_ns;
    struct virtual_compute compute;
    struct workload *workload; /* shared by all nodes, unless each has synthetic values of its own */
    struct recorder recorder;
    float *velocity;
    uint32_t flow;                    /* the one last sent on */
    uint32_t later_first, later_last; /* parcels that were put off */
    int retry;                        /* RETRY_NONE, RETRY_ALL or a source */
    int timer_first, timer_count;
    bool finished, evaluates, paused;
    int64_t lost_ns; /* -1: it lives */
    struct node_counters counters;
};
struct deferred { /* a moment of a paused node */
    int node;
    uint32_t kind, subject, detail;
};
enum { RETRY_NONE = -2, RETRY_ALL = -1 };
struct virtual_timer {
    int node, number;
    uint32_t arming;
    bool armed;
};
struct virtual_block {
    unsigned char *free;
    size_t left;
};

struct virtual_world {
    struct virtual_options options;
    const struct scheme *scheme;
    const struct virtual_network *network;
    struct moments moments;
    int64_t now_ns;
    uint64_t done; /* moments */
    struct virtual_node *nodes;
    int node_count, finished_count;
    struct end *ends;
    struct parcel *parcels;
    size_t parcel_count, parcel_capacity;
    uint32_t free_parcel;
    struct segment *segments;
    size_t segment_count, segment_capacity;
    uint32_t free_segment;
    struct flow *flows;
    size_t flow_count, flow_capacity;
    uint32_t *pairs; /* a hash table of flows by source and destination; NONE: free */
    size_t pair_capacity;
    struct virtual_timer *timers;
    size_t timer_count, timer_capacity;
    struct deferred *deferred;
    size_t deferred_count, deferred_capacity;
    const int *groups; /* NULL: every host reaches every other one */
    uint32_t alarm;    /* arming */
    struct buffer_pool pool;
    struct virtual_block small, large; /* for the scheme's memory */
    void *scratch;                     /* where the bytes of buffers would be if values were carried */
    size_t scratch_bytes;
    bool values, charges_update, preparing, failed, interrupted;
    bool troubled; /* some node is paused, or crashed */
    char failure[1024];
};

static inline struct virtual_node *virtual_of(struct node *node)
{
    return (struct virtual_node *)node;
}
static inline bool virtual_lives(const struct virtual_node *own)
{
    return own->lost_ns < 0;
}
static inline uint32_t virtual_round(const struct virtual_node *own)
{
    const struct recorder *recorder = &own->recorder;
    return recorder->next_round < recorder->options.rounds ? recorder->next_round : recorder->next_round - 1;
}
static inline void virtual_charge(struct virtual_node *own, double ns)
{
    own->clock_ns += (int64_t)(ns + 0.5);
}
/* A callback begins: the node's clock is at least the world's. */
static inline void virtual_enter(struct virtual_node *own)
{
    if (own->clock_ns < own->world->now_ns)
        own->clock_ns = own->world->now_ns;
}

/* world_virtual.c */
void virtual_fail(struct virtual_world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* virtual_operations.c */
extern const struct world virtual_operations;
void virtual_snapshot_if_due(struct virtual_node *own, uint64_t rounds_done, int64_t at_ns);

/* virtual_links.c */
void virtual_links_init(struct virtual_world *world);
void virtual_links_send(struct virtual_world *world, uint32_t parcel); /* the parcel has joined its flow */
void virtual_links_turn(struct virtual_world *world, int end);         /* the end's segment has gone: the next flow's turn */
void virtual_links_hop(struct virtual_world *world, uint32_t segment);
void virtual_links_free_segment(struct virtual_world *world, uint32_t segment);

/* virtual_messages.c */
void virtual_send(struct node *node, int destination, const struct message_header *header, struct buffer *buffer, size_t offset,
                  size_t length);
void virtual_retry(struct node *node, int source);
void virtual_release(struct node *node, struct buffer *buffer);
void virtual_departed(struct virtual_world *world, uint32_t parcel);
void virtual_tell_departed(struct virtual_world *world, uint32_t parcel);
void virtual_arrive(struct virtual_world *world, uint32_t segment);
void virtual_leave(struct virtual_node *own); /* a callback is over: what it asked to see again */

/* virtual_outside.c */
bool virtual_defer(struct virtual_world *world, const struct moment *moment); /* it belongs to a paused node: kept for later */
void virtual_told_of_loss(struct virtual_world *world, uint32_t node, uint32_t lost);
void virtual_sound_alarm(struct virtual_world *world, uint32_t arming);
void virtual_round_over(struct virtual_node *own);
uint32_t virtual_rounds_done(const struct virtual_world *world);

/* virtual_compute.c */
uint32_t virtual_compute_start(struct node *node, const struct task *task);
void virtual_compute_cancel(struct node *node, uint32_t generation);
void virtual_compute_due(struct virtual_world *world, uint32_t node, uint32_t generation);

#endif
