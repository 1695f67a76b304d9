/* test_crew_losses.c: a crew whose workers may be lost: it goes on without them, tells the others and says so; with nobody else
 * lost, and not before the rounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <unistd.h>

#include "base/frame.h"
#include "tests/unit/crew_rig.h"

/* START comes a little before the hour, and only then the rounds have begun. */
static void await_the_start(const struct fake_agent *agent)
{
    while (clock_now_ns() < agent->start.start_ns)
        usleep(1000);
}

static bool close_socket(struct fake_agent *agent)
{
    await_the_start(agent);
    return false;
}

static bool end_and_close(struct fake_agent *agent)
{
    char node = (char)agent->node;
    await_the_start(agent);
    return write(agent->ended_fd, &node, 1) != 1;
}

static bool answer_and_close(struct fake_agent *agent)
{
    await_the_start(agent);
    fake_answer(agent, agent->fault_at);
    return false;
}

static bool babble(struct fake_agent *agent)
{
    frame_send(agent->fd, 77, CONTROL_VERSION, NULL, 0, NULL);
    return true;
}

static void the_others_go_on(void **state)
{
    (void)state;
    static const struct {
        fake_fault *fault;
        enum control_operation at;
        bool told; /* after the rounds nobody has to know */
        const char *sentence;
    } cases[] = {
        {close_socket, CONTROL_START, true, "node w1 is lost: it closed its control socket after round "},
        {answer_and_close, CONTROL_START, false, "node w1 is lost: it closed its control socket after round "},
        {end_and_close, CONTROL_START, true, "node w1 is lost: its agent ended (killed by SIGSEGV) after round "},
        {end_and_close, CONTROL_COLLECT, false,
         "after round 3; the others go on"}, /* the last report may be there before the process' end */
        {fake_be_silent, CONTROL_START, true,
         "node w1 is lost: when nothing was left but to finish all rounds, it did not answer after round 3; the others go on"},
        {close_socket, CONTROL_SIZE, true, "node w1 is lost: it closed its control socket after round 1"},
        {fake_be_silent, CONTROL_SIZE, true,
         "node w1 is lost: when nothing was left but to make ready for the next message size, it did not answer after round 1"},
        {fake_be_silent, CONTROL_COLLECT, false,
         "node w1 is lost: when nothing was left but to evaluate and report, it did not answer after round 3"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct crew_rig rig = crew_rig_new(cases[i].fault, cases[i].at);
        rig.expendable = 2;
        rig.size_count = cases[i].at == CONTROL_SIZE ? 2 : 0;
        crew_rig_run(&rig);
        if (rig.result != 0)
            fail_msg("case %zu: %s", i, rig.err.text);
        const struct crew_loss *loss = crew_loss(rig.crew, 1);
        struct crew_times times = crew_times(rig.crew);
        assert_non_null(loss);
        if (!strstr(loss->sentence, cases[i].sentence))
            fail_msg("found \"%s\", awaited \"%s\"", loss->sentence, cases[i].sentence);
        assert_true(loss->at_ns > times.ready_ns);
        assert_null(crew_loss(rig.crew, 0));
        assert_null(crew_loss(rig.crew, 2));
        assert_int_equal(rig.after_done_count, 1);
        for (int node = 0; node < AGENTS; node += 2) {
            assert_true(rig.agents[node].quit);
            if (cases[i].told)
                assert_int_equal(rig.agents[node].peers_lost, 1U << 1);
            assert_false(rig.agents[node].peer_before_start);
            if (cases[i].at == CONTROL_COLLECT)
                assert_int_equal(rig.agents[node].peers_lost, 0);
        }
        if (cases[i].fault == fake_be_silent && cases[i].at == CONTROL_START) {
            assert_int_equal(rig.ending_count, 1);
            assert_true(loss->at_ns - times.done_ns >= SHORT_NS / 4); /* the wait is no part of the rounds */
        }
        crew_rig_assert_good(&rig);
    }
}

static void both_workers_may_be_lost(void **state)
{
    (void)state;
    struct crew_rig rig = crew_rig_new(end_and_close, CONTROL_START);
    rig.agents[0].fault = fake_be_silent;
    rig.agents[0].fault_at = CONTROL_START;
    rig.expendable = 2;
    crew_rig_run(&rig);
    assert_int_equal(rig.result, 0);
    assert_true(crew_loss(rig.crew, 0) && crew_loss(rig.crew, 1) && !crew_loss(rig.crew, 2));
    crew_rig_assert_good(&rig);
}

static bool answer_and_go_when_told(struct fake_agent *agent)
{
    fake_answer(agent, agent->fault_at);
    sem_wait(agent->go);
    sem_post(agent->gone);
    return false;
}

static void a_loss_just_before_the_start_ends_the_trial(void **state)
{
    (void)state;
    struct crew_rig rig = crew_rig_new(answer_and_go_when_told, CONTROL_CONNECT);
    rig.expendable = 2;
    rig.ends_at_start = "killed by SIGKILL";
    crew_rig_run(&rig);
    crew_rig_assert_failed(&rig, ERR_TRIAL, "the agent of node w1 ended (killed by SIGKILL) after round 0, when it was to finish");
}

static void what_still_ends_a_trial(void **state)
{
    (void)state;
    static const struct {
        int node;
        fake_fault *fault;
        enum control_operation at;
        const char *sentence;
    } cases[] = {
        {1, end_and_close, CONTROL_SETUP, "the agent of node w1 ended (killed by SIGSEGV) after round 0, when it was to load"},
        {1, close_socket, CONTROL_CONNECT, "node w1 closed its control socket after round 0, when it was to connect to the others"},
        {2, end_and_close, CONTROL_START, "the agent of node s0 ended (killed by SIGSEGV)"},
        {2, close_socket, CONTROL_COLLECT, "node s0 closed its control socket after round 3"},
        {1, babble, CONTROL_START, "node w1: it sent operation 77, which no agent sends"},
        {1, fake_fail_and_close, CONTROL_START, "node w1, round 2: the peer w0 is lost: connection reset"},
        {2, fake_fail_and_close, CONTROL_START, "node s0, round 2: the peer w0 is lost: connection reset"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct crew_rig rig = crew_rig_new(NULL, 0);
        rig.agents[cases[i].node].fault = cases[i].fault;
        rig.agents[cases[i].node].fault_at = cases[i].at;
        rig.expendable = 2;
        crew_rig_run(&rig);
        crew_rig_assert_failed(&rig, ERR_TRIAL, cases[i].sentence);
    }
}

static bool fail_before_the_server(struct fake_agent *agent)
{
    fake_fail_and_close(agent);
    sem_post(agent->go);
    return false;
}

static bool end_after_a_worker(struct fake_agent *agent)
{
    sem_wait(agent->go);
    return end_and_close(agent);
}

/* Workers that lose their server fail: what they say is not the reason. */
static void a_servers_end_says_more_than_a_workers_failure(void **state)
{
    (void)state;
    struct crew_rig rig = crew_rig_new(fail_before_the_server, CONTROL_START);
    rig.agents[2].fault = end_after_a_worker;
    rig.agents[2].fault_at = CONTROL_START;
    rig.expendable = 2;
    crew_rig_run(&rig);
    crew_rig_assert_failed(&rig, ERR_TRIAL, "the agent of node s0 ended (killed by SIGSEGV)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_others_go_on),
        cmocka_unit_test(both_workers_may_be_lost),
        cmocka_unit_test(a_loss_just_before_the_start_ends_the_trial),
        cmocka_unit_test(what_still_ends_a_trial),
        cmocka_unit_test(a_servers_end_says_more_than_a_workers_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
