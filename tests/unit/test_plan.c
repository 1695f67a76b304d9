/* test_plan.c: the order of trials is a seeded, blocked random one, the same on every machine; cells of a block share their
 * draws. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/rng.h"
#include "base/text.h"
#include "harness/campaign.h"
#include "harness/campaign_internal.h"
#include "harness/event_plan.h"

enum { CELLS = 7, REPEATS = 50 };

static void a_block_holds_every_cell_once(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    int count;
    const struct trial_plan *trials = plan_order(arena, 1, CELLS, 1, REPEATS, &count);
    assert_int_equal(count, CELLS * REPEATS);
    for (int block = 0; block < REPEATS; block++) {
        unsigned seen = 0;
        for (int i = 0; i < CELLS; i++) {
            const struct trial_plan *trial = &trials[block * CELLS + i];
            assert_int_equal(trial->order, block * CELLS + i);
            assert_int_equal(trial->repeat, block);
            seen |= 1u << trial->cell;
        }
        assert_int_equal(seen, (1u << CELLS) - 1);
    }
}

static void seeds_depend_on_campaign_seed_and_repeat_only(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    int count;
    const struct trial_plan *trials = plan_order(arena, 42, CELLS, 1, REPEATS, &count);
    const struct trial_plan *fewer = plan_order(arena, 42, 2, 1, 3, &count);
    for (int i = 0; i < CELLS * REPEATS; i++) {
        struct rng stream = rng_stream(42, (uint32_t)trials[i].repeat, RNG_ALL_NODES, RNG_COMMON);
        assert_true(trials[i].seed == rng_u64(&stream));
    }
    assert_true(fewer[0].seed == trials[0].seed && fewer[4].seed == trials[2 * CELLS].seed);
    assert_true(trials[0].seed != trials[CELLS].seed);
}

/* Stored databases and published campaigns depend on these. */
static void the_order_is_the_known_one(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    int count;
    const struct trial_plan *trials = plan_order(arena, 1, 6, 1, 2, &count);
    static const int cells[12] = {0, 1, 3, 2, 4, 5, 2, 1, 5, 4, 0, 3};
    for (int i = 0; i < 12; i++)
        assert_int_equal(trials[i].cell, cells[i]);
    assert_true(trials[0].seed == UINT64_C(0xbc0351daa85d9e3e) && trials[6].seed == UINT64_C(0xbfa1464ef72c1865));
}

/* Every cell comes first about as often as any other: 7 cells, 7,000 blocks, 1,000 expected each, standard deviation 29. */
static void positions_are_uniform(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    int count, first[CELLS] = {0}, last[CELLS] = {0};
    const struct trial_plan *trials = plan_order(arena, 3, CELLS, 1, 7000, &count);
    for (int block = 0; block < 7000; block++) {
        first[trials[block * CELLS].cell]++;
        last[trials[block * CELLS + CELLS - 1].cell]++;
    }
    for (int i = 0; i < CELLS; i++) {
        assert_in_range(first[i], 850, 1150);
        assert_in_range(last[i], 850, 1150);
    }
}

static void cells_come_in_the_order_of_the_matrix(void **state)
{
    (void)state;
    static const char text[] =
        "name: t\nworkload: {model: mlp, rounds: 10}\n"
        "matrix: {workers: [2, 4], scheme: [ring, {name: ring, segment: 4KiB}], topology.link.delay: [0.5ms, 1ms]}\n";
    static const char *const labels[] = {
        "workers=2 scheme=ring topology.link.delay=0.5ms",
        "workers=2 scheme=ring topology.link.delay=1ms",
        "workers=2 scheme=ring(segment=4KiB) topology.link.delay=0.5ms",
        "workers=2 scheme=ring(segment=4KiB) topology.link.delay=1ms",
        "workers=4 scheme=ring topology.link.delay=0.5ms",
        "workers=4 scheme=ring topology.link.delay=1ms",
        "workers=4 scheme=ring(segment=4KiB) topology.link.delay=0.5ms",
        "workers=4 scheme=ring(segment=4KiB) topology.link.delay=1ms",
    };
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct plan plan;
    struct err err;
    if (campaign_parse("t.yaml", text, strlen(text), arena, &plan, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(plan.cell_count, 8);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(plan.cells[i].index, i);
        assert_string_equal(plan.cells[i].label, labels[i]);
        assert_int_equal(plan.cells[i].swept_count, 3);
    }
    assert_string_equal(plan.file_path, "t.yaml");
    assert_string_equal(plan.file_text, text);
}

static void message_sizes_are_a_list_in_any_order(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct plan plan;
    struct err err;
    assert_int_equal(campaign_load("tests/golden/good-sizes.yaml", NULL, arena, &plan, &err), 0);
    assert_int_equal(plan.cell_count, 4);
    const struct workload_settings *workload = &plan.cells[0].settings.workload;
    assert_true(workload->size_bytes == 0 && workload->sizes.count == 3);
    assert_true(workload->sizes.bytes[0] == 64 << 10 && workload->sizes.bytes[1] == 4 << 10 && workload->sizes.bytes[2] == 1 << 20);
    assert_int_equal(plan.cells[1].settings.workload.sizes.count, 2);
    assert_string_equal(plan.cells[1].label, "scheme=ring workload.sizes=[4B,8B]");
    cleanup(text_free) struct text dump = {0};
    campaign_dump(&plan.cells[0].settings, &dump);
    assert_non_null(strstr(dump.bytes, "\nworkload.sizes: [64KiB, 4KiB, 1MiB]\n"));
    const uint32_t *marks;
    assert_int_equal(event_marks(&plan.cells[0].settings, arena, &marks), 2); /* 2 warm-up rounds and 3 of each size */
    assert_true(marks[0] == 2 && marks[1] == 5 + 2 + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_holds_every_cell_once),
        cmocka_unit_test(seeds_depend_on_campaign_seed_and_repeat_only),
        cmocka_unit_test(the_order_is_the_known_one),
        cmocka_unit_test(positions_are_uniform),
        cmocka_unit_test(cells_come_in_the_order_of_the_matrix),
        cmocka_unit_test(message_sizes_are_a_list_in_any_order),
    };
    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
