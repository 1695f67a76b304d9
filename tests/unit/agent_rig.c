/* agent_rig.c: see agent_rig.h. */
#include "tests/unit/agent_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agents/agent.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/frame.h"
#include "base/text.h"
#include "schemas/control.h"
#include "tests/receive.h"

void agent_rig_open(struct agent_rig *rig)
{
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    *rig = (struct agent_rig){.fd = pair[0], .arena = arena_new()};
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

int agent_rig_close(struct agent_rig *rig)
{
    int status;
    close_fd(&rig->fd);
    assert_int_equal(waitpid(rig->pid, &status, 0), rig->pid);
    frame_reader_free(&rig->reader);
    arena_free(rig->arena);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

void agent_rig_say(struct agent_rig *rig, int operation, int version, const void *body)
{
    cleanup(text_free) struct text bytes = {0};
    const struct wire_table *table = operation < CONTROL_OPERATION_END ? control_operations[operation].body : NULL;
    if (table && body)
        wire_encode(table, body, &bytes);
    assert_int_equal(frame_send(rig->fd, (uint16_t)operation, (uint16_t)version, bytes.bytes, bytes.length, NULL), 0);
}

int agent_rig_hear(struct agent_rig *rig, void *body)
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

struct control_setup agent_rig_setup(void)
{
    /* Agents of other tests listen at the same time: each process has a port of its own. */
    enum { FIRST_PORT = 10000, PORTS = 20000 };
    const struct control_setup setup = {
        .nodes = &alone,
        .node_count = 1,
        .port = FIRST_PORT + (uint32_t)getpid() % PORTS,
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
