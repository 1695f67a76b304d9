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
#include <stdio.h>

#include "base/err.h"
#include "netem/netem_qdisc.h"
#include "netem/netlink.h"

static void assert_bytes(const void *bytes, const char *expected)
{
    const unsigned char *byte = bytes;
    for (size_t i = 0; *expected; expected++) {
        if (*expected == ' ')
            continue;
        char found[3];
        snprintf(found, sizeof(found), "%02x", byte[i++]);
        if (found[0] != expected[0] || found[1] != expected[1])
            fail_msg("byte %zu is %s, expected %.2s", i - 1, found, expected);
        expected++;
    }
}

static struct nl_msg *finish(struct nl_msg *message)
{
    assert_non_null(message);
    nlmsg_hdr(message)->nlmsg_seq = 0;
    nlmsg_hdr(message)->nlmsg_pid = 0;
    return message;
}

static struct nl_msg *delay_message(const struct netem_setting *setting)
{
    struct nl_msg *message = netlink_begin_tc(NETLINK_QDISC, 4, TC_H_ROOT, 0, 0, "netem");
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
    const struct netem_setting setting = {.delay_ns = 5000000, .limit_packets = 34203};
    struct nl_msg *message = delay_message(&setting);
    assert_int_equal(nlmsg_hdr(message)->nlmsg_len, 212);
    assert_bytes(
        nlmsg_hdr(message),
        "d4000000 " HEADER "a4000280 "
        "2d310100 9b850000 00000000 00000000 00000000 00000000 " /* 78,125 ticks; limit; no loss, gap, duplication, jitter */
        NOTHING_ELSE "0c000a00 404b4c00 00000000 "               /* LATENCY64: 5,000,000 ns */
        "0c000b00 00000000 00000000 " NO_SLOT);                  /* JITTER64; no LOSS, no PRNG_SEED */
    nlmsg_free(message);
}

static void a_seed_only_when_asked_for(void **state)
{
    (void)state;
    const struct netem_setting setting = {
        .delay_ns = 5000000, .jitter_ns = 1000, .limit_packets = 34203, .seeded = true, .seed = UINT64_C(0x1122334455667788)};
    struct nl_msg *message = delay_message(&setting);
    assert_int_equal(nlmsg_hdr(message)->nlmsg_len, 224);
    assert_bytes(nlmsg_hdr(message), "e0000000 " HEADER "b0000280 "
                                     "2d310100 9b850000 00000000 00000000 00000000 0f000000 " NOTHING_ELSE
                                     "0c000a00 404b4c00 00000000 0c000b00 e8030000 00000000 " NO_SLOT "0c000e00 88776655 44332211");
    nlmsg_free(message);
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
        cmocka_unit_test(the_complete_set_is_sent),      cmocka_unit_test(a_seed_only_when_asked_for),
        cmocka_unit_test(delays_beyond_the_ticks),       cmocka_unit_test(everything_is_redirected),
        cmocka_unit_test(limits_cover_rate_times_delay), cmocka_unit_test(a_difference_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
