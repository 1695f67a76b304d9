/* virtual_demand.c: an estimate of memory; see virtual_demand.h. */
#include "harness/virtual_demand.h"

#include "agents/scheme.h"
#include "agents/world_virtual.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/units.h"
#include "harness/forecast.h"
#include "schemas/records.h"

enum {
    NODE_ROWS_BYTES = 2048, /* of a node and its links, on their way into the database */
    CHECK_BYTES = 70 << 10, /* of a node that checks synthetic sums */
    VECTORS = 4,            /* of a node, the model, gradients and what is on its way */
    DATA_BYTES = 60 << 20,  /* the data set, as floats come out of it */
    DOUBLING = 2,           /* arrays grow by doubling */
};

/* Workers of a kind are alike, so are servers: one of each is looked at. */
static uint64_t recorded_bytes(const struct settings *settings, const struct scheme_setup *setup, int node)
{
    const struct scheme *scheme = setup->scheme;
    uint64_t a_round = sizeof(struct round_record);
    if (settings->record_spans && scheme->spans_a_round)
        a_round += DOUBLING * sizeof(struct span_record) * scheme->spans_a_round(setup, node);
    if (settings->record_nodes && scheme->gradients_a_round)
        a_round += DOUBLING * sizeof(struct gradient_record) * scheme->gradients_a_round(setup, node);
    return a_round * (uint64_t)setup->rounds;
}

uint64_t virtual_demand_bytes(const struct cell *cell, const struct topology *topology)
{
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    const struct settings *settings = &cell->settings;
    struct forecast forecast;
    forecast_setup(cell, topology, NULL, 0, settings->seed, arena, &forecast);
    const struct scheme_setup *setup = &forecast.setup;
    const uint64_t workers = (uint64_t)setup->workers, servers = (uint64_t)setup->servers, nodes = workers + servers;
    uint64_t bytes = nodes * (virtual_bytes_a_node() + setup->scheme->state_bytes + NODE_ROWS_BYTES);
    bytes += workers * recorded_bytes(settings, setup, 0);
    if (servers > 0)
        bytes += servers * recorded_bytes(settings, setup, setup->workers);
    if (!setup->values_carried)
        return bytes;
    bytes += nodes * VECTORS * sizeof(float) * setup->parameter_count;
    return bytes + (setup->trained ? DATA_BYTES : nodes * CHECK_BYTES);
}

int virtual_demand_check(const struct cell *cell, const struct topology *topology, const struct host_limits *limits,
                         struct err *err)
{
    static const enum host_limit_kind memories[] = {LIMIT_MEMORY, LIMIT_CGROUP_MEMORY};
    const struct settings *settings = &cell->settings;
    const uint64_t needed = virtual_demand_bytes(cell, topology);
    for (size_t i = 0; i < sizeof(memories) / sizeof(memories[0]); i++) {
        const uint64_t allowed = limits->of[memories[i]].allowed, used = limits->of[memories[i]].used;
        const uint64_t left = allowed == UINT64_MAX ? allowed : allowed > used ? allowed - used : 0;
        char wants[UNITS_TEXT_BYTES], has[UNITS_TEXT_BYTES];
        if (needed <= left)
            continue;
        return err_set(err, ERR_HOST, "a trial takes about %s of memory, and %s are free: use %sfewer workers or rounds",
                       units_show_size(wants, sizeof(wants), (double)needed), units_show_size(has, sizeof(has), (double)left),
                       settings->record_spans                           ? "record_spans: false, "
                       : settings->workload.gradients != GRADIENTS_NONE ? "workload.gradients: none, "
                                                                        : "");
    }
    return 0;
}
