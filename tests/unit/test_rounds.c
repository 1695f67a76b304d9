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
    assert_int_equal(rounds_summarise(nodes, 3, names, 3, 1, rounds, NULL), 0);
    assert_round(&rounds[0], 0, true, 0, 120, 1);
    assert_round(&rounds[1], 1, false, 120, 250, 0); /* of equals the first */
    assert_round(&rounds[2], 2, false, 250, 900, 0);
    assert_int_equal(rounds_summarise(&nodes[1], 1, &names[1], 3, 3, rounds, NULL), 0);
    assert_round(&rounds[2], 2, true, 240, 260, 0);
    assert_int_equal(rounds_summarise(nodes, 3, names, 0, 0, rounds, &(struct err){0}), -ERR_TRIAL); /* more than asked */
}

/* A node may mark a round while another is still in the one before: no round is negative for that. */
static void rounds_never_overlap(void **state)
{
    (void)state;
    const struct round_record early[] = {{0, 10}, {1, 20}, {2, 30}}, late[] = {{0, 500}, {1, 500}, {2, 501}};
    const struct node_result nodes[] = {{.rounds = early, .round_count = 3}, {.rounds = late, .round_count = 3}};
    struct round_summary rounds[3];
    assert_int_equal(rounds_summarise(nodes, 2, names, 3, 0, rounds, NULL), 0);
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
        assert_int_equal(rounds_summarise(nodes, 2, names, 3, 0, rounds, &err), -ERR_TRIAL);
        assert_string_equal(err.text, cases[i].sentence);
        assert_memory_equal(rounds, untouched, sizeof(rounds));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_round_lasts_from_last_mark_to_last_mark),
        cmocka_unit_test(rounds_never_overlap),
        cmocka_unit_test(marks_that_are_not_one_a_round_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
