/* test_relay_ring.c: the relay's ring of packets against a model of it: order, content, limits and size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/rng.h"
#include "netem/relay_internal.h"

static struct rng random_stream(void)
{
    return rng_stream(7, 0, 0, RNG_LINK);
}

enum { CAPACITY = 300 * 1024, MODEL_MOST = 8192 };

struct stored { /* what the model of the ring remembers of a packet */
    uint32_t length;
    unsigned char fill;
    int64_t deadline_ns;
};

static uint32_t random_length(struct rng *rng)
{
    return rng_below(rng, 4) == 0 ? 1 + rng_below(rng, RELAY_PACKET_MAX) : 20 + rng_below(rng, 1500);
}

static void put(struct relay_ring *ring, struct stored packet)
{
    struct relay_packet *place = relay_ring_reserve(ring);
    assert_non_null(place);
    memset(place->data, packet.fill, packet.length);
    relay_ring_commit(ring, packet.length, packet.deadline_ns);
}

static void take(struct relay_ring *ring, struct stored expected)
{
    const struct relay_packet *packet = relay_ring_oldest(ring);
    assert_non_null(packet);
    assert_int_equal(packet->length, expected.length);
    assert_int_equal(packet->deadline_ns, expected.deadline_ns);
    for (uint32_t i = 0; i < packet->length; i++)
        if (packet->data[i] != expected.fill)
            fail_msg("byte %u of %u is %u, not %u", i, packet->length, packet->data[i], expected.fill);
    relay_ring_release(ring);
}

/* Random packets in and out, often to the brim: order, content, and no byte outside the memory (the address sanitizer sees
 * that). */
static void ring_keeps_order_and_content(void **state)
{
    (void)state;
    unsigned char *memory = malloc(CAPACITY + RELAY_RING_MARGIN);
    struct relay_ring ring;
    relay_ring_init(&ring, memory, CAPACITY);
    static struct stored model[MODEL_MOST];
    size_t in = 0, out = 0;
    unsigned refused = 0;
    struct rng rng = random_stream();
    for (int step = 0; step < 20000; step++) {
        bool filling = (step / 500) % 2 == 0;
        if (rng_below(&rng, 10) < (filling ? 7 : 4)) {
            if (!relay_ring_reserve(&ring)) {
                refused++;
                assert_true(ring.count > 0);
                continue;
            }
            struct stored packet = {.length = random_length(&rng), .fill = (unsigned char)rng_u32(&rng), .deadline_ns = step};
            put(&ring, packet);
            model[in++ % MODEL_MOST] = packet;
        } else if (in > out) {
            take(&ring, model[out++ % MODEL_MOST]);
        } else {
            assert_null(relay_ring_oldest(&ring));
        }
        assert_int_equal(ring.count, in - out);
    }
    assert_true(refused > 0);
    while (out < in)
        take(&ring, model[out++ % MODEL_MOST]);
    assert_null(relay_ring_oldest(&ring));
    free(memory);
}

static void empty_ring_starts_again_at_its_beginning(void **state)
{
    (void)state;
    unsigned char *memory = malloc(CAPACITY + RELAY_RING_MARGIN);
    struct relay_ring ring;
    relay_ring_init(&ring, memory, CAPACITY);
    for (int i = 0; i < 1000; i++) {
        struct stored packet = {.length = 1500, .fill = 1, .deadline_ns = i};
        put(&ring, packet);
        take(&ring, packet);
        assert_int_equal(ring.head, 0);
    }
    relay_ring_release(&ring); /* of an empty ring: nothing */
    assert_int_equal(ring.count, 0);
    free(memory);
}

static void full_ring_refuses_until_something_leaves(void **state)
{
    (void)state;
    struct relay_ring ring;
    struct err err = {0};
    assert_int_equal(relay_ring_open(&ring, CAPACITY, CAPACITY, &err), 0);
    struct stored packet = {.length = 60000, .fill = 9, .deadline_ns = 5};
    int held = 0;
    while (relay_ring_reserve(&ring)) {
        put(&ring, packet);
        held++;
    }
    assert_in_range(held, 3, CAPACITY / 60000 + 2);
    assert_null(relay_ring_reserve(&ring));
    while (!relay_ring_reserve(&ring)) {
        take(&ring, packet);
        held--;
    }
    while (held-- > 0)
        take(&ring, packet);
    relay_ring_close(&ring);
    relay_ring_close(&ring);
}

/* A direction's ring holds its rate for its delay and 10 ms more, in frames of 1514 and of 60 bytes. */
static void ring_is_sized_from_rate_and_delay(void **state)
{
    (void)state;
    static const struct relay_direction directions[] = {
        {.rate_bps = 10000000, .delay_ns = 250 * NS_PER_US},
        {.rate_bps = 1000000000, .delay_ns = 5 * NS_PER_MS},
        {.rate_bps = 100000000, .delay_ns = 500 * NS_PER_MS},
    };
    for (size_t i = 0; i < sizeof(directions) / sizeof(directions[0]); i++) {
        struct relay_ring ring;
        assert_int_equal(relay_ring_open(&ring, relay_ring_capacity(&directions[i]), 0, NULL), 0);
        double bytes = (double)directions[i].rate_bps / 8 * ((double)directions[i].delay_ns / 1e9 + 0.01);
        double smallest = bytes / 60, most = 1e6 * ((double)directions[i].delay_ns / 1e9 + 0.01);
        double needed[2] = {bytes / 1514, smallest < most ? smallest : most};
        for (int kind = 0; kind < 2; kind++) {
            double held = 0;
            for (; held < needed[kind] && relay_ring_reserve(&ring); held++)
                relay_ring_commit(&ring, kind == 0 ? 1524 : 70, 0);
            assert_true(held >= needed[kind]);
            while (relay_ring_oldest(&ring))
                relay_ring_release(&ring);
        }
        assert_true((double)ring.capacity < 2 * bytes + 512 * 1024);
        relay_ring_close(&ring);
    }
    struct relay_direction unlimited = {.delay_ns = 10 * NS_PER_S};
    assert_int_equal(relay_ring_capacity(&unlimited), 64 << 20);
    struct relay_direction vast = {.rate_bps = UINT64_C(100000000000), .delay_ns = 10 * NS_PER_S};
    assert_int_equal(relay_ring_capacity(&vast), (size_t)3 << 29);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ring_keeps_order_and_content),
        cmocka_unit_test(empty_ring_starts_again_at_its_beginning),
        cmocka_unit_test(full_ring_refuses_until_something_leaves),
        cmocka_unit_test(ring_is_sized_from_rate_and_delay),
    };
    return cmocka_run_group_tests_name("relay ring", tests, NULL, NULL);
}
