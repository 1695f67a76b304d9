/* netem/traffic_schedule.c: when a flow is on, and what is due by then. Pure: times come in as arguments, and the same seed gives
 * the same times on every machine. */
#include "netem/traffic_internal.h"

enum { BITS = 8 };

struct traffic_schedule traffic_schedule_of(const struct traffic_setting *asked, uint64_t seed, uint32_t flow)
{
    return (struct traffic_schedule){
        .asked = asked, .rng = rng_stream(seed, 0, flow, RNG_TRAFFIC), .begin_ns = INT64_MIN, .end_ns = asked->start_ns};
}

static void next_turn(struct traffic_schedule *schedule)
{
    const struct traffic_setting *asked = schedule->asked;
    if (schedule->on)
        schedule->before_ns += schedule->end_ns - schedule->begin_ns;
    schedule->on = !schedule->on;
    schedule->begin_ns = schedule->end_ns;
    schedule->end_ns = TRAFFIC_NEVER;
    if (asked->on_ns == 0)
        return;
    double length_ns = (double)(schedule->on ? asked->on_ns : asked->off_ns);
    if (asked->spread == SPREAD_EXPONENTIAL)
        length_ns *= rng_exponential(&schedule->rng);
    schedule->end_ns = schedule->begin_ns + (length_ns < 1 ? 1 : (int64_t)length_ns);
}

int64_t traffic_schedule_active_ns(struct traffic_schedule *schedule, int64_t at_ns)
{
    int64_t stop_ns = schedule->asked->stop_ns;
    if (stop_ns > 0 && at_ns > stop_ns)
        at_ns = stop_ns;
    while (schedule->end_ns <= at_ns)
        next_turn(schedule);
    return schedule->before_ns + (schedule->on ? at_ns - schedule->begin_ns : 0);
}

int64_t traffic_schedule_when_ns(const struct traffic_schedule *schedule, int64_t active_ns)
{
    int64_t stop_ns = schedule->asked->stop_ns, when_ns = schedule->end_ns, more_ns = active_ns - schedule->before_ns;
    if (schedule->on && more_ns < schedule->end_ns - schedule->begin_ns)
        when_ns = schedule->begin_ns + more_ns;
    return stop_ns > 0 && when_ns > stop_ns ? TRAFFIC_NEVER : when_ns;
}

uint64_t traffic_units_due(uint64_t rate_bps, uint64_t unit_bytes, int64_t active_ns)
{
    unsigned __int128 bit_ns = (unsigned __int128)rate_bps * (uint64_t)active_ns;
    return (uint64_t)(bit_ns / ((unsigned __int128)unit_bytes * BITS * (uint64_t)NS_PER_S));
}

int64_t traffic_units_ns(uint64_t rate_bps, uint64_t unit_bytes, uint64_t units)
{
    unsigned __int128 bit_ns = (unsigned __int128)unit_bytes * BITS * (uint64_t)NS_PER_S * units;
    return (int64_t)((bit_ns + rate_bps - 1) / rate_bps);
}

uint64_t traffic_units_late(uint64_t rate_bps, uint64_t unit_bytes, int64_t active_ns, uint64_t dealt_with)
{
    if (active_ns <= TRAFFIC_CATCH_UP_NS)
        return 0;
    uint64_t due = traffic_units_due(rate_bps, unit_bytes, active_ns);
    uint64_t late = traffic_units_due(rate_bps, unit_bytes, active_ns - TRAFFIC_CATCH_UP_NS);
    if (late == due && due > 0) /* the last one goes, however late: a slow flow has no other */
        late--;
    return late > dealt_with ? late - dealt_with : 0;
}
