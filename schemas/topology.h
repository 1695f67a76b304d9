/* topology.h: the network of one trial as a graph, as asked (topology), as the kernel reads it back (link_readback), as measured
 * (link_check), and as it behaved during a trial (link_counters). */
#ifndef LAGGARD_SCHEMAS_TOPOLOGY_H
#define LAGGARD_SCHEMAS_TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>

#include "schemas/names.h"

enum place_kind { PLACE_HOST, PLACE_ROUTER };
enum { DIRECTION_FORWARD = 0, DIRECTION_BACKWARD = 1, DIRECTIONS = 2 }; /* from link.from to link.to, and back */
#define DIRECTION_NAMES                                                                                                            \
    {                                                                                                                              \
        "forward", "backward"                                                                                                      \
    }

struct routes;

struct place {        /* one network namespace */
    const char *name; /* "w0", "s0", "router" */
    enum place_kind kind;
    uint32_t address; /* IPv4, host byte order; hosts only */
};

struct gilbert_elliott {        /* loss in bursts: a good and a bad state, each with a loss of its own; p 0: not used */
    double p, r;                /* probability a packet of going from good to bad, and back */
    double loss_bad, loss_good; /* of a packet in that state: 1-h and 1-k */
};

struct impairments {   /* of one direction, beyond its delay; all 0: none. Probabilities are of a packet on the wire */
    int64_t jitter_ns; /* uniform: half the width; otherwise the standard deviation */
    enum jitter_kind jitter_distribution;
    const int16_t *jitter_table; /* JITTER_TABLE: quantiles in 1/8192 of the jitter; elsewhere NULL */
    int jitter_table_size;
    double jitter_correlation; /* of each draw with the one before it, 0 .. 1 */
    double loss, loss_correlation;
    struct gilbert_elliott gilbert_elliott; /* instead of loss */
    double duplicate, corrupt;
    double reorder; /* sent at once, in front of what is still delayed */
};

struct direction {             /* what one direction of a link is asked to be */
    uint64_t rate_bps;         /* of Ethernet frames; 0: not limited */
    int64_t delay_ns;          /* one way */
    uint64_t queue_bytes;      /* resolved: never 0 where rate_bps is set */
    uint32_t queue_packets;    /* instead, where not 0; queue_bytes is then what they hold at most */
    bool queue_follows_rate;   /* nobody asked for a queue: with another rate it is another one */
    enum framing_kind framing; /* what the rate counts */
    struct impairments impairments;
    /* Of a direction that changes during a trial, else 0: the most that any change asks for (what memory must be there for), and
     * whether an engine must carry it so that delay, impairments or a cut can come. A rate alone changes without an engine. */
    uint64_t rate_most_bps;
    int64_t delay_most_ns; /* with the most that jitter adds to it */
    bool changes;
};

struct link {
    const char *name; /* "w0-router" */
    int from, to;     /* places */
    struct direction direction[DIRECTIONS];
};

struct tcp_settings {
    const char *congestion_control;
    int64_t rto_min_ns; /* 0: kernel default */
    bool slow_start_after_idle;
};

struct topology {
    enum topology_shape shape;
    const struct place *places; /* hosts first, place i < host_count is node i */
    int place_count, host_count;
    const struct link *links;
    int link_count;
    bool fewest_links;           /* the best route has the fewest links, then the least delay; false: the other way round */
    const struct routes *routes; /* netem/routes.h; NULL until computed */
    int mtu;
    uint64_t seed; /* of every link's impairments; no part of what distinguishes two topologies */
    struct tcp_settings tcp;
};

struct direction_readback { /* what the kernel says it set */
    uint64_t rate_bps, burst_bytes, limit_bytes;
    uint32_t gso_max_bytes;
    int64_t delay_ns; /* netem's; the relay's own setting */
    bool seeded;      /* impairments follow the trial's seed: kernels before 6.6 take none */
};
struct link_readback {
    struct direction_readback direction[DIRECTIONS];
    enum engine_kind engine; /* which engine carries this link: none where nothing but a rate is asked */
};

/* How much a measurement may cost. All 0: the survey before a campaign, of every link. */
struct measure_effort {
    int sample; /* links, spread evenly; 0, or as many as there are: all */
    /* 0: the survey. Otherwise thorough: at most this long for a direction's delays, as long again for its packets' fates, and in
     * the end as long once more for the drift of all delays. */
    int64_t time_ns;
};
/* Of a direction's delays: the quantiles that are told. */
enum { CHECK_QUANTILES = 4 };
#define CHECK_QUANTILE_PROBABILITIES                                                                                               \
    {                                                                                                                              \
        0.1, 0.5, 0.9, 0.99                                                                                                        \
    }
struct packet_fates {   /* of a stream of numbered datagrams */
    uint64_t sent;      /* 0: not measured */
    uint64_t lost;      /* never came: lost, or corrupted where the kernel drops it */
    uint64_t loss_runs; /* of losses one after another */
    uint64_t duplicated, corrupted;
    uint64_t reordered; /* came in front of one that was sent before it */
    double spacing_ns;  /* between two of them, on average */
};
struct direction_check { /* a measurement on the idle link: a short one, or a thorough one (netem/measure.h) */
    bool measured;       /* false: this link was not in the sample */
    double goodput_bps;  /* TCP payload; 0: not measured */
    double delay_mean_ns, delay_min_ns, delay_max_ns, delay_sd_ns;
    double delay_quantiles_ns[CHECK_QUANTILES];
    uint32_t probes_sent, probes_received;
    struct packet_fates fates; /* thorough, or where anything is decided packet by packet */
    double message_bps;        /* thorough: payload rate of a message after idle; 0: not measured */
    uint64_t message_bytes;
    double drift_ns;       /* thorough: median delay of the last probes less that of the first ones */
    uint32_t drift_probes; /* in each of the two; 0: not measured */
    bool within_tolerance;
    char reason[200]; /* when not: "delay 1.4 ms where 1 ms was asked" */
};
struct link_check {
    struct direction_check direction[DIRECTIONS];
};

struct direction_counters {                          /* during one trial */
    uint64_t packets, bytes;                         /* through the engine */
    uint64_t queue_drops;                            /* by the sender's tbf: the queue that was asked for was full */
    uint64_t lost, duplicated, corrupted, reordered; /* as asked; netem tells only the first, drops at its limit included */
    uint64_t unasked_drops;                          /* anything else: relay ring full, TAP write refused, device tx_dropped */
    int64_t lateness_p50_ns, lateness_p99_ns, lateness_max_ns; /* relay: release after its deadline; -1: no relay here */
    uint64_t backlog_bytes_max;                                /* tbf's backlog when read at the end; 0 if unknown */
};
struct link_counters {
    struct direction_counters direction[DIRECTIONS];
};

#endif
