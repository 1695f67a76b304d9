/* forecast.c: builds a cell's scheme_setup and asks the scheme for its prediction; see forecast.h. */
#include "harness/forecast.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "agents/model.h"
#include "agents/shards.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "harness/event_plan.h"
#include "harness/interruption.h"
#include "harness/message_sizes.h"
#include "netem/routes.h"
#include "netem/topology.h"

/* Arithmetic of one core, measured on development hosts: adding float32 vectors that do not fit the caches. Only a small part of a
 * round, so a constant will do; the prediction's parts show it apart. */
static const double REDUCE_NS_PER_BYTE = 0.15;

/* TCP small queues: what a connection's pacing sends in so long may wait in the device's queue (tcp_small_queue_check() in the
 * kernel's tcp_output.c: sk_pacing_rate >> sk_pacing_shift, which is 10). */
static const double TURN_NS = NS_PER_S / 1024.0;

int forecast_topology(const struct settings *settings, struct arena *arena, struct topology *topology, int *servers,
                      struct err *err)
{
    const struct scheme *scheme = settings->scheme.outside ? NULL : scheme_find(settings->scheme.name);
    if (!scheme && !settings->scheme.outside)
        return err_set(err, ERR_USAGE, "unknown scheme '%s'; `laggard schemes` lists them", settings->scheme.name);
    *servers = scheme ? scheme_servers(scheme, settings->workers, settings->scheme.values) : 0;
    int result = topology_build(settings, settings->workers, *servers, arena, topology, err);
    struct event_plan plan;
    struct event_fault fault;
    if (result == 0 && (result = event_plan_make(settings, topology, arena, &plan, &fault, err)) < 0)
        err_wrap(err, "event %d", fault.event);
    return result;
}

struct leg {
    double latency_ns, bytes_per_second;
};

/* One direction of one link: as measured where it was, else as asked. */
static struct leg leg_over(const struct forecast *forecast, int end)
{
    const struct topology *topology = forecast->topology;
    int link = end / DIRECTIONS, side = end % DIRECTIONS;
    const struct direction *asked = &topology->links[link].direction[side];
    struct leg leg = {
        .latency_ns = (double)asked->delay_ns,
        .bytes_per_second =
            asked->rate_bps ? (double)asked->rate_bps / 8 * topology_payload_share(topology->mtu, asked->framing) : INFINITY,
    };
    if (forecast->checks && forecast->checks[link].direction[side].measured) {
        const struct direction_check *check = &forecast->checks[link].direction[side];
        leg.latency_ns = check->delay_mean_ns;
        if (check->goodput_bps > 0)
            leg.bytes_per_second = check->goodput_bps / 8;
    }
    return leg;
}

static struct path forecast_path(const void *context, int from, int to)
{
    const struct forecast *forecast = context;
    struct path path = {.latency_ns = 0, .bytes_per_second = INFINITY};
    struct route route = topology_route(forecast->topology, from, to);
    for (int end; (end = route_next(&route)) >= 0;) {
        struct leg leg = leg_over(forecast, end);
        path.latency_ns += leg.latency_ns;
        path.bytes_per_second = fmin(path.bytes_per_second, leg.bytes_per_second);
    }
    return path;
}

static const double *slow_factors(const struct settings *settings, struct arena *arena)
{
    if (settings->slow_count == 0)
        return NULL;
    double *factors = arena_new_array(arena, double, (size_t)settings->workers);
    for (int w = 0; w < settings->workers; w++)
        factors[w] = 1;
    for (int s = 0; s < settings->slow_count; s++)
        for (int i = 0; i < settings->slow[s].worker_count; i++)
            factors[settings->slow[s].workers[i]] *= settings->slow[s].factor;
    return factors;
}

static const uint32_t *samples_of(const struct settings *settings, uint64_t seed, struct arena *arena)
{
    const struct workload_settings *workload = &settings->workload;
    const uint32_t total = shards_standard_samples(workload->dataset);
    if (settings->scheme.outside || workload->model == MODEL_SYNTHETIC || total < (uint32_t)settings->workers)
        return NULL;
    const struct shard_rule rule = {
        .settings = &workload->shards, .seed = seed, .workers = settings->workers, .least = (uint32_t)workload->batch};
    uint32_t *samples = arena_new_array(arena, uint32_t, (size_t)settings->workers);
    shards_sizes(&rule, total, samples);
    return samples;
}

/* What happens while rounds run and no formula knows of; NULL: nothing. */
static const char *disturbance_of(const struct settings *settings)
{
    if (settings->event_count > 0)
        return "events change links or nodes while rounds run, and no formula knows of them";
    if (settings->traffic.count > 0)
        return "cross traffic takes its part of the links, and no formula knows how much";
    if (settings->cpu_limits.count > 0)
        return "nodes may not use all of their processors, and no formula knows what that does to their work";
    return NULL;
}

bool forecast_wants_message_cost(const struct settings *settings)
{
    return settings->world == WORLD_EMULATED && settings->message_cost_ns == 0;
}

void forecast_setup(const struct cell *cell, const struct topology *topology, const struct link_check *checks, double gradient_ns,
                    uint64_t seed, struct arena *arena, struct forecast *forecast)
{
    const struct settings *settings = &cell->settings;
    const struct scheme *scheme = settings->scheme.outside ? NULL : scheme_find(settings->scheme.name);
    *forecast = (struct forecast){
        .topology = topology, .checks = checks, .settings = settings, .measured = forecast_wants_message_cost(settings)};
    forecast->setup = (struct scheme_setup){
        .scheme = scheme,
        .workers = settings->workers,
        .servers = topology->host_count - settings->workers,
        .nodes = topology->host_count,
        .parameter_count = scheme ? model_parameter_count_of(&settings->workload) : 0,
        .learning_rate = settings->workload.learning_rate,
        .decay_factor = settings->workload.decay_factor,
        .decay_every = settings->workload.decay_every,
        .batch = settings->workload.batch,
        .rounds = settings->workload.rounds + settings->warmup_rounds,
        .values_carried = settings->workload.gradients == GRADIENTS_REAL,
        .trained = settings->workload.gradients == GRADIENTS_REAL && settings->workload.model != MODEL_SYNTHETIC,
        .samples = samples_of(settings, seed, arena),
        .seed = seed,
        .cell = (uint32_t)cell->index,
        .graph = settings->worker_graph,
        .path = forecast_path,
        .path_context = forecast,
        .compute_time = &settings->compute_time,
        .slow_factors = slow_factors(settings, arena),
        .gradient_ns = gradient_ns,
        .reduce_ns_per_byte = REDUCE_NS_PER_BYTE,
        .message_ns = forecast_wants_message_cost(settings) ? FORECAST_MESSAGE_NS : (double)settings->message_cost_ns,
        .turn_ns = settings->world == WORLD_EMULATED ? TURN_NS : 0,
    };
    memcpy(forecast->setup.values, settings->scheme.values, sizeof(forecast->setup.values));
    if (scheme)
        forecast->setup.matrix_count = model_matrices_of(&settings->workload, forecast->setup.matrices);
    forecast->disturbance = disturbance_of(settings);
}

void forecast_message_cost(struct forecast *forecast, double message_ns)
{
    if (message_ns > 0 && forecast->measured)
        forecast->setup.message_ns = message_ns;
}

void forecast_round_only(struct forecast *forecast)
{
    forecast->setup.round_only = true;
}

void forecast_undisturbed(const struct forecast *forecast, struct prediction *prediction)
{
    memset(prediction, 0, sizeof(*prediction));
    if (!forecast->setup.scheme)
        strcpy(prediction->reason, "an outside program runs: what it sends is not known");
    else if (forecast->setup.scheme->predict)
        forecast->setup.scheme->predict(&forecast->setup, prediction);
    else
        strcpy(prediction->reason, "this scheme has no prediction");
}

void forecast_disturb(const struct forecast *forecast, struct prediction *prediction)
{
    if (!forecast->disturbance || !prediction->available)
        return;
    *prediction = (struct prediction){.available = false};
    snprintf(prediction->reason, sizeof(prediction->reason), "%s", forecast->disturbance);
}

void forecast_predict(const struct forecast *forecast, struct prediction *prediction)
{
    forecast_undisturbed(forecast, prediction);
    forecast_disturb(forecast, prediction);
}

void forecast_take_size(struct forecast *forecast, int position)
{
    if (message_sizes_swept(forecast->settings))
        forecast->setup.parameter_count = forecast->settings->workload.sizes.bytes[position] / sizeof(float);
}

static void of_every_size(struct forecast *forecast, struct prediction *predictions,
                          void (*predict)(const struct forecast *, struct prediction *))
{
    size_t largest = forecast->setup.parameter_count;
    interruption_listen(); /* a prediction may simulate for long */
    for (int i = 0; i < message_sizes_count(forecast->settings); i++) {
        forecast_take_size(forecast, i);
        predict(forecast, &predictions[i]);
    }
    interruption_listen_no_more();
    forecast->setup.parameter_count = largest;
}

void forecast_predict_sizes(struct forecast *forecast, struct prediction *predictions)
{
    of_every_size(forecast, predictions, forecast_predict);
}

void forecast_undisturbed_sizes(struct forecast *forecast, struct prediction *predictions)
{
    of_every_size(forecast, predictions, forecast_undisturbed);
}

double forecast_rounds_ns(const struct settings *settings, const struct prediction *predictions)
{
    double sum_ns = settings->scheme.outside ? NAN : 0;
    for (int i = 0; i < message_sizes_count(settings); i++) {
        bool known = predictions[i].available && isfinite(predictions[i].round_ns); /* a heavy tail may have no mean */
        sum_ns += known ? message_sizes_rounds_each(settings) * predictions[i].round_ns : NAN;
    }
    return sum_ns;
}

double forecast_trial_seconds(const struct settings *settings, const struct prediction *predictions)
{
    const double SET_UP_SECONDS = 0.3, NEXT_SIZE_SECONDS = 0.02;
    if (settings->scheme.outside)
        return NAN;
    double rounds_ns = forecast_rounds_ns(settings, predictions);
    if (isnan(rounds_ns))
        rounds_ns = message_sizes_rounds(settings) * 10.0 * NS_PER_MS;
    return SET_UP_SECONDS + NEXT_SIZE_SECONDS * (message_sizes_count(settings) - 1) +
           ((double)event_stopped_ns(settings) + rounds_ns) / NS_PER_S;
}
