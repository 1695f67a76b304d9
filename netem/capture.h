/* netem/capture.h: writes pcap files of what enters captured directions of links, and keeps their packet_ledger.
 *
 * Theory of operation. For each captured direction one process holds two packet sockets (libpcap) in the namespace of the
 * direction's sender: one sees what leaves the device, behind the queue that shapes it, when the driver gets it; the other what
 * comes back to the same end, headers alone, for the round trips. Where the kernel's netem delays what comes back, that is seen
 * behind the delay: on the IFB. Each has a ring of the kernel's that packets are copied into while they are sent, never waiting: a
 * full ring drops the copy, and the drop is counted. The process reads the rings 20 times a second, and more often where they fill
 * faster.
 *
 * What a full disk or a size limit keeps out of a file is still counted. */
#ifndef LAGGARD_NETEM_CAPTURE_H
#define LAGGARD_NETEM_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "schemas/capture.h"

struct err;

struct capture_direction {
    const char *name; /* for sentences: "link w0-router, forward" */
    int namespace_fd;
    char device[16];                    /* what leaves it is captured */
    char return_device[16];             /* the same one, or an IFB: then what leaves that one has come back */
    bool returns_leave;                 /* it is an IFB */
    int file_fd;                        /* open for writing, empty; the process's own */
    uint64_t snap_bytes, size_bytes;    /* size 0: not limited */
    uint64_t rate_bps, return_rate_bps; /* 0: not limited; for the rings' sizes */
};

/* What a ring must hold: a quarter of a second's worth of packets, between 2 and 16 MiB. Exposed for tests. */
uint64_t capture_ring_bytes(uint64_t rate_bps, uint64_t snap_bytes, unsigned mtu);

/* Runs in a process of its own, as root of the namespaces; keeps no privilege once all sockets are open. Then writes one byte to
 * control_fd. A byte that comes there ends it in good order: what the rings hold is written, summaries[] (one a direction) are
 * filled in, a byte is answered, 0 is returned. The other end's closing ends it, too, with files as they are. */
int capture_run(const struct capture_direction *directions, int count, unsigned mtu, struct packet_summary *summaries,
                int control_fd, struct err *err);

#endif
