/* test_netem_qdisc.c: netem's messages and the redirection's, byte by byte; limits; what the kernel's reports are taken for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include "base/err.h"
#include "netem/netem_qdisc.h"
#include "netem/netlink.h"
#include "tests/unit/bytes.h"

static struct nl_msg *finish(struct nl_msg *message)
{
    assert_non_null(message);
    nlmsg_hdr(message)->nlmsg_seq = 0;
    nlmsg_hdr(message)->nlmsg_pid = 0;
    return message;
}

static struct nl_msg *delay_message(const struct netem_setting *setting)
{
    struct nl_msg *message = netlink_begin_tc(NETLINK_LARGE_QDISC, 4, TC_H_ROOT, 0, 0, "netem");
    assert_int_equal(netem_qdisc_put(message, setting), 0);
    return finish(message);
}

/* RTM_NEWQDISC, REQUEST|CREATE|EXCL; index 4 at the root; TCA_KIND "netem". */
#define HEADER "24000106 00000000 00000000 00000000 04000000 00000000 ffffffff 00000000 0a000100 6e657465 6d000000 "
/* All off: CORR, REORDER, CORRUPT, RATE, ECN. */
#define NOTHING_ELSE                                                                                                               \
    "10000100 00000000 00000000 00000000 0c000300 00000000 00000000 0c000400 00000000 00000000 "                                   \
    "14000600 00000000 00000000 00000000 00000000 08000700 00000000 "
#define NO_SLOT "2c000c00 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 "

static void the_complete_set_is_sent(void **state)
{
    (void)state;
    const struct netem_setting setting = {.delay_ns = 5000000, .limit_packets = 34203, .seed = UINT64_C(0x1122334455667788)};
    struct nl_msg *message = delay_message(&setting);
    assert_int_equal(nlmsg_hdr(message)->nlmsg_len, 224);
    assert_bytes(
        nlmsg_hdr(message),
        "e0000000 " HEADER "b0000280 "
        "2d310100 9b850000 00000000 00000000 00000000 00000000 " /* 78,125 ticks; limit; no loss, gap, duplication, jitter */
        NOTHING_ELSE "0c000a00 404b4c00 00000000 "               /* LATENCY64: 5,000,000 ns */
        "0c000b00 00000000 00000000 " NO_SLOT                    /* JITTER64; no LOSS */
        "0c000e00 88776655 44332211");                           /* PRNG_SEED */
    nlmsg_free(message);
}

/* A change carries as much as the making does, a delay of 0 among it. Where settings change the rate that keeps order is there at
 * once: 2^47 bytes a second, in the attribute of 64 bits. */
static void a_change_is_complete_and_keeps_order(void **state)
{
    (void)state;
    const struct netem_setting setting = {.limit_packets = 34203, .seed = UINT64_C(0x1122334455667788), .changes = true};
    struct nl_msg *message = netlink_begin_tc(NETLINK_LARGE_QDISC_CHANGE, 4, TC_H_ROOT, 0, 0, "netem");
    assert_int_equal(netem_qdisc_put(message, &setting), 0);
    finish(message);
    assert_bytes(nlmsg_hdr(message),
                 "ec000000 24000100 00000000 00000000 00000000 04000000 00000000 ffffffff 00000000 0a000100 6e657465 6d000000 "
                 "bc000280 00000000 9b850000 00000000 00000000 00000000 00000000 "
                 "10000100 00000000 00000000 00000000 0c000300 00000000 00000000 0c000400 00000000 00000000 "
                 "0c000800 00000000 00800000 14000600 ffffffff 00000000 00000000 00000000 08000700 00000000 "
                 "0c000a00 00000000 00000000 0c000b00 00000000 00000000 " NO_SLOT "0c000e00 88776655 44332211");
    struct netem_state read;
    struct err err;
    struct nlattr *options = nlmsg_find_attr(nlmsg_hdr(message), sizeof(struct tcmsg), TCA_OPTIONS);
    assert_int_equal(netem_qdisc_parse(options, &read, &err), 0);
    assert_int_equal(netem_qdisc_compare(&setting, &read, "i0", &err), 0);
    read.rate_bytes_per_second = 0;
    assert_int_equal(netem_qdisc_compare(&setting, &read, "i0", &err), -ERR_HOST);
    nlmsg_free(message);
}

/* --- against tc
 * ---------------------------------------------------------------------------------------------------------------------- */

enum { OPTIONS_MOST = 128, PARAMETERS = sizeof(struct tc_netem_qopt), ATTRIBUTES = 15 };

static int from_hex(const char *text, unsigned char bytes[OPTIONS_MOST])
{
    int count = 0;
    for (; *text; text++) {
        unsigned byte;
        if (*text == ' ')
            continue;
        assert_int_equal(sscanf(text++, "%2x", &byte), 1);
        bytes[count++] = (unsigned char)byte;
    }
    return count;
}

static struct nlattr *attributes_behind(const void *options)
{
    return (struct nlattr *)((char *)(uintptr_t)options + PARAMETERS);
}

/* Everything that tc sends for a setting is in our message too, byte by byte; what is there beyond is the rest of the complete set.
 */
static void assert_as_tc(const struct netem_setting *setting, const char *tc_options)
{
    _Alignas(8) unsigned char expected[OPTIONS_MOST];
    int length = from_hex(tc_options, expected);
    struct nl_msg *message = delay_message(setting);
    const struct nlattr *options = nlmsg_find_attr(nlmsg_hdr(message), sizeof(struct tcmsg), TCA_OPTIONS);
    struct nlattr *ours[ATTRIBUTES], *theirs[ATTRIBUTES];
    assert_memory_equal(nla_data(options), expected, PARAMETERS);
    assert_int_equal(nla_parse(ours, ATTRIBUTES - 1, attributes_behind(nla_data(options)), nla_len(options) - PARAMETERS, NULL), 0);
    assert_int_equal(nla_parse(theirs, ATTRIBUTES - 1, attributes_behind(expected), length - PARAMETERS, NULL), 0);
    for (int i = 0; i < ATTRIBUTES; i++) {
        if (!theirs[i])
            continue;
        assert_non_null(ours[i]);
        assert_memory_equal(ours[i], theirs[i], theirs[i]->nla_len);
    }
    assert_true(!ours[TCA_NETEM_LOSS] == !theirs[TCA_NETEM_LOSS]); /* these two say something by their absence */
    assert_true(!ours[TCA_NETEM_DELAY_DIST] == !theirs[TCA_NETEM_DELAY_DIST]);
    nlmsg_free(message);
}

/* The bytes are TCA_OPTIONS of what iproute2 6.1.0 handed to sendmsg() for `tc qdisc add dev lo root netem ...`. */
static void what_tc_sends(void **state)
{
    (void)state;
    static const int16_t table[] = {-8192, 0, 8192, 32767};
    const struct netem_setting loss = {.limit_packets = 1000, .impairments = {.loss = 0.01}};
    assert_as_tc(&loss, "00000000 e8030000 295c8f02 00000000 00000000 00000000"); /* loss 1% */
    /* limit 34203 delay 10ms 1ms 25% distribution table (-8192 0 8192 32767) */
    const struct netem_setting jitter = {.delay_ns = 10000000,
                                         .limit_packets = 34203,
                                         .impairments = {.jitter_ns = 1000000,
                                                         .jitter_correlation = 0.25,
                                                         .jitter_distribution = JITTER_TABLE,
                                                         .jitter_table = table,
                                                         .jitter_table_size = 4}};
    assert_as_tc(&jitter, "5a620200 9b850000 00000000 00000000 00000000 093d0000 10000100 00000040 00000000 00000000 "
                          "0c000200 00e00000 0020ff7f");
    /* loss gemodel 1% 10% 70% 0.1% */
    const struct netem_setting bursts = {
        .limit_packets = 1000, .impairments = {.gilbert_elliott = {.p = 0.01, .r = 0.1, .loss_bad = 0.7, .loss_good = 0.001}}};
    assert_as_tc(&bursts, "00000000 e8030000 00000000 00000000 00000000 00000000 18000580 14000200 295c8f02 9a999919 cdcccc4c "
                          "37894100");
    /* delay 10ms loss 0.5% duplicate 2% corrupt 0.1% reorder 5% */
    const struct netem_setting many = {.delay_ns = 10000000,
                                       .limit_packets = 1000,
                                       .impairments = {.loss = 0.005, .duplicate = 0.02, .corrupt = 0.001, .reorder = 0.05}};
    assert_as_tc(&many, "5a620200 e8030000 14ae4701 01000000 52b81e05 00000000 0c000300 cdcccc0c 00000000 0c000400 37894100 "
                        "00000000");
    /* delay 10ms rate 1125899906842624bit: the rate that keeps order, here with jitter, which tc was not told */
    static const int16_t nothing[] = {0};
    const struct netem_setting order = {
        .delay_ns = 10000000,
        .limit_packets = 1000,
        .impairments = {.jitter_ns = 1, .jitter_distribution = JITTER_TABLE, .jitter_table = nothing, .jitter_table_size = 1}};
    assert_as_tc(&order, "5a620200 e8030000 00000000 00000000 00000000 00000000 0c000800 00000000 00800000 "
                         "14000600 ffffffff 00000000 00000000 00000000 06000200 0000");
}

static void correlated_loss_is_a_chain(void **state)
{
    (void)state;
    const struct netem_setting setting = {.limit_packets = 1000, .impairments = {.loss = 0.05, .loss_correlation = 0.25}};
    struct nl_msg *message = delay_message(&setting);
    struct netem_state read;
    struct err err;
    struct nlattr *options = nlmsg_find_attr(nlmsg_hdr(message), sizeof(struct tcmsg), TCA_OPTIONS);
    assert_int_equal(netem_qdisc_parse(options, &read, &err), 0);
    assert_true(read.bursts && read.loss == 0);
    assert_int_equal(read.to_bad, 161061274);   /* 0.05 x 0.75 */
    assert_int_equal(read.to_good, 3060164198); /* 0.95 x 0.75 */
    assert_true(read.keep_bad == 0 && read.loss_good == 0);
    nlmsg_free(message);
}

/* The largest table fits into a message. */
static void tables_of_any_size(void **state)
{
    (void)state;
    static int16_t entries[16384];
    static const int sizes[] = {1, 4096, 16384};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        const struct netem_setting setting = {
            .limit_packets = 1000,
            .impairments = {
                .jitter_ns = 5, .jitter_distribution = JITTER_TABLE, .jitter_table = entries, .jitter_table_size = sizes[i]}};
        struct nl_msg *message = delay_message(&setting);
        assert_in_range(nlmsg_hdr(message)->nlmsg_len, 200 + 2 * sizes[i], 300 + 2 * sizes[i]);
        nlmsg_free(message);
    }
}

/* What is sent is what a report of the same bytes is taken for; each difference is found. */
static void reports_are_compared_member_by_member(void **state)
{
    (void)state;
    static const struct impairments some[] = {{.loss = 0.1},
                                              {.loss = 0.1, .loss_correlation = 0.5},
                                              {.duplicate = 0.1},
                                              {.corrupt = 0.1},
                                              {.reorder = 0.1},
                                              {.jitter_ns = 1000, .jitter_distribution = JITTER_NORMAL},
                                              {.jitter_ns = 999},
                                              {.jitter_ns = 999, .jitter_correlation = 0.1},
                                              {0}};
    enum { COUNT = sizeof(some) / sizeof(some[0]) };
    struct netem_state read[COUNT];
    struct err err;
    for (int i = 0; i < COUNT; i++) {
        const struct netem_setting setting = {.delay_ns = 5000, .limit_packets = 9, .seed = 3, .impairments = some[i]};
        struct nl_msg *message = delay_message(&setting);
        struct nlattr *options = nlmsg_find_attr(nlmsg_hdr(message), sizeof(struct tcmsg), TCA_OPTIONS);
        assert_int_equal(netem_qdisc_parse(options, &read[i], &err), 0);
        nlmsg_free(message);
    }
    for (int i = 0; i < COUNT; i++)
        for (int j = 0; j < COUNT; j++) {
            const struct netem_setting setting = {.delay_ns = 5000, .limit_packets = 9, .seed = 3, .impairments = some[i]};
            assert_int_equal(netem_qdisc_compare(&setting, &read[j], "i0", &err), i == j ? 0 : -ERR_HOST);
        }
    const struct netem_setting seeded = {.delay_ns = 5000, .limit_packets = 9, .seed = 4};
    assert_int_equal(netem_qdisc_compare(&seeded, &read[COUNT - 1], "i0", &err), -ERR_HOST);
    read[COUNT - 1].seeded = false; /* a kernel that has no such attribute */
    assert_int_equal(netem_qdisc_compare(&seeded, &read[COUNT - 1], "i0", &err), 0);
}

/* The 32-bit ticks end at 274 s; the 64-bit nanoseconds carry the rest. A delay of 0 is a delay like any other. */
static void delays_beyond_the_ticks(void **state)
{
    (void)state;
    static const int64_t delays[] = {0, 1, 63, 64, 999999999, INT64_C(274877906944), INT64_C(3600000000000)};
    for (size_t i = 0; i < sizeof(delays) / sizeof(delays[0]); i++) {
        const struct netem_setting setting = {.delay_ns = delays[i], .limit_packets = 1000};
        struct nl_msg *message = delay_message(&setting);
        struct nlattr *options = nlmsg_find_attr(nlmsg_hdr(message), sizeof(struct tcmsg), TCA_OPTIONS);
        struct netem_state read;
        struct err err;
        assert_int_equal(netem_qdisc_parse(options, &read, &err), 0);
        assert_int_equal(read.delay_ns, delays[i]);
        assert_int_equal(read.limit_packets, 1000);
        assert_int_equal(netem_qdisc_compare(&setting, &read, "i0", &err), 0);
        nlmsg_free(message);
    }
}

/* As iproute2 sends "u32 match u32 0 0 action mirred egress redirect dev (4)", key before action. */
static void everything_is_redirected(void **state)
{
    (void)state;
    struct nl_msg *message = netlink_begin_tc(NETLINK_FILTER, 3, TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS), 0,
                                              TC_H_MAKE(1U << 16, htons(ETH_P_ALL)), "u32");
    assert_int_equal(netem_qdisc_put_redirect(message, 4), 0);
    finish(message);
    assert_int_equal(nlmsg_hdr(message)->nlmsg_len, 140);
    assert_bytes(nlmsg_hdr(message),
                 "8c000000 2c000106 00000000 00000000 00000000 03000000 00000000 f2ffffff 00030100 08000100 75333200 "
                 "60000280 24000500 01000100 00000000 00000000 00000000 00000000 00000000 00000000 00000000 "
                 "38000780 34000180 0b000100 6d697272 65640000 24000280 20000200 00000000 00000000 04000000 00000000 "
                 "00000000 01000000 04000000");
    nlmsg_free(message);
}

static void limits_cover_rate_times_delay(void **state)
{
    (void)state;
    assert_int_equal(netem_qdisc_limit(1000000000, 5000000, 1500000), (625000 + 1500000) / 64 + 1000);
    assert_int_equal(netem_qdisc_limit(1000, 0, 0), 1000);                    /* netem's own default, at least */
    assert_int_equal(netem_qdisc_limit(0, 1000000, 0), 12500000 / 64 + 1000); /* no rate: 100 Gbit/s */
    assert_int_equal(netem_qdisc_limit(UINT64_C(400000000000), INT64_C(10000000000), 0), 100000000); /* the most */
}

static void a_difference_is_an_error(void **state)
{
    (void)state;
    const struct netem_setting asked = {.delay_ns = 5000000, .limit_packets = 34203};
    struct netem_state read = {.delay_ns = 5000000, .limit_packets = 34203};
    struct err err;
    assert_int_equal(netem_qdisc_compare(&asked, &read, "i0", &err), 0);
    read.delay_ns = 5000001;
    assert_int_equal(netem_qdisc_compare(&asked, &read, "i0", &err), -ERR_HOST);
    read.delay_ns = 5000000;
    read.limit_packets = 1000;
    assert_int_equal(netem_qdisc_compare(&asked, &read, "i0", &err), -ERR_HOST);
    read.limit_packets = 34203;
    read.loss = 1;
    assert_int_equal(netem_qdisc_compare(&asked, &read, "i0", &err), -ERR_HOST);
    assert_int_equal(netem_qdisc_parse(NULL, &read, &err), -ERR_HOST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_complete_set_is_sent),
        cmocka_unit_test(a_change_is_complete_and_keeps_order),
        cmocka_unit_test(what_tc_sends),
        cmocka_unit_test(correlated_loss_is_a_chain),
        cmocka_unit_test(tables_of_any_size),
        cmocka_unit_test(reports_are_compared_member_by_member),
        cmocka_unit_test(delays_beyond_the_ticks),
        cmocka_unit_test(everything_is_redirected),
        cmocka_unit_test(limits_cover_rate_times_delay),
        cmocka_unit_test(a_difference_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
