/* fuzz_netlink.c: damaged answers of the kernel: devices with their counters, queueing disciplines with tbf's, pfifo's and netem's
 * settings, and refusals. What is undamaged gives back what was put in; from anything else nothing is read behind its end. */
#include "netem/netlink_parse.h"

#include <limits.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "netem/netem_qdisc.h"
#include "netem/tbf.h"
#include "tests/fuzz/fuzz.h"

enum { BYTES_MAX = 4096, INDEX = 7, MTU = 1500 };
enum what { DEVICE, TBF, NETEM, REFUSAL, WHAT_COUNT };

static const struct shaping shaping = {
    .rate_bytes_per_second = 12500000, .burst_bytes = 3000, .limit_bytes = 150000, .peak_bytes_per_second = 0};
static const struct netem_setting delay = {.delay_ns = 5000000, .limit_packets = 1000, .seed = 7};

static struct nl_msg *device_message(void)
{
    const struct ifinfomsg body = {.ifi_index = INDEX, .ifi_flags = IFF_UP | IFF_RUNNING | 1 << 16};
    const struct rtnl_link_stats64 statistics = {.tx_packets = 11, .tx_bytes = 12, .tx_dropped = 13, .rx_dropped = 14};
    static const uint8_t mac[NETLINK_MAC_BYTES] = {2, 3, 4, 5, 6, 7};
    struct nl_msg *message = nlmsg_alloc_simple(RTM_NEWLINK, 0);
    (void)nlmsg_append(message, (void *)&body, sizeof(body), NLMSG_ALIGNTO);
    (void)nla_put_string(message, IFLA_IFNAME, "w0-router");
    (void)nla_put(message, IFLA_ADDRESS, sizeof(mac), mac);
    (void)nla_put_u32(message, IFLA_MTU, MTU);
    (void)nla_put_u8(message, IFLA_OPERSTATE, 0);
    struct nlattr *kind = nla_nest_start(message, IFLA_LINKINFO);
    (void)nla_put_string(message, IFLA_INFO_KIND, "ifb");
    nla_nest_end(message, kind);
    (void)nla_put(message, IFLA_STATS64, sizeof(statistics), &statistics);
    return message;
}

static struct nl_msg *refusal_message(void)
{
    const struct nlmsgerr failure = {.error = -22, .msg = {.nlmsg_len = sizeof(struct nlmsghdr)}};
    struct nl_msg *message = nlmsg_alloc_simple(NLMSG_ERROR, NLM_F_ACK_TLVS | NLM_F_CAPPED);
    (void)nlmsg_append(message, (void *)&failure, sizeof(failure), NLMSG_ALIGNTO);
    (void)nla_put_string(message, NLMSGERR_ATTR_MSG, "Invalid qdisc name");
    return message;
}

static struct nl_msg *make_message(enum what what)
{
    if (what == DEVICE)
        return device_message();
    if (what == REFUSAL)
        return refusal_message();
    struct nl_msg *message = netlink_begin_tc(NETLINK_LARGE_QDISC, INDEX, NETLINK_ROOT, 0x10000, 0, what == TBF ? "tbf" : "netem");
    if (message)
        (void)(what == TBF ? tbf_put(message, &shaping) : netem_qdisc_put(message, &delay));
    return message;
}

static void look_at_device(struct fuzz *fuzz, const struct nlmsghdr *header, bool unchanged)
{
    struct netlink_device device;
    const bool taken = netlink_parse_device(header, &device);
    FUZZ_CHECK(fuzz, taken || !unchanged);
    fuzz->accepted += taken;
    FUZZ_CHECK(fuzz, !taken || memchr(device.name, '\0', sizeof(device.name)));
    if (unchanged)
        FUZZ_CHECK(fuzz, device.index == INDEX && device.mtu == MTU && device.running && strcmp(device.name, "w0-router") == 0 &&
                             device.mac[5] == 7 && device.tx_packets == 11 && device.tx_bytes == 12 && device.tx_dropped == 13 &&
                             device.rx_dropped == 14);
}

static void look_at_qdisc(struct fuzz *fuzz, const struct nlmsghdr *header, enum what what, bool unchanged)
{
    struct netlink_qdisc qdisc;
    const bool taken = netlink_parse_qdisc(header, &qdisc);
    FUZZ_CHECK(fuzz, taken || !unchanged);
    if (!taken)
        return;
    fuzz->accepted++;
    FUZZ_CHECK(fuzz, strlen(qdisc.kind) < header->nlmsg_len);
    struct tbf_state rate;
    struct netem_state state;
    struct err err = {0};
    const int rated = tbf_parse(qdisc.options, &rate, &err), delayed = netem_qdisc_parse(qdisc.options, &state, &err);
    (void)tbf_compare_packets(&shaping, qdisc.options, "w0", &err);
    if (rated == 0) {
        (void)tbf_burst_bytes(&rate);
        (void)tbf_compare(&shaping, &rate, "w0", &err);
    }
    if (delayed == 0)
        (void)netem_qdisc_compare(&delay, &state, "w0", &err);
    if (unchanged && what == TBF)
        FUZZ_CHECK(fuzz, rated == 0 && rate.rate_bytes_per_second == shaping.rate_bytes_per_second &&
                             rate.limit_bytes == shaping.limit_bytes);
    if (unchanged && what == NETEM)
        FUZZ_CHECK(fuzz, delayed == 0 && netem_qdisc_compare(&delay, &state, "w0", &err) == 0);
}

static void look_at_refusal(struct fuzz *fuzz, const struct nlmsghdr *header, bool unchanged)
{
    char words[NETLINK_WORDS_BYTES];
    const int error = netlink_parse_failure(header, words);
    FUZZ_CHECK(fuzz, error >= 0 && memchr(words, '\0', sizeof(words)) && netlink_parse_failure(header, NULL) == error);
    FUZZ_CHECK(fuzz, !unchanged || (error == 22 && strcmp(words, "Invalid qdisc name") == 0));
}

static void fuzz_one(struct fuzz *fuzz)
{
    static uint8_t bytes[BYTES_MAX];
    const enum what what = (enum what)fuzz_below(fuzz, WHAT_COUNT);
    struct nl_msg *message = make_message(what);
    FUZZ_CHECK(fuzz, message && nlmsg_hdr(message)->nlmsg_len <= BYTES_MAX);
    const size_t whole = nlmsg_hdr(message)->nlmsg_len;
    memcpy(bytes, nlmsg_hdr(message), whole);
    size_t length = fuzz_mutate(fuzz, bytes, whole, sizeof(bytes));
    const bool unchanged = length == whole && memcmp(bytes, nlmsg_hdr(message), whole) == 0;
    nlmsg_free(message);
    cleanup(free_pointer) uint8_t *exact = malloc(length ? length : 1); /* so that a sanitizer sees its end */
    FUZZ_CHECK(fuzz, exact);
    memcpy(exact, bytes, length);
    int left = (int)length;
    for (struct nlmsghdr *header = (struct nlmsghdr *)exact; nlmsg_ok(header, left); header = nlmsg_next(header, &left)) {
        look_at_device(fuzz, header, unchanged && what == DEVICE);
        look_at_qdisc(fuzz, header, what, unchanged && (what == TBF || what == NETEM));
        look_at_refusal(fuzz, header, unchanged && what == REFUSAL);
    }
}

FUZZ_MAIN("netlink")
