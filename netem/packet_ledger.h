/* packet_ledger.h: sums over what passed the captured directions of a network, made while it passes, in bounded memory.
 *
 * All directions share one table of PACKET_LEDGER_FLOWS connections (each direction of a connection is one, on each captured link
 * that it crosses). When it is full, the one that has been silent longest is forgotten: what it sends again later counts as sent
 * for the first time. Round trips are kept as a histogram of buckets less than 1.6 % wide. */
#ifndef LAGGARD_NETEM_PACKET_LEDGER_H
#define LAGGARD_NETEM_PACKET_LEDGER_H

#include <stddef.h>
#include <stdint.h>

#include "schemas/capture.h"

enum { PACKET_LEDGER_FLOWS = 4096 };

struct packet_ledger;

/* NULL: no memory. flow_most: PACKET_LEDGER_FLOWS, or less in tests. */
struct packet_ledger *packet_ledger_new(int direction_count, int flow_most, unsigned mtu);
void packet_ledger_free(struct packet_ledger *ledger); /* NULL allowed */

/* A frame (packet_parse) leaves in this direction; one comes back to its sender's end. Times are of one clock. */
void packet_ledger_sent(struct packet_ledger *ledger, int direction, const uint8_t *bytes, size_t captured, size_t length,
                        int64_t time_ns);
void packet_ledger_returned(struct packet_ledger *ledger, int direction, const uint8_t *bytes, size_t captured, size_t length,
                            int64_t time_ns);

/* Sets the counts and round trips of *summary; the members about drops and the file stay as they are. */
void packet_ledger_sum(const struct packet_ledger *ledger, int direction, struct packet_summary *summary);

#endif
