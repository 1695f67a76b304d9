/* virtual_network.c: ends, routes and impairments of a topology for the virtual world; see virtual_network.h. */
#include "harness/virtual_network.h"

#include <math.h>

#include "base/arena.h"
#include "base/clock.h"
#include "netem/impairment.h"
#include "netem/routes.h"
#include "netem/topology.h"

enum { TCP_IP_HEADERS = 52 };                            /* of a packet: IPv4, TCP with timestamps */
static const int64_t LEAST_TIMEOUT_NS = 200 * NS_PER_MS; /* the kernel's shortest, unless rto_min says otherwise */

struct virtual_links {
    struct virtual_network network;
    const struct topology *topology;
    struct impairment *states; /* one an end; NULL: no end is impaired */
};

static int next_end(const void *context, int place, int host)
{
    const struct virtual_links *links = context;
    struct route route = topology_route(links->topology, place, host);
    return route_next(&route);
}

static void impair(void *context, int end, int packets, struct virtual_fate *fate)
{
    struct impairment *state = &((struct virtual_links *)context)->states[end];
    fate->extra_ns = impairment_jitter_ns(state);
    for (int i = 0; i < packets; i++) {
        const bool lost = impairment_loses(state), corrupt = impairment_corrupts(state);
        fate->lost += lost || corrupt;
    }
}

static const struct direction *direction_of(const struct topology *topology, int end)
{
    return &topology->links[end / DIRECTIONS].direction[end % DIRECTIONS];
}

static struct virtual_end end_of(const struct topology *topology, int end, const struct direction *asked)
{
    const struct link *link = &topology->links[end / DIRECTIONS];
    const double share = topology_payload_share(topology->mtu, asked->framing);
    return (struct virtual_end){
        .far = end % DIRECTIONS == DIRECTION_FORWARD ? link->to : link->from,
        .bytes_per_second = asked->rate_bps ? (double)asked->rate_bps / 8 * share : INFINITY,
        .delay_ns = asked->delay_ns,
        .queue_bytes = (uint64_t)((double)asked->queue_bytes * share),
        .impaired = impairment_asked(&asked->impairments),
    };
}

const struct virtual_network *virtual_network_of(const struct topology *topology, struct arena *arena)
{
    const int count = DIRECTIONS * topology->link_count;
    struct virtual_links *links = arena_new_object(arena, struct virtual_links);
    struct virtual_end *ends = arena_new_array(arena, struct virtual_end, (size_t)count);
    bool any = false;
    for (int end = 0; end < count; end++) {
        ends[end] = end_of(topology, end, direction_of(topology, end));
        any = any || ends[end].impaired || direction_of(topology, end)->changes;
    }
    links->topology = topology;
    if (any)
        links->states = arena_new_array(arena, struct impairment, (size_t)count);
    for (int end = 0; any && end < count; end++)
        impairment_begin(&links->states[end], &direction_of(topology, end)->impairments, topology->seed,
                         (uint32_t)(end / DIRECTIONS), (uint32_t)(end % DIRECTIONS));
    links->network = (struct virtual_network){
        .ends = ends,
        .end_count = count,
        .packet_bytes = topology->mtu - TCP_IP_HEADERS,
        .least_repeat_ns = topology->tcp.rto_min_ns > 0 ? topology->tcp.rto_min_ns : LEAST_TIMEOUT_NS,
        .next_end = next_end,
        .impair = any ? impair : NULL,
        .context = links,
    };
    return &links->network;
}

struct virtual_end virtual_network_change(const struct virtual_network *network, int end, const struct direction *then)
{
    const struct virtual_links *links = network->context;
    if (links->states)
        impairment_change(&links->states[end], &then->impairments);
    return end_of(links->topology, end, then);
}
