/* shape_ring.c: hosts in a circle, each linked to the next. There is no router: what is not for a neighbour passes through hosts,
 * the shorter way round. Two hosts have one link. */
#include "netem/shapes.h"

int shape_ring(struct shape *shape, struct err *err)
{
    (void)err;
    for (int host = 0; host + 1 < shape->hosts; host++)
        shape_add_link(shape, NULL, host, host + 1, NULL);
    if (shape->hosts > 2)
        shape_add_link(shape, NULL, shape->hosts - 1, 0, NULL);
    return 0;
}
