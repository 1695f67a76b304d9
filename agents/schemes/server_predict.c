/* agents/schemes/server_predict.c: how long an update takes on a server that does not wait for everyone: by a small seeded
 * computation (server_simulation.h), since uploads, late workers and models under way overlap in ways that no closed form has.
 *
 * Parts are differences of nested models with the same draws: compute alone; with bytes; with delays; with arithmetic. Where the
 * compute part has a closed form, it stands for the first of them:
 *
 *     E[X_{K:P}]     late workers give up (S. Dutta et al., AISTATS 2018, lemma 1)
 *     K E[X] / P     every gradient is used and no worker waits for others (ibid., lemma 5)
 *
 * A code makes each worker compute s + 1 partitions, with one draw for all: s + 1 times the first of these; for a fractional code s
 * + 1 times the mean of the largest of P/(s+1) times, each the least of s + 1. */
#include "agents/schemes/server_simulation.h"

#include <math.h>
#include <stdio.h>

#include "agents/compute_time.h"
#include "agents/predict.h"
#include "agents/schemes/server_coding.h"
#include "agents/schemes/server_rate.h"
#include "agents/schemes/server_zeno.h"

/* NAN: there is none. */
static double compute_closed_form_ns(const struct scheme_setup *setup, const struct server_policy *policy, int quota, int steps)
{
    const int workers = setup->workers;
    const int load = policy->coded ? server_coding_load(setup) : 1, group = policy->coded ? server_coding_group(setup) : 1;
    if (setup->compute_time->kind == DISTRIBUTION_MEASURED || (group > 1 && setup->slow_factors))
        return NAN;
    if (group > 1 && policy->interrupts(setup))
        return load * compute_time_least_order_mean(setup->compute_time, quota, quota, group, setup->gradient_ns);
    if (policy->distinct && policy->current_only && policy->interrupts && policy->interrupts(setup))
        return load * compute_time_order_mean(setup->compute_time, quota, workers, setup->slow_factors, setup->gradient_ns);
    if (policy->current_only || policy->may_go_on || (!policy->pulls_at_once && quota > 1))
        return NAN;
    double rate = 0;
    for (int worker = 0; worker < workers; worker++) {
        double factor = setup->slow_factors ? setup->slow_factors[worker] : 1;
        rate += 1 / compute_time_order_mean(setup->compute_time, 1, 1, &factor, setup->gradient_ns);
    }
    return steps * quota / rate;
}

void server_rounds_predict_policy(const struct scheme_setup *setup, const struct server_policy *policy, int quota, int steps,
                                  struct prediction *prediction)
{
    if (!predict_begin(setup, prediction))
        return;
    const struct aggregate aggregate =
        aggregate_of(policy->aggregate_parameter > 0 ? &setup->values[policy->aggregate_parameter - 1] : NULL);
    const bool adds = aggregate.kind == AGGREGATE_MEAN; /* as they come; else all at once */
    struct server_simulation simulation = {
        .setup = setup,
        .policy = policy,
        .quota = quota,
        .work = policy->zeno_parameter > 0 ? server_zeno_work(&setup->values[policy->zeno_parameter - 1]) : adds,
        .combine = aggregate_cost(aggregate, quota),
        .steps = steps};
    struct server_simulation whole = simulation;
    whole.bytes = whole.latency = whole.arithmetic = true;
    const uint64_t updates = server_simulation_updates(&whole);
    prediction->method = policy->zeno_parameter > 0 ? "seeded simulation that rejects nothing" : "seeded simulation";
    if (setup->round_only) { /* a quarter of the work */
        prediction->compute_ns = server_simulation_update_ns(&whole, updates);
        predict_end(prediction);
        return;
    }
    const double compute_ns = server_simulation_update_ns(&simulation, updates);
    simulation.bytes = true;
    const double crossing_ns = server_simulation_update_ns(&simulation, updates);
    simulation.latency = true;
    const double delayed_ns = server_simulation_update_ns(&simulation, updates);
    const double whole_ns = server_simulation_update_ns(&whole, updates);
    const double closed_ns = compute_closed_form_ns(setup, policy, quota, steps);
    prediction->compute_ns = isnan(closed_ns) ? compute_ns : closed_ns;
    prediction->bandwidth_ns = crossing_ns - compute_ns;
    prediction->latency_ns = delayed_ns - crossing_ns;
    prediction->reduce_ns = whole_ns - delayed_ns;
    predict_end(prediction);
}

static void predict_server_rounds_of_one(const struct scheme_setup *setup, struct prediction *prediction)
{
    if (!predict_begin(setup, prediction))
        return;
    predict_server_round(setup, 1, false, prediction);
    prediction->method = "seeded simulation";
    predict_end(prediction);
}

void server_rounds_predict(const struct scheme_setup *setup, struct prediction *prediction)
{
    if (server_rate_adapts(setup)) {
        *prediction = (struct prediction){0};
        snprintf(prediction->reason, sizeof(prediction->reason), "adasync: k follows the loss, which no formula knows");
        return;
    }
    const struct server_policy *policy = setup->scheme->detail;
    if (policy->coded && server_coding_load(setup) == 1) /* nothing is coded, and everyone is waited for */
        predict_server_rounds_of_one(setup, prediction);
    else
        server_rounds_predict_policy(setup, policy, server_rounds_quota(setup), 1, prediction);
}
