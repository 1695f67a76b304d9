/* fuzz_topology.c: networks of every shape out of campaign files, damaged in places: each is refused with a printable sentence, or
 * gives a graph in which every route is a shortest one, by the algorithm of Floyd and Warshall, and ends. */
#include "harness/campaign.h"

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "harness/forecast.h"
#include "netem/routes.h"
#include "netem/topology.h"
#include "tests/fuzz/fuzz_sentence.h"

enum { TEXT_MAX = 4096, PLACES_MOST = 24 };

static void add_name(struct fuzz *fuzz, size_t workers, size_t routers, struct text *out)
{
    const size_t place = fuzz_below(fuzz, workers + routers);
    text_printf(out, place < workers ? "w%zu" : "r%zu", place < workers ? place : place - workers);
}

static void make_graph(struct fuzz *fuzz, size_t workers, struct text *out)
{
    const size_t routers = 1 + fuzz_below(fuzz, 6), links = workers + fuzz_below(fuzz, 12);
    text_add(out, "  shape: graph\n  routers: [");
    for (size_t r = 0; r < routers; r++)
        text_printf(out, "%sr%zu", r ? ", " : "", r);
    text_add(out, "]\n  links:\n");
    for (size_t i = 0; i < links; i++) {
        text_add(out, "    - {from: ");
        if (i < workers && fuzz_below(fuzz, 8)) /* mostly every worker hangs on something */
            text_printf(out, "w%zu", i);
        else
            add_name(fuzz, workers, routers, out);
        text_add(out, ", to: ");
        add_name(fuzz, workers, routers, out);
        if (fuzz_below(fuzz, 2))
            text_printf(out, ", delay: %zuus", fuzz_below(fuzz, 4) * 100);
        if (fuzz_below(fuzz, 4) == 0)
            text_printf(out, ", back: {delay: %zums}", fuzz_below(fuzz, 3));
        text_add(out, "}\n");
    }
}

static void make_sites(struct fuzz *fuzz, size_t workers, struct text *out)
{
    const size_t sites = 1 + fuzz_below(fuzz, 5);
    text_add(out, "  shape: sites\n  sites: [");
    for (size_t s = 0; s < sites; s++)
        text_printf(out, "%ss%zu", s ? ", s" : "s", s);
    text_add(out, "]\n  placement: [");
    for (size_t w = 0; w < workers; w++)
        text_printf(out, "%ss%zu", w ? ", s" : "s", fuzz_below(fuzz, sites));
    text_add(out, "]\n  latency: [");
    for (size_t row = 0; row < sites; row++) {
        text_add(out, row ? ", [" : "[");
        for (size_t column = 0; column < sites; column++)
            text_printf(out, "%s%zu%s", column ? ", " : "", row == column ? 0 : 1 + fuzz_below(fuzz, 5), row == column ? "" : "ms");
        text_add(out, "]");
    }
    text_add(out, "]\n");
}

static void make_campaign(struct fuzz *fuzz, struct text *out)
{
    static const char *const plain[] = {"star", "ring", "mesh", "dumbbell", "tree"};
    const size_t workers = 2 + fuzz_below(fuzz, 7), shape = fuzz_below(fuzz, 9);
    text_printf(out, "name: t\nscheme: %s\nworkload: {model: synthetic, size: 4KB, rounds: 2}\nworkers: %zu\ntopology:\n",
                fuzz_below(fuzz, 2) ? "ring" : "ps-sync", workers);
    if (shape < 3)
        make_graph(fuzz, workers, out);
    else if (shape < 5)
        make_sites(fuzz, workers, out);
    else
        text_printf(out, "  shape: %s\n%s", plain[fuzz_below(fuzz, 5)], shape == 8 ? "  racks: 2\n" : "");
    if (fuzz_below(fuzz, 4) == 0)
        text_printf(out, "  overrides: [{link: %zu, delay: %zums}, {node: w%zu, rate: 10mbit}]\n", fuzz_below(fuzz, 6),
                    fuzz_below(fuzz, 3), fuzz_below(fuzz, workers + 1));
}

/* ---- what must be true of routes ---- */

struct cost {
    int64_t first, second;
};

static bool less(struct cost a, struct cost b)
{
    return a.first != b.first ? a.first < b.first : a.second < b.second;
}

static struct cost sum(struct cost a, struct cost b)
{
    return (struct cost){a.first + b.first, a.second + b.second};
}

static struct cost of_end(const struct topology *topology, int end)
{
    const int64_t delay_ns = topology->links[end / 2].direction[end % 2].delay_ns;
    return topology->fewest_links ? (struct cost){1, delay_ns} : (struct cost){delay_ns, 1};
}

static void shortest(const struct topology *topology, struct cost least[PLACES_MOST][PLACES_MOST])
{
    const struct cost far = {INT64_MAX / 4, INT64_MAX / 4};
    for (int a = 0; a < topology->place_count; a++)
        for (int b = 0; b < topology->place_count; b++)
            least[a][b] = a == b ? (struct cost){0, 0} : far;
    for (int end = 0; end < 2 * topology->link_count; end++) {
        const struct link *link = &topology->links[end / 2];
        struct cost *known = end % 2 ? &least[link->to][link->from] : &least[link->from][link->to], cost = of_end(topology, end);
        *known = less(cost, *known) ? cost : *known;
    }
    for (int over = 0; over < topology->place_count; over++)
        for (int a = 0; a < topology->place_count; a++)
            for (int b = 0; b < topology->place_count; b++) {
                const struct cost cost = sum(least[a][over], least[over][b]);
                least[a][b] = less(cost, least[a][b]) ? cost : least[a][b];
            }
}

static void check_routes(struct fuzz *fuzz, const struct topology *topology)
{
    static struct cost least[PLACES_MOST][PLACES_MOST];
    shortest(topology, least);
    for (int from = 0; from < topology->place_count; from++)
        for (int to = 0; to < topology->place_count; to++) {
            struct route route = topology_route(topology, from, to);
            struct cost cost = {0, 0};
            int links = 0;
            for (int end; (end = route_next(&route)) >= 0; cost = sum(cost, of_end(topology, end)))
                FUZZ_CHECK(fuzz, ++links < topology->place_count);
            const bool there = least[from][to].first < INT64_MAX / 4;
            FUZZ_CHECK(fuzz, (route.at == to) == there);
            FUZZ_CHECK(fuzz, !there || (cost.first == least[from][to].first && cost.second == least[from][to].second));
            if (from >= topology->host_count || to >= topology->host_count)
                continue;
            const struct topology_path path = topology_path(topology, from, to);
            FUZZ_CHECK(fuzz, there && path.hops == links);
            FUZZ_CHECK(fuzz, path.delay_ns == (topology->fewest_links ? cost.second : cost.first));
        }
}

static void fuzz_one(struct fuzz *fuzz)
{
    static char bytes[TEXT_MAX];
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    cleanup(text_free) struct text campaign = {0};
    make_campaign(fuzz, &campaign);
    FUZZ_CHECK(fuzz, campaign.length <= sizeof(bytes));
    memcpy(bytes, campaign.bytes, campaign.length);
    size_t length = campaign.length;
    if (fuzz->bytes || fuzz->corpus || fuzz_below(fuzz, 2))
        length = fuzz_mutate(fuzz, (uint8_t *)bytes, length, sizeof(bytes));
    struct plan plan = {0};
    struct err err = {0};
    if (campaign_parse("t", bytes, length, arena, &plan, &err) < 0) {
        fuzz_check_sentence(fuzz, &err);
        return;
    }
    struct topology topology;
    int servers;
    if (plan.cells[0].settings.workers > PLACES_MOST ||
        forecast_topology(&plan.cells[0].settings, arena, &topology, &servers, &err) < 0)
        return;
    if (topology.place_count <= PLACES_MOST)
        check_routes(fuzz, &topology);
    fuzz->accepted++;
}

FUZZ_MAIN("topology")
