/* harness/event_schedule.h: which step of which event is due when, while a trial runs. Pure: it is told the time.
 *
 * An event is one step, but: a flap is down and up, times times; a pause is its stop and its end; a trace is its steps, again and
 * again where it is repeated. Steps have their times by the event's moment, never by when the one before was done, so that lateness
 * does not add up; except the end of a pause, which comes when the stop has lasted so long. Of steps that are due at the same time
 * that of the event that stands first in the file comes first. Of a trace only the newest step that is due counts: the others are
 * passed over. */
#ifndef LAGGARD_HARNESS_EVENT_SCHEDULE_H
#define LAGGARD_HARNESS_EVENT_SCHEDULE_H

#include <stdint.h>

#include "schemas/events.h"

struct arena;
struct event_schedule;

#define EVENT_NEVER_NS INT64_MAX

struct event_due {
    int event;
    int64_t step;        /* from 0 */
    int64_t asked_ns;    /* absolute */
    int64_t passed_over; /* steps of this trace that were due since the last one */
    bool last;           /* nothing of this event follows */
};

int64_t event_step_count(const struct event_request *asked); /* EVENT_NEVER_NS: without end */

/* The plan and the settings must stay. Nothing is due before event_schedule_start(). */
struct event_schedule *event_schedule_new(const struct event_plan *plan, const struct settings *settings, struct arena *arena);
void event_schedule_start(struct event_schedule *schedule, int64_t start_ns); /* events by time; those before the first round */
/* Node 0 has done so many rounds, warm-up included: events before the next one are due from now on. */
void event_schedule_round(struct event_schedule *schedule, uint32_t rounds_done, int64_t now_ns);
/* Of the next step; EVENT_NEVER_NS: there is none. */
int64_t event_schedule_next_ns(const struct event_schedule *schedule);
/* The next step that is due at this time, or false. */
bool event_schedule_take(struct event_schedule *schedule, int64_t now_ns, struct event_due *due);
/* The pause that was taken has begun at this time. */
void event_schedule_paused(struct event_schedule *schedule, int event, int64_t at_ns);

#endif
