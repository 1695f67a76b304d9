/* crew_phases.c: the phases of a crew, what is told to everyone in each and what everyone answers; see crew.h. */
#include "base/clock.h"
#include "harness/crew_internal.h"

/* Time for every agent to see START before its hour comes. */
static const int64_t START_LEAD_NS = 5 * NS_PER_MS, START_LEAD_PER_NODE_NS = 50 * NS_PER_US;

/* ---- what happens between phases ---- */

bool crew_is_last_size(const struct crew *crew)
{
    return crew->size.position + 1 >= crew->spec.setups[0].size_count;
}

static void prepare_setup(struct crew *crew)
{
    crew->setup_ns = clock_now_ns();
}

static void prepare_size(struct crew *crew)
{
    crew->size.position++;
    crew->ending = false;
}

static void set_start(struct crew *crew)
{
    crew->start.start_ns = clock_now_ns() + START_LEAD_NS + crew->spec.count * START_LEAD_PER_NODE_NS;
    crew->starts_ns[crew->size.position] = crew->start.start_ns;
}

/* What is to happen once a trial happens before the first message size. */
static void prepare_start(struct crew *crew)
{
    if (crew->size.position > 0) {
        set_start(crew);
        crew->between_ns += crew->start.start_ns - crew->done_ns;
        return;
    }
    crew->ready_ns = clock_now_ns();
    if (crew->spec.hooks.before_start)
        crew->spec.hooks.before_start(crew->spec.hooks.context);
    set_start(crew);
    if (crew->spec.hooks.start)
        crew->spec.hooks.start(crew->spec.hooks.context, crew->start.start_ns);
    crew->deadline_ns = crew->start.start_ns + crew->spec.run_deadline_ns;
    loop_arm(crew->deadline, crew->deadline_ns);
}

static void prepare_collect(struct crew *crew)
{
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

static const void *size_of(const struct member *member)
{
    return &member->crew->size;
}

static const struct phase_row {
    void (*prepare)(struct crew *);
    enum control_operation order;
    const void *(*body)(const struct member *);
    const char *awaited;
    enum control_operation answer;
} phases[PHASE_COUNT] = {
    [PHASE_SETUP] = {prepare_setup, CONTROL_SETUP, setup_of, "load the data and listen", CONTROL_LISTENING},
    [PHASE_CONNECT] = {NULL, CONTROL_CONNECT, NULL, "connect to the others", CONTROL_READY},
    [PHASE_SIZE] = {prepare_size, CONTROL_SIZE, size_of, "make ready for the next message size", CONTROL_READY},
    [PHASE_RUN] = {prepare_start, CONTROL_START, start_of, "finish all rounds", CONTROL_DONE},
    [PHASE_COLLECT] = {prepare_collect, CONTROL_COLLECT, NULL, "evaluate and report", CONTROL_REPORT},
    [PHASE_OVER] = {.awaited = "nothing"},
};

static enum phase phase_behind(const struct crew *crew)
{
    if (crew->phase == PHASE_CONNECT)
        return PHASE_RUN;
    return crew->phase == PHASE_RUN && !crew_is_last_size(crew) ? PHASE_SIZE : crew->phase + 1;
}

void crew_enter_phase(struct crew *crew, enum phase phase)
{
    crew->phase = phase;
    crew->answered_count = 0;
    if (phase == PHASE_OVER) {
        crew_stop(crew);
        return;
    }
    loop_disarm(crew->late);
    for (int i = 0; i < crew->spec.count; i++) {
        crew->members[i].answered = crew->members[i].lost;
        crew->members[i].channel.reader.body_most = phase == PHASE_COLLECT ? FRAME_BODY_MAX : CONTROL_SHORT_MOST;
        crew->answered_count += crew->members[i].lost;
    }
    if (phases[phase].prepare)
        phases[phase].prepare(crew);
    for (int i = 0; i < crew->spec.count && crew->phase == phase && crew->closed.kind == ERR_NONE; i++) {
        struct member *member = &crew->members[i];
        const struct phase_row *row = &phases[phase];
        struct err err = {0};
        if (member->lost)
            continue;
        int sent = control_channel_send(&member->channel, row->order, row->body ? row->body(member) : NULL, &err);
        if (sent == -ERR_USAGE)
            crew_abandon(crew, &err);
        else if (sent < 0 && member->node >= crew->spec.expendable) /* of the others the loop tells, once all are told to begin */
            crew_member_gone(member);
    }
    crew->running = crew->running || phase == PHASE_RUN;
    if (crew->phase == PHASE_SIZE)
        crew_await_the_late(crew);
}

void crew_enter_next_phase(struct crew *crew)
{
    crew_enter_phase(crew, phase_behind(crew));
}

enum control_operation crew_answer_in(enum phase phase)
{
    return phases[phase].answer;
}

const char *crew_awaited_in(enum phase phase)
{
    return phases[phase].awaited;
}

const char *crew_awaited_of(const struct member *member)
{
    return member->answered ? "wait for the other nodes" : phases[member->crew->phase].awaited;
}
