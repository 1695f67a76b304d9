/* tests/unit/local_rig.c: see local_rig.h. */
#include "tests/unit/local_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tests/unit/scheme_rig.h"

#include <cmocka.h> /* after node.h: its macro fail() hides the member */

const int local_rig_workers[LOCAL_RIG_WORKER_COUNTS] = {1, 2, 3, 5, 8};

void local_rig_set(struct scheme_setup *setup, const char *name, double value)
{
    for (int i = 0; i < setup->scheme->param_count; i++)
        if (strcmp(setup->scheme->params[i].name, name) == 0) {
            setup->values[i] = value;
            return;
        }
    fail_msg("scheme '%s' has no parameter '%s'", setup->scheme->name, name);
}

struct scheme_setup local_rig_setup(const char *scheme, int workers, size_t count, double period)
{
    struct scheme_setup setup = scheme_setup_of(scheme, workers, count, period);
    setup.rounds = LOCAL_RIG_ROUNDS;
    if (strcmp(scheme, "adacomm") == 0)
        local_rig_set(&setup, "interval", 0);
    return setup;
}

void local_rig_run(struct memory_world *world, const struct scheme_setup *setup)
{
    memory_world_run(world);
    if (memory_world_failure(world))
        fail_msg("%s among %d: %s", setup->scheme->name, setup->workers, memory_world_failure(world));
    for (int node = 0; node < setup->nodes; node++) {
        struct memory_node_result result = memory_world_result(world, node);
        assert_true(result.finished);
        assert_int_equal(result.rounds_finished, setup->rounds);
    }
    assert_int_equal(memory_world_buffers_out(world), 0);
}
