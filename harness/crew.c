/* crew.c: the controller's side of the control protocol; see crew.h. */
#include "harness/crew.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/epoll.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/text.h"
#include "base/units.h"
#include "harness/control_channel.h"
#include "harness/report_check.h"

enum phase { PHASE_SETUP, PHASE_CONNECT, PHASE_RUN, PHASE_COLLECT, PHASE_OVER, PHASE_COUNT };

/* How long a closed socket waits for the end of its process, which says more. */
static const int64_t CLOSED_GRACE_NS = 300 * NS_PER_MS;
/* Time for every agent to see START before its hour comes. */
static const int64_t START_LEAD_NS = 5 * NS_PER_MS, START_LEAD_PER_NODE_NS = 50 * NS_PER_US;

struct member {
    struct crew *crew;
    int node;
    struct control_channel channel;
    bool answered; /* in this phase */
};

struct crew {
    struct crew_spec spec;
    struct member *members;
    struct node_result *results;
    enum phase phase;
    int answered_count;
    struct timer *deadline;
    uint32_t rounds_done;
    uint64_t parameter_count;
    struct control_start start;
    int64_t ready_ns, done_ns;
    struct err failure; /* kind ERR_NONE while all is well */
    struct err closed;  /* set once a socket is closed: the crew goes on no further */
};

static void crew_stop(struct crew *crew)
{
    crew->phase = PHASE_OVER;
    loop_disarm(crew->deadline);
    loop_stop(crew->spec.loop);
}

void crew_abandon(struct crew *crew, const struct err *reason)
{
    if (crew->phase == PHASE_OVER) /* failed before, or every report is there */
        return;
    crew->failure = *reason;
    crew_stop(crew);
}

static const char *name_of(const struct member *member)
{
    return member->crew->spec.names[member->node];
}

/* ---- what happens between phases ---- */

static void prepare_start(struct crew *crew)
{
    crew->ready_ns = clock_now_ns();
    if (crew->spec.hooks.before_start)
        crew->spec.hooks.before_start(crew->spec.hooks.context);
    crew->start.start_ns = clock_now_ns() + START_LEAD_NS + crew->spec.count * START_LEAD_PER_NODE_NS;
    loop_arm(crew->deadline, crew->start.start_ns + crew->spec.run_deadline_ns);
}

static void prepare_collect(struct crew *crew)
{
    crew->done_ns = clock_now_ns();
    if (crew->spec.hooks.after_done)
        crew->spec.hooks.after_done(crew->spec.hooks.context);
}

/* ---- the phases ---- */

static const void *setup_of(const struct member *member)
{
    return &member->crew->spec.setups[member->node];
}

static const void *start_of(const struct member *member)
{
    return &member->crew->start;
}

static const struct phase_row {
    void (*prepare)(struct crew *);
    enum control_operation order;
    const void *(*body)(const struct member *);
    const char *awaited;
    enum control_operation answer;
} phases[PHASE_COUNT] = {
    [PHASE_SETUP] = {NULL, CONTROL_SETUP, setup_of, "load the data and listen", CONTROL_LISTENING},
    [PHASE_CONNECT] = {NULL, CONTROL_CONNECT, NULL, "connect to the others", CONTROL_READY},
    [PHASE_RUN] = {prepare_start, CONTROL_START, start_of, "finish all rounds", CONTROL_DONE},
    [PHASE_COLLECT] = {prepare_collect, CONTROL_COLLECT, NULL, "evaluate and report", CONTROL_REPORT},
    [PHASE_OVER] = {.awaited = "nothing"},
};

static void member_gone(struct member *member);

static void enter_phase(struct crew *crew, enum phase phase)
{
    crew->phase = phase;
    crew->answered_count = 0;
    if (phase == PHASE_OVER) {
        crew_stop(crew);
        return;
    }
    for (int i = 0; i < crew->spec.count; i++)
        crew->members[i].answered = false;
    if (phases[phase].prepare)
        phases[phase].prepare(crew);
    for (int i = 0; i < crew->spec.count && crew->phase == phase && crew->closed.kind == ERR_NONE; i++) {
        struct member *member = &crew->members[i];
        const struct phase_row *row = &phases[phase];
        struct err err = {0};
        int sent = control_channel_send(&member->channel, row->order, row->body ? row->body(member) : NULL, &err);
        if (sent == -ERR_USAGE)
            crew_abandon(crew, &err);
        else if (sent < 0)
            member_gone(member);
    }
}

/* What this member has still to do, for sentences. */
static const char *awaited_of(const struct member *member)
{
    return member->answered ? "wait for the other nodes" : phases[member->crew->phase].awaited;
}

/* ---- receiving ---- */

static void take_listening(struct member *member, const struct control_listening *listening)
{
    struct crew *crew = member->crew;
    crew->results[member->node].blas = listening->blas;
    crew->results[member->node].idle_gradient_ns = listening->gradient_ns;
    if (listening->parameter_count > crew->parameter_count)
        crew->parameter_count = listening->parameter_count;
}

static int take_report(struct member *member, const struct control_report *report, struct err *err)
{
    struct crew *crew = member->crew;
    if (report_check(report, (uint32_t)crew->spec.count, crew->spec.setups[member->node].rounds, err) < 0)
        return err_wrap(err, "its report cannot be true");
    struct node_result *result = &crew->results[member->node];
    result->rounds = report->rounds;
    result->round_count = report->round_count;
    result->spans = report->spans;
    result->span_count = report->span_count;
    result->evaluations = report->evaluations;
    result->evaluation_count = report->evaluation_count;
    result->counters = report->counters;
    result->model_sha256 = report->model_sha256_bytes ? report->model_sha256 : NULL;
    return 0;
}

static void take_failure(struct member *member, const struct control_failure *failure)
{
    struct err err;
    err_set(&err, ERR_TRIAL, "node %s, round %u: %s", name_of(member), failure->round, failure->text);
    crew_abandon(member->crew, &err);
}

static void answer(struct member *member)
{
    struct crew *crew = member->crew;
    member->answered = true;
    crew->answered_count++;
    if (crew->answered_count == crew->spec.count && crew->closed.kind == ERR_NONE)
        enter_phase(crew, crew->phase + 1);
}

static int take_operation(struct member *member, const struct control_operation_in *in, struct err *err)
{
    struct crew *crew = member->crew;
    if (in->operation == CONTROL_FAILURE) {
        take_failure(member, in->body);
        return 0;
    }
    if (in->operation == CONTROL_PROGRESS && crew->phase == PHASE_RUN) {
        const struct control_progress *progress = in->body;
        crew->rounds_done = progress->rounds_done;
        if (crew->spec.hooks.progress)
            crew->spec.hooks.progress(crew->spec.hooks.context, crew->rounds_done);
        return 0;
    }
    if (in->operation != phases[crew->phase].answer || member->answered)
        return err_set(err, ERR_TRIAL, "it sent operation %s out of turn, when it was to %s",
                       control_operations[in->operation].name, awaited_of(member));
    if (in->operation == CONTROL_LISTENING)
        take_listening(member, in->body);
    else if (in->operation == CONTROL_REPORT && take_report(member, in->body, err) < 0)
        return -ERR_TRIAL;
    answer(member);
    return 0;
}

/* Nothing more will come from this member, and it said nothing that explains it. */
static void member_closed(struct member *member)
{
    struct crew *crew = member->crew;
    control_channel_ignore(&member->channel);
    if (crew->phase == PHASE_OVER || (crew->phase == PHASE_COLLECT && member->answered))
        return;
    if (crew->closed.kind != ERR_NONE)
        return;
    err_set(&crew->closed, ERR_TRIAL, "node %s closed its control socket after round %u, when it was to %s", name_of(member),
            crew->rounds_done, awaited_of(member));
    loop_arm(crew->deadline, clock_now_ns() + CLOSED_GRACE_NS);
}

/* Reads once and takes what is complete. False when there is nothing more to read for now. */
static bool hear(struct member *member)
{
    struct crew *crew = member->crew;
    struct err err = {0};
    int filled = control_channel_fill(&member->channel, NULL);
    while (crew->phase != PHASE_OVER) {
        struct control_operation_in in;
        int got = control_channel_next(&member->channel, crew->spec.arena, &in, &err);
        if (got == 0)
            break;
        if (got > 0)
            got = take_operation(member, &in, &err);
        if (got < 0) {
            err_wrap(&err, "node %s", name_of(member));
            crew_abandon(crew, &err);
        }
    }
    if (filled < 0)
        member_closed(member);
    return filled == 1 && crew->phase != PHASE_OVER;
}

/* The other end is gone: what it said before comes first. */
static void member_gone(struct member *member)
{
    while (member->channel.watch && hear(member)) {
    }
    if (member->channel.watch)
        member_closed(member);
}

static void on_event(void *context, uint32_t events)
{
    struct member *member = context;
    if (events & ~(uint32_t)EPOLLOUT)
        hear(member);
    if ((events & EPOLLOUT) && member->channel.watch && control_channel_flush(&member->channel, NULL) < 0)
        member_gone(member);
}

/* ---- ends ---- */

void crew_process_ended(struct crew *crew, int node, const char *how)
{
    struct member *member = &crew->members[node];
    while (member->channel.watch && hear(member)) {
    }
    if (crew->phase == PHASE_OVER || (crew->phase == PHASE_COLLECT && member->answered))
        return;
    struct err err;
    err_set(&err, ERR_TRIAL, "the agent of node %s ended (%s) after round %u, when it was to %s", name_of(member), how,
            crew->rounds_done, awaited_of(member));
    crew_abandon(crew, &err);
}

void crew_interrupt(struct crew *crew)
{
    struct err err;
    err_set(&err, ERR_INTERRUPTED, "interrupted after round %u", crew->rounds_done);
    crew_abandon(crew, &err);
}

static void name_the_late(const struct crew *crew, struct text *names)
{
    enum { NAMED_MAX = 4 };
    int count = 0;
    for (int i = 0; i < crew->spec.count; i++)
        if (!crew->members[i].answered && count++ < NAMED_MAX)
            text_printf(names, "%s%s", count > 1 ? ", " : "", crew->spec.names[i]);
    if (count > NAMED_MAX)
        text_printf(names, " and %d more", count - NAMED_MAX);
}

static void on_deadline(void *context, int64_t deadline_ns)
{
    (void)deadline_ns;
    struct crew *crew = context;
    if (crew->closed.kind != ERR_NONE) {
        crew_abandon(crew, &crew->closed);
        return;
    }
    cleanup(text_free) struct text late = {0};
    name_the_late(crew, &late);
    char limit[UNITS_TEXT_BYTES];
    struct err err;
    if (crew->phase >= PHASE_RUN)
        err_set(&err, ERR_TRIAL,
                "%s after the start, and after round %u, these nodes had still to %s: %s (trial_deadline in the campaign file sets "
                "the limit)",
                units_show_time(limit, sizeof(limit), (double)crew->spec.run_deadline_ns), crew->rounds_done,
                phases[crew->phase].awaited, late.bytes);
    else
        err_set(&err, ERR_TRIAL, "%s after they were told to, these nodes had still to %s: %s (is this host overloaded?)",
                units_show_time(limit, sizeof(limit), (double)crew->spec.setup_deadline_ns), phases[crew->phase].awaited,
                late.bytes);
    crew_abandon(crew, &err);
}

/* ---- life ---- */

struct crew *crew_new(const struct crew_spec *spec, struct err *err)
{
    struct crew *crew = arena_new_object(spec->arena, struct crew);
    crew->spec = *spec;
    crew->members = arena_new_array(spec->arena, struct member, (size_t)spec->count);
    crew->results = arena_new_array(spec->arena, struct node_result, (size_t)spec->count);
    int opened = 0, result = 0;
    for (; opened < spec->count && result == 0; opened++) {
        struct member *member = &crew->members[opened];
        member->crew = crew;
        member->node = opened;
        result = control_channel_open(&member->channel, spec->sockets[opened], spec->loop, on_event, member, err);
    }
    if (result < 0) {
        for (int i = 0; i < spec->count; i++) {
            if (i >= opened)
                crew->members[i].channel.fd = spec->sockets[i];
            control_channel_close(&crew->members[i].channel);
        }
        return NULL;
    }
    crew->deadline = loop_timer(spec->loop, on_deadline, crew);
    return crew;
}

void crew_free(struct crew *crew)
{
    for (int i = 0; crew && i < crew->spec.count; i++)
        control_channel_close(&crew->members[i].channel);
}

int crew_run(struct crew *crew, struct err *err)
{
    if (crew->phase != PHASE_OVER) {
        loop_arm(crew->deadline, clock_now_ns() + crew->spec.setup_deadline_ns);
        enter_phase(crew, PHASE_SETUP);
    }
    int result = loop_run(crew->spec.loop, err); /* returns at once when the crew is over */
    if (result < 0)
        return err_wrap(err, "running the trial's event loop");
    if (crew->failure.kind == ERR_NONE) {
        /* Politeness only: a clean exit for tools that watch agents (leak checkers); the fabric ends whoever does not go. */
        for (int i = 0; i < crew->spec.count; i++)
            control_channel_send(&crew->members[i].channel, CONTROL_QUIT, NULL, NULL);
        return 0;
    }
    if (err)
        *err = crew->failure;
    return -(int)crew->failure.kind;
}

void crew_set_run_deadline(struct crew *crew, int64_t run_deadline_ns)
{
    crew->spec.run_deadline_ns = run_deadline_ns;
}

struct crew_times crew_times(const struct crew *crew)
{
    return (struct crew_times){.ready_ns = crew->ready_ns, .start_ns = crew->start.start_ns, .done_ns = crew->done_ns};
}

const struct node_result *crew_results(const struct crew *crew)
{
    return crew->results;
}

uint64_t crew_parameter_count(const struct crew *crew)
{
    return crew->parameter_count;
}
