/* test_emulated.c: one node of the emulated world against a peer played by the test: callbacks are never nested, messages can be
 * put off and come back, sends come back once each, and whoever breaks the rules is named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#undef fail
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/loop.h"
#include "tests/unit/emulated_rig.h"

static const struct distribution measured = {.kind = DISTRIBUTION_MEASURED};

/* ---- messages ---- */

static uint8_t own_memory[1 << 20];
static bool wanted;

static struct landing when_wanted(struct node *node, const struct message *message)
{
    (void)node;
    if (!wanted)
        return (struct landing){.kind = LAND_LATER};
    if (message->header.index % 3 == 0)
        return (struct landing){.kind = LAND_POOL};
    return message->header.index % 3 == 1 ? (struct landing){.kind = LAND_INTO, .into = own_memory}
                                          : (struct landing){.kind = LAND_DISCARD};
}

static void want_all(struct node *node, int timer)
{
    (void)timer;
    wanted = true;
    node_retry(node, -1);
    assert_int_equal(happened.messages, 0); /* not from within this call */
}

static void messages_put_off_come_back_in_order(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, measured, 0);
    script.on_header = when_wanted;
    script.on_timer = want_all;
    wanted = false;
    int timer = node_timer(emulated_node(rig.emulated));
    rig_go(&rig);
    for (uint32_t i = 0; i < 7; i++)
        rig_peer_sends(&rig, i, 10 * i, 0);
    assert_int_equal(happened.messages, 0);
    node_arm(emulated_node(rig.emulated), timer, 0);
    rig_turn(&rig, 0);
    assert_int_equal(happened.messages, 5); /* two were discarded */
    const uint32_t order[] = {0, 1, 3, 4, 6};
    assert_memory_equal(happened.order, order, sizeof(order));
    struct node_counters counters;
    emulated_counters(rig.emulated, &counters);
    assert_int_equal(counters.received_messages, 7);
    assert_int_equal(counters.received_payload_bytes, 210);
    assert_int_equal(counters.discarded_messages, 2);
    rig_close(&rig);
}

static void a_message_put_off_can_land_in_place_while_it_still_comes(void **state)
{
    (void)state;
    for (uint32_t index = 3; index < 6; index++) { /* pool, in place, discarded */
        struct rig rig;
        rig_open(&rig, measured, 0);
        script.on_header = when_wanted;
        script.on_timer = want_all;
        wanted = false;
        int timer = node_timer(emulated_node(rig.emulated));
        rig_go(&rig);
        rig_peer_sends(&rig, index, 1000, TRANSPORT_HEADER_BYTES + 400);
        assert_int_equal(happened.headers, 1);
        node_arm(emulated_node(rig.emulated), timer, 0);
        rig_turn(&rig, 0);
        assert_int_equal(happened.headers, 2);
        assert_int_equal(happened.messages, 0);
        uint8_t rest[600];
        for (size_t i = 0; i < sizeof(rest); i++)
            rest[i] = (uint8_t)(index + 400 + i);
        assert_int_equal(send(rig.other, rest, sizeof(rest), MSG_NOSIGNAL), (ssize_t)sizeof(rest));
        rig_turn(&rig, 0);
        assert_int_equal(happened.messages, index % 3 == 2 ? 0 : 1);
        if (index % 3 == 1)
            assert_ptr_equal(happened.last.payload, own_memory);
        rig_peer_sends(&rig, 6, 5, 0);
        assert_int_equal(happened.order[happened.messages - 1], 6);
        rig_close(&rig);
    }
}

static void beyond_the_bound_the_peer_is_held_back(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, measured, 0);
    script.on_header = when_wanted;
    script.on_timer = want_all;
    wanted = false;
    int timer = node_timer(emulated_node(rig.emulated));
    rig_go(&rig);
    for (uint32_t i = 0; i < 2 * LATER_MESSAGES_MAX; i++)
        rig_peer_sends(&rig, 3 * i, 100, 0);
    assert_int_equal(happened.headers, LATER_MESSAGES_MAX + 1);
    node_arm(emulated_node(rig.emulated), timer, 0);
    rig_turn(&rig, 0);
    assert_int_equal(happened.messages, 2 * LATER_MESSAGES_MAX);
    for (uint32_t i = 0; i < 2 * LATER_MESSAGES_MAX; i++)
        assert_int_equal(happened.order[i], 3 * i);
    rig_close(&rig);
}

static struct buffer *kept;
static void keep(struct node *node, const struct message *message)
{
    if (kept)
        node_release(node, kept);
    kept = message->buffer;
    node_hold(node, kept);
}

static void a_held_buffer_outlives_its_message(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, measured, 0);
    script.on_message = keep;
    kept = NULL;
    rig_go(&rig);
    rig_peer_sends(&rig, 9, 50, 0);
    struct buffer *first = kept;
    assert_int_equal(first->references, 1);
    assert_int_equal(((uint8_t *)first->bytes)[49], 9 + 49);
    rig_peer_sends(&rig, 20, 50, 0); /* needs another one, then the first is free */
    assert_ptr_not_equal(kept, first);
    assert_int_equal(first->references, 0);
    rig_close(&rig);
}

static void sum_of_one(struct node *node, const struct message *message)
{
    if (happened.messages > 1)
        return;
    synthetic_fill(message->buffer->bytes, RIG_FLOATS, node->setup->workers, 1, 0);
    node_update(node, NULL, message->buffer->bytes, 1, 0, RIG_FLOATS, 0);
}

/* It is checked once more in the end: what comes until then must not land in it, whole or in part. */
static void the_last_sum_stays_where_it_was_checked(void **state)
{
    (void)state;
    struct rig rig;
    char sentence[512] = "";
    rig_open(&rig, measured, SCHEME_ASYNCHRONOUS);
    script.on_message = sum_of_one;
    rig_go(&rig);
    const size_t length = RIG_FLOATS * sizeof(float);
    rig_peer_sends(&rig, 0, length, 0);
    rig_peer_sends(&rig, 1, length, 0);
    rig_peer_sends(&rig, 2, length, TRANSPORT_HEADER_BYTES + length / 2);
    assert_int_equal(happened.messages, 2);
    workload_check_last(rig.workload, sentence, sizeof(sentence));
    assert_string_equal(sentence, "");
    rig_close(&rig);
}

static uint8_t outgoing[300000];
static void send_three_times(struct node *node)
{
    struct buffer *buffer = node_wrap(node, outgoing, sizeof(outgoing), 77);
    const struct message_header header = {.index = 1};
    node_hold(node, buffer);
    node_hold(node, buffer);
    for (int i = 0; i < 3; i++)
        node_send(node, 1, &header, buffer, (size_t)i * 100000, 100000);
    node_send(node, 1, &header, NULL, 0, 0); /* a header alone tells nobody */
    assert_int_equal(happened.sent, 0);      /* not from within this call */
}

static void every_send_is_told_once_and_later(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, measured, 0);
    script.start = send_three_times;
    rig_go(&rig);
    size_t got = 0;
    uint8_t sink[65536];
    while (got < 4 * TRANSPORT_HEADER_BYTES + 300000) {
        ssize_t received = recv(rig.other, sink, sizeof(sink), MSG_DONTWAIT);
        got += received > 0 ? (size_t)received : 0;
        rig_turn(&rig, 0);
    }
    assert_int_equal(happened.sent, 3);
    assert_int_equal(happened.tags[2], 77);
    struct node_counters counters;
    emulated_counters(rig.emulated, &counters);
    assert_int_equal(counters.sent_messages, 4);
    assert_int_equal(counters.sent_payload_bytes, 300000);
    assert_int_equal(rig.recorder.span_count, 4);
    assert_int_equal(rig.recorder.spans[0].kind, SPAN_SEND);
    assert_int_equal(rig.recorder.spans[0].bytes, 100000);
    rig_close(&rig);
}

static void a_scheme_that_breaks_the_rules_fails_with_a_sentence(void **state)
{
    (void)state;
    struct rig rig;
    const struct message_header header = {.index = 1};
    rig_open(&rig, measured, 0);
    rig_go(&rig);
    struct node *node = emulated_node(rig.emulated);
    node_send(node, 0, &header, NULL, 0, 0);
    assert_non_null(strstr(rig.failure, "does not talk"));
    rig_close(&rig);
    rig_open(&rig, measured, 0);
    rig_go(&rig);
    node = emulated_node(rig.emulated);
    struct buffer *buffer = node_buffer(node, 10);
    node_send(node, 1, &header, buffer, 5, 6);
    assert_non_null(strstr(rig.failure, "6 bytes from offset 5 of a buffer of 10"));
    rig_close(&rig);
    rig_open(&rig, measured, 0);
    rig_go(&rig);
    node_round_finished(emulated_node(rig.emulated), 0);
    node_round_finished(emulated_node(rig.emulated), 2);
    assert_non_null(strstr(rig.failure, "finished round 2"));
    assert_int_equal(rig.rounds_done, 1);
    rig_close(&rig);
}

static void a_peer_that_goes_is_told_to_schemes_that_survive_it(void **state)
{
    (void)state;
    for (unsigned flags = 0; flags <= SCHEME_SURVIVES_PEER_LOSS; flags += SCHEME_SURVIVES_PEER_LOSS) {
        struct rig rig;
        rig_open(&rig, measured, flags);
        rig_go(&rig);
        rig_peer_sends(&rig, 0, 100, TRANSPORT_HEADER_BYTES + 50);
        close_fd(&rig.other);
        rig_turn(&rig, 0);
        if (flags)
            emulated_peer_lost(rig.emulated, 1); /* the controller says so, too: told once */
        assert_int_equal(happened.losses, flags ? 1 : 0);
        assert_int_equal(rig.lost, flags ? 0 : 1);
        assert_true(rig.failure[0] == '\0');
        rig_close(&rig);
    }
}

static void bytes_that_are_no_message_fail_the_trial_even_then(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, measured, SCHEME_SURVIVES_PEER_LOSS);
    rig_go(&rig);
    static const char noise[TRANSPORT_HEADER_BYTES + 1] = "GET / HTTP/1.1\r\nHost: 10.0.0.1\r\n\r\n";
    assert_int_equal(send(rig.other, noise, TRANSPORT_HEADER_BYTES, MSG_NOSIGNAL), TRANSPORT_HEADER_BYTES);
    rig_turn(&rig, 0);
    assert_non_null(strstr(rig.failure, "what node 1 sends is not a message"));
    rig_close(&rig);
}

static void a_wrong_sum_fails_with_node_round_and_element(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, measured, 0);
    rig_go(&rig);
    struct node *node = emulated_node(rig.emulated);
    static float sum[RIG_FLOATS];
    for (size_t i = 0; i < RIG_FLOATS; i++)
        sum[i] = synthetic_value(2, 0, 6, i) + synthetic_value(2, 1, 6, i);
    node_update(node, NULL, sum, 2, 0, RIG_FLOATS, 6);
    assert_true(rig.failure[0] == '\0');
    sum[RIG_FLOATS - 1] += 1;
    node_update(node, NULL, sum, 2, 1000, RIG_FLOATS - 1000, 6);
    assert_non_null(strstr(rig.failure, "node 0: the reduction of round 6 is wrong: element 4095"));
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_put_off_come_back_in_order),
        cmocka_unit_test(a_message_put_off_can_land_in_place_while_it_still_comes),
        cmocka_unit_test(beyond_the_bound_the_peer_is_held_back),
        cmocka_unit_test(a_held_buffer_outlives_its_message),
        cmocka_unit_test(the_last_sum_stays_where_it_was_checked),
        cmocka_unit_test(every_send_is_told_once_and_later),
        cmocka_unit_test(a_scheme_that_breaks_the_rules_fails_with_a_sentence),
        cmocka_unit_test(a_peer_that_goes_is_told_to_schemes_that_survive_it),
        cmocka_unit_test(bytes_that_are_no_message_fail_the_trial_even_then),
        cmocka_unit_test(a_wrong_sum_fails_with_node_round_and_element),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
