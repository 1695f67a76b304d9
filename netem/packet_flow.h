/* packet_flow.h: one direction of one TCP connection as it passes a device: which bytes have passed before, and when timestamps
 * left and came back. Pure; all memory is in the struct. */
#ifndef LAGGARD_NETEM_PACKET_FLOW_H
#define LAGGARD_NETEM_PACKET_FLOW_H

#include <stdbool.h>
#include <stdint.h>

enum {
    PACKET_FLOW_HOLES =
        64, /* ranges that did not pass and lie in front of what did; when there are more, the oldest count as passed */
    PACKET_FLOW_STAMPS = 256, /* timestamps under way; when there are more, the new ones are no sample */
};

struct packet_flow {
    bool begun;
    uint32_t initial; /* sequence number of its SYN, where that was seen */
    bool has_initial;
    int64_t next; /* behind the highest number that has passed; modulo 2^32 it is the sequence number */
    struct packet_flow_range {
        int64_t begin, end;
    } holes[PACKET_FLOW_HOLES]; /* ascending */
    int hole_count;
    struct packet_flow_stamp {
        uint32_t value;
        uint32_t sequence; /* sent: of the first byte that had it; echoed: the acknowledgement that came with it */
        int64_t time_ns;
        enum { STAMP_EMPTY, STAMP_SENT, STAMP_ECHOED, STAMP_DONE } state;
    } stamps[PACKET_FLOW_STAMPS]; /* at value modulo their number */
    uint32_t last_echo;
    bool has_echo;
};

/* A SYN passes. One with another number than the last begins another connection between the same ports. */
void packet_flow_begin(struct packet_flow *flow, uint32_t sequence);
/* `length` numbers from `sequence` on pass; returns how many of them had passed before. */
uint32_t packet_flow_pass(struct packet_flow *flow, uint32_t sequence, uint32_t length);

/* Data with this timestamp leaves; its acknowledgement with the same timestamp comes back. The two may be told in either order, as
 * they come from two buffers. The round trip in ns, or -1: none is complete with this. */
int64_t packet_flow_sent(struct packet_flow *flow, uint32_t timestamp, uint32_t sequence, int64_t time_ns);
int64_t packet_flow_echoed(struct packet_flow *flow, uint32_t timestamp, uint32_t acknowledgement, int64_t time_ns);

#endif
