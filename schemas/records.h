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

struct evaluation_record {
    uint32_t round; /* after this many rounds; 0: the initial model */
    int64_t at_ns;  /* when that model was held */
    double loss, accuracy;
    uint64_t sample_count;
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
    uint64_t spans_lost;             /* span memory was full */
    uint64_t checks, check_failures; /* synthetic: values compared with the exact mean, and how many differed */
    uint64_t peak_rss_bytes, private_bytes;
};

#endif
