/* test_relay_line.c: what the relay does with a packet that has come, without devices: lost, duplicated, corrupted, sent at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "netem/relay_internal.h"

enum { CAPACITY = 300 * 1024 };

struct line_rig {
    struct relay_line line;
    struct relay_counters counters;
    int far;
    unsigned char *memory, *spare;
};

static void open_line(struct line_rig *rig, const struct impairments *asked)
{
    int pair[2];
    *rig = (struct line_rig){.memory = malloc(CAPACITY + RELAY_RING_MARGIN), .spare = malloc(RELAY_PACKET_MAX)};
    assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair), 0);
    rig->far = pair[1];
    rig->line = (struct relay_line){.out = pair[0], .counters = &rig->counters};
    rig->line.pace = relay_pace_for(&(struct relay_direction){.delay_ns = NS_PER_MS});
    relay_ring_init(&rig->line.ring, rig->memory, CAPACITY);
    impairment_begin(&rig->line.impairment, asked, 5, 0, 0);
}

static void close_line(struct line_rig *rig)
{
    close(rig->line.out);
    close(rig->far);
    free(rig->memory);
    free(rig->spare);
}

enum { LINE_PACKET = 110 };

/* A packet full of `fill` comes; returns false when there is no room. */
static bool arrive(struct line_rig *rig, unsigned char fill)
{
    struct relay_packet *packet = relay_ring_reserve(&rig->line.ring);
    if (!packet)
        return false;
    memset(packet->data, 0, RELAY_VNET_HEADER);
    memset(packet->data + RELAY_VNET_HEADER, fill, LINE_PACKET - RELAY_VNET_HEADER);
    const struct relay_arrival arrival = {.now_ns = 1000, .length = LINE_PACKET};
    relay_line_take(&rig->line, packet, &arrival, rig->spare);
    return true;
}

static void a_lost_packet_takes_no_room(void **state)
{
    (void)state;
    struct line_rig rig;
    open_line(&rig, &(const struct impairments){.loss = 1});
    for (int i = 0; i < 100; i++)
        assert_true(arrive(&rig, 1));
    assert_int_equal(rig.line.ring.count, 0);
    assert_int_equal(rig.counters.lost, 100);
    close_line(&rig);
}

/* Both copies wait; one corrupted does not spoil the other. */
static void a_duplicate_is_a_packet_of_its_own(void **state)
{
    (void)state;
    struct line_rig rig;
    open_line(&rig, &(const struct impairments){.duplicate = 1, .corrupt = 0.5});
    uint64_t flipped = 0;
    for (unsigned char fill = 1; fill <= 100; fill++) {
        assert_true(arrive(&rig, fill));
        assert_int_equal(rig.line.ring.count, 2);
        for (int copy = 0; copy < 2; copy++) {
            const struct relay_packet *packet = relay_ring_oldest(&rig.line.ring);
            int wrong = 0;
            for (uint32_t i = RELAY_VNET_HEADER; i < LINE_PACKET; i++)
                wrong += __builtin_popcount((unsigned)(packet->data[i] ^ fill));
            assert_in_range(wrong, 0, 1);
            flipped += (uint64_t)wrong;
            relay_ring_release(&rig.line.ring);
        }
    }
    assert_int_equal(rig.counters.duplicated, 100);
    assert_int_equal(rig.counters.corrupted, flipped);
    assert_in_range(flipped, 70, 130);
    int taken = 0;
    while (arrive(&rig, 7))
        taken++;
    assert_int_equal(rig.line.ring.count + rig.counters.ring_full, 2 * taken); /* a duplicate without room is counted, too */
    close_line(&rig);
}

static void a_reordered_packet_is_written_at_once(void **state)
{
    (void)state;
    struct line_rig rig;
    unsigned char read_back[LINE_PACKET];
    open_line(&rig, &(const struct impairments){.reorder = 1});
    assert_true(arrive(&rig, 3));
    assert_int_equal(rig.line.ring.count, 0);
    assert_int_equal(read(rig.far, read_back, sizeof(read_back)), LINE_PACKET);
    assert_int_equal(read_back[LINE_PACKET - 1], 3);
    assert_int_equal(rig.counters.reordered, 1);
    assert_int_equal(rig.counters.packets, 1);
    rig.line.blocked = true; /* the port takes nothing: the packet waits in its turn */
    assert_true(arrive(&rig, 4));
    assert_int_equal(rig.line.ring.count, 1);
    assert_int_equal(rig.counters.reordered, 1);
    close_line(&rig);
}

/* --- changes while packets flow ----------------------------------------------------------------------------------------------- */

static int64_t newest_deadline_ns(const struct line_rig *rig)
{
    return rig->line.pace.last_ns;
}

/* Those that are held keep their time, and the ones behind leave no sooner. */
static void a_lowered_delay_keeps_order(void **state)
{
    (void)state;
    struct line_rig rig;
    open_line(&rig, &(const struct impairments){0});
    assert_true(arrive(&rig, 1));
    assert_int_equal(newest_deadline_ns(&rig), 1000 + NS_PER_MS);
    relay_line_change(&rig.line, &(const struct relay_direction){.delay_ns = 0}, false, 1000);
    assert_true(arrive(&rig, 2));
    assert_int_equal(newest_deadline_ns(&rig), 1000 + NS_PER_MS);
    relay_line_change(&rig.line, &(const struct relay_direction){.delay_ns = 3 * NS_PER_MS}, false, 1000);
    assert_true(arrive(&rig, 3));
    assert_int_equal(newest_deadline_ns(&rig), 1000 + 3 * NS_PER_MS);
    int64_t front_ns = 0;
    for (unsigned char fill = 1; fill <= 3; fill++) {
        const struct relay_packet *packet = relay_ring_oldest(&rig.line.ring);
        assert_int_equal(packet->data[RELAY_VNET_HEADER], fill);
        assert_true(packet->deadline_ns >= front_ns);
        front_ns = packet->deadline_ns;
        relay_ring_release(&rig.line.ring);
    }
    assert_true(arrive(&rig, 4)); /* once they are gone the delay of 0 is one */
    relay_ring_release(&rig.line.ring);
    rig.line.pace.last_ns = 0;
    relay_line_change(&rig.line, &(const struct relay_direction){.delay_ns = 0}, false, 1000);
    assert_true(arrive(&rig, 5));
    assert_int_equal(newest_deadline_ns(&rig), 1000);
    close_line(&rig);
}

/* Duplicates, too; what is held still leaves. */
static void a_line_that_is_down_loses_all(void **state)
{
    (void)state;
    struct line_rig rig;
    open_line(&rig, &(const struct impairments){0});
    const struct relay_direction to = {.impairments = {.duplicate = 1}};
    assert_true(arrive(&rig, 1));
    relay_line_change(&rig.line, &to, true, 1000);
    for (int i = 0; i < 10; i++)
        assert_true(arrive(&rig, 2));
    assert_int_equal(rig.line.ring.count, 1);
    assert_true(rig.counters.lost == 10 && rig.counters.duplicated == 0);
    relay_line_change(&rig.line, &to, false, 1000);
    assert_true(arrive(&rig, 3));
    assert_int_equal(rig.line.ring.count, 3);
    assert_int_equal(rig.counters.lost, 10);
    close_line(&rig);
}

/* At 80 kbit/s 100 bytes take 10 ms: what was spread out so is let go at 80 Mbit/s when the rate is that, but none before its
 * delay. */
static void a_raised_rate_lets_go(void **state)
{
    (void)state;
    enum { PACKETS = 10 };
    const struct relay_direction slow = {.rate_bps = 80000, .delay_ns = NS_PER_MS, .queue_bytes = 150000},
                                 fast = {.rate_bps = 80000000, .delay_ns = NS_PER_MS, .queue_bytes = 150000};
    struct line_rig rig;
    open_line(&rig, &(const struct impairments){0});
    rig.line.pace = relay_pace_for(&slow);
    rig.line.pace.busy_until_ns = 200 * NS_PER_MS;
    for (int i = 0; i < PACKETS; i++)
        assert_true(arrive(&rig, (unsigned char)i));
    assert_true(newest_deadline_ns(&rig) > 100 * NS_PER_MS);
    relay_line_change(&rig.line, &slow, false, 2000); /* no other rate, no other time */
    assert_true(newest_deadline_ns(&rig) > 100 * NS_PER_MS);
    relay_line_change(&rig.line, &fast, false, 2000);
    int64_t front_ns = 0;
    for (const struct relay_packet *packet = relay_ring_oldest(&rig.line.ring); packet;
         packet = relay_ring_behind(&rig.line.ring, packet)) {
        assert_in_range(packet->deadline_ns, NS_PER_MS + 1000, 2 * NS_PER_MS);
        assert_true(front_ns == 0 || packet->deadline_ns - front_ns >= 9000); /* 100 bytes at 80 Mbit/s: 10 us */
        front_ns = packet->deadline_ns;
    }
    assert_int_equal(newest_deadline_ns(&rig), front_ns);
    relay_line_change(&rig.line, &slow, false, 2000); /* a lowered one leaves them alone */
    assert_int_equal(relay_ring_oldest(&rig.line.ring)->deadline_ns <= 2 * NS_PER_MS, 1);
    assert_true(arrive(&rig, 0));
    assert_true(newest_deadline_ns(&rig) >= front_ns);
    close_line(&rig);
}

struct control_rig {
    struct relay_line *lines;
    int count, socket, served;
};

static void *serve(void *argument)
{
    struct control_rig *rig = argument;
    for (int line; (line = relay_control_serve(rig->socket, rig->lines, rig->count)) != RELAY_CONTROL_CLOSED;)
        if (line >= 0)
            rig->served = line;
        else
            poll(&(struct pollfd){.fd = rig->socket, .events = POLLIN}, 1, -1);
    return NULL;
}

static void orders_are_answered(void **state)
{
    (void)state;
    struct line_rig rigs[4];
    struct relay_line lines[4];
    struct err err;
    int pair[2];
    pthread_t thread;
    for (int i = 0; i < 4; i++) {
        open_line(&rigs[i], &(const struct impairments){0});
        lines[i] = rigs[i].line;
    }
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    struct control_rig control = {.lines = lines, .count = 4, .socket = pair[1], .served = -1};
    assert_int_equal(pthread_create(&thread, NULL, serve, &control), 0);
    const struct relay_direction to = {.rate_bps = 5000000, .delay_ns = 77, .queue_bytes = 9, .impairments = {.loss = 1}};
    assert_int_equal(relay_change(pair[0], 1, 1, &to, true, &err), 0);
    assert_int_equal(relay_change(pair[0], 0, 1, &to, false, &err), 0);
    assert_int_equal(send(pair[0], "x", 1, 0), 1); /* no order: ignored */
    const struct relay_control_message wild = {.line = 4};
    assert_int_equal(send(pair[0], &wild, sizeof(wild), 0), sizeof(wild));
    assert_int_equal(relay_change(pair[0], 0, 0, &(const struct relay_direction){0}, false, &err), 0);
    close(pair[0]);
    pthread_join(thread, NULL);
    assert_true(lines[3].down && lines[3].pace.delay_ns == 77 && lines[3].impairment.loss == UINT32_MAX);
    assert_true(!lines[1].down && lines[1].pace.delay_ns == 77 && lines[1].asked.rate_bps == 5000000);
    assert_true(lines[0].pace.delay_ns == 0 && lines[2].pace.delay_ns == NS_PER_MS);
    assert_int_equal(control.served, 0);
    close(pair[1]);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    close(pair[1]);
    assert_int_equal(relay_change(pair[0], 0, 0, &to, false, &err), -ERR_TRIAL);
    assert_non_null(strstr(err.text, "the relay takes no changes"));
    close(pair[0]);
    for (int i = 0; i < 4; i++)
        close_line(&rigs[i]);
}

/* 1 Gbit/s x 20 ms later, each packet twice, although now there is neither rate nor delay to speak of. */
static void a_ring_has_room_for_what_may_come(void **state)
{
    (void)state;
    struct relay_direction now = {.rate_bps = 1000000, .delay_ns = 1000},
                           then = {.rate_bps = 1000000000, .delay_ns = 20 * NS_PER_MS, .impairments = {.duplicate = 1}};
    size_t needed = relay_ring_capacity(&then);
    assert_true(relay_ring_capacity(&now) < needed / 10);
    now.rate_most_bps = then.rate_bps;
    now.delay_most_ns = then.delay_ns;
    now.changes = true;
    assert_int_equal(relay_ring_capacity(&now), needed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_packet_takes_no_room),
        cmocka_unit_test(a_duplicate_is_a_packet_of_its_own),
        cmocka_unit_test(a_reordered_packet_is_written_at_once),
        cmocka_unit_test(a_lowered_delay_keeps_order),
        cmocka_unit_test(a_line_that_is_down_loses_all),
        cmocka_unit_test(a_raised_rate_lets_go),
        cmocka_unit_test(orders_are_answered),
        cmocka_unit_test(a_ring_has_room_for_what_may_come),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
