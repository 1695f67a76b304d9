/* crew.c: the controller's side of the control protocol: what agents say, and how a crew ends; see crew.h. */
#include "harness/crew.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/epoll.h>

#include "base/arena.h"
#include "base/clock.h"
#include "harness/crew_internal.h"
#include "harness/report_check.h"
#include "harness/yaml_document.h"

/* What the socket of a process that has ended may still hold, in reads of 256 KiB. Others may have it open and write on. */
enum { READS_MOST = 64 };
/* How long a closed socket waits for the end of its process, which says more. */
static const int64_t CLOSED_GRACE_NS = 300 * NS_PER_MS;

void crew_stop(struct crew *crew)
{
    crew->phase = PHASE_OVER;
    loop_disarm(crew->deadline);
    loop_disarm(crew->late);
    loop_stop(crew->spec.loop);
}

void crew_abandon(struct crew *crew, const struct err *reason)
{
    if (crew->phase == PHASE_OVER) /* failed before, or every report is there */
        return;
    crew->failure = *reason;
    crew_stop(crew);
}

const char *crew_name_of(const struct member *member)
{
    return member->crew->spec.names[member->node];
}

/* ---- receiving ---- */

static int take_listening(struct member *member, const struct control_listening *listening, struct err *err)
{
    struct crew *crew = member->crew;
    if (report_check_listening(listening, clock_now_ns() - crew->setup_ns, err) < 0)
        return -ERR_TRIAL;
    crew->results[member->node].blas = listening->blas;
    crew->results[member->node].idle_gradient_ns = listening->gradient_ns;
    if (listening->parameter_count > crew->parameter_count)
        crew->parameter_count = listening->parameter_count;
    return 0;
}

static uint32_t rounds_of(const struct control_setup *setup)
{
    return setup->rounds * (setup->size_count > 0 ? setup->size_count : 1);
}

static int take_report(struct member *member, const struct control_report *report, struct err *err)
{
    struct crew *crew = member->crew;
    if (report_check(report, (uint32_t)crew->spec.count, rounds_of(&crew->spec.setups[member->node]), err) < 0)
        return err_wrap(err, "its report cannot be true");
    struct node_result *result = &crew->results[member->node];
    result->rounds = report->rounds;
    result->round_count = report->round_count;
    result->spans = report->spans;
    result->span_count = report->span_count;
    result->gradients = report->gradients;
    result->gradient_count = report->gradient_count;
    result->evaluations = report->evaluations;
    result->evaluation_count = report->evaluation_count;
    result->samples = report->samples;
    result->sample_count = report->sample_count;
    result->counters = report->counters;
    result->model_sha256 = report->model_sha256_bytes ? report->model_sha256 : NULL;
    return 0;
}

/* The crew cannot go on; the end of a process, heard a little later, may say better why. */
static void wait_for_reason(struct crew *crew)
{
    loop_arm(crew->deadline, clock_now_ns() + CLOSED_GRACE_NS);
}

/* An agent's sentence comes to terminals and pages: what moves a cursor or turns the writing becomes '?'. */
static void take_text(const char *text, char *out, size_t size)
{
    size_t length = 0;
    while (text && *text && length + 1 < size) {
        size_t unprintable = yaml_document_unprintable(text);
        out[length++] = unprintable ? '?' : *text;
        text += unprintable ? unprintable : 1;
    }
    out[length] = '\0';
}

/* Where workers may go, what ends a trial is the server, and its workers' failures only follow from that. */
static void take_failure(struct member *member, const struct control_failure *failure)
{
    struct crew *crew = member->crew;
    struct err err;
    char text[sizeof(err.text)];
    take_text(failure->text, text, sizeof(text));
    err_set(&err, ERR_TRIAL, "node %s, round %u: %s", crew_name_of(member), failure->round, text);
    member->failed = true;
    control_channel_ignore(&member->channel); /* it has said that nothing more comes */
    if (!crew->running || member->node >= crew->spec.expendable) {
        crew_abandon(crew, &err);
        return;
    }
    if (crew->closed.kind != ERR_NONE)
        return;
    crew->closed = err;
    wait_for_reason(crew);
}

void crew_answer(struct member *member)
{
    struct crew *crew = member->crew;
    member->answered = true;
    crew->answered_count++;
    if (crew->closed.kind != ERR_NONE)
        return;
    if (crew->answered_count == crew->spec.count)
        crew_enter_next_phase(crew);
    else
        crew_await_the_late(crew);
}

static int take_progress(struct member *member, const struct control_progress *progress, struct err *err)
{
    struct crew *crew = member->crew;
    uint32_t most = rounds_of(&crew->spec.setups[member->node]);
    if (member->node != crew->spec.teller)
        return err_set(err, ERR_TRIAL, "it told of rounds, which only node %s does", crew->spec.names[crew->spec.teller]);
    if (progress->rounds_done <= crew->rounds_done || progress->rounds_done > most)
        return err_set(err, ERR_TRIAL, "it told that %u rounds are done, when %u of %u were", progress->rounds_done,
                       crew->rounds_done, most);
    int64_t now_ns = clock_now_ns();
    bool possible = progress->at_ns >= crew->starts_ns[0] && progress->at_ns <= now_ns;
    crew->rounds_done = progress->rounds_done;
    if (crew->spec.hooks.progress)
        crew->spec.hooks.progress(crew->spec.hooks.context, crew->rounds_done, possible ? progress->at_ns : now_ns);
    return 0;
}

static int take_operation(struct member *member, const struct control_operation_in *in, struct err *err)
{
    struct crew *crew = member->crew;
    if (in->operation == CONTROL_FAILURE) {
        take_failure(member, in->body);
        return 0;
    }
    if (in->operation == CONTROL_PROGRESS && crew->phase == PHASE_RUN)
        return take_progress(member, in->body, err);
    if (in->operation != crew_answer_in(crew->phase) || member->answered)
        return err_set(err, ERR_TRIAL, "it sent operation %s out of turn, when it was to %s",
                       control_operations[in->operation].name, crew_awaited_of(member));
    if (in->operation == CONTROL_DONE)
        crew->done_ns = clock_now_ns();
    else if ((in->operation == CONTROL_LISTENING && take_listening(member, in->body, err) < 0) ||
             (in->operation == CONTROL_REPORT && take_report(member, in->body, err) < 0))
        return -ERR_TRIAL;
    member->channel.reader.body_most = CONTROL_SHORT_MOST;
    crew_answer(member);
    return 0;
}

/* Nothing more will come from this member, and it said nothing that explains it. */
static void member_closed(struct member *member)
{
    struct crew *crew = member->crew;
    control_channel_ignore(&member->channel);
    if (crew->phase == PHASE_OVER || (crew->phase == PHASE_COLLECT && member->answered) || member->lost)
        return;
    if (crew->closed.kind != ERR_NONE)
        return;
    if (crew_can_lose(member)) {
        crew_lose(member, "it closed its control socket");
        return;
    }
    err_set(&crew->closed, ERR_TRIAL, "node %s closed its control socket after round %u, when it was to %s", crew_name_of(member),
            crew->rounds_done, crew_awaited_of(member));
    wait_for_reason(crew);
}

/* Reads once and takes what is complete. False when there is nothing more to read for now. */
static bool hear(struct member *member)
{
    struct crew *crew = member->crew;
    struct err err = {0};
    int filled = control_channel_fill(&member->channel, NULL);
    while (crew->phase != PHASE_OVER && !member->lost && !member->failed) {
        struct control_operation_in in;
        int got = control_channel_next(&member->channel, crew->spec.arena, &in, &err);
        if (got == 0)
            break;
        if (got > 0)
            got = take_operation(member, &in, &err);
        if (got < 0) {
            err_wrap(&err, "node %s", crew_name_of(member));
            crew_abandon(crew, &err);
        }
    }
    if (filled < 0)
        member_closed(member);
    return filled == 1 && crew->phase != PHASE_OVER;
}

static void hear_out(struct member *member)
{
    for (int reads = 0; reads < READS_MOST && member->channel.watch && hear(member); reads++) {
    }
}

/* The other end is gone, or says so: what it said before comes first. */
void crew_member_gone(struct member *member)
{
    hear_out(member);
    if (member->channel.watch)
        member_closed(member);
}

static void on_event(void *context, uint32_t events)
{
    struct member *member = context;
    if (events & ~(uint32_t)EPOLLOUT)
        hear(member);
    if ((events & EPOLLOUT) && member->channel.watch && control_channel_flush(&member->channel, NULL) < 0)
        crew_member_gone(member);
}

/* ---- ends ---- */

void crew_process_ended(struct crew *crew, int node, const char *how)
{
    struct member *member = &crew->members[node];
    hear_out(member);
    if (crew->phase == PHASE_OVER || member->failed)
        return;
    if (member->lost || crew_can_lose(member)) {
        char ended[128];
        snprintf(ended, sizeof(ended), "its agent ended (%s)", how);
        if (member->lost)
            crew_loss_explain(member, ended);
        else
            crew_lose(member, ended);
        return;
    }
    if (crew->phase == PHASE_COLLECT && member->answered)
        return;
    struct err err;
    err_set(&err, ERR_TRIAL, "the agent of node %s ended (%s) after round %u, when it was to %s", crew_name_of(member), how,
            crew->rounds_done, crew_awaited_of(member));
    crew_abandon(crew, &err);
}

void crew_interrupt(struct crew *crew)
{
    struct err err;
    err_set(&err, ERR_INTERRUPTED, "interrupted after round %u", crew->rounds_done);
    crew_abandon(crew, &err);
}

/* ---- life ---- */

struct crew *crew_new(const struct crew_spec *spec, struct err *err)
{
    struct crew *crew = arena_new_object(spec->arena, struct crew);
    crew->spec = *spec;
    crew->members = arena_new_array(spec->arena, struct member, (size_t)spec->count);
    crew->results = arena_new_array(spec->arena, struct node_result, (size_t)spec->count);
    crew->starts_ns = arena_new_array(spec->arena, int64_t, spec->setups[0].size_count + 1);
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
    crew->deadline = loop_timer(spec->loop, crew_on_deadline, crew);
    crew->late = loop_timer(spec->loop, crew_on_late, crew);
    return crew;
}

void crew_free(struct crew *crew)
{
    for (int i = 0; crew && i < crew->spec.count; i++)
        control_channel_close(&crew->members[i].channel);
}

void crew_begin(struct crew *crew)
{
    if (!crew->begun && crew->phase != PHASE_OVER)
        crew_enter_phase(crew, PHASE_SETUP);
    crew->begun = true;
}

int crew_run(struct crew *crew, struct err *err)
{
    crew_begin(crew);
    if (crew->phase != PHASE_OVER)
        loop_arm(crew->deadline, clock_now_ns() + crew->spec.setup_deadline_ns);
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
    return (struct crew_times){.ready_ns = crew->ready_ns,
                               .start_ns = crew->starts_ns[0],
                               .starts_ns = crew->starts_ns,
                               .done_ns = crew->done_ns,
                               .between_ns = crew->between_ns};
}

const struct node_result *crew_results(const struct crew *crew)
{
    return crew->results;
}

uint64_t crew_parameter_count(const struct crew *crew)
{
    return crew->parameter_count;
}
