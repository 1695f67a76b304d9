/* test_crew_hostile.c: agents that mean harm: they flood, lie about lengths, tell of a billion rounds, speak for others, and never
 * stop. Each ends its own trial, soon, with a sentence, and takes no more memory than its messages may have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/frame.h"
#include "tests/unit/crew_rig.h"

enum { FLOOD_MESSAGES = 2000000, MEMORY_MOST = 8 << 20 };
static const int64_t SOON_NS = 30 * NS_PER_S; /* on any host: half of the deadline, which would end it, too */

static bool tell(struct fake_agent *agent, uint32_t rounds_done)
{
    struct control_progress progress = {.rounds_done = rounds_done};
    fake_send(agent, CONTROL_PROGRESS, &progress);
    return true;
}

/* As long as somebody reads. */
static bool flood_with(struct fake_agent *agent, const void *bytes, size_t length)
{
    for (int i = 0; i < FLOOD_MESSAGES; i++)
        if (send(agent->fd, bytes, length, MSG_NOSIGNAL) < 0)
            break;
    return false;
}

static bool flood_with_progress(struct fake_agent *agent)
{
    static const uint8_t same[] = {12, 0, 0, 0, CONTROL_PROGRESS, 0, CONTROL_VERSION, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    return flood_with(agent, same, sizeof(same));
}

static bool flood_with_failures(struct fake_agent *agent)
{
    static const uint8_t same[] = {12, 0, 0, 0, CONTROL_FAILURE, 0, CONTROL_VERSION, 0, 2, 0, 0, 0, 4, 0, 0, 0, 'm', 'i', 'n', 'e'};
    return flood_with(agent, same, sizeof(same));
}

static bool flood_inside_a_body(struct fake_agent *agent)
{
    static uint8_t much[1 << 16] = {0xff, 0xff, 0xff, 0x03, CONTROL_REPORT, 0, CONTROL_VERSION, 0}; /* 64 MiB are claimed */
    return flood_with(agent, much, sizeof(much));
}

static bool tell_of_a_billion(struct fake_agent *agent)
{
    return tell(agent, 1000000000);
}

static bool tell_backwards(struct fake_agent *agent)
{
    return tell(agent, 2) && tell(agent, 1);
}

static bool tell_twice(struct fake_agent *agent)
{
    return tell(agent, 2) && tell(agent, 2);
}

static bool fail_in_colour(struct fake_agent *agent)
{
    struct control_failure failure = {.text = "\033[2J\033]0;owned\a gone\xc2\x9b"};
    fake_send(agent, CONTROL_FAILURE, &failure);
    return false;
}

static bool listen_with(struct fake_agent *agent, struct control_listening listening)
{
    fake_send(agent, CONTROL_LISTENING, &listening);
    return true;
}

static bool listen_without_a_number(struct fake_agent *agent)
{
    return listen_with(agent, (struct control_listening){.gradient_ns = NAN});
}

static bool listen_before_the_start(struct fake_agent *agent)
{
    return listen_with(agent, (struct control_listening){.gradient_ns = -1});
}

/* Ten days: the deadline that follows from it would come after years of silence. */
static bool listen_with_a_long_gradient(struct fake_agent *agent)
{
    return listen_with(agent, (struct control_listening){.gradient_ns = 864e12});
}

static bool listen_with_a_huge_model(struct fake_agent *agent)
{
    return listen_with(agent, (struct control_listening){.parameter_count = UINT64_MAX});
}

static bool listen_in_colour(struct fake_agent *agent)
{
    return listen_with(agent, (struct control_listening){.blas = "Open\033[31mBLAS"});
}

static bool report_huge_counters(struct fake_agent *agent)
{
    struct control_report report;
    fake_report(agent->node, &report);
    report.counters.received_messages = UINT64_MAX;
    fake_send(agent, CONTROL_REPORT, &report);
    return true;
}

static bool report_the_end_of_time(struct fake_agent *agent)
{
    static struct round_record rounds[ROUNDS] = {{.held_ns = INT64_MIN}};
    struct control_report report;
    fake_report(agent->node, &report);
    report.rounds = rounds;
    fake_send(agent, CONTROL_REPORT, &report);
    return true;
}

static bool report_sums_that_run_over(struct fake_agent *agent)
{
    static struct span_record spans[9];
    for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++)
        spans[i] = (struct span_record){.peer = NO_PEER, .bytes = UINT64_C(1) << 55};
    struct control_report report;
    fake_report(agent->node, &report);
    report.spans = spans;
    report.span_count = sizeof(spans) / sizeof(spans[0]);
    fake_send(agent, CONTROL_REPORT, &report);
    return true;
}

static bool report_with(struct fake_agent *agent, double loss, double accuracy)
{
    const struct evaluation_record evaluation = {.loss = loss, .accuracy = accuracy};
    struct control_report report;
    fake_report(agent->node, &report);
    report.evaluations = &evaluation;
    report.evaluation_count = 1;
    fake_send(agent, CONTROL_REPORT, &report);
    return true;
}

static bool report_a_huge_loss(struct fake_agent *agent)
{
    return report_with(agent, -1e300, 0.5);
}

static bool report_more_than_all(struct fake_agent *agent)
{
    return report_with(agent, 1, 1.25);
}

static bool report_less_than_nothing(struct fake_agent *agent)
{
    return report_with(agent, 1, -INFINITY);
}

/* Others may write on its socket when its process has ended, if the program is not ours. */
static bool end_and_flood(struct fake_agent *agent)
{
    ssize_t written = write(agent->ended_fd, "\1", 1);
    (void)written;
    return flood_with_progress(agent);
}

static void harm_ends_the_trial_soon_and_costs_little(void **state)
{
    (void)state;
    static const struct {
        fake_fault *fault;
        enum control_operation at;
        const char *sentence;
    } cases[] = {
        {flood_with_progress, CONTROL_START, "node w1: it told of rounds, which only node w0 does"},
        {flood_with_progress, CONTROL_COLLECT, "node w1: it "},
        {flood_with_failures, CONTROL_SETUP, "node w1, round 2: mine"},
        {flood_with_failures, CONTROL_START, "node w1, round 2: mine"},
        {flood_inside_a_body, CONTROL_SETUP, "node w1: a message claims 67108863 bytes (operation 9, version"},
        {flood_inside_a_body, CONTROL_START, "node w1: a message claims 67108863 bytes (operation 9, version"},
        {fail_in_colour, CONTROL_START, "node w1, round 0: ?[2J?]0;owned? gone?"},
        {listen_without_a_number, CONTROL_SETUP, "node w1: it says that a gradient takes"},
        {listen_before_the_start, CONTROL_SETUP, "node w1: it says that a gradient takes -1 ns, allowed are 0 to 1e+15"},
        {listen_with_a_long_gradient, CONTROL_SETUP, "node w1: it says that a gradient takes 8.64e+14 ns, and needed "},
        {listen_with_a_huge_model, CONTROL_SETUP, "node w1: it says that its model has 18446744073709551615 floats"},
        {listen_in_colour, CONTROL_SETUP, "node w1: the name of its BLAS library has the byte 27 at position 4"},
        {report_huge_counters, CONTROL_COLLECT, "node w1: its report cannot be true: counters 0: received_messages is 184467440"},
        {report_the_end_of_time, CONTROL_COLLECT, "node w1: its report cannot be true: rounds 0: held_ns is 9223372036854775808"},
        {report_sums_that_run_over, CONTROL_COLLECT, "node w1: its report cannot be true: spans up to number 4 come to"},
        {report_a_huge_loss, CONTROL_COLLECT, "node w1: its report cannot be true: evaluation 0 has a loss of -1e+300"},
        {report_more_than_all, CONTROL_COLLECT, "node w1: its report cannot be true: evaluation 0 has an accuracy of 1.25"},
        {report_less_than_nothing, CONTROL_COLLECT, "node w1: its report cannot be true: evaluation 0 has an accuracy of -inf"},
        {end_and_flood, CONTROL_START, "node w1"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct crew_rig rig = crew_rig_new(cases[i].fault, cases[i].at);
        int64_t begin_ns = clock_now_ns();
        crew_rig_run(&rig);
        if (clock_now_ns() - begin_ns > SOON_NS)
            fail_msg("case %zu took %lld ms", i, (long long)((clock_now_ns() - begin_ns) / NS_PER_MS));
        if (arena_bytes(rig.arena) > MEMORY_MOST)
            fail_msg("case %zu took %zu bytes", i, arena_bytes(rig.arena));
        crew_rig_assert_failed(&rig, ERR_TRIAL, cases[i].sentence);
    }
}

static void who_tells_of_rounds_tells_of_more_each_time(void **state)
{
    (void)state;
    static const struct {
        fake_fault *fault;
        const char *sentence;
    } cases[] = {
        {tell_of_a_billion, "node w0: it told that 1000000000 rounds are done, when 0 of 4 were"},
        {tell_backwards, "node w0: it told that 1 rounds are done, when 2 of 4 were"},
        {tell_twice, "node w0: it told that 2 rounds are done, when 2 of 4 were"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct crew_rig rig = crew_rig_new(NULL, 0);
        rig.agents[0].fault = cases[i].fault;
        rig.agents[0].fault_at = CONTROL_START;
        crew_rig_run(&rig);
        crew_rig_assert_failed(&rig, ERR_TRIAL, cases[i].sentence);
    }
}

/* A worker that may be lost fails again and again while the crew waits for what its server says. */
static void a_flood_of_one_that_may_be_lost_ends_soon(void **state)
{
    (void)state;
    struct crew_rig rig = crew_rig_new(flood_with_failures, CONTROL_START);
    rig.expendable = 2;
    int64_t begin_ns = clock_now_ns();
    crew_rig_run(&rig);
    assert_true(clock_now_ns() - begin_ns < SOON_NS);
    assert_true(arena_bytes(rig.arena) < MEMORY_MOST);
    crew_rig_assert_failed(&rig, ERR_TRIAL, "node w1, round 2: mine");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(harm_ends_the_trial_soon_and_costs_little),
        cmocka_unit_test(who_tells_of_rounds_tells_of_more_each_time),
        cmocka_unit_test(a_flood_of_one_that_may_be_lost_ends_soon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
