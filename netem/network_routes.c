/* network_routes.c: gives each place the neighbours and routes that the topology's shortest paths ask of it.
 *
 * Theory of operation. A place with one link has a default route over it. Any other has routes to hosts alone: neighbouring
 * addresses that are reached the same way share a prefix, so that a ring's node needs a few dozen routes and not one a host.
 * Several equally short ways become one route with several next hops, between which the kernel chooses by a hash of addresses and
 * ports. Beside the shortest way to a neighbour stands, with a worse metric, a route over each link to it that is not that way:
 * sockets that are bound to a link's device take it, and nobody else. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "netem/network.h"
#include "netem/routes.h"
#include "netem/topology.h"

/* The ways that start at one place. A destination's set of first ends is named by the end's number, where there is one, by 2 *
 * links + its position in `shared`, where there are several, and is NO_WAY, where there is none. Destinations with one set can
 * share a route. */
enum { NO_WAY = -1, UNKNOWN = -2, OWN = -3 };
struct ways {
    struct network *network;
    struct netlink *netlink;
    int place, degree, ends; /* of the place; of the topology */
    int *set_of_host;        /* one a host */
    int *set_of_anchor;      /* one a place, filled in when needed */
    bool *apart;             /* one a host: has a route of its own, because a link route must not be the more specific one */
    int *shared;             /* degree numbers a set */
    int *shared_count;       /* one a set */
    int shared_sets, shared_room;
    int *scratch;                      /* degree numbers */
    struct netlink_nexthop *next_hops; /* degree */
};

static struct netlink_route route_over(const struct ways *ways, int end)
{
    const struct topology *topology = ways->network->topology;
    const struct netlink_device *device = &ways->network->ends[end].device;
    return (struct netlink_route){.index = device->index,
                                  .device = device->name,
                                  .gateway = topology_address(topology, network_end_place(ways->network, end ^ 1)),
                                  .source = topology_address(topology, ways->place),
                                  .congestion_control = topology->tcp.congestion_control,
                                  .rto_min_ns = topology->tcp.rto_min_ns};
}

static bool grow_shared(struct ways *ways)
{
    int room = 2 * ways->shared_room + 16;
    int *shared = realloc(ways->shared, (size_t)room * (size_t)ways->degree * sizeof(*shared));
    ways->shared = shared ? shared : ways->shared;
    int *counts = realloc(ways->shared_count, (size_t)room * sizeof(*counts));
    ways->shared_count = counts ? counts : ways->shared_count;
    ways->shared_room = room;
    return shared && counts;
}

/* The name of the set in `scratch`. */
static int name_set(struct ways *ways, int count, int *set)
{
    const int *ends = ways->scratch;
    size_t bytes = (size_t)count * sizeof(*ends);
    *set = count == 0 ? NO_WAY : ends[0];
    if (count < 2)
        return 0;
    int i = 0;
    while (i < ways->shared_sets && (ways->shared_count[i] != count || memcmp(&ways->shared[i * ways->degree], ends, bytes) != 0))
        i++;
    if (i == ways->shared_room && !grow_shared(ways))
        return -1;
    if (i == ways->shared_sets) {
        memcpy(&ways->shared[i * ways->degree], ends, bytes);
        ways->shared_count[i] = count;
        ways->shared_sets++;
    }
    *set = ways->ends + i;
    return 0;
}

static int find_sets(struct ways *ways)
{
    const struct topology *topology = ways->network->topology;
    for (int place = 0; place < topology->place_count; place++)
        ways->set_of_anchor[place] = UNKNOWN;
    for (int host = 0; host < topology->host_count; host++) {
        int anchor = routes_anchor(topology, host), *set = &ways->set_of_anchor[anchor];
        if (anchor == ways->place) /* itself, or a leaf of its own */
            set = &ways->set_of_host[host];
        else if (*set != UNKNOWN) {
            ways->set_of_host[host] = *set;
            continue;
        }
        if (name_set(ways, routes_first_ends(topology, ways->place, host, ways->scratch, ways->degree), set) < 0)
            return -1;
        ways->set_of_host[host] = host == ways->place ? OWN : *set;
    }
    return 0;
}

static void add_route(struct ways *ways, int set, uint32_t destination, int prefix)
{
    const struct topology *topology = ways->network->topology;
    if (set < 0)
        return;
    bool one = set < ways->ends;
    assert(one || ways->shared);
    const int *ends = one ? &set : &ways->shared[(set - ways->ends) * ways->degree];
    struct netlink_route route = route_over(ways, ends[0]);
    route.destination = destination;
    route.prefix = prefix;
    if (one && prefix == 32 && destination == route.gateway)
        route.gateway = 0; /* the neighbour itself */
    route.next_hops = ways->next_hops;
    route.next_hop_count = one ? 0 : ways->shared_count[set - ways->ends];
    for (int i = 0; i < route.next_hop_count; i++)
        ways->next_hops[i] =
            (struct netlink_nexthop){.index = ways->network->ends[ends[i]].device.index,
                                     .gateway = topology_address(topology, network_end_place(ways->network, ends[i] ^ 1))};
    netlink_add_route(ways->netlink, &route);
}

int network_prefix_bits(uint32_t from, uint32_t to)
{
    int bits = 0;
    while (bits < 22 && (from & ((UINT32_C(2) << bits) - 1)) == 0 && from + (UINT32_C(2) << bits) - 1 <= to)
        bits++;
    return bits;
}

/* Hosts first .. last in as few prefixes as cover them and no other address. */
static void add_range(struct ways *ways, int set, int first, int last)
{
    uint32_t from = TOPOLOGY_FIRST_ADDRESS + (uint32_t)first, to = TOPOLOGY_FIRST_ADDRESS + (uint32_t)last;
    while (from <= to) {
        int bits = network_prefix_bits(from, to);
        add_route(ways, set, from, 32 - bits);
        from += UINT32_C(1) << bits;
    }
}

static void add_ranges(struct ways *ways)
{
    int hosts = ways->network->topology->host_count;
    for (int first = 0, last; first < hosts; first = last + 1) {
        int set = ways->set_of_host[first];
        last = first;
        while (last + 1 < hosts && !ways->apart[first] && !ways->apart[last + 1] && ways->set_of_host[last + 1] == set)
            last++;
        add_range(ways, set, first, last);
    }
}

/* Over an end to the neighbour there, where the best route to it is another. */
static void add_link_route(struct ways *ways, int end, int *metric)
{
    const struct topology *topology = ways->network->topology;
    int there = network_end_place(ways->network, end ^ 1);
    if (there < topology->host_count && ways->set_of_host[there] == end)
        return;
    struct netlink_route route = route_over(ways, end);
    route.destination = route.gateway;
    route.prefix = 32;
    route.gateway = 0;
    route.metric = ++*metric;
    netlink_add_route(ways->netlink, &route);
}

static int add_routes(struct ways *ways)
{
    struct network *network = ways->network;
    const struct topology *topology = network->topology;
    if (find_sets(ways) < 0)
        return -1;
    for (int end = network->places[ways->place].first_end; end >= 0; end = network->ends[end].next_end) {
        int there = network_end_place(network, end ^ 1);
        if (there < topology->host_count && ways->set_of_host[there] != end)
            ways->apart[there] = true;
    }
    add_ranges(ways);
    int metric = 0;
    for (int end = network->places[ways->place].first_end; end >= 0; end = network->ends[end].next_end)
        add_link_route(ways, end, &metric);
    return 0;
}

int network_configure_routes(struct network *network, int place, struct err *err)
{
    const struct topology *topology = network->topology;
    struct ways ways = {.network = network,
                        .netlink = network->places[place].netlink,
                        .place = place,
                        .degree = routes_degree(topology, place),
                        .ends = ENDS * topology->link_count};
    for (int end = network->places[place].first_end; end >= 0; end = network->ends[end].next_end)
        netlink_add_neighbour(ways.netlink, network->ends[end].device.index, network->ends[end].device.name,
                              topology_address(topology, network_end_place(network, end ^ 1)), network->ends[end ^ 1].device.mac);
    if (ways.degree == 0)
        return 0;
    if (ways.degree == 1) {
        struct netlink_route route = route_over(&ways, network->places[place].first_end);
        netlink_add_route(ways.netlink, &route);
        return 0;
    }
    ways.set_of_host = calloc((size_t)topology->host_count, sizeof(*ways.set_of_host));
    ways.apart = calloc((size_t)topology->host_count, sizeof(*ways.apart));
    ways.set_of_anchor = calloc((size_t)topology->place_count, sizeof(*ways.set_of_anchor));
    ways.scratch = calloc((size_t)ways.degree, sizeof(*ways.scratch));
    ways.next_hops = calloc((size_t)ways.degree, sizeof(*ways.next_hops));
    bool complete =
        ways.set_of_host && ways.apart && ways.set_of_anchor && ways.scratch && ways.next_hops && add_routes(&ways) == 0;
    free(ways.set_of_host);
    free(ways.apart);
    free(ways.set_of_anchor);
    free(ways.shared);
    free(ways.shared_count);
    free(ways.scratch);
    free(ways.next_hops);
    return complete ? 0 : err_set(err, ERR_HOST, "not enough memory for the routes of place %s", topology->places[place].name);
}
