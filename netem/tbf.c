/* tbf.c: tbf's messages. */
#include "netem/tbf.h"

#include <inttypes.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "netem/netlink.h"

enum {
    HANDLE = 1 << 16, /* 1: */
    TABLE_ENTRIES = 256,
    TABLE_CELL_LOG = 3, /* 8 bytes an entry: 2 KiB, a frame of the usual mtu; kernels since 3.8 compute instead of looking up */
    TABLE_NO_ALIGN = 0xffff, /* -1: a table of upper bounds */
};

static uint64_t ticks_for(uint64_t bytes, uint64_t bytes_per_second)
{
    unsigned __int128 ticks = (unsigned __int128)bytes * 1000000000 / bytes_per_second / PSCHED_TICK_NS;
    return ticks > UINT32_MAX ? UINT32_MAX : (uint64_t)ticks;
}

/* A packet as large as the burst takes its overhead too: the kernel counts it when it turns the burst into time. */
static uint64_t bucket_ticks(const struct shaping *shaping)
{
    return ticks_for((uint64_t)shaping->burst_bytes + shaping->overhead_bytes, shaping->rate_bytes_per_second);
}

static uint64_t peak_ticks(const struct shaping *shaping)
{
    return shaping->peak_bytes_per_second == 0
               ? 0
               : ticks_for((uint64_t)shaping->peak_burst_bytes + shaping->overhead_bytes, shaping->peak_bytes_per_second);
}

/* From 2^32 bytes a second on the full value goes into an attribute of its own. */
static struct tc_ratespec rate_spec(const struct shaping *shaping, uint64_t rate)
{
    return (struct tc_ratespec){.cell_log = TABLE_CELL_LOG,
                                .linklayer = TC_LINKLAYER_ETHERNET,
                                .overhead = (unsigned short)shaping->overhead_bytes,
                                .cell_align = (short)TABLE_NO_ALIGN,
                                .rate = rate > UINT32_MAX ? UINT32_MAX : (uint32_t)rate};
}

/* No table for the peak: with a link layer given, the kernel asks for none. */
static int put_peak(struct nl_msg *message, const struct shaping *shaping)
{
    int code = nla_put_u32(message, TCA_TBF_PBURST, shaping->peak_burst_bytes);
    if (shaping->peak_bytes_per_second > UINT32_MAX)
        code |= nla_put_u64(message, TCA_TBF_PRATE64, shaping->peak_bytes_per_second);
    return code;
}

int tbf_put(struct nl_msg *message, const struct shaping *shaping)
{
    uint64_t rate = shaping->rate_bytes_per_second;
    struct tc_tbf_qopt parameters = {
        .rate = rate_spec(shaping, rate),
        .limit = shaping->limit_bytes,
        .buffer = (uint32_t)bucket_ticks(shaping),
        .mtu = (uint32_t)peak_ticks(shaping),
    };
    if (shaping->peak_bytes_per_second > 0)
        parameters.peakrate = rate_spec(shaping, shaping->peak_bytes_per_second);
    uint32_t table[TABLE_ENTRIES];
    for (unsigned i = 0; i < TABLE_ENTRIES; i++)
        table[i] = (uint32_t)ticks_for((uint64_t)(i + 1) << TABLE_CELL_LOG, rate);

    struct nlattr *options = nla_nest_start(message, TCA_OPTIONS);
    if (!options)
        return -1;
    int code = nla_put(message, TCA_TBF_PARMS, sizeof(parameters), &parameters);
    code |= nla_put_u32(message, TCA_TBF_BURST, shaping->burst_bytes);
    if (rate > UINT32_MAX)
        code |= nla_put_u64(message, TCA_TBF_RATE64, rate);
    if (shaping->peak_bytes_per_second > 0)
        code |= put_peak(message, shaping);
    code |= nla_put(message, TCA_TBF_RTAB, sizeof(table), table);
    nla_nest_end(message, options);
    return code < 0 ? -1 : 0;
}

/* In place of tbf's own queue, whose limit is in bytes. */
static void put_packet_queue(struct netlink *netlink, enum netlink_tc what, int index, const char *device, uint32_t packets)
{
    struct tc_fifo_qopt limit = {.limit = packets};
    struct nl_msg *message = netlink_begin_tc(what, index, TBF_QUEUE_PARENT, 0, 0, "pfifo");
    if (message && nla_put(message, TCA_OPTIONS, sizeof(limit), &limit) < 0) {
        nlmsg_free(message);
        message = NULL;
    }
    netlink_push(netlink, message, device, "a queue counted in packets (pfifo)");
}

static void request(struct netlink *netlink, enum netlink_tc what, int index, const char *device, const struct shaping *shaping)
{
    struct nl_msg *message = netlink_begin_tc(what, index, TC_H_ROOT, HANDLE, 0, "tbf");
    if (message && tbf_put(message, shaping) < 0) {
        nlmsg_free(message);
        message = NULL;
    }
    netlink_push(netlink, message, device, "a rate (tbf)");
    if (shaping->queue_packets > 0) /* behind a change, too: tbf hands its limit in bytes on to any fifo, as so many packets */
        put_packet_queue(netlink, what, index, device, shaping->queue_packets);
}

void tbf_add(struct netlink *netlink, int index, const char *device, const struct shaping *shaping)
{
    request(netlink, NETLINK_QDISC, index, device, shaping);
}

void tbf_change(struct netlink *netlink, int index, const char *device, const struct shaping *shaping)
{
    request(netlink, NETLINK_QDISC_CHANGE, index, device, shaping);
}

int tbf_compare_packets(const struct shaping *asked, const struct nlattr *options, const char *device, struct err *err)
{
    struct tc_fifo_qopt set = {0};
    if (options && nla_len(options) >= (int)sizeof(set))
        memcpy(&set, nla_data(options), sizeof(set));
    if (set.limit != asked->queue_packets)
        return err_set(err, ERR_HOST, "device %s was asked for a queue of %u packets, but the kernel set %u", device,
                       asked->queue_packets, set.limit);
    return 0;
}

int tbf_parse(const struct nlattr *options, struct tbf_state *state, struct err *err)
{
    struct nlattr *attributes[TCA_TBF_MAX + 1];
    struct tc_tbf_qopt parameters;
    if (!options || nla_parse_nested(attributes, TCA_TBF_MAX, (struct nlattr *)options, NULL) < 0 || !attributes[TCA_TBF_PARMS] ||
        nla_len(attributes[TCA_TBF_PARMS]) < (int)sizeof(parameters))
        return err_set(err, ERR_HOST, "the kernel's report of a tbf has no parameters");
    memcpy(&parameters, nla_data(attributes[TCA_TBF_PARMS]), sizeof(parameters));
    *state = (struct tbf_state){
        .rate_bytes_per_second = attributes[TCA_TBF_RATE64] ? nla_get_u64(attributes[TCA_TBF_RATE64]) : parameters.rate.rate,
        .peak_bytes_per_second = attributes[TCA_TBF_PRATE64] ? nla_get_u64(attributes[TCA_TBF_PRATE64]) : parameters.peakrate.rate,
        .burst_ticks = parameters.buffer,
        .peak_burst_ticks = parameters.mtu,
        .limit_bytes = parameters.limit,
        .overhead_bytes = parameters.rate.overhead,
    };
    return 0;
}

uint32_t tbf_burst_bytes(const struct tbf_state *state)
{
    unsigned __int128 bytes = (unsigned __int128)state->burst_ticks * PSCHED_TICK_NS * state->rate_bytes_per_second / 1000000000;
    bytes = bytes > state->overhead_bytes ? bytes - state->overhead_bytes : 0;
    return bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes;
}

static bool within_a_tick(uint64_t set, uint64_t asked)
{
    return set + 1 >= asked && set <= asked + 1;
}

int tbf_compare(const struct shaping *asked, const struct tbf_state *state, const char *device, struct err *err)
{
    if (state->rate_bytes_per_second != asked->rate_bytes_per_second)
        return err_set(err, ERR_HOST, "device %s was asked for a rate of %" PRIu64 " bytes/s, but the kernel set %" PRIu64, device,
                       asked->rate_bytes_per_second, state->rate_bytes_per_second);
    if (state->overhead_bytes != asked->overhead_bytes)
        return err_set(err, ERR_HOST, "device %s was asked for an overhead of %u bytes a frame, but the kernel set %u", device,
                       asked->overhead_bytes, state->overhead_bytes);
    if (asked->queue_packets == 0 && state->limit_bytes != asked->limit_bytes)
        return err_set(err, ERR_HOST, "device %s was asked for a queue limit of %u bytes, but the kernel set %u", device,
                       asked->limit_bytes, state->limit_bytes);
    if (!within_a_tick(state->burst_ticks, bucket_ticks(asked)))
        return err_set(err, ERR_HOST, "device %s was asked for a burst of %u bytes, but the kernel set %u", device,
                       asked->burst_bytes, tbf_burst_bytes(state));
    if (state->peak_bytes_per_second != asked->peak_bytes_per_second || !within_a_tick(state->peak_burst_ticks, peak_ticks(asked)))
        return err_set(err, ERR_HOST,
                       "device %s was asked for a peak rate of %" PRIu64
                       " bytes/s in bursts of %u bytes, but the kernel set %" PRIu64 " bytes/s and %u ticks",
                       device, asked->peak_bytes_per_second, asked->peak_burst_bytes, state->peak_bytes_per_second,
                       state->peak_burst_ticks);
    return 0;
}
