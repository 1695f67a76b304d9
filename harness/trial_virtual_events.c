/* trial_virtual_events.c: how events are done in the virtual world: at once, at the time of its clock. */
#include "harness/trial_events_internal.h"
#include "harness/trial_virtual_internal.h"
#include "harness/virtual_network.h"

static struct virtual_world *world_of(const struct trial *trial)
{
    return trial->virtual->world;
}

static int64_t now_ns(const struct trial *trial)
{
    return virtual_clock_ns(world_of(trial));
}

static void wake(struct trial *trial, int64_t at_ns)
{
    virtual_alarm(world_of(trial), at_ns);
}

static int change(struct trial *trial, int link, int direction, const struct direction *then, bool down, struct err *err)
{
    (void)err;
    const int end = DIRECTIONS * link + direction;
    const struct virtual_end asked = virtual_network_change(trial->virtual->network, end, then);
    virtual_change(world_of(trial), end, &asked, down);
    return 0;
}

static int separate(struct trial *trial, const int *group, struct err *err)
{
    (void)err;
    virtual_part(world_of(trial), group);
    return 0;
}

static bool runs(struct trial *trial, int node)
{
    return virtual_node(world_of(trial), node).lost_ns < 0;
}

static int stop(struct trial *trial, int node, bool stops, struct err *err)
{
    (void)err;
    virtual_pause(world_of(trial), node, stops);
    return 0;
}

static int kill_node(struct trial *trial, int node, struct err *err)
{
    (void)err;
    virtual_crash(world_of(trial), node);
    return 0;
}

const struct event_means event_means_virtual = {
    .now_ns = now_ns, .wake = wake, .change = change, .separate = separate, .runs = runs, .stop = stop, .kill = kill_node};
