/* test_programs.c: outside programs: where they are found, what is kept of their output, what their rounds are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "harness/program_output.h"
#include "harness/program_path.h"
#include "harness/program_rounds.h"

/* ---- paths ---- */
static void programs_are_found_as_the_manual_says(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    const char *path = NULL;
    struct err err = {0};
    char *before = getenv("PATH");
    cleanup(free_pointer) char *kept = before ? strdup(before) : NULL;
    setenv("PATH", "/nonexistent:/usr/bin:/bin", 1);
    assert_int_equal(program_path_find("env", "somewhere/c.yaml", arena, &path, &err), 0);
    assert_string_equal(path, "/usr/bin/env");
    assert_int_equal(program_path_find("/usr/bin/env", "somewhere/c.yaml", arena, &path, &err), 0);
    assert_string_equal(path, "/usr/bin/env");
    assert_int_equal(program_path_find("bin/env", "/usr/c.yaml", arena, &path, &err), 0);
    assert_string_equal(path, "/usr/bin/env");
    path = NULL;
    assert_int_equal(program_path_find("no-such", "c.yaml", arena, &path, &err), -ERR_USAGE);
    assert_string_equal(err.text, "cannot run 'no-such': no folder of PATH has a program of that name (PATH is "
                                  "/nonexistent:/usr/bin:/bin)");
    assert_int_equal(program_path_find("./no-such", "/usr/c.yaml", arena, &path, &err), -ERR_USAGE);
    assert_string_equal(err.text, "a path is relative to the campaign file's folder: cannot run /usr/./no-such: "
                                  "No such file or directory");
    assert_int_equal(program_path_find("/usr/bin", "c.yaml", arena, &path, &err), -ERR_USAGE); /* a folder */
    assert_int_equal(program_path_find("bin", "c.yaml", arena, &path, &err), -ERR_USAGE);
    assert_int_equal(program_path_find("/etc/passwd", "c.yaml", arena, &path, &err), -ERR_USAGE);
    assert_string_equal(err.text, "cannot run /etc/passwd (is it executable? `chmod +x` makes it so): Permission denied");
    assert_null(path);
    if (kept)
        setenv("PATH", kept, 1);
}

/* ---- output ---- */
static void take(struct program_output *output, const char *bytes)
{
    program_output_take(output, bytes, strlen(bytes));
}

static void assert_last_line(const struct program_output *output, const char *expected)
{
    cleanup(text_free) struct text line = {0};
    program_output_last_line(output, &line);
    assert_string_equal(line.bytes, expected);
}

static void the_beginning_is_kept_and_the_rest_counted(void **state)
{
    (void)state;
    cleanup(program_output_free) struct program_output output = {0};
    cleanup(text_free) struct text text = {0};
    for (int i = 0; i < 100000; i++)
        take(&output, "0123456789\n");
    take(&output, "the end\n\n");
    assert_int_equal(output.bytes, 1100009);
    assert_true(program_output_truncated(&output));
    program_output_text(&output, &text);
    assert_int_equal(text.length, PROGRAM_OUTPUT_KEPT_BYTES);
    assert_memory_equal(text.bytes, "0123456789\n0123456789\n", 22);
    assert_last_line(&output, "the end");
}

static void bytes_become_text(void **state)
{
    (void)state;
    cleanup(program_output_free) struct program_output output = {0}, limit = {0};
    cleanup(text_free) struct text text = {0}, cut = {0};
    program_output_take(&output, "a\0b\xff\xc3\xa4\xe2\x82", 8); /* a NUL, no UTF-8, a letter, half a letter */
    program_output_text(&output, &text);
    assert_string_equal(text.bytes, "a\xef\xbf\xbd"
                                    "b\xef\xbf\xbd\xc3\xa4\xef\xbf\xbd\xef\xbf\xbd");
    assert_false(program_output_truncated(&output));
    take(&limit, "x"); /* so that the limit falls into a letter of two bytes */
    for (int i = 0; i < PROGRAM_OUTPUT_KEPT_BYTES; i++)
        take(&limit, "\xc3\xa4");
    program_output_text(&limit, &cut);
    assert_int_equal(cut.length, PROGRAM_OUTPUT_KEPT_BYTES - 1);
    assert_memory_equal(cut.bytes + cut.length - 2, "\xc3\xa4", 2);
}

static void the_last_line_is_fit_for_a_message(void **state)
{
    (void)state;
    cleanup(program_output_free) struct program_output output = {0};
    assert_last_line(&output, "");
    take(&output, "\n \n");
    assert_last_line(&output, "");
    take(&output, "fatal: \x1b[31mred\x1b[0m \xff\r\n");
    assert_last_line(&output, "fatal: ?[31mred?[0m \xef\xbf\xbd");
    for (int i = 0; i < 1000; i++)
        take(&output, "\xc3\xa4");
    cleanup(text_free) struct text line = {0};
    program_output_last_line(&output, &line);
    assert_int_equal(line.length, PROGRAM_OUTPUT_TAIL_BYTES);
    assert_memory_equal(line.bytes, "\xc3\xa4\xc3\xa4", 4);
}

/* ---- rounds ---- */
static const char *const names[] = {"w0", "w1", "w2"};
static const int64_t ends[] = {700, 900, 800};

static int rounds_of(struct node_result *nodes, int warmup, struct arena *arena, const struct round_summary **rounds, int *count,
                     struct err *err)
{
    return program_rounds(nodes, 3, names, ends, warmup, arena, rounds, count, err);
}

static void rounds_are_of_those_that_report(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    const struct round_record first[] = {{0, 100}, {1, 250}}, last[] = {{0, 110}, {1, 240}};
    struct node_result nodes[] = {{.round_count = 0}, {.rounds = first, .round_count = 2}, {.rounds = last, .round_count = 2}};
    const struct round_summary *rounds = NULL;
    int count = 0;
    assert_int_equal(rounds_of(nodes, 1, arena, &rounds, &count, NULL), 0);
    assert_int_equal(count, 2);
    assert_true(rounds[0].warmup && rounds[0].begin_ns == 0 && rounds[0].end_ns == 110 && rounds[0].last_node == 2);
    assert_true(!rounds[1].warmup && rounds[1].begin_ns == 110 && rounds[1].end_ns == 250 && rounds[1].last_node == 1);
    assert_int_equal(nodes[0].round_count, 0);
}

static void a_silent_run_is_one_round(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct node_result nodes[3] = {0};
    const struct round_summary *rounds = NULL;
    int count = 0;
    assert_int_equal(rounds_of(nodes, 4, arena, &rounds, &count, NULL), 0); /* there is no warm-up to leave out */
    assert_int_equal(count, 1);
    assert_true(!rounds[0].warmup && rounds[0].begin_ns == 0 && rounds[0].end_ns == 900 && rounds[0].last_node == 1);
    assert_true(nodes[2].round_count == 1 && nodes[2].rounds[0].held_ns == 800);
}

static void rounds_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    const struct round_record marks[] = {{0, 100}, {1, 250}};
    const struct span_record span = {.round = 2};
    struct node_result unequal[] = {{.rounds = marks, .round_count = 2}, {.rounds = marks, .round_count = 1}, {0}};
    struct node_result equal[] = {{.rounds = marks, .round_count = 2}, {0}, {.spans = &span, .span_count = 1}};
    struct node_result warm[] = {{.rounds = marks, .round_count = 2}, {0}, {0}};
    const struct round_summary *rounds = NULL;
    int count = -7;
    struct err err = {0};
    assert_int_equal(rounds_of(unequal, 0, arena, &rounds, &count, &err), -ERR_TRIAL);
    assert_string_equal(err.text, "node w0 reported 2 rounds and node w1 1: those that report any must report as many");
    assert_int_equal(rounds_of(equal, 0, arena, &rounds, &count, &err), -ERR_TRIAL);
    assert_string_equal(err.text, "node w2 reported a span of round 2, but the trial had 2 rounds");
    assert_int_equal(rounds_of(warm, 2, arena, &rounds, &count, &err), -ERR_TRIAL);
    assert_string_equal(err.text, "2 rounds reported, 2 for warm-up: none is left to measure");
    assert_true(!rounds && count == -7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_are_found_as_the_manual_says),
        cmocka_unit_test(the_beginning_is_kept_and_the_rest_counted),
        cmocka_unit_test(bytes_become_text),
        cmocka_unit_test(the_last_line_is_fit_for_a_message),
        cmocka_unit_test(rounds_are_of_those_that_report),
        cmocka_unit_test(a_silent_run_is_one_round),
        cmocka_unit_test(rounds_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests_name("programs", tests, NULL, NULL);
}
