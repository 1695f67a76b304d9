/* agents/schemes/federated_predict.c: see federated_predict.h.
 *
 * Clients that train together are a server's workers who compute `period` gradients before they push: those that a round waits for
 * are all in its quota, those of fedbuff make a step with every k of them. Where they are fewer than all, so many are drawn; where
 * clients differ, several such draws are averaged, for a round is as slow as the slowest that happens to be among them. */
#include "agents/schemes/federated_predict.h"

#include <stdio.h>
#include <stdlib.h>

#include "agents/schemes/federated.h"
#include "base/cleanup.h"

enum { SEED = 2017, DRAWS = 5 };

struct subset {
    const struct scheme_setup *setup; /* of all */
    int *clients;                     /* all; the first ones are in it */
    double *slow_factors;
    int count;
};

static int whole_index(const struct subset *subset, int node)
{
    return node < subset->count ? subset->clients[node] : subset->setup->workers;
}

static struct path path_of_subset(const void *context, int from, int to)
{
    const struct subset *subset = context;
    return subset->setup->path(subset->setup->path_context, whole_index(subset, from), whole_index(subset, to));
}

static void draw_subset(struct subset *subset, struct rng *rng)
{
    const struct scheme_setup *setup = subset->setup;
    for (int i = 0; i < subset->count; i++) {
        int place = i + (int)rng_below(rng, (uint32_t)(setup->workers - i)), client = subset->clients[place];
        subset->clients[place] = subset->clients[i];
        subset->clients[i] = client;
        subset->slow_factors[i] = setup->slow_factors ? setup->slow_factors[client] : 1;
    }
}

static void refuse(struct prediction *prediction, const char *reason)
{
    *prediction = (struct prediction){0};
    snprintf(prediction->reason, sizeof(prediction->reason), "%s", reason);
}

static void add_part(struct prediction *mean, const struct prediction *one, double share)
{
    mean->round_ns += one->round_ns * share;
    mean->compute_ns += one->compute_ns * share;
    mean->latency_ns += one->latency_ns * share;
    mean->bandwidth_ns += one->bandwidth_ns * share;
    mean->reduce_ns += one->reduce_ns * share;
}

static void predict(const struct scheme_setup *setup, int clients, int quota, const struct server_policy *policy,
                    struct prediction *prediction)
{
    if (setup->values[FEDERATED_DROPOUT] > 0 || setup->values[FEDERATED_DEADLINE] > 0) {
        refuse(prediction, "a deadline ends some of the waiting, and no formula here knows when");
        return;
    }
    const int draws = clients < setup->workers && setup->slow_factors ? DRAWS : 1, steps = (int)setup->values[FEDERATED_PERIOD];
    cleanup(free_pointer) int *order = calloc((size_t)setup->workers, sizeof(*order));
    cleanup(free_pointer) double *factors = calloc((size_t)setup->workers, sizeof(*factors));
    struct subset subset = {.setup = setup, .clients = order, .slow_factors = factors, .count = clients};
    if (!order || !factors) {
        refuse(prediction, "memory is short");
        return;
    }
    for (int i = 0; i < setup->workers; i++)
        order[i] = i;
    struct rng rng = rng_stream(SEED, 0, 0, RNG_PREDICT);
    struct prediction mean = {0}, one = {0};
    for (int i = 0; i < draws; i++) {
        struct scheme_setup those = *setup;
        if (clients < setup->workers)
            draw_subset(&subset, &rng);
        else
            for (int client = 0; client < clients; client++)
                factors[client] = setup->slow_factors ? setup->slow_factors[client] : 1;
        those.workers = clients;
        those.nodes = clients + 1;
        those.slow_factors = factors;
        those.path = path_of_subset;
        those.path_context = &subset;
        server_rounds_predict_policy(&those, policy, quota, steps, &one);
        if (!one.available) {
            *prediction = one;
            return;
        }
        add_part(&mean, &one, 1.0 / draws);
    }
    mean.available = true;
    mean.method = one.method;
    *prediction = mean;
}

void federated_predict_rounds(const struct scheme_setup *setup, int clients, struct prediction *prediction)
{
    static const struct server_policy everyone = {.current_only = true, .distinct = true};
    predict(setup, clients, clients, &everyone, prediction);
}

void federated_predict_steps(const struct scheme_setup *setup, int clients, int k, bool waits, struct prediction *prediction)
{
    static const struct server_policy next = {.pulls_at_once = true}, next_distinct = {.distinct = true};
    predict(setup, clients, k, waits ? &next_distinct : &next, prediction);
}
