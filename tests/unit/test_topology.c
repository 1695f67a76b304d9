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

static struct settings ordinary(void)
{
    return (struct settings){.shape = SHAPE_STAR,
                             .link = {.rate_bps = 1000000000, .delay_ns = 250000},
                             .mtu = 1500,
                             .congestion_control = "cubic",
                             .slow_start_after_idle = true};
}

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

/* ---- shapes: golden graphs ---- */
#define PATCH_RATE(bps)                                                                                                            \
    {                                                                                                                              \
        .values.rate_bps = (bps), .replaces[offsetof(struct link_settings, rate_bps)... RATE_LAST] = true                          \
    }
#define PATCH_DELAY(ns)                                                                                                            \
    {                                                                                                                              \
        .values.delay_ns = (ns), .replaces[offsetof(struct link_settings, delay_ns)... DELAY_LAST] = true                          \
    }
enum {
    RATE_LAST = offsetof(struct link_settings, rate_bps) + sizeof(uint64_t) - 1,
    DELAY_LAST = offsetof(struct link_settings, delay_ns) + sizeof(int64_t) - 1,
};

/* "w0-w1 1000000000/250000 1000000000/250000; ..." */
static char *spell_links(struct arena *arena, const struct settings *settings, int workers, int servers, struct topology *topology)
{
    struct err err;
    if (topology_build(settings, workers, servers, arena, topology, &err) < 0)
        fail_msg("%s", err.text);
    cleanup(text_free) struct text text = {0};
    for (int i = 0; i < topology->link_count; i++) {
        const struct link *link = &topology->links[i];
        text_printf(&text, "%s%s %d>%d", i ? "; " : "", link->name, link->from, link->to);
        for (int d = 0; d < DIRECTIONS; d++)
            text_printf(&text, " %lluk/%lldus", (unsigned long long)link->direction[d].rate_bps / 1000,
                        (long long)link->direction[d].delay_ns / 1000);
    }
    return arena_strdup(arena, text.bytes ? text.bytes : "");
}

static void a_ring_is_a_circle_of_hosts(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct settings settings = ordinary();
    struct topology topology;
    settings.shape = SHAPE_RING;
    assert_string_equal(spell_links(arena, &settings, 1, 0, &topology), "");
    assert_string_equal(spell_links(arena, &settings, 2, 0, &topology), "w0-w1 0>1 1000000k/250us 1000000k/250us");
    assert_string_equal(spell_links(arena, &settings, 3, 1, &topology),
                        "w0-w1 0>1 1000000k/250us 1000000k/250us; w1-w2 1>2 1000000k/250us 1000000k/250us; "
                        "w2-s0 2>3 1000000k/250us 1000000k/250us; s0-w0 3>0 1000000k/250us 1000000k/250us");
    assert_int_equal(topology.place_count, 4);
    assert_int_equal(topology_path(&topology, 0, 2).hops, 2);
    assert_int_equal(topology_path(&topology, 0, 3).hops, 1);
    struct err err;
    assert_int_equal(topology_build(&settings, 513, 0, arena, &topology, &err), 0);
    assert_int_equal(topology_build(&settings, 514, 0, arena, &topology, &err), -ERR_USAGE);
    assert_non_null(strstr(err.text, "257 links"));
}

static void a_mesh_has_a_link_a_pair_and_no_detours(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    const struct link_override slow[] = {{.link = "w0-w2", .change.both = PATCH_DELAY(9000000)}};
    struct settings settings = ordinary();
    struct topology topology;
    settings.shape = SHAPE_MESH;
    settings.overrides = slow;
    settings.override_count = 1;
    assert_string_equal(spell_links(arena, &settings, 3, 0, &topology),
                        "w0-w1 0>1 1000000k/250us 1000000k/250us; w0-w2 0>2 1000000k/9000us 1000000k/9000us; "
                        "w1-w2 1>2 1000000k/250us 1000000k/250us");
    assert_int_equal(topology_path(&topology, 0, 2).delay_ns, 9000000);
    struct err err;
    settings.override_count = 0;
    assert_int_equal(topology_build(&settings, 500, 0, arena, &topology, &err), -ERR_USAGE);
    assert_non_null(strstr(err.text, "124750 links"));
}

static void a_dumbbell_has_a_bottleneck(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    const struct link_change bottleneck = {.both = PATCH_RATE(10000000), .back = PATCH_DELAY(5000000)};
    struct settings settings = ordinary();
    struct topology topology;
    settings.shape = SHAPE_DUMBBELL;
    settings.bottleneck = &bottleneck;
    assert_string_equal(spell_links(arena, &settings, 3, 0, &topology),
                        "w0-left 0>3 1000000k/250us 1000000k/250us; w1-left 1>3 1000000k/250us 1000000k/250us; "
                        "w2-right 2>4 1000000k/250us 1000000k/250us; left-right 3>4 10000k/250us 10000k/5000us");
    assert_int_equal(topology_path(&topology, 0, 2).delay_ns, 750000);
    assert_int_equal(topology_path(&topology, 2, 0).delay_ns, 5500000);
    assert_int_equal(topology_path(&topology, 0, 2).rate_bps, 10000000);
    assert_int_equal(topology_path(&topology, 0, 1).rate_bps, 1000000000);
}

static void a_tree_has_racks_with_uplinks(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    const struct link_patch back = PATCH_RATE(100000000);
    struct settings settings = ordinary();
    struct topology topology;
    settings.shape = SHAPE_TREE;
    settings.racks = 2;
    settings.oversubscription = 4;
    settings.back = &back;
    assert_string_equal(spell_links(arena, &settings, 3, 0, &topology),
                        "w0-rack0 0>4 1000000k/250us 100000k/250us; w1-rack0 1>4 1000000k/250us 100000k/250us; "
                        "w2-rack1 2>5 1000000k/250us 100000k/250us; rack0-core 4>3 500000k/250us 50000k/250us; "
                        "rack1-core 5>3 250000k/250us 25000k/250us");
    assert_int_equal(topology_path(&topology, 0, 2).hops, 4);
    assert_int_equal(topology_path(&topology, 0, 1).hops, 2);
    struct topology_fault fault;
    struct err err;
    settings.racks = 4;
    assert_int_equal(topology_build_or_fault(&settings, 3, 0, arena, &topology, &fault, &err), -ERR_USAGE);
    assert_string_equal(fault.path, "topology.racks");
    settings.racks = 2;
    settings.link.rate_bps = 0;
    assert_int_equal(topology_build_or_fault(&settings, 3, 0, arena, &topology, &fault, &err), -ERR_USAGE);
    assert_string_equal(fault.path, "topology.oversubscription");
}

static void overrides_come_last_and_know_both_ends(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct settings settings = ordinary();
    const struct link_override overrides[] = {
        {.node = "1", .change = {.both = PATCH_RATE(5000000), .back = PATCH_DELAY(1000)}}, /* back: towards the node */
        {.link = "2", .change.both = PATCH_DELAY(0)}};                                     /* w2-w0; 0 is a value */
    struct topology topology;
    settings.shape = SHAPE_RING;
    settings.overrides = overrides;
    settings.override_count = 2;
    assert_string_equal(spell_links(arena, &settings, 3, 0, &topology),
                        "w0-w1 0>1 5000k/1us 5000k/250us; w1-w2 1>2 5000k/250us 5000k/1us; w2-w0 2>0 1000000k/0us 1000000k/0us");
    struct topology_fault fault;
    struct err err;
    const struct link_override unknown[] = {{.node = "w1"}, {.link = "w0-router"}};
    settings.overrides = unknown;
    assert_int_equal(topology_build_or_fault(&settings, 3, 0, arena, &topology, &fault, &err), -ERR_USAGE);
    assert_string_equal(fault.path, "topology.overrides");
    assert_int_equal(fault.index, 1);
    assert_string_equal(err.text, "there is no link 'w0-router': the first one is 'w0-w1', and indexes go from 0 to 2");
}

static void graphs_name_parallel_links_and_let_idle_hosts_forward(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    const char *const hosts[] = {"a", "b", "idle"}, *const routers[] = {"core"};
    const struct graph_link links[] = {{.from = "a", .to = "core"},
                                       {.from = "w0", .to = "core", .change.both = PATCH_DELAY(1000)},
                                       {.from = "core", .to = "idle"},
                                       {.from = "idle", .to = "b", .name = "last"}};
    struct settings settings = ordinary();
    struct topology topology;
    settings.shape = SHAPE_GRAPH;
    settings.hosts = (struct name_list){hosts, 3};
    settings.routers = (struct name_list){routers, 1};
    settings.links = (struct graph_link_list){links, 4};
    assert_string_equal(spell_links(arena, &settings, 2, 0, &topology),
                        "w0-core 0>3 1000000k/250us 1000000k/250us; w0-core#2 0>3 1000000k/1us 1000000k/1us; "
                        "core-idle 3>2 1000000k/250us 1000000k/250us; last 2>1 1000000k/250us 1000000k/250us");
    assert_int_equal(topology.host_count, 2);
    assert_int_equal(topology.places[2].kind, PLACE_ROUTER);
    assert_int_equal(topology_path(&topology, 0, 1).delay_ns, 501000);
}

static void sites_give_a_pair_what_the_matrix_says(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    const char *const sites[] = {"x", "y", "z"};
    const double latency[] = {0, 25e6, 3e6, 20e6, 0, 4e6, 3e6, 4e6, 0}, rate[] = {0, 1e6, 2e6, 3e6, 0, 4e6, 5e6, 6e6, 0};
    struct settings settings = ordinary();
    struct topology topology;
    settings.shape = SHAPE_SITES;
    settings.link.delay_ns = 0;
    settings.sites = (struct name_list){sites, 3};
    settings.latency = (struct site_matrix){latency, 3};
    settings.rate = (struct site_matrix){rate, 3};
    assert_string_equal(
        spell_links(arena, &settings, 4, 0, &topology),
        "w0-x 0>4 1000000k/0us 1000000k/0us; w1-x 1>4 1000000k/0us 1000000k/0us; "
        "w2-y 2>5 1000000k/0us 1000000k/0us; w3-z 3>6 1000000k/0us 1000000k/0us; "
        "x-y 4>5 1000k/25000us 3000k/20000us; x-z 4>6 2000k/3000us 5000k/3000us; y-z 5>6 4000k/4000us 6000k/4000us");
    assert_int_equal(topology_path(&topology, 0, 2).delay_ns, 25000000); /* over z it would be 7 ms */
    assert_int_equal(topology_path(&topology, 2, 1).delay_ns, 20000000);
    assert_int_equal(topology_path(&topology, 2, 1).rate_bps, 3000000);
    assert_int_equal(topology_path(&topology, 0, 1).delay_ns, 0);
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

/* Networks whose names are digits: no campaign file gives such names, so that the rule shows only here. */
static void a_name_wins_over_an_index_everywhere(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    const char *const hosts[] = {"1", "0"}, *const routers[] = {"core"};
    const struct graph_link links[] = {{.from = "1", .to = "core", .name = "1"}, {.from = "0", .to = "core", .name = "0"}};
    const struct link_override overrides[] = {{.link = "1", .change.both = PATCH_DELAY(1000)},
                                              {.node = "0", .change.both = PATCH_RATE(5000000)}};
    struct settings settings = ordinary();
    struct topology topology;
    settings.shape = SHAPE_GRAPH;
    settings.hosts = (struct name_list){hosts, 2};
    settings.routers = (struct name_list){routers, 1};
    settings.links = (struct graph_link_list){links, 2};
    settings.overrides = overrides;
    settings.override_count = 2;
    assert_string_equal(spell_links(arena, &settings, 2, 0, &topology),
                        "1 0>2 1000000k/1us 1000000k/1us; 0 1>2 5000k/250us 5000k/250us");
    assert_int_equal(topology_find_link(&topology, "1"), 0);
    assert_int_equal(topology_find_link(&topology, "0"), 1);
    assert_int_equal(topology_find_link(&topology, "2"), -1);
    assert_int_equal(topology_find_link(&topology, "00"), 0); /* no name: the number 0 */
    assert_int_equal(topology_find_link(&topology, "-0"), -1);
    assert_int_equal(topology_find_link(&topology, ""), -1);
    assert_int_equal(topology_find_place(&topology, &settings.hosts, "1"), 0);
    assert_int_equal(topology_find_place(&topology, &settings.hosts, "0"), 1);
    assert_int_equal(topology_find_place(&topology, &settings.hosts, "core"), 2);
    assert_int_equal(topology_find_place(&topology, &settings.hosts, "2"), -1); /* a router has no index */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_place_is_found_by_name_or_index),
        cmocka_unit_test(a_name_wins_over_an_index_everywhere),
        cmocka_unit_test(a_star_has_a_router_in_the_centre),
        cmocka_unit_test(a_path_sums_delays_and_takes_the_narrowest_rate),
        cmocka_unit_test(a_ring_is_a_circle_of_hosts),
        cmocka_unit_test(a_mesh_has_a_link_a_pair_and_no_detours),
        cmocka_unit_test(a_dumbbell_has_a_bottleneck),
        cmocka_unit_test(a_tree_has_racks_with_uplinks),
        cmocka_unit_test(overrides_come_last_and_know_both_ends),
        cmocka_unit_test(graphs_name_parallel_links_and_let_idle_hosts_forward),
        cmocka_unit_test(sites_give_a_pair_what_the_matrix_says),
        cmocka_unit_test(payload_share),
        cmocka_unit_test(what_cannot_work_is_refused),
        cmocka_unit_test(more_nodes_than_addresses_are_refused_at_once),
        cmocka_unit_test(equal_texts_equal_networks),
        cmocka_unit_test(what_may_change_is_part_of_a_network),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
