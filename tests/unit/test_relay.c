/* test_relay.c: the relay without devices: order of deadlines, heap, lateness buckets, what is learned of wake-ups. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/virtio_net.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/rng.h"
#include "netem/relay_internal.h"
#include "netem/shaping.h"

static struct rng random_stream(void)
{
    return rng_stream(7, 0, 0, RNG_LINK);
}

static void deadlines_without_a_rate(void **state)
{
    (void)state;
    struct relay_direction direction = {.delay_ns = 5000};
    struct relay_pace pace = relay_pace_for(&direction);
    /* now, arrival, early, jitter, bytes */
    assert_int_equal(relay_pace_deadline_ns(&pace, 1000, 990, 0, 0, 1514), 5990);
    assert_int_equal(relay_pace_deadline_ns(&pace, 1000, 990, 40, 0, 60000), 5990); /* not before the packet in front */
    assert_int_equal(relay_pace_deadline_ns(&pace, 2000, 2000, 40, 0, 60000), 6960);
    pace = relay_pace_for(&(struct relay_direction){0});
    assert_int_equal(relay_pace_deadline_ns(&pace, 1000, 990, 500, 0, 60), 1000); /* not before it came */
}

static void deadlines_keep_order_and_causality(void **state)
{
    (void)state;
    static const uint64_t rates[] = {0, 1000000, 1000000000};
    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        struct relay_direction direction = {.rate_bps = rates[i], .delay_ns = 20000};
        struct relay_pace pace = relay_pace_for(&direction);
        struct rng rng = random_stream();
        int64_t previous_ns = 0, now_ns = 0;
        for (int step = 0; step < 10000; step++) {
            now_ns += rng_below(&rng, 1000);
            int64_t early_ns = rng_below(&rng, RELAY_BIAS_MAX_NS), arrival_ns = now_ns - rng_below(&rng, 500);
            int64_t deadline_ns = relay_pace_deadline_ns(&pace, now_ns, arrival_ns, early_ns, 0, 60 + rng_below(&rng, 65000));
            assert_true(deadline_ns >= previous_ns && deadline_ns >= now_ns);
            assert_true(deadline_ns >= arrival_ns + direction.delay_ns - early_ns);
            previous_ns = deadline_ns;
        }
    }
}

/* 1 Gbit/s: a burst that comes at once leaves at the rate, a frame's time and 15 us early; single frames are not held up at all. */
static void bursts_leave_at_the_rate(void **state)
{
    (void)state;
    struct relay_direction direction = {.rate_bps = 1000000000, .delay_ns = NS_PER_MS, .queue_bytes = 1500000};
    struct relay_pace pace = relay_pace_for(&direction);
    assert_int_equal(relay_pace_deadline_ns(&pace, 0, 0, 0, 0, 1514), NS_PER_MS);
    for (int i = 1; i <= 20; i++) { /* a frame every 12.2 us is no more than the rate */
        int64_t now_ns = NS_PER_MS + i * 12200;
        assert_int_equal(relay_pace_deadline_ns(&pace, now_ns, now_ns, 0, 0, 1514), now_ns + NS_PER_MS);
    }
    pace = relay_pace_for(&direction);
    for (int i = 1; i <= 10; i++) {
        double late_ns = ((double)i * 3000 - 1514) * 8 / 1.005 - 15000;
        int64_t expected_ns = NS_PER_MS + (late_ns > 0 ? (int64_t)late_ns : 0);
        assert_in_range(relay_pace_deadline_ns(&pace, 0, 0, 0, 0, 3000), expected_ns - 20, expected_ns + 20);
    }
}

/* After 50 ms in which nobody read, 6 MB lie there. They are let go, spread over no more than two buckets' time. */
static void what_piled_up_is_let_go(void **state)
{
    (void)state;
    struct relay_direction direction = {.rate_bps = 1000000000, .delay_ns = NS_PER_MS, .queue_bytes = 1500000};
    struct relay_pace pace = relay_pace_for(&direction);
    int64_t last_ns = 0;
    for (int i = 0; i < 500; i++)
        last_ns = relay_pace_deadline_ns(&pace, 0, 0, 0, 0, 12000);
    const int64_t bucket_ns = 8 * (int64_t)shaping_for_relay(shaping_for_rate(1000000000, 1500000, 1500)).burst_bytes;
    assert_in_range(last_ns, NS_PER_MS + bucket_ns, NS_PER_MS + 2 * bucket_ns + 8 * 12000); /* and the last packet itself */
}

/* Jitter moves a deadline, the one in front and the moment of arrival bound it. */
static void jitter_keeps_order_and_causality(void **state)
{
    (void)state;
    struct relay_direction direction = {.delay_ns = 5000};
    struct relay_pace pace = relay_pace_for(&direction);
    assert_int_equal(relay_pace_deadline_ns(&pace, 1000, 1000, 0, 300, 60), 6300);
    assert_int_equal(relay_pace_deadline_ns(&pace, 1100, 1100, 0, -300, 60), 6300); /* 5,800 would overtake */
    assert_int_equal(relay_pace_deadline_ns(&pace, 9000, 9000, 0, -300, 60), 13700);
    assert_int_equal(relay_pace_deadline_ns(&pace, 20000, 20000, 0, -9000, 60), 20000);
    /* Quantiles of the deadlines of packets far enough apart are those of the distribution. */
    enum { COUNT = 20000 };
    const struct impairments asked = {.jitter_ns = 1000000, .jitter_distribution = JITTER_NORMAL};
    struct impairment impairment;
    impairment_begin(&impairment, &asked, 1, 0, 0);
    pace = relay_pace_for(&(struct relay_direction){.delay_ns = 10000000});
    int below[3] = {0};
    for (int64_t i = 0; i < COUNT; i++) {
        int64_t now_ns = i * 100000000;
        int64_t offset_ns =
            relay_pace_deadline_ns(&pace, now_ns, now_ns, 0, impairment_jitter_ns(&impairment), 60) - now_ns - 10000000;
        below[0] += offset_ns < -1000000;
        below[1] += offset_ns < 0;
        below[2] += offset_ns < 1000000;
    }
    static const double shares[] = {0.158655, 0.5, 0.841345};
    for (int q = 0; q < 3; q++)
        assert_float_equal((double)below[q] / COUNT, shares[q], 0.01);
}

static void wire_bytes_count_every_segments_headers(void **state)
{
    (void)state;
    static unsigned char packet[66000];
    struct virtio_net_hdr header = {0};
    memcpy(packet, &header, sizeof(header));
    assert_int_equal(relay_wire_bytes(packet, 10 + 1514), 1514);
    /* Ethernet 14, IPv4 20, TCP 32: three full segments and 100 bytes */
    header = (struct virtio_net_hdr){.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
                                     .gso_type = VIRTIO_NET_HDR_GSO_TCPV4 | VIRTIO_NET_HDR_GSO_ECN,
                                     .hdr_len = 300,
                                     .gso_size = 1448,
                                     .csum_start = 34,
                                     .csum_offset = 16};
    memcpy(packet, &header, sizeof(header));
    packet[10 + 34 + 12] = 8 << 4;
    assert_int_equal(relay_wire_bytes(packet, 10 + 66 + 3 * 1448 + 100), 3 * 1514 + 166);
    assert_int_equal(relay_wire_bytes(packet, 10 + 66 + 3 * 1448), 3 * 1514);
    assert_int_equal(relay_wire_bytes(packet, 10 + 66), 66); /* nothing to cut */
    assert_int_equal(relay_wire_bytes(packet, 10 + 40), 40); /* too short to hold what it claims */
    assert_int_equal(relay_wire_bytes(packet, 11), 1);
    header.gso_size = 0;
    memcpy(packet, &header, sizeof(header));
    assert_int_equal(relay_wire_bytes(packet, 10 + 5000), 5000);
}

static int earliest(const int64_t *deadline_ns, int count)
{
    int best = -1;
    for (int i = 0; i < count; i++)
        if (deadline_ns[i] >= 0 && (best < 0 || deadline_ns[i] < deadline_ns[best]))
            best = i;
    return best;
}

static void heap_finds_the_earliest_deadline(void **state)
{
    (void)state;
    enum { COUNT = 37 };
    struct relay_heap heap;
    assert_int_equal(relay_heap_open(&heap, COUNT, NULL), 0);
    assert_int_equal(relay_heap_first(&heap), -1);
    int64_t model[COUNT];
    for (int i = 0; i < COUNT; i++)
        model[i] = -1;
    struct rng rng = random_stream();
    for (int step = 0; step < 20000; step++) {
        int direction = (int)rng_below(&rng, COUNT);
        if (rng_below(&rng, 3) == 0) {
            relay_heap_remove(&heap, direction);
            model[direction] = -1;
        } else {
            model[direction] = rng_below(&rng, 1000);
            relay_heap_set(&heap, direction, model[direction]);
        }
        int first = relay_heap_first(&heap), expected = earliest(model, COUNT);
        if (expected < 0)
            assert_int_equal(first, -1);
        else
            assert_int_equal(model[first], model[expected]);
    }
    relay_heap_close(&heap);
}

static void lateness_buckets_are_eighths_of_octaves(void **state)
{
    (void)state;
    assert_int_equal(relay_lateness_bucket(-5), 0);
    assert_int_equal(relay_lateness_bucket(999), 0);
    assert_int_equal(relay_lateness_bucket(1000), 1);
    assert_int_equal(relay_lateness_bucket(1124), 1);
    assert_int_equal(relay_lateness_bucket(1125), 2);
    assert_int_equal(relay_lateness_bucket(1999), 8);
    assert_int_equal(relay_lateness_bucket(2000), 9);
    assert_true(relay_lateness_bucket(INT64_MAX) < RELAY_LATENESS_BUCKETS);
    unsigned previous = 0;
    for (int64_t ns = 1000; ns < 10 * NS_PER_S; ns += ns / 50) {
        unsigned bucket = relay_lateness_bucket(ns);
        assert_true(bucket >= previous);
        int64_t end_ns = relay_lateness_bucket_end_ns(bucket);
        assert_true(end_ns >= ns && (double)end_ns <= (double)ns * 1.125);
        assert_true(relay_lateness_bucket_end_ns(bucket - 1) < ns);
        previous = bucket;
    }
}

static void quantiles_of_lateness(void **state)
{
    (void)state;
    static struct relay_counters counters;
    assert_int_equal(relay_lateness_quantile_ns(&counters, 0.5), -1);
    for (int64_t us = 1; us <= 1000; us++) { /* 1 us to 1 ms, each once */
        counters.lateness[relay_lateness_bucket(us * NS_PER_US)]++;
        counters.lateness_max_ns = us * NS_PER_US;
    }
    assert_in_range(relay_lateness_quantile_ns(&counters, 0.5), 500000, 562500);
    assert_in_range(relay_lateness_quantile_ns(&counters, 0.99), 990000, 1000000);
    assert_int_equal(relay_lateness_quantile_ns(&counters, 1.0), NS_PER_MS);
    assert_in_range(relay_lateness_quantile_ns(&counters, 0.0), 0, 1125);
    memset(&counters, 0, sizeof(counters));
    counters.lateness[0] = 3; /* all on time */
    counters.lateness_max_ns = 400;
    assert_int_equal(relay_lateness_quantile_ns(&counters, 0.99), 400);
}

static void learned_lateness_follows_and_is_bounded(void **state)
{
    (void)state;
    assert_int_equal(relay_idle_class(0), 0);
    assert_int_equal(relay_idle_class(63 * NS_PER_US), 0);
    assert_int_equal(relay_idle_class(64 * NS_PER_US), 1);
    assert_int_equal(relay_idle_class(1024 * NS_PER_US), 5);
    assert_int_equal(relay_idle_class(INT64_MAX), RELAY_IDLE_CLASSES - 1);
    struct relay_bias bias = {0};
    unsigned class = relay_idle_class(300 * NS_PER_US);
    for (int i = 0; i < 200; i++)
        relay_bias_learn_timer(&bias, 300 * NS_PER_US, 25 * NS_PER_US);
    assert_in_range(bias.timer_ns[class], 24 * NS_PER_US, 25 * NS_PER_US);
    assert_int_equal(bias.timer_ns[class + 1], 0);
    relay_bias_learn_timer(&bias, 300 * NS_PER_US,
                           NS_PER_S); /* a second of somebody else's work moves it by at most a sixteenth of the bound */
    assert_true(bias.timer_ns[class] <= 25 * NS_PER_US + RELAY_BIAS_MAX_NS / 16);
    for (int i = 0; i < 200; i++)
        relay_bias_learn_timer(&bias, 300 * NS_PER_US, NS_PER_S);
    assert_true(bias.timer_ns[class] <= RELAY_BIAS_MAX_NS);
    for (int i = 0; i < 200; i++)
        relay_bias_learn_timer(&bias, 300 * NS_PER_US, -NS_PER_S);
    assert_in_range(bias.timer_ns[class], 0, 16);
}

/* One that knows nothing yet, and has no thread that sends to it. */
static struct relay_bias open_bias(void)
{
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    return (struct relay_bias){.ours = pair[0], .theirs = pair[1]};
}

static void close_bias(struct relay_bias *bias)
{
    close_fd(&bias->ours);
    close_fd(&bias->theirs);
}

/* A packet that woke the relay `late_ns` after it was sent, out of a sleep of slept_ns. */
static void wake(struct relay_bias *bias, int64_t slept_ns, int64_t late_ns)
{
    int64_t sent_ns = NS_PER_S;
    assert_int_equal(send(bias->theirs, &sent_ns, sizeof(sent_ns), 0), sizeof(sent_ns));
    relay_bias_learn_arrival(bias, slept_ns, sent_ns + late_ns);
}

/* On a host that is busy at times most wake-ups are prompt, and packets must not be early for the sake of the others. */
static void late_wake_ups_now_and_then_make_nothing_early(void **state)
{
    (void)state;
    cleanup(close_bias) struct relay_bias bias = open_bias();
    int64_t slept_ns = 1500 * NS_PER_US, prompt_ns = 30 * NS_PER_US, late_ns = NS_PER_MS;
    unsigned class = relay_idle_class(slept_ns);
    for (int i = 0; i < 50; i++)
        wake(&bias, slept_ns, prompt_ns);
    assert_in_range(bias.arrival_ns[class], 29 * NS_PER_US, 30 * NS_PER_US);
    int64_t most_ns = 0;
    for (int i = 0; i < 1000; i++) { /* a burst of five in ten */
        wake(&bias, slept_ns, i % 10 < 5 ? late_ns : prompt_ns);
        most_ns = bias.arrival_ns[class] > most_ns ? bias.arrival_ns[class] : most_ns;
    }
    assert_in_range(most_ns, 31 * NS_PER_US, 65 * NS_PER_US);
    for (int i = 0; i < 500; i++) /* what is always late is believed in the end */
        wake(&bias, slept_ns, 150 * NS_PER_US);
    assert_in_range(bias.arrival_ns[class], 140 * NS_PER_US, 150 * NS_PER_US);
    for (int i = 0; i < 20; i++) /* and forgotten soon */
        wake(&bias, slept_ns, prompt_ns);
    assert_in_range(bias.arrival_ns[class], 30 * NS_PER_US, 50 * NS_PER_US);
}

/* What a busy moment at the start said of a long sleep does not stay for the longer ones, which are seldom met. */
static void sleeps_nothing_is_known_of_follow_shorter_ones(void **state)
{
    (void)state;
    cleanup(close_bias) struct relay_bias bias = open_bias();
    for (int c = 0; c < RELAY_IDLE_CLASSES; c++)
        bias.arrival_ns[c] = 190 * NS_PER_US;
    wake(&bias, 25 * NS_PER_MS, 180 * NS_PER_US);
    for (int i = 0; i < 50; i++)
        wake(&bias, 1500 * NS_PER_US, 30 * NS_PER_US);
    for (unsigned c = relay_idle_class(1500 * NS_PER_US); c < relay_idle_class(25 * NS_PER_MS); c++)
        assert_in_range(bias.arrival_ns[c], 30 * NS_PER_US, 32 * NS_PER_US);
    assert_in_range(bias.arrival_ns[relay_idle_class(25 * NS_PER_MS)], 180 * NS_PER_US, 190 * NS_PER_US);
}

/* On any host: it ends, every estimate is within its bounds, and there is something to learn of arrivals afterwards. */
static void wake_ups_can_be_measured(void **state)
{
    (void)state;
    static struct relay_bias bias;
    struct err err = {0};
    assert_int_equal(relay_bias_open(&bias, &err), 0);
    for (int class = 0; class < RELAY_IDLE_CLASSES; class ++) {
        assert_in_range(bias.timer_ns[class], 1, RELAY_BIAS_MAX_NS);
        assert_in_range(bias.arrival_ns[class], 1, RELAY_BIAS_MAX_NS);
    }
    struct pollfd readable = {.fd = bias.ours, .events = POLLIN};
    assert_int_equal(poll(&readable, 1, 10000), 1);
    unsigned class = relay_idle_class(5 * NS_PER_MS);
    int64_t before_ns = bias.arrival_ns[class];
    relay_bias_learn_arrival(&bias, 0, clock_now_ns()); /* did not wake us: nothing to learn */
    assert_int_equal(bias.arrival_ns[class], before_ns);
    assert_int_equal(poll(&readable, 1, 0), 0); /* but taken */
    relay_bias_close(&bias);
    relay_bias_close(&bias);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deadlines_without_a_rate),
        cmocka_unit_test(deadlines_keep_order_and_causality),
        cmocka_unit_test(bursts_leave_at_the_rate),
        cmocka_unit_test(what_piled_up_is_let_go),
        cmocka_unit_test(jitter_keeps_order_and_causality),
        cmocka_unit_test(wire_bytes_count_every_segments_headers),
        cmocka_unit_test(heap_finds_the_earliest_deadline),
        cmocka_unit_test(lateness_buckets_are_eighths_of_octaves),
        cmocka_unit_test(quantiles_of_lateness),
        cmocka_unit_test(learned_lateness_follows_and_is_bounded),
        cmocka_unit_test(late_wake_ups_now_and_then_make_nothing_early),
        cmocka_unit_test(sleeps_nothing_is_known_of_follow_shorter_ones),
        cmocka_unit_test(wake_ups_can_be_measured),
    };
    return cmocka_run_group_tests_name("relay", tests, NULL, NULL);
}
