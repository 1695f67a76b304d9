/* netem/relay_ring.c: the packets in flight of one direction, and how much memory they need. */
#include <errno.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/err.h"
#include "netem/impairment.h"
#include "netem/relay_internal.h"

enum {
    SMALLEST_FRAME = 42,           /* Ethernet, IPv4, UDP, no payload */
    ALIGNMENT = 8,                 /* of struct relay_packet */
    PACKET_OVERHEAD = 16 + 10 + 7, /* our header, virtio_net_hdr, padding to ALIGNMENT */
    PACKETS_PER_SECOND = 1000000,  /* more than one thread can carry */
    SMALLEST_CAPACITY = 256 * 1024 + RELAY_PACKET_MAX,
};
#define SLACK_NS (10 * NS_PER_MS)                     /* how long the thread may be kept from writing before a ring runs full */
#define LARGEST_CAPACITY ((size_t)3 << 29)            /* of one direction: 10 Gbit/s for more than a second */
#define LARGEST_UNLIMITED_CAPACITY ((size_t)64 << 20) /* without a rate: 10 Gbit/s for 50 ms */
#define UNLIMITED_RATE_BPS UINT64_C(10000000000)

size_t relay_ring_capacity(const struct relay_direction *direction)
{
    uint64_t rate_bps = direction->rate_bps ? direction->rate_bps : UNLIMITED_RATE_BPS;
    int64_t delay_ns = direction->delay_ns + impairment_jitter_most_ns(&direction->impairments);
    if (rate_bps < direction->rate_most_bps)
        rate_bps = direction->rate_most_bps;
    if (delay_ns < direction->delay_most_ns)
        delay_ns = direction->delay_most_ns;
    double copies = 1 + (direction->changes ? 1 : direction->impairments.duplicate); /* each packet twice may yet be asked for */
    double seconds = (double)(delay_ns + SLACK_NS) / (double)NS_PER_S;
    double bytes_per_second = (double)rate_bps / 8 * copies;
    double packets_per_second = bytes_per_second / SMALLEST_FRAME;
    if (packets_per_second > PACKETS_PER_SECOND)
        packets_per_second = PACKETS_PER_SECOND;
    double wanted = seconds * (bytes_per_second + packets_per_second * PACKET_OVERHEAD) + SMALLEST_CAPACITY;
    size_t largest = direction->rate_bps ? LARGEST_CAPACITY : LARGEST_UNLIMITED_CAPACITY;
    return wanted > (double)largest ? largest : (size_t)wanted;
}

void relay_ring_init(struct relay_ring *ring, void *memory, size_t capacity)
{
    *ring = (struct relay_ring){.memory = memory, .capacity = capacity};
}

int relay_ring_open(struct relay_ring *ring, size_t capacity, size_t prefault, struct err *err)
{
    size_t bytes = capacity + RELAY_RING_MARGIN;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return err_set_errno(err, ERR_HOST, errno, "relay: %zu bytes for the packets in flight of one link direction", bytes);
    relay_ring_init(ring, memory, capacity);
    ring->mapped = bytes;
    /* The pages that a link uses first are there before its first packet; the rest comes when it is needed, and stays. All of this
     * is worth having and none of it is required: the limit on locked memory is often small. */
    (void)madvise(memory, prefault < bytes ? prefault : bytes, MADV_POPULATE_WRITE);
    (void)mlock2(memory, bytes, MLOCK_ONFAULT);
    return 0;
}

void relay_ring_close(struct relay_ring *ring)
{
    if (ring->mapped)
        munmap(ring->memory, ring->mapped);
    *ring = (struct relay_ring){0};
}

struct relay_packet *relay_ring_reserve(struct relay_ring *ring)
{
    /* At or in front of the tail (wrapped round): the oldest packet must not be written over. Behind it: the margin has room. */
    if (ring->count > 0 && ring->head <= ring->tail && ring->tail - ring->head < RELAY_RING_MARGIN)
        return NULL;
    return (struct relay_packet *)(void *)(ring->memory + ring->head);
}

static size_t next_offset(const struct relay_ring *ring, size_t offset, uint32_t length)
{
    size_t end = offset + sizeof(struct relay_packet) + length;
    end = (end + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    return end >= ring->capacity ? 0 : end;
}

void relay_ring_commit(struct relay_ring *ring, uint32_t length, int64_t deadline_ns)
{
    struct relay_packet *packet = (struct relay_packet *)(void *)(ring->memory + ring->head);
    packet->deadline_ns = deadline_ns;
    packet->length = length;
    packet->held_ns = 0;
    ring->head = next_offset(ring, ring->head, length);
    ring->count++;
}

struct relay_packet *relay_ring_oldest(const struct relay_ring *ring)
{
    return ring->count > 0 ? (struct relay_packet *)(void *)(ring->memory + ring->tail) : NULL;
}

struct relay_packet *relay_ring_behind(const struct relay_ring *ring, const struct relay_packet *packet)
{
    size_t next = next_offset(ring, (size_t)((const unsigned char *)packet - ring->memory), packet->length);
    return next == ring->head ? NULL : (struct relay_packet *)(void *)(ring->memory + next);
}

void relay_ring_release(struct relay_ring *ring)
{
    const struct relay_packet *packet = relay_ring_oldest(ring);
    if (!packet)
        return;
    ring->tail = next_offset(ring, ring->tail, packet->length);
    if (--ring->count == 0)
        ring->head = ring->tail = 0;
}
