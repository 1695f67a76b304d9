/* harness/event_plan.h: what a campaign's events mean in one cell's network: names become numbers, what cannot be is refused, and
 * the directions that will change are marked, so that the network is built for it. Pure. */
#ifndef LAGGARD_HARNESS_EVENT_PLAN_H
#define LAGGARD_HARNESS_EVENT_PLAN_H

#include "schemas/events.h"

struct arena;
struct err;
struct text;
struct topology;

/* Where a campaign file is at fault: which event, which key of it (NULL: the event), which entry of that key's list (-1: none). */
struct event_fault {
    int event;
    const char *key;
    int entry;
};
/* Marks directions of the topology (rate_most_bps, delay_most_ns, changes), whose links then lie in the arena. ERR_USAGE. */
int event_plan_make(const struct settings *settings, struct topology *topology, struct arena *arena, struct event_plan *plan,
                    struct event_fault *fault, struct err *err);
/* Whether an engine, resolved, can do it: ERR_USAGE, with the event. */
int event_plan_check_engine(const struct event_plan *plan, const struct topology *topology, enum engine_kind engine,
                            struct err *err);

/* The next direction of a link by a change or by a step of a trace. */
int event_direction_set(const struct event_request *asked, int direction, const struct direction *now, int mtu,
                        struct direction *then, struct err *err);
int event_direction_trace(const struct link_trace *trace, const struct trace_step *step, const struct direction *now, int mtu,
                          struct direction *then, struct err *err);
bool event_touches(const struct event_request *asked, int direction);
/* One side's nodes are parted from all others: group (one a node, dense from 0) becomes finer. scratch: so many ints a node. */
enum { EVENT_PART_SCRATCH = 3 };
void event_part(const struct planned_event *event, int node_count, int *group, int *scratch);

/* What is to happen to whom, and when: "set link w0-router: rate 10mbit", "at 2 s", "before round 5". */
void event_describe(const struct planned_event *event, const struct topology *topology, struct text *out);
void event_describe_when(const struct event_request *asked, struct text *out);

/* Rounds, warm-up included, after which an event before a round is due. */
uint32_t event_mark(const struct settings *settings, const struct event_request *asked);
/* Rounds, warm-up included, after which node 0 has to say so at once: ascending, each once. Returns how many. */
int event_marks(const struct settings *settings, struct arena *arena, const uint32_t **marks);
int64_t event_stopped_ns(const struct settings *settings); /* the sum of pauses and of a flap's cuts */
/* How much longer than without its events a trial may take at least: that, and until the last event that has a time. */
int64_t event_extra_ns(const struct settings *settings);

#endif
