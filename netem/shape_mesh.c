/* shape_mesh.c: a link between every two hosts. Each pair uses its own, also where a slow one has a shorter detour. */
#include "netem/shapes.h"

int shape_mesh(struct shape *shape, struct err *err)
{
    int64_t links = (int64_t)shape->hosts * (shape->hosts - 1) / 2;
    if (links > SHAPE_LINKS_MOST)
        return shape_fail(shape, err, "topology.shape", -1, "a mesh of %d nodes has %lld links, the most is %d", shape->hosts,
                          (long long)links, SHAPE_LINKS_MOST);
    shape->fewest_links = true;
    for (int from = 0; from < shape->hosts; from++)
        for (int to = from + 1; to < shape->hosts; to++)
            shape_add_link(shape, NULL, from, to, NULL);
    return 0;
}
