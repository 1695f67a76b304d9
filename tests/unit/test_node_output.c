/* test_node_output.c: lines of many nodes: kept together, in front of each its node's name, cut where they never end; and the table
 * of nodes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/process.h"
#include "base/text.h"
#include "harness/exec_session.h"
#include "harness/node_output.h"
#include "harness/node_table.h"
#include "netem/topology.h"

struct rig {
    struct arena *arena;
    struct loop *loop;
    struct node_output *output;
    int file, error, failures;
    int ends[2];
};

static void on_failed(void *context, int error)
{
    struct rig *rig = context;
    rig->error = error;
    rig->failures++;
}

static void rig_start(struct rig *rig, int to)
{
    *rig = (struct rig){.arena = arena_new(), .loop = loop_new(NULL)};
    rig->file = to >= 0 ? to : memfd_create("output", MFD_CLOEXEC);
    rig->output = node_output_new(2, rig->arena);
    assert_int_equal(node_output_add(rig->output, "w0: ", rig->file, &rig->ends[0], NULL), 0);
    assert_int_equal(node_output_add(rig->output, "", rig->file, &rig->ends[1], NULL), 0);
    assert_int_equal(node_output_start(rig->output, rig->loop, on_failed, rig, NULL), 0);
}

static void rig_write(struct rig *rig, int stream, const char *bytes)
{
    assert_int_equal(write(rig->ends[stream], bytes, strlen(bytes)), strlen(bytes));
    for (int i = 0; i < 4; i++)
        loop_turn(rig->loop, 0, NULL);
}

static void assert_shown(const struct rig *rig, const char *expected)
{
    char found[512] = "";
    assert_true(pread(rig->file, found, sizeof(found) - 1, 0) >= 0);
    assert_string_equal(found, expected);
}

static void rig_end(struct rig *rig)
{
    close_fd(&rig->ends[0]);
    close_fd(&rig->ends[1]);
    node_output_finish(rig->output);
    node_output_close(rig->output);
    loop_free(rig->loop);
    arena_free(rig->arena);
}

static void lines_are_kept_together(void **state)
{
    (void)state;
    struct rig rig;
    rig_start(&rig, -1);
    rig_write(&rig, 0, "one\ntw");
    assert_shown(&rig, "w0: one\n");
    rig_write(&rig, 1, "between\n\n");
    assert_shown(&rig, "w0: one\nbetween\n\n");
    rig_write(&rig, 0, "o\n\nrest");
    assert_shown(&rig, "w0: one\nbetween\n\nw0: two\nw0: \n");
    rig_end(&rig); /* the last line has no end */
    assert_shown(&rig, "w0: one\nbetween\n\nw0: two\nw0: \nw0: rest\n");
    assert_int_equal(rig.failures, 0);
    close(rig.file);
}

static void a_line_without_an_end_is_cut(void **state)
{
    (void)state;
    struct rig rig;
    char part[4096 + 1];
    memset(part, 'x', sizeof(part) - 1);
    part[sizeof(part) - 1] = 0;
    rig_start(&rig, -1);
    for (int i = 0; i < NODE_OUTPUT_LINE_BYTES / 4096 + 1; i++)
        rig_write(&rig, 0, part);
    off_t length = lseek(rig.file, 0, SEEK_END);
    assert_in_range(length, NODE_OUTPUT_LINE_BYTES, NODE_OUTPUT_LINE_BYTES + (1 << 17));
    rig_end(&rig);
    close(rig.file);
}

static void a_reader_who_has_gone_is_told_once(void **state)
{
    (void)state;
    struct rig rig;
    int pipe_fds[2];
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
    close(pipe_fds[0]);
    rig_start(&rig, pipe_fds[1]);
    rig_write(&rig, 0, "one\n");
    rig_write(&rig, 0, "two\n");
    rig_end(&rig);
    assert_int_equal(rig.failures, 1);
    assert_int_equal(rig.error, EPIPE);
    close(pipe_fds[1]);
    signal(SIGPIPE, SIG_DFL);
}

static void a_table_tells_addresses_and_links(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct settings settings = {
        .shape = SHAPE_STAR, .link = {.rate_bps = 100000000, .delay_ns = 1500000}, .mtu = 1500, .congestion_control = "cubic"};
    struct topology topology;
    struct err err;
    assert_int_equal(topology_build(&settings, 1, 1, arena, &topology, &err), 0);
    cleanup(text_free) struct text text = {0};
    node_table_print(&topology, &text);
    assert_string_equal(text.bytes, "node  address    link to  rate        delay\n"
                                    "w0    10.64.0.1  router   100 Mbit/s  1.5 ms\n"
                                    "s0    10.64.0.2  router   100 Mbit/s  1.5 ms\n"
                                    "routers: router\n");
    settings.link = (struct link_settings){0};
    assert_int_equal(topology_build(&settings, 1, 0, arena, &topology, &err), 0);
    text.length = 0;
    node_table_print(&topology, &text);
    assert_non_null(strstr(text.bytes, "w0    10.64.0.1  router   unlimited  0 ns\n"));
}

static void an_exit_code_is_what_a_shell_makes_of_an_end(void **state)
{
    (void)state;
    assert_int_equal(exec_session_exit_code(&(struct process_exit){.exited = true, .status = 7}), 7);
    assert_int_equal(exec_session_exit_code(&(struct process_exit){.exited = false, .status = SIGKILL}), 137);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_kept_together),
        cmocka_unit_test(a_line_without_an_end_is_cut),
        cmocka_unit_test(a_reader_who_has_gone_is_told_once),
        cmocka_unit_test(a_table_tells_addresses_and_links),
        cmocka_unit_test(an_exit_code_is_what_a_shell_makes_of_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
