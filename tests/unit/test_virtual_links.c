/* tests/unit/test_virtual_links.c: links of the virtual world, by hand: 1 byte takes 1 us, a link's delay is 5 ms, packets have
 * 1,000 bytes, so that a packet takes 1 ms a link. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include "agents/node.h"
#include "base/err.h"
#include "tests/unit/virtual_rig.h"

#include <cmocka.h> /* after node.h: its macro fail() hides the member */

enum { HOSTS = 4, SENDS_MOST = 4, NS_PER_MS = 1000000 };

/* What each host sends at the start, and when things happened. */
struct sending {
    int from, to;
    size_t bytes;
};
static struct sending sendings[SENDS_MOST];
static int sending_count, wanted, came;
static int64_t came_ns[SENDS_MOST], header_ns[SENDS_MOST], sent_ns[SENDS_MOST];
static int order[SENDS_MOST];
static bool puts_off;
static float memory[1 << 16];

static void start(struct node *node)
{
    for (int i = 0; i < sending_count; i++)
        if (sendings[i].from == node->index)
            node_send(node, sendings[i].to, &(struct message_header){.index = (uint32_t)i},
                      sendings[i].bytes ? node_wrap(node, memory, sendings[i].bytes, i) : NULL, 0, sendings[i].bytes);
    if (node->index != 0)
        node_finished(node);
}

static struct landing on_header(struct node *node, const struct message *message)
{
    header_ns[message->header.index] = node_now(node);
    if (puts_off && message->header.index == 0 && came == 0)
        return (struct landing){.kind = LAND_LATER};
    return (struct landing){.kind = LAND_POOL};
}

static void on_message(struct node *node, const struct message *message)
{
    const uint32_t i = message->header.index;
    assert_int_equal(message->length, sendings[i].bytes);
    assert_int_equal(message->source, sendings[i].from);
    assert_non_null(message->payload);
    came_ns[i] = node_now(node);
    order[came++] = (int)i;
    if (puts_off && i == 1)
        node_retry(node, -1);
}

static void on_sent(struct node *node, struct buffer *buffer, int destination)
{
    assert_int_equal(destination, sendings[buffer->tag].to);
    sent_ns[buffer->tag] = node_now(node);
}

/* Node 0 ends the trial once everything has come, wherever. */
static void on_timer(struct node *node, int timer)
{
    if (came == wanted)
        node_finished(node);
    else
        node_arm(node, timer, node_now(node) + NS_PER_MS);
}

static void prepare_node(struct node *node)
{
    if (node->index == 0)
        node_timer(node);
}

static void start_first(struct node *node)
{
    start(node);
    if (node->index == 0)
        node_arm(node, 0, NS_PER_MS);
}

static const struct scheme sender = {.name = "sender",
                                     .prepare_node = prepare_node,
                                     .start = start_first,
                                     .on_header = on_header,
                                     .on_message = on_message,
                                     .on_sent = on_sent,
                                     .on_timer = on_timer};

static struct virtual_rig rig_of(const struct sending *asked, int count)
{
    memcpy(sendings, asked, (size_t)count * sizeof(*asked));
    sending_count = wanted = count;
    came = 0;
    puts_off = false;
    const struct scheme_setup setup = {.scheme = &sender, .workers = HOSTS, .nodes = HOSTS, .parameter_count = 1, .rounds = 1};
    struct virtual_rig rig = virtual_rig_new(setup);
    virtual_rig_links(&rig, 1e6, 5 * NS_PER_MS);
    rig.options.segment_bytes = 1000;
    return rig;
}

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
        cmocka_unit_test(a_message_that_is_put_off_is_shown_again),
        cmocka_unit_test(tcp_tries_a_cut_ever_more_seldom),
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
