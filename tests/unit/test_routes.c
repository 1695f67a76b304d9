/* test_routes.c: shortest paths through golden graphs, and through random ones against the algorithm of Floyd and Warshall. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/rng.h"
#include "netem/routes.h"
#include "netem/topology.h"

#define COUNT_OF(array) ((int)(sizeof(array) / sizeof((array)[0])))
enum { PLACES = 12, LINKS = 24, NO_WAY = -1 };

static struct arena *arena;

static int set_up(void **state)
{
    (void)state;
    arena = arena_new();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_cleanup(&arena);
    return 0;
}

/* A link of some delay there and another one back. */
#define LINK(a, b, there, back)                                                                                                    \
    {                                                                                                                              \
        .name = #a "-" #b, .from = (a), .to = (b), .direction = { {.delay_ns = (there)}, {.delay_ns = (back)} }                    \
    }

static struct topology graph(const struct link *links, int link_count, int hosts, int routers)
{
    struct place *places = arena_new_array(arena, struct place, (size_t)(hosts + routers));
    for (int i = 0; i < hosts + routers; i++)
        places[i] = (struct place){.name = arena_printf(arena, "%d", i), .kind = i < hosts ? PLACE_HOST : PLACE_ROUTER};
    struct topology topology = {
        .places = places, .place_count = hosts + routers, .host_count = hosts, .links = links, .link_count = link_count};
    topology.routes = routes_compute(&topology, arena);
    return topology;
}

static void assert_route(const struct topology *topology, int from, int to, const int *ends, int count)
{
    struct route route = topology_route(topology, from, to);
    for (int i = 0; i < count; i++)
        assert_int_equal(route_next(&route), ends[i]);
    assert_int_equal(route_next(&route), -1);
    assert_int_equal(route.at, to);
}
#define ASSERT_ROUTE(topology, from, to, ...)                                                                                      \
    assert_route(topology, from, to, (const int[]){__VA_ARGS__}, COUNT_OF(((const int[]){__VA_ARGS__})))

static void assert_first_ends(const struct topology *topology, int from, int to, const int *expected, int count)
{
    int ends[LINKS];
    assert_int_equal(routes_first_ends(topology, from, to, ends, LINKS), count);
    for (int i = 0; i < count; i++)
        assert_int_equal(ends[i], expected[i]);
}
#define ASSERT_FIRST_ENDS(topology, from, to, ...)                                                                                 \
    assert_first_ends(topology, from, to, (const int[]){__VA_ARGS__}, COUNT_OF(((const int[]){__VA_ARGS__})))

static void a_star_goes_over_its_centre(void **state)
{
    (void)state;
    const struct link links[] = {LINK(0, 3, 10, 1), LINK(1, 3, 20, 2), LINK(2, 3, 30, 3)};
    struct topology star = graph(links, 3, 3, 1);
    ASSERT_ROUTE(&star, 0, 1, 0, 3);
    ASSERT_ROUTE(&star, 2, 0, 4, 1);
    ASSERT_ROUTE(&star, 2, 3, 4);
    ASSERT_ROUTE(&star, 3, 1, 3);
    ASSERT_FIRST_ENDS(&star, 0, 2, 0);
    ASSERT_FIRST_ENDS(&star, 3, 2, 5);
    assert_int_equal(routes_anchor(&star, 1), 3);
    assert_true(routes_transit(&star, 3));
    assert_false(routes_transit(&star, 0));
    struct routes_longest longest;
    assert_true(routes_longest(&star, &longest));
    assert_int_equal(longest.delay_ns, 33); /* up from 2 and down to 2: a bound that needs no look at pairs */
    assert_int_equal(longest.links, 2);
}

static void a_link_between_two_hosts_is_a_network(void **state)
{
    (void)state;
    const struct link links[] = {LINK(0, 1, 7, 8)};
    struct topology pair = graph(links, 1, 2, 0);
    ASSERT_ROUTE(&pair, 0, 1, 0);
    ASSERT_ROUTE(&pair, 1, 0, 1);
    assert_false(routes_transit(&pair, 0));
    assert_false(routes_transit(&pair, 1));
}

static void opposite_nodes_of_a_ring_share_two_ways(void **state)
{
    (void)state;
    const struct link links[] = {LINK(0, 1, 5, 5), LINK(1, 2, 5, 5), LINK(2, 3, 5, 5), LINK(3, 0, 5, 5)};
    struct topology ring = graph(links, 4, 4, 0);
    ASSERT_FIRST_ENDS(&ring, 0, 2, 0, 7);
    ASSERT_FIRST_ENDS(&ring, 0, 1, 0);
    ASSERT_FIRST_ENDS(&ring, 0, 3, 7);
    ASSERT_ROUTE(&ring, 0, 2, 0, 2); /* the first of the two */
    ASSERT_ROUTE(&ring, 2, 0, 3, 1);
    for (int host = 0; host < 4; host++)
        assert_true(routes_transit(&ring, host));
}

static void each_direction_counts_for_itself(void **state)
{
    (void)state;
    /* Straight there costs 10, back 100; over 2 it is 15 either way. */
    const struct link links[] = {LINK(0, 1, 10, 100), LINK(0, 2, 7, 7), LINK(2, 1, 8, 8)};
    struct topology triangle = graph(links, 3, 3, 0);
    ASSERT_ROUTE(&triangle, 0, 1, 0);
    ASSERT_ROUTE(&triangle, 1, 0, 5, 3);
    assert_true(routes_transit(&triangle, 2));
    assert_false(routes_transit(&triangle, 0));
}

static void fewest_links_never_takes_a_detour(void **state)
{
    (void)state;
    const struct link links[] = {LINK(0, 1, 100, 100), LINK(0, 2, 7, 7), LINK(2, 1, 8, 8)};
    struct topology triangle = graph(links, 3, 3, 0);
    ASSERT_ROUTE(&triangle, 0, 1, 2, 4);
    triangle.fewest_links = true;
    triangle.routes = routes_compute(&triangle, arena);
    ASSERT_ROUTE(&triangle, 0, 1, 0);
    assert_false(routes_transit(&triangle, 2));
}

static void links_without_delay_are_counted(void **state)
{
    (void)state;
    const struct link links[] = {LINK(0, 1, 0, 0), LINK(1, 2, 0, 0), LINK(0, 2, 0, 0)};
    struct topology triangle = graph(links, 3, 3, 0);
    ASSERT_ROUTE(&triangle, 0, 2, 4);
    ASSERT_FIRST_ENDS(&triangle, 0, 2, 4);
}

static void parallel_links_are_shared_if_equal(void **state)
{
    (void)state;
    const struct link links[] = {LINK(0, 1, 5, 5), LINK(1, 0, 5, 6)};
    struct topology pair = graph(links, 2, 2, 0);
    ASSERT_FIRST_ENDS(&pair, 0, 1, 0);    /* 5 there, the other 6 */
    ASSERT_FIRST_ENDS(&pair, 1, 0, 1, 2); /* 5 either way */
}

static void what_is_cut_off_has_no_way(void **state)
{
    (void)state;
    const struct link links[] = {LINK(0, 1, 5, 5), LINK(2, 3, 5, 5)};
    struct topology halves = graph(links, 2, 4, 1);
    struct route route = topology_route(&halves, 0, 2);
    while (route_next(&route) >= 0)
        ;
    assert_int_not_equal(route.at, 2);
    int ends[4];
    assert_int_equal(routes_first_ends(&halves, 1, 2, ends, 4), 0);
    struct routes_longest longest;
    assert_false(routes_longest(&halves, &longest));
    assert_int_equal(longest.delay_ns, 10); /* the bound: of the halves, what hangs on a place goes up and down */
}

/* ---- random graphs ---- */
struct reference {
    int64_t delay_ns[PLACES][PLACES], links[PLACES][PLACES]; /* NO_WAY */
};

static bool better(int64_t delay_ns, int64_t links, int64_t than_ns, int64_t than_links)
{
    return than_ns == NO_WAY || delay_ns < than_ns || (delay_ns == than_ns && links < than_links);
}

static void floyd_warshall(const struct topology *topology, struct reference *best)
{
    for (int a = 0; a < PLACES; a++)
        for (int b = 0; b < PLACES; b++)
            best->delay_ns[a][b] = best->links[a][b] = a == b ? 0 : NO_WAY;
    for (int end = 0; end < 2 * topology->link_count; end++) {
        const struct link *link = &topology->links[end / 2];
        int from = end % 2 ? link->to : link->from, to = end % 2 ? link->from : link->to;
        if (better(link->direction[end % 2].delay_ns, 1, best->delay_ns[from][to], best->links[from][to])) {
            best->delay_ns[from][to] = link->direction[end % 2].delay_ns;
            best->links[from][to] = 1;
        }
    }
    for (int k = 0; k < PLACES; k++)
        for (int a = 0; a < PLACES; a++)
            for (int b = 0; b < PLACES; b++) {
                if (best->delay_ns[a][k] == NO_WAY || best->delay_ns[k][b] == NO_WAY)
                    continue;
                int64_t delay_ns = best->delay_ns[a][k] + best->delay_ns[k][b], links = best->links[a][k] + best->links[k][b];
                if (better(delay_ns, links, best->delay_ns[a][b], best->links[a][b])) {
                    best->delay_ns[a][b] = delay_ns;
                    best->links[a][b] = links;
                }
            }
}

/* Along every choice of every first end the sums must come out as the best, so that each of them is a shortest way and a walk ends.
 */
static void check_pair(const struct topology *topology, const struct reference *best, int from, int to)
{
    int64_t delay_ns = 0, links = 0;
    struct route route = topology_route(topology, from, to);
    for (int end; (end = route_next(&route)) >= 0; links++)
        delay_ns += topology->links[end / 2].direction[end % 2].delay_ns;
    bool reached = best->delay_ns[from][to] != NO_WAY;
    assert_int_equal(route.at == to, reached);
    int ends[LINKS], count = routes_first_ends(topology, from, to, ends, LINKS);
    assert_int_equal(count > 0, reached && from != to);
    if (!reached)
        return;
    assert_int_equal(delay_ns, best->delay_ns[from][to]);
    assert_int_equal(links, best->links[from][to]);
    int expected = 0;
    for (int end = 0; end < 2 * topology->link_count && from != to; end++) {
        const struct link *link = &topology->links[end / 2];
        int here = end % 2 ? link->to : link->from, there = end % 2 ? link->from : link->to;
        if (here != from || best->delay_ns[there][to] == NO_WAY ||
            link->direction[end % 2].delay_ns + best->delay_ns[there][to] != delay_ns || 1 + best->links[there][to] != links)
            continue;
        assert_true(expected < count);
        assert_int_equal(ends[expected++], end);
        assert_true(there == to || routes_transit(topology, there));
    }
    assert_int_equal(expected, count);
}

static void random_graphs_have_the_shortest_ways(void **state)
{
    (void)state;
    struct rng rng = rng_stream(7, 0, 0, RNG_SCHEME);
    for (int attempt = 0; attempt < 300; attempt++) {
        struct link links[LINKS];
        int count = 1 + (int)rng_below(&rng, LINKS);
        for (int i = 0; i < count; i++) {
            int from = (int)rng_below(&rng, PLACES), to = (int)rng_below(&rng, PLACES - 1);
            links[i] = (struct link){.name = "", .from = from, .to = to < from ? to : to + 1};
            for (int d = 0; d < DIRECTIONS; d++)
                links[i].direction[d].delay_ns = rng_below(&rng, 4); /* few values: many ties */
        }
        struct topology topology = graph(links, count, PLACES / 2, PLACES / 2);
        struct reference best;
        floyd_warshall(&topology, &best);
        for (int from = 0; from < PLACES; from++)
            for (int to = 0; to < PLACES; to++)
                check_pair(&topology, &best, from, to);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_star_goes_over_its_centre),
        cmocka_unit_test(a_link_between_two_hosts_is_a_network),
        cmocka_unit_test(opposite_nodes_of_a_ring_share_two_ways),
        cmocka_unit_test(each_direction_counts_for_itself),
        cmocka_unit_test(fewest_links_never_takes_a_detour),
        cmocka_unit_test(links_without_delay_are_counted),
        cmocka_unit_test(parallel_links_are_shared_if_equal),
        cmocka_unit_test(what_is_cut_off_has_no_way),
        cmocka_unit_test(random_graphs_have_the_shortest_ways),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
