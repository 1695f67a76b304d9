/* agents/schemes/server_lane.c: the memory of server_lane.h. */
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
