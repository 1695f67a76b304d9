/* exec_session.c: a network with other people's programs on it; see exec_session.h. */
#include "harness/exec_session.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/text.h"
#include "base/units.h"
#include "harness/capture_session.h"
#include "harness/interruption.h"
#include "harness/node_output.h"
#include "harness/terminal.h"
#include "netem/fabric.h"

/* After an interruption programs may say a last word. */
static const int64_t GRACE_NS = 2 * NS_PER_S;
enum { FAILURES_SHOWN = 8, STREAMS = FABRIC_STREAMS };

struct member { /* one program */
    int place, streams[STREAMS];
    bool ended;
    struct process_exit how;
};

struct running {
    const struct exec_session *session;
    struct arena *arena;
    struct loop *loop;
    struct fabric *fabric;
    struct capture_session *captures;
    struct member *members;
    int count, running;
    struct terminal terminal;   /* one place */
    struct node_output *output; /* every host */
    struct watch *signals;
    struct timer *grace;
    bool interrupted;
    int output_error; /* an errno: what the nodes write cannot be shown any more */
    struct err failure;
};

static void running_clean(struct running *running)
{
    fabric_end(running->fabric);
    capture_session_close(running->captures);
    terminal_finish(&running->terminal);
    node_output_close(running->output);
    loop_free(running->loop);
    arena_free(running->arena);
}

/* ---- events ---- */

static void stop_when_all_ended(struct running *running)
{
    if (running->running == 0 && (running->interrupted || !running->session->keep))
        loop_stop(running->loop);
}

static void on_fabric_event(void *context, uint32_t events)
{
    (void)events;
    struct running *running = context;
    int program, got;
    struct process_exit how;
    while ((got = fabric_next_exit(running->fabric, &program, &how, &running->failure)) == 1) {
        running->members[program].ended = true;
        running->members[program].how = how;
        running->running--;
    }
    if (got < 0)
        loop_stop(running->loop);
    else
        stop_when_all_ended(running);
}

/* The first signal is looked at once; the next one kills. A shell on a terminal heeds a
 * hang-up only. */
static void on_signal(void *context, uint32_t events)
{
    (void)events;
    struct running *running = context;
    int number = running->terminal.used ? SIGHUP : interruption_exit_code() - 128;
    running->interrupted = true;
    loop_unwatch(running->signals);
    running->signals = NULL;
    for (int i = 0; i < running->count; i++)
        if (!running->members[i].ended)
            fabric_signal(running->fabric, i, number, NULL);
    loop_arm(running->grace, clock_now_ns() + GRACE_NS);
    stop_when_all_ended(running);
}

static void on_grace_over(void *context, int64_t deadline_ns)
{
    (void)deadline_ns;
    loop_stop(((struct running *)context)->loop);
}

static void on_output_failed(void *context, int error)
{
    struct running *running = context;
    running->output_error = error;
    loop_stop(running->loop);
}

/* ---- stages ---- */

static int choose_streams(struct running *running, struct err *err)
{
    const struct exec_session *session = running->session;
    struct member *members = running->members;
    if (session->place != EXEC_EVERY_HOST) {
        int result = terminal_open(&running->terminal, err);
        memcpy(members[0].streams, running->terminal.streams, sizeof(members[0].streams));
        return result;
    }
    int result = 0;
    running->output = node_output_new(2 * running->count, running->arena);
    for (int i = 0; i < running->count && result == 0; i++) {
        const char *name = session->topology->places[members[i].place].name;
        const char *prefix = session->prefix ? arena_printf(running->arena, "%s: ", name) : "";
        members[i].streams[0] = -1;
        for (int s = STDOUT_FILENO; s <= STDERR_FILENO && result == 0; s++)
            result = node_output_add(running->output, prefix, s, &members[i].streams[s], err);
    }
    return result;
}

/* Only the programs may hold the ends that they write to. */
static void close_streams(struct running *running)
{
    for (int i = 0; i < running->count && running->output; i++)
        for (int s = STDOUT_FILENO; s <= STDERR_FILENO; s++)
            close_fd(&running->members[i].streams[s]);
}

static int build(struct running *running, struct err *err)
{
    const struct exec_session *session = running->session;
    if (session->command)
        running->running = running->count = session->place == EXEC_EVERY_HOST ? session->topology->host_count : 1;
    running->members = arena_new_array(running->arena, struct member, (size_t)running->count + 1);
    struct fabric_program *programs = arena_new_array(running->arena, struct fabric_program, (size_t)running->count + 1);
    for (int i = 0; i < running->count; i++) {
        struct member *member = &running->members[i];
        member->place = session->place == EXEC_EVERY_HOST ? i : session->place;
        member->streams[0] = member->streams[1] = member->streams[2] = -1;
    }
    int result = session->command ? choose_streams(running, err) : 0;
    for (int i = 0; i < running->count; i++)
        programs[i] = (struct fabric_program){.place = running->members[i].place,
                                              .path = session->command[0],
                                              .arguments = session->command,
                                              .outside = true,
                                              .streams = running->members[i].streams,
                                              .terminal = running->terminal.used,
                                              .open_files = session->open_files};
    struct fabric_spec spec = {.topology = session->topology,
                               .engine = session->engine,
                               .programs = programs,
                               .program_count = running->count,
                               .awake = !running->terminal.used, /* a shell's user thinks for hours */
                               .enter = true};
    if (result == 0)
        result = capture_session_open(&session->capture, session->topology, session->name, CAPTURE_WITHOUT_ORDER, running->arena,
                                      &running->captures, err);
    capture_session_add(running->captures, &spec);
    if (result == 0)
        result = fabric_build(&spec, &running->fabric, err);
    capture_session_built(running->captures);
    close_streams(running);
    return result;
}

static int watch(struct running *running, struct err *err)
{
    running->loop = loop_new(err);
    if (!running->loop)
        return -ERR_HOST;
    running->grace = loop_timer(running->loop, on_grace_over, running);
    running->signals = loop_watch(running->loop, running->session->signal_fd, EPOLLIN, on_signal, running, err);
    if (!running->signals || !loop_watch(running->loop, fabric_event_fd(running->fabric), EPOLLIN, on_fabric_event, running, err))
        return -ERR_HOST;
    if (running->output)
        return node_output_start(running->output, running->loop, on_output_failed, running, err);
    return terminal_start(&running->terminal, running->loop, err);
}

/* A line a file: there is no database that they could be asked of. */
static void finish_captures(struct running *running)
{
    const struct capture_result *results;
    int count;
    capture_session_finish(running->captures, running->fabric, &results, &count);
    for (int i = 0; i < count && !running->session->quiet && !results[i].failure; i++) {
        const struct packet_summary *summary = &results[i].summary;
        char size[UNITS_TEXT_BYTES], time[UNITS_TEXT_BYTES] = "none seen";
        units_show_size(size, sizeof(size), (double)summary->wire_bytes);
        if (summary->round_trip_count > 0)
            units_show_time(time, sizeof(time), (double)summary->round_trip_p50_ns);
        fprintf(stderr, "%s: %llu packets, %s, %llu segments sent again, median round trip %s%s%s\n", results[i].path,
                (unsigned long long)summary->packet_count, size, (unsigned long long)summary->retransmitted_segment_count, time,
                summary->truncated ? "; " : "", summary->reason);
    }
}

int exec_session_exit_code(const struct process_exit *how)
{
    return how->exited ? how->status : 128 + how->status;
}

static int judge(const struct running *running, struct err *err)
{
    const struct exec_session *session = running->session;
    if (session->place != EXEC_EVERY_HOST)
        return running->count > 0 ? exec_session_exit_code(&running->members[0].how) : 0;
    cleanup(text_free) struct text failures = {0};
    int failed = 0;
    for (int i = 0; i < running->count; i++) {
        const struct process_exit *how = &running->members[i].how;
        char text[64];
        if ((how->exited && how->status == 0) || ++failed > FAILURES_SHOWN)
            continue;
        text_printf(&failures, "%s%s (%s)", failed > 1 ? ", " : "", session->topology->places[running->members[i].place].name,
                    process_describe(text, sizeof(text), how));
    }
    if (failed == 0)
        return 0;
    return err_set(err, ERR_TRIAL, "the command failed on %d of %d node%s: %s%s", failed, running->count,
                   units_plural(running->count), failures.bytes, failed > FAILURES_SHOWN ? ", ..." : "");
}

int exec_session_run(const struct exec_session *session, struct err *err)
{
    cleanup(running_clean) struct running running = {.session = session, .arena = arena_new(), .terminal = TERMINAL_NONE};
    int result = build(&running, err);
    if (result == 0 && session->standing)
        session->standing(session->context);
    if (result == 0)
        result = watch(&running, err);
    if (result == 0)
        result = loop_run(running.loop, err);
    finish_captures(&running);
    fabric_end(steal_pointer(&running.fabric)); /* whatever the programs left behind writes no more */
    if (result == 0 && running.output && !running.output_error)
        node_output_finish(running.output);
    if (result < 0)
        return result;
    if (running.interrupted)
        return -ERR_INTERRUPTED;
    if (running.output_error == EPIPE) /* as everybody ends whose reader has gone, without a word */
        return 128 + SIGPIPE;
    if (running.output_error)
        return err_set_errno(err, ERR_HOST, running.output_error, "writing what the nodes print failed: check where it goes");
    if (running.failure.kind)
        return err_set(err, running.failure.kind, "%s", running.failure.text);
    return judge(&running, err);
}
