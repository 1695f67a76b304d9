/* tests/unit/scheme_rig.c: see scheme_rig.h. */
#include "tests/unit/scheme_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct scheme_setup scheme_setup_of(const char *scheme, int workers, size_t count, double parameter)
{
    struct scheme_setup setup = {.scheme = scheme_find(scheme),
                                 .workers = workers,
                                 .parameter_count = count,
                                 .learning_rate = 0.125,
                                 .rounds = 1,
                                 .values_carried = true,
                                 .seed = 1};
    assert_non_null(setup.scheme);
    if (setup.scheme->param_count > 0)
        setup.values[0] = parameter;
    setup.servers = scheme_servers(setup.scheme, workers, setup.values);
    setup.nodes = workers + setup.servers;
    return setup;
}
