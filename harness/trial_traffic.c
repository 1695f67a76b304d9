/* trial_traffic.c: a trial's part: cross traffic, from the start of the first round to the end of the last. */
#include <stdlib.h>

#include "base/arena.h"
#include "base/err.h"
#include "harness/trial_internal.h"
#include "netem/traffic.h"

static int traffic_prepare(struct trial *trial, struct err *err)
{
    const struct settings *settings = &trial->cell->settings;
    struct traffic_flow *flows = arena_new_array(trial->arena, struct traffic_flow, (size_t)settings->traffic.count);
    struct traffic_fault fault;
    if (traffic_resolve(&settings->traffic, &settings->hosts, &trial->topology, flows, &fault, err) < 0)
        return err_wrap(err, "traffic.%d", fault.flow);
    trial->flows = flows;
    return 0;
}

static int traffic_add(struct trial *trial, struct fabric_spec *spec, struct err *err)
{
    (void)err;
    spec->flows = trial->flows;
    spec->flow_count = trial->cell->settings.traffic.count;
    return 0;
}

/* Should one of these two fail, the fabric has broken, and says so itself. */
static void traffic_start(struct trial *trial, int64_t start_ns)
{
    (void)fabric_traffic_start(trial->fabric, start_ns, NULL);
}

static void traffic_done(struct trial *trial)
{
    (void)fabric_traffic_stop(trial->fabric, NULL);
}

static void traffic_conclude(struct trial *trial)
{
    int count = trial->cell->settings.traffic.count;
    if (!trial->fabric || count == 0)
        return;
    const struct traffic_counters *counters = fabric_traffic(trial->fabric);
    trial->end.flows = trial->evidence.flows = trial->flows;
    trial->end.flow_count = trial->evidence.flow_count = count;
    trial->end.traffic = trial->evidence.traffic = arena_copy(trial->arena, counters, sizeof(*counters) * (size_t)count);
}

const struct trial_part trial_traffic = {
    .prepare = traffic_prepare,
    .add = traffic_add,
    .start = traffic_start,
    .done = traffic_done,
    .conclude = traffic_conclude,
};
