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
#include "netem/impairment.h"
#include "netem/netlink.h"

enum {
    SMALLEST_PACKET_BYTES = 64,
    LIMIT_LEAST_PACKETS = 1000, /* netem's own default */
    ATTRIBUTE_PRNG_SEED = 14,   /* TCA_NETEM_PRNG_SEED, newer than Debian 12's headers */
    ATTRIBUTE_MOST = ATTRIBUTE_PRNG_SEED,
    ACTION_ORDER = 1,
};
#define ORDER_RATE (UINT64_C(1) << 47) /* bytes a second: 64 KiB take less than a nanosecond */
#define LIMIT_MOST_PACKETS UINT64_C(100000000)
#define UNLIMITED_RATE_BPS UINT64_C(100000000000) /* a link without a rate: as fast as a host could feed it */

uint32_t netem_qdisc_limit(uint64_t rate_bps, int64_t delay_most_ns, uint64_t queue_bytes)
{
    uint64_t rate = rate_bps > 0 ? rate_bps : UNLIMITED_RATE_BPS;
    unsigned __int128 bytes = (unsigned __int128)rate / 8 * (uint64_t)delay_most_ns / (uint64_t)NS_PER_S + queue_bytes;
    unsigned __int128 packets = bytes / SMALLEST_PACKET_BYTES + LIMIT_LEAST_PACKETS;
    return (uint32_t)(packets > LIMIT_MOST_PACKETS ? LIMIT_MOST_PACKETS : packets);
}

/* The 32-bit members count ticks and hold at most 274 s; the 64-bit attributes that follow win. */
static uint32_t ticks(int64_t ns)
{
    int64_t count = ns / PSCHED_TICK_NS;
    return count > (int64_t)UINT32_MAX ? UINT32_MAX : (uint32_t)count;
}

/* What the kernel is asked for, and should report: all of it in its own units. */
static struct netem_state wanted_state(const struct netem_setting *setting)
{
    const struct impairments *impairments = &setting->impairments;
    const struct gilbert_elliott bursts = impairment_bursts(impairments);
    bool keep_order = impairments->jitter_ns > 0 || setting->changes;
    struct netem_state wanted = {
        .delay_ns = setting->delay_ns,
        .jitter_ns = impairments->jitter_ns,
        .rate_bytes_per_second = keep_order ? ORDER_RATE : 0,
        .limit_packets = setting->limit_packets,
        .duplicate = impairment_probability(impairments->duplicate),
        .reorder = impairment_probability(impairments->reorder),
        .corrupt = impairment_probability(impairments->corrupt),
        .jitter_correlation = impairment_probability(impairments->jitter_correlation),
        .gap = impairments->reorder > 0 ? 1 : 0, /* every packet may overtake */
        .bursts = bursts.p > 0,
        .seed = setting->seed,
    };
    if (wanted.bursts) {
        wanted.to_bad = impairment_probability(bursts.p);
        wanted.to_good = impairment_probability(bursts.r);
        wanted.keep_bad = UINT32_MAX - impairment_probability(bursts.loss_bad);
        wanted.loss_good = impairment_probability(bursts.loss_good);
    } else {
        wanted.loss = impairment_probability(impairments->loss);
    }
    return wanted;
}

/* Absence of the nest resets the model to plain loss. */
static int put_bursts(struct nl_msg *message, const struct netem_state *wanted)
{
    struct tc_netem_gemodel model = {.p = wanted->to_bad, .r = wanted->to_good, .h = wanted->keep_bad, .k1 = wanted->loss_good};
    struct nlattr *nest = nla_nest_start(message, TCA_NETEM_LOSS);
    if (!nest)
        return -1;
    int code = nla_put(message, NETEM_LOSS_GE, sizeof(model), &model);
    nla_nest_end(message, nest);
    return code;
}

static int put_rate(struct nl_msg *message, uint64_t rate)
{
    struct tc_netem_rate parameters = {.rate = rate > UINT32_MAX ? UINT32_MAX : (uint32_t)rate};
    int code = rate > UINT32_MAX ? nla_put_u64(message, TCA_NETEM_RATE64, rate) : 0;
    return code | nla_put(message, TCA_NETEM_RATE, sizeof(parameters), &parameters);
}

static int put_attributes(struct nl_msg *message, const struct netem_state *wanted, const struct impairments *impairments)
{
    struct tc_netem_qopt parameters = {.latency = ticks(wanted->delay_ns),
                                       .limit = wanted->limit_packets,
                                       .loss = wanted->loss,
                                       .gap = wanted->gap,
                                       .duplicate = wanted->duplicate,
                                       .jitter = ticks(wanted->jitter_ns)};
    struct tc_netem_corr correlations = {.delay_corr = wanted->jitter_correlation};
    struct tc_netem_reorder reorder = {.probability = wanted->reorder};
    struct tc_netem_corrupt corrupt = {.probability = wanted->corrupt};
    struct tc_netem_slot slot = {0};
    int code = nlmsg_append(message, &parameters, sizeof(parameters), NLA_ALIGNTO);
    code |= nla_put(message, TCA_NETEM_CORR, sizeof(correlations), &correlations);
    code |= nla_put(message, TCA_NETEM_REORDER, sizeof(reorder), &reorder);
    code |= nla_put(message, TCA_NETEM_CORRUPT, sizeof(corrupt), &corrupt);
    code |= put_rate(message, wanted->rate_bytes_per_second);
    code |= nla_put_u32(message, TCA_NETEM_ECN, 0);
    code |= nla_put_s64(message, TCA_NETEM_LATENCY64, wanted->delay_ns);
    code |= nla_put_s64(message, TCA_NETEM_JITTER64, wanted->jitter_ns);
    code |= nla_put(message, TCA_NETEM_SLOT, sizeof(slot), &slot);
    code |= nla_put_u64(message, ATTRIBUTE_PRNG_SEED, wanted->seed);
    if (wanted->bursts)
        code |= put_bursts(message, wanted);
    if (wanted->jitter_ns > 0) {
        struct impairment_table table = impairment_table_for(impairments);
        code |= nla_put(message, TCA_NETEM_DELAY_DIST, table.size * (int)sizeof(*table.entries), table.entries);
    }
    return code;
}

int netem_qdisc_put(struct nl_msg *message, const struct netem_setting *setting)
{
    struct netem_state wanted = wanted_state(setting);
    /* netem's TCA_OPTIONS is the struct itself, with the attributes behind it; libnl's nests cannot begin with a struct. */
    struct nlattr *options = nla_nest_start(message, TCA_OPTIONS);
    if (!options)
        return -1;
    int code = put_attributes(message, &wanted, &setting->impairments);
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

static void request(struct netlink *netlink, enum netlink_tc what, int ifb_index, const char *ifb,
                    const struct netem_setting *setting)
{
    struct nl_msg *delay = netlink_begin_tc(what, ifb_index, TC_H_ROOT, 0, 0, "netem");
    if (delay && netem_qdisc_put(delay, setting) < 0) {
        nlmsg_free(delay);
        delay = NULL;
    }
    netlink_push(netlink, delay, ifb, "a delay (netem)");
}

void netem_qdisc_add_delay(struct netlink *netlink, int ifb_index, const char *ifb, const struct netem_setting *setting)
{
    request(netlink, NETLINK_LARGE_QDISC, ifb_index, ifb, setting);
}

void netem_qdisc_change_delay(struct netlink *netlink, int ifb_index, const char *ifb, const struct netem_setting *setting)
{
    request(netlink, NETLINK_LARGE_QDISC_CHANGE, ifb_index, ifb, setting);
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

/* Copies a report's attribute; one that is missing or too short leaves zeros, as what it would set is off then. */
static void get(const struct nlattr *attribute, void *out, int bytes)
{
    memset(out, 0, (size_t)bytes);
    if (attribute && nla_len(attribute) >= bytes)
        memcpy(out, nla_data(attribute), (size_t)bytes);
}

static void parse_bursts(const struct nlattr *nest, struct netem_state *read)
{
    struct nlattr *models[NETEM_LOSS_MAX + 1];
    struct tc_netem_gemodel model;
    if (!nest || nla_parse_nested(models, NETEM_LOSS_MAX, (struct nlattr *)nest, NULL) < 0 || !models[NETEM_LOSS_GE])
        return;
    get(models[NETEM_LOSS_GE], &model, sizeof(model));
    read->bursts = true;
    read->to_bad = model.p;
    read->to_good = model.r;
    read->keep_bad = model.h;
    read->loss_good = model.k1;
}

static void parse_attributes(struct nlattr *const attributes[ATTRIBUTE_MOST + 1], struct netem_state *read)
{
    struct tc_netem_corr correlations;
    struct tc_netem_reorder reorder;
    struct tc_netem_corrupt corrupt;
    struct tc_netem_rate rate;
    get(attributes[TCA_NETEM_CORR], &correlations, sizeof(correlations));
    get(attributes[TCA_NETEM_REORDER], &reorder, sizeof(reorder));
    get(attributes[TCA_NETEM_CORRUPT], &corrupt, sizeof(corrupt));
    get(attributes[TCA_NETEM_RATE], &rate, sizeof(rate));
    read->jitter_correlation = correlations.delay_corr;
    read->reorder = reorder.probability;
    read->corrupt = corrupt.probability;
    read->rate_bytes_per_second = rate.rate;
    if (attributes[TCA_NETEM_RATE64])
        get(attributes[TCA_NETEM_RATE64], &read->rate_bytes_per_second, sizeof(read->rate_bytes_per_second));
    if (attributes[TCA_NETEM_LATENCY64])
        get(attributes[TCA_NETEM_LATENCY64], &read->delay_ns, sizeof(read->delay_ns));
    if (attributes[TCA_NETEM_JITTER64])
        get(attributes[TCA_NETEM_JITTER64], &read->jitter_ns, sizeof(read->jitter_ns));
    read->seeded = attributes[ATTRIBUTE_PRNG_SEED] != NULL;
    get(attributes[ATTRIBUTE_PRNG_SEED], &read->seed, sizeof(read->seed));
    parse_bursts(attributes[TCA_NETEM_LOSS], read);
}

int netem_qdisc_parse(const struct nlattr *options, struct netem_state *state, struct err *err)
{
    struct tc_netem_qopt parameters;
    struct nlattr *attributes[ATTRIBUTE_MOST + 1];
    int header = NLA_ALIGN(sizeof(parameters));
    if (!options || nla_len(options) < (int)sizeof(parameters))
        return err_set(err, ERR_HOST, "the kernel's report of a netem has no parameters");
    memcpy(&parameters, nla_data(options), sizeof(parameters));
    struct nlattr *first = (struct nlattr *)((char *)nla_data(options) + header);
    if (nla_parse(attributes, ATTRIBUTE_MOST, first, nla_len(options) - header, NULL) < 0)
        return err_set(err, ERR_HOST, "the kernel's report of a netem cannot be read");
    struct netem_state read = {
        .delay_ns = (int64_t)parameters.latency * PSCHED_TICK_NS,
        .jitter_ns = (int64_t)parameters.jitter * PSCHED_TICK_NS,
        .limit_packets = parameters.limit,
        .loss = parameters.loss,
        .duplicate = parameters.duplicate,
        .gap = parameters.gap,
    };
    parse_attributes(attributes, &read);
    *state = read;
    return 0;
}

int netem_qdisc_compare(const struct netem_setting *setting, const struct netem_state *state, const char *device, struct err *err)
{
    const struct netem_state asked = wanted_state(setting);
    const struct {
        const char *what;
        uint64_t asked, set;
    } values[] = {
        {"delay in ns", (uint64_t)asked.delay_ns, (uint64_t)state->delay_ns},
        {"jitter in ns", (uint64_t)asked.jitter_ns, (uint64_t)state->jitter_ns},
        {"jitter correlation", asked.jitter_correlation, state->jitter_correlation},
        {"rate that keeps order", asked.rate_bytes_per_second, state->rate_bytes_per_second},
        {"limit in packets", asked.limit_packets, state->limit_packets},
        {"loss", asked.loss, state->loss},
        {"Gilbert-Elliott model", asked.bursts, state->bursts},
        {"Gilbert-Elliott p", asked.to_bad, state->to_bad},
        {"Gilbert-Elliott r", asked.to_good, state->to_good},
        {"Gilbert-Elliott h", asked.keep_bad, state->keep_bad},
        {"Gilbert-Elliott 1-k", asked.loss_good, state->loss_good},
        {"duplication", asked.duplicate, state->duplicate},
        {"corruption", asked.corrupt, state->corrupt},
        {"reordering", asked.reorder, state->reorder},
        {"reordering gap", asked.gap, state->gap},
        {"seed", asked.seed, state->seeded ? state->seed : asked.seed},
    };
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        if (values[i].asked != values[i].set)
            return err_set(err, ERR_HOST,
                           "device %s was asked for a %s of %" PRIu64 ", but the kernel set %" PRIu64
                           " (probabilities count from 0 to 4294967295)",
                           device, values[i].what, values[i].asked, values[i].set);
    return 0;
}
