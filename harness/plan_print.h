/* harness/plan_print.h: a plan with what its cells are expected to take, for people and as a JSON document. */
#ifndef LAGGARD_HARNESS_PLAN_PRINT_H
#define LAGGARD_HARNESS_PLAN_PRINT_H

#include <stdbool.h>

#include "harness/event_plan.h"
#include "harness/forecast.h"
#include "harness/plan_duration.h"
#include "schemas/plan.h"

struct text;

struct cell_forecast {
    struct topology topology;
    struct event_plan events;
    const struct prediction *predictions; /* one a message size */
    double trial_seconds;
};
struct planned {
    const struct plan *plan;
    const struct cell_forecast *forecasts; /* one a cell */
    struct plan_duration duration;
    bool messages_cost; /* predictions hold FORECAST_MESSAGE_NS */
};
/* Cells with their predictions, trials in order, events, and the paths between nodes: of every network with `all_paths`, else only
 * where the shape alone does not tell them. */
void plan_print_text(const struct planned *planned, bool all_paths, struct text *out);
void plan_print_json(const struct planned *planned, struct text *out);

#endif
