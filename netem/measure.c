/* netem/measure.c: which links are measured, from where to where, and whether what came out is what was asked. */
#include "netem/measure.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/units.h"
#include "netem/impairment.h"
#include "netem/measure_internal.h"
#include "netem/topology.h"

#define RELATIVE_TOLERANCE 0.05
/* A transfer of one second is a handful of packets on such a link, and TCP's timers are as long as those packets: count in
 * packets. */
#define SLOW_RATE_BPS UINT64_C(300000)
#define SLOW_RATE_TOLERANCE 0.4
#define DELAY_TOLERANCE_NS (200.0 * (double)NS_PER_US)
enum {
    ATTEMPTS = 2,
    SECONDS_BASE = 60,
    SECONDS_A_LINK = 15,
    ROUND_TRIPS_A_LINK = 7, /* one of the probes, six of the transfer */
};

int measure_socket(const struct measure_end *end, int type, int *fd, struct sockaddr_in *bound, struct err *err)
{
    struct in_addr in = {.s_addr = htonl(end->address)};
    char address[INET_ADDRSTRLEN];
    inet_ntop(AF_INET, &in, address, sizeof(address));
    if (setns(end->namespace_fd, CLONE_NEWNET) < 0)
        return err_set_errno(err, ERR_HOST, errno, "entering the namespace of %s", address);
    cleanup(close_fd) int opened = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_in wanted = {.sin_family = AF_INET, .sin_addr = in};
    socklen_t length = sizeof(*bound);
    if (opened >= 0 && end->device &&
        setsockopt(opened, SOL_SOCKET, SO_BINDTODEVICE, end->device, (socklen_t)strlen(end->device)) < 0)
        return err_set_errno(err, ERR_HOST, errno, "a socket on %s's device %s", address, end->device);
    if (opened < 0 || bind(opened, (struct sockaddr *)&wanted, sizeof(wanted)) < 0 ||
        getsockname(opened, (struct sockaddr *)bound, &length) < 0)
        return err_set_errno(err, ERR_HOST, errno, "a socket on %s", address);
    *fd = steal_fd(&opened);
    return 0;
}

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

static void judge_delay(const struct direction *asked, struct direction_check *check)
{
    char found[UNITS_TEXT_BYTES], wanted[UNITS_TEXT_BYTES];
    if (check->probes_received == 0) {
        object(check, "none of %u probes came through", check->probes_sent);
        return;
    }
    double tolerance_ns = RELATIVE_TOLERANCE * (double)asked->delay_ns;
    if (tolerance_ns < DELAY_TOLERANCE_NS)
        tolerance_ns = DELAY_TOLERANCE_NS;
    /* Two dozen probes tell little of a distribution: their mean lies within what jitter can add, and order kept only adds. */
    tolerance_ns += (double)impairment_jitter_most_ns(&asked->impairments);
    if (fabs(check->delay_mean_ns - (double)asked->delay_ns) > tolerance_ns && asked->impairments.reorder == 0)
        object(check, "delay %s where %s was asked", units_show_time(found, sizeof(found), check->delay_mean_ns),
               asked->delay_ns ? units_show_time(wanted, sizeof(wanted), (double)asked->delay_ns) : "none");
    if (check->probes_received < check->probes_sent && !impairment_any_loss(&asked->impairments) && asked->impairments.corrupt == 0)
        object(check, "%u of %u probes were lost", check->probes_sent - check->probes_received, check->probes_sent);
}

static void judge_goodput(const struct direction *asked, int mtu, struct direction_check *check)
{
    char found[UNITS_TEXT_BYTES], wanted[UNITS_TEXT_BYTES];
    double asked_bps = (double)asked->rate_bps * topology_payload_share(mtu, asked->framing);
    double tolerance_bps = asked_bps * (asked->rate_bps < SLOW_RATE_BPS ? SLOW_RATE_TOLERANCE : RELATIVE_TOLERANCE);
    if (check->goodput_bps <= 0)
        object(check, "no transfer came through");
    /* What TCP makes of an impaired link is TCP's business. */
    else if (asked->rate_bps && !impairment_asked(&asked->impairments) && fabs(check->goodput_bps - asked_bps) > tolerance_bps)
        object(check, "goodput %s where %s was asked", units_show_rate(found, sizeof(found), check->goodput_bps),
               units_show_rate(wanted, sizeof(wanted), asked_bps));
}

void measure_judge(const struct direction *asked, int mtu, struct direction_check *check)
{
    check->within_tolerance = true;
    check->reason[0] = '\0';
    judge_delay(asked, check);
    judge_goodput(asked, mtu, check);
}

int measure_sampled_link(int link_count, int sample, int i)
{
    if (sample <= 0 || sample >= link_count)
        return i;
    return (int)((int64_t)i * link_count / sample);
}

static struct measure_end end_of(const struct topology *topology, const int *namespace_fds, int place, const char *device)
{
    return (struct measure_end){
        .namespace_fd = namespace_fds[place], .address = topology_address(topology, place), .device = device};
}

static int measure_direction(const struct topology *topology, const int *namespace_fds, const struct link *link, int direction,
                             struct direction_check *check, struct err *err)
{
    bool forward = direction == DIRECTION_FORWARD;
    char device[16];
    snprintf(device, sizeof(device), "l%d", (int)(link - topology->links)); /* at both ends */
    struct measure_path path = {
        .source = end_of(topology, namespace_fds, forward ? link->from : link->to, device),
        .target = end_of(topology, namespace_fds, forward ? link->to : link->from, device),
        .asked = link->direction[direction],
        .round_trip_ns = link->direction[0].delay_ns + link->direction[1].delay_ns,
        .mtu = topology->mtu,
    };
    for (int attempt = 0; attempt < ATTEMPTS && !check->within_tolerance; attempt++) {
        struct direction_check found = {.measured = true};
        int failed = measure_delay(&path, &found, err);
        if (!failed && found.probes_received > 0)
            failed = measure_goodput(&path, &found.goodput_bps, err);
        if (failed)
            return err_wrap(err, "measuring link %s, %s", link->name, forward ? "forward" : "backward");
        measure_judge(&path.asked, path.mtu, &found);
        *check = found;
    }
    return 0;
}

int64_t measure_longest_round_trip_ns(const struct topology *topology)
{
    int64_t longest_ns = 0;
    for (int i = 0; i < topology->link_count; i++) {
        int64_t round_trip_ns = topology->links[i].direction[0].delay_ns + topology->links[i].direction[1].delay_ns;
        longest_ns = round_trip_ns > longest_ns ? round_trip_ns : longest_ns;
    }
    return longest_ns;
}

int64_t measure_seconds_most(int link_count, int sample, int64_t round_trip_ns)
{
    int64_t links = sample <= 0 || sample > link_count ? link_count : sample;
    return SECONDS_BASE + links * (SECONDS_A_LINK + (DIRECTIONS * ATTEMPTS * ROUND_TRIPS_A_LINK * round_trip_ns) / NS_PER_S);
}

int measure_links(const struct topology *topology, const int *namespace_fds, int sample, struct link_check *checks, struct err *err)
{
    (void)prctl(PR_SET_TIMERSLACK, 1UL);
    memset(checks, 0, (size_t)topology->link_count * sizeof(*checks));
    int count = sample <= 0 || sample > topology->link_count ? topology->link_count : sample;
    for (int i = 0; i < count; i++) {
        int index = measure_sampled_link(topology->link_count, sample, i);
        for (int direction = 0; direction < DIRECTIONS; direction++) {
            int failed = measure_direction(topology, namespace_fds, &topology->links[index], direction,
                                           &checks[index].direction[direction], err);
            if (failed)
                return failed;
        }
    }
    return 0;
}
