/* crew.c: the controller's side of the control protocol; see crew.h. */
#include "harness/crew.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/frame.h"
#include "base/loop.h"
#include "base/text.h"
#include "base/units.h"

enum phase { PHASE_SETUP, PHASE_CONNECT, PHASE_RUN, PHASE_COLLECT, PHASE_OVER, PHASE_COUNT };

/* Time for every agent to see START before its hour comes. */
static const int64_t CLOSED_GRACE_NS = 300 * NS_PER_MS;
static const int64_t START_LEAD_NS = 5 * NS_PER_MS, START_LEAD_PER_NODE_NS = 50 * NS_PER_US;

struct member {
    struct crew *crew;
    int node;
    int fd;
    struct watch *watch;
    struct frame_reader reader;
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
    int64_t start_ns, ready_ns, done_ns;
    struct err failure; /* kind ERR_NONE while all is well */
    struct err closed;  /* a socket closed; its process' end, which says more, is awaited for a moment */
};

static void crew_stop(struct crew *crew)
{
    crew->phase = PHASE_OVER;
    loop_disarm(crew->deadline);
    loop_stop(crew->spec.loop);
}

static void crew_fail(struct crew *crew, const struct err *reason)
{
    if (crew->failure.kind == ERR_NONE)
        crew->failure = *reason;
    crew_stop(crew);
}

/* ---- sending ---- */

static int send_operation(struct member *member, enum control_operation operation, const void *body, struct err *err)
{
    cleanup(text_free) struct text bytes = {0};
    const struct control_row *row = &control_operations[operation];
    if (row->body)
        wire_encode(row->body, body, &bytes);
    int result = frame_send(member->fd, (uint16_t)operation, CONTROL_VERSION, bytes.bytes, bytes.length, err);
    if (result < 0)
        return err_wrap(err, "sending %s to node %s", row->name, member->crew->spec.names[member->node]);
    return 0;
}

static int send_setup(struct member *member, struct err *err)
{
    return send_operation(member, CONTROL_SETUP, &member->crew->spec.setups[member->node], err);
}

static int send_connect(struct member *member, struct err *err)
{
    return send_operation(member, CONTROL_CONNECT, NULL, err);
}

static int send_start(struct member *member, struct err *err)
{
    struct control_start start = {.start_ns = member->crew->start_ns};
    return send_operation(member, CONTROL_START, &start, err);
}

static int send_collect(struct member *member, struct err *err)
{
    return send_operation(member, CONTROL_COLLECT, NULL, err);
}

/* ---- what happens between phases ---- */

static void prepare_start(struct crew *crew)
{
    crew->ready_ns = clock_now_ns();
    if (crew->spec.hooks.before_start)
        crew->spec.hooks.before_start(crew->spec.hooks.context);
    crew->start_ns = clock_now_ns() + START_LEAD_NS + crew->spec.count * START_LEAD_PER_NODE_NS;
    loop_arm(crew->deadline, crew->start_ns + crew->spec.run_deadline_ns);
}

static void prepare_collect(struct crew *crew)
{
    crew->done_ns = clock_now_ns();
    if (crew->spec.hooks.after_done)
        crew->spec.hooks.after_done(crew->spec.hooks.context);
}

static const struct phase_row {
    const char *awaited;
    enum control_operation answer;
    void (*prepare)(struct crew *);
    int (*send)(struct member *, struct err *);
} phases[PHASE_COUNT] = {
    [PHASE_SETUP] = {"load its data and listen", CONTROL_LISTENING, NULL, send_setup},
    [PHASE_CONNECT] = {"connect to its peers", CONTROL_READY, NULL, send_connect},
    [PHASE_RUN] = {"finish its rounds", CONTROL_DONE, prepare_start, send_start},
    [PHASE_COLLECT] = {"evaluate and report", CONTROL_REPORT, prepare_collect, send_collect},
    [PHASE_OVER] = {"nothing", 0, NULL, NULL},
};

static void enter_phase(struct crew *crew, enum phase phase)
{
    crew->phase = phase;
    crew->answered_count = 0;
    if (phase == PHASE_OVER) {
        crew_stop(crew);
        return;
    }
    if (phases[phase].prepare)
        phases[phase].prepare(crew);
    for (int i = 0; i < crew->spec.count && crew->phase == phase; i++) {
        struct err err = {0};
        crew->members[i].answered = false;
        if (phases[phase].send(&crew->members[i], &err) < 0)
            crew_fail(crew, &err);
    }
}

/* ---- receiving ---- */

static int take_listening(struct member *member, const void *body)
{
    const struct control_listening *listening = body;
    struct crew *crew = member->crew;
    crew->results[member->node].blas = arena_strdup(crew->spec.arena, listening->blas);
    crew->results[member->node].idle_gradient_ns = listening->gradient_ns;
    if (listening->parameter_count > crew->parameter_count)
        crew->parameter_count = listening->parameter_count;
    return 0;
}

static int take_report(struct member *member, const void *body)
{
    const struct control_report *report = body;
    struct node_result *result = &member->crew->results[member->node];
    result->rounds = report->rounds;
    result->round_count = report->round_count;
    result->spans = report->spans;
    result->span_count = report->span_count;
    result->evaluations = report->evaluations;
    result->evaluation_count = report->evaluation_count;
    result->counters = report->counters;
    result->model_sha256 = report->model_sha256_bytes == 32 ? report->model_sha256 : NULL;
    return 0;
}

static void answer(struct member *member)
{
    struct crew *crew = member->crew;
    member->answered = true;
    if (++crew->answered_count == crew->spec.count)
        enter_phase(crew, crew->phase + 1);
}

static void take_failure(struct member *member, const struct control_failure *failure)
{
    struct err err;
    err_set(&err, ERR_TRIAL, "node %s, round %u: %s", member->crew->spec.names[member->node], failure->round, failure->text);
    crew_fail(member->crew, &err);
}

static int take_frame(struct member *member, const struct frame *frame, struct err *err)
{
    struct crew *crew = member->crew;
    const char *name = crew->spec.names[member->node];
    if (frame->version != CONTROL_VERSION)
        return err_set(
            err, ERR_TRIAL,
            "node %s speaks version %u of the control protocol, the controller version %d: install both programs from one build",
            name, frame->version, CONTROL_VERSION);
    if (frame->operation == 0 || frame->operation >= CONTROL_OPERATION_END || !control_operations[frame->operation].from_agent)
        return err_set(err, ERR_TRIAL, "node %s sent operation %u, which no agent sends", name, frame->operation);
    const struct control_row *row = &control_operations[frame->operation];
    void *body = row->body ? arena_alloc(crew->spec.arena, row->body->struct_bytes) : NULL;
    if (row->body && wire_decode(row->body, frame->body, frame->length, crew->spec.arena, body, err) < 0)
        return err_wrap(err, "node %s, operation %s", name, row->name);

    if (frame->operation == CONTROL_FAILURE) {
        take_failure(member, body);
        return 0;
    }
    if (frame->operation == CONTROL_PROGRESS && crew->phase == PHASE_RUN) {
        crew->rounds_done = ((const struct control_progress *)body)->rounds_done;
        if (crew->spec.hooks.progress)
            crew->spec.hooks.progress(crew->spec.hooks.context, crew->rounds_done);
        return 0;
    }
    if (frame->operation != phases[crew->phase].answer || member->answered)
        return err_set(err, ERR_TRIAL, "node %s sent operation %s out of turn: it was to %s", name, row->name,
                       phases[crew->phase].awaited);
    if (frame->operation == CONTROL_LISTENING)
        take_listening(member, body);
    else if (frame->operation == CONTROL_REPORT)
        take_report(member, body);
    answer(member);
    return 0;
}

static void on_readable(void *context, uint32_t events)
{
    (void)events;
    struct member *member = context;
    struct crew *crew = member->crew;
    struct err err = {0};
    int filled = frame_reader_fill(&member->reader, member->fd, &err);
    struct frame frame;
    int got = 1;
    while (crew->phase != PHASE_OVER && (got = frame_reader_next(&member->reader, &frame, &err)) == 1) {
        got = take_frame(member, &frame, &err);
        if (got < 0)
            break;
    }
    if (got >= 0 && filled >= 0)
        return;
    loop_unwatch(member->watch);
    member->watch = NULL;
    if (crew->phase == PHASE_OVER)
        return;
    if (got < 0) {
        crew_fail(crew, &err);
        return;
    }
    if (crew->closed.kind == ERR_NONE)
        err_set(&crew->closed, ERR_TRIAL, "node %s closed its control socket after round %u, when it was to %s",
                crew->spec.names[member->node], crew->rounds_done, phases[crew->phase].awaited);
    loop_arm(crew->deadline, clock_now_ns() + CLOSED_GRACE_NS);
}

void crew_process_ended(struct crew *crew, int node, const char *how)
{
    if (crew->phase == PHASE_OVER && crew->failure.kind == ERR_NONE)
        return;
    /* What the agent still said (a FAILURE) explains its end better than its exit status. */
    if (crew->members[node].watch)
        on_readable(&crew->members[node], EPOLLIN);
    if (crew->failure.kind != ERR_NONE && crew->phase == PHASE_OVER)
        return;
    struct err err;
    err_set(&err, ERR_TRIAL, "the agent of node %s ended (%s) after round %u, when it was to %s", crew->spec.names[node], how,
            crew->rounds_done, phases[crew->phase].awaited);
    crew_fail(crew, &err);
}

void crew_interrupt(struct crew *crew)
{
    struct err err;
    err_set(&err, ERR_INTERRUPTED, "interrupted in round %u", crew->rounds_done);
    crew_fail(crew, &err);
}

static void on_deadline(void *context, int64_t deadline_ns)
{
    (void)deadline_ns;
    struct crew *crew = context;
    if (crew->closed.kind != ERR_NONE) {
        crew_fail(crew, &crew->closed);
        return;
    }
    cleanup(text_free) struct text late = {0};
    int count = 0;
    for (int i = 0; i < crew->spec.count; i++) {
        if (crew->members[i].answered)
            continue;
        if (count < 4)
            text_printf(&late, "%s%s", count ? ", " : "", crew->spec.names[i]);
        count++;
    }
    if (count > 4)
        text_printf(&late, " and %d more", count - 4);
    char limit[UNITS_TEXT_BYTES];
    bool running = crew->phase >= PHASE_RUN;
    units_show_time(limit, sizeof(limit), (double)(running ? crew->spec.run_deadline_ns : crew->spec.setup_deadline_ns));
    struct err err;
    err_set(&err, ERR_TRIAL,
            "after %s and round %u these nodes had still to %s: %s (trial_deadline in the campaign file sets the limit)", limit,
            crew->rounds_done, phases[crew->phase].awaited, late.bytes ? late.bytes : "none");
    crew_fail(crew, &err);
}

/* ---- life ---- */

struct crew *crew_new(const struct crew_spec *spec, struct err *err)
{
    struct crew *crew = arena_new_object(spec->arena, struct crew);
    crew->spec = *spec;
    crew->members = arena_new_array(spec->arena, struct member, (size_t)spec->count);
    crew->results = arena_new_array(spec->arena, struct node_result, (size_t)spec->count);
    for (int i = 0; i < spec->count; i++)
        crew->members[i] = (struct member){.crew = crew, .node = i, .fd = spec->sockets[i]};
    for (int i = 0; i < spec->count; i++) {
        struct member *member = &crew->members[i];
        fcntl(member->fd, F_SETFL, fcntl(member->fd, F_GETFL) | O_NONBLOCK);
        member->watch = loop_watch(spec->loop, member->fd, EPOLLIN, on_readable, member, err);
        if (!member->watch) {
            crew_free(crew);
            return NULL;
        }
    }
    crew->deadline = loop_timer(spec->loop, on_deadline, crew);
    return crew;
}

void crew_free(struct crew *crew)
{
    if (!crew)
        return;
    for (int i = 0; i < crew->spec.count; i++) {
        struct member *member = &crew->members[i];
        if (member->watch)
            loop_unwatch(member->watch);
        frame_reader_free(&member->reader);
        close_fd(&member->fd);
    }
}

void crew_cleanup(struct crew **crew)
{
    crew_free(*crew);
    *crew = NULL;
}

int crew_run(struct crew *crew, struct err *err)
{
    loop_arm(crew->deadline, clock_now_ns() + crew->spec.setup_deadline_ns);
    enter_phase(crew, PHASE_SETUP);
    if (crew->phase != PHASE_OVER) {
        int result = loop_run(crew->spec.loop, err);
        if (result < 0)
            return err_wrap(err, "running the trial's event loop");
    }
    if (crew->failure.kind == ERR_NONE) {
        /* Politeness only: a clean exit for tools that watch agents (leak checkers); the fabric ends whoever does not go. */
        for (int i = 0; i < crew->spec.count; i++)
            send_operation(&crew->members[i], CONTROL_QUIT, NULL, NULL);
        return 0;
    }
    if (err)
        *err = crew->failure;
    return -(int)crew->failure.kind;
}

int64_t crew_start_ns(const struct crew *crew)
{
    return crew->start_ns;
}

int64_t crew_ready_ns(const struct crew *crew)
{
    return crew->ready_ns;
}

int64_t crew_done_ns(const struct crew *crew)
{
    return crew->done_ns;
}

const struct node_result *crew_results(const struct crew *crew)
{
    return crew->results;
}

uint64_t crew_parameter_count(const struct crew *crew)
{
    return crew->parameter_count;
}
