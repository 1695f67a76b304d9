/* harness/forecast.h: a cell's scheme set up for its network, to check and predict with: links as asked, or as measured. */
#ifndef LAGGARD_HARNESS_FORECAST_H
#define LAGGARD_HARNESS_FORECAST_H

#include "agents/scheme.h"
#include "schemas/plan.h"
#include "schemas/topology.h"

struct arena;
struct err;

struct forecast {
    /* scheme NULL: an outside program; const from here on but for forecast_take_size() and forecast_round_only(); points into the
     * forecast and the arena */
    struct scheme_setup setup;
    const struct settings *settings;
    const struct topology *topology;
    const struct link_check *checks; /* NULL: links as asked */
    bool measured;                   /* a message costs what was measured on this host */
    const char *disturbance;         /* why no formula holds, though one is there; NULL: it does */
};

/* The network of a cell: a host for each worker and for each server that its scheme asks for. */
int forecast_topology(const struct settings *settings, struct arena *arena, struct topology *topology, int *servers,
                      struct err *err);

/* Where message sizes are swept the setup is that of the largest, unless another is taken.
 * `forecast` must stay where it is (the setup points to it). gradient_ns 0: unknown. checks NULL: links as asked. */
void forecast_setup(const struct cell *cell, const struct topology *topology, const struct link_check *checks, double gradient_ns,
                    uint64_t seed, struct arena *arena, struct forecast *forecast);
/* Whether predictions take what a message costs on this host: in the emulated world, unless the file says what it costs. */
bool forecast_wants_message_cost(const struct settings *settings);
/* That cost, where it was measured; 0: FORECAST_MESSAGE_NS stands. Changes nothing where it is not wanted. */
#define FORECAST_MESSAGE_NS 30e3
void forecast_message_cost(struct forecast *forecast, double message_ns);
/* Predictions from here on need not say what a round consists of. */
void forecast_round_only(struct forecast *forecast);
void forecast_predict(const struct forecast *forecast, struct prediction *prediction);
/* From now on the setup is that of this message size; of a cell that sweeps none nothing changes. */
void forecast_take_size(struct forecast *forecast, int position);
/* Of every message size: message_sizes_count() predictions. The setup is then that of the largest again. */
void forecast_predict_sizes(struct forecast *forecast, struct prediction *predictions);
/* The same as if no event ever came: for deadlines and estimates. */
void forecast_undisturbed(const struct forecast *forecast, struct prediction *prediction);
void forecast_undisturbed_sizes(struct forecast *forecast, struct prediction *predictions);

/* What is left of that one where something happens meanwhile: forecast_predict() does both. */
void forecast_disturb(const struct forecast *forecast, struct prediction *prediction);

/* All rounds of all message sizes by the undisturbed predictions, warm-up included; NAN: nobody knows. */
double forecast_rounds_ns(const struct settings *settings, const struct prediction *predictions);
/* Seconds that the cell's trial will take, for plans and progress: these rounds + set-up + a moment between two message sizes +
 * what nodes and links are stopped for. NAN: an outside program, nobody knows. */
double forecast_trial_seconds(const struct settings *settings, const struct prediction *predictions);

#endif
