/* test_program_report.c: the lines that outside programs report: golden lines, times, bounds, and the sentence for each fault. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "harness/program_report.h"

/* A trial whose programs could begin at 1000, all had at 2000; now it is 9000. */
static const struct program_report fresh = {.earliest_ns = 1000, .start_ns = 2000, .rounds_most = 5, .spans_most = 3};
enum { NOW = 9000 };

static int feed(struct program_report *report, const char *text, struct err *err)
{
    return program_report_feed(report, text, strlen(text), NOW, err);
}

static void lines_become_records(void **state)
{
    (void)state;
    cleanup(program_report_free) struct program_report report = fresh;
    assert_int_equal(feed(&report,
                          "span compute 0 2100 2500\n"
                          "span send 0 2500 3000 1048576\n"
                          "round 0 3000\n"
                          "span evaluate 4 1500 9000 0\n"
                          "round 1\n",
                          NULL),
                     0);
    assert_int_equal(program_report_finish(&report, NULL), 0);
    assert_int_equal(report.round_count, 2);
    assert_true(report.rounds[0].round == 0 && report.rounds[0].held_ns == 1000);
    assert_true(report.rounds[1].round == 1 && report.rounds[1].held_ns == NOW - 2000);
    assert_int_equal(report.span_count, 3);
    const struct span_record *span = report.spans;
    assert_true(span[0].kind == SPAN_COMPUTE && span[0].begin_ns == 100 && span[0].end_ns == 500 && span[0].bytes == 0);
    assert_true(span[1].kind == SPAN_SEND && span[1].round == 0 && span[1].bytes == 1048576 && span[1].peer == NO_PEER);
    assert_true(span[2].kind == SPAN_EVALUATE && span[2].round == 4 && span[2].end_ns == 7000);
    assert_int_equal(span[2].begin_ns, 0); /* before all were started counts as when they were */
}

static void pieces_make_the_same_lines(void **state)
{
    (void)state;
    const char text[] = "round 0 2500\nspan wait 0 2100 2200 7\nround 1 2600\n";
    for (size_t piece = 1; piece < sizeof(text); piece++) {
        cleanup(program_report_free) struct program_report report = fresh;
        for (size_t at = 0; at < sizeof(text) - 1; at += piece) {
            size_t length = sizeof(text) - 1 - at < piece ? sizeof(text) - 1 - at : piece;
            assert_int_equal(program_report_feed(&report, text + at, length, NOW, NULL), 0);
        }
        assert_int_equal(program_report_finish(&report, NULL), 0);
        assert_true(report.round_count == 2 && report.span_count == 1 && report.spans[0].bytes == 7);
    }
}

static void spans_that_are_not_kept_are_checked(void **state)
{
    (void)state;
    cleanup(program_report_free) struct program_report report = fresh;
    report.drop_spans = true;
    for (int i = 0; i < 10; i++)
        assert_int_equal(feed(&report, "span send 0 2500 3000\n", NULL), 0);
    assert_true(report.span_count == 0 && !report.spans);
    assert_int_equal(feed(&report, "span send 0 3000 2500\n", NULL), -ERR_TRIAL);
}

static void each_fault_has_its_sentence(void **state)
{
    (void)state;
    static const struct {
        const char *text, *sentence;
    } faults[] = {
        {"\n", "line 1: found '', a line is: round N [NS], or: span KIND ROUND BEGIN_NS END_NS [BYTES]"},
        {"round 0\nrond 1\n", "line 2: found 'rond 1', a line is: round N [NS], or: span KIND ROUND BEGIN_NS END_NS [BYTES]"},
        {"round\n", "line 1: found 'round', the line's form is: round N [NS]"},
        {"round 0 3000 1\n", "line 1: found 'round 0 3000 1', the line's form is: round N [NS]"},
        {"round  0\n", "line 1: word 2: found '', a whole number is needed"},
        {"round 0 \n", "line 1: word 3: found '', a whole number is needed"},
        {"round 0\r\n", "line 1: word 2: found '0?', a whole number is needed, '?' is too much"},
        {"round -1\n", "line 1: word 2: found '-1', allowed is 0 to 4294967295"},
        {"round 1\n", "line 1: found round 1, round 0 was due"},
        {"round 0\nround 0\n", "line 2: found round 0, round 1 was due"},
        {"round 0 4000\nround 1 3000\n", "line 2: round 1 was over before the round before it"},
        {"round 0 999\n",
         "line 1: word 3: 999 is no time of CLOCK_MONOTONIC in ns between the program's start and now, which are 1000 and 9000"},
        {"round 0 9001\n",
         "line 1: word 3: 9001 is no time of CLOCK_MONOTONIC in ns between the program's start and now, which are 1000 and 9000"},
        {"round 0\nround 1\nround 2\nround 3\nround 4\nround 5\n", "line 6: a node may report 5 rounds at most here"},
        {"span walk 0 2000 3000\n",
         "line 1: word 2: there is no kind of span 'walk': compute, send, receive, reduce, apply, wait, evaluate"},
        {"span send 0 2000\n", "line 1: found 'span send 0 2000', the line's form is: span KIND ROUND BEGIN_NS END_NS [BYTES]"},
        {"span send 5 2000 3000\n", "line 1: word 3: found '5', allowed is 0 to 4"},
        {"span send 0 3000 2000\n", "line 1: the span ends before it begins"},
        {"span send 0 2000 3000 1e6\n", "line 1: word 6: found '1e6', a whole number is needed, 'e6' is too much"},
        {"span send 0 2000 3000 1 2 3\n",
         "line 1: found 'span send 0 2000 3000 1 2 3', the line's form is: span KIND ROUND BEGIN_NS END_NS [BYTES]"},
        {"span send 0 2000 3000\nspan send 0 2000 3000\nspan send 0 2000 3000\nspan send 0 2000 3000\n",
         "line 4: a node may report 3 spans at most here"},
        {"\x1b[31mred\n", "line 1: found '?[31mred', a line is: round N [NS], or: span KIND ROUND BEGIN_NS END_NS [BYTES]"},
    };
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        cleanup(program_report_free) struct program_report report = fresh;
        struct err err = {0};
        assert_int_equal(feed(&report, faults[i].text, &err), -ERR_TRIAL);
        assert_string_equal(err.text, faults[i].sentence);
    }
}

static void lines_are_bounded_and_whole(void **state)
{
    (void)state;
    cleanup(program_report_free) struct program_report report = fresh, nul = fresh, cut = fresh;
    cleanup(text_free) struct text text = {0};
    struct err err = {0};
    text_add(&text, "round 0\n");
    for (int i = 0; i < 1 << 20; i++)
        text_add_bytes(&text, "x", 1);
    assert_int_equal(feed(&report, text.bytes, &err), -ERR_TRIAL);
    assert_string_equal(err.text, "line 2: it is longer than 200 bytes");
    assert_int_equal(program_report_feed(&nul, "round 0\0 1\n", 11, NOW, &err), -ERR_TRIAL);
    assert_string_equal(err.text, "line 1: it holds a NUL");
    assert_int_equal(feed(&cut, "round 0\nround 1", &err), 0);
    assert_int_equal(program_report_finish(&cut, &err), -ERR_TRIAL);
    assert_string_equal(err.text, "line 2: it does not end with a newline");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_become_records),
        cmocka_unit_test(pieces_make_the_same_lines),
        cmocka_unit_test(spans_that_are_not_kept_are_checked),
        cmocka_unit_test(each_fault_has_its_sentence),
        cmocka_unit_test(lines_are_bounded_and_whole),
    };
    return cmocka_run_group_tests_name("program_report", tests, NULL, NULL);
}
