/* netem/measure_drift.c: whether delays stay what they are: probes of all directions go on for a while, and the median of the last
 * ones is set against that of the first.
 *
 * Theory of operation. One thread holds two sockets a direction, sends a probe of each direction in turn, at no more than half of
 * the slowest one's rate, and takes what comes in between. The median, because one disturbance of the host among a hundred probes
 * is no drift. What lies between the two windows is not kept. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "netem/measure_internal.h"

#define WINDOW_MOST_NS (10 * NS_PER_S)
#define SPACING_LEAST_NS (50 * NS_PER_MS) /* of one direction's probes */
#define TURN_NS NS_PER_MS                 /* between two directions' */
#define PATIENCE_NS (200 * NS_PER_MS)

struct probe {
    uint32_t magic, direction;
    int64_t sent_ns;
};
#define PROBE_MAGIC UINT32_C(0x64726966)

enum { FIRST, LAST, WINDOWS };
struct watch {
    int source, target;
    struct sockaddr_in to;
    int64_t *delay_ns[WINDOWS];
    int count[WINDOWS];
};
struct drift {
    struct watch *watches;
    struct pollfd *targets;
    int direction_count, room;            /* of one window's delays */
    int64_t first_until_ns, last_from_ns; /* of when probes were sent */
};

static void drift_free(struct drift *drift)
{
    for (int i = 0; drift->watches && i < drift->direction_count; i++) {
        close_fd(&drift->watches[i].source);
        close_fd(&drift->watches[i].target);
        free(drift->watches[i].delay_ns[FIRST]);
        free(drift->watches[i].delay_ns[LAST]);
    }
    free(drift->watches);
    free(drift->targets);
}

static void take(struct drift *drift, int direction)
{
    struct watch *watch = &drift->watches[direction];
    for (;;) {
        struct probe probe = {0};
        int64_t arrived_ns;
        ssize_t length;
        if (!measure_receive(watch->target, &probe, sizeof(probe), &arrived_ns, &length))
            return;
        int window = probe.sent_ns < drift->first_until_ns ? FIRST : probe.sent_ns >= drift->last_from_ns ? LAST : WINDOWS;
        if (length != (ssize_t)sizeof(probe) || probe.magic != PROBE_MAGIC || probe.direction != (uint32_t)direction ||
            window == WINDOWS || watch->count[window] == drift->room)
            continue;
        watch->delay_ns[window][watch->count[window]++] = arrived_ns - probe.sent_ns;
    }
}

static void take_until(struct drift *drift, int64_t until_ns)
{
    for (;;) {
        int64_t left_ns = until_ns - clock_now_ns();
        if (left_ns <= 0)
            return;
        struct timespec timeout = {.tv_sec = left_ns / NS_PER_S, .tv_nsec = left_ns % NS_PER_S};
        int ready = ppoll(drift->targets, (nfds_t)drift->direction_count, &timeout, NULL);
        for (int i = 0; i < drift->direction_count && ready > 0; i++)
            if (drift->targets[i].revents)
                take(drift, i);
    }
}

static int open_watches(struct drift *drift, const struct measure_path *paths, struct err *err)
{
    drift->watches = calloc((size_t)drift->direction_count, sizeof(*drift->watches));
    drift->targets = calloc((size_t)drift->direction_count, sizeof(*drift->targets));
    if (!drift->watches || !drift->targets)
        return err_set_errno(err, ERR_HOST, ENOMEM, "memory for %d directions", drift->direction_count);
    for (int i = 0; i < drift->direction_count; i++)
        drift->watches[i].source = drift->watches[i].target = -1;
    for (int i = 0; i < drift->direction_count; i++) {
        struct watch *watch = &drift->watches[i];
        int failed = measure_datagram_sockets(&paths[i], &watch->source, &watch->target, &watch->to, err);
        if (failed)
            return failed;
        for (int window = 0; window < WINDOWS; window++)
            if (!(watch->delay_ns[window] = calloc((size_t)drift->room, sizeof(*watch->delay_ns[window]))))
                return err_set_errno(err, ERR_HOST, ENOMEM, "memory for %d probes", drift->room);
        drift->targets[i] = (struct pollfd){.fd = watch->target, .events = POLLIN};
    }
    return 0;
}

static int64_t longest_delay_ns(const struct measure_path *paths, int count)
{
    int64_t longest_ns = 0;
    for (int i = 0; i < count; i++)
        longest_ns = paths[i].round_trip_ns > longest_ns ? paths[i].round_trip_ns : longest_ns;
    return longest_ns;
}

/* Between two directions' probes. */
static int64_t turn_ns_of(const struct measure_path *paths, int count)
{
    int64_t spacing_ns = SPACING_LEAST_NS;
    for (int i = 0; i < count; i++) {
        int64_t least_ns = measure_half_rate_ns(&paths[i].asked, sizeof(struct probe));
        spacing_ns = least_ns > spacing_ns ? least_ns : spacing_ns;
    }
    int64_t turn_ns = spacing_ns / count;
    return turn_ns > TURN_NS ? turn_ns : TURN_NS;
}

int measure_drifts(const struct measure_path *paths, struct measure_drift *drifts, int count, int64_t time_ns, struct err *err)
{
    if (count <= 0)
        return 0;
    cleanup(drift_free) struct drift drift = {.direction_count = count};
    int64_t window_ns = time_ns / 2 < WINDOW_MOST_NS ? time_ns / 2 : WINDOW_MOST_NS;
    int64_t turn_ns = turn_ns_of(paths, count);
    drift.room = (int)(window_ns / (turn_ns * count)) + 2;
    int failed = open_watches(&drift, paths, err);
    if (failed)
        return failed;
    int64_t begin_ns = clock_now_ns(), end_ns = begin_ns + time_ns;
    drift.first_until_ns = begin_ns + window_ns;
    drift.last_from_ns = end_ns - window_ns;
    for (int turn = 0; clock_now_ns() < end_ns; turn = (turn + 1) % count) {
        struct watch *watch = &drift.watches[turn];
        struct probe probe = {.magic = PROBE_MAGIC, .direction = (uint32_t)turn, .sent_ns = clock_now_ns()};
        (void)sendto(watch->source, &probe, sizeof(probe), 0, (struct sockaddr *)&watch->to, sizeof(watch->to));
        take_until(&drift, probe.sent_ns + turn_ns);
    }
    take_until(&drift, clock_now_ns() + longest_delay_ns(paths, count) + PATIENCE_NS);
    for (int i = 0; i < count; i++) {
        struct watch *watch = &drift.watches[i];
        int fewer = watch->count[FIRST] < watch->count[LAST] ? watch->count[FIRST] : watch->count[LAST];
        drifts[i].probes = (uint32_t)fewer;
        if (fewer > 0)
            drifts[i].drift_ns = measure_median(watch->delay_ns[LAST], watch->count[LAST]) -
                                 measure_median(watch->delay_ns[FIRST], watch->count[FIRST]);
    }
    return 0;
}
