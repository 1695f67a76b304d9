/* records.h: what an agent measured in one trial, as it travels to the controller and into the database. All times are nanoseconds
 * after the trial's start unless named otherwise. */
#ifndef LAGGARD_SCHEMAS_RECORDS_H
#define LAGGARD_SCHEMAS_RECORDS_H

#include <stdint.h>

#include "base/wire.h"
#include "schemas/names.h"

#define NO_PEER UINT32_MAX

enum span_flags {
    SPAN_OVERRUN = 1,   /* compute: the real work took longer than the drawn time */
    SPAN_CANCELLED = 2, /* compute: cancelled before it was done */
    SPAN_DISCARDED = 4, /* receive: the payload was not wanted */
};

struct span_record {
    uint32_t round; /* warm-up rounds included: 0 is the first of all */
    uint32_t kind;  /* enum span_kind */
    uint32_t peer;  /* node index; NO_PEER where there is none */
    uint32_t flags;
    int64_t begin_ns, end_ns;
    uint64_t bytes; /* payload of send and receive; bytes touched of reduce and apply */
};

struct round_record { /* one node's view of one round */
    uint32_t round;
    int64_t held_ns; /* when the node held the round's new model */
};

struct gradient_record { /* what became of one gradient, as its server saw it; of a cancelled one, as its worker did */
    uint32_t round;      /* the update in which it was used, or that was being collected when it came */
    uint32_t worker;
    uint64_t step;      /* the worker's own number of this mini-batch, from 0 */
    uint32_t staleness; /* updates between the model that it was computed at and the one that it met */
    uint32_t order;     /* of its arrival in this round, from 0 */
    uint32_t fate;      /* enum gradient_fate */
    int64_t arrived_ns; /* when all of it had come; cancelled: when it was given up */
};

struct evaluation_record {
    uint32_t round; /* after this many rounds; 0: the initial model */
    int64_t at_ns;  /* when that model was held */
    double loss, accuracy;
    uint64_t sample_count;
};

struct sample_record { /* one look at a node's TCP connections while rounds ran */
    int64_t at_ns;
    uint64_t retransmits; /* segments, since the connections were made */
    uint32_t connections;
    uint32_t window_least_segments, window_most_segments; /* the congestion window of the connection that has the least, the most */
    uint32_t unacknowledged_segments;                     /* in flight, of all */
    int64_t round_trip_most_ns;                           /* smoothed, of the connection with the longest */
};

struct cpu_usage {            /* of a node whose processors are limited; since its first round */
    uint64_t period_count;    /* in which it ran */
    uint64_t throttled_count; /* of them: in which it was stopped, its quota used up */
    int64_t throttled_ns;     /* how long it was stopped; on several processors, on each */
};

struct node_counters {
    uint64_t overruns; /* compute spans with SPAN_OVERRUN */
    uint64_t compute_tasks;
    double gradient_mean_ns; /* real work of a gradient, without the waiting */
    uint64_t sent_payload_bytes, received_payload_bytes, sent_messages, received_messages;
    uint64_t discarded_messages;
    uint64_t tcp_retransmits;  /* TCP_INFO, all connections */
    uint64_t tcp_timeouts;     /* TcpExt TCPTimeouts of the namespace during the trial */
    uint64_t timer_late_count; /* timers over 1 ms late */
    int64_t timer_late_max_ns;
    uint64_t samples_lost;           /* looks for which there was no memory */
    uint64_t spans_lost;             /* span memory was full */
    uint64_t checks, check_failures; /* synthetic: values compared with the exact mean, and how many differed */
    uint64_t peak_rss_bytes, private_bytes;
    /* From the start to this node's end: processor time of the event loop's thread and of the compute thread (0: there is none),
     * and how long each was ready to run and had no processor. -1: this kernel does not tell. */
    int64_t loop_busy_ns, loop_wait_ns, compute_busy_ns, compute_wait_ns;
};

#endif
