/* event_describe.c: events in words, and what follows from them without a network; see event_plan.h. */
#include <stdlib.h>

#include "base/arena.h"
#include "base/text.h"
#include "base/units.h"
#include "harness/campaign_internal.h"
#include "harness/event_plan.h"
#include "harness/message_sizes.h"

/* ---- words ---- */
static const char *spelled_time(char text[static UNITS_TEXT_BYTES], int64_t ns)
{
    return units_spell_time(text, UNITS_TEXT_BYTES, ns);
}

void event_describe_when(const struct event_request *asked, struct text *out)
{
    char time[UNITS_TEXT_BYTES];
    if (asked->round == EVENT_BY_TIME)
        text_printf(out, "at %s", asked->at_ns > 0 ? spelled_time(time, asked->at_ns) : "0");
    else
        text_printf(out, "before round %d", asked->round);
}

static void describe_nodes(const struct planned_event *event, const struct topology *topology, struct text *out)
{
    enum { NAMED_MOST = 8 };
    for (int i = 0; i < event->node_count && i < NAMED_MOST; i++)
        text_printf(out, "%s%s", i ? ", " : "", topology->places[event->nodes[i]].name);
    if (event->node_count > NAMED_MOST)
        text_printf(out, " and %d more", event->node_count - NAMED_MOST);
}

static void describe_set(const struct planned_event *event, const struct topology *topology, struct text *out)
{
    text_printf(out, "link %s becomes {", topology->links[event->link].name);
    campaign_spell_link_change(&event->asked->change, "", out);
    text_add(out, "}");
}

static void describe_link(const struct planned_event *event, const struct topology *topology, struct text *out)
{
    static const char *const sides[EVENT_DIRECTION_COUNT] = {"", " forward", " backward"};
    text_printf(out, "link %s%s", topology->links[event->link].name, sides[event->asked->direction]);
}

static void describe_down(const struct planned_event *event, const struct topology *topology, struct text *out)
{
    describe_link(event, topology, out);
    text_add(out, " goes down");
}

static void describe_up(const struct planned_event *event, const struct topology *topology, struct text *out)
{
    describe_link(event, topology, out);
    text_add(out, " comes up");
}

static void describe_flap(const struct planned_event *event, const struct topology *topology, struct text *out)
{
    char down[UNITS_TEXT_BYTES], up[UNITS_TEXT_BYTES];
    describe_link(event, topology, out);
    text_printf(out, " flaps %d time%s: down for %s, up for %s", event->asked->times, units_plural(event->asked->times),
                spelled_time(down, event->asked->down_ns), spelled_time(up, event->asked->up_ns));
}

static void describe_partition(const struct planned_event *event, const struct topology *topology, struct text *out)
{
    text_add(out, "no way between the others and ");
    describe_nodes(event, topology, out);
}

static void describe_heal(const struct planned_event *event, const struct topology *topology, struct text *out)
{
    (void)event, (void)topology;
    text_add(out, "all nodes reach each other again");
}

static void describe_pause(const struct planned_event *event, const struct topology *topology, struct text *out)
{
    char time[UNITS_TEXT_BYTES];
    text_add(out, "node ");
    describe_nodes(event, topology, out);
    text_printf(out, " pauses for %s", spelled_time(time, event->asked->pause_ns));
}

static void describe_crash(const struct planned_event *event, const struct topology *topology, struct text *out)
{
    text_add(out, "node ");
    describe_nodes(event, topology, out);
    text_add(out, " crashes");
}

static void describe_trace(const struct planned_event *event, const struct topology *topology, struct text *out)
{
    const struct link_trace *trace = event->asked->trace;
    bool again = event->asked->repeat && trace->count > 1;
    char time[UNITS_TEXT_BYTES];
    describe_link(event, topology, out);
    text_printf(out, " follows %s: %d step%s in %s%s", event->asked->trace_path, trace->count, units_plural(trace->count),
                spelled_time(time, again ? trace->period_ns : trace->steps[trace->count - 1].at_ns),
                again ? ", again and again" : "");
}

void event_describe(const struct planned_event *event, const struct topology *topology, struct text *out)
{
    static void (*const rows[EVENT_COUNT])(const struct planned_event *, const struct topology *, struct text *) = {
        [EVENT_SET] = describe_set,     [EVENT_DOWN] = describe_down,           [EVENT_UP] = describe_up,
        [EVENT_FLAP] = describe_flap,   [EVENT_PARTITION] = describe_partition, [EVENT_HEAL] = describe_heal,
        [EVENT_PAUSE] = describe_pause, [EVENT_CRASH] = describe_crash,         [EVENT_TRACE] = describe_trace,
    };
    rows[event->asked->kind](event, topology, out);
}

/* ---- numbers ---- */
static int compare_marks(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

uint32_t event_mark(const struct settings *settings, const struct event_request *asked)
{
    return (uint32_t)message_sizes_measured_round(settings, asked->round);
}

int event_marks(const struct settings *settings, struct arena *arena, const uint32_t **marks)
{
    uint32_t *all = arena_new_array(arena, uint32_t, (size_t)settings->event_count + 1);
    int count = 0, kept = 0;
    for (int i = 0; i < settings->event_count; i++)
        if (settings->events[i].round != EVENT_BY_TIME && event_mark(settings, &settings->events[i]) > 0)
            all[count++] = event_mark(settings, &settings->events[i]);
    qsort(all, (size_t)count, sizeof(*all), compare_marks);
    for (int i = 0; i < count; i++)
        if (kept == 0 || all[kept - 1] != all[i])
            all[kept++] = all[i];
    *marks = all;
    return kept;
}

int64_t event_stopped_ns(const struct settings *settings)
{
    int64_t stopped_ns = 0;
    for (int i = 0; i < settings->event_count; i++)
        stopped_ns += settings->events[i].pause_ns + settings->events[i].times * settings->events[i].down_ns;
    return stopped_ns;
}

int64_t event_extra_ns(const struct settings *settings)
{
    int64_t last_ns = 0;
    for (int i = 0; i < settings->event_count; i++)
        last_ns = settings->events[i].at_ns > last_ns ? settings->events[i].at_ns : last_ns;
    return event_stopped_ns(settings) + last_ns;
}
