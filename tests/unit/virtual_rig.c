/* tests/unit/virtual_rig.c: see virtual_rig.h. */
#include "tests/unit/virtual_rig.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"

#include <cmocka.h>

static int next_end(const void *context, int place, int host)
{
    const int hosts = *(const int *)context;
    return place == hosts ? 2 * host + 1 : 2 * place;
}

/* What the controller would have told. */
static void prepare(struct virtual_rig *rig)
{
    struct blob blob = {0};
    assert_int_equal(rig->setup.scheme->prepare(&rig->setup, &blob, NULL), 0);
    rig->setup.prepared = memcpy(arena_new_array(rig->arena, uint8_t, blob.length), blob.bytes, blob.length);
    rig->setup.prepared_bytes = blob.length;
    free(blob.bytes);
}

struct virtual_rig virtual_rig_new(struct scheme_setup setup)
{
    struct virtual_rig rig = {.arena = arena_new(), .setup = setup};
    if (setup.scheme->prepare && !setup.prepared)
        prepare(&rig);
    int *hosts = arena_new_object(rig.arena, int);
    *hosts = setup.nodes;
    rig.setup.path = NULL;
    rig.setup.batch = 1;
    rig.workload = (struct workload_settings){.model = MODEL_SYNTHETIC,
                                              .batch = 1,
                                              .learning_rate = setup.learning_rate,
                                              .rounds = setup.rounds,
                                              .size_bytes = setup.parameter_count * sizeof(float),
                                              .gradients = setup.values_carried ? GRADIENTS_REAL : GRADIENTS_NONE};
    rig.compute_time = (struct distribution){.kind = DISTRIBUTION_CONSTANT, .value_ns = 1e6};
    rig.ends = arena_new_array(rig.arena, struct virtual_end, 2 * (size_t)setup.nodes);
    for (int host = 0; host < setup.nodes; host++) {
        rig.ends[2 * host].far = setup.nodes;
        rig.ends[2 * host + 1].far = host;
    }
    rig.network = (struct virtual_network){.ends = rig.ends,
                                           .end_count = 2 * setup.nodes,
                                           .packet_bytes = 1000,
                                           .least_repeat_ns = 200000000,
                                           .next_end = next_end,
                                           .context = hosts};
    rig.options = (struct virtual_options){.record_spans = true};
    virtual_rig_links(&rig, INFINITY, 0);
    return rig;
}

void virtual_rig_links(struct virtual_rig *rig, double bytes_per_second, int64_t delay_ns)
{
    for (int end = 0; end < rig->network.end_count; end++) {
        rig->ends[end].bytes_per_second = bytes_per_second;
        rig->ends[end].delay_ns = delay_ns;
    }
}

static int make(struct virtual_rig *rig, struct err *err)
{
    rig->options.arena = rig->arena;
    rig->options.setup = &rig->setup;
    rig->options.network = &rig->network;
    rig->options.compute_time = &rig->compute_time;
    rig->options.workload = &rig->workload;
    rig->setup.compute_time = &rig->compute_time;
    if (!rig->world)
        rig->world = virtual_new(&rig->options, err);
    return rig->world ? 0 : -1;
}

int virtual_rig_try(struct virtual_rig *rig, struct err *err)
{
    int result = make(rig, err);
    return result == 0 ? virtual_run(rig->world, err) : result;
}

void virtual_rig_make(struct virtual_rig *rig)
{
    struct err err;
    if (make(rig, &err) < 0)
        fail_msg("%s among %d: %s", rig->setup.scheme->name, rig->setup.workers, err.text);
}

void virtual_rig_run(struct virtual_rig *rig)
{
    struct err err;
    if (virtual_rig_try(rig, &err) < 0)
        fail_msg("%s among %d: %s", rig->setup.scheme->name, rig->setup.workers, err.text);
}

void virtual_rig_free(struct virtual_rig *rig)
{
    virtual_free(rig->world);
    arena_free(rig->arena);
}
