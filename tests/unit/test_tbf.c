/* test_tbf.c: tbf's messages byte by byte, and what the kernel's reports are taken for.
 *
 * The golden bytes agree with what iproute2 6.1 sends for the same rate, burst and limit, but for its rate table (which it rounds
 * to whole microseconds; kernels since 3.8 do not look into it) and for the bucket in ticks at 40 Gbit/s, which it computes from
 * the 32-bit rate. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include "base/err.h"
#include "netem/netlink.h"
#include "netem/tbf.h"
#include "tests/unit/bytes.h"

/* What messages are made of here; which numbers a rate gets is shaping.c's affair. */
static const struct shaping slow = {.rate_bytes_per_second = 1250000, .burst_bytes = 3710, .limit_bytes = 153710},
                            gigabit = {.rate_bytes_per_second = 125000000,
                                       .burst_bytes = 22500,
                                       .limit_bytes = 1522500,
                                       .peak_bytes_per_second = 128750000,
                                       .peak_burst_bytes = 14500},
                            fast = {.rate_bytes_per_second = 5000000000,
                                    .burst_bytes = 465536,
                                    .limit_bytes = 60465536,
                                    .peak_bytes_per_second = 5150000000,
                                    .peak_burst_bytes = 145536};

static struct nl_msg *message_for(const struct shaping *shaping)
{
    struct nl_msg *message = netlink_begin_tc(NETLINK_QDISC, 2, TC_H_ROOT, 0, 0, "tbf");
    assert_non_null(message);
    assert_int_equal(tbf_put(message, shaping), 0);
    nlmsg_hdr(message)->nlmsg_seq = 0;
    nlmsg_hdr(message)->nlmsg_pid = 0;
    return message;
}

/* After the length: RTM_NEWQDISC, REQUEST|CREATE|EXCL, sequence and port; tcmsg for index 2 at the root; TCA_KIND "tbf". */
#define HEADER "24000106 00000000 00000000 00000000 02000000 00000000 ffffffff 00000000 08000100 74626600 "

static void ten_megabit(void **state)
{
    (void)state;
    struct nl_msg *message = message_for(&slow);
    const unsigned char *bytes = (const unsigned char *)nlmsg_hdr(message);
    assert_int_equal(nlmsg_hdr(message)->nlmsg_len, 1124);
    assert_bytes(bytes, "64040000 " HEADER "38040280 "           /* TCA_OPTIONS, nested */
                        "28000100 03010000 ffff0000 d0121300 "   /* cell_log 3, Ethernet, cell_align -1, 1,250,000 B/s */
                        "00000000 00000000 00000000 "            /* no peak rate */
                        "6e580200 27b50000 00000000 "            /* limit 153,710; 46,375 ticks of 64 ns; mtu */
                        "08000600 7e0e0000 "                     /* TCA_TBF_BURST: 3,710 */
                        "04040200 64000000 c8000000 2c010000 "); /* table: 100 ticks for 8 bytes, 200, 300 */
    assert_bytes(bytes + 1124 - 4, "00640000");                  /* 25,600 ticks for 2,048 bytes */
    nlmsg_free(message);
}

/* As "tc qdisc change dev ... root handle 1: tbf rate 10mbit burst 3710 limit 153710": nothing is made where nothing is. */
static void a_change_makes_no_qdisc(void **state)
{
    (void)state;
    struct nl_msg *message = netlink_begin_tc(NETLINK_QDISC_CHANGE, 2, TC_H_ROOT, 1 << 16, 0, "tbf");
    assert_non_null(message);
    assert_int_equal(tbf_put(message, &slow), 0);
    nlmsg_hdr(message)->nlmsg_seq = nlmsg_hdr(message)->nlmsg_pid = 0;
    assert_int_equal(nlmsg_hdr(message)->nlmsg_len, 1124);
    assert_bytes(nlmsg_hdr(message), "64040000 24000100 00000000 00000000 00000000 02000000 00000100 ffffffff 00000000 "
                                     "08000100 74626600 38040280 28000100 03010000 ffff0000 d0121300 00000000 00000000 00000000 "
                                     "6e580200 27b50000 00000000 08000600 7e0e0000 ");
    nlmsg_free(message);
}

static void one_gigabit(void **state)
{
    (void)state;
    struct nl_msg *message = message_for(&gigabit);
    const unsigned char *bytes = (const unsigned char *)nlmsg_hdr(message);
    assert_int_equal(nlmsg_hdr(message)->nlmsg_len, 1132);
    assert_bytes(bytes, "6c040000 " HEADER "40040280 "
                        "28000100 03010000 ffff0000 40597307 "
                        "03010000 ffff0000 b091ac07 " /* 128,750,000 B/s */
                        "443b1700 fc0a0000 df060000 " /* limit 1,522,500; 2,812 ticks; 1,759 */
                        "08000600 e4570000 "          /* 22,500 */
                        "08000700 a4380000 "          /* 14,500 */
                        "04040200 01000000 02000000 03000000 ");
    assert_bytes(bytes + 1132 - 4, "00010000");
    nlmsg_free(message);
}

/* From 2^32 bytes a second on the 32-bit rate says "see RATE64". */
static void forty_gigabit(void **state)
{
    (void)state;
    struct nl_msg *message = message_for(&fast);
    const unsigned char *bytes = (const unsigned char *)nlmsg_hdr(message);
    assert_int_equal(nlmsg_hdr(message)->nlmsg_len, 1156);
    assert_bytes(bytes, "84040000 " HEADER "58040280 "
                        "28000100 03010000 ffff0000 ffffffff "
                        "03010000 ffff0000 ffffffff "
                        "80a19a03 ae050000 b9010000 " /* limit 60,465,536; 1,454 ticks; 441 */
                        "08000600 801a0700 "          /* 465,536 */
                        "0c000400 00f2052a 01000000 " /* TCA_TBF_RATE64: 5,000,000,000 */
                        "08000700 80380200 "          /* 145,536 */
                        "0c000500 80c3f632 01000000 " /* TCA_TBF_PRATE64: 5,150,000,000 */
                        "04040200 00000000 00000000 00000000 ");
    nlmsg_free(message);
}

/* Rates around the places where other tools wrap come back as they were sent. */
static void what_is_sent_is_read_back(void **state)
{
    (void)state;
    static const uint64_t rates[] = {8000,        1000000,     999999992,   1000000000,  4294967296,  17179869184,
                                     34359738352, 34359738360, 34359738368, 40000000000, 400000000000};
    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        struct shaping shaping = shaping_for_rate(rates[i], 150000, 1500);
        struct nl_msg *message = netlink_begin_tc(NETLINK_QDISC, 2, TC_H_ROOT, 0, 0, "tbf");
        assert_int_equal(tbf_put(message, &shaping), 0);
        struct nlattr *options = nlmsg_find_attr(nlmsg_hdr(message), sizeof(struct tcmsg), TCA_OPTIONS);
        struct tbf_state read;
        struct err err;
        assert_int_equal(tbf_parse(options, &read, &err), 0);
        assert_int_equal(read.rate_bytes_per_second, rates[i] / 8);
        assert_int_equal(tbf_compare(&shaping, &read, "l0", &err), 0);
        double tick_bytes = (double)(rates[i] / 8) * 64e-9 + 1;
        assert_true((double)shaping.burst_bytes - (double)tbf_burst_bytes(&read) <= tick_bytes);
        nlmsg_free(message);
    }
}

static void a_difference_is_an_error(void **state)
{
    (void)state;
    struct shaping asked = gigabit;
    const struct tbf_state right = {.rate_bytes_per_second = 125000000,
                                    .peak_bytes_per_second = 128750000,
                                    .burst_ticks = 2812,
                                    .peak_burst_ticks = 1759,
                                    .limit_bytes = 1522500};
    struct tbf_state wrong = right;
    struct err err;
    assert_int_equal(tbf_compare(&asked, &right, "l7", &err), 0);
    wrong.burst_ticks = 2811; /* the kernel's own rounding */
    assert_int_equal(tbf_compare(&asked, &wrong, "l7", &err), 0);
    wrong.burst_ticks = 2700;
    assert_int_equal(tbf_compare(&asked, &wrong, "l7", &err), -ERR_HOST);
    assert_string_equal(err.text, "device l7 was asked for a burst of 22500 bytes, but the kernel set 21600");
    wrong = right;
    wrong.rate_bytes_per_second--;
    assert_int_equal(tbf_compare(&asked, &wrong, "l7", &err), -ERR_HOST);
    wrong = right;
    wrong.limit_bytes++;
    assert_int_equal(tbf_compare(&asked, &wrong, "l7", &err), -ERR_HOST);
    wrong = right;
    wrong.peak_bytes_per_second = 0;
    assert_int_equal(tbf_compare(&asked, &wrong, "l7", &err), -ERR_HOST);
    wrong = right;
    wrong.peak_burst_ticks = 1700;
    assert_int_equal(tbf_compare(&asked, &wrong, "l7", &err), -ERR_HOST);
    assert_string_equal(err.text,
                        "device l7 was asked for a peak rate of 128750000 bytes/s in bursts of 14500 bytes, but the kernel "
                        "set 128750000 bytes/s and 1700 ticks");
}

static void a_report_without_parameters_is_refused(void **state)
{
    (void)state;
    struct tbf_state read = {.limit_bytes = 7};
    struct err err;
    assert_int_equal(tbf_parse(NULL, &read, &err), -ERR_HOST);
    struct nl_msg *message = nlmsg_alloc();
    struct nlattr *options = nla_nest_start(message, TCA_OPTIONS);
    nla_put_u32(message, TCA_TBF_PARMS, 1); /* too short */
    nla_nest_end(message, options);
    assert_int_equal(tbf_parse(options, &read, &err), -ERR_HOST);
    assert_int_equal(read.limit_bytes, 7);
    nlmsg_free(message);
}

/* As tc's "overhead 24": framing l1. */
static void overhead_of_each_frame(void **state)
{
    (void)state;
    const struct direction direction = {.rate_bps = 1000000000, .queue_bytes = 1500000, .framing = FRAMING_L1};
    struct shaping shaping = shaping_for_direction(&direction, 1500);
    struct nl_msg *message = netlink_begin_tc(NETLINK_QDISC, 2, TC_H_ROOT, 1 << 16, 0, "tbf");
    assert_int_equal(tbf_put(message, &shaping), 0);
    struct nlattr *options = nlmsg_find_attr(nlmsg_hdr(message), sizeof(struct tcmsg), TCA_OPTIONS);
    assert_bytes(nla_data(options), "28000100 03011800 ffff0000 40597307");
    struct tbf_state read;
    struct err err;
    assert_int_equal(tbf_parse(options, &read, &err), 0);
    assert_int_equal(read.overhead_bytes, 24);
    assert_in_range(tbf_burst_bytes(&read), shaping.burst_bytes - 8, shaping.burst_bytes);
    assert_int_equal(tbf_compare(&shaping, &read, "l0", &err), 0);
    read.overhead_bytes = 0;
    assert_int_equal(tbf_compare(&shaping, &read, "l0", &err), -ERR_HOST);
    nlmsg_free(message);
}

/* A queue in packets is another qdisc below tbf: "parent 1:1 pfifo limit 100" is 4 bytes of options. */
static void a_queue_in_packets(void **state)
{
    (void)state;
    const struct shaping asked = {.queue_packets = 100};
    const struct {
        struct nlattr header;
        uint32_t limit;
    } good = {{.nla_len = 8, .nla_type = TCA_OPTIONS}, 100}, bad = {{.nla_len = 8, .nla_type = TCA_OPTIONS}, 99};
    struct err err;
    assert_int_equal(tbf_compare_packets(&asked, &good.header, "l0", &err), 0);
    assert_int_equal(tbf_compare_packets(&asked, &bad.header, "l0", &err), -ERR_HOST);
    assert_int_equal(tbf_compare_packets(&asked, NULL, "l0", &err), -ERR_HOST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overhead_of_each_frame),
        cmocka_unit_test(a_queue_in_packets),
        cmocka_unit_test(ten_megabit),
        cmocka_unit_test(a_change_makes_no_qdisc),
        cmocka_unit_test(one_gigabit),
        cmocka_unit_test(forty_gigabit),
        cmocka_unit_test(what_is_sent_is_read_back),
        cmocka_unit_test(a_difference_is_an_error),
        cmocka_unit_test(a_report_without_parameters_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
