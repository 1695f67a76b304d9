/* forecast.c: builds a cell's scheme_setup and asks the scheme for its prediction; see forecast.h. */
#include "harness/forecast.h"

#include <math.h>
#include <string.h>

#include "agents/model.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "netem/routes.h"
#include "netem/topology.h"

/* Arithmetic of one core, measured on development hosts: adding float32 vectors that do not fit the caches. Only a small part of a
 * round, so a constant will do; the prediction's parts show it apart. */
static const double REDUCE_NS_PER_BYTE = 0.15;

int forecast_topology(const struct settings *settings, struct arena *arena, struct topology *topology, int *servers,
                      struct err *err)
{
    const struct scheme *scheme = scheme_find(settings->scheme.name);
    if (!scheme)
        return err_set(err, ERR_USAGE, "unknown scheme '%s'; `laggard schemes` lists them", settings->scheme.name);
    *servers = scheme_servers(scheme, settings->workers, settings->scheme.values);
    return topology_build(settings, settings->workers, *servers, arena, topology, err);
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

void forecast_setup(const struct cell *cell, const struct topology *topology, const struct link_check *checks, double gradient_ns,
                    uint64_t seed, struct arena *arena, struct forecast *forecast)
{
    const struct settings *settings = &cell->settings;
    const struct scheme *scheme = scheme_find(settings->scheme.name);
    *forecast = (struct forecast){.topology = topology, .checks = checks};
    forecast->setup = (struct scheme_setup){
        .scheme = scheme,
        .workers = settings->workers,
        .servers = topology->host_count - settings->workers,
        .nodes = topology->host_count,
        .parameter_count = model_parameter_count_of(&settings->workload),
        .learning_rate = settings->workload.learning_rate,
        .batch = settings->workload.batch,
        .rounds = settings->workload.rounds + settings->warmup_rounds,
        .values_carried = settings->workload.gradients == GRADIENTS_REAL,
        .seed = seed,
        .cell = (uint32_t)cell->index,
        .path = forecast_path,
        .path_context = forecast,
        .compute_time = &settings->compute_time,
        .slow_factors = slow_factors(settings, arena),
        .gradient_ns = gradient_ns,
        .reduce_ns_per_byte = REDUCE_NS_PER_BYTE,
    };
    memcpy(forecast->setup.values, settings->scheme.values, sizeof(forecast->setup.values));
}

void forecast_predict(const struct forecast *forecast, struct prediction *prediction)
{
    memset(prediction, 0, sizeof(*prediction));
    if (forecast->setup.scheme->predict)
        forecast->setup.scheme->predict(&forecast->setup, prediction);
    else
        strcpy(prediction->reason, "this scheme has no prediction");
}

double forecast_trial_seconds(const struct settings *settings, const struct prediction *prediction)
{
    const double SET_UP_SECONDS = 0.3;
    bool known = prediction->available && isfinite(prediction->round_ns); /* a heavy tail may have no mean */
    double round_ns = known ? prediction->round_ns : 10.0 * NS_PER_MS;
    return SET_UP_SECONDS + (settings->workload.rounds + settings->warmup_rounds) * round_ns / NS_PER_S;
}
