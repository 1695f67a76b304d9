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
        {8000, 150000, {1000, 3710, 153710, 3512, 0, 0}},          /* two segments: 2 x 1500 + 512 */
        {10000000, 150000, {1250000, 3710, 153710, 3512, 0, 0}},   /* burst: on the wire, 3 x 66 more */
        {100000000, 150000, {12500000, 4512, 154512, 3512, 0, 0}}, /* burst: 3,512 + 80 us */
        {1000000000,
         1500000,
         {125000000, 22500, 1522500, 12500, 128750000, 14500}}, /* 100 us worth, and 80 us more; peak 16 us more */
        {10000000000, 15000000, {1250000000, 165536, 15165536, 65536, 1287500000, 85536}},  /* 64 KiB is the most */
        {40000000000, 60000000, {5000000000, 465536, 60465536, 65536, 5150000000, 145536}}, /* over 2^32 bytes a second */
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

/* A GSO packet that the device lets through, with the headers of all its segments, fits the bucket; two segments fit a GSO
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
            assert_true(shaping.gso_max_bytes >= 2 * (uint32_t)mtus[m] || shaping.gso_max_bytes == 65536);
            assert_true(shaping.gso_max_bytes <= 65536);
            assert_true(shaping.limit_bytes == 150000 + shaping.burst_bytes);
        }
}

/* A peak only where the bucket would let more than two segments through at once. */
static void a_peak_begins_with_large_packets(void **state)
{
    (void)state;
    struct shaping below = shaping_for_rate(280000000, 1500000, 1500), above = shaping_for_rate(282000000, 1500000, 1500);
    assert_int_equal(below.gso_max_bytes, 3512);
    assert_int_equal(below.peak_bytes_per_second, 0);
    assert_int_equal(below.peak_burst_bytes, 0);
    assert_int_equal(above.gso_max_bytes, 3525);
    assert_int_equal(above.peak_bytes_per_second, 36307500);
    assert_int_equal(above.peak_burst_bytes, 4089);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(directions_ask_for_more_than_a_rate),
        cmocka_unit_test(known_rates),
        cmocka_unit_test(every_packet_fits_the_burst),
        cmocka_unit_test(no_rate_no_shaping),
        cmocka_unit_test(a_peak_begins_with_large_packets),
        cmocka_unit_test(limits_do_not_wrap),
        cmocka_unit_test(default_queue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
