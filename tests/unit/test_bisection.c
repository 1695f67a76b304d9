/* test_bisection.c: what one half of a network can send to the other, in golden networks, and how plan writes paths. */
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
#include "harness/plan_paths.h"
#include "netem/bisection.h"
#include "netem/topology.h"

static void build(struct settings *settings, enum topology_shape shape, int workers, struct arena *arena, struct topology *topology)
{
    struct err err;
    settings->shape = shape;
    settings->mtu = 1500;
    if (topology_build(settings, workers, 0, arena, topology, &err) < 0)
        fail_msg("%s", err.text);
}

static void assert_bisection(struct settings settings, enum topology_shape shape, int workers, uint64_t there, uint64_t back)
{
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct topology topology;
    build(&settings, shape, workers, arena, &topology);
    assert_true(bisection_bps(&topology, false) == there);
    assert_true(bisection_bps(&topology, true) == back);
}

static void the_narrowest_cut_decides(void **state)
{
    (void)state;
    const uint64_t rate = 1000000000;
    struct settings settings = {.link.rate_bps = rate, .racks = 2};
    assert_bisection(settings, SHAPE_STAR, 4, 2 * rate, 2 * rate);
    assert_bisection(settings, SHAPE_STAR, 5, 2 * rate, 2 * rate); /* two receive */
    assert_bisection(settings, SHAPE_RING, 6, 2 * rate, 2 * rate); /* two links are cut */
    assert_bisection(settings, SHAPE_MESH, 4, 4 * rate, 4 * rate);
    assert_bisection(settings, SHAPE_DUMBBELL, 8, rate, rate);
    settings.oversubscription = 4;
    assert_bisection(settings, SHAPE_TREE, 8, rate, rate);
    const struct link_override slow = {
        .link = "left-right",
        .change.back = {.values.rate_bps = 5000000,
                        .replaces[offsetof(struct link_settings, rate_bps)... offsetof(struct link_settings, rate_bps) + 7] =
                            true}};
    settings.overrides = &slow;
    settings.override_count = 1;
    assert_bisection(settings, SHAPE_DUMBBELL, 8, rate, 5000000);
    settings = (struct settings){.racks = 1};
    assert_bisection(settings, SHAPE_STAR, 4, UINT64_MAX, UINT64_MAX);
    assert_bisection(settings, SHAPE_STAR, 1, 0, 0);
}

static void paths_are_written_link_by_link(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    cleanup(text_free) struct text text = {0}, cut = {0};
    struct settings settings = {.link = {.rate_bps = 1000000, .delay_ns = 1000000}};
    struct topology topology;
    build(&settings, SHAPE_RING, 4, arena, &topology);
    plan_paths_print(&topology, false, &text);
    assert_non_null(strstr(text.bytes, "  w0 > w1: 1ms, 1mbit, over w0-w1\n"));
    assert_non_null(strstr(text.bytes, "  w0 > w2: 2ms, 1mbit, over w0-w1 w1-w2 and equal ones\n"));
    assert_non_null(strstr(text.bytes, "  bisection: the first 2 nodes can send 2mbit to the others, and those 2mbit back\n"));
    build(&settings, SHAPE_RING, 10, arena, &topology);
    plan_paths_print(&topology, false, &cut);
    assert_non_null(strstr(cut.bytes, "  ... and 34 more pairs: --paths shows all\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_narrowest_cut_decides),
        cmocka_unit_test(paths_are_written_link_by_link),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
