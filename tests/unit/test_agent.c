/* test_agent.c: the agent's side of the control protocol, in a child process: the whole life of one node, and the sandbox it ends
 * in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agents/sandbox.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/frame.h"
#include "base/text.h"
#include "schemas/control.h"
#include "tests/receive.h"
#include "tests/unit/agent_rig.h"

static void one_node_lives_from_setup_to_quit(void **state)
{
    (void)state;
    struct agent_rig rig;
    agent_rig_open(&rig);
    struct control_setup setup = agent_rig_setup();
    agent_rig_say(&rig, CONTROL_SETUP, CONTROL_VERSION, &setup);
    struct control_listening listening;
    assert_int_equal(agent_rig_hear(&rig, &listening), CONTROL_LISTENING);
    assert_int_equal(listening.parameter_count, 100);
    assert_string_equal(listening.blas, "");
    agent_rig_say(&rig, CONTROL_CONNECT, CONTROL_VERSION, NULL);
    assert_int_equal(agent_rig_hear(&rig, NULL), CONTROL_READY);
    struct control_start start = {.start_ns = clock_now_ns() + 5 * NS_PER_MS};
    agent_rig_say(&rig, CONTROL_START, CONTROL_VERSION, &start);
    assert_int_equal(agent_rig_hear(&rig, NULL), CONTROL_DONE);
    assert_true(clock_now_ns() >= start.start_ns + 3 * NS_PER_MS);
    agent_rig_say(&rig, CONTROL_COLLECT, CONTROL_VERSION, NULL);
    struct control_report report;
    assert_int_equal(agent_rig_hear(&rig, &report), CONTROL_REPORT);
    assert_int_equal(report.round_count, 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_true(report.rounds[i].round == i && report.rounds[i].held_ns >= (i + 1) * NS_PER_MS);
    assert_int_equal(report.counters.compute_tasks, 3);
    assert_true(report.counters.checks > 0 && report.counters.check_failures == 0);
    assert_true(report.counters.peak_rss_bytes > 0);
    bool counted = report.counters.loop_busy_ns > 0 && report.counters.loop_wait_ns >= 0;
    assert_true(counted || (report.counters.loop_busy_ns == -1 && report.counters.loop_wait_ns == -1)); /* as the kernel has it */
    assert_true(report.counters.compute_busy_ns == 0 && report.counters.compute_wait_ns == 0); /* no real gradients, no thread */
    assert_true(report.sample_count >= 1 && report.samples[0].at_ns >= NS_PER_MS);             /* three rounds take 3 ms */
    assert_int_equal(report.samples[0].connections, 0);                                        /* to nobody */
    assert_int_equal(report.counters.samples_lost, 0);
    assert_int_equal(report.model_sha256_bytes, 32);
    agent_rig_say(&rig, CONTROL_QUIT, CONTROL_VERSION, NULL);
    assert_int_equal(agent_rig_hear(&rig, NULL), -1);
    assert_int_equal(agent_rig_close(&rig), 0);
}

static void message_sizes_follow_each_other(void **state)
{
    (void)state;
    static const struct control_message_size sizes[] = {{.bytes = 400}, {.bytes = 4}, {.bytes = 40000}};
    struct agent_rig rig;
    agent_rig_open(&rig);
    struct control_setup setup = agent_rig_setup();
    setup.sizes = sizes;
    setup.size_count = 3;
    setup.size_bytes = 0;
    agent_rig_say(&rig, CONTROL_SETUP, CONTROL_VERSION, &setup);
    assert_int_equal(agent_rig_hear(&rig, NULL), CONTROL_LISTENING);
    agent_rig_say(&rig, CONTROL_CONNECT, CONTROL_VERSION, NULL);
    int64_t first_ns = 0, last_ns = 0;
    for (uint32_t position = 0; position < 3; position++) {
        assert_int_equal(agent_rig_hear(&rig, NULL), CONTROL_READY);
        struct control_start start = {.start_ns = clock_now_ns() + 2 * NS_PER_MS};
        agent_rig_say(&rig, CONTROL_START, CONTROL_VERSION, &start);
        assert_int_equal(agent_rig_hear(&rig, NULL), CONTROL_DONE);
        first_ns = position == 0 ? start.start_ns : first_ns;
        last_ns = start.start_ns;
        if (position < 2)
            agent_rig_say(&rig, CONTROL_SIZE, CONTROL_VERSION, &(struct control_size){.position = position + 1});
    }
    agent_rig_say(&rig, CONTROL_COLLECT, CONTROL_VERSION, NULL);
    struct control_report report;
    assert_int_equal(agent_rig_hear(&rig, &report), CONTROL_REPORT);
    assert_int_equal(report.round_count, 9);
    for (uint32_t i = 0; i < 9; i++)
        assert_int_equal(report.rounds[i].round, i);
    assert_true(report.rounds[6].held_ns >= last_ns - first_ns + NS_PER_MS); /* times count from the first start */
    assert_int_equal(report.counters.compute_tasks, 9);
    assert_true(report.counters.checks >= 100 + 1 + 10000 && report.counters.check_failures == 0);
    for (uint32_t i = 0; i < report.span_count; i++)
        assert_true(report.spans[i].round < 9);
    agent_rig_say(&rig, CONTROL_QUIT, CONTROL_VERSION, NULL);
    assert_int_equal(agent_rig_close(&rig), 0);
}

static void the_digest_is_sha256_of_the_last_sum(void **state)
{
    (void)state;
    /* One element, one worker: -30 + 1 + 2 mod 97 = -27 as a float, c1d80000: what sha256sum says of the bytes 00 00 d8 c1. */
    static const uint8_t expected[32] = {0x3d, 0x32, 0xd2, 0x30, 0x5d, 0x15, 0x39, 0xcc, 0xe6, 0xf1, 0xb0,
                                         0xbe, 0xcf, 0xeb, 0xf8, 0xf8, 0x34, 0xab, 0x4f, 0xe8, 0x31, 0x7d,
                                         0x3e, 0x36, 0x8a, 0x6b, 0xf9, 0xff, 0xa2, 0x08, 0x65, 0xd2};
    struct agent_rig rig;
    agent_rig_open(&rig);
    struct control_setup setup = agent_rig_setup();
    setup.size_bytes = 4;
    struct control_start start = {.start_ns = clock_now_ns()};
    struct control_report report;
    agent_rig_say(&rig, CONTROL_SETUP, CONTROL_VERSION, &setup);
    assert_int_equal(agent_rig_hear(&rig, NULL), CONTROL_LISTENING);
    agent_rig_say(&rig, CONTROL_CONNECT, CONTROL_VERSION, NULL);
    assert_int_equal(agent_rig_hear(&rig, NULL), CONTROL_READY);
    agent_rig_say(&rig, CONTROL_START, CONTROL_VERSION, &start);
    assert_int_equal(agent_rig_hear(&rig, NULL), CONTROL_DONE);
    agent_rig_say(&rig, CONTROL_COLLECT, CONTROL_VERSION, NULL);
    assert_int_equal(agent_rig_hear(&rig, &report), CONTROL_REPORT);
    assert_memory_equal(report.model_sha256, expected, 32);
    assert_int_equal(agent_rig_close(&rig), 1); /* closing without QUIT: the controller is gone */
}

/* Rounds of a millisecond: of ten without marks the first alone would be told of. */
static void marked_rounds_are_told_at_once(void **state)
{
    (void)state;
    static const struct control_mark marks[] = {{3}, {4}, {10}};
    struct agent_rig rig;
    agent_rig_open(&rig);
    struct control_setup setup = agent_rig_setup();
    setup.rounds = 10;
    setup.marks = marks;
    setup.mark_count = 3;
    struct control_start start = {.start_ns = clock_now_ns()};
    agent_rig_say(&rig, CONTROL_SETUP, CONTROL_VERSION, &setup);
    assert_int_equal(agent_rig_hear(&rig, NULL), CONTROL_LISTENING);
    agent_rig_say(&rig, CONTROL_CONNECT, CONTROL_VERSION, NULL);
    assert_int_equal(agent_rig_hear(&rig, NULL), CONTROL_READY);
    agent_rig_say(&rig, CONTROL_START, CONTROL_VERSION, &start);
    struct frame frame;
    bool told[11] = {false};
    int64_t before_ns = start.start_ns;
    while (receive_frame(&rig.reader, rig.fd, clock_now_ns() + 20 * NS_PER_S, &frame, NULL) == 0 &&
           frame.operation != CONTROL_DONE) {
        struct control_progress progress;
        assert_int_equal(frame.operation, CONTROL_PROGRESS);
        assert_int_equal(
            wire_decode(control_operations[CONTROL_PROGRESS].body, frame.body, frame.length, rig.arena, &progress, NULL), 0);
        assert_true(progress.rounds_done <= 10);
        assert_true(progress.at_ns >= start.start_ns + progress.rounds_done * NS_PER_MS);
        assert_true(progress.at_ns > before_ns && progress.at_ns <= clock_now_ns());
        before_ns = progress.at_ns;
        told[progress.rounds_done] = true;
    }
    assert_true(told[3] && told[4] && told[10]);
    agent_rig_say(&rig, CONTROL_QUIT, CONTROL_VERSION, NULL);
    assert_int_equal(agent_rig_close(&rig), 0);
}

static void read_status(pid_t pid, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    cleanup(close_file) FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, size - 1, file)] = '\0';
}

static void before_the_first_peer_the_sandbox_is_closed(void **state)
{
    (void)state;
    struct agent_rig rig;
    char text[8192];
    agent_rig_open(&rig);
    struct control_setup setup = agent_rig_setup();
    agent_rig_say(&rig, CONTROL_SETUP, CONTROL_VERSION, &setup);
    assert_int_equal(agent_rig_hear(&rig, NULL), CONTROL_LISTENING);
    read_status(rig.pid, text, sizeof(text));
    assert_non_null(strstr(text, "\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n"));
    assert_non_null(strstr(text, "\nCapInh:\t0000000000000000\n"));
    assert_non_null(strstr(text, "\nNoNewPrivs:\t1\nSeccomp:\t2\n"));
    agent_rig_say(&rig, CONTROL_QUIT, CONTROL_VERSION, NULL);
    assert_int_equal(agent_rig_close(&rig), 0);
}

static void what_the_filter_does_not_list_ends_the_process(void **state)
{
    (void)state;
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (sandbox_drop_privileges(NULL) < 0 || sandbox_filter(NULL) < 0)
            _exit(3);
        socket(AF_UNIX, SOCK_STREAM, 0);
        _exit(4);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
}

/* ---- what is refused ---- */

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_node_lives_from_setup_to_quit),
        cmocka_unit_test(message_sizes_follow_each_other),
        cmocka_unit_test(the_digest_is_sha256_of_the_last_sum),
        cmocka_unit_test(marked_rounds_are_told_at_once),
        cmocka_unit_test(before_the_first_peer_the_sandbox_is_closed),
        cmocka_unit_test(what_the_filter_does_not_list_ends_the_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
