/* agents/emulated_internal.h: what world_emulated.c, emulated_messages.c, emulated_losses.c, emulated_sizes.c and
 * emulated_compute.c share.
 *
 * Theory of operation. A scheme's callbacks are never nested. Every call into the scheme stands between emulated_enter() and
 * emulated_leave(); what happens meanwhile and would call the scheme again (a send that is over, a retry, a lost peer) is put on a
 * list, and emulated_leave() works the lists off, one call at a time, until they are empty. */
#ifndef LAGGARD_AGENTS_EMULATED_INTERNAL_H
#define LAGGARD_AGENTS_EMULATED_INTERNAL_H

#include "agents/buffer_pool.h"
#include "agents/recorder.h"
#include "agents/workload.h"
#include "agents/world_emulated.h"
#include "base/loop.h"

enum { LATER_MESSAGES_MAX = 64, TIMERS_MAX = 64 };
#define LATER_BYTES_MAX (UINT64_C(64) << 20)

struct later { /* a message that was put off */
    struct message message;
    struct later *next;
};
struct inbox {                 /* one a peer */
    enum landing_kind landing; /* of the message being received */
    bool receiving;
    struct buffer *buffer; /* of the message being received, in LAND_POOL and LAND_LATER */
    struct later *first, **last;
    uint32_t later_count;
    uint64_t later_bytes;
    bool held; /* the bound is reached: the transport holds the next one */
    bool retry, lost, told;
    bool fenced; /* it is through with the present message size: what comes now is of the next */
};

struct sent {
    struct buffer *buffer;
    int destination;
};

struct node_timer {
    struct emulated *emulated;
    int number;
    struct timer *timer;
};

struct compute;

struct emulated {
    struct node node; /* first: struct node * of the scheme */
    struct emulated_options options;
    const struct scheme *scheme;
    struct transport *transport;
    struct compute *compute;
    struct buffer_pool pool;
    struct optimiser optimiser;
    struct timer *start_timer;
    int64_t start_ns;                                   /* of the trial: of its first message size */
    struct arena *size_arena;                           /* the scheme's memory, for one message size */
    int size;                                           /* position of the present one */
    int fences_leaving;                                 /* our fences that the kernel has not taken yet */
    bool settling;                                      /* between two sizes: waits until nothing is under way */
    bool reading;                                       /* transport_start() has been called */
    bool started, stopped, failed, finished, evaluates; /* all but failed and evaluates: the present size */
    bool inside, draining;
    struct inbox *inboxes; /* [nodes] */
    struct later *free_later;
    struct sent *sent; /* a ring: sends that are over and of which the scheme is not told yet */
    size_t sent_first, sent_count, sent_capacity;
    bool retries, losses; /* some inbox has a retry, a loss to tell */
    struct node_timer timers[TIMERS_MAX];
    int timer_count;
    struct node_counters counters;
};

static inline struct emulated *emulated_of(struct node *node)
{
    return (struct emulated *)node;
}
static inline int64_t emulated_relative(const struct emulated *emulated, int64_t clock_ns)
{
    return clock_ns - emulated->start_ns;
}
/* The round that this node is in; what happens after its last round belongs to that one. */
static inline uint32_t emulated_round(const struct emulated *emulated)
{
    const struct recorder *recorder = emulated->options.recorder;
    return recorder->next_round < recorder->end_round ? recorder->next_round : recorder->end_round - 1;
}

/* A round as the scheme counts it, from 0 for each message size, among all rounds of the trial. What it files behind the last round
 * is left there, unless the next size has that number. */
static inline uint64_t emulated_round_of(const struct emulated *emulated, uint64_t round)
{
    const struct recorder *recorder = emulated->options.recorder;
    uint64_t counted = recorder->first_round + round;
    bool another = emulated->size + 1 < emulated->options.size_count;
    return another && counted >= recorder->end_round ? recorder->end_round - 1 : counted;
}

/* emulated_losses.c */
bool emulated_tell_losses(struct emulated *emulated);
void emulated_on_lost(void *context, int peer, bool violation, const struct err *reason);
/* emulated_sizes.c */
bool emulated_talks(const void *emulated, int node, int peer);             /* for the transport */
uint64_t emulated_longest_message(const struct emulated_options *options); /* that a peer may send, bytes */
void emulated_prepare(struct emulated *emulated);                          /* the scheme's memory for the present size */
enum { FENCE_CHANNEL = UINT16_MAX };                                       /* of the world's own messages; schemes count from 0 */
enum transport_landing emulated_take_fence(struct emulated *emulated, const struct message *message);
void emulated_look_settled(struct emulated *emulated); /* goes on to the next size, if nothing is under way any more */
void emulated_open_size(struct emulated *emulated);    /* the scheme has started: what waits for it may come */
/* emulated_messages.c */
void emulated_settle(struct emulated *emulated); /* tells what waits, unless a callback is running */
void emulated_enter(struct emulated *emulated);
void emulated_leave(struct emulated *emulated);
void emulated_fail(struct emulated *emulated, const char *format, ...) __attribute__((format(printf, 2, 3)));
extern const struct transport_events emulated_transport_events;
void emulated_send(struct node *node, int destination, const struct message_header *header, struct buffer *buffer, size_t offset,
                   size_t length);
void emulated_retry(struct node *node, int source);

/* emulated_compute.c */
struct compute *emulated_compute_new(struct emulated *emulated, struct err *err);
int emulated_compute_thread(struct compute *compute, struct err *err);
void emulated_compute_free(struct compute *compute);
uint32_t emulated_compute_start(struct node *node, const struct task *task);
void emulated_compute_cancel(struct node *node, uint32_t generation);
/* Forgets the task in progress. False: real work runs, in memory that must stay. */
bool emulated_compute_forget(struct compute *compute);
double emulated_compute_mean_ns(const struct compute *compute);

#endif
