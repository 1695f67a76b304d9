/* test_shaping.c: tbf's numbers at the rates where a rule changes, and what must hold at every rate. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "netem/shaping.h"

static void known_rates(void **state)
{
    (void)state;
    static const struct {
        uint64_t rate_bps, queue_bytes;
        struct {
            uint64_t rate_bytes_per_second;
            uint32_t burst_bytes, limit_bytes, gso_max_bytes;
            uint64_t peak_bytes_per_second;
            uint32_t peak_burst_bytes;
        } expected;
    } cases[] = {
        {8000, 150000, {1000, 2144, 152144, 2012, 0, 0}},          /* one segment: 1500 + 512 */
        {10000000, 150000, {1250000, 2144, 152144, 2012, 0, 0}},   /* burst: on the wire, 2 x 66 more */
        {100000000, 150000, {12500000, 3012, 153012, 2012, 0, 0}}, /* burst: 2,012 + 80 us */
        {1000000000,
         1500000,
         {125000000, 20000, 1520000, 10000, 127500000, 12000}}, /* 80 us worth, and 80 us more; peak 16 us more */
        {10000000000, 15000000, {1250000000, 165536, 15165536, 65536, 1275000000, 85536}},  /* 64 KiB is the most */
        {40000000000, 60000000, {5000000000, 465536, 60465536, 65536, 5100000000, 145536}}, /* over 2^32 bytes a second */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct shaping shaping = shaping_for_rate(cases[i].rate_bps, cases[i].queue_bytes, 1500);
        assert_int_equal(shaping.rate_bytes_per_second, cases[i].expected.rate_bytes_per_second);
        assert_int_equal(shaping.burst_bytes, cases[i].expected.burst_bytes);
        assert_int_equal(shaping.limit_bytes, cases[i].expected.limit_bytes);
        assert_int_equal(shaping.gso_max_bytes, cases[i].expected.gso_max_bytes);
        assert_int_equal(shaping.peak_bytes_per_second, cases[i].expected.peak_bytes_per_second);
        assert_int_equal(shaping.peak_burst_bytes, cases[i].expected.peak_burst_bytes);
    }
}

/* A GSO packet that the device lets through, with the headers of all its segments, fits the bucket; one segment fits a GSO
 * packet. */
static void every_packet_fits_the_burst(void **state)
{
    (void)state;
    static const int mtus[] = {576, 1280, 1500, 4000, 9000, 65521};
    for (size_t m = 0; m < sizeof(mtus) / sizeof(mtus[0]); m++)
        for (uint64_t rate = 8000; rate < UINT64_C(500000000000); rate = rate * 3 / 2) {
            struct shaping shaping = shaping_for_rate(rate, 150000, mtus[m]);
            uint64_t payload = (uint64_t)mtus[m] - 52, segments = shaping.gso_max_bytes / payload + 1;
            uint64_t largest = shaping.gso_max_bytes + segments * 66;
            if (segments * ((uint64_t)mtus[m] + 14) < largest)
                largest = segments * ((uint64_t)mtus[m] + 14);
            assert_true(shaping.burst_bytes + 66 >= largest);
            if (shaping.peak_bytes_per_second > 0) {
                assert_true(shaping.peak_burst_bytes + 66 >= largest);
                assert_true(shaping.peak_burst_bytes <= shaping.burst_bytes);
                assert_true(shaping.peak_bytes_per_second > shaping.rate_bytes_per_second); /* else the kernel refuses it */
            }
            assert_true(shaping.gso_max_bytes >= (uint32_t)mtus[m] + 512 || shaping.gso_max_bytes == 65536);
            assert_true(shaping.gso_max_bytes <= 65536);
            assert_true(shaping.limit_bytes == 150000 + shaping.burst_bytes);
        }
}

/* Every MTU that a campaign file may ask for, and rates over all that it may: each bucket holds a whole frame, also after it has
 * become ticks of 64 ns. A smaller one would let no full frame through at all. */
static void no_setting_makes_a_burst_below_the_mtu(void **state)
{
    (void)state;
    enum { MTU_LEAST = 576, MTU_MOST = 9000, ETHERNET_HEADER = 14, TICK_NS = 64 };
    for (int mtu = MTU_LEAST; mtu <= MTU_MOST; mtu++)
        for (uint64_t rate = 8000; rate < UINT64_C(420000000000); rate += rate / 50) {
            struct direction direction = {.rate_bps = rate, .queue_bytes = 150000};
            direction.framing = rate % 2 ? FRAMING_L1 : FRAMING_L2;
            struct shaping shaping = shaping_for_direction(&direction, mtu);
            uint64_t frame = (uint64_t)mtu + ETHERNET_HEADER, tick = shaping.rate_bytes_per_second * TICK_NS / 1000000000 + 1;
            if (shaping.burst_bytes < frame + tick)
                fail_msg("rate %llu, mtu %d: a burst of %u bytes", (unsigned long long)rate, mtu, shaping.burst_bytes);
            if (shaping.peak_bytes_per_second > 0 && shaping.peak_burst_bytes < frame + 2 * tick)
                fail_msg("rate %llu, mtu %d: a peak burst of %u bytes", (unsigned long long)rate, mtu, shaping.peak_burst_bytes);
        }
}

/* A peak only where the bucket would let more than one segment through at once. */
static void a_peak_begins_with_large_packets(void **state)
{
    (void)state;
    struct shaping below = shaping_for_rate(200000000, 1500000, 1500), above = shaping_for_rate(202000000, 1500000, 1500);
    assert_int_equal(below.gso_max_bytes, 2012);
    assert_int_equal(below.peak_bytes_per_second, 0);
    assert_int_equal(below.peak_burst_bytes, 0);
    assert_int_equal(above.gso_max_bytes, 2020);
    assert_int_equal(above.peak_bytes_per_second, 25755000);
    assert_int_equal(above.peak_burst_bytes, 2424);
}

/* The relay spreads bursts: 160 us more of the rate in the bucket, and nothing that holds it back. */
static void the_relay_needs_no_peak(void **state)
{
    (void)state;
    struct shaping plain = shaping_for_rate(1000000000, 1500000, 1500), relay = shaping_for_relay(plain);
    assert_int_equal(relay.burst_bytes, plain.burst_bytes + 20000);
    assert_int_equal(relay.limit_bytes, plain.limit_bytes + 20000);
    assert_int_equal(relay.gso_max_bytes, plain.gso_max_bytes);
    assert_int_equal(relay.peak_bytes_per_second, 0);
    assert_int_equal(relay.peak_burst_bytes, 0);
    struct shaping none = shaping_for_relay((struct shaping){0});
    assert_int_equal(none.burst_bytes, 0);
}

static void no_rate_no_shaping(void **state)
{
    (void)state;
    struct shaping shaping = shaping_for_rate(0, 0, 1500);
    assert_int_equal(shaping.rate_bytes_per_second, 0);
    assert_int_equal(shaping.burst_bytes, 0);
    assert_int_equal(shaping.limit_bytes, 0);
    assert_int_equal(shaping.gso_max_bytes, 0);
}

static void limits_do_not_wrap(void **state)
{
    (void)state;
    struct shaping shaping = shaping_for_rate(UINT64_MAX, UINT64_C(1) << 33, 1500);
    assert_int_equal(shaping.burst_bytes, UINT32_MAX);
    assert_int_equal(shaping.limit_bytes, UINT32_MAX);
}

static void default_queue(void **state)
{
    (void)state;
    assert_int_equal(shaping_default_queue_bytes(10000000), 150000);
    assert_int_equal(shaping_default_queue_bytes(100000000), 150000); /* 12 ms worth, exactly */
    assert_int_equal(shaping_default_queue_bytes(1000000000), 1500000);
    assert_int_equal(shaping_default_queue_bytes(UINT64_C(40000000000)), 60000000);
}

/* What is decided frame by frame needs frames; framing l1 counts 24 bytes more of each. */
static void directions_ask_for_more_than_a_rate(void **state)
{
    (void)state;
    struct direction direction = {.rate_bps = 1000000000, .queue_bytes = 1500000};
    struct shaping plain = shaping_for_rate(direction.rate_bps, direction.queue_bytes, 1500);
    struct shaping shaping = shaping_for_direction(&direction, 1500);
    assert_memory_equal(&shaping, &plain, sizeof(plain));
    direction.impairments.jitter_ns = 1000;
    assert_int_equal(shaping_for_direction(&direction, 1500).gso_max_segments, 0);
    direction.impairments.loss = 0.001;
    shaping = shaping_for_direction(&direction, 1500);
    assert_int_equal(shaping.gso_max_segments, 1);
    assert_int_equal(shaping.burst_bytes, plain.burst_bytes);
    direction.impairments = (struct impairments){0};
    direction.framing = FRAMING_L1;
    shaping = shaping_for_direction(&direction, 1500);
    assert_int_equal(shaping.overhead_bytes, 24);
    assert_int_equal(shaping.gso_max_segments, 1);
    assert_int_equal(shaping.burst_bytes, plain.burst_bytes); /* the kernel adds the overhead itself */
    direction.framing = FRAMING_L2;
    direction.queue_packets = 100;
    shaping = shaping_for_direction(&direction, 1500);
    assert_int_equal(shaping.queue_packets, 100);
    assert_int_equal(shaping.gso_max_segments, 1);
    const struct direction unlimited = {.framing = FRAMING_L1};
    assert_int_equal(shaping_for_direction(&unlimited, 1500).overhead_bytes, 0);
}

/* A packet that got into the queue must fit the bucket when its turn comes. */
static void a_smaller_bucket_keeps_room(void **state)
{
    (void)state;
    struct shaping before = shaping_for_rate(1000000000, 1500000, 1500), after = shaping_for_rate(10000000, 150000, 1500);
    struct shaping vast = shaping_for_rate(UINT64_C(100000000000), 1500000, 1500);
    assert_int_equal(shaping_admits(&before, 1500), 12000); /* the peak's bucket is the smaller one */
    assert_int_equal(shaping_admits(&after, 1500), 2144);
    assert_int_equal(shaping_admits(&vast, 1500), 65536 + 44 * 66); /* no packet is larger */
    struct shaping roomy = shaping_with_room(after, 14500), enough = shaping_with_room(before, 3710);
    assert_int_equal(roomy.burst_bytes, 14500);
    assert_int_equal(roomy.peak_burst_bytes, 0);
    assert_int_equal(roomy.limit_bytes, after.limit_bytes);
    assert_int_equal(roomy.rate_bytes_per_second, after.rate_bytes_per_second);
    assert_memory_equal(&enough, &before, sizeof(before));
    roomy = shaping_with_room(before, 30000);
    assert_true(roomy.burst_bytes == 30000 && roomy.peak_burst_bytes == 30000);
    roomy = shaping_with_room((struct shaping){0}, 30000);
    assert_int_equal(roomy.burst_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(directions_ask_for_more_than_a_rate),
        cmocka_unit_test(a_smaller_bucket_keeps_room),
        cmocka_unit_test(the_relay_needs_no_peak),
        cmocka_unit_test(known_rates),
        cmocka_unit_test(every_packet_fits_the_burst),
        cmocka_unit_test(no_setting_makes_a_burst_below_the_mtu),
        cmocka_unit_test(no_rate_no_shaping),
        cmocka_unit_test(a_peak_begins_with_large_packets),
        cmocka_unit_test(limits_do_not_wrap),
        cmocka_unit_test(default_queue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
