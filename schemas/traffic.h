/* traffic.h: cross traffic: flows of packets between two places of a trial's network, beside what the nodes send; as asked
 * (traffic_setting), resolved for one network (traffic_flow), and as they were (traffic_counters). */
#ifndef LAGGARD_SCHEMAS_TRAFFIC_H
#define LAGGARD_SCHEMAS_TRAFFIC_H

#include <stdint.h>

#include "schemas/names.h"

enum { TRAFFIC_FLOWS_MOST = 1000 };

struct traffic_setting {
    const char *from, *to; /* names or indexes of nodes or routers, as written */
    uint64_t rate_bps;     /* of payload, while the flow is on */
    enum transport_kind transport;
    uint32_t packet_bytes; /* UDP: payload of a packet; 0: not said */
    int64_t on_ns, off_ns; /* how long it sends and how long it is silent, in turns; 0: it always sends */
    enum spread_kind spread;
    int64_t start_ns, stop_ns; /* after the start of the first round; stop 0: with the last round */
};
struct traffic_list {
    const struct traffic_setting *flows;
    int count;
};

struct traffic_flow {
    struct traffic_setting asked;
    int from, to; /* places */
};

/* From the start of the first round to the end of the last. Of a UDP flow's packets: asked = sent + refused + late; of TCP there
 * are no packets. */
struct traffic_counters {
    int64_t active_ns;    /* how long the flow was on */
    uint64_t asked_bytes; /* what the rate makes of that */
    uint64_t sent_bytes;  /* taken by the sender's kernel */
    uint64_t asked_packets, sent_packets;
    uint64_t refused_packets; /* the sender's kernel had no room for them: the network's queue was full */
    uint64_t late_packets;    /* never sent: this host had no time for them when they were due */
    uint64_t received_bytes, received_packets;
};

#endif
