/* test_topology.c: a star's places, links, addresses and paths; what is refused; when two networks are the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "netem/routes.h"
#include "netem/topology.h"
#include "tests/unit/topology_rig.h"

static void a_star_has_a_router_in_the_centre(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct settings settings = ordinary();
    struct topology topology;
    struct err err;
    assert_int_equal(topology_build(&settings, 3, 2, arena, &topology, &err), 0);
    static const char *const names[] = {"w0", "w1", "w2", "s0", "s1", "router"};
    static const char *const link_names[] = {"w0-router", "w1-router", "w2-router", "s0-router", "s1-router"};
    assert_int_equal(topology.host_count, 5);
    assert_int_equal(topology.place_count, 6);
    assert_int_equal(topology.link_count, 5);
    for (int i = 0; i < 6; i++) {
        assert_string_equal(topology.places[i].name, names[i]);
        assert_int_equal(topology.places[i].kind, i < 5 ? PLACE_HOST : PLACE_ROUTER);
        assert_int_equal(topology.places[i].address, i < 5 ? 0x0a400001 + i : 0);
    }
    for (int i = 0; i < 5; i++) {
        const struct link *link = &topology.links[i];
        assert_string_equal(link->name, link_names[i]);
        assert_int_equal(link->from, i);
        assert_int_equal(link->to, 5);
        for (int d = 0; d < DIRECTIONS; d++) {
            assert_int_equal(link->direction[d].rate_bps, 1000000000);
            assert_int_equal(link->direction[d].delay_ns, 250000);
            assert_int_equal(link->direction[d].queue_bytes, 1500000); /* the default, resolved */
        }
    }
    assert_int_equal(topology.mtu, 1500);
    assert_string_equal(topology.tcp.congestion_control, "cubic");
    assert_true(topology.tcp.slow_start_after_idle);
}

static void a_path_sums_delays_and_takes_the_narrowest_rate(void **state)
{
    (void)state;
    const struct place places[] = {{.name = "w0"}, {.name = "w1"}, {.name = "router", .kind = PLACE_ROUTER}};
    const struct link links[] = {
        {.from = 0, .to = 2, .direction = {{.rate_bps = 100, .delay_ns = 1}, {.rate_bps = 200, .delay_ns = 10}}},
        {.from = 2, .to = 1, .direction = {{.rate_bps = 0, .delay_ns = 100}, {.rate_bps = 50, .delay_ns = 1000}}},
    };
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct topology topology = {.places = places, .place_count = 3, .host_count = 2, .links = links, .link_count = 2};
    topology.routes = routes_compute(&topology, arena);
    struct topology_path there = topology_path(&topology, 0, 1), back = topology_path(&topology, 1, 0);
    assert_int_equal(there.delay_ns, 101);
    assert_int_equal(there.rate_bps, 100); /* 0 is no limit, not the least */
    assert_int_equal(there.hops, 2);
    assert_int_equal(back.delay_ns, 1010);
    assert_int_equal(back.rate_bps, 50);
    assert_int_equal(topology_path(&topology, 1, 1).hops, 0);
}

static void payload_share(void **state)
{
    (void)state;
    assert_float_equal(topology_payload_share(1500, FRAMING_L2), 1448.0 / 1514.0, 1e-12);
    assert_float_equal(topology_payload_share(9000, FRAMING_L2), 8948.0 / 9014.0, 1e-12);
    assert_float_equal(topology_payload_share(1500, FRAMING_L1), 1448.0 / 1538.0, 1e-12);
}

static void what_cannot_work_is_refused(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct settings settings;
    struct topology topology = {.mtu = -1};
    struct err err;

    settings = ordinary();
    assert_int_equal(topology_build(&settings, 0, 0, arena, &topology, &err), -ERR_USAGE);
    assert_int_equal(topology_build(&settings, 4194301, 1, arena, &topology, &err), -ERR_USAGE);
    assert_non_null(strstr(err.text, "addresses"));
    settings.link.queue_bytes = 1513;
    assert_int_equal(topology_build(&settings, 2, 0, arena, &topology, &err), -ERR_USAGE);
    assert_non_null(strstr(err.text, "1514 bytes"));
    settings = ordinary();
    settings.link.delay_ns = INT64_C(10000000001);
    assert_int_equal(topology_build(&settings, 2, 0, arena, &topology, &err), -ERR_USAGE);
    assert_non_null(strstr(err.text, "10s"));
    settings = ordinary();
    settings.link.rate_bps = UINT64_C(100000000000);
    settings.link.delay_ns = INT64_C(1000000000); /* 12.5 GB in flight */
    assert_int_equal(topology_build(&settings, 2, 0, arena, &topology, &err), -ERR_USAGE);
    assert_non_null(strstr(err.text, "in flight"));
    settings = ordinary();
    settings.mtu = 500;
    assert_int_equal(topology_build(&settings, 2, 0, arena, &topology, &err), -ERR_USAGE);
    settings = ordinary();
    settings.link.rate_bps = 7999;
    assert_int_equal(topology_build(&settings, 2, 0, arena, &topology, &err), -ERR_USAGE);
    assert_int_equal(topology.mtu, -1); /* no failure touches the output */
}

static char *describe(struct arena *arena, const struct settings *settings, int workers, int servers)
{
    struct topology topology;
    assert_int_equal(topology_build(settings, workers, servers, arena, &topology, NULL), 0);
    cleanup(text_free) struct text text = {0};
    topology_describe(&topology, &text);
    return arena_strdup(arena, text.bytes);
}

static void more_nodes_than_addresses_are_refused_at_once(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct settings settings = ordinary();
    struct topology topology;
    struct err err;
    assert_int_equal(topology_build(&settings, 4194302, 1, arena, &topology, &err), -ERR_USAGE);
    assert_string_equal(err.text, "4194302 workers and 1 server are more than the 4194301 addresses of 10.64.0.0/10: use fewer");
    assert_int_equal(topology_build(&settings, INT32_MAX, INT32_MAX, arena, &topology, &err), -ERR_USAGE);
    assert_true(arena_bytes(arena) < 4096);
}

static void equal_texts_equal_networks(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct settings one = ordinary(), other = ordinary();
    char *text = describe(arena, &one, 4, 0);
    assert_string_equal(
        text, "star of 4 mtu 1500 tcp cubic rto_min 0ns slow_start_after_idle 1; 4 x 1000000000bit 250000ns 1500000B back "
              "1000000000bit 250000ns 1500000B");
    assert_string_equal(text, describe(arena, &one, 3, 1)); /* names decide nothing */
    other.link.queue_bytes = 1500000;                       /* what the default comes to */
    assert_string_equal(text, describe(arena, &other, 4, 0));
    other.link.delay_ns++;
    assert_string_not_equal(text, describe(arena, &other, 4, 0));
    other = ordinary();
    other.congestion_control = "reno";
    assert_string_not_equal(text, describe(arena, &other, 4, 0));
    other = ordinary();
    other.rto_min_ns = 5000000;
    assert_string_not_equal(text, describe(arena, &other, 4, 0));
    assert_string_not_equal(text, describe(arena, &one, 5, 0));
}

/* An engine carries what may change, and memory depends on how far. */
static void what_may_change_is_part_of_a_network(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct settings settings = ordinary();
    struct topology topology;
    assert_int_equal(topology_build(&settings, 2, 0, arena, &topology, NULL), 0);
    struct link *links = arena_copy(arena, topology.links, 2 * sizeof(*links));
    topology.links = links;
    links[1].direction[DIRECTION_BACKWARD].rate_most_bps = 2000000000;
    links[1].direction[DIRECTION_BACKWARD].delay_most_ns = 5000000;
    cleanup(text_free) struct text rate = {0}, all = {0};
    topology_describe(&topology, &rate);
    assert_non_null(strstr(rate.bytes, "; 1 x 1000000000bit 250000ns 1500000B back 1000000000bit 250000ns 1500000B; 1 x "));
    assert_non_null(strstr(rate.bytes, "back 1000000000bit 250000ns 1500000B rate changes up to 2000000000bit 5000000ns"));
    links[1].direction[DIRECTION_BACKWARD].changes = true;
    topology_describe(&topology, &all);
    assert_non_null(strstr(all.bytes, "1500000B changes up to 2000000000bit 5000000ns"));
}

static void a_place_is_found_by_name_or_index(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct settings settings = ordinary();
    struct topology topology;
    struct err err;
    int place = -1;
    assert_int_equal(topology_build(&settings, 2, 1, arena, &topology, &err), 0);
    assert_int_equal(topology_find(&topology, "w1", &place, &err), 0);
    assert_int_equal(place, 1);
    assert_int_equal(topology_find(&topology, "router", &place, &err), 0);
    assert_int_equal(place, 3);
    assert_int_equal(topology_find(&topology, "2", &place, &err), 0);
    assert_int_equal(place, 2);
    assert_int_equal(topology_find(&topology, "rooter", &place, &err), -ERR_USAGE);
    assert_string_equal(err.text, "there is no node 'rooter'; did you mean 'router'? There are: w0 w1 s0 router");
    assert_int_equal(topology_find(&topology, "4", &place, &err), -ERR_USAGE);
    assert_string_equal(err.text, "there is no node '4'; there are: w0 w1 s0 router");
    assert_int_equal(topology_find(&topology, "-1", &place, &err), -ERR_USAGE);
    assert_int_equal(place, 2); /* untouched */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_place_is_found_by_name_or_index),
        cmocka_unit_test(a_star_has_a_router_in_the_centre),
        cmocka_unit_test(a_path_sums_delays_and_takes_the_narrowest_rate),
        cmocka_unit_test(payload_share),
        cmocka_unit_test(what_cannot_work_is_refused),
        cmocka_unit_test(more_nodes_than_addresses_are_refused_at_once),
        cmocka_unit_test(equal_texts_equal_networks),
        cmocka_unit_test(what_may_change_is_part_of_a_network),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
