/* shape_dumbbell.c: two routers joined by a bottleneck; the first half of the hosts (and the odd one) on the left, the others on
 * the right. */
#include "netem/shapes.h"

int shape_dumbbell(struct shape *shape, struct err *err)
{
    (void)err;
    int left = shape_add_router(shape, "left"), right = shape_add_router(shape, "right");
    for (int host = 0; host < shape->hosts; host++)
        shape_add_link(shape, NULL, host, shape_group_of(shape, host, 2) == 0 ? left : right, NULL);
    struct shape_link *middle = shape_add_link(shape, NULL, left, right, shape->settings->bottleneck);
    middle->origin.path = "topology.bottleneck";
    return 0;
}
