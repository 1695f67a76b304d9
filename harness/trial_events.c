/* trial_events.c: the part of a trial that lets happen what the campaign asks for: links change, nodes stop.
 *
 * Theory of operation. One timer (of the trial's loop, or of the virtual clock) stands at the schedule's next step; what is due is
 * done at once and noted in numbers. Words are made of the notes when the trial is over. Links are changed from what they are at
 * that moment: of each direction the part keeps what was asked of it last, and whether it is down. */
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "harness/event_plan.h"
#include "harness/trial_events_internal.h"
#include "netem/impairment.h"

static const char *const direction_names[DIRECTIONS] = DIRECTION_NAMES;

static int64_t now_ns(const struct trial *trial)
{
    return trial->events->means->now_ns(trial);
}

/* ---- notes ---- */
static struct note *new_note(struct trial *trial, const struct event_due *due, int64_t at_ns)
{
    struct trial_events *events = trial->events;
    if (events->tallies[due->event].noted_steps == NOTES_EACH_MOST)
        return NULL;
    if (events->note_count == events->note_room) {
        int room = 2 * events->note_room + 64;
        struct note *notes = arena_new_array(trial->arena, struct note, (size_t)room);
        if (events->note_count > 0)
            memcpy(notes, events->notes, (size_t)events->note_count * sizeof(*notes));
        events->notes = notes;
        events->note_room = room;
    }
    struct note *note = &events->notes[events->note_count++];
    *note = (struct note){.due = *due, .at_ns = at_ns, .at_unix_ns = clock_wall_ns(), .direction = EVENT_NO_NUMBER};
    return note;
}

static void note_link(struct trial *trial, const struct event_due *due, int direction, int64_t at_ns,
                      const struct live_direction *live)
{
    struct note *note = new_note(trial, due, at_ns);
    if (!note)
        return;
    note->direction = direction;
    note->now = live->asked;
    note->down = live->down;
}

/* ---- what happens to links ---- */
static bool same_numbers(const struct direction *a, const struct direction *b)
{
    return a->rate_bps == b->rate_bps && a->delay_ns == b->delay_ns && a->queue_bytes == b->queue_bytes &&
           a->queue_packets == b->queue_packets && a->framing == b->framing && impairment_same(&a->impairments, &b->impairments);
}

/* One row where both directions are the same now, else one each. */
static void note_change(struct trial *trial, const struct event_due *due, const int64_t at_ns[DIRECTIONS])
{
    const struct live_direction *live = trial->events->links[trial->events->plan.events[due->event].link];
    bool both = at_ns[0] != 0 && at_ns[1] != 0;
    if (both && live[0].down == live[1].down && same_numbers(&live[0].asked, &live[1].asked)) {
        note_link(trial, due, EVENT_NO_NUMBER, at_ns[1], &live[1]);
        return;
    }
    for (int d = 0; d < DIRECTIONS; d++)
        if (at_ns[d] != 0)
            note_link(trial, due, d, at_ns[d], &live[d]);
}

/* The direction as the event asks for it, and whether it is down then. */
static int next_of(const struct planned_event *event, const struct event_due *due, int direction, int mtu,
                   const struct live_direction *now, struct live_direction *then, struct err *err)
{
    const struct event_request *asked = event->asked;
    *then = *now;
    switch (asked->kind) {
    case EVENT_SET:
        return event_direction_set(asked, direction, &now->asked, mtu, &then->asked, err);
    case EVENT_TRACE:
        return event_direction_trace(asked->trace, &asked->trace->steps[due->step % asked->trace->count], &now->asked, mtu,
                                     &then->asked, err);
    default:
        then->down = asked->kind == EVENT_DOWN || (asked->kind == EVENT_FLAP && due->step % 2 == 0);
        return 0;
    }
}

static int change_link(struct trial *trial, const struct event_due *due, struct err *err)
{
    struct trial_events *events = trial->events;
    const struct planned_event *event = &events->plan.events[due->event];
    int64_t at_ns[DIRECTIONS] = {0};
    for (int d = 0; d < DIRECTIONS; d++) {
        if (!event_touches(event->asked, d))
            continue;
        struct live_direction *now = &events->links[event->link][d], then;
        int status = next_of(event, due, d, trial->topology.mtu, now, &then, err);
        if (status == 0 && (then.down != now->down || !same_numbers(&then.asked, &now->asked)))
            status = events->means->change(trial, event->link, d, &then.asked, then.down, err);
        if (status < 0)
            return err_wrap(err, "link %s %s", trial->topology.links[event->link].name, direction_names[d]);
        *now = then;
        at_ns[d] = now_ns(trial);
    }
    note_change(trial, due, at_ns);
    return 0;
}

/* ---- what happens to nodes ---- */

static int separate(struct trial *trial, const struct event_due *due, struct err *err)
{
    struct trial_events *events = trial->events;
    int count = trial->topology.host_count;
    bool heals = events->plan.events[due->event].asked->kind == EVENT_HEAL;
    if (heals)
        memset(events->group, 0, sizeof(*events->group) * (size_t)count);
    else
        event_part(&events->plan.events[due->event], count, events->group, events->scratch);
    int status = events->means->separate(trial, heals ? NULL : events->group, err);
    if (status == 0)
        (void)new_note(trial, due, now_ns(trial));
    return status;
}

/* A node's agent is the program of that index. */
static int pause_node(struct trial *trial, const struct event_due *due, struct err *err)
{
    struct trial_events *events = trial->events;
    int node = events->plan.events[due->event].nodes[0];
    bool stops = due->step == 0;
    events->pauses[node] += stops ? 1 : -1;
    events->paused[node] = true;
    if (!events->means->runs(trial, node))
        return 0; /* an outside program that is over has nothing to stop */
    int status = 0;
    if (stops || events->pauses[node] == 0)
        status = events->means->stop(trial, node, stops, err);
    if (status < 0)
        return status;
    int64_t at_ns = now_ns(trial);
    if (stops)
        event_schedule_paused(events->schedule, due->event, at_ns);
    (void)new_note(trial, due, at_ns);
    return 0;
}

static int crash_node(struct trial *trial, const struct event_due *due, struct err *err)
{
    int node = trial->events->plan.events[due->event].nodes[0];
    if (!trial->events->means->runs(trial, node))
        return 0;
    int status = trial->events->means->kill(trial, node, err);
    if (status < 0)
        return status;
    (void)new_note(trial, due, now_ns(trial));
    trial->events->crashed[node] = true;
    const struct scheme *scheme = trial->asked.setup.scheme;
    if (scheme && scheme->flags & SCHEME_SURVIVES_PEER_LOSS && node < trial->asked.setup.workers)
        return 0; /* the crew will see */
    return err_set(err, ERR_TRIAL, "node %s crashed as event %d of the campaign asked%s%s%s", trial->names[node], due->event,
                   scheme ? ", and scheme " : "", scheme ? scheme->name : "", scheme ? " does not go on without it" : "");
}

/* ---- when ---- */
static int (*const acts[EVENT_COUNT])(struct trial *, const struct event_due *, struct err *) = {
    [EVENT_SET] = change_link,  [EVENT_DOWN] = change_link,   [EVENT_UP] = change_link,
    [EVENT_FLAP] = change_link, [EVENT_PARTITION] = separate, [EVENT_HEAL] = separate,
    [EVENT_PAUSE] = pause_node, [EVENT_CRASH] = crash_node,   [EVENT_TRACE] = change_link,
};

static void act(struct trial *trial, const struct event_due *due)
{
    struct trial_events *events = trial->events;
    struct tally *tally = &events->tallies[due->event];
    enum event_kind kind = events->plan.events[due->event].asked->kind;
    struct err err = {0};
    int notes_before = events->note_count;
    if (acts[kind](trial, due, &err) < 0) {
        events->over = true;
        if (kind != EVENT_CRASH)
            err_wrap(&err, "event %d (%s)", due->event, event_names[kind]);
        trial->driver->abandon(trial, &err);
    }
    if (events->note_count == notes_before && tally->noted_steps < NOTES_EACH_MOST)
        return; /* it came to nothing */
    tally->last_ns = now_ns(trial);
    int64_t late_ns = tally->last_ns - due->asked_ns;
    tally->steps++;
    tally->noted_steps += tally->noted_steps < NOTES_EACH_MOST;
    tally->passed_over += due->passed_over;
    tally->late_most_ns = late_ns > tally->late_most_ns ? late_ns : tally->late_most_ns;
}

void trial_events_due(struct trial *trial)
{
    struct trial_events *events = trial->events;
    struct event_due due;
    while (!events->over && event_schedule_take(events->schedule, now_ns(trial), &due))
        act(trial, &due);
    events->means->wake(trial, events->over ? EVENT_NEVER_NS : event_schedule_next_ns(events->schedule));
}

/* ---- the part ---- */
static int prepare_events(struct trial *trial, struct err *err)
{
    const struct settings *settings = &trial->cell->settings;
    if (settings->event_count == 0)
        return 0;
    struct trial_events *events = arena_new_object(trial->arena, struct trial_events);
    struct event_fault fault;
    int status = event_plan_make(settings, &trial->topology, trial->arena, &events->plan, &fault, err);
    if (status < 0)
        return err_wrap(err, "event %d", fault.event);
    size_t nodes = (size_t)trial->topology.host_count;
    events->means = trial->driver->virtual_clock ? &event_means_virtual : &event_means_fabric;
    events->schedule = event_schedule_new(&events->plan, settings, trial->arena);
    events->links = arena_calloc(trial->arena, (size_t)trial->topology.link_count, sizeof(*events->links));
    for (int i = 0; i < trial->topology.link_count; i++)
        for (int d = 0; d < DIRECTIONS; d++)
            events->links[i][d].asked = trial->topology.links[i].direction[d];
    events->group = arena_new_array(trial->arena, int, nodes);
    events->scratch = arena_new_array(trial->arena, int, EVENT_PART_SCRATCH *nodes);
    events->pauses = arena_new_array(trial->arena, int, nodes);
    events->paused = arena_new_array(trial->arena, bool, nodes);
    events->crashed = arena_new_array(trial->arena, bool, nodes);
    events->tallies = arena_new_array(trial->arena, struct tally, (size_t)events->plan.count);
    trial->events = events;
    return 0;
}

static void start_events(struct trial *trial, int64_t start_ns)
{
    struct trial_events *events = trial->events;
    if (!events)
        return;
    events->start_ns = start_ns;
    events->started = true;
    event_schedule_start(events->schedule, start_ns);
    trial_events_due(trial);
}

static void round_events(struct trial *trial, uint32_t rounds_done)
{
    if (!trial->events || trial->events->over)
        return;
    event_schedule_round(trial->events->schedule, rounds_done, trial->round_ns > 0 ? trial->round_ns : now_ns(trial));
    trial_events_due(trial);
}

/* Who is still stopped has reports to write. */
static void done_events(struct trial *trial)
{
    struct trial_events *events = trial->events;
    if (!events)
        return;
    events->over = true;
    events->means->wake(trial, EVENT_NEVER_NS);
    for (int i = 0; i < trial->topology.host_count; i++)
        if (events->pauses[i] > 0)
            events->means->stop(trial, i, false, NULL);
}

static void conclude_events(struct trial *trial)
{
    struct trial_events *events = trial->events;
    if (!events || !events->started)
        return;
    trial_event_rows(trial);
    trial->evidence.paused = events->paused;
    trial->evidence.crashed = events->crashed;
    for (int i = 0; i < events->plan.count; i++)
        if (events->plan.events[i].asked->kind == EVENT_PARTITION && events->tallies[i].steps > 0)
            trial->evidence.parted = true;
}

const struct trial_part trial_events = {
    .prepare = prepare_events,
    .start = start_events,
    .round = round_events,
    .ending = done_events,
    .done = done_events,
    .conclude = conclude_events,
};
