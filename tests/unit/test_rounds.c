/* test_rounds.c: rounds out of the nodes' marks: who was last, where each begins, and which marks are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/err.h"
#include "harness/rounds.h"

static const char *const names[] = {"w0", "w1", "s0"};

static void assert_round(const struct round_summary *summary, uint32_t round, bool warmup, int64_t begin_ns, int64_t end_ns,
                         uint32_t last_node)
{
    assert_int_equal(summary->round, round);
    assert_int_equal(summary->warmup, warmup);
    assert_int_equal(summary->begin_ns, begin_ns);
    assert_int_equal(summary->end_ns, end_ns);
    assert_int_equal(summary->last_node, last_node);
}

#define SHAPE(rounds, warmup) ((const struct rounds_shape){.size_count = 1, .rounds_each = (rounds), .warmup_each = (warmup)})

/* Worked by hand: the end of a round is the latest mark, the begin the end before it. */
static void a_round_lasts_from_last_mark_to_last_mark(void **state)
{
    (void)state;
    const struct round_record marks[3][3] = {
        {{0, 100}, {1, 250}, {2, 900}},
        {{0, 120}, {1, 240}, {2, 260}},
        {{0, 110}, {1, 250}, {2, 900}},
    };
    const struct node_result nodes[] = {
        {.rounds = marks[0], .round_count = 3}, {.rounds = marks[1], .round_count = 3}, {.rounds = marks[2], .round_count = 3}};
    struct round_summary rounds[3];
    assert_int_equal(rounds_summarise(nodes, 3, names, &SHAPE(3, 1), -1, rounds, NULL), 0);
    assert_round(&rounds[0], 0, true, 0, 120, 1);
    assert_round(&rounds[1], 1, false, 120, 250, 0); /* of equals the first */
    assert_round(&rounds[2], 2, false, 250, 900, 0);
    assert_int_equal(rounds_summarise(&nodes[1], 1, &names[1], &SHAPE(3, 3), -1, rounds, NULL), 0);
    assert_round(&rounds[2], 2, true, 240, 260, 0);
    assert_int_equal(rounds_summarise(nodes, 3, names, &SHAPE(0, 0), -1, rounds, &(struct err){0}),
                     -ERR_TRIAL); /* more than asked */
}

/* A node may mark a round while another is still in the one before: no round is negative for that. */
static void rounds_never_overlap(void **state)
{
    (void)state;
    const struct round_record early[] = {{0, 10}, {1, 20}, {2, 30}}, late[] = {{0, 500}, {1, 500}, {2, 501}};
    const struct node_result nodes[] = {{.rounds = early, .round_count = 3}, {.rounds = late, .round_count = 3}};
    struct round_summary rounds[3];
    assert_int_equal(rounds_summarise(nodes, 2, names, &SHAPE(3, 0), -1, rounds, NULL), 0);
    assert_round(&rounds[0], 0, false, 0, 500, 1);
    assert_round(&rounds[1], 1, false, 500, 500, 1);
    assert_round(&rounds[2], 2, false, 500, 501, 1);
}

static void marks_that_are_not_one_a_round_are_refused(void **state)
{
    (void)state;
    static const struct round_record good[] = {{0, 1}, {1, 2}, {2, 3}}, twice[] = {{0, 1}, {0, 2}, {2, 3}},
                                     back[] = {{0, 5}, {1, 4}, {2, 6}}, before[] = {{0, -1}, {1, 4}, {2, 6}};
    static const struct {
        const struct round_record *marks;
        uint32_t count;
        const char *sentence;
    } cases[] = {
        {good, 2, "node w1 reported 2 rounds where 3 were asked"},
        {NULL, 0, "node w1 reported 0 rounds where 3 were asked"},
        {twice, 3, "node w1 reported round 0 where round 1 was due"},
        {back, 3, "node w1 held the model of round 1 before that of round 0"},
        {before, 3, "node w1 held the model of round 0 before the trial's start"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct node_result nodes[] = {{.rounds = good, .round_count = 3},
                                            {.rounds = cases[i].marks, .round_count = cases[i].count}};
        struct round_summary rounds[3];
        memset(rounds, 0x5a, sizeof(rounds));
        const uint8_t untouched[sizeof(rounds)] = {[0 ... sizeof(rounds) - 1] = 0x5a};
        struct err err = {0};
        assert_int_equal(rounds_summarise(nodes, 2, names, &SHAPE(3, 0), -1, rounds, &err), -ERR_TRIAL);
        assert_string_equal(err.text, cases[i].sentence);
        assert_memory_equal(rounds, untouched, sizeof(rounds));
    }
}

/* Two message sizes of two rounds, of which one is warm-up; between 40 and 100 nothing is timed. */
static void every_message_size_begins_anew(void **state)
{
    (void)state;
    const struct round_record quick[] = {{0, 10}, {1, 30}, {2, 120}, {3, 130}}, slow[] = {{0, 20}, {1, 40}, {2, 110}, {3, 170}};
    struct node_result nodes[] = {{.rounds = quick, .round_count = 4}, {.rounds = slow, .round_count = 4}};
    static const int64_t begins_ns[] = {0, 100};
    const struct rounds_shape shape = {.size_count = 2, .rounds_each = 2, .warmup_each = 1, .begins_ns = begins_ns};
    struct round_summary rounds[4];
    assert_int_equal(rounds_summarise(nodes, 2, names, &shape, -1, rounds, NULL), 0);
    assert_round(&rounds[0], 0, true, 0, 20, 1);
    assert_round(&rounds[1], 1, false, 20, 40, 1);
    assert_round(&rounds[2], 2, true, 100, 120, 0);
    assert_round(&rounds[3], 3, false, 120, 170, 1);
    const struct round_record early[] = {{0, 10}, {1, 30}, {2, 90}, {3, 130}};
    struct err err = {0};
    nodes[1].rounds = early;
    assert_int_equal(rounds_summarise(nodes, 2, names, &shape, -1, rounds, &err), -ERR_TRIAL);
    assert_string_equal(err.text, "node w1 held the model of round 2 before its message size began");
}

/* The server's marks alone are the rounds; workers may leave some out, but not go back. */
static void test_rounds_at_server(void **state)
{
    (void)state;
    const struct round_record fast[] = {{0, 11}, {1, 21}, {2, 31}}, slow[] = {{0, 12}, {2, 99}},
                              server[] = {{0, 10}, {1, 20}, {2, 30}};
    struct node_result nodes[] = {
        {.rounds = fast, .round_count = 3}, {.rounds = slow, .round_count = 2}, {.rounds = server, .round_count = 3}};
    struct round_summary rounds[3];
    assert_int_equal(rounds_summarise(nodes, 3, names, &SHAPE(3, 1), 2, rounds, NULL), 0);
    assert_int_equal(rounds[0].end_ns, 10);
    assert_int_equal(rounds[2].begin_ns, 20);
    assert_int_equal(rounds[2].end_ns, 30);
    assert_int_equal(rounds[2].last_node, 2);
    assert_int_equal(rounds_summarise(nodes, 3, names, &SHAPE(3, 1), -1, rounds, &(struct err){0}),
                     -ERR_TRIAL); /* w1 left one out */
    const struct round_record back[] = {{2, 10}, {1, 20}};
    nodes[1].rounds = back;
    assert_int_equal(rounds_summarise(nodes, 3, names, &SHAPE(3, 1), 2, rounds, &(struct err){0}), -ERR_TRIAL);
    nodes[1] = nodes[0];
    nodes[2].round_count = 2;
    assert_int_equal(rounds_summarise(nodes, 3, names, &SHAPE(3, 1), 2, rounds, &(struct err){0}), -ERR_TRIAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_round_lasts_from_last_mark_to_last_mark),
        cmocka_unit_test(every_message_size_begins_anew),
        cmocka_unit_test(rounds_never_overlap),
        cmocka_unit_test(marks_that_are_not_one_a_round_are_refused),
        cmocka_unit_test(test_rounds_at_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
