/* test_recorder.c: spans beyond the memory, rounds out of order, which models are kept to be evaluated. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "agents/recorder.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"

static void spans_beyond_the_memory_are_counted(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct recorder recorder;
    struct recorder_options options = {.arena = arena, .rounds = 1, .spans_wanted = 3};
    assert_int_equal(recorder_init(&recorder, &options, NULL), 0);
    for (uint32_t i = 0; i < 5; i++)
        recorder_span(&recorder, &(struct span_record){.round = i, .begin_ns = i, .end_ns = i + 1});
    assert_int_equal(recorder.span_count, 3);
    assert_int_equal(recorder.spans[2].round, 2);
    assert_int_equal(recorder.spans_lost, 2);
}

static void without_recording_nothing_is_written_or_lost(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct recorder recorder;
    struct recorder_options options = {.arena = arena, .rounds = 1};
    assert_int_equal(recorder_init(&recorder, &options, NULL), 0);
    recorder_span(&recorder, &(struct span_record){.round = 0});
    assert_int_equal(recorder.span_count, 0);
    assert_int_equal(recorder.spans_lost, 0);
}

static void gradients_that_nobody_looks_at_are_neither_recorded_nor_lost(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    for (int without = 0; without < 2; without++) {
        struct recorder recorder;
        struct recorder_options options = {.arena = arena, .rounds = 1, .grows = true, .without_gradients = without};
        assert_int_equal(recorder_init(&recorder, &options, NULL), 0);
        for (uint32_t i = 0; i < 100; i++)
            recorder_gradient(&recorder, &(struct gradient_record){.round = i});
        assert_int_equal(recorder.gradient_count, without ? 0 : 100);
        assert_int_equal(recorder.spans_lost, 0);
    }
}

static void an_estimate_out_of_bounds_is_cut(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct recorder recorder;
    struct recorder_options options = {.arena = arena, .rounds = 1, .spans_wanted = UINT64_MAX};
    assert_int_equal(recorder_init(&recorder, &options, NULL), 0);
    assert_int_equal(recorder.span_capacity, RECORDER_SPANS_MAX);
}

/* In one process with thousands of nodes nobody can have room for rounds that most of them leave out. */
static void room_for_few_of_many_rounds(void **state)
{
    (void)state;
    enum { ROUNDS = 1 << 24, EVERY = 1 << 17 };
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct recorder recorder;
    struct recorder_options options = {.arena = arena, .rounds = ROUNDS, .leaps = true, .grows = true};
    assert_int_equal(recorder_init(&recorder, &options, NULL), 0);
    for (uint32_t round = EVERY - 1; round < ROUNDS; round += EVERY)
        assert_true(recorder_round(&recorder, round, round));
    assert_int_equal(recorder.round_count, ROUNDS / EVERY);
    assert_true(recorder.round_capacity < 2 * ROUNDS / EVERY + 1);
    for (uint32_t i = 0; i < recorder.round_count; i++)
        assert_int_equal(recorder.rounds[i].round, (i + 1) * EVERY - 1);
    assert_false(recorder_round(&recorder, ROUNDS, 1));
}

/* Room for an estimate is made once; who was underestimated gets more. */
static void room_for_the_rounds_expected(void **state)
{
    (void)state;
    enum { ROUNDS = 1000, WANTED = 250 };
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct recorder recorder;
    struct recorder_options options = {.arena = arena, .rounds = ROUNDS, .rounds_wanted = WANTED, .leaps = true, .grows = true};
    assert_int_equal(recorder_init(&recorder, &options, NULL), 0);
    const struct round_record *first = recorder.rounds;
    for (uint32_t round = 0; round < WANTED; round++)
        assert_true(recorder_round(&recorder, 2 * round, round));
    assert_ptr_equal(recorder.rounds, first);
    assert_true(recorder_round(&recorder, 2 * WANTED, WANTED));
    for (uint32_t i = 0; i <= WANTED; i++)
        assert_int_equal(recorder.rounds[i].round, 2 * i);
}

static void rounds_come_in_order_and_end(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct recorder recorder;
    struct recorder_options options = {.arena = arena, .rounds = 2};
    assert_int_equal(recorder_init(&recorder, &options, NULL), 0);
    assert_false(recorder_round(&recorder, 1, 10));
    assert_true(recorder_round(&recorder, 0, 20));
    assert_false(recorder_round(&recorder, 0, 30));
    assert_true(recorder_round(&recorder, 1, 40));
    assert_false(recorder_round(&recorder, 2, 50));
    assert_int_equal(recorder.round_count, 2);
    assert_int_equal(recorder.rounds[1].round, 1);
    assert_int_equal(recorder.rounds[1].held_ns, 40);
}

/* Of the first size a worker leaves the last two rounds out. */
static void rounds_go_on_with_the_next_message_size(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct recorder recorder;
    struct recorder_options options = {.arena = arena, .rounds = 6, .leaps = true};
    assert_int_equal(recorder_init(&recorder, &options, NULL), 0);
    recorder_begin(&recorder, 0, 3);
    assert_true(recorder_round(&recorder, 0, 10));
    assert_false(recorder_round(&recorder, 3, 20)); /* of the next size */
    recorder_begin(&recorder, 3, 3);
    assert_false(recorder_round(&recorder, 2, 30));
    assert_true(recorder_round(&recorder, 3, 40));
    assert_true(recorder_round(&recorder, 5, 50));
    assert_false(recorder_round(&recorder, 6, 60));
    assert_int_equal(recorder.round_count, 3);
    assert_int_equal(recorder.rounds[1].round, 3);
}

static void the_initial_every_nth_and_the_last_model_are_kept(void **state)
{
    (void)state;
    static const struct {
        uint32_t rounds, every, count, kept[6];
    } rows[] = {
        {10, 4, 4, {0, 4, 8, 10}}, {10, 5, 3, {0, 5, 10}}, {10, 0, 2, {0, 10}}, {3, 1, 4, {0, 1, 2, 3}}, {1, 10, 2, {0, 1}},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        cleanup(arena_cleanup) struct arena *arena = arena_new();
        struct recorder recorder;
        struct recorder_options options = {
            .arena = arena, .rounds = rows[row].rounds, .evaluate_every = rows[row].every, .snapshot_floats = 2};
        assert_int_equal(recorder_init(&recorder, &options, NULL), 0);
        for (uint32_t done = 0; done <= rows[row].rounds; done++) {
            const float model[2] = {(float)done, -(float)done};
            if (recorder_snapshot_due(&recorder, done))
                recorder_snapshot(&recorder, done, 100 * done, model);
        }
        assert_int_equal(recorder.snapshot_count, rows[row].count);
        for (uint32_t i = 0; i < rows[row].count; i++) {
            assert_int_equal(recorder.snapshots[i].round, rows[row].kept[i]);
            assert_int_equal(recorder.snapshots[i].at_ns, 100 * rows[row].kept[i]);
            assert_true(recorder.snapshots[i].model[1] == -(float)rows[row].kept[i]);
        }
    }
}

static void too_many_snapshots_are_refused_with_the_remedy(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct recorder recorder;
    struct err err = {0};
    struct recorder_options options = {.arena = arena, .rounds = 1000, .evaluate_every = 1, .snapshot_floats = 1 << 20};
    assert_int_equal(recorder_init(&recorder, &options, &err), -ERR_USAGE);
    assert_non_null(strstr(err.text, "evaluate_every"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_beyond_the_memory_are_counted),
        cmocka_unit_test(without_recording_nothing_is_written_or_lost),
        cmocka_unit_test(gradients_that_nobody_looks_at_are_neither_recorded_nor_lost),
        cmocka_unit_test(an_estimate_out_of_bounds_is_cut),
        cmocka_unit_test(room_for_few_of_many_rounds),
        cmocka_unit_test(room_for_the_rounds_expected),
        cmocka_unit_test(rounds_come_in_order_and_end),
        cmocka_unit_test(rounds_go_on_with_the_next_message_size),
        cmocka_unit_test(the_initial_every_nth_and_the_last_model_are_kept),
        cmocka_unit_test(too_many_snapshots_are_refused_with_the_remedy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
