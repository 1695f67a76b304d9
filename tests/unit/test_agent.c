/* test_agent.c: the agent's side of the control protocol, in a child process: the whole life of one node, the sandbox it ends in,
 * and a controller that says what it must not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
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
#include "tests/receive.h"

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
        if (receive_frame(&rig->reader, rig->fd, clock_now_ns() + 20 * NS_PER_S, &frame, NULL) < 0)
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
static const struct control_value values[7];

static struct control_setup good_setup(void)
{
    const struct control_setup setup = {
        .nodes = &alone,
        .node_count = 1,
        .port = PORT,
        .scheme = "ring",
        .values = values,
        .value_count = 7, /* segment, bucket, overlap, compress and its own: none */
        .model = MODEL_SYNTHETIC,
        .dataset_path = "",
        .batch = 1,
        .rounds = 3,
        .size_bytes = 400,
        .compute_time = {.kind = DISTRIBUTION_CONSTANT, .value_ns = 1e6},
        .record_spans = 1,
        .sample_every_ns = NS_PER_MS,
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
    bool counted = report.counters.loop_busy_ns > 0 && report.counters.loop_wait_ns >= 0;
    assert_true(counted || (report.counters.loop_busy_ns == -1 && report.counters.loop_wait_ns == -1)); /* as the kernel has it */
    assert_true(report.counters.compute_busy_ns == 0 && report.counters.compute_wait_ns == 0); /* no real gradients, no thread */
    assert_true(report.sample_count >= 1 && report.samples[0].at_ns >= NS_PER_MS);             /* three rounds take 3 ms */
    assert_int_equal(report.samples[0].connections, 0);                                        /* to nobody */
    assert_int_equal(report.counters.samples_lost, 0);
    assert_int_equal(report.model_sha256_bytes, 32);
    say(&rig, CONTROL_QUIT, CONTROL_VERSION, NULL);
    assert_int_equal(hear(&rig, NULL), -1);
    assert_int_equal(close_rig(&rig), 0);
}

static void message_sizes_follow_each_other(void **state)
{
    (void)state;
    static const struct control_message_size sizes[] = {{.bytes = 400}, {.bytes = 4}, {.bytes = 40000}};
    struct rig rig;
    open_rig(&rig);
    struct control_setup setup = good_setup();
    setup.sizes = sizes;
    setup.size_count = 3;
    setup.size_bytes = 0;
    say(&rig, CONTROL_SETUP, CONTROL_VERSION, &setup);
    assert_int_equal(hear(&rig, NULL), CONTROL_LISTENING);
    say(&rig, CONTROL_CONNECT, CONTROL_VERSION, NULL);
    int64_t first_ns = 0, last_ns = 0;
    for (uint32_t position = 0; position < 3; position++) {
        assert_int_equal(hear(&rig, NULL), CONTROL_READY);
        struct control_start start = {.start_ns = clock_now_ns() + 2 * NS_PER_MS};
        say(&rig, CONTROL_START, CONTROL_VERSION, &start);
        assert_int_equal(hear(&rig, NULL), CONTROL_DONE);
        first_ns = position == 0 ? start.start_ns : first_ns;
        last_ns = start.start_ns;
        if (position < 2)
            say(&rig, CONTROL_SIZE, CONTROL_VERSION, &(struct control_size){.position = position + 1});
    }
    say(&rig, CONTROL_COLLECT, CONTROL_VERSION, NULL);
    struct control_report report;
    assert_int_equal(hear(&rig, &report), CONTROL_REPORT);
    assert_int_equal(report.round_count, 9);
    for (uint32_t i = 0; i < 9; i++)
        assert_int_equal(report.rounds[i].round, i);
    assert_true(report.rounds[6].held_ns >= last_ns - first_ns + NS_PER_MS); /* times count from the first start */
    assert_int_equal(report.counters.compute_tasks, 9);
    assert_true(report.counters.checks >= 100 + 1 + 10000 && report.counters.check_failures == 0);
    for (uint32_t i = 0; i < report.span_count; i++)
        assert_true(report.spans[i].round < 9);
    say(&rig, CONTROL_QUIT, CONTROL_VERSION, NULL);
    assert_int_equal(close_rig(&rig), 0);
}

static void a_size_out_of_turn_is_refused(void **state)
{
    (void)state;
    static const struct control_message_size sizes[] = {{.bytes = 400}, {.bytes = 4}};
    for (uint32_t named = 0; named < 3; named += 2) {
        struct rig rig;
        open_rig(&rig);
        struct control_setup setup = good_setup();
        setup.sizes = sizes;
        setup.size_count = 2;
        say(&rig, CONTROL_SETUP, CONTROL_VERSION, &setup);
        assert_int_equal(hear(&rig, NULL), CONTROL_LISTENING);
        say(&rig, CONTROL_CONNECT, CONTROL_VERSION, NULL);
        assert_int_equal(hear(&rig, NULL), CONTROL_READY);
        say(&rig, CONTROL_START, CONTROL_VERSION, &(struct control_start){.start_ns = clock_now_ns()});
        assert_int_equal(hear(&rig, NULL), CONTROL_DONE);
        say(&rig, CONTROL_SIZE, CONTROL_VERSION, &(struct control_size){.position = named});
        assert_int_equal(hear(&rig, NULL), CONTROL_FAILURE);
        assert_non_null(strstr(rig.failure, named == 0 ? "SIZE names message size 0 where size 0 of 2 is over"
                                                       : "SIZE names message size 2 where size 0 of 2 is over"));
        assert_int_equal(close_rig(&rig), 1);
    }
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

/* Rounds of a millisecond: of ten without marks the first alone would be told of. */
static void marked_rounds_are_told_at_once(void **state)
{
    (void)state;
    static const struct control_mark marks[] = {{3}, {4}, {10}};
    struct rig rig;
    open_rig(&rig);
    struct control_setup setup = good_setup();
    setup.rounds = 10;
    setup.marks = marks;
    setup.mark_count = 3;
    struct control_start start = {.start_ns = clock_now_ns()};
    say(&rig, CONTROL_SETUP, CONTROL_VERSION, &setup);
    assert_int_equal(hear(&rig, NULL), CONTROL_LISTENING);
    say(&rig, CONTROL_CONNECT, CONTROL_VERSION, NULL);
    assert_int_equal(hear(&rig, NULL), CONTROL_READY);
    say(&rig, CONTROL_START, CONTROL_VERSION, &start);
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
    say(&rig, CONTROL_QUIT, CONTROL_VERSION, NULL);
    assert_int_equal(close_rig(&rig), 0);
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

/* A socket that listens on 127.0.0.1, and its port. */
static int take_port(uint32_t *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    *port = ntohs(address.sin_port);
    return fd;
}

static void refused_setups_say_why(void **state)
{
    (void)state;
    static const struct control_node two[] = {{.name = "w0", .address = 0x7f000001, .slow_factor = 1},
                                              {.name = "s0", .address = 0x7f000002, .role = ROLE_SERVER, .slow_factor = 1}};
    static const struct control_node slow = {.name = "w0", .address = 0x7f000001, .slow_factor = -1};
    for (int fault = 0; fault < 16; fault++) {
        static const char *const says[] = {"no scheme 'rings'",
                                           "has 7 parameters, 2 were sent",
                                           "the number of rounds is 0",
                                           "the node's index is 1, allowed are 0 to 0",
                                           "the model is 99",
                                           "has 0 servers, the roster has 1",
                                           "slow factor of -1",
                                           "the number of nodes is 0",
                                           "cannot listen on 127.0.0.1",
                                           "mark 0 is 0 rounds, allowed are 1 to 3",
                                           "mark 1 is 2 rounds, allowed are 3 to 3",
                                           "at least 4 bytes",
                                           "message size 1 is 6 bytes, a multiple of 4",
                                           "which only synthetic gradients have",
                                           "the number of message sizes is 65",
                                           "the number of rounds of all message sizes is 33554432"};
        static const struct control_message_size good[65] = {[0 ... 64] = {.bytes = 4}}, odd[] = {{.bytes = 4}, {.bytes = 6}};
        static const struct control_mark none[] = {{0}}, twice[] = {{2}, {2}};
        struct control_setup setup = good_setup();
        int taken = -1;
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
            taken = take_port(&setup.port);
            break;
        case 9:
            setup.marks = none;
            setup.mark_count = 1;
            break;
        case 10:
            setup.marks = twice;
            setup.mark_count = 2;
            break;
        case 11:
            setup.size_bytes = 0;
            break;
        case 12:
            setup.sizes = odd;
            setup.size_count = 2;
            break;
        case 13:
            setup.model = MODEL_SOFTMAX;
            setup.sizes = good;
            setup.size_count = 2;
            break;
        case 14:
            setup.sizes = good;
            setup.size_count = 65;
            break;
        default:
            setup.sizes = good;
            setup.size_count = 2;
            setup.rounds = 1 << 24;
        }
        struct rig rig;
        open_rig(&rig);
        say(&rig, CONTROL_SETUP, CONTROL_VERSION, &setup);
        assert_int_equal(hear(&rig, NULL), CONTROL_FAILURE);
        if (!strstr(rig.failure, says[fault]))
            assert_string_equal(rig.failure, says[fault]);
        assert_int_equal(close_rig(&rig), 1);
        if (taken >= 0)
            close(taken);
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
        {CONTROL_SIZE, CONTROL_VERSION, true, "sent size while the agent waits for CONNECT"},
        {CONTROL_PEER, CONTROL_VERSION, true, "sent peer while"},
        {CONTROL_READY, CONTROL_VERSION, false, "operation 4, which no agent understands"},
        {0, CONTROL_VERSION, false, "operation 0"},
        {999, CONTROL_VERSION, true, "operation 999"},
        {CONTROL_QUIT, CONTROL_VERSION + 1, false, "speaks version 3"},
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
        cmocka_unit_test(message_sizes_follow_each_other),
        cmocka_unit_test(a_size_out_of_turn_is_refused),
        cmocka_unit_test(the_digest_is_sha256_of_the_last_sum),
        cmocka_unit_test(marked_rounds_are_told_at_once),
        cmocka_unit_test(before_the_first_peer_the_sandbox_is_closed),
        cmocka_unit_test(what_the_filter_does_not_list_ends_the_process),
        cmocka_unit_test(refused_setups_say_why),
        cmocka_unit_test(operations_out_of_turn_are_refused),
        cmocka_unit_test(a_controller_that_goes_or_babbles_ends_the_agent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
