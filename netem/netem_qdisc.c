/* netem_qdisc.c: netem's messages, and the redirection that feeds it. */
#include "netem/netem_qdisc.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/tc_act/tc_mirred.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "netem/netlink.h"

enum {
    SMALLEST_PACKET_BYTES = 64,
    LIMIT_LEAST_PACKETS = 1000, /* netem's own default */
    ATTRIBUTE_PRNG_SEED = 14,   /* TCA_NETEM_PRNG_SEED, newer than Debian 12's headers */
    ACTION_ORDER = 1,
};
#define LIMIT_MOST_PACKETS UINT64_C(100000000)
#define UNLIMITED_RATE_BPS UINT64_C(100000000000) /* a link without a rate: as fast as a host could feed it */

uint32_t netem_qdisc_limit(uint64_t rate_bps, int64_t delay_ns, uint64_t queue_bytes)
{
    uint64_t rate = rate_bps > 0 ? rate_bps : UNLIMITED_RATE_BPS;
    unsigned __int128 bytes = (unsigned __int128)rate / 8 * (uint64_t)delay_ns / (uint64_t)NS_PER_S + queue_bytes;
    unsigned __int128 packets = bytes / SMALLEST_PACKET_BYTES + LIMIT_LEAST_PACKETS;
    return (uint32_t)(packets > LIMIT_MOST_PACKETS ? LIMIT_MOST_PACKETS : packets);
}

/* The 32-bit members count ticks and hold at most 274 s; the 64-bit attributes that follow win. */
static uint32_t ticks(int64_t ns)
{
    int64_t count = ns / PSCHED_TICK_NS;
    return count > (int64_t)UINT32_MAX ? UINT32_MAX : (uint32_t)count;
}

int netem_qdisc_put(struct nl_msg *message, const struct netem_setting *setting)
{
    struct tc_netem_qopt parameters = {
        .latency = ticks(setting->delay_ns), .limit = setting->limit_packets, .jitter = ticks(setting->jitter_ns)};
    struct tc_netem_corr correlations = {0};
    struct tc_netem_reorder reorder = {0};
    struct tc_netem_corrupt corrupt = {0};
    struct tc_netem_rate rate = {0}; /* tbf's part */
    struct tc_netem_slot slot = {0};

    /* netem's TCA_OPTIONS is the struct itself, with the attributes behind it; libnl's nests cannot begin with a struct. */
    struct nlattr *options = nla_nest_start(message, TCA_OPTIONS);
    if (!options)
        return -1;
    int code = nlmsg_append(message, &parameters, sizeof(parameters), NLA_ALIGNTO);
    code |= nla_put(message, TCA_NETEM_CORR, sizeof(correlations), &correlations);
    code |= nla_put(message, TCA_NETEM_REORDER, sizeof(reorder), &reorder);
    code |= nla_put(message, TCA_NETEM_CORRUPT, sizeof(corrupt), &corrupt);
    code |= nla_put(message, TCA_NETEM_RATE, sizeof(rate), &rate);
    code |= nla_put_u32(message, TCA_NETEM_ECN, 0);
    code |= nla_put_s64(message, TCA_NETEM_LATENCY64, setting->delay_ns);
    code |= nla_put_s64(message, TCA_NETEM_JITTER64, setting->jitter_ns);
    code |= nla_put(message, TCA_NETEM_SLOT, sizeof(slot), &slot);
    if (setting->seeded)
        code |= nla_put_u64(message, ATTRIBUTE_PRNG_SEED, setting->seed);
    /* no TCA_NETEM_LOSS: its absence resets the loss model */
    nla_nest_end(message, options);
    return code < 0 ? -1 : 0;
}

/* One key that compares nothing: mask 0 over the first word. */
static int put_match_all(struct nl_msg *message)
{
    struct {
        struct tc_u32_sel selector;
        struct tc_u32_key key;
    } match = {.selector = {.flags = TC_U32_TERMINAL, .nkeys = 1}};
    return nla_put(message, TCA_U32_SEL, sizeof(match), &match);
}

static int put_mirred(struct nl_msg *message, int ifb_index)
{
    struct tc_mirred mirred = {.action = TC_ACT_STOLEN, .eaction = TCA_EGRESS_REDIR, .ifindex = (uint32_t)ifb_index};
    struct nlattr *actions = nla_nest_start(message, TCA_U32_ACT);
    struct nlattr *action = actions ? nla_nest_start(message, ACTION_ORDER) : NULL;
    if (!action || nla_put_string(message, TCA_ACT_KIND, "mirred") < 0)
        return -1;
    struct nlattr *options = nla_nest_start(message, TCA_ACT_OPTIONS);
    if (!options)
        return -1;
    int code = nla_put(message, TCA_MIRRED_PARMS, sizeof(mirred), &mirred);
    nla_nest_end(message, options);
    nla_nest_end(message, action);
    nla_nest_end(message, actions);
    return code;
}

int netem_qdisc_put_redirect(struct nl_msg *message, int ifb_index)
{
    struct nlattr *options = nla_nest_start(message, TCA_OPTIONS);
    if (!options)
        return -1;
    int code = put_match_all(message) | put_mirred(message, ifb_index);
    nla_nest_end(message, options);
    return code < 0 ? -1 : 0;
}

void netem_qdisc_add_delay(struct netlink *netlink, int ifb_index, const char *ifb, const struct netem_setting *setting)
{
    struct nl_msg *delay = netlink_begin_tc(NETLINK_QDISC, ifb_index, TC_H_ROOT, 0, 0, "netem");
    if (delay && netem_qdisc_put(delay, setting) < 0) {
        nlmsg_free(delay);
        delay = NULL;
    }
    netlink_push(netlink, delay, ifb, "a delay (netem)");
}

void netem_qdisc_add_hook(struct netlink *netlink, int device_index, const char *device, int ifb_index)
{
    netlink_push(netlink, netlink_begin_tc(NETLINK_QDISC, device_index, TC_H_CLSACT, TC_H_MAKE(TC_H_CLSACT, 0), 0, "clsact"),
                 device, "an ingress hook (clsact)");

    uint32_t every_protocol = TC_H_MAKE(1U << 16, htons(ETH_P_ALL)); /* priority 1 */
    uint32_t ingress = TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS);
    struct nl_msg *filter = netlink_begin_tc(NETLINK_FILTER, device_index, ingress, 0, every_protocol, "u32");
    if (filter && netem_qdisc_put_redirect(filter, ifb_index) < 0) {
        nlmsg_free(filter);
        filter = NULL;
    }
    netlink_push(netlink, filter, device, "a redirection to the delay line (u32, mirred)");
}

int netem_qdisc_parse(const struct nlattr *options, struct netem_state *state, struct err *err)
{
    struct tc_netem_qopt parameters;
    struct nlattr *attributes[TCA_NETEM_MAX + 1];
    int header = NLA_ALIGN(sizeof(parameters));
    if (!options || nla_len(options) < (int)sizeof(parameters))
        return err_set(err, ERR_HOST, "the kernel's report of a netem has no parameters");
    memcpy(&parameters, nla_data(options), sizeof(parameters));
    struct nlattr *first = (struct nlattr *)((char *)nla_data(options) + header);
    if (nla_parse(attributes, TCA_NETEM_MAX, first, nla_len(options) - header, NULL) < 0)
        return err_set(err, ERR_HOST, "the kernel's report of a netem cannot be read");
    struct netem_state read = {
        .delay_ns = (int64_t)parameters.latency * PSCHED_TICK_NS,
        .jitter_ns = (int64_t)parameters.jitter * PSCHED_TICK_NS,
        .limit_packets = parameters.limit,
        .loss = parameters.loss,
        .duplicate = parameters.duplicate,
        .gap = parameters.gap,
    };
    if (attributes[TCA_NETEM_LATENCY64])
        read.delay_ns = nla_get_s64(attributes[TCA_NETEM_LATENCY64]);
    if (attributes[TCA_NETEM_JITTER64])
        read.jitter_ns = nla_get_s64(attributes[TCA_NETEM_JITTER64]);
    *state = read;
    return 0;
}

int netem_qdisc_compare(const struct netem_setting *asked, const struct netem_state *state, const char *device, struct err *err)
{
    if (state->delay_ns != asked->delay_ns || state->jitter_ns != asked->jitter_ns)
        return err_set(err, ERR_HOST,
                       "device %s was asked for a delay of %" PRId64 " ns and a jitter of %" PRId64
                       " ns, but the kernel set %" PRId64 " and %" PRId64,
                       device, asked->delay_ns, asked->jitter_ns, state->delay_ns, state->jitter_ns);
    if (state->limit_packets != asked->limit_packets)
        return err_set(err, ERR_HOST, "device %s was asked for a limit of %u packets, but the kernel set %u", device,
                       asked->limit_packets, state->limit_packets);
    if (state->loss != 0 || state->duplicate != 0)
        return err_set(err, ERR_HOST, "device %s was asked for neither loss nor duplication, but the kernel reports some", device);
    return 0;
}
