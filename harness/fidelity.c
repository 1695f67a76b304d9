/* fidelity.c: the verdict on a trial. Each doubt is a row: one function that looks at the evidence and finds one figure, the
 * thresholds beyond which that figure degrades or voids the trial, and its line in docs/emulator.md. The verdict is the worst; its
 * reason names every doubt found, in the order of the rows. */
#include "harness/fidelity.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "netem/impairment.h"

static const char *const direction_names[DIRECTIONS] = DIRECTION_NAMES;

/* A lateness counts where it is over this share of the delay asked: 5 ms too many change a link of 50 ms little. */
static const double LATENESS_LEAST_SHARE = 0.5;

struct finding {
    double value; /* compared with the row's thresholds; 0: nothing was found */
    char text[160];
};

static void look_at_counters(const struct fidelity_evidence *evidence, struct finding *finding)
{
    if (evidence->counters)
        return;
    finding->value = evidence->topology->link_count;
    snprintf(finding->text, sizeof(finding->text), "the links' counters could not be read: losses and lateness are unknown");
}

static void look_at_drops(const struct fidelity_evidence *evidence, struct finding *finding)
{
    for (int l = 0; evidence->counters && l < evidence->topology->link_count && finding->value == 0; l++)
        for (int d = 0; d < DIRECTIONS && finding->value == 0; d++) {
            uint64_t drops = evidence->counters[l].direction[d].unasked_drops;
            finding->value = (double)drops;
            snprintf(finding->text, sizeof(finding->text), "link %s %s lost %" PRIu64 " packet%s that nobody asked to lose",
                     evidence->topology->links[l].name, direction_names[d], drops, units_plural((int64_t)drops));
        }
}

static void look_at_lateness(const struct fidelity_evidence *evidence, struct finding *finding)
{
    for (int l = 0; evidence->counters && l < evidence->topology->link_count; l++)
        for (int d = 0; d < DIRECTIONS; d++) {
            double late_ns = (double)evidence->counters[l].direction[d].lateness_p99_ns;
            double asked_ns = (double)evidence->topology->links[l].direction[d].delay_ns;
            if (late_ns <= LATENESS_LEAST_SHARE * asked_ns || late_ns <= finding->value)
                continue;
            char time[UNITS_TEXT_BYTES];
            finding->value = late_ns;
            snprintf(finding->text, sizeof(finding->text), "link %s %s released one packet in a hundred over %s late",
                     evidence->topology->links[l].name, direction_names[d], units_show_time(time, sizeof(time), late_ns));
        }
}

static void look_at_links(const struct fidelity_evidence *evidence, struct finding *finding)
{
    for (int l = 0; evidence->checks && l < evidence->topology->link_count; l++)
        for (int d = 0; d < DIRECTIONS; d++) {
            const struct direction_check *check = &evidence->checks[l].direction[d];
            if (!check->measured || check->within_tolerance)
                continue;
            if (finding->value++ == 0)
                snprintf(finding->text, sizeof(finding->text), "link %s %s: %.110s", evidence->topology->links[l].name,
                         direction_names[d], check->reason);
        }
}

static bool was_paused(const struct fidelity_evidence *evidence, int node)
{
    return evidence->paused && evidence->paused[node];
}

/* A node that may use only so much of the processors waits for them because it was asked to. */
static bool is_limited(const struct fidelity_evidence *evidence, int node)
{
    return evidence->cpu_limits && evidence->cpu_limits[node].processors > 0;
}

static void look_at_overruns(const struct fidelity_evidence *evidence, struct finding *finding)
{
    uint64_t overruns = 0, tasks = 0;
    for (int n = 0; n < evidence->node_count; n++) {
        if (was_paused(evidence, n))
            continue;
        overruns += evidence->nodes[n].counters.overruns;
        tasks += evidence->nodes[n].counters.compute_tasks;
    }
    finding->value = tasks > 0 ? (double)overruns / (double)tasks : 0;
    snprintf(finding->text, sizeof(finding->text), "%" PRIu64 " of %" PRIu64 " gradient%s took longer than the drawn compute time",
             overruns, tasks, units_plural((int64_t)tasks));
}

static void look_at_timers(const struct fidelity_evidence *evidence, struct finding *finding)
{
    uint64_t late = 0, tasks = 0;
    for (int n = 0; n < evidence->node_count; n++) {
        if (was_paused(evidence, n) || is_limited(evidence, n))
            continue;
        late += evidence->nodes[n].counters.timer_late_count;
        tasks += evidence->nodes[n].counters.compute_tasks;
    }
    finding->value = tasks > 0 ? (double)late / (double)tasks : 0;
    snprintf(finding->text, sizeof(finding->text),
             "%" PRIu64 " timer%s fired over 1 ms late for %" PRIu64 " compute task%s: the processors are overloaded", late,
             units_plural((int64_t)late), tasks, units_plural((int64_t)tasks));
}

static bool counts(const struct fidelity_evidence *evidence, int node)
{
    return !is_limited(evidence, node) && !evidence->nodes[node].lost;
}

/* The middle one of the nodes by how long their event loops waited for a processor; -1: unknown. */
static int64_t median_wait_ns(const struct fidelity_evidence *evidence)
{
    int counted = 0;
    for (int n = 0; n < evidence->node_count; n++)
        counted += counts(evidence, n);
    for (int candidate = 0; candidate < evidence->node_count; candidate++) {
        int64_t wait_ns = evidence->nodes[candidate].counters.loop_wait_ns;
        int below = 0, equal = 0, middle = (counted - 1) / 2;
        for (int n = 0; n < evidence->node_count; n++) {
            if (!counts(evidence, n))
                continue;
            below += evidence->nodes[n].counters.loop_wait_ns < wait_ns;
            equal += evidence->nodes[n].counters.loop_wait_ns == wait_ns;
        }
        if (counted > 0 && counts(evidence, candidate) && below <= middle && middle < below + equal)
            return wait_ns;
    }
    return -1;
}

/* Each message that a loop is late for is late by as much, and in lock step everybody waits for it: the median's share is about
 * what rounds are longer by. The median, since a single node's waiting is hidden while its link is what all wait for, as a server's
 * is. Real work that waits is no harm within the drawn compute time, and an overrun beyond it. */
static void look_at_contention(const struct fidelity_evidence *evidence, struct finding *finding)
{
    if (evidence->duration_ns <= 0 || evidence->busy_waits)
        return;
    finding->value = (double)median_wait_ns(evidence) / (double)evidence->duration_ns;
    snprintf(finding->text, sizeof(finding->text), "the median node waited for a processor for %.0f %% of the rounds' time",
             100 * finding->value);
}

/* Loss that nobody asked for is another doubt; what was asked to lose, reorder or change makes TCP send again, and so does a full
 * queue. What remains came too late, or was dropped within a host. */
static bool sending_again_was_asked(const struct fidelity_evidence *evidence)
{
    if (evidence->parted)
        return true;
    for (int l = 0; l < evidence->topology->link_count; l++)
        for (int d = 0; d < DIRECTIONS; d++) {
            const struct direction *asked = &evidence->topology->links[l].direction[d];
            const struct direction_counters *counters = &evidence->counters[l].direction[d];
            bool changes = asked->changes || asked->rate_most_bps > 0;
            if (impairment_asked(&asked->impairments) || changes || counters->queue_drops + counters->unasked_drops > 0)
                return true;
        }
    return false;
}

static void look_at_retransmissions(const struct fidelity_evidence *evidence, struct finding *finding)
{
    uint64_t sent_again = 0, timeouts = 0, messages = 0;
    if (!evidence->counters || sending_again_was_asked(evidence))
        return;
    for (int n = 0; n < evidence->node_count; n++) {
        sent_again += evidence->nodes[n].counters.tcp_retransmits;
        timeouts += evidence->nodes[n].counters.tcp_timeouts;
        messages += evidence->nodes[n].counters.sent_messages;
    }
    finding->value = messages > 0 ? (double)sent_again / (double)messages : 0;
    snprintf(finding->text, sizeof(finding->text),
             "TCP sent %" PRIu64 " segment%s again (%" PRIu64 " timeout%s), though no link lost a packet: they came too late",
             sent_again, units_plural((int64_t)sent_again), timeouts, units_plural((int64_t)timeouts));
}

static void look_at_stolen_time(const struct fidelity_evidence *evidence, struct finding *finding)
{
    finding->value = evidence->stolen_share;
    snprintf(finding->text, sizeof(finding->text), "the hypervisor took %.0f %% of the processors' time",
             100 * evidence->stolen_share);
}

static void look_at_suspension(const struct fidelity_evidence *evidence, struct finding *finding)
{
    char time[UNITS_TEXT_BYTES];
    finding->value = (double)evidence->suspended_ns;
    snprintf(finding->text, sizeof(finding->text), "the host was suspended for %s while rounds ran",
             units_show_time(time, sizeof(time), finding->value));
}

/* What the network dropped, or had no room for, was asked for. */
static void look_at_traffic(const struct fidelity_evidence *evidence, struct finding *finding)
{
    for (int i = 0; i < evidence->flow_count; i++) {
        const struct traffic_counters *counters = &evidence->traffic[i];
        double share = counters->asked_packets > 0 ? (double)counters->late_packets / (double)counters->asked_packets : 0;
        if (share <= finding->value)
            continue;
        finding->value = share;
        snprintf(finding->text, sizeof(finding->text),
                 "cross traffic from %s to %s: this host was too late for %.3g %% of the packets, and did not send them",
                 evidence->topology->places[evidence->flows[i].from].name, evidence->topology->places[evidence->flows[i].to].name,
                 100 * share);
    }
}

static void look_at_spans(const struct fidelity_evidence *evidence, struct finding *finding)
{
    uint64_t lost = 0;
    for (int n = 0; n < evidence->node_count; n++)
        lost += evidence->nodes[n].counters.spans_lost;
    finding->value = (double)lost;
    snprintf(finding->text, sizeof(finding->text), "%" PRIu64 " span%s had no room in memory", lost, units_plural((int64_t)lost));
}

/* What a capture misses says that nobody had time to look: not that the links were wrong, but that the host was at its end. */
static void look_at_captures(const struct fidelity_evidence *evidence, struct finding *finding)
{
    for (int i = 0; i < evidence->capture_count && finding->value == 0; i++) {
        const struct capture_result *capture = &evidence->captures[i];
        const char *link = evidence->topology->links[capture->link].name, *direction = direction_names[capture->direction];
        uint64_t missed = capture->summary.dropped_count, seen = capture->summary.captured_count;
        finding->value = capture->failure ? 1 : (double)missed;
        if (capture->failure)
            snprintf(finding->text, sizeof(finding->text), "link %s %s was not captured to the end: %.80s", link, direction,
                     capture->failure);
        else
            snprintf(finding->text, sizeof(finding->text), "the capture of link %s %s missed %" PRIu64 " of %" PRIu64 " packet%s",
                     link, direction, missed, missed + seen, units_plural((int64_t)(missed + seen)));
    }
}

static void look_at_losses(const struct fidelity_evidence *evidence, struct finding *finding)
{
    for (int n = 0; n < evidence->node_count; n++) {
        if (!evidence->nodes[n].lost || (evidence->crashed && evidence->crashed[n]))
            continue;
        if (finding->value++ == 0)
            snprintf(finding->text, sizeof(finding->text), "node %s was lost, which nobody asked for",
                     evidence->topology->places[n].name);
    }
}

static void look_at_visitors(const struct fidelity_evidence *evidence, struct finding *finding)
{
    finding->value = evidence->entered;
    snprintf(finding->text, sizeof(finding->text), "somebody entered and started %d program%s on its nodes", evidence->entered,
             units_plural(evidence->entered));
}

enum unit { UNIT_COUNT, UNIT_SHARE, UNIT_TIME }; /* of a threshold, for the manual */
#define NEVER HUGE_VAL

static const struct doubt {
    const char *figure; /* what the value is, for the manual */
    double degraded_over, void_over;
    enum unit unit;
    void (*look)(const struct fidelity_evidence *evidence, struct finding *finding);
} doubts[] = {
    {"links whose counters could not be read at the end", 0, NEVER, UNIT_COUNT, look_at_counters},
    {"packets that a direction lost and nobody asked to lose", 0, NEVER, UNIT_COUNT, look_at_drops},
    {"the 99th percentile of a direction's lateness, where it is over half of the delay asked", 2 * NS_PER_MS, NEVER, UNIT_TIME,
     look_at_lateness},
    {"directions measured out of tolerance before the first trial (it holds for every trial on that network)", 0, NEVER, UNIT_COUNT,
     look_at_links},
    {"compute times exceeded by the real work, of all", 0.01, 0.5, UNIT_SHARE, look_at_overruns},
    {"timers over 1 ms late, of the compute tasks", 0.05, NEVER, UNIT_SHARE, look_at_timers},
    {"the rounds' time in which the median node's event loop was ready to run and had no processor; any with busy_wait", 0.1, 0.5,
     UNIT_SHARE, look_at_contention},
    {"segments that TCP sent again, of the messages sent, where no loss, jitter, change or full queue is the cause", 0.01, NEVER,
     UNIT_SHARE, look_at_retransmissions},
    {"processors' time that a hypervisor took during the rounds", 0.05, NEVER, UNIT_SHARE, look_at_stolen_time},
    {"time for which the host was suspended during the rounds", 0, 0, UNIT_TIME, look_at_suspension},
    {"packets of a flow of cross traffic that were never sent, since the host was too late for them, of those due", 0.01, NEVER,
     UNIT_SHARE, look_at_traffic},
    {"spans that did not fit their memory", 0, NEVER, UNIT_COUNT, look_at_spans},
    {"packets that a capture missed, its buffer being full, or captures that ended early", 0, NEVER, UNIT_COUNT, look_at_captures},
    {"nodes that were lost, where no event of the campaign ended them", 0, NEVER, UNIT_COUNT, look_at_losses},
    {"programs that somebody started on the nodes meanwhile, with `laggard enter` from outside", 0, NEVER, UNIT_COUNT,
     look_at_visitors},
};
enum { DOUBT_COUNT = sizeof(doubts) / sizeof(doubts[0]) };

enum fidelity fidelity_judge(const struct fidelity_evidence *evidence, char *reason)
{
    enum fidelity verdict = FIDELITY_FAITHFUL;
    size_t length = 0;
    reason[0] = 0;
    for (size_t i = 0; i < DOUBT_COUNT; i++) {
        struct finding finding = {0};
        doubts[i].look(evidence, &finding);
        if (!(finding.value > doubts[i].degraded_over))
            continue;
        enum fidelity found = finding.value > doubts[i].void_over ? FIDELITY_VOID : FIDELITY_DEGRADED;
        if (found > verdict)
            verdict = found;
        if (length < FIDELITY_REASON_BYTES - 1)
            length += (size_t)snprintf(reason + length, FIDELITY_REASON_BYTES - length, "%s%s", length ? "; " : "", finding.text);
    }
    if (length >= FIDELITY_REASON_BYTES) /* cut: say so */
        memcpy(reason + FIDELITY_REASON_BYTES - sizeof("..."), "...", sizeof("..."));
    return verdict;
}

static void show_threshold(double threshold, enum unit unit, struct text *out)
{
    char time[UNITS_TEXT_BYTES];
    if (threshold == NEVER)
        text_add(out, "never");
    else if (unit == UNIT_TIME)
        text_add(out, units_show_time(time, sizeof(time), threshold));
    else if (unit == UNIT_SHARE)
        text_printf(out, "%.4g %%", 100 * threshold);
    else
        text_printf(out, "%.0f", threshold);
}

void fidelity_markdown(struct text *out)
{
    text_add(out, "| Figure | degraded when over | void when over |\n| --- | --- | --- |\n");
    for (size_t i = 0; i < DOUBT_COUNT; i++) {
        text_printf(out, "| %s | ", doubts[i].figure);
        show_threshold(doubts[i].degraded_over, doubts[i].unit, out);
        text_add(out, " | ");
        show_threshold(doubts[i].void_over, doubts[i].unit, out);
        text_add(out, " |\n");
    }
}
