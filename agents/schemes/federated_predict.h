/* agents/schemes/federated_predict.h: how long rounds of federated schemes take, by the computation of server_simulation.h. */
#ifndef LAGGARD_AGENTS_SCHEMES_FEDERATED_PREDICT_H
#define LAGGARD_AGENTS_SCHEMES_FEDERATED_PREDICT_H

#include "agents/scheme.h"

/* Rounds that wait for so many clients, drawn anew each time. */
void federated_predict_rounds(const struct scheme_setup *setup, int clients, struct prediction *prediction);
/* Steps of k updates, from so many clients at a time; `waits`: one counts at most once in a step. */
void federated_predict_steps(const struct scheme_setup *setup, int clients, int k, bool waits, struct prediction *prediction);

#endif
