/* cpu_limit_plan.c: entries of cpu_limits to nodes; see cpu_limit_plan.h. */
#include "harness/cpu_limit_plan.h"

#include <string.h>

#include "base/err.h"
#include "netem/topology.h"

struct planner {
    const struct settings *settings;
    const struct topology *topology;
    struct cpu_limit *limits;
    struct cpu_limit_fault *fault;
    struct err *err;
};

static int limit_node(const struct planner *planner, int node, const struct cpu_limit *limit)
{
    if (planner->limits[node].processors > 0)
        return err_set(planner->err, ERR_USAGE, "node %s is limited twice", planner->topology->places[node].name);
    planner->limits[node] = *limit;
    return 0;
}

static int limit_named(const struct planner *planner, const struct cpu_limit_setting *entry)
{
    const struct topology *topology = planner->topology;
    int hosts = topology->host_count;
    for (int i = 0; i < entry->node_count; i++) {
        planner->fault->node = i;
        int node = topology_find_place(topology, &planner->settings->hosts, entry->nodes[i]);
        if (node < 0)
            return err_set(planner->err, ERR_USAGE, "there is no node '%.80s': here the nodes are %s to %s, indexes 0 to %d",
                           entry->nodes[i], topology->places[0].name, topology->places[hosts - 1].name, hosts - 1);
        if (node >= hosts)
            return err_set(planner->err, ERR_USAGE, "'%.80s' is a router and computes nothing: a node is needed, from %s to %s",
                           entry->nodes[i], topology->places[0].name, topology->places[hosts - 1].name);
        int code = limit_node(planner, node, &entry->limit);
        if (code < 0)
            return code;
    }
    planner->fault->node = -1;
    return 0;
}

static int limit_range(const struct planner *planner, int first, int end, const struct cpu_limit *limit)
{
    int code = 0;
    for (int node = first; node < end && code == 0; node++)
        code = limit_node(planner, node, limit);
    return code;
}

int cpu_limit_plan(const struct settings *settings, const struct topology *topology, struct cpu_limit *limits,
                   struct cpu_limit_fault *fault, struct err *err)
{
    const struct planner planner = {settings, topology, limits, fault, err};
    int hosts = topology->host_count, workers = settings->workers, code = 0;
    memset(limits, 0, sizeof(*limits) * (size_t)hosts);
    for (int i = 0; i < settings->cpu_limits.count && code == 0; i++) {
        const struct cpu_limit_setting *entry = &settings->cpu_limits.limits[i];
        *fault = (struct cpu_limit_fault){.entry = i, .node = -1};
        switch (entry->who) {
        case LIMITED_LISTED:
            code = limit_named(&planner, entry);
            break;
        case LIMITED_ALL:
            code = limit_range(&planner, 0, hosts, &entry->limit);
            break;
        case LIMITED_WORKERS:
            code = limit_range(&planner, 0, workers, &entry->limit);
            break;
        case LIMITED_SERVERS: /* a cell without servers has none to limit */
            code = limit_range(&planner, workers, hosts, &entry->limit);
            break;
        case LIMITED_COUNT:
            break;
        }
    }
    return code;
}
