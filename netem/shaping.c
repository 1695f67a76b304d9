/* shaping.c: turns a rate into the numbers of tbf and of the sender's device. */
#include "netem/shaping.h"

#include "netem/impairment.h"

enum {
    GSO_WORTH_US = 80,     /* a burst of short messages may run this far ahead of the rate */
    TIMER_SLACK_US = 80,   /* tbf's watchdog wakes up that late; what the bucket cannot hold by then is lost rate */
    SPREAD_SLACK_US = 240, /* the same in front of the relay, which spreads what passes at once: it costs nothing there */
    PEAK_PERCENT = 102, /* after silence the bucket empties at this share of the rate; what a late timer loses is regained by it */
    PEAK_SLACK_US = 16, /* what the peak's own bucket holds beyond one packet: the usual lateness of a timer */
    GSO_MOST_BYTES = 65536,
    TCP_HEADER_ROOM = 512,     /* the kernel takes its largest TCP header off gso_max_size before it counts segments */
    SEGMENT_HEADER_BYTES = 66, /* Ethernet 14, IPv4 20, TCP with timestamps 32 */
    PREAMBLE_BYTES = 8,
    FCS_BYTES = 4,
    GAP_BYTES = 12,
    QUEUE_WORTH_MS = 12,
    QUEUE_LEAST_BYTES = 150000,
};

static uint64_t bytes_in_us(uint64_t bytes_per_second, uint64_t microseconds)
{
    return (uint64_t)((unsigned __int128)bytes_per_second * microseconds / 1000000);
}

static uint64_t at_most(uint64_t value, uint64_t limit)
{
    return value < limit ? value : limit;
}

/* On the wire every segment of a GSO packet carries its own headers, and tbf counts them: the bucket must hold that too. */
static uint64_t wire_bytes(uint64_t gso, int mtu)
{
    return gso + (gso / (uint64_t)mtu + 1) * SEGMENT_HEADER_BYTES;
}

struct shaping shaping_for_rate(uint64_t rate_bps, uint64_t queue_bytes, int mtu)
{
    if (rate_bps == 0)
        return (struct shaping){0};
    uint64_t rate = rate_bps / 8 > 0 ? rate_bps / 8 : 1;
    uint64_t one_segment = (uint64_t)mtu + TCP_HEADER_ROOM;
    uint64_t gso = at_most(bytes_in_us(rate, GSO_WORTH_US), GSO_MOST_BYTES);
    if (gso < one_segment)
        gso = at_most(one_segment, GSO_MOST_BYTES);
    uint64_t wire = wire_bytes(gso, mtu);
    uint64_t burst = gso + bytes_in_us(rate, TIMER_SLACK_US);
    if (burst < wire)
        burst = wire;
    uint64_t peak = (uint64_t)((unsigned __int128)rate * PEAK_PERCENT / 100);
    uint64_t peak_burst = gso + bytes_in_us(rate, PEAK_SLACK_US);
    if (peak_burst < wire)
        peak_burst = wire;
    bool peaked = gso > one_segment; /* at slow rates the bucket holds little more than one packet anyhow */
    return (struct shaping){
        .rate_bytes_per_second = rate,
        .burst_bytes = (uint32_t)at_most(burst, UINT32_MAX),
        .limit_bytes = (uint32_t)at_most(queue_bytes + burst, UINT32_MAX),
        .gso_max_bytes = (uint32_t)gso,
        .peak_bytes_per_second = peaked ? peak : 0,
        .peak_burst_bytes = peaked ? (uint32_t)at_most(peak_burst, UINT32_MAX) : 0,
    };
}

struct shaping shaping_for_relay(struct shaping shaping)
{
    uint64_t more = bytes_in_us(shaping.rate_bytes_per_second, SPREAD_SLACK_US - TIMER_SLACK_US);
    shaping.burst_bytes = (uint32_t)at_most(shaping.burst_bytes + more, UINT32_MAX);
    shaping.limit_bytes = (uint32_t)at_most(shaping.limit_bytes + more, UINT32_MAX);
    shaping.peak_bytes_per_second = 0;
    shaping.peak_burst_bytes = 0;
    return shaping;
}

uint32_t shaping_overhead_bytes(enum framing_kind framing)
{
    static const uint32_t overhead_bytes[FRAMING_COUNT] = {[FRAMING_L2] = 0, [FRAMING_L1] = PREAMBLE_BYTES + FCS_BYTES + GAP_BYTES};
    return overhead_bytes[framing];
}

struct shaping shaping_for_direction(const struct direction *direction, int mtu)
{
    struct shaping shaping = shaping_for_rate(direction->rate_bps, direction->queue_bytes, mtu);
    bool limited = direction->rate_bps > 0;
    if (limited) {
        shaping.overhead_bytes = shaping_overhead_bytes(direction->framing);
        shaping.queue_packets = direction->queue_packets;
    }
    if (shaping.overhead_bytes > 0 || shaping.queue_packets > 0 || impairment_any_probability(&direction->impairments))
        shaping.gso_max_segments = 1;
    return shaping;
}

uint32_t shaping_admits(const struct shaping *shaping, int mtu)
{
    uint32_t bucket = shaping->burst_bytes;
    if (shaping->peak_bytes_per_second > 0 && shaping->peak_burst_bytes < bucket)
        bucket = shaping->peak_burst_bytes;
    return (uint32_t)at_most(bucket, wire_bytes(GSO_MOST_BYTES, mtu));
}

struct shaping shaping_with_room(struct shaping shaping, uint32_t bytes)
{
    if (shaping.rate_bytes_per_second > 0 && shaping.burst_bytes < bytes)
        shaping.burst_bytes = bytes;
    if (shaping.peak_bytes_per_second > 0 && shaping.peak_burst_bytes < bytes)
        shaping.peak_burst_bytes = bytes;
    return shaping;
}

uint64_t shaping_default_queue_bytes(uint64_t rate_bps)
{
    uint64_t worth = (uint64_t)((unsigned __int128)rate_bps * QUEUE_WORTH_MS / 8000);
    return worth > QUEUE_LEAST_BYTES ? worth : QUEUE_LEAST_BYTES;
}
