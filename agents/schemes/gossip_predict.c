/* agents/schemes/gossip_predict.c: what a round of gossip takes: a seeded simulation along the graph.
 *
 * The model. Worker i ends its round k at t_i(k) and has there what it needs for the next one. Its d active neighbours' copies
 * leave together, at t_i where models travel during the gradient, else after gradient and step, and not before those of its last
 * round have; they share its link and so end together:
 *
 *     left_ij = leave_i + max(d_i S / up_i, S / rate_ij)         came_ij = left_ij + alpha_ij
 *
 * Copies that come to j share its link, too: each flows in evenly, from leave_i + alpha_ij to came_ij, and what is more than the
 * link carries waits in a queue; all_j is when it is empty. And each is added, gamma S, in turn:
 *
 *     mixed_j = max(all_j + gamma S, max_k(came_(k) + (d - k + 1) gamma S))
 *     t_j(k+1) = mixed_j, or, where models travel during the gradient, max(mixed_j, gradient) + gamma S for the step
 *
 * up and down are the fastest path's rate from or to a worker. No barrier: the recurrence is along the graph's active edges
 * alone. The mean is that of as many rounds as the trial has, from a common beginning on, by the last worker: workers drift
 * apart, and the first rounds are shorter than later ones. Parts are differences of nested models with the same draws. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents/compute_time.h"
#include "agents/predict.h"
#include "agents/schemes/gossip_rounds.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"

enum { SEED = 2017, DIRECTED_EDGES_MOST = 250000, WORK = 500000, ROUNDS_MOST = 1000, ROUNDS_LEAST = 10, REPLICAS_MOST = 40 };

struct way { /* from a worker to its neighbour */
    int to, matching;
    double latency_ns, bytes_per_second;
    double began, came; /* this round's copy */
};
struct change {             /* of the rate at which copies come, as a share of what the link carries */
    double at, rate, burst; /* burst: what comes at once */
    bool over;              /* a copy has come */
};
struct model {
    const struct scheme_setup *setup;
    struct matching_plan plan; /* count 0: all are active */
    int workers, ways, rounds, replicas;
    int *first;                            /* [workers + 1] */
    struct way *way;                       /* by worker, ascending */
    int *back;                             /* [ways]: the way in the other direction */
    double *up, *down;                     /* [workers], bytes a second */
    bool *active;                          /* [matchings] */
    double *end, *leave, *gradient, *left; /* [workers] */
    struct change *changes;                /* [2 degree] */
    bool bytes, latency, arithmetic;       /* what takes time */
    bool overlap;
};

/* ---- the graph with its paths ---- */

static void fill_ways(struct model *model, const struct graph *graph, struct arena *arena)
{
    int *neighbours = arena_new_array(arena, int, (size_t)graph->workers + 1);
    int count = 0;
    for (int worker = 0; worker < model->workers; worker++) {
        const int degree = graph_neighbours(graph, worker, neighbours);
        model->first[worker] = count;
        for (int i = 0; i < degree; i++, count++) {
            const struct path path = model->setup->path(model->setup->path_context, worker, neighbours[i]);
            const bool sampled = model->plan.matchings.count > 0;
            model->way[count] = (struct way){.to = neighbours[i],
                                             .matching = sampled ? matching_of(&model->plan.matchings, worker, neighbours[i]) : 0,
                                             .latency_ns = path.latency_ns + model->setup->message_ns,
                                             .bytes_per_second = path.bytes_per_second};
            model->up[worker] = fmax(model->up[worker], path.bytes_per_second);
            model->down[neighbours[i]] = fmax(model->down[neighbours[i]], path.bytes_per_second);
        }
    }
    model->first[model->workers] = count;
    int *taken = arena_new_array(arena, int, (size_t)model->workers); /* both lists are ascending */
    for (int worker = 0; worker < model->workers; worker++)
        for (int i = model->first[worker]; i < model->first[worker + 1]; i++) {
            const int to = model->way[i].to;
            model->back[i] = model->first[to] + taken[to]++;
        }
}

static int make(const struct scheme_setup *setup, struct arena *arena, struct model *model, struct err *err)
{
    const struct gossip_kind *kind = setup->scheme->detail;
    const struct graph graph = mixing_graph(setup);
    const size_t workers = (size_t)setup->workers, ways = 2 * (size_t)graph_edge_count(&graph);
    *model = (struct model){.setup = setup, .workers = setup->workers, .ways = (int)ways, .overlap = setup->values[GOSSIP_OVERLAP]};
    if (ways > DIRECTED_EDGES_MOST)
        return err_set(err, ERR_USAGE, "a graph with %zu edges has more messages than can be followed one by one", ways / 2);
    if (kind->plan) {
        int result = kind->plan(setup, arena, &model->plan, err);
        if (result < 0)
            return result;
    }
    model->first = arena_new_array(arena, int, workers + 1);
    model->way = arena_new_array(arena, struct way, ways + 1);
    model->back = arena_new_array(arena, int, ways + 1);
    model->active = arena_new_array(arena, bool, (size_t)model->plan.matchings.count + 1);
    model->up = arena_new_array(arena, double, workers);
    model->down = arena_new_array(arena, double, workers);
    model->end = arena_new_array(arena, double, workers);
    model->leave = arena_new_array(arena, double, workers);
    model->gradient = arena_new_array(arena, double, workers);
    model->left = arena_new_array(arena, double, workers);
    model->changes = arena_new_array(arena, struct change, 2 * workers + 1);
    fill_ways(model, &graph, arena);
    const size_t a_round = ways + workers;
    const size_t most = WORK / a_round > ROUNDS_LEAST ? WORK / a_round : ROUNDS_LEAST;
    model->rounds = (int)fmin(fmin((double)setup->rounds, ROUNDS_MOST), (double)most);
    model->rounds = model->rounds < 1 ? 1 : model->rounds;
    model->replicas = (int)fmax(1, fmin(REPLICAS_MOST, (double)most / model->rounds));
    return 0;
}

/* ---- a round ---- */

static bool is_active(const struct model *model, const struct way *way)
{
    return model->plan.matchings.count == 0 || model->active[way->matching];
}

static double transmission_ns(const struct model *model, double copies, double bytes_per_second)
{
    const double bytes = copies * (double)model->setup->parameter_count * sizeof(float);
    return model->bytes ? allreduce_transmission_ns(bytes, bytes_per_second) : 0;
}

static double add_ns(const struct model *model)
{
    return model->arithmetic ? (double)model->setup->parameter_count * sizeof(float) * model->setup->reduce_ns_per_byte : 0;
}

static void send_copies(struct model *model, int worker)
{
    struct way *ways = model->way + model->first[worker];
    const int degree = model->first[worker + 1] - model->first[worker];
    int active = 0;
    for (int i = 0; i < degree; i++)
        active += is_active(model, &ways[i]);
    const double apart_ns = model->latency && active > 1 ? (active - 1) * model->setup->message_ns : 0;
    const double shared_ns = transmission_ns(model, active, model->up[worker]);
    const double leave = fmax(model->leave[worker], model->left[worker]);
    for (int i = 0; i < degree; i++) {
        const double alone_ns = transmission_ns(model, 1, ways[i].bytes_per_second);
        ways[i].began = leave + (model->latency ? ways[i].latency_ns : 0);
        ways[i].came = ways[i].began + fmax(shared_ns, apart_ns + alone_ns);
    }
    model->left[worker] = active > 0 ? leave + shared_ns : model->left[worker];
}

static int by_time(const void *left, const void *right)
{
    const double a = ((const struct change *)left)->at, b = ((const struct change *)right)->at;
    return (a > b) - (a < b);
}

/* As a rule few, and nearly in order. */
static void sort_changes(struct change *changes, int count)
{
    enum { FEW = 16 };
    if (count > FEW) {
        qsort(changes, (size_t)count, sizeof(*changes), by_time);
        return;
    }
    for (int i = 1; i < count; i++) {
        const struct change moved = changes[i];
        int place = i;
        for (; place > 0 && changes[place - 1].at > moved.at; place--)
            changes[place] = changes[place - 1];
        changes[place] = moved;
    }
}

/* When so many copies have come over the link that they share and are added, each a while after it has come. */
static double added_at(struct change *changes, int copies, double one_ns)
{
    double queue = 0, rate = 0, now = 0, added = 0;
    int left = copies;
    sort_changes(changes, 2 * copies);
    for (int i = 0; i < 2 * copies; i++) {
        queue = fmax(0, queue + (rate - 1) * (changes[i].at - now));
        now = changes[i].at;
        rate += changes[i].rate;
        queue += changes[i].burst;
        if (changes[i].over)
            added = fmax(added, now + left-- * one_ns);
    }
    return fmax(added, now + queue + one_ns);
}

static double mixed_at(struct model *model, int worker)
{
    const double one_ns = add_ns(model), carried_ns = transmission_ns(model, 1, model->down[worker]);
    int active = 0;
    for (int i = model->first[worker]; i < model->first[worker + 1]; i++) {
        const struct way *way = &model->way[model->back[i]];
        if (!is_active(model, way))
            continue;
        const double takes_ns = way->came - way->began, rate = takes_ns > 0 ? carried_ns / takes_ns : 0;
        model->changes[2 * active] = (struct change){.at = way->began, .rate = rate};
        model->changes[2 * active + 1] =
            (struct change){.at = way->came, .rate = -rate, .burst = rate > 0 ? 0 : carried_ns, .over = true};
        active++;
    }
    const double own = model->leave[worker] + one_ns;
    return active > 0 ? fmax(own, added_at(model->changes, active, one_ns)) : own;
}

static void follow_round(struct model *model, struct rng *draws)
{
    const double step_ns = add_ns(model);
    if (model->plan.matchings.count > 0)
        matching_plan_draw(model->plan.probabilities, model->plan.matchings.count, draws, model->active);
    for (int worker = 0; worker < model->workers; worker++) {
        const double drawn_ns = compute_time_sample(model->setup->compute_time, draws);
        model->gradient[worker] = model->end[worker] + predict_ready_ns(model->setup, worker, drawn_ns);
        model->leave[worker] = model->overlap ? model->end[worker] : model->gradient[worker] + step_ns;
        send_copies(model, worker);
    }
    for (int worker = 0; worker < model->workers; worker++) {
        const double mixed = mixed_at(model, worker);
        model->end[worker] = model->overlap ? fmax(mixed, model->gradient[worker]) + step_ns : mixed;
    }
}

static double round_ns(struct model *model, bool bytes, bool latency, bool arithmetic)
{
    double sum = 0;
    model->bytes = bytes;
    model->latency = latency;
    model->arithmetic = arithmetic;
    for (int replica = 0; replica < model->replicas; replica++) {
        struct rng draws = rng_stream(SEED, 0, (uint32_t)replica, RNG_PREDICT);
        double last = 0;
        memset(model->end, 0, (size_t)model->workers * sizeof(*model->end));
        memset(model->left, 0, (size_t)model->workers * sizeof(*model->left));
        for (int round = 0; round < model->rounds; round++)
            follow_round(model, &draws);
        for (int worker = 0; worker < model->workers; worker++)
            last = fmax(last, model->end[worker]);
        sum += last / model->rounds;
    }
    return sum / model->replicas;
}

void gossip_predict(const struct scheme_setup *setup, struct prediction *prediction)
{
    if (!predict_begin(setup, prediction))
        return;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct model model;
    struct err err = {0};
    if (make(setup, arena, &model, &err) < 0) {
        snprintf(prediction->reason, sizeof(prediction->reason), "%.150s", err.text);
        return;
    }
    prediction->compute_ns = round_ns(&model, false, false, false);
    const double with_bytes = round_ns(&model, true, false, false), delayed = round_ns(&model, true, true, false);
    prediction->bandwidth_ns = with_bytes - prediction->compute_ns;
    prediction->latency_ns = delayed - with_bytes;
    prediction->reduce_ns = round_ns(&model, true, true, true) - delayed;
    prediction->method = "seeded simulation";
    predict_end(prediction);
}
