/* test_emulated_compute.c: compute tasks of the emulated world without real work: they take their drawn time in parts, and can be
 * cancelled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#undef fail
#include "base/clock.h"
#include "tests/unit/emulated_rig.h"

static const struct distribution measured = {.kind = DISTRIBUTION_MEASURED};

static float gradient[RIG_FLOATS];

static struct task gradient_task(uint64_t step, int parts)
{
    return (struct task){.kind = TASK_GRADIENT, .step = step, .gradient = gradient, .parts = parts};
}

static void a_task_takes_its_drawn_time_in_parts(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, (struct distribution){.kind = DISTRIBUTION_CONSTANT, .value_ns = 8e6}, 0);
    rig_go(&rig);
    struct node *node = emulated_node(rig.emulated);
    struct task task = gradient_task(3, 4);
    int64_t begin_ns = node_now(node);
    uint32_t generation = node_compute(node, &task);
    assert_true(generation != 0);
    assert_int_equal(happened.tasks, 0);
    while (happened.tasks < 4)
        rig_turn(&rig, NS_PER_MS);
    for (int i = 0; i < 4; i++) {
        const struct task_result *result = &happened.results[i];
        assert_int_equal(result->generation, generation);
        assert_true(result->part == i && result->parts == 4 && result->step == 3);
        assert_int_equal(result->count, RIG_FLOATS / 4);
        assert_int_equal(result->first, RIG_FLOATS / 4 * (3 - i));
        assert_true(happened.result_ns[i] >= begin_ns + (i + 1) * 2 * NS_PER_MS);
    }
    assert_true(gradient[7] == synthetic_value(2, 0, 3, 7));
    assert_int_equal(rig.recorder.span_count, 1);
    const struct span_record *span = &rig.recorder.spans[0];
    assert_true(span->kind == SPAN_COMPUTE && span->flags == 0 && span->peer == NO_PEER && span->round == 0);
    assert_true(span->end_ns - span->begin_ns >= 8 * NS_PER_MS);
    rig_close(&rig);
}

static void start_next(struct node *node, const struct task_result *result)
{
    if (result->step < 5) {
        struct task task = gradient_task(result->step + 1, 1);
        node_compute(node, &task);
    }
}

static void the_next_task_may_start_from_a_result(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, measured, 0); /* no time at all: yet never from within node_compute() */
    script.on_task = start_next;
    rig_go(&rig);
    struct task task = gradient_task(0, 1);
    node_compute(emulated_node(rig.emulated), &task);
    assert_int_equal(happened.tasks, 0);
    for (int i = 0; i < 20; i++)
        rig_turn(&rig, 0);
    assert_int_equal(happened.tasks, 6);
    assert_int_equal(happened.results[5].step, 5);
    assert_int_equal(happened.results[5].samples, 10);
    rig_close(&rig);
}

static void a_cancelled_task_says_nothing_more(void **state)
{
    (void)state;
    struct rig rig;
    /* So long that the last part cannot have come when the first one is seen, on a busy host either. */
    rig_open(&rig, (struct distribution){.kind = DISTRIBUTION_CONSTANT, .value_ns = 400e6}, 0);
    rig_go(&rig);
    struct node *node = emulated_node(rig.emulated);
    struct task task = gradient_task(1, 4);
    uint32_t first = node_compute(node, &task);
    while (happened.tasks < 1)
        rig_turn(&rig, NS_PER_MS / 4);
    int before = happened.tasks;
    node_cancel(node, first);
    task.step = 2;
    task.parts = 1;
    uint32_t second = node_compute(node, &task);
    assert_int_not_equal(first, second);
    node_cancel(node, first); /* of a task that is over: nothing */
    while (happened.tasks < before + 1)
        rig_turn(&rig, NS_PER_MS);
    rig_turn(&rig, 5 * NS_PER_MS);
    assert_int_equal(happened.tasks, before + 1);
    assert_int_equal(happened.results[before].generation, second);
    assert_int_equal(rig.recorder.spans[0].flags, SPAN_CANCELLED);
    assert_int_equal(rig.recorder.spans[1].flags, 0);
    node_compute(node, &task);
    node_compute(node, &task);
    assert_non_null(strstr(rig.failure, "another one was running"));
    rig_close(&rig);
}

static void samples_stop_at_the_deadline_or_the_cap(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, (struct distribution){.kind = DISTRIBUTION_CONSTANT, .value_ns = 10e6}, 0); /* 1 ms a sample */
    rig_go(&rig);
    struct node *node = emulated_node(rig.emulated);
    struct task task = {.kind = TASK_SAMPLES, .gradient = gradient, .sample_cap = 3};
    int64_t begin_ns = node_now(node);
    node_compute(node, &task);
    while (happened.tasks < 1)
        rig_turn(&rig, NS_PER_MS);
    assert_int_equal(happened.results[0].samples, 3);
    assert_true(happened.result_ns[0] >= begin_ns + 3 * NS_PER_MS);
    begin_ns = node_now(node);
    task.sample_cap = 0;
    task.deadline_ns = begin_ns + 5 * NS_PER_MS;
    node_compute(node, &task);
    while (happened.tasks < 2)
        rig_turn(&rig, NS_PER_MS);
    assert_in_range(happened.results[1].samples, 0, 5); /* what had not passed of the window when it began */
    assert_true(happened.result_ns[1] >= task.deadline_ns);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_takes_its_drawn_time_in_parts),
        cmocka_unit_test(the_next_task_may_start_from_a_result),
        cmocka_unit_test(a_cancelled_task_says_nothing_more),
        cmocka_unit_test(samples_stop_at_the_deadline_or_the_cap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
