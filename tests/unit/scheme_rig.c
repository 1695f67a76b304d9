/* tests/unit/scheme_rig.c: see scheme_rig.h. */
#include "tests/unit/scheme_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "agents/collectives/allreduce.h"

#include <cmocka.h>

static struct path every_path(const void *context, int from, int to)
{
    (void)context;
    (void)from;
    (void)to;
    return (struct path){.latency_ns = 1e6, .bytes_per_second = 1e8};
}

struct scheme_setup scheme_setup_of(const char *scheme, int workers, size_t count, double parameter)
{
    struct scheme_setup setup = {.scheme = scheme_find(scheme),
                                 .workers = workers,
                                 .parameter_count = count,
                                 .learning_rate = 0.125,
                                 .rounds = 1,
                                 .values_carried = true,
                                 .seed = 1,
                                 .path = every_path};
    assert_non_null(setup.scheme);
    for (int i = 0; i < setup.scheme->param_count; i++)
        setup.values[i] = setup.scheme->params[i].standard;
    const struct allreduce_algorithm *algorithm = setup.scheme->family == FAMILY_ALLREDUCE ? setup.scheme->detail : NULL;
    const bool own = setup.scheme->family != FAMILY_ALLREDUCE || (algorithm && algorithm->parameter != ALLREDUCE_NO_PARAMETER);
    if (setup.scheme->param_count > 0 && own)
        setup.values[0] = parameter;
    setup.servers = scheme_servers(setup.scheme, workers, setup.values);
    setup.nodes = workers + setup.servers;
    return setup;
}

int scheme_param(const struct scheme *scheme, const char *name)
{
    for (int i = 0; i < scheme->param_count; i++)
        if (strcmp(scheme->params[i].name, name) == 0)
            return i;
    return -1;
}
