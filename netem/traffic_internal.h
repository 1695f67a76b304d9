/* netem/traffic_internal.h: the parts of cross traffic: schedules (pure), sockets, the loop. */
#ifndef LAGGARD_NETEM_TRAFFIC_INTERNAL_H
#define LAGGARD_NETEM_TRAFFIC_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/rng.h"
#include "netem/traffic.h"

struct err;

#define TRAFFIC_TICK_NS NS_PER_MS            /* what is due within one leaves together */
#define TRAFFIC_CATCH_UP_NS (10 * NS_PER_MS) /* of UDP: what was due before that is never sent */
#define TRAFFIC_NEVER INT64_MAX

/* --- when a flow is on (traffic_schedule.c) ----------------------------------------------------------------------------------- */

/* All times are after the start of the first round. A flow is off until its start, then on and off in turns, on first. */
struct traffic_schedule {
    const struct traffic_setting *asked;
    struct rng rng; /* of exponential times */
    bool on;
    int64_t begin_ns, end_ns; /* of the turn it is in */
    int64_t before_ns;        /* how long it was on in earlier turns */
};
struct traffic_schedule traffic_schedule_of(const struct traffic_setting *asked, uint64_t seed, uint32_t flow);
/* How long the flow has been on at that time, which must not lie before that of an earlier call. */
int64_t traffic_schedule_active_ns(struct traffic_schedule *schedule, int64_t at_ns);
/* When it will have been on for active_ns, if that is within this turn; otherwise when this turn ends, to ask again then; NEVER
 * when the flow stops before. */
int64_t traffic_schedule_when_ns(const struct traffic_schedule *schedule, int64_t active_ns);

/* --- what is due (traffic_schedule.c) ----------------------------------------------------------------------------------------- */

/* Units of `unit_bytes` that a rate makes of a time, and the least time that makes `units` of them. */
uint64_t traffic_units_due(uint64_t rate_bps, uint64_t unit_bytes, int64_t active_ns);
int64_t traffic_units_ns(uint64_t rate_bps, uint64_t unit_bytes, uint64_t units);
/* How many units came due more than TRAFFIC_CATCH_UP_NS ago and are still not dealt with, so that they are not to be sent any more.
 * The last one due is none of them. */
uint64_t traffic_units_late(uint64_t rate_bps, uint64_t unit_bytes, int64_t active_ns, uint64_t dealt_with);

/* --- sockets (traffic_open.c) ------------------------------------------------------------------------------------------------- */

struct traffic_line { /* one flow while it runs */
    const struct traffic_flow *flow;
    struct traffic_counters *counters;
    struct traffic_schedule schedule;
    uint64_t unit_bytes; /* UDP: a packet; TCP: a full segment */
    uint64_t units;      /* due so far, and dealt with: sent, refused or late */
    unsigned segments;   /* UDP: packets that cross the stack as one */
    int64_t next_ns;     /* when there is something to do, after the start */
    int listener, sender, receiver;
    bool connected, broken;
};
/* Makes the sockets of all lines, and waits until every TCP flow is connected. */
int traffic_open(struct traffic_line *lines, const struct traffic_spec *spec, struct err *err);
void traffic_close(struct traffic_line *lines, int count);

#endif
