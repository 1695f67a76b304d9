/* agents/predict.h: what the predictions of several schemes share: the slowest worker, a ring of segments, the rounds of one
 * server.
 *
 * Parts are differences of nested models (compute alone; plus bandwidth; plus latency; plus arithmetic), so that they add up.
 * All latencies are the path's propagation plus the per-message cost. */
#ifndef LAGGARD_AGENTS_PREDICT_H
#define LAGGARD_AGENTS_PREDICT_H

#include "agents/scheme.h"

/* Clears the prediction; false, with the reason written, where the compute time has no mean. */
bool predict_begin(const struct scheme_setup *setup, struct prediction *prediction);
/* The round is the sum of the parts. */
void predict_end(struct prediction *prediction);

/* E[max(X, c)_{P:P}]: when the slowest worker's gradient is ready. */
double predict_slowest_ns(const struct scheme_setup *setup);

/* One ring all-reduce that all members begin at time 0, by the exact max-plus recurrence over its segments. */
struct predict_link {
    double latency_ns;
    double bytes_per_second; /* INFINITY: not limited */
};
struct predict_ring_spec {
    int size;
    size_t count;                     /* floats */
    size_t segment_bytes;             /* 0: automatic */
    const struct predict_link *links; /* [size]: from rank i to rank i + 1 */
    double message_ns;                /* a rank's messages leave at least this far apart */
    double reduce_ns_per_byte;
};
double predict_ring_ns(const struct predict_ring_spec *spec);
/* Fills all parts for workers 0 .. P-1 in a ring that begins when the slowest gradient is ready. */
void predict_ring(const struct scheme_setup *setup, size_t segment_bytes, struct prediction *prediction);

/* Fills all parts for synchronous rounds with one server, node P, that waits for all workers. */
void predict_server_round(const struct scheme_setup *setup, struct prediction *prediction);

#endif
