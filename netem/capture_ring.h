/* capture_ring.h: packet sockets with rings in the kernel (libpcap), many at once.
 *
 * A packet socket takes the kernel 10 ms to open and 25 ms to close, spent waiting until no processor may still use what it
 * changes. Many wait together: they are opened and closed by threads, which end before anything is read. */
#ifndef LAGGARD_NETEM_CAPTURE_RING_H
#define LAGGARD_NETEM_CAPTURE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct capture_rings;

struct capture_ring_spec {
    const char *name; /* for sentences */
    int namespace_fd;
    const char *device;
    bool leaves;         /* packets that leave the device; otherwise those that come to it */
    bool tcp_alone;      /* over IPv4 */
    uint32_t snap_bytes; /* of each packet */
    uint64_t bytes;      /* the ring's size */
};

/* The kernel gathers packets in blocks of 256 KiB. One that is not full can be read when this time has passed, at most twice, and
 * takes its whole place in the ring all the same: a ring of eight blocks holds packets for at least seven times this long, however
 * few. */
enum { CAPTURE_RETIRE_MS = 100, CAPTURE_BLOCK_BYTES = 256 << 10 };

/* `specs` must live on. As root of the namespaces. */
int capture_rings_open(const struct capture_ring_spec *specs, int count, struct capture_rings **rings, struct err *err);
void capture_rings_close(struct capture_rings *rings); /* NULL allowed */

/* Hands out what can be read, ring by ring in their order; returns how many packets there were. Never waits. */
typedef void capture_ring_packet(void *context, int ring, int64_t unix_ns, const uint8_t *bytes, size_t captured, size_t length);
int64_t capture_rings_read(struct capture_rings *rings, capture_ring_packet *on_packet, void *context);
/* Packets that found the ring full so far. */
uint64_t capture_rings_dropped(const struct capture_rings *rings, int ring);
/* Why nothing more comes from a ring; NULL: it works. */
const char *capture_rings_failure(const struct capture_rings *rings, int ring);

#endif
