/* tests/unit/test_virtual_links.c: links of the virtual world, by hand: 1 byte takes 1 us, a link's delay is 5 ms, packets have
 * 1,000 bytes, so that a packet takes 1 ms a link. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include "agents/node.h"
#include "base/err.h"
#include "tests/unit/virtual_rig.h"

#include "tests/unit/virtual_sender.h"
#include <cmocka.h> /* after node.h: its macro fail() hides the member */

static void a_message_over_two_links(void **state)
{
    (void)state;
    struct virtual_rig rig = rig_of((struct sending[]){{1, 2, 10000}}, 1);
    rig.options.segment_bytes = 4000;
    virtual_rig_run(&rig);
    /* Its last packet leaves at 10 ms, takes 5, 1 and 5 ms more; its first one comes at 1 + 5 + 1 + 5. */
    assert_int_equal(came_ns[0], 21 * NS_PER_MS);
    assert_int_equal(header_ns[0], 12 * NS_PER_MS);
    assert_int_equal(sent_ns[0], 10 * NS_PER_MS);
    const struct virtual_end_counters *up = virtual_end_counters(rig.world, 2), *down = virtual_end_counters(rig.world, 5);
    assert_int_equal(up->bytes, 10000);
    assert_int_equal(up->packets, 10);
    assert_int_equal(down->bytes, 10000);
    assert_int_equal(virtual_end_counters(rig.world, 3)->packets, 0);
    virtual_rig_free(&rig);
}

/* Half of the cost before it leaves, half when it has come. */
static void a_message_has_its_cost(void **state)
{
    (void)state;
    struct virtual_rig rig = rig_of((struct sending[]){{1, 2, 10000}, {1, 3, 0}}, 2);
    rig.setup.message_ns = 2 * NS_PER_MS;
    virtual_rig_run(&rig);
    assert_int_equal(came_ns[0], (1 + 21 + 1) * NS_PER_MS);
    assert_int_equal(came_ns[1], (2 + 10 + 1) * NS_PER_MS);
    virtual_rig_free(&rig);
}

static void a_slow_second_link_holds_it_up(void **state)
{
    (void)state;
    struct virtual_rig rig = rig_of((struct sending[]){{1, 2, 10000}}, 1);
    rig.options.segment_bytes = 4000;
    rig.ends[5].bytes_per_second = 1e6 / 4; /* a packet takes 4 ms: from 6 ms on, 40 ms for all, 5 ms delay */
    virtual_rig_run(&rig);
    assert_int_equal(came_ns[0], 51 * NS_PER_MS);
    virtual_rig_free(&rig);
}

static void flows_of_a_sender_take_turns(void **state)
{
    (void)state;
    struct virtual_rig rig = rig_of((struct sending[]){{1, 2, 4000}, {1, 3, 4000}}, 2);
    virtual_rig_run(&rig);
    /* Packets leave at 1, 3, 5, 7 and at 2, 4, 6, 8 ms. */
    assert_int_equal(sent_ns[0], 7 * NS_PER_MS);
    assert_int_equal(sent_ns[1], 8 * NS_PER_MS);
    assert_int_equal(came_ns[0], 18 * NS_PER_MS);
    assert_int_equal(came_ns[1], 19 * NS_PER_MS);
    virtual_rig_free(&rig);
}

static void messages_of_a_flow_keep_their_order(void **state)
{
    (void)state;
    struct virtual_rig rig = rig_of((struct sending[]){{1, 2, 3000}, {1, 2, 0}, {1, 2, 1000}}, 3);
    virtual_rig_run(&rig);
    assert_int_equal(came_ns[0], 14 * NS_PER_MS);
    assert_int_equal(came_ns[1], 14 * NS_PER_MS); /* a header alone takes no time, but its turn */
    assert_int_equal(came_ns[2], 15 * NS_PER_MS);
    assert_true(order[0] == 0 && order[1] == 1 && order[2] == 2);
    virtual_rig_free(&rig);
}

static void senders_queue_for_one_receiver(void **state)
{
    (void)state;
    struct virtual_rig rig = rig_of((struct sending[]){{1, 0, 1000}, {2, 0, 1000}, {3, 0, 1000}}, 3);
    virtual_rig_run(&rig);
    assert_int_equal(came_ns[0], 12 * NS_PER_MS);
    assert_int_equal(came_ns[1], 13 * NS_PER_MS);
    assert_int_equal(came_ns[2], 14 * NS_PER_MS);
    virtual_rig_free(&rig);
}

/* Room for a packet and a half: of three that come at once one is served, and two come again 200 ms later; then they wait. */
static void a_full_queue_drops_what_nothing_holds_back(void **state)
{
    (void)state;
    struct virtual_rig rig = rig_of((struct sending[]){{1, 0, 1000}, {2, 0, 1000}, {3, 0, 1000}}, 3);
    rig.ends[1].queue_bytes = 1500;
    virtual_rig_run(&rig);
    assert_int_equal(came_ns[0], 12 * NS_PER_MS);
    assert_int_equal(came_ns[1], 212 * NS_PER_MS);
    assert_int_equal(came_ns[2], 213 * NS_PER_MS);
    assert_int_equal(virtual_end_counters(rig.world, 1)->queue_drops, 2);
    virtual_rig_free(&rig);
}

/* What is longer than TCP's first window waits at its sender. */
static void a_full_queue_makes_long_messages_wait(void **state)
{
    (void)state;
    struct virtual_rig rig = rig_of((struct sending[]){{1, 0, 20000}, {2, 0, 20000}}, 2);
    rig.ends[1].queue_bytes = 1500;
    virtual_rig_run(&rig);
    assert_int_equal(came_ns[1], (40 + 11 + 0) * NS_PER_MS); /* 6 ms until the first packet is there, 40 ms for all, 5 ms delay */
    assert_int_equal(virtual_end_counters(rig.world, 1)->queue_drops, 0);
    virtual_rig_free(&rig);
}

static int losses_left;

static void lose(void *context, int end, int packets, struct virtual_fate *fate)
{
    (void)context;
    (void)packets;
    if (end == 2 && losses_left > 0) {
        losses_left--;
        fate->lost = 1;
    }
}

/* The first of five segments is lost once, with others behind it: it comes a round trip (20 ms) later, and what is behind it waits
 * for it; the link is busy with it once more. */
static void a_lost_packet_is_sent_again(void **state)
{
    (void)state;
    struct virtual_rig rig = rig_of((struct sending[]){{1, 2, 5000}, {1, 2, 1000}}, 2);
    rig.ends[2].impaired = true;
    rig.network.impair = lose;
    losses_left = 1;
    virtual_rig_run(&rig);
    assert_int_equal(came_ns[0], 32 * NS_PER_MS);
    assert_int_equal(came_ns[1], 32 * NS_PER_MS);
    assert_int_equal(virtual_end_counters(rig.world, 2)->lost, 1);
    virtual_rig_free(&rig);
}

/* With nothing behind it only the timeout tells. */
static void a_lost_last_packet_waits_for_the_timeout(void **state)
{
    (void)state;
    struct virtual_rig rig = rig_of((struct sending[]){{1, 2, 1000}}, 1);
    rig.ends[2].impaired = true;
    rig.network.impair = lose;
    losses_left = 1;
    virtual_rig_run(&rig);
    assert_int_equal(came_ns[0], 212 * NS_PER_MS);
    virtual_rig_free(&rig);
}

static void lose_all(void *context, int end, int packets, struct virtual_fate *fate)
{
    (void)context;
    fate->lost = end == 2 ? packets : 0;
}

/* What is lost however often it is sent does not come through all the same. */
static void a_link_that_loses_all_lets_nothing_through(void **state)
{
    (void)state;
    struct err err = {0};
    struct virtual_rig rig = rig_of((struct sending[]){{1, 2, 1000}}, 1);
    rig.ends[2].impaired = true;
    rig.network.impair = lose_all;
    assert_int_equal(virtual_rig_try(&rig, &err), -ERR_TRIAL);
    assert_non_null(strstr(err.text, "TCP gave up a message from node 1 to node 2"));
    assert_int_equal(virtual_end_counters(rig.world, 2)->packets, 0);
    virtual_rig_free(&rig);
}

static void a_message_that_is_put_off_is_shown_again(void **state)
{
    (void)state;
    struct virtual_rig rig = rig_of((struct sending[]){{1, 0, 1000}, {2, 0, 2000}}, 2);
    puts_off = true;
    virtual_rig_run(&rig);
    assert_int_equal(order[0], 1);
    assert_int_equal(came_ns[0], came_ns[1]);
    virtual_rig_free(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_over_two_links),
        cmocka_unit_test(a_message_has_its_cost),
        cmocka_unit_test(a_slow_second_link_holds_it_up),
        cmocka_unit_test(flows_of_a_sender_take_turns),
        cmocka_unit_test(messages_of_a_flow_keep_their_order),
        cmocka_unit_test(senders_queue_for_one_receiver),
        cmocka_unit_test(a_full_queue_drops_what_nothing_holds_back),
        cmocka_unit_test(a_full_queue_makes_long_messages_wait),
        cmocka_unit_test(a_lost_packet_is_sent_again),
        cmocka_unit_test(a_lost_last_packet_waits_for_the_timeout),
        cmocka_unit_test(a_link_that_loses_all_lets_nothing_through),
        cmocka_unit_test(a_message_that_is_put_off_is_shown_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
