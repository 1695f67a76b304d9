/* netem/measure_delay.c: one-way delay of one direction by UDP probes that carry the sender's clock.
 *
 * Theory of operation. One thread holds both sockets. A probe is sent every spacing: far enough apart that each meets an idle link
 * and, in a thorough measurement, an empty line in spite of jitter (which keeps order, so that a probe close behind a late one
 * would be late, too), and at no more than half of the rate, so that on the slowest link none waits for another. Arrival is the
 * kernel's receive stamp. */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "netem/impairment.h"
#include "netem/measure_internal.h"

#define SPACING_LEAST_NS (1200 * NS_PER_US)
#define PATIENCE_NS (300 * NS_PER_MS) /* beyond the asked delay, for the last probes */
enum {
    THOROUGH_PROBES = 200,
    THOROUGH_PROBES_JITTER = 2000,
    SPAN_TAIL = 1000, /* probes may be as near as all but one delay in a thousand at either end allow */
};

struct probe {
    uint32_t index, magic;
    int64_t sent_ns;
};
#define PROBE_MAGIC UINT32_C(0x6c616767)

struct probes {
    int target;
    int sent, received;
    bool *seen;
    int64_t *delay_ns; /* of those received, in order of arrival */
};

static void probes_free(struct probes *probes)
{
    close_fd(&probes->target);
    free(probes->seen);
    free(probes->delay_ns);
}

int64_t measure_probe_spacing_ns(const struct measure_path *path)
{
    const struct impairments *asked = &path->asked.impairments;
    int64_t least_ns = measure_half_rate_ns(&path->asked, sizeof(struct probe));
    least_ns = least_ns > SPACING_LEAST_NS ? least_ns : SPACING_LEAST_NS;
    if (path->time_ns == 0 || asked->jitter_ns == 0)
        return least_ns;
    struct impairment_table table = impairment_table_for(asked);
    int tail = table.size / SPAN_TAIL;
    double span = (double)(table.entries[table.size - 1 - tail] - table.entries[tail]) / IMPAIRMENT_SCALE;
    int64_t spacing_ns = (int64_t)(span * (double)asked->jitter_ns), most_ns = path->time_ns / MEASURE_SURVEY_PROBES;
    spacing_ns = spacing_ns < most_ns ? spacing_ns : most_ns;
    return spacing_ns > least_ns ? spacing_ns : least_ns;
}

int measure_probe_count(const struct measure_path *path)
{
    if (path->time_ns == 0)
        return MEASURE_SURVEY_PROBES;
    int64_t wanted = path->asked.impairments.jitter_ns > 0 ? THOROUGH_PROBES_JITTER : THOROUGH_PROBES;
    int64_t fit = path->time_ns / measure_probe_spacing_ns(path);
    wanted = wanted < fit ? wanted : fit;
    return wanted > MEASURE_SURVEY_PROBES ? (int)wanted : MEASURE_SURVEY_PROBES;
}

static void receive(struct probes *probes)
{
    for (;;) {
        struct probe probe = {0};
        int64_t arrived_ns;
        ssize_t length;
        if (!measure_receive(probes->target, &probe, sizeof(probe), &arrived_ns, &length))
            return;
        if (length != (ssize_t)sizeof(probe) || probe.magic != PROBE_MAGIC || probe.index >= (uint32_t)probes->sent ||
            probes->seen[probe.index])
            continue;
        probes->seen[probe.index] = true;
        probes->delay_ns[probes->received++] = arrived_ns - probe.sent_ns;
    }
}

/* Takes what comes until `until_ns`, or until everything sent has come when `all` says that nothing more will be sent. */
static void receive_until(struct probes *probes, int64_t until_ns, bool all)
{
    for (;;) {
        receive(probes);
        int64_t left_ns = until_ns - clock_now_ns();
        if (left_ns <= 0 || (all && probes->received == probes->sent))
            return;
        struct timespec timeout = {.tv_sec = left_ns / NS_PER_S, .tv_nsec = left_ns % NS_PER_S};
        struct pollfd readable = {.fd = probes->target, .events = POLLIN};
        (void)ppoll(&readable, 1, &timeout, NULL);
    }
}

double measure_median(int64_t *values, int count)
{
    clock_sort(values, (size_t)count);
    int low = (count - 1) / 2, high = count / 2;
    return ((double)values[low] + (double)values[high]) / 2;
}

void measure_delay_statistics(int64_t *delay_ns, int count, struct direction_check *check)
{
    static const double probabilities[CHECK_QUANTILES] = CHECK_QUANTILE_PROBABILITIES;
    if (count == 0)
        return;
    double sum = 0, squares = 0;
    clock_sort(delay_ns, (size_t)count);
    for (int i = 0; i < count; i++)
        sum += (double)delay_ns[i];
    double mean = sum / count;
    for (int i = 0; i < count; i++)
        squares += ((double)delay_ns[i] - mean) * ((double)delay_ns[i] - mean);
    check->delay_mean_ns = mean;
    check->delay_min_ns = (double)delay_ns[0];
    check->delay_max_ns = (double)delay_ns[count - 1];
    check->delay_sd_ns = count > 1 ? sqrt(squares / (count - 1)) : 0;
    for (int q = 0; q < CHECK_QUANTILES; q++) { /* type 7, as everywhere here */
        double place = probabilities[q] * (count - 1);
        int below = (int)place, above = below + 1 < count ? below + 1 : below;
        check->delay_quantiles_ns[q] = (double)delay_ns[below] + (place - below) * (double)(delay_ns[above] - delay_ns[below]);
    }
}

static int64_t patience_ns(const struct measure_path *path)
{
    return path->asked.delay_ns + impairment_jitter_most_ns(&path->asked.impairments) + PATIENCE_NS;
}

int64_t measure_delay_expected_ns(const struct measure_path *path)
{
    return measure_settle_ns(path) + measure_probe_count(path) * measure_probe_spacing_ns(path) +
           (measure_asked_to_lose(&path->asked) ? patience_ns(path) : path->asked.delay_ns);
}

int measure_delay(const struct measure_path *path, struct direction_check *check, struct err *err)
{
    cleanup(close_fd) int source = -1;
    cleanup(probes_free) struct probes probes = {.target = -1};
    struct sockaddr_in to;
    int count = measure_probe_count(path);
    int failed = measure_datagram_sockets(path, &source, &probes.target, &to, err);
    if (failed)
        return failed;
    probes.seen = calloc((size_t)count, sizeof(*probes.seen));
    probes.delay_ns = calloc((size_t)count, sizeof(*probes.delay_ns));
    if (!probes.seen || !probes.delay_ns)
        return err_set_errno(err, ERR_HOST, ENOMEM, "memory for %d probes", count);
    int64_t spacing_ns = measure_probe_spacing_ns(path), next_ns = clock_now_ns() + measure_settle_ns(path);
    for (int i = 0; i < count; i++) {
        receive_until(&probes, next_ns, false);
        struct probe probe = {.index = (uint32_t)i, .magic = PROBE_MAGIC, .sent_ns = clock_now_ns()};
        probes.sent++;
        (void)sendto(source, &probe, sizeof(probe), 0, (struct sockaddr *)&to,
                     sizeof(to)); /* one that cannot be sent counts as lost */
        next_ns = probe.sent_ns + spacing_ns;
    }
    receive_until(&probes, clock_now_ns() + patience_ns(path), true);
    check->probes_sent = (uint32_t)probes.sent;
    check->probes_received = (uint32_t)probes.received;
    measure_delay_statistics(probes.delay_ns, probes.received, check);
    return 0;
}
