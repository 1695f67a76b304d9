/* test_emulated_sizes.c: from one message size to the next, against a peer played by the test: what is under way is let through and
 * dropped, what comes too early waits, nothing of the scheme is left, and a fence out of turn is named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/socket.h>

#undef fail
#include "base/cleanup.h"
#include "base/clock.h"
#include "tests/unit/emulated_rig.h"

static const struct distribution measured = {.kind = DISTRIBUTION_MEASURED};

static void peer_fences(struct rig *rig, uint64_t step)
{
    rig_peer_sends_message(rig, &(struct message_header){.channel = FENCE_CHANNEL, .step = step}, 0, 0);
}

/* What the node sent: the next header that its peer has got, and no payload. */
static struct message_header heard(struct rig *rig, uint32_t sequence)
{
    uint8_t bytes[TRANSPORT_HEADER_BYTES];
    struct transport_header header;
    assert_int_equal(recv(rig->other, bytes, sizeof(bytes), MSG_DONTWAIT), sizeof(bytes));
    assert_int_equal(transport_header_decode(bytes, sequence, 0, &header, NULL), 0);
    return header.message;
}

static void start_again(struct rig *rig)
{
    emulated_start(rig->emulated, clock_now_ns());
    rig_turn(rig, 0);
}

static void what_is_under_way_is_dropped(void **state)
{
    (void)state;
    struct rig rig;
    struct node_counters counters;
    rig_open_sizes(&rig, measured, 0);
    rig_go(&rig);
    rig_peer_sends(&rig, 0, 1000, 0);
    rig_peer_sends(&rig, 1, 100000, TRANSPORT_HEADER_BYTES + 70000); /* half of it */
    node_finished(emulated_node(rig.emulated));
    emulated_next_size(rig.emulated);
    assert_int_equal(rig.sized, 0); /* the peer is not through */
    struct message_header fence = heard(&rig, 0);
    assert_true(fence.channel == FENCE_CHANNEL && fence.step == 1);
    uint8_t rest[30000];
    for (size_t i = 0; i < sizeof(rest); i++)
        rest[i] = (uint8_t)(1 + 70000 + i);
    assert_int_equal(send(rig.other, rest, sizeof(rest), MSG_NOSIGNAL), sizeof(rest));
    rig_peer_sends(&rig, 2, 500, 0);
    assert_int_equal(rig.sized, 0);
    peer_fences(&rig, 1);
    assert_int_equal(rig.sized, 1);
    assert_int_equal(emulated_size(rig.emulated), 1);
    assert_int_equal(happened.messages, 1); /* the one that came before the end */
    emulated_counters(rig.emulated, &counters);
    assert_int_equal(counters.received_payload_bytes, 101500); /* fences are not counted */
    assert_int_equal(counters.sent_messages, 0);
    assert_int_equal(emulated_node(rig.emulated)->setup->parameter_count, 2 * RIG_FLOATS);
    assert_int_equal(workload_parameter_count(rig.workload), 2 * RIG_FLOATS);
    assert_true(rig.recorder.first_round == 100 && rig.recorder.end_round == 200);
    for (uint32_t i = 0; i < rig.recorder.span_count; i++)
        assert_true(rig.recorder.spans[i].round < 100);
    start_again(&rig);
    assert_int_equal(happened.starts, 2);
    rig_peer_sends(&rig, 3, 2000, 0);
    assert_int_equal(happened.messages, 2);
    node_round_finished(emulated_node(rig.emulated), 0);
    assert_int_equal(rig.rounds_done, 101);
    assert_true(rig.failure[0] == '\0');
    rig_close(&rig);
}

static void what_comes_before_the_start_waits(void **state)
{
    (void)state;
    struct rig rig;
    rig_open_sizes(&rig, measured, 0);
    rig_go(&rig);
    peer_fences(&rig, 1); /* it was told earlier than we */
    rig_peer_sends(&rig, 7, 3000, 0);
    node_finished(emulated_node(rig.emulated));
    assert_int_equal(happened.headers, 0);
    emulated_next_size(rig.emulated);
    assert_int_equal(rig.sized, 1); /* at once: both fences are through */
    rig_turn(&rig, 0);
    assert_int_equal(happened.headers, 0);
    start_again(&rig);
    assert_int_equal(happened.messages, 1);
    assert_int_equal(happened.order[0], 7);
    rig_close(&rig);
}

static struct landing later(struct node *node, const struct message *message)
{
    (void)node, (void)message;
    return (struct landing){.kind = LAND_LATER};
}

static void messages_put_off_are_forgotten(void **state)
{
    (void)state;
    struct rig rig;
    rig_open_sizes(&rig, measured, 0);
    script.on_header = later;
    rig_go(&rig);
    for (uint32_t i = 0; i < LATER_MESSAGES_MAX + 2; i++) /* the last two are held in the connection */
        rig_peer_sends(&rig, i, 100, 0);
    peer_fences(&rig, 1);
    node_finished(emulated_node(rig.emulated));
    emulated_next_size(rig.emulated);
    rig_turn(&rig, 0);
    assert_int_equal(rig.sized, 1);
    script.on_header = NULL;
    start_again(&rig);
    node_retry(emulated_node(rig.emulated), -1);
    rig_peer_sends(&rig, 99, 10, 0);
    assert_int_equal(happened.messages, 1);
    assert_int_equal(happened.order[0], 99);
    rig_close(&rig);
}

static void timers_and_tasks_are_forgotten(void **state)
{
    (void)state;
    /* So long that neither is due before the next size, on a busy host either. */
    const struct distribution slow = {.kind = DISTRIBUTION_CONSTANT, .value_ns = 300e6};
    static float gradient[RIG_FLOATS];
    struct rig rig;
    rig_open_sizes(&rig, slow, 0);
    struct node *node = emulated_node(rig.emulated);
    int timer = node_timer(node);
    rig_go(&rig);
    node_arm(node, timer, node_now(node) + 300 * NS_PER_MS);
    node_compute(node, &(struct task){.kind = TASK_GRADIENT, .gradient = gradient, .parts = 1});
    peer_fences(&rig, 1);
    node_finished(node);
    emulated_next_size(rig.emulated);
    assert_int_equal(rig.sized, 1);
    assert_int_equal(node_timer(node), timer); /* numbers begin anew */
    start_again(&rig);
    rig_turn(&rig, 350 * NS_PER_MS);
    assert_int_equal(happened.timers, 0);
    assert_int_equal(happened.tasks, 0);
    rig_close(&rig);
}

/* Of a peer that is gone nothing is awaited, and the scheme hears of it when it has started, each time. */
static void a_peer_that_is_lost_is_told_again(void **state)
{
    (void)state;
    for (int lost_in_between = 0; lost_in_between < 3; lost_in_between++) {
        struct rig rig;
        rig_open_sizes(&rig, measured, SCHEME_SURVIVES_PEER_LOSS);
        rig_go(&rig);
        if (lost_in_between == 0) {
            close_fd(&rig.other);
            rig_turn(&rig, 0);
            assert_int_equal(happened.losses, 1);
        }
        int before = happened.losses;
        node_finished(emulated_node(rig.emulated));
        emulated_next_size(rig.emulated);
        if (lost_in_between == 1)
            close_fd(&rig.other);
        rig_turn(&rig, 0);
        if (lost_in_between == 2) { /* it hangs: its connection stands */
            assert_int_equal(rig.sized, 0);
            emulated_peer_lost(rig.emulated, 1);
        }
        assert_int_equal(rig.sized, 1);
        emulated_peer_lost(rig.emulated, 1); /* once more */
        assert_int_equal(happened.losses, before);
        start_again(&rig);
        assert_int_equal(happened.losses, before + 1);
        assert_true(rig.failure[0] == '\0');
        rig_close(&rig);
    }
}

static void fences_out_of_turn_are_named(void **state)
{
    (void)state;
    static const struct {
        bool swept;
        uint64_t steps[2];
        size_t length;
    } cases[] = {
        {false, {1}, 0},   {true, {2}, 0},    {true, {0}, 0},          {true, {1}, 8},
        {true, {1, 1}, 0}, {true, {1, 2}, 0}, {true, {UINT64_MAX}, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rig rig;
        (cases[i].swept ? rig_open_sizes : rig_open)(&rig, measured, SCHEME_SURVIVES_PEER_LOSS);
        rig_go(&rig);
        for (int n = 0; n < (cases[i].steps[1] ? 2 : 1); n++)
            rig_peer_sends_message(&rig, &(struct message_header){.channel = FENCE_CHANNEL, .step = cases[i].steps[n]},
                                   cases[i].length, 0);
        assert_non_null(strstr(rig.failure, "node 1 sends the end of message size"));
        assert_non_null(strstr(rig.failure, "which is not due"));
        rig_close(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_under_way_is_dropped),      cmocka_unit_test(what_comes_before_the_start_waits),
        cmocka_unit_test(messages_put_off_are_forgotten),    cmocka_unit_test(timers_and_tasks_are_forgotten),
        cmocka_unit_test(a_peer_that_is_lost_is_told_again), cmocka_unit_test(fences_out_of_turn_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
