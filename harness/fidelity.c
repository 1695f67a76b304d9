/* fidelity.c: the verdict on a trial. Each doubt is one function that looks at the evidence and says how bad it is; the verdict is
 * the worst, its reason names every doubt found. */
#include "harness/fidelity.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"

static const char *const direction_names[DIRECTIONS] = DIRECTION_NAMES;

/* A relay that releases one packet in a hundred this much late has changed the link. */
static const int64_t LATENESS_P99_DEGRADED_NS = 2 * NS_PER_MS;
static const double LATENESS_P99_DEGRADED_SHARE = 0.5; /* of the delay asked, where that is more */
static const double OVERRUN_DEGRADED_SHARE = 0.01, OVERRUN_VOID_SHARE = 0.5;
static const double TIMER_LATE_DEGRADED_SHARE = 0.05;
static const double STOLEN_DEGRADED_SHARE = 0.05;

struct doubt {
    enum fidelity verdict;
    char text[160];
};

static void doubt_counters(const struct fidelity_evidence *evidence, struct doubt *doubt)
{
    if (evidence->counters || evidence->topology->link_count == 0)
        return;
    doubt->verdict = FIDELITY_DEGRADED;
    snprintf(doubt->text, sizeof(doubt->text), "the links' counters could not be read: losses and lateness are unknown");
}

static void doubt_drops(const struct fidelity_evidence *evidence, struct doubt *doubt)
{
    for (int l = 0; evidence->counters && l < evidence->topology->link_count; l++)
        for (int d = 0; d < DIRECTIONS; d++) {
            uint64_t drops = evidence->counters[l].direction[d].unasked_drops;
            if (drops == 0)
                continue;
            doubt->verdict = FIDELITY_DEGRADED;
            snprintf(doubt->text, sizeof(doubt->text), "link %s %s lost %" PRIu64 " packets that nobody asked to lose",
                     evidence->topology->links[l].name, direction_names[d], drops);
            return;
        }
}

static void doubt_lateness(const struct fidelity_evidence *evidence, struct doubt *doubt)
{
    int64_t worst = 0;
    for (int l = 0; evidence->counters && l < evidence->topology->link_count; l++)
        for (int d = 0; d < DIRECTIONS; d++) {
            int64_t late = evidence->counters[l].direction[d].lateness_p99_ns;
            double limit = LATENESS_P99_DEGRADED_SHARE * (double)evidence->topology->links[l].direction[d].delay_ns;
            if (limit < (double)LATENESS_P99_DEGRADED_NS)
                limit = (double)LATENESS_P99_DEGRADED_NS;
            if ((double)late <= limit || late <= worst)
                continue;
            worst = late;
            char time[UNITS_TEXT_BYTES];
            doubt->verdict = FIDELITY_DEGRADED;
            snprintf(doubt->text, sizeof(doubt->text), "link %s %s released one packet in a hundred over %s late",
                     evidence->topology->links[l].name, direction_names[d], units_show_time(time, sizeof(time), (double)late));
        }
}

static void doubt_links(const struct fidelity_evidence *evidence, struct doubt *doubt)
{
    for (int l = 0; evidence->checks && l < evidence->topology->link_count; l++)
        for (int d = 0; d < DIRECTIONS; d++) {
            const struct direction_check *check = &evidence->checks[l].direction[d];
            if (!check->measured || check->within_tolerance)
                continue;
            doubt->verdict = FIDELITY_DEGRADED;
            snprintf(doubt->text, sizeof(doubt->text), "link %s %s: %.110s", evidence->topology->links[l].name, direction_names[d],
                     check->reason);
            return;
        }
}

static void doubt_overruns(const struct fidelity_evidence *evidence, struct doubt *doubt)
{
    uint64_t overruns = 0, tasks = 0;
    for (int n = 0; n < evidence->node_count; n++) {
        overruns += evidence->nodes[n].counters.overruns;
        tasks += evidence->nodes[n].counters.compute_tasks;
    }
    if (tasks == 0 || (double)overruns <= OVERRUN_DEGRADED_SHARE * (double)tasks)
        return;
    doubt->verdict = (double)overruns > OVERRUN_VOID_SHARE * (double)tasks ? FIDELITY_VOID : FIDELITY_DEGRADED;
    snprintf(doubt->text, sizeof(doubt->text), "%" PRIu64 " of %" PRIu64 " gradients took longer than their drawn compute time",
             overruns, tasks);
}

static void doubt_timers(const struct fidelity_evidence *evidence, struct doubt *doubt)
{
    uint64_t late = 0, tasks = 0;
    for (int n = 0; n < evidence->node_count; n++) {
        late += evidence->nodes[n].counters.timer_late_count;
        tasks += evidence->nodes[n].counters.compute_tasks;
    }
    if (tasks == 0 || (double)late <= TIMER_LATE_DEGRADED_SHARE * (double)tasks)
        return;
    doubt->verdict = FIDELITY_DEGRADED;
    snprintf(doubt->text, sizeof(doubt->text),
             "%" PRIu64 " timers fired over 1 ms late for %" PRIu64 " compute tasks: the processors are overloaded", late, tasks);
}

static void doubt_spans(const struct fidelity_evidence *evidence, struct doubt *doubt)
{
    uint64_t lost = 0;
    for (int n = 0; n < evidence->node_count; n++)
        lost += evidence->nodes[n].counters.spans_lost;
    if (lost == 0)
        return;
    doubt->verdict = FIDELITY_DEGRADED;
    snprintf(doubt->text, sizeof(doubt->text), "%" PRIu64 " spans did not fit their memory", lost);
}

static void doubt_processors(const struct fidelity_evidence *evidence, struct doubt *doubt)
{
    if (!(evidence->stolen_share > STOLEN_DEGRADED_SHARE))
        return;
    doubt->verdict = FIDELITY_DEGRADED;
    snprintf(doubt->text, sizeof(doubt->text), "the hypervisor took %.0f %% of the processors' time", 100 * evidence->stolen_share);
}

typedef void doubt_function(const struct fidelity_evidence *evidence, struct doubt *doubt);
static doubt_function *const doubts[] = {doubt_counters, doubt_drops,  doubt_lateness,   doubt_links,
                                         doubt_overruns, doubt_timers, doubt_processors, doubt_spans};

enum fidelity fidelity_judge(const struct fidelity_evidence *evidence, char *reason)
{
    enum fidelity verdict = FIDELITY_FAITHFUL;
    size_t length = 0;
    reason[0] = 0;
    for (size_t i = 0; i < sizeof(doubts) / sizeof(doubts[0]); i++) {
        struct doubt doubt = {.verdict = FIDELITY_FAITHFUL};
        doubts[i](evidence, &doubt);
        if (doubt.verdict == FIDELITY_FAITHFUL)
            continue;
        if (doubt.verdict > verdict)
            verdict = doubt.verdict;
        if (length < FIDELITY_REASON_BYTES - 1)
            length += (size_t)snprintf(reason + length, FIDELITY_REASON_BYTES - length, "%s%s", length ? "; " : "", doubt.text);
    }
    if (length >= FIDELITY_REASON_BYTES) /* cut: say so */
        memcpy(reason + FIDELITY_REASON_BYTES - sizeof("..."), "...", sizeof("..."));
    return verdict;
}
