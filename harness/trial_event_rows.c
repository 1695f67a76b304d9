/* trial_event_rows.c: what happened in a trial, in words: the rows of the table `event`. */
#include <inttypes.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "harness/event_plan.h"
#include "harness/trial_events_internal.h"

static const char *const direction_names[DIRECTIONS] = DIRECTION_NAMES;
static void begin_words(const struct trial_events *events, int event, int64_t step, struct text *out)
{
    const struct event_request *asked = events->plan.events[event].asked;
    text_printf(out, "event %d, ", event);
    event_describe_when(asked, out);
    if (step >= 0 && event_step_count(asked) > 1)
        text_printf(out, ", step %" PRId64, step);
    text_add(out, ": ");
}

static void say_what(const struct trial *trial, const struct note *note, struct text *out)
{
    const struct planned_event *event = &trial->events->plan.events[note->due.event];
    if (event->asked->kind == EVENT_PAUSE && note->due.step > 0) {
        text_printf(out, "node %s goes on", trial->names[event->nodes[0]]);
        return;
    }
    if (event->asked->kind != EVENT_FLAP && event->asked->kind != EVENT_TRACE) {
        event_describe(event, &trial->topology, out);
        return;
    }
    text_printf(out, "link %s", trial->topology.links[event->link].name);
    if (note->direction >= 0)
        text_printf(out, " %s", direction_names[note->direction]);
    char text[UNITS_TEXT_BYTES];
    if (event->asked->kind == EVENT_FLAP) {
        text_add(out, note->down ? " goes down" : " comes up");
        return;
    }
    const struct link_trace *trace = event->asked->trace;
    const char *before = " has ";
    if (trace->has_rate)
        text_printf(out, "%srate %s", before, units_spell_rate(text, sizeof(text), note->now.rate_bps)), before = ", ";
    if (trace->has_delay)
        text_printf(out, "%sdelay %s", before, units_spell_time(text, sizeof(text), note->now.delay_ns)), before = ", ";
    if (trace->has_loss)
        text_printf(out, "%sloss %g", before, note->now.impairments.loss);
}

static void say_late(int64_t late_ns, struct text *out)
{
    char text[UNITS_TEXT_BYTES];
    text_printf(out, "; %s late", units_show_time(text, sizeof(text), (double)late_ns));
}

static const char *keep(struct trial *trial, struct text *text)
{
    const char *kept = arena_strdup(trial->arena, text->bytes ? text->bytes : "");
    text_free(text);
    return kept;
}

static struct event_record blank(const struct trial *trial, int event)
{
    const struct planned_event *planned = &trial->events->plan.events[event];
    return (struct event_record){.kind = event_names[planned->asked->kind],
                                 .at_unix_ns = clock_wall_ns(),
                                 .event = event,
                                 .step = EVENT_NO_NUMBER,
                                 .link = planned->link >= 0 ? planned->link : EVENT_NO_NUMBER,
                                 .direction = EVENT_NO_NUMBER,
                                 .node = planned->node_count == 1 ? planned->nodes[0] : EVENT_NO_NUMBER};
}

static struct event_record record_of_note(struct trial *trial, const struct note *note)
{
    struct trial_events *events = trial->events;
    const struct planned_event *event = &events->plan.events[note->due.event];
    struct event_record record = blank(trial, note->due.event);
    struct text text = {0};
    begin_words(events, note->due.event, note->due.step, &text);
    say_what(trial, note, &text);
    say_late(note->at_ns - note->due.asked_ns, &text);
    record.text = keep(trial, &text);
    record.at_unix_ns = note->at_unix_ns;
    record.step = event_step_count(event->asked) > 1 ? note->due.step : EVENT_NO_NUMBER;
    record.direction = note->direction;
    record.asked_known = record.happened = true;
    record.asked_ns = note->due.asked_ns - events->start_ns;
    record.at_ns = note->at_ns - events->start_ns;
    record.has_direction = event->link >= 0;
    record.now = note->now;
    record.down = note->down;
    return record;
}

/* Of an event with more steps than have rows, or one whose moment did not come. */
static bool sum_up(struct trial *trial, int event, struct event_record *record)
{
    struct trial_events *events = trial->events;
    const struct tally *tally = &events->tallies[event];
    bool begun = tally->steps > 0;
    if (begun && tally->steps == tally->noted_steps && tally->passed_over == 0)
        return false;
    const struct event_request *asked = events->plan.events[event].asked;
    struct text text = {0};
    *record = blank(trial, event);
    begin_words(events, event, -1, &text);
    if (begun) {
        text_printf(&text,
                    "%" PRId64 " step%s done, the first %" PRId64 " have rows; %" PRId64
                    " were passed over, since the next one was due",
                    tally->steps, units_plural(tally->steps), tally->noted_steps, tally->passed_over);
        say_late(tally->late_most_ns, &text);
        text_add(&text, " at most");
        record->happened = true;
        record->at_ns = tally->last_ns - events->start_ns;
    } else {
        event_describe(&events->plan.events[event], &trial->topology, &text);
        text_add(&text, "; it did not come to that before the end");
        record->asked_known = asked->round == EVENT_BY_TIME;
        record->asked_ns = asked->at_ns;
    }
    record->text = keep(trial, &text);
    return true;
}

void trial_event_rows(struct trial *trial)
{
    struct trial_events *events = trial->events;
    struct event_record *records =
        arena_new_array(trial->arena, struct event_record,
                        (size_t)trial->end.event_count + (size_t)events->note_count + (size_t)events->plan.count);
    int count = 0;
    for (; count < trial->end.event_count; count++) /* the driver's */
        records[count] = trial->end.events[count];
    for (int i = 0; i < events->note_count; i++)
        records[count++] = record_of_note(trial, &events->notes[i]);
    for (int i = 0; i < events->plan.count; i++)
        count += sum_up(trial, i, &records[count]);
    trial->end.events = records;
    trial->end.event_count = count;
}
