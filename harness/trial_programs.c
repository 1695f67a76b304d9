/* trial_programs.c: the driver of trials in which an outside program runs in place of our agents, one process a node.
 *
 * Theory of operation. The fabric starts them all; they wait for nothing of ours. A trial's time counts from the moment when all
 * were started and ends with the last of their exits; what they leave behind (daemons) ends with the fabric. Three pipes a node
 * bring standard output, standard error and the report. They are read all the time and never let a program wait: beyond what is
 * kept, bytes are counted and dropped. Any exit but with status 0, a line of the report that makes no sense, or the deadline ends
 * the trial and with it all others. */
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
#include "harness/arm.h"
#include "harness/event_plan.h"
#include "harness/interruption.h"
#include "harness/program_rounds.h"
#include "harness/program_streams.h"
#include "harness/trial_internal.h"

enum { STANDARD_STREAMS = 3 };
/* What all nodes of a trial may report together; each may use an equal share, and no node more than the second number. */
enum { RECORDS_ALL_MAX = 10000000, RECORDS_NODE_MAX = 1000000 };
static const int64_t DEADLINE_NS = 600 * NS_PER_S;

struct outside {
    struct trial *trial;
    int node;
    struct program_streams streams;
    bool ended;
    struct process_exit how;
    int64_t end_ns; /* after the trial's start */
};

struct trial_programs_state {
    struct outside *nodes;
    int count, running;
    int leader; /* the first node that told of a round: its rounds are the trial's progress; -1: none yet */
    struct timer *deadline;
    int64_t limit_ns, start_ns, done_ns;
    bool over;
    struct err failure;
};

static void end_with(struct trial *trial, const struct err *reason)
{
    struct trial_programs_state *state = trial->programs;
    if (state->over)
        return;
    state->over = true;
    state->failure = *reason;
    loop_stop(trial->loop);
}

/* ---- reports ---- */

static void on_rounds(void *context, uint32_t round_count)
{
    const struct outside *node = context;
    struct trial_programs_state *state = node->trial->programs;
    if (state->leader < 0)
        state->leader = node->node;
    if (state->leader == node->node)
        trial_round(node->trial, round_count);
}

static void on_bad_report(void *context, const struct err *why)
{
    const struct outside *node = context;
    struct err err = *why;
    err_wrap(&err, "node %s, LAGGARD_REPORT", node->trial->names[node->node]);
    end_with(node->trial, &err);
}

/* ---- ends ---- */

static void program_failed(struct outside *node)
{
    struct trial *trial = node->trial;
    char how[64];
    cleanup(text_free) struct text last = {0};
    struct err err;
    program_output_last_line(&node->streams.output[STREAM_ERRORS], &last);
    err_set(&err, ERR_TRIAL, "node %s: %s ended (%s); the last line of its standard error: %s", trial->names[node->node],
            trial->cell->settings.workload.exec.words[0], process_describe(how, sizeof(how), &node->how),
            last.length > 0 ? last.bytes : "there is none");
    end_with(trial, &err);
}

static void program_ended(struct outside *node, const struct process_exit *how)
{
    struct trial *trial = node->trial;
    struct trial_programs_state *state = trial->programs;
    if (node->ended)
        return;
    node->ended = true;
    node->how = *how;
    node->end_ns = clock_now_ns() - state->start_ns;
    state->running--;
    program_streams_drain(&node->streams, STREAM_COUNT);
    if (!how->exited || how->status != 0) {
        program_failed(node);
        return;
    }
    struct err err = {0};
    if (program_report_finish(&node->streams.report, &err) < 0)
        on_bad_report(node, &err);
    if (state->running > 0 || state->over)
        return;
    state->done_ns = node->end_ns;
    state->over = true;
    trial_done(trial);
    loop_stop(trial->loop);
}

static void on_fabric_event(void *context, uint32_t events)
{
    (void)events;
    struct trial *trial = context;
    struct trial_programs_state *state = trial->programs;
    int program, got;
    struct process_exit how;
    struct err err = {0};
    while ((got = fabric_next_exit(trial->fabric, &program, &how, &err)) == 1)
        if (program < state->count)
            program_ended(&state->nodes[program], &how);
    if (got < 0)
        end_with(trial, &err);
}

static void on_signal(void *context, uint32_t events)
{
    (void)events;
    struct err err;
    err_set(&err, ERR_INTERRUPTED, "interrupted while the outside programs ran");
    if (interruption_pending())
        end_with(context, &err);
}

static void on_deadline(void *context, int64_t deadline_ns)
{
    (void)deadline_ns;
    enum { NAMED_MAX = 4 };
    struct trial *trial = context;
    const struct trial_programs_state *state = trial->programs;
    cleanup(text_free) struct text late = {0};
    int count = 0;
    for (int n = 0; n < state->count; n++)
        if (!state->nodes[n].ended && count++ < NAMED_MAX)
            text_printf(&late, "%s%s", count > 1 ? ", " : "", trial->names[n]);
    if (count > NAMED_MAX)
        text_printf(&late, " and %d more", count - NAMED_MAX);
    char limit[UNITS_TEXT_BYTES];
    struct err err;
    err_set(&err, ERR_TRIAL,
            "%s after the start the programs of these nodes still ran: %s (trial_deadline in the campaign file sets the limit)",
            units_show_time(limit, sizeof(limit), (double)state->limit_ns), late.bytes);
    end_with(trial, &err);
}

/* ---- stages ---- */

/* The caller's environment and the arm's, but for what a program must not take for its own. */
static char **environment_of(struct arena *arena, const struct arm *arm)
{
    static const char name[] = "LAGGARD_REPORT=";
    size_t kept = 0;
    char **variables = arm_environment(arena, arm);
    for (size_t i = 0; variables[i]; i++)
        if (strncmp(variables[i], name, sizeof(name) - 1) != 0)
            variables[kept++] = variables[i];
    variables[kept++] = arena_printf(arena, "%s%d", name, STANDARD_STREAMS); /* the first descriptor behind them */
    variables[kept] = NULL;
    return variables;
}

static struct trial_programs_state *new_state(struct trial *trial, int count)
{
    struct trial_programs_state *state = arena_new_object(trial->arena, struct trial_programs_state);
    state->nodes = arena_new_array(trial->arena, struct outside, (size_t)count);
    state->count = state->running = count;
    state->leader = -1;
    uint32_t share = RECORDS_ALL_MAX / (uint32_t)count, most = share < RECORDS_NODE_MAX ? share : RECORDS_NODE_MAX;
    int64_t now_ns = clock_now_ns();
    for (int n = 0; n < count; n++) {
        struct outside *node = &state->nodes[n];
        *node = (struct outside){.trial = trial, .node = n};
        node->streams =
            (struct program_streams){.pipes = {-1, -1, -1}, .on_rounds = on_rounds, .on_bad = on_bad_report, .context = node};
        node->streams.report = (struct program_report){
            .earliest_ns = now_ns, .rounds_most = most, .spans_most = most, .drop_spans = !trial->cell->settings.record_spans};
    }
    return state;
}

static int build_programs(struct trial *trial, struct err *err)
{
    int count = trial->topology.host_count, result = 0;
    const struct outside_command *command = &trial->cell->settings.workload.exec;
    struct trial_programs_state *state = trial->programs = new_state(trial, count);
    struct fabric_program *programs = arena_new_array(trial->arena, struct fabric_program, (size_t)count);
    int(*theirs)[STREAM_COUNT] = arena_calloc(trial->arena, (size_t)count, sizeof(*theirs));
    int(*standard)[STANDARD_STREAMS] = arena_calloc(trial->arena, (size_t)count, sizeof(*standard));
    memset(theirs, -1, (size_t)count * sizeof(*theirs));
    char **environment = environment_of(trial->arena, trial->cell->arm);
    for (int n = 0; n < count && result == 0; n++) {
        result = program_streams_open(&state->nodes[n].streams, theirs[n], err);
        standard[n][0] = -1; /* /dev/null */
        standard[n][1] = theirs[n][STREAM_OUTPUT];
        standard[n][2] = theirs[n][STREAM_ERRORS];
        programs[n] = (struct fabric_program){
            .place = n,
            .path = trial->context->program_paths[trial->plan->cell],
            .arguments = (char *const *)command->words,
            .environment = environment,
            .descriptors = &theirs[n][STREAM_REPORT],
            .descriptor_count = 1,
            .outside = true,
            .streams = standard[n],
        };
    }
    if (result == 0)
        result = trial_build_fabric(trial, programs, count, err);
    state->start_ns = trial->ready_ns = clock_now_ns();
    trial->load_before = host_load_now();
    for (int n = 0; n < count; n++) {
        state->nodes[n].streams.report.start_ns = state->start_ns;
        for (int stream = 0; stream < STREAM_COUNT; stream++)
            close_fd(&theirs[n][stream]);
    }
    return result;
}

static int watch_all(struct trial *trial, struct err *err)
{
    struct trial_programs_state *state = trial->programs;
    for (int n = 0; n < state->count; n++)
        if (program_streams_watch(&state->nodes[n].streams, trial->loop, err) < 0)
            return -ERR_HOST;
    if (!loop_watch(trial->loop, fabric_event_fd(trial->fabric), EPOLLIN, on_fabric_event, trial, err) ||
        (trial->context->signal_fd >= 0 && !loop_watch(trial->loop, trial->context->signal_fd, EPOLLIN, on_signal, trial, err)))
        return -ERR_HOST;
    return 0;
}

static int run_programs(struct trial *trial, struct err *err)
{
    struct trial_programs_state *state = trial->programs;
    const struct settings *settings = &trial->cell->settings;
    trial->loop = loop_new(err);
    if (!trial->loop)
        return -ERR_HOST;
    state->limit_ns = settings->trial_deadline_ns > 0 ? settings->trial_deadline_ns : DEADLINE_NS + event_extra_ns(settings);
    state->deadline = loop_timer(trial->loop, on_deadline, trial);
    loop_arm(state->deadline, state->start_ns + state->limit_ns);
    int result = watch_all(trial, err);
    if (result == 0)
        result = trial_ready(trial, err);
    if (result < 0)
        return result;
    trial_start(trial, state->start_ns);
    result = loop_run(trial->loop, err);
    if (result < 0)
        return err_wrap(err, "running the trial's event loop");
    if (state->failure.kind == ERR_NONE)
        return 0;
    if (err)
        *err = state->failure;
    return -(int)state->failure.kind;
}

static const char *command_text(const struct outside_command *command, struct arena *arena)
{
    cleanup(text_free) struct text text = {0};
    struct json json = {.out = &text};
    json_begin_array(&json, NULL);
    for (int i = 0; i < command->count; i++)
        json_string(&json, NULL, command->words[i]);
    json_end_array(&json);
    return arena_strdup(arena, text.bytes);
}

/* Also what became of a trial that failed: the streams say more about it than anything else. */
static void conclude_programs(struct trial *trial)
{
    struct trial_programs_state *state = trial->programs;
    if (!state || !trial->fabric)
        return;
    struct process_result *processes = arena_new_array(trial->arena, struct process_result, (size_t)state->count);
    const char *command = command_text(&trial->cell->settings.workload.exec, trial->arena);
    for (int n = 0; n < state->count; n++) {
        struct outside *node = &state->nodes[n];
        program_streams_drain(&node->streams, STREAM_REPORT); /* what is still reported changes nothing any more */
        processes[n] = (struct process_result){.command = command, .ended = node->ended, .how = node->how, .end_ns = node->end_ns};
        for (int stream = 0; stream < STREAM_REPORT; stream++) {
            cleanup(text_free) struct text text = {0};
            program_output_text(&node->streams.output[stream], &text);
            processes[n].streams[stream] = (struct process_stream){
                .text = arena_strdup(trial->arena, text.bytes ? text.bytes : ""),
                .bytes = node->streams.output[stream].bytes,
                .truncated = program_output_truncated(&node->streams.output[stream]),
            };
        }
    }
    trial->end.processes = processes;
    trial->end.process_count = state->count;
}

static int judge_programs(struct trial *trial, struct trial_found *found, struct err *err)
{
    struct trial_programs_state *state = trial->programs;
    struct node_result *results = arena_new_array(trial->arena, struct node_result, (size_t)state->count);
    int64_t *ends = arena_new_array(trial->arena, int64_t, (size_t)state->count);
    for (int n = 0; n < state->count; n++) {
        const struct program_report *report = &state->nodes[n].streams.report;
        ends[n] = state->nodes[n].end_ns;
        results[n] = (struct node_result){
            .rounds = report->rounds, .round_count = report->round_count, .spans = report->spans, .span_count = report->span_count};
    }
    *found = (struct trial_found){.nodes = results, .node_count = state->count, .duration_ns = state->done_ns};
    return program_rounds(results, state->count, trial->names, ends, trial->cell->settings.warmup_rounds, trial->arena,
                          &found->rounds, &found->round_count, err);
}

static void clean_programs(struct trial *trial)
{
    struct trial_programs_state *state = trial->programs;
    for (int n = 0; state && n < state->count; n++)
        program_streams_close(&state->nodes[n].streams);
}

const struct trial_driver trial_programs = {
    .build = build_programs,
    .run = run_programs,
    .conclude = conclude_programs,
    .judge = judge_programs,
    .abandon = end_with,
    .clean = clean_programs,
};
