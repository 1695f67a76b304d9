/* test_crew_ends.c: how a crew ends when agents do nothing: deadlines, stopped agents, ended processes, interruption; and how it
 * begins when it cannot. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/loop.h"
#include "tests/unit/crew_rig.h"

static void silence_ends_at_the_deadline(void **state)
{
    (void)state;
    static const struct {
        enum control_operation at;
        const char *sentence;
    } cases[] = {
        {CONTROL_SETUP, "600 ms after they were told to, these nodes had still to load the data and listen: w1"},
        {CONTROL_CONNECT, "600 ms after they were told to, these nodes had still to connect to the others: w1"},
        {CONTROL_START, "these nodes had still to finish all rounds: w1 (trial_deadline in the campaign file sets the limit)"},
        {CONTROL_COLLECT,
         "600 ms after the start, and after round 3, these nodes had still to evaluate and report: w1 (trial_deadline"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct crew_rig rig = crew_rig_new(fake_be_silent, cases[i].at);
        bool running = cases[i].at == CONTROL_START || cases[i].at == CONTROL_COLLECT;
        *(running ? &rig.run_deadline_ns : &rig.setup_deadline_ns) = SHORT_NS;
        crew_rig_run(&rig);
        crew_rig_assert_failed(&rig, ERR_TRIAL, cases[i].sentence);
    }
}

/* w0 may only wait for the other. */
static void who_is_stopped_is_named_first(void **state)
{
    (void)state;
    struct crew_rig rig = crew_rig_new(fake_be_silent, CONTROL_START);
    rig.agents[0].fault = fake_be_silent;
    rig.agents[0].fault_at = CONTROL_START;
    rig.run_deadline_ns = SHORT_NS;
    rig.stopped = 1U << 1 | 1U << 2; /* of the server nobody waits for anything */
    crew_rig_run(&rig);
    crew_rig_assert_failed(&rig, ERR_TRIAL, "had still to finish all rounds: w1 (its process is stopped), w0 (trial_deadline in");
}

/* An agent that is stopped takes nothing: its SETUP fills the socket. */
static void a_stopped_agent_blocks_nobody(void **state)
{
    (void)state;
    struct crew_rig rig = {.setup_deadline_ns = SHORT_NS, .run_deadline_ns = LONG_NS, .prepared = true};
    int before = crew_rig_count_descriptors(), pair[2];
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    rig.loop = loop_new(NULL);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    struct control_setup setup = {.scheme = "ring", .prepared = fake_prepared(), .prepared_bytes = PREPARED_BYTES};
    struct crew_spec spec = {.setups = &setup,
                             .names = crew_rig_names,
                             .count = 1,
                             .sockets = pair,
                             .loop = rig.loop,
                             .arena = arena,
                             .setup_deadline_ns = SHORT_NS,
                             .run_deadline_ns = LONG_NS};
    struct crew *crew = crew_new(&spec, NULL);
    assert_non_null(crew);
    assert_int_equal(crew_run(crew, &rig.err), -ERR_TRIAL);
    assert_non_null(strstr(rig.err.text, "600 ms after they were told to, these nodes had still to load the data and listen: w0"));
    crew_free(crew);
    loop_free(rig.loop);
    close(pair[1]);
    assert_int_equal(crew_rig_count_descriptors(), before);
}

static bool answer_and_fail_when_told(struct fake_agent *agent)
{
    fake_answer(agent, agent->fault_at);
    sem_wait(agent->go);
    fake_fail_and_close(agent);
    sem_post(agent->gone);
    return true;
}

static bool answer_and_go_when_told(struct fake_agent *agent)
{
    fake_answer(agent, agent->fault_at);
    sem_wait(agent->go);
    sem_post(agent->gone);
    return true;
}

static void an_agents_own_words_win_over_its_exit_status(void **state)
{
    (void)state;
    struct crew_rig rig = crew_rig_new(answer_and_fail_when_told, CONTROL_CONNECT);
    rig.ends_at_start = "exit status 1";
    crew_rig_run(&rig);
    crew_rig_assert_failed(&rig, ERR_TRIAL, "node w1, round 2: the peer w0 is lost: connection reset");
    rig = crew_rig_new(answer_and_go_when_told, CONTROL_CONNECT);
    rig.ends_at_start = "exit status 1";
    crew_rig_run(&rig);
    crew_rig_assert_failed(&rig, ERR_TRIAL,
                           "the agent of node w1 ended (exit status 1) after round 0, when it was to finish all rounds");
}

static void an_interruption_is_told_as_one(void **state)
{
    (void)state;
    struct crew_rig rig = crew_rig_new(fake_be_silent, CONTROL_START);
    rig.interrupt = true;
    crew_rig_run(&rig);
    crew_rig_assert_failed(&rig, ERR_INTERRUPTED, "interrupted after round 3");
}

static void what_ends_a_crew_before_it_runs_is_kept(void **state)
{
    (void)state;
    int pair[2];
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct loop *loop = loop_new(NULL);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    struct control_setup setup = {.scheme = "ring"};
    struct crew_spec spec = {.setups = &setup,
                             .names = crew_rig_names,
                             .count = 1,
                             .sockets = pair,
                             .loop = loop,
                             .arena = arena,
                             .setup_deadline_ns = LONG_NS,
                             .run_deadline_ns = LONG_NS};
    struct crew *crew = crew_new(&spec, NULL);
    struct err reason, err;
    err_set(&reason, ERR_TRIAL, "the relay has ended");
    crew_abandon(crew, &reason);
    assert_int_equal(crew_run(crew, &err), -ERR_TRIAL);
    assert_string_equal(err.text, "the relay has ended");
    crew_free(crew);
    loop_free(loop);
    close(pair[1]);
}

static void a_crew_that_cannot_be_made_closes_its_sockets(void **state)
{
    (void)state;
    int before = crew_rig_count_descriptors(), one[2], two[2];
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct loop *loop = loop_new(NULL);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, one), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, two), 0);
    const int sockets[AGENTS] = {one[0], 1 << 20, two[0]};
    struct control_setup setups[AGENTS] = {0};
    struct crew_spec spec = {
        .setups = setups, .names = crew_rig_names, .count = AGENTS, .sockets = sockets, .loop = loop, .arena = arena};
    struct err err = {0};
    assert_null(crew_new(&spec, &err));
    assert_int_equal(err.kind, ERR_HOST);
    close(one[1]);
    close(two[1]);
    loop_free(loop);
    assert_int_equal(crew_rig_count_descriptors(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(silence_ends_at_the_deadline),
        cmocka_unit_test(who_is_stopped_is_named_first),
        cmocka_unit_test(a_stopped_agent_blocks_nobody),
        cmocka_unit_test(an_agents_own_words_win_over_its_exit_status),
        cmocka_unit_test(an_interruption_is_told_as_one),
        cmocka_unit_test(what_ends_a_crew_before_it_runs_is_kept),
        cmocka_unit_test(a_crew_that_cannot_be_made_closes_its_sockets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
