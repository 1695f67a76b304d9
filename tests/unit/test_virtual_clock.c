/* tests/unit/test_virtual_clock.c: the clock of the virtual world never goes back, whatever was kept for a paused node, and ends a
 * trial. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "agents/node.h"
#include "base/err.h"
#include "tests/unit/virtual_rig.h"

#include <cmocka.h> /* after node.h: its macro fail() hides the member */

enum { PARTS = 4, FLOATS = 8, NS_PER_MS = 1000000 };

static struct virtual_rig rig;
static int64_t part_ns[PARTS], world_ns[PARTS];

static void start(struct node *node)
{
    node_compute(node, &(struct task){.kind = TASK_GRADIENT, .parts = PARTS});
}

static void on_task(struct node *node, const struct task_result *result)
{
    part_ns[result->part] = node_now(node);
    world_ns[result->part] = virtual_clock_ns(rig.world);
    if (result->part == PARTS - 1)
        node_finished(node);
}

static void pause_until_10_ms(void *context, uint32_t rounds_done)
{
    (void)context, (void)rounds_done;
    const bool over = virtual_clock_ns(rig.world) >= 10 * NS_PER_MS;
    virtual_pause(rig.world, 0, !over);
    virtual_alarm(rig.world, over ? INT64_MAX : 10 * NS_PER_MS);
}

static const struct scheme parts = {.name = "parts", .start = start, .on_task = on_task};

static void make_rig(void)
{
    rig =
        virtual_rig_new((struct scheme_setup){.scheme = &parts, .workers = 1, .nodes = 1, .parameter_count = FLOATS, .rounds = 1});
}

/* The task takes 1 ms, a quarter of it a part; all are due during the pause. */
static void parts_of_a_pause_come_when_it_is_over(void **state)
{
    (void)state;
    make_rig();
    rig.options.alarm = pause_until_10_ms;
    virtual_rig_make(&rig);
    virtual_alarm(rig.world, NS_PER_MS / 8);
    virtual_rig_run(&rig);
    for (int part = 0; part < PARTS; part++) {
        assert_int_equal(part_ns[part], 10 * NS_PER_MS);
        assert_int_equal(world_ns[part], 10 * NS_PER_MS);
    }
    virtual_rig_free(&rig);
}

static void a_deadline_says_who_is_late_and_who_set_it(void **state)
{
    (void)state;
    struct err err = {0};
    make_rig();
    rig.options.deadline_ns = NS_PER_MS / 2;
    assert_int_equal(virtual_rig_try(&rig, &err), -ERR_TRIAL);
    assert_string_equal(err.text, "the deadline of the virtual clock passed in round 0: node 0 has not finished (trial_deadline in "
                                  "the campaign file sets the limit)");
    virtual_rig_free(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_of_a_pause_come_when_it_is_over),
        cmocka_unit_test(a_deadline_says_who_is_late_and_who_set_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
