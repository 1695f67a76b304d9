/* agents/schemes/server_lane.c: flows that share one direction of a link; see server_lane.h. */
#include "agents/schemes/server_lane.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int class_of_share(struct lane *lane, double share)
{
    int c = 0;
    while (c < lane->class_count && lane->classes[c].share != share)
        c++;
    lane->classes[c].share = share;
    lane->class_count += c == lane->class_count;
    return c;
}

bool lane_make(struct lane *lane, const double *own_ns, int workers)
{
    *lane = (struct lane){.whole_ns = INFINITY,
                          .classes = calloc((size_t)workers, sizeof(*lane->classes)),
                          .class_of = calloc((size_t)workers, sizeof(*lane->class_of))};
    if (!lane->classes || !lane->class_of)
        return false;
    for (int worker = 0; worker < workers; worker++)
        lane->whole_ns = fmin(lane->whole_ns, own_ns[worker]);
    for (int worker = 0; worker < workers; worker++) {
        lane->class_of[worker] = class_of_share(lane, own_ns[worker] > 0 ? lane->whole_ns / own_ns[worker] : 1);
        lane->classes[lane->class_of[worker]].capacity++;
    }
    for (int c = 0; c < lane->class_count; c++) {
        struct lane_class *class = &lane->classes[c];
        class->flows = calloc(class->capacity, sizeof(*class->flows));
        if (!class->flows)
            return false;
    }
    return true;
}

void lane_free(struct lane *lane)
{
    for (int c = 0; c < lane->class_count; c++)
        free(lane->classes[c].flows);
    free(lane->classes);
    free(lane->class_of);
    memset(lane, 0, sizeof(*lane));
}

static double speed(const struct lane *lane, const struct lane_class *class)
{
    return fmin(1.0 / lane->under_way, class->share);
}

void lane_begin(struct lane *lane, int worker)
{
    struct lane_class *class = &lane->classes[lane->class_of[worker]];
    if (class->count == 0)
        class->work = 0;
    class->flows[(class->first + class->count++) % class->capacity] =
        (struct lane_flow){.end = class->work + lane->whole_ns, .worker = worker};
    lane->under_way++;
}

void lane_end(struct lane *lane, int worker)
{
    struct lane_class *class = &lane->classes[lane->class_of[worker]];
    class->first = (class->first + 1) % class->capacity;
    class->count--;
    lane->under_way--;
}

void lane_pass(struct lane *lane, double passed_ns)
{
    for (int c = 0; c < lane->class_count; c++)
        if (lane->classes[c].count > 0)
            lane->classes[c].work += passed_ns * speed(lane, &lane->classes[c]);
}

bool lane_first(const struct lane *lane, double now, int *worker, double *at)
{
    bool any = false;
    for (int c = 0; c < lane->class_count; c++) {
        const struct lane_class *class = &lane->classes[c];
        if (class->count == 0)
            continue;
        const struct lane_flow *flow = &class->flows[class->first];
        const double end = flow->end > class->work ? now + (flow->end - class->work) / speed(lane, class) : now;
        if (any && (end > *at || (end == *at && flow->worker > *worker)))
            continue;
        *worker = flow->worker;
        *at = end;
        any = true;
    }
    return any;
}
