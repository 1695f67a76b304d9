/* shape_tree.c: racks of hosts, a router in each, and a core router above them. An uplink is like any link, changed by
 * topology.uplink, or as wide as oversubscription says: what the rack's hosts can send together, divided by it. */
#include <stddef.h>

#include "base/arena.h"
#include "base/units.h"
#include "netem/shapes.h"

static int check_tree(struct shape *shape, struct err *err)
{
    const struct settings *settings = shape->settings;
    if (settings->racks < 1 || settings->racks > shape->hosts)
        return shape_fail(shape, err, "topology.racks", -1, "found %d rack%s for %d node%s: each needs one at least",
                          settings->racks, units_plural(settings->racks), shape->hosts, units_plural(shape->hosts));
    if (settings->oversubscription == 0)
        return 0;
    if (settings->link.rate_bps == 0)
        return shape_fail(shape, err, "topology.oversubscription", -1,
                          "an uplink's share of links without a rate cannot be told: set topology.link.rate");
    if (settings->uplink && settings->uplink->both.replaces[offsetof(struct link_settings, rate_bps)])
        return shape_fail(shape, err, "topology.oversubscription", -1, "topology.uplink sets a rate too, leave one of the two out");
    return 0;
}

static uint64_t share(uint64_t rate_bps, int hosts, double oversubscription)
{
    return (uint64_t)((double)rate_bps * hosts / oversubscription + 0.5);
}

int shape_tree(struct shape *shape, struct err *err)
{
    const struct settings *settings = shape->settings;
    int code = check_tree(shape, err);
    if (code < 0)
        return code;
    int core = shape_add_router(shape, "core"), first_rack = shape->place_count;
    int *hosts = arena_new_array(shape->arena, int, (size_t)settings->racks);
    for (int rack = 0; rack < settings->racks; rack++)
        shape_add_router(shape, arena_printf(shape->arena, "rack%d", rack));
    for (int host = 0; host < shape->hosts; host++) {
        int rack = shape_group_of(shape, host, settings->racks);
        hosts[rack]++;
        shape_add_link(shape, NULL, host, first_rack + rack, NULL);
    }
    for (int rack = 0; rack < settings->racks; rack++) {
        struct shape_link *uplink = shape_add_link(shape, NULL, first_rack + rack, core, settings->uplink);
        uplink->origin.path = settings->oversubscription > 0 ? "topology.oversubscription" : "topology.uplink";
        for (int d = 0; d < DIRECTIONS && settings->oversubscription > 0; d++) {
            uint64_t rate_bps = shape->links[0].direction[d].rate_bps; /* a host's, towards its rack and back */
            uplink->direction[d].rate_bps = share(rate_bps, hosts[rack], settings->oversubscription);
        }
    }
    return 0;
}
