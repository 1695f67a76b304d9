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
#include "netem/shapes.h"
#include "netem/shaping.h"

/* The contract's limits. A delay line must hold rate x delay; the bound keeps one direction's line within memory a laptop has. */
#define DELAY_MOST_NS (INT64_C(10) * NS_PER_S)
#define JITTER_MOST_NS (INT64_C(2) * NS_PER_S) /* netem multiplies it in 32 bits */
#define QUEUE_MOST_BYTES (UINT64_C(1) << 31)
enum {
    HOSTS_MOST = (int)(TOPOLOGY_ROUTER_ADDRESS - TOPOLOGY_FIRST_ADDRESS),
    MTU_LEAST = 576,  /* what IPv4 asks every host to take */
    MTU_MOST = 65521, /* veth's */
    FRAME_HEADER = 14,
    ROUTE_LINKS_MOST = 256, /* a time to live of 255 is used up by 255 forwarders */
    TCP_IP_HEADERS = 52,    /* IPv4 20, TCP 20, timestamps 12 */
};

uint64_t topology_in_flight_bytes(uint64_t rate_bps, int64_t delay_ns)
{
    return (uint64_t)((unsigned __int128)rate_bps / 8 * (uint64_t)delay_ns / (uint64_t)NS_PER_S);
}

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
    uint64_t in_flight = topology_in_flight_bytes(link->rate_bps, link->delay_ns);
    if (in_flight > TOPOLOGY_IN_FLIGHT_MOST_BYTES)
        return err_set(err, ERR_USAGE, "rate x delay of a link is %.3g bytes in flight, more than the %s a delay line holds",
                       (double)in_flight, units_spell_size(allowed, sizeof(allowed), TOPOLOGY_IN_FLIGHT_MOST_BYTES));
    if (link->impairments.jitter_ns < 0 || link->impairments.jitter_ns > JITTER_MOST_NS)
        return err_set(err, ERR_USAGE, "a link's jitter of %s cannot be drawn by an engine: the most is %s",
                       units_spell_time(found, sizeof(found), link->impairments.jitter_ns),
                       units_spell_time(allowed, sizeof(allowed), JITTER_MOST_NS));
    const struct impairments *impairments = &link->impairments;
    if (impairments->loss > 0 && impairments->gilbert_elliott.p > 0)
        return err_set(err, ERR_USAGE, "a link has loss or gilbert_elliott, not both");
    if (impairments->gilbert_elliott.p > 0 && impairments->gilbert_elliott.r == 0)
        return err_set(err, ERR_USAGE, "gilbert_elliott needs r above 0: the first burst would never end");
    if (impairments->jitter_ns > 0 && impairments->jitter_distribution == JITTER_TABLE && !impairments->jitter_table)
        return err_set(err, ERR_USAGE, "jitter_distribution table needs jitter_table, the path of a file");
    if (link->queue_bytes > 0 && link->queue_packets > 0)
        return err_set(err, ERR_USAGE, "a queue is counted in bytes (queue) or in packets (queue_packets), not both");
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
    direction.queue_follows_rate = direction.queue_bytes == 0;
    if (direction.rate_bps > 0 && direction.queue_bytes == 0)
        direction.queue_bytes = shaping_default_queue_bytes(direction.rate_bps);
    if (direction.queue_bytes > QUEUE_MOST_BYTES)
        direction.queue_bytes = QUEUE_MOST_BYTES;
    return direction;
}

/* The settings that resolve to this direction. */
static struct link_settings settings_of(const struct direction *direction)
{
    return (struct link_settings){
        .rate_bps = direction->rate_bps,
        .delay_ns = direction->delay_ns,
        .queue_bytes = direction->queue_packets > 0 || direction->queue_follows_rate ? 0 : direction->queue_bytes,
        .queue_packets = (int)direction->queue_packets,
        .framing = direction->framing,
        .impairments = direction->impairments,
    };
}

int topology_change_direction(const struct direction *now, const struct link_patch *patch, int mtu, struct direction *then,
                              struct err *err)
{
    struct link_settings link = settings_of(now);
    shape_apply_patch(&link, patch);
    int code = check_link(&link, mtu, err);
    if (code < 0)
        return code;
    struct direction changed = resolve_direction(&link, mtu);
    changed.rate_most_bps = now->rate_most_bps;
    changed.delay_most_ns = now->delay_most_ns;
    changed.changes = now->changes;
    *then = changed;
    return 0;
}

/* The hosts, before the shape adds what is between them. */
static struct shape begin_shape(const struct settings *settings, int workers, int servers, struct arena *arena,
                                struct topology_fault *fault)
{
    struct shape shape = {.settings = settings, .arena = arena, .workers = workers, .hosts = workers + servers, .fault = fault};
    shape.place_count = shape.hosts;
    shape.place_room = shape.hosts + 2; /* most shapes add one or two */
    shape.places = arena_new_array(arena, struct place, (size_t)shape.place_room);
    for (int i = 0; i < shape.hosts; i++)
        shape.places[i] = (struct place){
            .name = i < workers ? arena_printf(arena, "w%d", i) : arena_printf(arena, "s%d", i - workers),
            .kind = PLACE_HOST,
            .address = TOPOLOGY_FIRST_ADDRESS + (uint32_t)i,
        };
    return shape;
}

static int finish_links(struct shape *shape, struct topology *topology, struct err *err)
{
    struct link *links = arena_new_array(shape->arena, struct link, (size_t)shape->link_count);
    for (int i = 0; i < shape->link_count; i++) {
        const struct shape_link *asked = &shape->links[i];
        links[i] = (struct link){.name = asked->name, .from = asked->from, .to = asked->to};
        for (int d = 0; d < DIRECTIONS; d++) {
            if (check_link(&asked->direction[d], topology->mtu, err) < 0) {
                *shape->fault = asked->origin;
                return err_wrap(err, "link %s", asked->name);
            }
            links[i].direction[d] = resolve_direction(&asked->direction[d], topology->mtu);
        }
    }
    topology->places = shape->places;
    topology->place_count = shape->place_count;
    topology->host_count = shape->hosts;
    topology->links = links;
    topology->link_count = shape->link_count;
    topology->fewest_links = shape->fewest_links;
    return 0;
}

/* Two hosts without a way to each other: from the first host to some other one, or back. */
static int find_unreachable(struct shape *shape, const struct topology *topology, struct err *err)
{
    for (int host = 1; host < topology->host_count; host++)
        for (int way = 0; way < 2; way++) {
            struct route route = topology_route(topology, way ? host : 0, way ? 0 : host);
            while (route_next(&route) >= 0)
                ;
            if (route.at != route.to)
                return shape_fail(shape, err, "topology.links", -1, "no links lead from %s to %s", topology->places[0].name,
                                  topology->places[host].name);
        }
    return 0;
}

static int check_routes(struct shape *shape, const struct topology *topology, struct err *err)
{
    struct routes_longest longest;
    if (!routes_longest(topology, &longest))
        return find_unreachable(shape, topology, err);
    if (longest.links > ROUTE_LINKS_MOST)
        return shape_fail(shape, err, "topology.shape", -1, "a path of %d links is longer than the %d that an IP packet survives",
                          longest.links, ROUTE_LINKS_MOST);
    return 0;
}

int topology_build_or_fault(const struct settings *settings, int workers, int servers, struct arena *arena,
                            struct topology *topology, struct topology_fault *fault, struct err *err)
{
    *fault = (struct topology_fault){.path = "topology.link", .index = -1};
    if (workers < 1 || servers < 0)
        return err_set(err, ERR_USAGE, "a topology of %d worker%s and %d server%s has no node to run", workers,
                       units_plural(workers), servers, units_plural(servers));
    if (workers > HOSTS_MOST - servers)
        return err_set(err, ERR_USAGE, "%d workers and %d server%s are more than the %d addresses of 10.64.0.0/10: use fewer",
                       workers, servers, units_plural(servers), (int)HOSTS_MOST);
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
    struct shape shape = begin_shape(settings, workers, servers, arena, fault);
    if (shape_build(&shape, err) < 0 || finish_links(&shape, &built, err) < 0)
        return -ERR_USAGE;
    if (built.place_count > HOSTS_MOST)
        return err_set(err, ERR_USAGE, "%d hosts and %d router%s are more than the %d addresses of 10.64.0.0/10: use fewer",
                       built.host_count, built.place_count - built.host_count, units_plural(built.place_count - built.host_count),
                       (int)HOSTS_MOST);
    built.routes = routes_compute(&built, arena);
    if (check_routes(&shape, &built, err) < 0)
        return -ERR_USAGE;
    *topology = built;
    return 0;
}

int topology_build(const struct settings *settings, int workers, int servers, struct arena *arena, struct topology *topology,
                   struct err *err)
{
    struct topology_fault fault;
    return topology_build_or_fault(settings, workers, servers, arena, topology, &fault, err);
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
            x->queue_packets != y->queue_packets || x->framing != y->framing ||
            !impairment_same(&x->impairments, &y->impairments) || x->rate_most_bps != y->rate_most_bps ||
            x->delay_most_ns != y->delay_most_ns || x->changes != y->changes)
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
        if (direction->rate_most_bps > 0 || direction->delay_most_ns > 0 || direction->changes)
            text_printf(out, " %s up to %" PRIu64 "bit %" PRId64 "ns", direction->changes ? "changes" : "rate changes",
                        direction->rate_most_bps, direction->delay_most_ns);
    }
}

/* Names do not matter to behaviour, so that a ring of 4 workers and a server with 3 share one measurement. A star's runs of equal
 * links are written once, with their count; elsewhere each link has its own ends. */
void topology_describe(const struct topology *topology, struct text *out)
{
    bool star = topology->shape == SHAPE_STAR;
    text_printf(out, "%s of %d mtu %d tcp %s rto_min %" PRId64 "ns slow_start_after_idle %d", shape_names[topology->shape],
                topology->host_count, topology->mtu, topology->tcp.congestion_control, topology->tcp.rto_min_ns,
                topology->tcp.slow_start_after_idle ? 1 : 0);
    for (int first = 0; first < topology->link_count;) {
        const struct link *link = &topology->links[first];
        int next = first + 1;
        while (star && next < topology->link_count && same_directions(link, &topology->links[next]))
            next++;
        if (star)
            text_printf(out, "; %d x ", next - first);
        else
            text_printf(out, "; %d-%d ", link->from, link->to);
        describe_directions(link, out);
        first = next;
    }
}
