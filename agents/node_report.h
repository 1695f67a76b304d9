/* agents/node_report.h: what is worked out of a node once all rounds are over, in both worlds. */
#ifndef LAGGARD_AGENTS_NODE_REPORT_H
#define LAGGARD_AGENTS_NODE_REPORT_H

#include "agents/node.h"

struct arena;
struct recorder;
struct workload;

enum { NODE_REPORT_DIGEST_BYTES = 32 };
/* SHA-256 of the final model, or of the last sum where there is no model; NULL: the node has neither, or values are not carried. In
 * the arena. */
const uint8_t *node_report_digest(struct node *node, const struct workload *workload, struct arena *arena);
/* Of each snapshot, recorder->snapshot_count of them, in the arena. */
const struct evaluation_record *node_report_evaluations(const struct recorder *recorder, struct workload *workload,
                                                        struct arena *arena);

#endif
