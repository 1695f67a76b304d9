/* tests/unit/test_virtual_outside.c: what comes from outside of the nodes while messages are under way: cuts, partitions, changes
 * of links, pauses, crashes, and a run that is given up. Links as in virtual_sender.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include "agents/node.h"
#include "base/err.h"
#include "tests/unit/virtual_rig.h"

#include "tests/unit/virtual_sender.h"
#include <cmocka.h> /* after node.h: its macro fail() hides the member */

/* ---- from outside ---- */

static struct virtual_rig *alarmed;
static void (*alarm_does)(struct virtual_world *world);

static void on_alarm(void *context, uint32_t rounds_done)
{
    (void)context;
    (void)rounds_done;
    alarm_does(alarmed->world);
}

/* Runs with `does` called at 0 ms, where it may ask for more alarms. */
static void run_with(struct virtual_rig *rig, void (*does)(struct virtual_world *world))
{
    alarmed = rig;
    alarm_does = does;
    rig->options.alarm = on_alarm;
    virtual_rig_make(rig);
    does(rig->world);
    virtual_rig_run(rig);
}

static void cut_until_300_ms(struct virtual_world *world)
{
    const bool over = virtual_clock_ns(world) >= 300 * (int64_t)NS_PER_MS;
    virtual_change(world, 5, &alarmed->ends[5], !over);
    if (!over)
        virtual_alarm(world, 300 * (int64_t)NS_PER_MS);
}

/* The packet comes to the cut at 6 ms, is tried again at 206 and, since that fails too, at 606 ms. */
static void tcp_tries_a_cut_ever_more_seldom(void **state)
{
    (void)state;
    struct virtual_rig rig = rig_of((struct sending[]){{1, 2, 1000}}, 1);
    run_with(&rig, cut_until_300_ms);
    assert_int_equal(came_ns[0], 612 * NS_PER_MS);
    assert_int_equal(virtual_end_counters(rig.world, 5)->lost, 2);
    virtual_rig_free(&rig);
}

/* Tries at 6 ms, 206 ms, 606 ms and so on, from the tenth on 102.4 s apart: at 1,023 s more than 924.6 s have passed. */
static void tcp_gives_a_cut_up(void **state)
{
    (void)state;
    struct err err = {0};
    struct virtual_rig rig = rig_of((struct sending[]){{1, 2, 1000}}, 1);
    virtual_rig_make(&rig);
    virtual_change(rig.world, 5, &rig.ends[5], true);
    assert_int_equal(virtual_rig_try(&rig, &err), -ERR_TRIAL);
    assert_non_null(strstr(err.text, "TCP gave up a message from node 1 to node 2: for 1024 s nothing came over"));
    virtual_rig_free(&rig);
}

static const int parted[HOSTS] = {0, 1, 0, 0};

static void part_until_100_ms(struct virtual_world *world)
{
    const bool over = virtual_clock_ns(world) >= 100 * (int64_t)NS_PER_MS;
    virtual_part(world, over ? NULL : parted);
    if (!over)
        virtual_alarm(world, 100 * (int64_t)NS_PER_MS);
}

/* It does not leave its host before 200 ms; who is not parted knows nothing of it. */
static void parted_hosts_do_not_reach_each_other(void **state)
{
    (void)state;
    struct virtual_rig rig = rig_of((struct sending[]){{1, 2, 1000}, {3, 2, 1000}}, 2);
    run_with(&rig, part_until_100_ms);
    assert_int_equal(came_ns[0], 212 * NS_PER_MS);
    assert_int_equal(came_ns[1], 12 * NS_PER_MS);
    virtual_rig_free(&rig);
}

static void slow_from_the_start(struct virtual_world *world)
{
    struct virtual_end slow = alarmed->ends[5];
    slow.bytes_per_second = 1e5;
    virtual_change(world, 5, &slow, false);
}

static void a_link_changes(void **state)
{
    (void)state;
    struct virtual_rig rig = rig_of((struct sending[]){{1, 2, 1000}}, 1);
    run_with(&rig, slow_from_the_start);
    assert_int_equal(came_ns[0], 21 * NS_PER_MS); /* 1 + 5 + 10 + 5 */
    virtual_rig_free(&rig);
}

static int pausing;

static void pause_until_50_ms(struct virtual_world *world)
{
    const bool over = virtual_clock_ns(world) >= 50 * (int64_t)NS_PER_MS;
    virtual_pause(world, pausing, !over);
    if (!over)
        virtual_alarm(world, 50 * (int64_t)NS_PER_MS);
}

static void what_comes_to_a_paused_node_waits(void **state)
{
    (void)state;
    struct virtual_rig rig = rig_of((struct sending[]){{1, 2, 1000}, {1, 3, 1000}}, 2);
    pausing = 2;
    run_with(&rig, pause_until_50_ms);
    assert_int_equal(came_ns[0], 50 * NS_PER_MS);
    assert_int_equal(came_ns[1], 13 * NS_PER_MS);
    virtual_rig_free(&rig);
}

static void pause_the_sender_from_half_a_ms(struct virtual_world *world)
{
    const int64_t now_ns = virtual_clock_ns(world);
    if (now_ns > 0)
        virtual_pause(world, 1, now_ns < 50 * (int64_t)NS_PER_MS);
    virtual_alarm(world, now_ns == 0 ? NS_PER_MS / 2 : now_ns == NS_PER_MS / 2 ? 50 * (int64_t)NS_PER_MS : INT64_MAX);
}

/* Its kernel sends what it has; it hears of it when it goes on, though the message has long been delivered. */
static void a_paused_sender_hears_later(void **state)
{
    (void)state;
    struct virtual_rig rig = rig_of((struct sending[]){{1, 2, 1000}, {2, 0, 60000}}, 2); /* the other one until the pause is over */
    run_with(&rig, pause_the_sender_from_half_a_ms);
    assert_int_equal(came_ns[0], 12 * NS_PER_MS);
    assert_int_equal(sent_ns[0], 50 * NS_PER_MS);
    virtual_rig_free(&rig);
}

static void crash_at_5_ms(struct virtual_world *world)
{
    if (virtual_clock_ns(world) > 0)
        virtual_crash(world, 2);
    else
        virtual_alarm(world, 5 * (int64_t)NS_PER_MS);
}

static int told[HOSTS];

static void on_peer(struct node *node, int peer, enum peer_state peer_state)
{
    assert_int_equal(peer, 2);
    assert_int_equal(peer_state, PEER_LOST);
    assert_int_equal(node_now(node), 5 * NS_PER_MS);
    told[node->index]++;
}

static void a_crashed_node_hears_nothing_and_all_hear_of_it(void **state)
{
    (void)state;
    struct scheme hearing = sender;
    struct virtual_rig rig = rig_of((struct sending[]){{1, 2, 1000}, {1, 3, 1000}, {2, 3, 20000}}, 3);
    hearing.on_peer = on_peer;
    rig.setup.scheme = &hearing;
    wanted = 1; /* from 1 to 3 */
    memset(told, 0, sizeof(told));
    run_with(&rig, crash_at_5_ms);
    assert_int_equal(came, 1);
    assert_int_equal(order[0], 1);
    assert_true(told[0] == 1 && told[1] == 1 && told[2] == 0 && told[3] == 1);
    assert_int_equal(virtual_node(rig.world, 2).lost_ns, 5 * NS_PER_MS);
    virtual_rig_free(&rig);
}

static void give_up(struct virtual_world *world)
{
    virtual_abandon(world, "it was given up");
}

static void a_run_can_be_given_up(void **state)
{
    (void)state;
    struct err err;
    struct virtual_rig rig = rig_of((struct sending[]){{1, 2, 1000}}, 1);
    virtual_rig_make(&rig);
    give_up(rig.world);
    assert_int_equal(virtual_rig_try(&rig, &err), -ERR_TRIAL);
    assert_string_equal(err.text, "it was given up");
    virtual_rig_free(&rig);
}

static void what_never_comes_fails_the_trial(void **state)
{
    (void)state;
    static const struct scheme waiting = {.name = "waiting", .start = node_finished};
    static const struct scheme stuck = {.name = "stuck", .start = start};
    struct err err;
    struct virtual_rig rig = rig_of((struct sending[]){{1, 0, 1000}}, 1);
    rig.setup.scheme = &waiting;
    virtual_rig_run(&rig);
    virtual_rig_free(&rig);
    rig = rig_of((struct sending[]){{1, 0, 1000}}, 1);
    rig.setup.scheme = &stuck;
    assert_int_equal(virtual_rig_try(&rig, &err), -ERR_TRIAL);
    assert_non_null(strstr(err.text, "node 0 has not finished: scheme 'stuck' waits for what never comes"));
    virtual_rig_free(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tcp_tries_a_cut_ever_more_seldom),
        cmocka_unit_test(tcp_gives_a_cut_up),
        cmocka_unit_test(parted_hosts_do_not_reach_each_other),
        cmocka_unit_test(a_link_changes),
        cmocka_unit_test(what_comes_to_a_paused_node_waits),
        cmocka_unit_test(a_paused_sender_hears_later),
        cmocka_unit_test(a_crashed_node_hears_nothing_and_all_hear_of_it),
        cmocka_unit_test(a_run_can_be_given_up),
        cmocka_unit_test(what_never_comes_fails_the_trial),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
