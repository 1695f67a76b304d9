/* test_agent.c: the agent's side of the control protocol, in a child process: the whole life of one node, the sandbox it ends in,
 * and a controller that says what it must not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#undef fail
#include "agents/agent.h"
#include "agents/sandbox.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/frame.h"
#include "base/text.h"
#include "schemas/control.h"

enum { PORT = 17731 };

struct rig {
    pid_t pid;
    int fd;
    struct frame_reader reader;
    struct arena *arena;
    char failure[1024]; /* the FAILURE that came */
};

static void open_rig(struct rig *rig)
{
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    *rig = (struct rig){.fd = pair[0], .arena = arena_new()};
    fflush(NULL);
    rig->pid = fork();
    assert_true(rig->pid >= 0);
    if (rig->pid == 0) {
        close(pair[0]);
        struct err err;
        _exit(agent_run(pair[1], &err) < 0 ? 1 : 0);
    }
    close(pair[1]);
}

/* Returns how the agent ended: its exit status, or 256 + the signal. */
static int close_rig(struct rig *rig)
{
    int status;
    close_fd(&rig->fd);
    assert_int_equal(waitpid(rig->pid, &status, 0), rig->pid);
    frame_reader_free(&rig->reader);
    arena_free(rig->arena);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

static void say(struct rig *rig, int operation, int version, const void *body)
{
    cleanup(text_free) struct text bytes = {0};
    const struct wire_table *table = operation < CONTROL_OPERATION_END ? control_operations[operation].body : NULL;
    if (table && body)
        wire_encode(table, body, &bytes);
    assert_int_equal(frame_send(rig->fd, (uint16_t)operation, (uint16_t)version, bytes.bytes, bytes.length, NULL), 0);
}

/* The next operation; a FAILURE's sentence is kept. -1: the agent closed the socket. */
static int hear(struct rig *rig, void *body)
{
    struct frame frame;
    do
        if (frame_receive(&rig->reader, rig->fd, clock_now_ns() + 20 * NS_PER_S, &frame, NULL) < 0)
            return -1;
    while (frame.operation == CONTROL_PROGRESS);
    assert_int_equal(frame.version, CONTROL_VERSION);
    struct control_failure failure;
    void *into = frame.operation == CONTROL_FAILURE ? (void *)&failure : body;
    const struct wire_table *table = control_operations[frame.operation].body;
    if (table && into)
        assert_int_equal(wire_decode(table, frame.body, frame.length, rig->arena, into, NULL), 0);
    if (frame.operation == CONTROL_FAILURE)
        snprintf(rig->failure, sizeof(rig->failure), "%s", failure.text);
    return frame.operation;
}

static const struct control_node alone = {.name = "w0", .address = 0x7f000001, .slow_factor = 1};
static const struct control_value values[2];

static struct control_setup good_setup(void)
{
    const struct control_setup setup = {
        .nodes = &alone,
        .node_count = 1,
        .port = PORT,
        .scheme = "ring",
        .values = values,
        .value_count = 1,
        .model = MODEL_SYNTHETIC,
        .dataset_path = "",
        .batch = 1,
        .rounds = 3,
        .size_bytes = 400,
        .compute_time = {.kind = DISTRIBUTION_CONSTANT, .value_ns = 1e6},
        .record_spans = 1,
    };
    return setup;
}

static void one_node_lives_from_setup_to_quit(void **state)
{
    (void)state;
    struct rig rig;
    open_rig(&rig);
    struct control_setup setup = good_setup();
    say(&rig, CONTROL_SETUP, CONTROL_VERSION, &setup);
    struct control_listening listening;
    assert_int_equal(hear(&rig, &listening), CONTROL_LISTENING);
    assert_int_equal(listening.parameter_count, 100);
    assert_string_equal(listening.blas, "");
    say(&rig, CONTROL_CONNECT, CONTROL_VERSION, NULL);
    assert_int_equal(hear(&rig, NULL), CONTROL_READY);
    struct control_start start = {.start_ns = clock_now_ns() + 5 * NS_PER_MS};
    say(&rig, CONTROL_START, CONTROL_VERSION, &start);
    assert_int_equal(hear(&rig, NULL), CONTROL_DONE);
    assert_true(clock_now_ns() >= start.start_ns + 3 * NS_PER_MS);
    say(&rig, CONTROL_COLLECT, CONTROL_VERSION, NULL);
    struct control_report report;
    assert_int_equal(hear(&rig, &report), CONTROL_REPORT);
    assert_int_equal(report.round_count, 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_true(report.rounds[i].round == i && report.rounds[i].held_ns >= (i + 1) * NS_PER_MS);
    assert_int_equal(report.counters.compute_tasks, 3);
    assert_true(report.counters.checks > 0 && report.counters.check_failures == 0);
    assert_true(report.counters.peak_rss_bytes > 0);
    assert_int_equal(report.model_sha256_bytes, 32);
    say(&rig, CONTROL_QUIT, CONTROL_VERSION, NULL);
    assert_int_equal(hear(&rig, NULL), -1);
    assert_int_equal(close_rig(&rig), 0);
}

static void the_digest_is_sha256_of_the_last_sum(void **state)
{
    (void)state;
    /* One element, one worker: -30 + 1 + 2 mod 97 = -27 as a float, c1d80000: what sha256sum says of the bytes 00 00 d8 c1. */
    static const uint8_t expected[32] = {0x3d, 0x32, 0xd2, 0x30, 0x5d, 0x15, 0x39, 0xcc, 0xe6, 0xf1, 0xb0,
                                         0xbe, 0xcf, 0xeb, 0xf8, 0xf8, 0x34, 0xab, 0x4f, 0xe8, 0x31, 0x7d,
                                         0x3e, 0x36, 0x8a, 0x6b, 0xf9, 0xff, 0xa2, 0x08, 0x65, 0xd2};
    struct rig rig;
    open_rig(&rig);
    struct control_setup setup = good_setup();
    setup.size_bytes = 4;
    struct control_start start = {.start_ns = clock_now_ns()};
    struct control_report report;
    say(&rig, CONTROL_SETUP, CONTROL_VERSION, &setup);
    assert_int_equal(hear(&rig, NULL), CONTROL_LISTENING);
    say(&rig, CONTROL_CONNECT, CONTROL_VERSION, NULL);
    assert_int_equal(hear(&rig, NULL), CONTROL_READY);
    say(&rig, CONTROL_START, CONTROL_VERSION, &start);
    assert_int_equal(hear(&rig, NULL), CONTROL_DONE);
    say(&rig, CONTROL_COLLECT, CONTROL_VERSION, NULL);
    assert_int_equal(hear(&rig, &report), CONTROL_REPORT);
    assert_memory_equal(report.model_sha256, expected, 32);
    assert_int_equal(close_rig(&rig), 1); /* closing without QUIT: the controller is gone */
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
    struct rig rig;
    char text[8192];
    open_rig(&rig);
    struct control_setup setup = good_setup();
    say(&rig, CONTROL_SETUP, CONTROL_VERSION, &setup);
    assert_int_equal(hear(&rig, NULL), CONTROL_LISTENING);
    read_status(rig.pid, text, sizeof(text));
    assert_non_null(strstr(text, "\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n"));
    assert_non_null(strstr(text, "\nCapInh:\t0000000000000000\n"));
    assert_non_null(strstr(text, "\nNoNewPrivs:\t1\nSeccomp:\t2\n"));
    say(&rig, CONTROL_QUIT, CONTROL_VERSION, NULL);
    assert_int_equal(close_rig(&rig), 0);
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

static void refused_setups_say_why(void **state)
{
    (void)state;
    static const struct control_node two[] = {{.name = "w0", .address = 0x7f000001, .slow_factor = 1},
                                              {.name = "s0", .address = 0x7f000002, .role = ROLE_SERVER, .slow_factor = 1}};
    static const struct control_node slow = {.name = "w0", .address = 0x7f000001, .slow_factor = -1};
    for (int fault = 0; fault < 10; fault++) {
        static const char *const says[] = {"no scheme 'rings'",
                                           "has 1 parameters, 2 were sent",
                                           "the number of rounds is 0",
                                           "the node's index is 1, allowed are 0 to 0",
                                           "the model is 99",
                                           "has 0 servers, the roster has 1",
                                           "slow factor of -1",
                                           "the number of nodes is 0",
                                           "cannot listen on 192.0.2.1",
                                           "at least 4 bytes"};
        struct control_setup setup = good_setup();
        struct control_node elsewhere = alone;
        elsewhere.address = 0xc0000201; /* an address that no host has */
        switch (fault) {
        case 0:
            setup.scheme = "rings";
            break;
        case 1:
            setup.value_count = 2;
            break;
        case 2:
            setup.rounds = 0;
            break;
        case 3:
            setup.node = 1;
            break;
        case 4:
            setup.model = 99;
            break;
        case 5:
            setup.nodes = two;
            setup.node_count = 2;
            break;
        case 6:
            setup.nodes = &slow;
            break;
        case 7:
            setup.node_count = 0;
            break;
        case 8:
            setup.nodes = &elsewhere;
            break;
        default:
            setup.size_bytes = 0;
        }
        struct rig rig;
        open_rig(&rig);
        say(&rig, CONTROL_SETUP, CONTROL_VERSION, &setup);
        assert_int_equal(hear(&rig, NULL), CONTROL_FAILURE);
        if (!strstr(rig.failure, says[fault]))
            assert_string_equal(rig.failure, says[fault]);
        assert_int_equal(close_rig(&rig), 1);
    }
}

static void operations_out_of_turn_are_refused(void **state)
{
    (void)state;
    static const struct {
        int operation, version;
        bool after_setup;
        const char *says;
    } rows[] = {
        {CONTROL_CONNECT, CONTROL_VERSION, false, "sent connect while the agent waits for SETUP"},
        {CONTROL_COLLECT, CONTROL_VERSION, true, "sent collect while the agent waits for CONNECT"},
        {CONTROL_START, CONTROL_VERSION, true, "sent start while the agent waits for CONNECT"},
        {CONTROL_PEER, CONTROL_VERSION, true, "sent peer while"},
        {CONTROL_READY, CONTROL_VERSION, false, "operation 4, which no agent understands"},
        {0, CONTROL_VERSION, false, "operation 0"},
        {999, CONTROL_VERSION, true, "operation 999"},
        {CONTROL_QUIT, CONTROL_VERSION + 1, false, "speaks version 2"},
        {CONTROL_SETUP, CONTROL_VERSION, false, "the controller's setup"}, /* without a body */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rig rig;
        open_rig(&rig);
        if (rows[i].after_setup) {
            struct control_setup setup = good_setup();
            say(&rig, CONTROL_SETUP, CONTROL_VERSION, &setup);
            assert_int_equal(hear(&rig, NULL), CONTROL_LISTENING);
        }
        say(&rig, rows[i].operation, rows[i].version, NULL);
        assert_int_equal(hear(&rig, NULL), CONTROL_FAILURE);
        if (!strstr(rig.failure, rows[i].says))
            assert_string_equal(rig.failure, rows[i].says);
        assert_int_equal(close_rig(&rig), 1);
    }
}

static void a_controller_that_goes_or_babbles_ends_the_agent(void **state)
{
    (void)state;
    struct rig rig;
    open_rig(&rig);
    assert_int_equal(close_rig(&rig), 1);
    open_rig(&rig);
    static const uint8_t noise[64] = {0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4};
    assert_int_equal(send(rig.fd, noise, sizeof(noise), MSG_NOSIGNAL), (ssize_t)sizeof(noise));
    assert_int_equal(hear(&rig, NULL), CONTROL_FAILURE);
    assert_non_null(strstr(rig.failure, "claims 4294967295 bytes"));
    assert_int_equal(close_rig(&rig), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_node_lives_from_setup_to_quit),
        cmocka_unit_test(the_digest_is_sha256_of_the_last_sum),
        cmocka_unit_test(before_the_first_peer_the_sandbox_is_closed),
        cmocka_unit_test(what_the_filter_does_not_list_ends_the_process),
        cmocka_unit_test(refused_setups_say_why),
        cmocka_unit_test(operations_out_of_turn_are_refused),
        cmocka_unit_test(a_controller_that_goes_or_babbles_ends_the_agent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
