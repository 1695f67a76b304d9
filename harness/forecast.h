/* harness/forecast.h: a cell's scheme set up for its network, to check and predict with: links as asked, or as measured. */
#ifndef LAGGARD_HARNESS_FORECAST_H
#define LAGGARD_HARNESS_FORECAST_H

#include "agents/scheme.h"
#include "schemas/plan.h"
#include "schemas/topology.h"

struct arena;
struct err;

struct forecast {
    struct scheme_setup setup; /* const from here on; points into the forecast and the arena */
    const struct topology *topology;
    const struct link_check *checks; /* NULL: links as asked */
};

/* The network of a cell: a host for each worker and for each server that its scheme asks for. */
int forecast_topology(const struct settings *settings, struct arena *arena, struct topology *topology, int *servers,
                      struct err *err);

/* `forecast` must stay where it is (the setup points to it). gradient_ns 0: unknown. checks NULL: links as asked. */
void forecast_setup(const struct cell *cell, const struct topology *topology, const struct link_check *checks, double gradient_ns,
                    uint64_t seed, struct arena *arena, struct forecast *forecast);
void forecast_predict(const struct forecast *forecast, struct prediction *prediction);

/* Seconds that the cell's trial will take, for plans and progress: rounds x prediction + set-up. */
double forecast_trial_seconds(const struct settings *settings, const struct prediction *prediction);

#endif
