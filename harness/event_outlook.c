/* event_outlook.c: events that will hardly come; see event_outlook.h.
 *
 * What comes before an event may make the rounds last longer than predicted. What stops nodes and links for a known time is added:
 * pauses, flaps, cuts and partitions that end. Behind a cut or a partition that has not ended, or whose time is not known, rounds
 * may wait for the very event: nothing is said of it. Links that were changed may have become much slower. */
#include "harness/event_outlook.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "harness/event_plan.h"
#include "schemas/plan.h"

/* How many times as long as expected rounds may last; and where links were changed before. */
static const double LONGER_MOST = 2, SLOWED_MOST = 100;

static bool comes_before(const struct settings *settings, int first, int second)
{
    const struct event_request *one = &settings->events[first], *other = &settings->events[second];
    if (one->round != EVENT_BY_TIME || other->round != EVENT_BY_TIME)
        return first != second && one->round != EVENT_BY_TIME; /* nobody knows when: perhaps */
    return one->at_ns < other->at_ns || (one->at_ns == other->at_ns && first < second);
}

/* For how long a cut or a partition lasts that ends before another event; negative: it may last until then. */
static int64_t lasts_ns(const struct settings *settings, int begin, int until)
{
    const struct event_request *begins = &settings->events[begin];
    const enum event_kind kind = begins->kind == EVENT_PARTITION ? EVENT_HEAL : EVENT_UP;
    int64_t ns = -1;
    for (int i = 0; i < settings->event_count && begins->round == EVENT_BY_TIME; i++) {
        const struct event_request *ends = &settings->events[i];
        if (ends->kind != kind || ends->round != EVENT_BY_TIME || !comes_before(settings, begin, i) ||
            !comes_before(settings, i, until) || (kind == EVENT_UP && strcmp(begins->link, ends->link) != 0))
            continue;
        if (ns < 0 || ends->at_ns - begins->at_ns < ns)
            ns = ends->at_ns - begins->at_ns;
    }
    return ns;
}

static bool hardly_comes(const struct settings *settings, int event, double rounds_ns)
{
    const struct event_request *asked = &settings->events[event];
    double longer = LONGER_MOST, stopped_ns = (double)event_stopped_ns(settings);
    if (asked->round != EVENT_BY_TIME)
        return false;
    for (int i = 0; i < settings->event_count; i++) {
        const enum event_kind kind = settings->events[i].kind;
        if (!comes_before(settings, i, event))
            continue;
        if (kind == EVENT_SET || kind == EVENT_TRACE)
            longer = SLOWED_MOST;
        if (kind != EVENT_DOWN && kind != EVENT_PARTITION)
            continue;
        int64_t ns = lasts_ns(settings, i, event);
        if (ns < 0)
            return false;
        stopped_ns += (double)ns;
    }
    return (double)asked->at_ns > longer * rounds_ns + stopped_ns;
}

int event_outlook(const struct settings *settings, double rounds_ns, struct text *out)
{
    int count = 0;
    for (int i = 0; i < settings->event_count && isfinite(rounds_ns); i++)
        if (hardly_comes(settings, i, rounds_ns)) {
            text_printf(out, "%sevent %d, ", count++ ? "; " : "", i);
            event_describe_when(&settings->events[i], out);
        }
    return count;
}

void event_outlook_warn(const struct plan *plan, const double *rounds_ns)
{
    cleanup(text_free) struct text before = {0};
    for (int c = 0; c < plan->cell_count; c++) {
        const struct cell *cell = &plan->cells[c];
        cleanup(text_free) struct text events = {0};
        if (event_outlook(&cell->settings, rounds_ns[c], &events) == 0)
            continue;
        if (!before.bytes || strcmp(before.bytes, events.bytes) != 0) {
            char time[UNITS_TEXT_BYTES];
            log_warning(
                "cell %d (%s): the rounds are expected to be over after %s; what comes so far behind that will hardly happen: %s",
                c, cell->label, units_show_time(time, sizeof(time), rounds_ns[c]), events.bytes);
        }
        text_free(&before);
        before = events;
        events = (struct text){0};
    }
}
