/* test_relay_line.c: what the relay does with a packet that has come, without devices: lost, duplicated, corrupted, sent at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_packet_takes_no_room),
        cmocka_unit_test(a_duplicate_is_a_packet_of_its_own),
        cmocka_unit_test(a_reordered_packet_is_written_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
