/* change_check.c: changes links of a standing fabric while packets are under way, and looks at what becomes of them.
 *
 *     change_check ENGINE CASE
 *
 * ENGINE carries what changes beyond its rate: none where nothing does. */
#include "tests/netns/change_traffic.h"

#include <math.h>

#include "base/rng.h"

/* Bytes of the packets that a connection sends. */
static double mean_packet_bytes(struct bench *bench, const struct stream *stream)
{
    enum { PACKETS_LEAST = 20 };
    pump(stream, 200 * NS_PER_MS);
    struct direction_counters before = count(bench), after;
    int64_t give_up_ns = clock_now_ns() + PATIENCE_MS * NS_PER_MS;
    do {
        pump(stream, 150 * NS_PER_MS);
        after = count(bench);
    } while (after.packets - before.packets < PACKETS_LEAST && clock_now_ns() < give_up_ns);
    return (double)(after.bytes - before.bytes) / (double)(after.packets - before.packets);
}

/* --- rates -------------------------------------------------------------------------------------------------------------------- */

static void case_rate(struct bench *bench)
{
    static const uint64_t rates_bps[] = {20000000, 80000000, 5000000, 30000000};
    plan(bench, SHAPE_STAR, 2, 1000000000, 0);
    bench->links[0].direction[DIRECTION_FORWARD] = with_rate(bench, rates_bps[0]);
    let_change(bench, 1000000000, 0);
    build(bench);
    struct stream stream = open_stream(bench, 0, 1);
    struct qdisc first = find_qdisc(bench, 0, "tbf"), last = first;
    uint64_t packets = 0;
    for (size_t i = 0; i < sizeof(rates_bps) / sizeof(rates_bps[0]); i++) {
        struct direction to = with_rate(bench, rates_bps[i]);
        if (i > 0)
            change(bench, &to, false);
        pump(&stream, 400 * NS_PER_MS); /* what was sent into the old queue, and TCP's finding its pace */
        int64_t started_ns = clock_now_ns();
        double bytes = (double)pump(&stream, 600 * NS_PER_MS);
        double share = bytes * 8 * (double)NS_PER_S / (double)(clock_now_ns() - started_ns) / (double)rates_bps[i];
        /* Far enough apart for each rate to be told from the one before; a busy host reads late what came before, or sends less. */
        check(bench, share > 0.3 && share < 1.3, "a live connection gets %.2f of %" PRIu64 " kbit/s", share, rates_bps[i] / 1000);
        struct qdisc now = find_qdisc(bench, 0, "tbf");
        struct direction_counters counters = count(bench);
        check(bench, now.handle == first.handle && now.bytes > last.bytes && counters.packets > packets,
              "it is the same qdisc (%x:), whose counters go on", now.handle >> 16);
        last = now;
        packets = counters.packets;
    }
    close_stream(&stream);
    end(bench);
}

/* A live connection's packets follow the rate: large ones at a high rate, one segment at a low one. What waits in the queue when
 * the rate is lowered is larger than the new bucket, and must leave all the same; at the router, too, whose packets are others'. */
static void case_size(struct bench *bench)
{
    static const uint64_t rates_bps[] = {1000000000, 10000000, 500000000, 100000000, 1000000000};
    plan(bench, SHAPE_STAR, 2, rates_bps[0], 0);
    let_change(bench, rates_bps[0], 0);
    build(bench);
    struct stream stream = open_stream(bench, 0, 1);
    for (size_t i = 0; i < sizeof(rates_bps) / sizeof(rates_bps[0]); i++) {
        struct direction to = with_rate(bench, rates_bps[i]);
        change(bench, &to, false);
        uint32_t most = shaping_for_direction(&to, 1500).gso_max_bytes;
        if (rates_bps[i] == 10000000)
            pump(&stream, 1500 * NS_PER_MS); /* the old queue of 1.5 MB at the new rate */
        double mean = mean_packet_bytes(bench, &stream);
        check(bench, mean > most / 2.0 && mean <= most + 14, "at %" PRIu64 " Mbit/s packets of %.0f bytes, at most %u",
              rates_bps[i] / 1000000, mean, most);
    }
    for (size_t i = 1; i < sizeof(rates_bps) / sizeof(rates_bps[0]); i++) {
        struct direction to = with_rate(bench, rates_bps[i]);
        change_link(bench, 1, DIRECTION_BACKWARD, &to, false);
        pump(&stream, 100 * NS_PER_MS);
        int64_t after_ns = resumes_after_ns(&stream);
        check(bench, after_ns > 0, "at %" PRIu64 " Mbit/s behind the router the packets go on", rates_bps[i] / 1000000);
    }
    close_stream(&stream);
    end(bench);
}

/* A packet that waits its turn at a very low rate must not wait for it once the rate is high: at 8 kbit/s a frame takes 1.5 s. */
static void case_wake(struct bench *bench)
{
    enum { BYTES = 100000 };
    plan(bench, SHAPE_STAR, 2, 1000000000, 0);
    bench->links[0].direction[DIRECTION_FORWARD] = with_rate(bench, 100000000);
    let_change(bench, 1000000000, 0);
    build(bench);
    struct stream stream = open_stream(bench, 0, 1);
    struct direction slow = with_rate(bench, 8000), fast = with_rate(bench, 100000000);
    pump(&stream, 300 * NS_PER_MS);
    for (int again = 0; again < 5; again++) {
        change(bench, &slow, false);
        pump(&stream, (150 + 50 * again) * NS_PER_MS);
        change(bench, &fast, false);
        int64_t started_ns = clock_now_ns(), took_ns = 0;
        for (uint64_t bytes = 0; bytes < BYTES && took_ns < PATIENCE_MS * NS_PER_MS; took_ns = clock_now_ns() - started_ns)
            bytes += pump(&stream, NS_PER_MS);
        check(bench, took_ns < 500 * NS_PER_MS, "from 8 kbit/s to 100 Mbit/s: 100 kB come within %.1f ms", (double)took_ns / 1e6);
    }
    close_stream(&stream);
    end(bench);
}

/* Whatever came before, in whatever moment: the link is not left standing. */
static void case_storm(struct bench *bench)
{
    enum { STORMS = 10, CHANGES = 30 };
    plan(bench, SHAPE_STAR, 2, 1000000000, 0);
    let_change(bench, 1000000000, 0);
    build(bench);
    struct stream stream = open_stream(bench, 0, 1);
    struct rng rng = rng_stream(1, 0, 0, RNG_LINK);
    const struct direction calm = with_rate(bench, 100000000);
    for (int storm = 0; storm < STORMS; storm++) {
        for (int i = 0; i < CHANGES; i++) {
            struct direction to = with_rate(bench, (uint64_t)(1e6 * pow(1000, rng_uniform(&rng)))); /* to 1 Gbit/s */
            change_link(bench, (int)rng_below(&rng, 2), (int)rng_below(&rng, 2), &to, false);
            pump(&stream, (int64_t)rng_below(&rng, 20) * NS_PER_MS);
        }
        for (int end = 0; end < 2 * DIRECTIONS; end++)
            change_link(bench, end / DIRECTIONS, end % DIRECTIONS, &calm, false);
        pump(&stream, 50 * NS_PER_MS);
        int64_t after_ns = resumes_after_ns(&stream);
        check(bench, after_ns > 0, "after %d changes of rates the packets go on", CHANGES);
    }
    close_stream(&stream);
    end(bench);
}

/* --- delays ------------------------------------------------------------------------------------------------------------------- */

static const char *delay_kind(const struct bench *bench)
{
    return bench->engine == ENGINE_NETEM ? "netem" : "tbf";
}

/* The place whose qdisc of that kind serves link 0 forward. */
static int delay_place(const struct bench *bench)
{
    return bench->engine == ENGINE_NETEM ? bench->links[0].to : bench->links[0].from;
}

static void case_delay(struct bench *bench)
{
    static const int64_t delays_ns[] = {5 * NS_PER_MS, 0, 20 * NS_PER_MS, 1 * NS_PER_MS, 0};
    plan(bench, SHAPE_STAR, 2, 1000000000, 0);
    let_change(bench, 1000000000, 20 * NS_PER_MS);
    build(bench);
    struct flow flow = open_flow(bench, 0, 1);
    struct qdisc first = find_qdisc(bench, delay_place(bench), delay_kind(bench));
    int64_t base_ns = least_delay_ns(&flow);
    for (size_t i = 0; i < sizeof(delays_ns) / sizeof(delays_ns[0]); i++) {
        struct direction to = with_delay(bench, delays_ns[i]);
        change(bench, &to, false);
        int64_t least_ns = least_delay_ns(&flow);
        check(bench, least_ns > delays_ns[i] - NS_PER_MS / 2 && least_ns < delays_ns[i] + base_ns + NS_PER_MS,
              "a delay of %" PRId64 " us is %" PRId64 " us (0 before any change: %" PRId64 " us)", delays_ns[i] / 1000,
              least_ns / 1000, base_ns / 1000);
    }
    check(bench, first.handle != 0 && find_qdisc(bench, delay_place(bench), delay_kind(bench)).handle == first.handle,
          "through the same %s (%x:)", delay_kind(bench), first.handle >> 16);
    struct direction_counters counters = count(bench);
    check(bench, counters.packets == flow.sent && counters.lost + counters.unasked_drops + counters.queue_drops == 0,
          "all %u packets were counted, none lost", flow.sent);
    close_flow(&flow);
    end(bench);
}

/* Each lowered delay would let packets overtake those that are still under way. */
static void case_order(struct bench *bench)
{
    static const int64_t delays_ns[] = {100 * NS_PER_MS, 0, 60 * NS_PER_MS, 10 * NS_PER_MS, NS_PER_MS};
    enum { EACH = 100 };
    plan(bench, SHAPE_STAR, 2, 1000000000, 0);
    let_change(bench, 1000000000, 100 * NS_PER_MS);
    build(bench);
    struct flow flow = open_flow(bench, 0, 1);
    for (size_t i = 0; i < sizeof(delays_ns) / sizeof(delays_ns[0]); i++) {
        struct direction to = with_delay(bench, delays_ns[i]);
        change(bench, &to, false);
        for (int k = 0; k < EACH; k++)
            send_one(&flow);
    }
    uint32_t received = 0, late = 0;
    struct datagram datagram;
    for (; received < flow.sent && receive_one(&flow, PATIENCE_MS, &datagram); received++)
        late += datagram.number != received;
    check(bench, received == flow.sent && late == 0, "of %u packets sent while the delay went up and down %u came, %u out of order",
          flow.sent, received, late);
    close_flow(&flow);
    end(bench);
}

/* --- cuts --------------------------------------------------------------------------------------------------------------------- */

static void case_down(struct bench *bench)
{
    plan(bench, SHAPE_STAR, 2, 50000000, 0);
    let_change(bench, 50000000, 5 * NS_PER_MS);
    build(bench);
    struct stream stream = open_stream(bench, 0, 1);
    struct flow back = open_flow(bench, 1, 0);
    const struct direction built = bench->links[0].direction[DIRECTION_FORWARD];
    check(bench, pump(&stream, 300 * NS_PER_MS) > 0 && count(bench).lost == 0, "a connection moves bytes");
    for (int again = 0; again < 2; again++) {
        uint64_t lost = count(bench).lost;
        change(bench, &built, true);
        check(bench, falls_silent(&stream, 600 * NS_PER_MS), "a cut: nothing comes through but what lay behind it");
        check(bench, count(bench).lost > lost && count(bench).unasked_drops == 0, "%" PRIu64 " packets are counted as lost",
              count(bench).lost - lost);
        least_delay_ns(&back);
        check(bench, true, "the other direction goes on");
        change(bench, &built, false);
        int64_t after_ns = resumes_after_ns(&stream);
        check(bench, after_ns > 0, "the connection goes on %" PRId64 " ms after the cut is healed", after_ns / NS_PER_MS);
        lost = count(bench).lost;
        pump(&stream, 200 * NS_PER_MS);
        check(bench, count(bench).lost == lost, "and nothing more is lost");
    }
    close_flow(&back);
    close_stream(&stream);
    end(bench);
}

/* --- impairments -------------------------------------------------------------------------------------------------------------- */

struct outcome {
    uint32_t received, early;
    struct direction_counters counted; /* more than before */
};

static struct outcome send_many(struct bench *bench, struct flow *flow, int number)
{
    struct direction_counters before = count(bench), after;
    struct outcome outcome = {0};
    struct datagram datagram;
    for (int i = 0; i < number; i++) {
        send_one(flow);
        while (receive_one(flow, i % 10 == 9 ? 1 : 0, &datagram)) /* no more under way than a socket holds */
            outcome.received++, outcome.early += clock_now_ns() - datagram.sent_ns < 5 * NS_PER_MS;
    }
    while (receive_one(flow, QUIET_MS, &datagram))
        outcome.received++, outcome.early += clock_now_ns() - datagram.sent_ns < 5 * NS_PER_MS;
    after = count(bench);
    outcome.counted = (struct direction_counters){.packets = after.packets - before.packets,
                                                  .lost = after.lost - before.lost,
                                                  .duplicated = after.duplicated - before.duplicated,
                                                  .corrupted = after.corrupted - before.corrupted,
                                                  .reordered = after.reordered - before.reordered,
                                                  .unasked_drops = after.unasked_drops - before.unasked_drops};
    return outcome;
}

static void case_impair(struct bench *bench)
{
    enum { NUMBER = 1000, SIGMAS = 5 };
    static const int16_t table[] = {-8192, 0, 8192};
    const struct impairments loss = {.loss = 0.2}, bursts = {.gilbert_elliott = {.p = 0.1, .r = 0.3, .loss_bad = 1}},
                             twice = {.duplicate = 1}, wrong = {.corrupt = 1}, first = {.reorder = 1},
                             jitter = {.jitter_ns = NS_PER_MS,
                                       .jitter_distribution = JITTER_TABLE,
                                       .jitter_table = table,
                                       .jitter_table_size = 3};
    plan(bench, SHAPE_STAR, 2, 400000000, 0); /* fast enough for packets of several frames */
    bench->links[0].direction[DIRECTION_FORWARD].delay_ns = 10 * NS_PER_MS;
    let_change(bench, 400000000, 12 * NS_PER_MS);
    build(bench);
    struct flow flow = open_flow(bench, 0, 1);
    struct direction to = bench->links[0].direction[DIRECTION_FORWARD];
    const struct direction built = to;
    bool relay = bench->engine == ENGINE_RELAY;
    for (int again = 0; again < 2; again++) {
        to.impairments = loss;
        change(bench, &to, false);
        struct outcome outcome = send_many(bench, &flow, NUMBER);
        check(bench, outcome.counted.lost > 200 - SIGMAS * 13 && outcome.counted.lost < 200 + SIGMAS * 13,
              "a loss of 20 %%: %" PRIu64 " of %d", outcome.counted.lost, NUMBER);
        check(bench, outcome.received == NUMBER - outcome.counted.lost && outcome.counted.unasked_drops == 0, "all others come");
        to.impairments = bursts; /* a quarter, in bursts: the variance is (1 + 0.6) / (1 - 0.6) times as large */
        change(bench, &to, false);
        outcome = send_many(bench, &flow, NUMBER);
        check(bench, outcome.counted.lost > 250 - SIGMAS * 28 && outcome.counted.lost < 250 + SIGMAS * 28,
              "Gilbert-Elliott, a quarter: %" PRIu64 " of %d", outcome.counted.lost, NUMBER);
        to.impairments = twice;
        change(bench, &to, false);
        outcome = send_many(bench, &flow, NUMBER / 10);
        check(bench, outcome.received == 2 * (NUMBER / 10) && outcome.counted.duplicated == (relay ? NUMBER / 10 : 0),
              "every packet twice: %u of %d", outcome.received, NUMBER / 10);
        to.impairments = wrong;
        change(bench, &to, false);
        outcome = send_many(bench, &flow, NUMBER / 10);
        /* netem's wrong bit may be one of the Ethernet header that nobody looks at */
        check(bench, outcome.received <= (relay ? 0 : NUMBER / 50) && outcome.counted.corrupted == (relay ? NUMBER / 10 : 0),
              "every packet corrupted: %u come", outcome.received);
        to.impairments = first;
        change(bench, &to, false);
        outcome = send_many(bench, &flow, NUMBER / 10);
        check(bench, outcome.received == NUMBER / 10 && outcome.counted.reordered == (relay ? NUMBER / 10 : 0),
              "every packet at once: %u of %d", outcome.received, NUMBER / 10);
        check(bench, outcome.early > 0, "within 5 ms, where the host is not too busy to see it: %u", outcome.early);
        to.impairments = jitter;
        change(bench, &to, false);
        outcome = send_many(bench, &flow, NUMBER / 10);
        check(bench, outcome.received == NUMBER / 10 && outcome.early == 0, "jitter from a table: %u of %d come, %u too early",
              outcome.received, NUMBER / 10, outcome.early);
        struct stream stream = open_stream(bench, 0, 1);
        double with = mean_packet_bytes(bench, &stream);
        to.impairments = (struct impairments){.loss = 1e-9};
        change(bench, &to, false);
        double frames = mean_packet_bytes(bench, &stream);
        change(bench, &built, false);
        double without = mean_packet_bytes(bench, &stream);
        close_stream(&stream);
        pump(&(const struct stream){-1, -1}, QUIET_MS * NS_PER_MS);
        check(bench, frames <= 1514 && with > 1.5 * frames && without > 1.5 * frames,
              "with a loss packets are frames, and not before or after: %.0f, %.0f, %.0f bytes", with, frames, without);
        outcome = send_many(bench, &flow, NUMBER / 10);
        check(bench, outcome.received == NUMBER / 10 && outcome.early == 0 && outcome.counted.lost == 0,
              "and nothing of it is left: %u of %d come, %u too early", outcome.received, NUMBER / 10, outcome.early);
    }
    close_flow(&flow);
    end(bench);
}

/* --- what is refused ---------------------------------------------------------------------------------------------------------- */

static void case_refuse(struct bench *bench)
{
    plan(bench, SHAPE_STAR, 2, 20000000, 0);
    let_change(bench, 30000000, 0);
    build(bench);
    struct err err;
    struct direction to = with_rate(bench, 40000000);
    struct qdisc before = find_qdisc(bench, 0, "tbf");
    check(bench,
          fabric_change(bench->fabric, 0, DIRECTION_FORWARD, &to, false, &err) == -ERR_USAGE &&
              strstr(err.text, "link w0-router: a rate of 40mbit is more than the 30mbit that the direction was built for"),
          "a rate above what was planned: %s", err.text);
    to = with_rate(bench, 0);
    check(bench, fabric_change(bench->fabric, 0, DIRECTION_FORWARD, &to, false, &err) == -ERR_USAGE, "no rate: %s", err.text);
    to = with_delay(bench, NS_PER_MS);
    check(bench, fabric_change(bench->fabric, 0, DIRECTION_FORWARD, &to, false, &err) == -ERR_USAGE, "a delay: %s", err.text);
    check(bench, fabric_change(bench->fabric, 2, DIRECTION_FORWARD, &to, false, &err) == -ERR_USAGE, "another link: %s", err.text);
    check(bench, find_qdisc(bench, 0, "tbf").handle == before.handle, "the link is as it was");
    end(bench);
}

int main(int argc, char **argv)
{
    static const struct bench_case cases[] = {{"rate", case_rate}, {"delay", case_delay},   {"order", case_order},
                                              {"down", case_down}, {"impair", case_impair}, {"size", case_size},
                                              {"wake", case_wake}, {"storm", case_storm},   {"refuse", case_refuse}};
    return bench_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
