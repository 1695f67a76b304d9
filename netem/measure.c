/* netem/measure.c: which links are measured, from where to where, and in what order. */
#include "netem/measure.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "netem/impairment.h"
#include "netem/measure_internal.h"
#include "netem/topology.h"

enum {
    NICENESS = -15,
    ATTEMPTS = 2,
    SECONDS_BASE = 60,
    SECONDS_A_LINK = 20,
    ROUND_TRIPS_A_LINK = 24, /* one of the probes, one of the fates, six of the transfer, the rest of messages */
    TIMES_A_LINK = 3,        /* of the effort's: delays, fates, messages */
};

int measure_sampled_link(int link_count, int sample, int i)
{
    if (sample <= 0 || sample >= link_count)
        return i;
    return (int)((int64_t)i * link_count / sample);
}

static int sample_count(int link_count, const struct measure_effort *effort)
{
    return effort->sample <= 0 || effort->sample > link_count ? link_count : effort->sample;
}

static struct measure_end end_of(const struct topology *topology, const int *namespace_fds, int place, const char *device)
{
    return (struct measure_end){
        .namespace_fd = namespace_fds[place], .address = topology_address(topology, place), .device = device};
}

enum { DEVICE_BYTES = 16 };

/* Without its ends. */
static struct measure_path way_of(const struct topology *topology, const struct measure_effort *effort, int index, int direction)
{
    const struct link *link = &topology->links[index];
    return (struct measure_path){
        .asked = link->direction[direction],
        .round_trip_ns = link->direction[0].delay_ns + link->direction[1].delay_ns,
        .mtu = topology->mtu,
        .time_ns = effort->time_ns,
        .loses = measure_asked_to_lose(&link->direction[0]) || measure_asked_to_lose(&link->direction[1]),
        .slow_start_after_idle = topology->tcp.slow_start_after_idle,
    };
}

static struct measure_path path_of(const struct topology *topology, const int *namespace_fds, const struct measure_effort *effort,
                                   int index, int direction, const char *device)
{
    bool forward = direction == DIRECTION_FORWARD;
    const struct link *link = &topology->links[index];
    struct measure_path path = way_of(topology, effort, index, direction);
    path.source = end_of(topology, namespace_fds, forward ? link->from : link->to, device);
    path.target = end_of(topology, namespace_fds, forward ? link->to : link->from, device);
    return path;
}

static bool fates_wanted(const struct measure_path *path)
{
    return path->time_ns > 0 || impairment_any_probability(&path->asked.impairments);
}

static int measure_once(const struct measure_path *path, struct direction_check *found, struct err *err)
{
    int failed = measure_delay(path, found, err);
    if (!failed && fates_wanted(path) && (found->probes_received > 0 || measure_asked_to_lose(&path->asked)))
        failed = measure_fates(path, found, err);
    return failed || found->probes_received == 0 ? failed : measure_goodput(path, found, err);
}

static int measure_direction(const struct measure_path *path, struct direction_check *check, struct err *err)
{
    for (int attempt = 0; attempt < ATTEMPTS && !check->within_tolerance; attempt++) {
        struct direction_check found = {.measured = true};
        int failed = measure_once(path, &found, err);
        if (failed)
            return failed;
        measure_judge(path, &found);
        *check = found;
    }
    return 0;
}

int64_t measure_longest_round_trip_ns(const struct topology *topology)
{
    int64_t longest_ns = 0;
    for (int i = 0; i < topology->link_count; i++) {
        int64_t round_trip_ns = 0;
        for (int d = 0; d < DIRECTIONS; d++)
            round_trip_ns += topology->links[i].direction[d].delay_ns +
                             measure_half_rate_ns(&topology->links[i].direction[d], (uint32_t)topology->mtu);
        longest_ns = round_trip_ns > longest_ns ? round_trip_ns : longest_ns;
    }
    return longest_ns;
}

int64_t measure_seconds_most(int link_count, const struct measure_effort *effort, int64_t round_trip_ns)
{
    int64_t links = sample_count(link_count, effort);
    int64_t direction_ns = ROUND_TRIPS_A_LINK * round_trip_ns + TIMES_A_LINK * effort->time_ns;
    return SECONDS_BASE + effort->time_ns / NS_PER_S + links * (SECONDS_A_LINK + DIRECTIONS * ATTEMPTS * direction_ns / NS_PER_S);
}

int64_t measure_expected_ns(const struct topology *topology, const struct measure_effort *effort)
{
    int count = sample_count(topology->link_count, effort);
    int64_t expected_ns = effort->time_ns;
    for (int i = 0; i < DIRECTIONS * count; i++) {
        int link = measure_sampled_link(topology->link_count, effort->sample, i / DIRECTIONS);
        struct measure_path path = way_of(topology, effort, link, i % DIRECTIONS);
        expected_ns += measure_delay_expected_ns(&path) + measure_goodput_expected_ns(&path) +
                       (fates_wanted(&path) ? measure_fates_expected_ns(&path) : 0);
    }
    return expected_ns;
}

struct measured { /* the list of directions */
    struct measure_path *paths;
    struct measure_drift *drifts;
    int *links; /* of paths[DIRECTIONS * i] and the one behind it */
    char *devices;
    int count; /* of directions */
};

static void measured_free(struct measured *measured)
{
    free(measured->paths);
    free(measured->drifts);
    free(measured->links);
    free(measured->devices);
}

static struct direction_check *check_of(const struct measured *measured, struct link_check *checks, int i)
{
    return &checks[measured->links[i / DIRECTIONS]].direction[i % DIRECTIONS];
}

/* Everything on the list, in its order; then, thorough, all of it once more at the same time. */
static int measure_all(const struct measured *measured, const struct topology *topology, struct link_check *checks, int64_t time_ns,
                       struct err *err)
{
    for (int i = 0; i < measured->count; i++)
        if (measure_direction(&measured->paths[i], check_of(measured, checks, i), err) < 0)
            return err_wrap(err, "measuring link %s, %s", topology->links[measured->links[i / DIRECTIONS]].name,
                            i % DIRECTIONS == DIRECTION_FORWARD ? "forward" : "backward");
    if (time_ns == 0)
        return 0;
    if (measure_drifts(measured->paths, measured->drifts, measured->count, time_ns, err) < 0)
        return err_wrap(err, "watching the delays of %d directions", measured->count);
    for (int i = 0; i < measured->count; i++) {
        struct direction_check *check = check_of(measured, checks, i);
        check->drift_ns = measured->drifts[i].drift_ns;
        check->drift_probes = measured->drifts[i].probes;
        measure_judge(&measured->paths[i], check);
    }
    return 0;
}

int measure_links(const struct topology *topology, const int *namespace_fds, const struct measure_effort *effort,
                  struct link_check *checks, struct err *err)
{
    (void)prctl(PR_SET_TIMERSLACK, 1UL);
    (void)setpriority(PRIO_PROCESS, 0, NICENESS); /* where allowed: the links are measured, not who else wants a processor */
    memset(checks, 0, (size_t)topology->link_count * sizeof(*checks));
    int count = sample_count(topology->link_count, effort);
    cleanup(measured_free) struct measured measured = {
        .paths = calloc((size_t)(count * DIRECTIONS) + 1, sizeof(*measured.paths)),
        .drifts = calloc((size_t)(count * DIRECTIONS) + 1, sizeof(*measured.drifts)),
        .links = calloc((size_t)count + 1, sizeof(*measured.links)),
        .devices = calloc((size_t)count + 1, DEVICE_BYTES),
        .count = count * DIRECTIONS,
    };
    if (!measured.paths || !measured.drifts || !measured.links || !measured.devices)
        return err_set_errno(err, ERR_HOST, ENOMEM, "memory to measure %d links", count);
    for (int i = 0; i < count; i++) {
        char *device = measured.devices + (size_t)i * DEVICE_BYTES;
        measured.links[i] = measure_sampled_link(topology->link_count, effort->sample, i);
        snprintf(device, DEVICE_BYTES, "l%d", measured.links[i]); /* at both ends */
        for (int d = 0; d < DIRECTIONS; d++)
            measured.paths[i * DIRECTIONS + d] = path_of(topology, namespace_fds, effort, measured.links[i], d, device);
    }
    return measure_all(&measured, topology, checks, effort->time_ns, err);
}
