/* netem/measure_judge.c: whether a direction, as measured, is what was asked: one function a quantity, each with its tolerance. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "netem/impairment.h"
#include "netem/measure.h"
#include "netem/measure_internal.h"
#include "netem/shaping.h"
#include "netem/topology.h"

#define RELATIVE_TOLERANCE 0.05
/* A transfer of one second is a handful of packets on such a link, and TCP's timers are as long as those packets: count in
 * packets. */
#define SLOW_RATE_BPS UINT64_C(300000)
#define SLOW_RATE_TOLERANCE 0.4
#define DELAY_TOLERANCE_NS (200.0 * (double)NS_PER_US)
#define JITTER_TOLERANCE_NS (100.0 * (double)NS_PER_US) /* what the host adds to a standard deviation */
#define WAKING_NS (50.0 * (double)NS_PER_US)
#define Z99 2.5758293035489004
#define MEDIAN_ERROR 2.0 /* of a median against a mean, at most: 1.25 for normal values, 1.73 for uniform ones */

__attribute__((format(printf, 2, 3))) static void object(struct direction_check *check, const char *format, ...)
{
    size_t used = strlen(check->reason);
    va_list arguments;
    va_start(arguments, format);
    if (used > 0 && used + 2 < sizeof(check->reason))
        used += (size_t)snprintf(check->reason + used, sizeof(check->reason) - used, "; ");
    vsnprintf(check->reason + used, sizeof(check->reason) - used, format, arguments);
    va_end(arguments);
    check->within_tolerance = false;
}

static double delay_tolerance_ns(const struct direction *asked)
{
    double tolerance_ns = RELATIVE_TOLERANCE * (double)asked->delay_ns;
    return tolerance_ns > DELAY_TOLERANCE_NS ? tolerance_ns : DELAY_TOLERANCE_NS;
}

bool measure_asked_to_lose(const struct direction *asked)
{
    return impairment_any_loss(&asked->impairments) || asked->impairments.corrupt > 0;
}

/* With so much loss that none of the probes need have come: what is lost is for judge_fates() to judge. */
static bool silence_asked(const struct direction *asked, const struct direction_check *check)
{
    struct measure_fates_expectation expected;
    double low, high;
    measure_expect_fates(asked, 0, measure_fates_payload_bytes(asked), &expected);
    measure_interval(check->probes_sent, check->probes_sent, expected.loss_variance, &low, &high);
    return expected.lost >= low;
}

static void judge_delay(const struct measure_path *path, struct direction_check *check)
{
    const struct direction *asked = &path->asked;
    char found[UNITS_TEXT_BYTES], wanted[UNITS_TEXT_BYTES];
    if (check->probes_received == 0) {
        if (!silence_asked(asked, check))
            object(check, "none of %u probes came through", check->probes_sent);
        return;
    }
    double tolerance_ns = delay_tolerance_ns(asked), expected_ns = (double)asked->delay_ns;
    if (path->time_ns > 0) {
        struct measure_expectation expected;
        measure_expect_delays(asked, check->probes_received, &expected);
        expected_ns = expected.delay_mean_ns;
        tolerance_ns += Z99 * expected.delay_sd_ns / sqrt(check->probes_received);
    } else { /* two dozen probes tell little of a distribution: their mean lies within what jitter can add; order kept only adds */
        tolerance_ns += (double)impairment_jitter_most_ns(&asked->impairments);
    }
    if (fabs(check->delay_mean_ns - expected_ns) > tolerance_ns && asked->impairments.reorder == 0)
        object(check, "delay %s where %s was asked", units_show_time(found, sizeof(found), check->delay_mean_ns),
               asked->delay_ns ? units_show_time(wanted, sizeof(wanted), (double)asked->delay_ns) : "none");
    if (check->probes_received < check->probes_sent && !measure_asked_to_lose(asked))
        object(check, "%u of %u probes were lost", check->probes_sent - check->probes_received, check->probes_sent);
}

/* Spread and shape of the delays, where there are probes enough to tell. */
static void judge_jitter(const struct measure_path *path, struct direction_check *check)
{
    static const double probabilities[CHECK_QUANTILES] = CHECK_QUANTILE_PROBABILITIES;
    const struct direction *asked = &path->asked;
    struct measure_expectation expected;
    char found[UNITS_TEXT_BYTES], low[UNITS_TEXT_BYTES], high[UNITS_TEXT_BYTES];
    if (path->time_ns == 0 || asked->impairments.jitter_ns == 0 || asked->impairments.reorder > 0 || check->probes_received == 0)
        return;
    measure_expect_delays(asked, check->probes_received, &expected);
    double tolerance_ns = RELATIVE_TOLERANCE * expected.delay_sd_ns + expected.delay_sd_error_ns + JITTER_TOLERANCE_NS;
    if (fabs(check->delay_sd_ns - expected.delay_sd_ns) > tolerance_ns)
        object(check, "delays with a standard deviation of %s where %s was asked",
               units_show_time(found, sizeof(found), check->delay_sd_ns), units_show_time(low, sizeof(low), expected.delay_sd_ns));
    for (int q = 0; q < CHECK_QUANTILES; q++) {
        double low_ns = expected.quantile_low_ns[q] - delay_tolerance_ns(asked),
               high_ns = expected.quantile_high_ns[q] + delay_tolerance_ns(asked), found_ns = check->delay_quantiles_ns[q];
        if (found_ns >= low_ns && found_ns <= high_ns)
            continue;
        object(check, "%.0f %% of delays under %s where %s to %s was asked", 100 * probabilities[q],
               units_show_time(found, sizeof(found), found_ns), units_show_time(low, sizeof(low), expected.quantile_low_ns[q]),
               units_show_time(high, sizeof(high), expected.quantile_high_ns[q]));
        return; /* one is enough to say that it is another distribution */
    }
}

static void judge_share(struct direction_check *check, const char *what, uint64_t count, double expected, double variance)
{
    double low, high;
    if (expected <= 0 && count > 0)
        object(check, "%" PRIu64 " of %" PRIu64 " packets %s, and none was to", count, check->fates.sent, what);
    if (expected <= 0)
        return;
    measure_interval(count, check->fates.sent, variance, &low, &high);
    if (expected < low || expected > high)
        object(check, "%.3g %% of %" PRIu64 " packets %s where %.3g %% was asked", 100 * (double)count / (double)check->fates.sent,
               check->fates.sent, what, 100 * expected);
}

static void judge_fates(const struct measure_path *path, struct direction_check *check)
{
    const struct packet_fates *fates = &check->fates;
    struct measure_fates_expectation expected;
    if (fates->sent == 0)
        return;
    measure_expect_fates(&path->asked, fates->spacing_ns, measure_fates_payload_bytes(&path->asked), &expected);
    judge_share(check, "were lost", fates->lost, expected.lost, expected.loss_variance);
    judge_share(check, "came twice", fates->duplicated, expected.duplicated, 1);
    judge_share(check, "came with a wrong bit", fates->corrupted, expected.corrupted, 1);
    if (path->asked.impairments.reorder == 0 || expected.reordering_shows)
        judge_share(check, "overtook others", fates->reordered, expected.reordered, 1);
    if (expected.loss_variance <= 1 || fates->loss_runs == 0)
        return;
    double run = (double)fates->lost / (double)fates->loss_runs, runs = (double)fates->loss_runs;
    double error = Z99 * sqrt(expected.loss_run * (expected.loss_run - 1) / runs);
    if (fabs(run - expected.loss_run) > error + RELATIVE_TOLERANCE * expected.loss_run)
        object(check, "%.3g losses in a row on average where %.3g was asked", run, expected.loss_run);
}

static double payload_bps(const struct measure_path *path)
{
    return (double)path->asked.rate_bps * topology_payload_share(path->mtu, path->asked.framing);
}

static void judge_goodput(const struct measure_path *path, struct direction_check *check)
{
    const struct direction *asked = &path->asked;
    char found[UNITS_TEXT_BYTES], wanted[UNITS_TEXT_BYTES];
    double asked_bps = payload_bps(path);
    double tolerance_bps = asked_bps * (asked->rate_bps < SLOW_RATE_BPS ? SLOW_RATE_TOLERANCE : RELATIVE_TOLERANCE);
    /* What TCP makes of an impaired link is TCP's business: two lost packets of a handshake take longer than a transfer may. */
    if (check->goodput_bps <= 0 && (!path->loses || (check->probes_received == 0 && !silence_asked(asked, check))))
        object(check, "no transfer came through");
    else if (check->goodput_bps > 0 && asked->rate_bps && !impairment_asked(&asked->impairments) &&
             fabs(check->goodput_bps - asked_bps) > tolerance_bps)
        object(check, "goodput %s where %s was asked", units_show_rate(found, sizeof(found), check->goodput_bps),
               units_show_rate(wanted, sizeof(wanted), asked_bps));
}

/* The bucket is full after silence: what it lets through at once is how tbf keeps a rate, and no fault of this link. */
static void judge_message(const struct measure_path *path, struct direction_check *check)
{
    const struct direction *asked = &path->asked;
    char found[UNITS_TEXT_BYTES], wanted[UNITS_TEXT_BYTES];
    if (check->message_bps <= 0 || path->slow_start_after_idle || asked->rate_bps < SLOW_RATE_BPS)
        return;
    struct shaping shaping = shaping_for_direction(asked, path->mtu);
    double bucket_bytes = shaping.peak_bytes_per_second ? shaping.peak_burst_bytes : shaping.burst_bytes;
    double asked_bps = payload_bps(path), ideal_ns = 8e9 * (double)check->message_bytes / asked_bps;
    double took_ns = 8e9 * (double)check->message_bytes / check->message_bps;
    double least_ns = ideal_ns * (1 - RELATIVE_TOLERANCE) - 8e9 * bucket_bytes / (double)asked->rate_bps;
    if (took_ns >= least_ns && took_ns <= ideal_ns * (1 + RELATIVE_TOLERANCE) + WAKING_NS)
        return;
    object(check, "a message of %" PRIu64 " bytes after idle at %s where %s was asked", check->message_bytes,
           units_show_rate(found, sizeof(found), check->message_bps), units_show_rate(wanted, sizeof(wanted), asked_bps));
}

static void judge_drift(const struct measure_path *path, struct direction_check *check)
{
    char drift[UNITS_TEXT_BYTES];
    if (check->drift_probes == 0 || path->asked.impairments.reorder > 0)
        return;
    struct measure_expectation expected;
    measure_expect_delays(&path->asked, check->drift_probes, &expected);
    double error_ns = Z99 * MEDIAN_ERROR * sqrt(2) * expected.delay_sd_ns / sqrt(check->drift_probes);
    if (fabs(check->drift_ns) <= delay_tolerance_ns(&path->asked) + error_ns)
        return;
    object(check, "the delay drifted by %s%s", check->drift_ns < 0 ? "-" : "",
           units_show_time(drift, sizeof(drift), fabs(check->drift_ns)));
}

void measure_judge(const struct measure_path *path, struct direction_check *check)
{
    static void (*const judges[])(const struct measure_path *, struct direction_check *) = {
        judge_delay, judge_jitter, judge_fates, judge_goodput, judge_message, judge_drift};
    check->within_tolerance = true;
    check->reason[0] = '\0';
    for (size_t i = 0; i < sizeof(judges) / sizeof(judges[0]); i++)
        judges[i](path, check);
}
