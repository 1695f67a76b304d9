/* netem/relay_internal.h: the relay's parts: packet ring, heap of deadlines, lateness buckets, wake-up bias. Pure logic but for
 * relay_ring_open and relay_bias_open, so that tests/unit/test_relay.c can drive it without a device. */
#ifndef LAGGARD_NETEM_RELAY_INTERNAL_H
#define LAGGARD_NETEM_RELAY_INTERNAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "netem/impairment.h"
#include "netem/relay.h"

struct err;

/* --- packet ring (relay_ring.c) ----------------------------------------------------------------------------------------------- */

enum { RELAY_PACKET_MAX = 66 * 1024 }; /* virtio_net_hdr + Ethernet + the largest GSO packet, rounded up */

struct relay_packet {
    int64_t deadline_ns;
    uint32_t length;
    uint32_t held_ns;     /* of that, for the link's rate and for the packet in front */
    unsigned char data[]; /* virtio_net_hdr, then the frame */
};

/* First in, first out, of packets of different sizes that lie one after the other in one piece of memory. A packet begins below
 * `capacity` and may end in the margin of RELAY_PACKET_MAX bytes behind it, so none is ever split; an empty ring starts again at 0,
 * so that a link with little in flight stays in cache. */
struct relay_ring {
    unsigned char *memory;
    size_t mapped; /* bytes of memory; 0: memory belongs to someone else */
    size_t capacity;
    size_t head, tail; /* the next packet goes to head, the oldest lies at tail */
    uint64_t count;
};

/* How many bytes a direction needs: what the most of its rate can bring during the most of its delay and RELAY_SLACK_NS more, with
 * the cost of a header for each of the smallest packets that the relay could carry in that time. */
size_t relay_ring_capacity(const struct relay_direction *direction);
int relay_ring_open(struct relay_ring *ring, size_t capacity, size_t prefault, struct err *err);
void relay_ring_init(struct relay_ring *ring, void *memory, size_t capacity); /* memory: capacity + RELAY_RING_MARGIN bytes */
void relay_ring_close(struct relay_ring *ring);
enum { RELAY_RING_MARGIN = RELAY_PACKET_MAX + 64 };

struct relay_packet *relay_ring_reserve(struct relay_ring *ring); /* room for RELAY_PACKET_MAX; NULL: full. Not yet in the ring */
void relay_ring_commit(struct relay_ring *ring, uint32_t length, int64_t deadline_ns);
struct relay_packet *relay_ring_oldest(const struct relay_ring *ring);                                    /* NULL: empty */
struct relay_packet *relay_ring_behind(const struct relay_ring *ring, const struct relay_packet *packet); /* NULL: the newest */
void relay_ring_release(struct relay_ring *ring);                                                         /* drops the oldest */

/* --- when a packet leaves (relay_pace.c) -------------------------------------------------------------------------------------- */

struct relay_pace {
    int64_t delay_ns;
    double overhead_ns; /* of each packet's frame */
    double byte_ns;     /* 0: no rate */
    int64_t ahead_ns;   /* so much before the transmitter is done with a packet it leaves */
    int64_t backlog_most_ns;
    int64_t busy_until_ns; /* the virtual transmitter's */
    int64_t last_ns;       /* the deadline of the packet in front */
    uint32_t held_ns;      /* of the last deadline, what the rate and the packet in front added */
};
struct relay_pace relay_pace_for(const struct relay_direction *direction);
/* Another rate and delay from the next packet on, which leaves behind the one in front all the same. Where the rate is higher now,
 * those that the lower one still holds up are let go at the higher one, in order. */
void relay_pace_change(struct relay_pace *pace, const struct relay_direction *direction, struct relay_ring *ring, int64_t now_ns);
/* arrival + delay + jitter - early, later where the link's rate asks for it; never before now (no packet leaves before it came) or
 * before the packet in front. */
int64_t relay_pace_deadline_ns(struct relay_pace *pace, int64_t now_ns, int64_t arrival_ns, int64_t early_ns, int64_t jitter_ns,
                               uint32_t wire_bytes);
/* What a packet (virtio_net_hdr and frame, longer than the header) is on the wire: each segment with its own headers, as tbf
 * counts. */
uint32_t relay_wire_bytes(const unsigned char *packet, uint32_t length);

/* --- one direction (relay_line.c) --------------------------------------------------------------------------------------------- */

enum { RELAY_VNET_HEADER = 10 }; /* struct virtio_net_hdr, in front of each frame */
struct relay_line {
    int in, out;
    bool blocked;         /* the port refused a write; waiting until it is writable */
    bool down;            /* every packet that comes is lost */
    int64_t last_read_ns; /* silence so far is how long the receiver has been asleep */
    struct relay_pace pace;
    struct relay_ring ring;
    struct impairment impairment;
    struct relay_direction asked;
    struct relay_counters *counters;
};
struct relay_arrival {        /* of a packet that has just been read */
    int64_t now_ns, early_ns; /* early: how long ago it really came */
    int64_t receiver_ns;      /* what the receiver will take to wake up */
    uint32_t length;
};
/* Takes the packet, which lies where the ring's next one goes: loses, duplicates, corrupts, sends at once or keeps it, as the
 * line's impairments will have it. `spare` has room for RELAY_PACKET_MAX. */
void relay_line_take(struct relay_line *line, struct relay_packet *packet, const struct relay_arrival *arrival,
                     unsigned char *spare);
void relay_line_count(struct relay_line *line, uint32_t length, int64_t late_ns); /* a packet was written */
void relay_line_change(struct relay_line *line, const struct relay_direction *to, bool down, int64_t now_ns);

/* --- changes while packets flow (relay_control.c) ----------------------------------------------------------------------------- */

struct relay_control_message { /* the order, and the answer: what the line then has */
    int line;                  /* 2 * link + direction */
    bool down;
    struct relay_direction direction;
};
enum { RELAY_CONTROL_NOTHING = -1, RELAY_CONTROL_CLOSED = -2 };
/* The control descriptor is readable: carries out one order and answers it. Returns the line that has changed. */
int relay_control_serve(int control_fd, struct relay_line *lines, int line_count);

/* --- heap of the directions that hold packets, by the deadline of their oldest one (relay_heap.c) ----------------------------- */

struct relay_heap {
    int *direction;       /* [count], heap order */
    int *position;        /* by direction; -1: not in the heap */
    int64_t *deadline_ns; /* by direction */
    int count;
};
int relay_heap_open(struct relay_heap *heap, int direction_count, struct err *err);
void relay_heap_close(struct relay_heap *heap);
void relay_heap_set(struct relay_heap *heap, int direction, int64_t deadline_ns); /* inserts, or moves */
void relay_heap_remove(struct relay_heap *heap, int direction);                   /* no-op when it is not there */
static inline int relay_heap_first(const struct relay_heap *heap)
{
    return heap->count > 0 ? heap->direction[0] : -1;
}

/* --- lateness (relay_lateness.c) ---------------------------------------------------------------------------------------------- */

unsigned relay_lateness_bucket(int64_t lateness_ns);
int64_t relay_lateness_bucket_end_ns(unsigned bucket); /* no lateness in the bucket is larger */

/* --- wake-up bias (relay_bias.c) ---------------------------------------------------------------------------------------------- */

enum { RELAY_IDLE_CLASSES = 12, RELAY_BIAS_MAX_NS = 200000 };

/* How late a sleeping thread wakes, by how long it slept: class c holds sleeps of 32 us x 2^c to twice that. The longer a processor
 * has been idle, the longer it takes to come back. */
struct relay_bias {
    int64_t timer_ns[RELAY_IDLE_CLASSES];   /* from the timer's time to the thread's first instruction */
    int64_t arrival_ns[RELAY_IDLE_CLASSES]; /* from another thread's write to the same; also the receiver's */
    int arrivals[RELAY_IDLE_CLASSES];       /* samples learned since the first packet, as far as they matter */
    int ours, theirs;                       /* sockets; `ours` becomes readable when there is something to learn of arrivals */
    pthread_t thread;
    bool running;
};
unsigned relay_idle_class(int64_t slept_ns);
/* Measures for about 11 ms, starts the thread that the rest is learned from. `bias` must stay where it is until it is closed. The
 * calling thread must have its priority and slack already. */
int relay_bias_open(struct relay_bias *bias, struct err *err);
void relay_bias_close(struct relay_bias *bias);
/* A timer that was set `slept_ns` ahead was `late_ns` late: moves the estimate by a sixteenth of the difference. */
void relay_bias_learn_timer(struct relay_bias *bias, int64_t slept_ns, int64_t late_ns);
/* `ours` is readable, and woke us at woken_ns out of a sleep of slept_ns (0: something else did): falls by an eighth of the
 * difference, the first few times by more, and climbs more slowly; estimates for longer sleeps that none came out of move, too. */
void relay_bias_learn_arrival(struct relay_bias *bias, int64_t slept_ns, int64_t woken_ns);
int64_t relay_bias_arrival_ns(const struct relay_bias *bias, int64_t slept_ns);

#endif
