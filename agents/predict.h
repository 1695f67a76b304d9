/* agents/predict.h: what the predictions of several schemes share: the slowest worker, an all-reduce, the rounds of one server.
 *
 * Parts are differences of nested models (compute alone; plus bandwidth; plus latency; plus arithmetic), so that they add up.
 * All latencies are the path's propagation plus the per-message cost. */
#ifndef LAGGARD_AGENTS_PREDICT_H
#define LAGGARD_AGENTS_PREDICT_H

#include "agents/collectives/allreduce.h"
#include "agents/scheme.h"
#include "base/rng.h"

/* Clears the prediction; false, with the reason written, where the compute time has no mean. */
bool predict_begin(const struct scheme_setup *setup, struct prediction *prediction);
/* The round is the sum of the parts. A negative part is made 0, and taken from those of the models inside it: the sum stays. */
void predict_end(struct prediction *prediction);

/* What a worker's drawn time makes of the real work c. */
double predict_ready_ns(const struct scheme_setup *setup, int worker, double drawn_ns);
/* E[max(X, c)_{P:P}]: when the slowest worker's gradient is ready. */
double predict_slowest_ns(const struct scheme_setup *setup);

/* One all-reduce after the other, each worker beginning with its gradients, `steps` of them, which it computes from its own end of
 * the one before on: mean time from one all-reduce to the next less that of the slowest worker's gradients, by a seeded simulation.
 * together_ns, the time if all begin together, where compute times do not vary, or for too many workers to follow. */
double predict_staggered_ns(const struct scheme_setup *setup, const struct allreduce_algorithm *algorithm,
                            const struct allreduce_shape *shape, int steps, double together_ns);
/* E[max(X, c)] of one worker. */
double predict_mean_ns(const struct scheme_setup *setup, int worker);
/* Of so many gradients at most each time is drawn, however many follow each other: a million draws a period would take minutes. */
enum { PREDICT_DRAWS_MOST = 64 };
/* The time of `steps` gradients, of which `drawn` took drawn_ns: with the mean and the variance of a sum of so many. mean_ns: of
 * one. */
double predict_stretched_ns(double drawn_ns, int drawn, int steps, double mean_ns);
/* The time of so many gradients of this worker's, one after the other, as drawn; of more than PREDICT_DRAWS_MOST, stretched. */
double predict_steps_ns(const struct scheme_setup *setup, int worker, int steps, struct rng *rng);
/* One all-reduce among the workers, node i being rank i, that all begin together: fills the parts but compute, returns their
 * sum. */
double predict_allreduce_ns(const struct scheme_setup *setup, const struct allreduce_algorithm *algorithm,
                            const struct allreduce_shape *shape, struct prediction *parts);

/* Fills all parts for synchronous rounds with servers that wait for all workers, each with one of `shards` equal parts of the
 * model: on nodes P and on, or, if colocated, beside workers, where a worker's own part costs nothing. */
void predict_server_round(const struct scheme_setup *setup, int shards, bool colocated, struct prediction *prediction);

#endif
