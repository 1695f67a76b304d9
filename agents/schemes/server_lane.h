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
/* At most one flow a worker at a time. */
void lane_begin(struct lane *lane, int worker);
void lane_end(struct lane *lane, int worker); /* the one that lane_first() named */
void lane_pass(struct lane *lane, double passed_ns);
/* Which flow ends next, of those that end together the first worker's, and when. false: none is under way. */
bool lane_first(const struct lane *lane, double now, int *worker, double *at);

#endif
