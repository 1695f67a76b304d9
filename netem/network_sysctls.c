/* network_sysctls.c: the kernel's settings of a place's namespace.
 *
 * A new namespace takes several settings over from the host's: each that matters is set, so that hosts do not differ. Setting one
 * means to look its file up, which takes the kernel longer the more namespaces there are (all of their entries of one name lie in
 * one chain), and was a third of the time that a thousand places took. So what a namespace is born with is read once, in the first,
 * and nothing is written where that is what is wanted. Most hosts hand settings down from the host's own network or the kernel's
 * defaults; with net.core.devconf_inherit_init_net = 3 a namespace inherits from the one in which it was made, which is the place
 * before: so that one must have the wanted value, too. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "netem/namespaces.h"
#include "netem/network.h"
#include "netem/routes.h"

enum {
    TCP_BUFFER_LEAST = 6 << 20, /* the kernel's own maximum for receiving */
    TCP_BUFFER_MOST = 1 << 30,
    DEFAULT_TTL = 64, /* the kernel's */
};

/* What TCP must hold: the longest path's round trip at the highest rate, and the longest queue at each of its links, twice over, as
 * the window counts memory with its overhead. */
static uint64_t tcp_buffer_bytes(const struct topology *topology, const struct routes_longest *longest)
{
    uint64_t rate = 0, queue = 0;
    int64_t later_ns = 0; /* what a change adds to the delay of a link, at most */
    for (int link = 0; link < topology->link_count; link++)
        for (int d = 0; d < DIRECTIONS; d++) {
            const struct direction *direction = &topology->links[link].direction[d];
            uint64_t rate_bps = network_rate_most_bps(direction), queue_bytes = network_queue_most_bytes(direction);
            int64_t added_ns = direction->delay_most_ns - direction->delay_ns;
            rate = rate_bps > rate ? rate_bps : rate;
            queue = queue_bytes > queue ? queue_bytes : queue;
            later_ns = added_ns > later_ns ? added_ns : later_ns;
        }
    int64_t delay_ns = longest->delay_ns + longest->links * later_ns;
    unsigned __int128 in_flight = (unsigned __int128)rate / 8 * (uint64_t)(2 * delay_ns) / (uint64_t)NS_PER_S;
    unsigned __int128 needed = 2 * (in_flight + (unsigned __int128)queue * (unsigned)longest->links);
    return needed < TCP_BUFFER_LEAST ? TCP_BUFFER_LEAST : needed > TCP_BUFFER_MOST ? TCP_BUFFER_MOST : (uint64_t)needed;
}

static int set_one(struct network_sysctl *known, const char *name, const char *value, bool required, struct err *err)
{
    if (!known->standing[0]) {
        namespaces_read_sysctl(name, known->born, sizeof(known->born));
        snprintf(known->standing, sizeof(known->standing), "%s", known->born);
    }
    if (strcmp(known->born, value) == 0 && strcmp(known->standing, value) == 0)
        return 0;
    snprintf(known->standing, sizeof(known->standing), "%s", value);
    return namespaces_sysctl(name, value, required, err);
}

int network_set_sysctls(struct network *network, int index, const struct routes_longest *longest, struct err *err)
{
    const struct topology *topology = network->topology;
    const struct place *place = &topology->places[index];
    uint64_t buffer = tcp_buffer_bytes(topology, longest);
    bool host = place->kind == PLACE_HOST;
    bool forwards = place->kind == PLACE_ROUTER || routes_transit(topology, index), chooses = routes_degree(topology, index) > 1;
    char receive[SYSCTL_VALUE_BYTES], send[SYSCTL_VALUE_BYTES];
    snprintf(receive, sizeof(receive), "4096 131072 %" PRIu64, buffer);
    snprintf(send, sizeof(send), "4096 16384 %" PRIu64, buffer);
    const struct setting {
        const char *name, *value;
        bool required, wanted;
    } settings[SYSCTL_COUNT] = {
        {"net/ipv6/conf/all/disable_ipv6", "1", false, true}, /* no duplicate address detection, no router solicitations */
        {"net/ipv4/conf/all/rp_filter", "0", true, true},
        {"net/ipv4/conf/default/rp_filter", "0", true, true},
        {"net/ipv4/ip_forward", forwards ? "1" : "0", true, true},
        {"net/ipv4/fib_multipath_hash_policy", "1", true, chooses}, /* ports count too: two nodes' flows may take different paths */
        {"net/ipv4/ip_default_ttl", "255", true, host && longest->links >= DEFAULT_TTL},
        {"net/ipv4/tcp_no_metrics_save", "1", true, host}, /* a trial learns nothing from the one before on the same fabric */
        {"net/ipv4/tcp_slow_start_after_idle", topology->tcp.slow_start_after_idle ? "1" : "0", true, host},
        {"net/ipv4/tcp_rmem", receive, true, host},
        {"net/ipv4/tcp_wmem", send, true, host},
    };
    for (int i = 0; i < SYSCTL_COUNT; i++) {
        const struct setting *setting = &settings[i];
        if (setting->wanted && set_one(&network->sysctls[i], setting->name, setting->value, setting->required, err) < 0)
            return -ERR_HOST;
    }
    return 0;
}
