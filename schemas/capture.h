/* capture.h: what is to be captured, and what a capture of one direction of a link found. */
#ifndef LAGGARD_SCHEMAS_CAPTURE_H
#define LAGGARD_SCHEMAS_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

enum { CAPTURED_LINKS_MOST = 128 }; /* of one trial: each takes two files and a few MiB of the kernel's memory */

struct capture_settings {     /* of a campaign; zeros: nothing is captured */
    bool all;                 /* every link; then `links` is empty */
    const char *const *links; /* names (w0-router) or indexes */
    int link_count;
    const char *directory; /* of the files, made where it is missing */
    uint64_t snap_bytes;   /* of each packet that are written at most */
    uint64_t size_bytes;   /* of a file at most; 0: not limited */
};

/* Seen at the sender's device, behind its queue and in front of what the link does to packets: what enters the wire. */
struct packet_summary {
    uint64_t captured_count; /* as the device gets them: a large packet that is cut only later is one */
    uint64_t packet_count;   /* as they go over the wire, large ones cut to the MTU */
    uint64_t wire_bytes;     /* of their Ethernet frames, without preamble, checksum and gap */
    uint64_t payload_bytes;  /* of TCP, those sent again included */
    uint64_t retransmitted_segment_count, retransmitted_bytes; /* of TCP: sequence numbers that have passed here before */
    /* From data with a TCP timestamp until its acknowledgement comes back to the same end; without samples the times are 0. */
    uint64_t round_trip_count;
    int64_t round_trip_minimum_ns, round_trip_p50_ns, round_trip_p99_ns, round_trip_maximum_ns;
    uint64_t dropped_count;        /* packets that found the buffer full: neither counted above nor written */
    uint64_t return_dropped_count; /* the same of what came back: their round trips are missing */
    uint64_t written_count, written_bytes;
    bool truncated;   /* the file lacks packets that are counted above, or were there to be counted */
    bool failed;      /* not for its size: reading or writing failed */
    char reason[160]; /* why; "" where it is not truncated */
};

struct capture_result {
    int link, direction;
    const char *path;
    const char *failure; /* NULL; or why there is no summary */
    uint64_t snap_bytes;
    struct packet_summary summary;
};

#endif
