/* test_topology_shapes.c: each shape's hosts, links and routes, as golden graphs. */
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
#include "netem/topology.h"
#include "tests/unit/topology_rig.h"

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
        cmocka_unit_test(a_name_wins_over_an_index_everywhere),
        cmocka_unit_test(a_ring_is_a_circle_of_hosts),
        cmocka_unit_test(a_mesh_has_a_link_a_pair_and_no_detours),
        cmocka_unit_test(a_dumbbell_has_a_bottleneck),
        cmocka_unit_test(a_tree_has_racks_with_uplinks),
        cmocka_unit_test(overrides_come_last_and_know_both_ends),
        cmocka_unit_test(graphs_name_parallel_links_and_let_idle_hosts_forward),
        cmocka_unit_test(sites_give_a_pair_what_the_matrix_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
