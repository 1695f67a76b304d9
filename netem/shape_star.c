/* shape_star.c: every host hangs on one router. */
#include "netem/shapes.h"

int shape_star(struct shape *shape, struct err *err)
{
    (void)err;
    int router = shape_add_router(shape, "router");
    for (int host = 0; host < shape->hosts; host++)
        shape_add_link(shape, NULL, host, router, NULL);
    return 0;
}
