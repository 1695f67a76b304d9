/* topology.c: shapes to graphs, paths through them, and the text by which equal networks are known. */
#include "netem/topology.h"

#include <inttypes.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "base/units.h"
#include "netem/impairment.h"
#include "netem/routes.h"
#include "netem/shaping.h"

/* The contract's limits. A delay line must hold rate x delay; the bound keeps one direction's line within memory a laptop has. */
#define DELAY_MOST_NS (INT64_C(10) * NS_PER_S)
#define JITTER_MOST_NS (INT64_C(2) * NS_PER_S) /* netem multiplies it in 32 bits */
#define IN_FLIGHT_MOST_BYTES (UINT64_C(1) << 30)
#define QUEUE_MOST_BYTES (UINT64_C(1) << 31)
enum {
    HOSTS_MOST = (int)(TOPOLOGY_ROUTER_ADDRESS - TOPOLOGY_FIRST_ADDRESS),
    MTU_LEAST = 576,  /* what IPv4 asks every host to take */
    MTU_MOST = 65521, /* veth's */
    FRAME_HEADER = 14,
    TCP_IP_HEADERS = 52, /* IPv4 20, TCP 20, timestamps 12 */
};

static int check_link(const struct link_settings *link, int mtu, struct err *err)
{
    char found[UNITS_TEXT_BYTES], allowed[UNITS_TEXT_BYTES];
    if (mtu < MTU_LEAST || mtu > MTU_MOST)
        return err_set(err, ERR_USAGE, "an mtu of %d bytes cannot work: allowed are %d to %d", mtu, MTU_LEAST, MTU_MOST);
    if (link->delay_ns < 0 || link->delay_ns > DELAY_MOST_NS)
        return err_set(err, ERR_USAGE, "a link's delay of %s cannot be held by an engine: the most is %s",
                       units_spell_time(found, sizeof(found), link->delay_ns),
                       units_spell_time(allowed, sizeof(allowed), DELAY_MOST_NS));
    if (link->rate_bps > 0 && link->rate_bps < 8000)
        return err_set(err, ERR_USAGE, "a link's rate of %s is too slow to carry a training round: the least is 8kbit",
                       units_spell_rate(found, sizeof(found), link->rate_bps));
    unsigned __int128 in_flight = (unsigned __int128)link->rate_bps / 8 * (uint64_t)link->delay_ns / (uint64_t)NS_PER_S;
    if (in_flight > IN_FLIGHT_MOST_BYTES)
        return err_set(err, ERR_USAGE, "rate x delay of a link is %.3g bytes in flight, more than the %s a delay line holds",
                       (double)in_flight, units_spell_size(allowed, sizeof(allowed), IN_FLIGHT_MOST_BYTES));
    if (link->impairments.jitter_ns < 0 || link->impairments.jitter_ns > JITTER_MOST_NS)
        return err_set(err, ERR_USAGE, "a link's jitter of %s cannot be drawn by an engine: the most is %s",
                       units_spell_time(found, sizeof(found), link->impairments.jitter_ns),
                       units_spell_time(allowed, sizeof(allowed), JITTER_MOST_NS));
    if (link->queue_bytes > 0 && link->queue_bytes < (uint64_t)mtu + FRAME_HEADER)
        return err_set(err, ERR_USAGE, "a queue of %s does not hold one frame of %d bytes: every packet would be dropped",
                       units_spell_size(found, sizeof(found), link->queue_bytes), mtu + FRAME_HEADER);
    if (link->queue_bytes > QUEUE_MOST_BYTES)
        return err_set(err, ERR_USAGE, "a queue of %s is more than the kernel's limit of %s",
                       units_spell_size(found, sizeof(found), link->queue_bytes),
                       units_spell_size(allowed, sizeof(allowed), QUEUE_MOST_BYTES));
    return 0;
}

static struct direction resolve_direction(const struct link_settings *link, int mtu)
{
    struct direction direction = {
        .rate_bps = link->rate_bps,
        .delay_ns = link->delay_ns,
        .queue_bytes = link->queue_bytes,
        .queue_packets = link->queue_packets,
        .framing = link->framing,
        .impairments = link->impairments,
    };
    if (direction.queue_packets > 0)
        direction.queue_bytes = (uint64_t)direction.queue_packets * (uint64_t)(mtu + FRAME_HEADER);
    if (direction.rate_bps > 0 && direction.queue_bytes == 0)
        direction.queue_bytes = shaping_default_queue_bytes(direction.rate_bps);
    if (direction.queue_bytes > QUEUE_MOST_BYTES)
        direction.queue_bytes = QUEUE_MOST_BYTES;
    return direction;
}

static void build_star(const struct settings *settings, int workers, int servers, struct arena *arena, struct topology *topology)
{
    int hosts = workers + servers;
    struct place *places = arena_new_array(arena, struct place, (size_t)hosts + 1);
    struct link *links = arena_new_array(arena, struct link, (size_t)hosts);
    for (int i = 0; i < hosts; i++) {
        const char *name = i < workers ? arena_printf(arena, "w%d", i) : arena_printf(arena, "s%d", i - workers);
        places[i] = (struct place){.name = name, .kind = PLACE_HOST, .address = TOPOLOGY_FIRST_ADDRESS + (uint32_t)i};
        links[i] = (struct link){.name = arena_printf(arena, "%s-router", name), .from = i, .to = hosts};
        for (int direction = 0; direction < DIRECTIONS; direction++)
            links[i].direction[direction] = resolve_direction(&settings->link, settings->mtu);
    }
    places[hosts] = (struct place){.name = "router", .kind = PLACE_ROUTER};
    topology->places = places;
    topology->place_count = hosts + 1;
    topology->host_count = hosts;
    topology->links = links;
    topology->link_count = hosts;
}

int topology_build(const struct settings *settings, int workers, int servers, struct arena *arena, struct topology *topology,
                   struct err *err)
{
    if (workers < 1 || servers < 0)
        return err_set(err, ERR_USAGE, "a topology of %d workers and %d servers has no node to run", workers, servers);
    if (workers > HOSTS_MOST - servers)
        return err_set(err, ERR_USAGE, "%d workers and %d servers are more than the %d addresses of a topology", workers, servers,
                       (int)HOSTS_MOST);
    if (check_link(&settings->link, settings->mtu, err) < 0)
        return -ERR_USAGE;

    struct topology built = {
        .shape = settings->shape,
        .mtu = settings->mtu,
        .seed = settings->seed,
        .tcp = {.congestion_control = arena_strdup(arena, settings->congestion_control ? settings->congestion_control : "cubic"),
                .rto_min_ns = settings->rto_min_ns,
                .slow_start_after_idle = settings->slow_start_after_idle},
    };
    switch (settings->shape) {
    case SHAPE_STAR:
        build_star(settings, workers, servers, arena, &built);
        break;
    case SHAPE_COUNT:
    default:
        return err_set(err, ERR_USAGE, "there is no topology shape number %d", (int)settings->shape);
    }
    built.routes = routes_compute(&built, arena);
    *topology = built;
    return 0;
}

uint32_t topology_address(const struct topology *topology, int place)
{
    if (place < topology->host_count)
        return topology->places[place].address;
    return TOPOLOGY_ROUTER_ADDRESS - (uint32_t)(place - topology->host_count);
}

static void extend_path(struct topology_path *path, const struct direction *direction)
{
    path->delay_ns += direction->delay_ns;
    if (direction->rate_bps > 0 && (path->rate_bps == 0 || direction->rate_bps < path->rate_bps))
        path->rate_bps = direction->rate_bps;
    path->hops++;
}

struct topology_path topology_path(const struct topology *topology, int from_host, int to_host)
{
    struct topology_path path = {0};
    if (from_host == to_host)
        return path; /* over the loopback device */
    struct route route = topology_route(topology, from_host, to_host);
    for (int end; (end = route_next(&route)) >= 0;)
        extend_path(&path, &topology->links[end / DIRECTIONS].direction[end % DIRECTIONS]);
    return path;
}

double topology_payload_share(int mtu, enum framing_kind framing)
{
    return (double)(mtu - TCP_IP_HEADERS) / ((double)(mtu + FRAME_HEADER) + shaping_overhead_bytes(framing));
}

static bool same_directions(const struct link *a, const struct link *b)
{
    for (int d = 0; d < DIRECTIONS; d++) {
        const struct direction *x = &a->direction[d], *y = &b->direction[d];
        if (x->rate_bps != y->rate_bps || x->delay_ns != y->delay_ns || x->queue_bytes != y->queue_bytes ||
            x->queue_packets != y->queue_packets || x->framing != y->framing || !impairment_same(&x->impairments, &y->impairments))
            return false;
    }
    return true;
}

static void describe_directions(const struct link *link, struct text *out)
{
    for (int d = 0; d < DIRECTIONS; d++) {
        const struct direction *direction = &link->direction[d];
        text_printf(out, "%s%" PRIu64 "bit %" PRId64 "ns %" PRIu64 "B", d == 0 ? "" : " back ", direction->rate_bps,
                    direction->delay_ns, direction->queue_bytes);
        if (direction->queue_packets > 0)
            text_printf(out, " %" PRIu32 "p", direction->queue_packets);
        if (direction->framing != FRAMING_L2)
            text_printf(out, " %s", framing_names[direction->framing]);
        impairment_describe(&direction->impairments, out);
    }
}

/* Names do not matter to behaviour, so that a ring of 4 workers and a server with 3 share one measurement. Runs of equal links are
 * written once, with their count. */
void topology_describe(const struct topology *topology, struct text *out)
{
    text_printf(out, "%s of %d mtu %d tcp %s rto_min %" PRId64 "ns slow_start_after_idle %d", shape_names[topology->shape],
                topology->host_count, topology->mtu, topology->tcp.congestion_control, topology->tcp.rto_min_ns,
                topology->tcp.slow_start_after_idle ? 1 : 0);
    for (int first = 0; first < topology->link_count;) {
        int next = first + 1;
        while (next < topology->link_count && same_directions(&topology->links[first], &topology->links[next]))
            next++;
        text_printf(out, "; %d x ", next - first);
        describe_directions(&topology->links[first], out);
        first = next;
    }
}
