/* network_settle.c: what a change of a rate leaves to be done in the queue.
 *
 * Theory of operation. tbf takes packets up to the size of its bucket and cuts larger ones; but one that is larger than the bucket
 * when its turn comes, because the bucket was made smaller meanwhile, never gets enough tokens: it stays for ever, with all behind
 * it. So where a change makes the bucket smaller, it keeps room for the largest packet that was taken before, and gets its size
 * when the queue is found empty. Until then nothing is lost by it: a bucket is empty while packets wait.
 *
 * A large packet may still come between the look at the queue and the change: if the queue then stands still, the room is given
 * back, and all begins again. `room_bytes` is the largest packet that may be in the queue, until it is known better. */
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "netem/network.h"
#include "netem/tbf.h"

#define LOOK_LEAST_NS (2 * NS_PER_MS)
#define LOOK_MOST_NS (100 * NS_PER_MS)

static int set_rate(struct network *network, int end, const struct shaping *shaping, struct err *err)
{
    struct network_end *self = &network->ends[end];
    struct netlink *netlink = network->places[network_end_place(network, end)].netlink;
    self->shaping = *shaping;
    tbf_change(netlink, self->device.index, self->device.name, shaping);
    int code = netlink_flush(netlink, err);
    return code < 0 ? code : network_read_back_rate(network, end, err);
}

static int64_t time_for(const struct network_end *self, uint64_t bytes)
{
    unsigned __int128 ns = (unsigned __int128)bytes * (uint64_t)NS_PER_S / self->wanted.rate_bytes_per_second;
    return ns > INT64_MAX / 4 ? INT64_MAX / 4 : (int64_t)ns;
}

/* When the queue could be empty; later and later, as others may keep it full. */
static void look_again(struct network_end *self, int64_t now_ns)
{
    int64_t empty_ns = time_for(self, self->tbf_backlog_bytes);
    self->pause_ns = 2 * self->pause_ns < LOOK_MOST_NS ? 2 * self->pause_ns : LOOK_MOST_NS;
    if (self->settling == NETWORK_VERIFYING || self->pause_ns < LOOK_LEAST_NS)
        self->pause_ns = LOOK_LEAST_NS;
    self->look_ns = now_ns + (empty_ns > LOOK_MOST_NS ? LOOK_MOST_NS : empty_ns > self->pause_ns ? empty_ns : self->pause_ns);
}

/* Nothing has left for longer than the bucket needs to fill. */
static bool stands_still(const struct network_end *self, int64_t now_ns)
{
    return now_ns - self->moved_ns > 2 * time_for(self, self->wanted.burst_bytes) + 5 * LOOK_LEAST_NS;
}

/* The bucket has its size. All that was in the queue then must leave. */
static int verify(struct network *network, int end, int64_t now_ns, struct err *err)
{
    struct network_end *self = &network->ends[end];
    if (self->tbf_backlog_bytes == 0 || self->tbf_bytes >= self->mark_bytes) {
        self->settling = NETWORK_SETTLED;
        self->room_bytes = shaping_admits(&self->wanted, network->topology->mtu);
        return 0;
    }
    if (!stands_still(self, now_ns))
        return 0;
    struct shaping roomy = shaping_with_room(self->wanted, self->room_bytes);
    self->settling = NETWORK_DRAINING;
    int code = set_rate(network, end, &roomy, err);
    network_wake_rate(network, end);
    return code;
}

static int drain(struct network *network, int end, int64_t now_ns, struct err *err)
{
    struct network_end *self = &network->ends[end];
    if (self->tbf_backlog_bytes > 0)
        return 0;
    int code = set_rate(network, end, &self->wanted, err);
    self->settling = NETWORK_VERIFYING;
    self->mark_bytes = self->tbf_bytes + self->tbf_backlog_bytes;
    self->moved_ns = now_ns;
    return code < 0 ? code : verify(network, end, now_ns, err);
}

static int settle_end(struct network *network, int end, int64_t now_ns, struct err *err)
{
    struct network_end *self = &network->ends[end];
    uint64_t bytes = self->tbf_bytes;
    int code = network_read_back_rate(network, end, err);
    if (code < 0)
        return code;
    if (self->tbf_bytes != bytes)
        self->moved_ns = now_ns;
    code = (self->settling == NETWORK_DRAINING ? drain : verify)(network, end, now_ns, err);
    look_again(self, now_ns);
    return code;
}

int network_begin_settling(struct network *network, int end, struct err *err)
{
    struct network_end *self = &network->ends[end];
    int64_t now_ns = clock_now_ns();
    uint32_t admits = shaping_admits(&self->shaping, network->topology->mtu);
    self->settling = NETWORK_SETTLED;
    if (self->room_bytes < admits)
        self->room_bytes = admits;
    if (self->shaping.burst_bytes == self->wanted.burst_bytes && self->shaping.peak_burst_bytes == self->wanted.peak_burst_bytes)
        return 0;
    self->settling = NETWORK_DRAINING;
    self->pause_ns = 0;
    int code = drain(network, end, now_ns, err);
    look_again(self, now_ns);
    return code;
}

int network_settle(struct network *network, int64_t *next_ns, struct err *err)
{
    int code = 0;
    int64_t now_ns = clock_now_ns(), first_ns = INT64_MAX;
    for (int end = 0; end < ENDS * network->topology->link_count && code == 0; end++) {
        struct network_end *self = &network->ends[end];
        if (self->settling != NETWORK_SETTLED && self->look_ns <= now_ns)
            code = settle_end(network, end, now_ns, err);
        if (self->settling != NETWORK_SETTLED && self->look_ns < first_ns)
            first_ns = self->look_ns;
        if (code < 0)
            err_wrap(err, "cannot finish the change of link %s", network->topology->links[end / ENDS].name);
    }
    *next_ns = first_ns;
    return code;
}

/* With a frame, the only thing that makes tbf look: the smallest one, for an address that nobody has, so that whoever receives it
 * drops it uncounted. A refinement: without it packets wait for the timer. */
void network_wake_rate(const struct network *network, int end)
{
    const struct netlink_device *device = &network->ends[end].device;
    struct {
        struct ethhdr header;
        unsigned char nothing[ETH_ZLEN - ETH_HLEN];
    } frame = {.header = {.h_dest = {0x02, 0x6c, 0x67, 0xff, 0xff, 0xff}, .h_proto = __builtin_bswap16(ETH_P_IP)}};
    const struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_ifindex = device->index, .sll_halen = ETH_ALEN};
    memcpy(frame.header.h_source, device->mac, ETH_ALEN);
    if (setns(network->places[network_end_place(network, end)].namespace_fd, CLONE_NEWNET) < 0)
        return;
    cleanup(close_fd) int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (fd < 0 || sendto(fd, &frame, sizeof(frame), MSG_DONTWAIT, (const struct sockaddr *)&to, sizeof(to)) < 0)
        log_debug("no frame wakes device %s: %s", device->name, strerror(errno));
}
