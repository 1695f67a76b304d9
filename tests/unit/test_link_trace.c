/* test_link_trace.c: files that links follow: mahimahi's opportunities as rates of bins, tables with units in either place, and
 * each refusal with its place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "harness/link_trace.h"

static void read_good(enum trace_format format, const char *text, struct arena *arena, struct link_trace *trace)
{
    struct err err;
    if (link_trace_parse(format, "t", text, strlen(text), arena, trace, &err) < 0)
        fail_msg("%s", err.text);
}

static void refuse(enum trace_format format, const char *text, size_t length, const char *expected)
{
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct link_trace trace = {.count = -7};
    struct err err = {0};
    assert_int_equal(link_trace_parse(format, "t", text, length, arena, &trace, &err), -ERR_USAGE);
    assert_string_equal(err.text, expected);
    assert_int_equal(trace.count, -7);
    assert_int_equal(link_trace_parse(format, "t", text, length, arena, &trace, NULL), -ERR_USAGE);
}
#define REFUSE(format, text, expected) refuse(format, text, sizeof(text) - 1, expected)

static void assert_rates(const struct link_trace *trace, const int64_t (*expected)[2], int count)
{
    assert_int_equal(trace->count, count);
    assert_true(trace->has_rate && !trace->has_delay && !trace->has_loss);
    for (int i = 0; i < count; i++) {
        assert_int_equal(trace->steps[i].at_ns, expected[i][0] * NS_PER_MS);
        assert_int_equal(trace->steps[i].rate_bps, expected[i][1]);
    }
}

/* By hand: n packets in a bin of w ms are n x 1514 x 8 / w kbit/s. */
static void opportunities_become_rates_of_bins(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    cleanup(text_free) struct text steady = {0};
    struct link_trace trace;
    for (int ms = 1; ms <= 100; ms++)
        text_printf(&steady, "%d\n", ms);
    read_good(TRACE_MAHIMAHI, steady.bytes, arena, &trace);
    assert_rates(&trace, (const int64_t[][2]){{0, 12112000}}, 1);
    assert_int_equal(trace.period_ns, 100 * NS_PER_MS);

    /* The empty bins have the floor, with no step between them. The last bin has 50 ms. */
    read_good(TRACE_MAHIMAHI, "10\n350\n", arena, &trace);
    assert_rates(&trace, (const int64_t[][2]){{0, 121120}, {100, 12112}, {300, 242240}}, 3);
    assert_int_equal(trace.period_ns, 350 * NS_PER_MS);

    /* What leaves at the very end belongs to the last bin; a rest under half a bin to the bin before it. */
    read_good(TRACE_MAHIMAHI, "100\r\n200\r\n", arena, &trace);
    assert_rates(&trace, (const int64_t[][2]){{0, 12112}, {100, 242240}}, 2);
    read_good(TRACE_MAHIMAHI, "0\n0\n0\n149\n", arena, &trace);
    assert_rates(&trace, (const int64_t[][2]){{0, 325154}}, 1); /* 4 x 12112 / 0.149 = 325154.4 */
}

static void tables_have_units_in_their_values_or_their_columns(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct link_trace first, second;
    read_good(TRACE_CSV, "# measured\n\nloss,  time , rate,delay\n1%,0s,10mbit,5ms\n\n0,1.5s,2mbit,0.5ms\n", arena, &first);
    read_good(TRACE_CSV, "time_ms,rate_kbit,delay_us,loss\r\n0,1e4,5000,0.01\r\n 1500\t,2000,500,0", arena, &second);
    assert_int_equal(first.count, 2);
    assert_int_equal(second.count, 2);
    for (int i = 0; i < 2; i++) {
        assert_true(first.has_rate && first.has_delay && first.has_loss);
        assert_int_equal(first.steps[i].at_ns, i * 1500 * NS_PER_MS);
        assert_int_equal(first.steps[i].rate_bps, i ? 2000000 : 10000000);
        assert_int_equal(first.steps[i].delay_ns, i ? 500000 : 5000000);
        assert_true(first.steps[i].loss == (i ? 0 : 0.01));
        assert_memory_equal(&first.steps[i], &second.steps[i], sizeof(first.steps[i]));
    }
    assert_int_equal(first.period_ns, 3000 * NS_PER_MS); /* the last line counts as long as the one before it */
    read_good(TRACE_CSV, "time_s,delay\n0.3333333333,1ms\n", arena, &first);
    assert_int_equal(first.steps[0].at_ns, 333333333);
    assert_true(!first.has_rate && first.has_delay && !first.has_loss);
}

static void what_is_wrong_has_its_place(void **state)
{
    (void)state;
    REFUSE(TRACE_MAHIMAHI, "", "t:1:1: a trace ends with the millisecond that is its length, above 0; this one has none");
    REFUSE(TRACE_MAHIMAHI, "1\n 2x\n", "t:2:2: found '2x', a whole number of milliseconds from 0 to 10000000 is needed");
    REFUSE(TRACE_MAHIMAHI, "1\n\n2\n", "t:2:1: found '', a whole number of milliseconds from 0 to 10000000 is needed");
    REFUSE(TRACE_MAHIMAHI, "5\n4\n", "t:2:1: found 4 after 5: a trace does not go back in time");
    REFUSE(TRACE_MAHIMAHI, "1\0\n", "t:1:2: found the byte 0x00 where a number or a name is needed");
    REFUSE(TRACE_CSV, "time,r\xc3\xa4te\n", "t:1:7: found the byte 0xc3 where a number or a name is needed");
    REFUSE(TRACE_MAHIMAHI, "10000001\n", "t:1:1: found '10000001', a whole number of milliseconds from 0 to 10000000 is needed");
    REFUSE(TRACE_CSV, "time,rate\n",
           "t:1:1: nothing here says what the link is; needed are a line of columns, 'time,rate', and lines "
           "like '0s,10mbit'");
    REFUSE(TRACE_CSV, "time,rate_ms\n0s,1\n",
           "t:1:6: found the column 'rate_ms'; known are time, rate, delay and loss, also with a unit behind: time_s, rate_mbit, "
           "delay_ms");
    REFUSE(TRACE_CSV, "time,loss_s\n0s,1\n",
           "t:1:6: found the column 'loss_s'; known are time, rate, delay and loss, also with a unit behind: time_s, rate_mbit, "
           "delay_ms");
    REFUSE(TRACE_CSV, "time,rate\n0s,1mbit\n0.5ms,2mbit\n",
           "t:3:1: found the time '0.5ms' after 0ns: from line to line times grow by "
           "at least 1ms");
    REFUSE(TRACE_CSV, "time,rate\n0s,7kbit\n", "t:2:4: rate: found '7kbit', allowed is 8kbit to 400gbit");
    REFUSE(TRACE_CSV, "time,rate_bit\n0s,7999\n", "t:2:4: rate: found '7999', allowed is 8kbit to 400gbit");
    REFUSE(TRACE_CSV, "time,loss\n0s,1.5\n", "t:2:4: loss: found '1.5', allowed is 0 to 1 (0% to 100%)");
    REFUSE(TRACE_CSV, "time_s,rate\n-1,1mbit\n", "t:2:1: time: found '-1', allowed is 0 to 168h");
    REFUSE(TRACE_CSV, "time,rate\n0s,\n", "t:2:4: rate: found '', a rate is a number and a unit: bit kbit mbit gbit");
}

static void large_files_are_read_or_refused(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    cleanup(text_free) struct text rows = {0}, crowd = {0};
    struct link_trace trace;
    text_add(&rows, "time_ms,loss\n");
    for (int i = 0; i < LINK_TRACE_STEPS_MOST; i++)
        text_printf(&rows, "%d,0\n", i);
    read_good(TRACE_CSV, rows.bytes, arena, &trace);
    assert_int_equal(trace.count, LINK_TRACE_STEPS_MOST);
    text_add(&rows, "100000,0\n");
    refuse(TRACE_CSV, rows.bytes, rows.length, "t:100002:1: a trace has at most 100000 lines");
    for (int i = 0; i < 4000000; i++)
        text_add(&crowd, "5\n");
    refuse(TRACE_MAHIMAHI, crowd.bytes, crowd.length,
           "t:4000000:1: from 0 ms on 4000000 packets leave within a bin, allowed is what makes 400gbit");
    struct err err;
    assert_int_equal(link_trace_load(TRACE_CSV, "/dev/zero", arena, &trace, &err), -ERR_USAGE);
    assert_string_equal(err.text, "the trace '/dev/zero' is not a file of at most 16 MiB");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opportunities_become_rates_of_bins),
        cmocka_unit_test(tables_have_units_in_their_values_or_their_columns),
        cmocka_unit_test(what_is_wrong_has_its_place),
        cmocka_unit_test(large_files_are_read_or_refused),
    };
    return cmocka_run_group_tests_name("link_trace", tests, NULL, NULL);
}
