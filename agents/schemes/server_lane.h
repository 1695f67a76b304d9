/* agents/schemes/server_lane.h: one direction of the server's link in predictions: vectors of one size that share it equally, none
 * faster than its worker's own path.
 *
 * Theory of operation. Workers whose own paths are equally fast have the same share at any time, so what the first of them that is
 * still on the link has left, the next ones have at least, too: they end in the order in which they began. Each class of such
 * workers therefore is a queue with one clock, the work that any of its flows would have had done. Time moves that clock, and the
 * first of each queue are all that can end next: a class costs as much as a flow did, however many flows it has.
 *
 * Times are in ns; work is in ns of a vector alone on the server's link. */
#ifndef LAGGARD_AGENTS_SCHEMES_SERVER_LANE_H
#define LAGGARD_AGENTS_SCHEMES_SERVER_LANE_H

#include <stdbool.h>
#include <stdint.h>

enum { TRANSIT = 64 };
struct flight { /* of models to one worker, or of its gradients */
    uint64_t version[TRANSIT];
    double at[TRANSIT];            /* when what has crossed arrives */
    unsigned first, crossing, end; /* oldest; the one on the link; behind the last */
    double latency_ns;
};
static inline bool flight_full(const struct flight *flight)
{
    return flight->end - flight->first == TRANSIT;
}
static inline bool flight_crosses(const struct flight *flight)
{
    return flight->crossing != flight->end;
}

struct lane_class {
    double share; /* of the link that one flow takes at most */
    double speed; /* that one flow has now */
    double work;  /* done by a flow that began at 0 */
    unsigned first, count, capacity;
    struct lane_flow {
        double end; /* at which work */
        int worker;
    } * flows; /* a ring */
};
struct lane {
    double whole_ns; /* a vector alone on the link */
    int under_way;
    int class_count;
    struct lane_class *classes;
    int *class_of; /* [workers] */
};

/* own_ns: a vector alone on each worker's path; the fastest path shows the link itself. false: no memory. Freed with lane_free(),
 * also after a failure. */
bool lane_make(struct lane *lane, const double *own_ns, int workers);
void lane_free(struct lane *lane);

/* Divisions are most of what a lane costs: once for each change of who is under way. */
static inline void lane_share_out(struct lane *lane)
{
    const double equal = 1.0 / lane->under_way;
    for (int c = 0; c < lane->class_count; c++)
        lane->classes[c].speed = equal < lane->classes[c].share ? equal : lane->classes[c].share;
}

static inline unsigned lane_wrapped(unsigned place, unsigned capacity)
{
    return place < capacity ? place : place - capacity;
}

/* At most one flow a worker at a time. */
static inline void lane_begin(struct lane *lane, int worker)
{
    struct lane_class *class = &lane->classes[lane->class_of[worker]];
    if (class->count == 0)
        class->work = 0;
    class->flows[lane_wrapped(class->first + class->count++, class->capacity)] =
        (struct lane_flow){.end = class->work + lane->whole_ns, .worker = worker};
    lane->under_way++;
    lane_share_out(lane);
}

/* Of the flow that lane_first() named. */
static inline void lane_end(struct lane *lane, int worker)
{
    struct lane_class *class = &lane->classes[lane->class_of[worker]];
    class->first = lane_wrapped(class->first + 1, class->capacity);
    class->count--;
    lane->under_way--;
    lane_share_out(lane);
}

static inline void lane_pass(struct lane *lane, double passed_ns)
{
    for (int c = 0; c < lane->class_count; c++)
        if (lane->classes[c].count > 0)
            lane->classes[c].work += passed_ns * lane->classes[c].speed;
}

/* Which flow ends next, of those that end together the first worker's, and when. false: none is under way. */
static inline bool lane_first(const struct lane *lane, double now, int *worker, double *at)
{
    bool any = false;
    for (int c = 0; c < lane->class_count; c++) {
        const struct lane_class *class = &lane->classes[c];
        if (class->count == 0)
            continue;
        const struct lane_flow *flow = &class->flows[class->first];
        const double end = flow->end > class->work ? now + (flow->end - class->work) / class->speed : now;
        if (any && (end > *at || (end == *at && flow->worker > *worker)))
            continue;
        *worker = flow->worker;
        *at = end;
        any = true;
    }
    return any;
}

#endif
