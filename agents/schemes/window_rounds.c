/* agents/schemes/window_rounds.c: rounds of a compute window and an exchange with neighbours; see window_rounds.h.
 *
 * Theory of operation. A round of a worker is over when its window is and it has taken its neighbours' messages; the next window
 * begins at once. There is no barrier, but all windows are equally long, so that workers stay together.
 *
 * Weights are W = I - a L of mixing.h, with a no larger than 1 / the largest degree, so that none is negative: sums of weights are
 * divided by here. On rings, tori and complete graphs that changes nothing.
 *
 * Predicted round. A worker sends its message to d neighbours over its own link and takes as many, and passes over vectors:
 *
 *     exchange = d V / B + alpha        V: bytes of a message
 *     round    = window + exchanges + passes S gamma, or the longer of window and the rest where they overlap
 *
 * with the worker that takes longest. What is left out: additions that hide behind messages still under way, and packets. */
#include "agents/schemes/window_rounds.h"

#include <math.h>

#include "agents/predict.h"
#include "base/clock.h"
#include "base/err.h"

enum { CHANNEL = 1 };

static const struct window_kind *kind_of(const struct scheme_setup *setup)
{
    return setup->scheme->detail;
}

/* ---- rounds ---- */

static void next_round(struct node *node, struct window_state *state)
{
    const struct window_kind *kind = kind_of(node->setup);
    if (state->round == (uint64_t)node->setup->rounds) {
        node_finished(node);
        return;
    }
    state->computing = true;
    struct task task = {
        .step = state->round, .model = state->trained ? state->model : NULL, .gradient = state->gradient, .parts = 1};
    window_bound_task(node, WINDOW_TIME, WINDOW_CAP, &task);
    state->generation = node_compute(node, &task);
    if (kind->begin)
        kind->begin(node, state);
}

void window_end_round(struct node *node, struct window_state *state)
{
    node_round_finished(node, state->round);
    state->round++;
    next_round(node, state);
}

void window_send(struct window_state *state, uint64_t step, const void *memory, size_t length)
{
    exchange_begin(state->exchange,
                   &(struct exchange_step){.step = step, .round = state->round, .memory = memory, .length = length});
}

void window_on_task(struct node *node, const struct task_result *result)
{
    struct window_state *state = node_state(node);
    if (result->generation != state->generation || result->part != result->parts - 1)
        return;
    state->computing = false;
    const uint64_t round = state->round;
    kind_of(node->setup)->computed(node, state, result->samples);
    if (state->round == round)
        exchange_wait(state->exchange);
}

/* ---- a node ---- */

void window_prepare_node(struct node *node)
{
    struct window_state *state = node_state(node);
    const struct window_kind *kind = kind_of(node->setup);
    const struct graph graph = mixing_graph(node->setup);
    const float *initial = node_initial_model(node);
    struct err err = {0};
    const float best = mixing_alpha(node->setup, &err);
    if (isnan(best))
        node_fail(node, err.text);
    const int most = graph_degree_most(&graph);
    state->degree = graph_degree(&graph, node->index);
    state->alpha = most > 0 ? fminf(best, 1.0f / (float)most) : best;
    state->own_weight = fmaxf(mixing_own_weight(state->alpha, state->degree), 0);
    state->neighbours = node_alloc(node, (size_t)(state->degree + 1) * sizeof(*state->neighbours));
    graph_neighbours(&graph, node->index, state->neighbours);
    state->model = node_alloc(node, window_vector_bytes(node));
    state->gradient = node_alloc(node, window_vector_bytes(node));
    state->trained = initial != NULL;
    if (initial)
        node_copy(node, state->model, initial, node->setup->parameter_count);
    state->own = node_alloc(node, kind->own_bytes);
    kind->prepare(node, state);
    const size_t bytes = kind->message_bytes(node->setup);
    state->exchange = exchange_new(node, &(struct exchange_spec){.channel = CHANNEL,
                                                                 .neighbours = state->neighbours,
                                                                 .count = state->degree,
                                                                 .length_least = bytes,
                                                                 .length_most = bytes,
                                                                 .context = state,
                                                                 .take = kind->take,
                                                                 .done = kind->done});
}

void window_start(struct node *node)
{
    next_round(node, node_state(node));
}

struct landing window_on_header(struct node *node, const struct message *message)
{
    struct window_state *state = node_state(node);
    return exchange_on_header(state->exchange, message);
}

void window_on_message(struct node *node, const struct message *message)
{
    struct window_state *state = node_state(node);
    exchange_on_message(state->exchange, message);
}

void window_on_sent(struct node *node, struct buffer *buffer, int destination)
{
    (void)destination;
    struct window_state *state = node_state(node);
    exchange_on_sent(state->exchange, buffer);
}

const float *window_model(struct node *node)
{
    const struct window_state *state = node_state(node);
    return state->trained ? state->model : NULL;
}

/* ---- what follows from a row ---- */

int window_prepare(const struct scheme_setup *setup, struct blob *blob, struct err *err)
{
    return mixing_prepare(setup, 0, blob, NULL, err);
}

/* A window, a step, encodings; each exchange, a term of its sum from each neighbour and the own one. */
uint64_t window_spans(const struct scheme_setup *setup, int node)
{
    const struct graph graph = mixing_graph(setup);
    const int degree = graph_degree(&graph, node);
    const uint64_t exchanges = (uint64_t)kind_of(setup)->exchanges(setup);
    return 6 + exchanges * (exchange_spans(degree) + (uint64_t)degree + 1);
}

struct window_exchange { /* all of a round */
    double bytes_ns, latency_ns, reduce_ns;
};

static struct window_exchange exchange_of(const struct scheme_setup *setup, const struct graph *graph, int worker)
{
    const struct window_kind *kind = kind_of(setup);
    const double bytes = (double)kind->message_bytes(setup);
    const int exchanges = kind->exchanges(setup);
    const double vector_bytes = (double)setup->parameter_count * sizeof(float);
    struct window_exchange longest = {0};
    double fastest = 0, slowest = INFINITY;
    const int degree = graph_degree(graph, worker);
    for (int other = 0; other < setup->workers; other++) {
        if (other == worker || !graph_joins(graph, worker, other))
            continue;
        const struct path path = setup->path(setup->path_context, worker, other);
        longest.latency_ns = fmax(longest.latency_ns, path.latency_ns);
        fastest = fmax(fastest, path.bytes_per_second);
        slowest = fmin(slowest, path.bytes_per_second);
    }
    if (degree == 0)
        return longest;
    longest.bytes_ns = fmax(degree * bytes / fastest, bytes / slowest) * (double)NS_PER_S;
    const double spaced_ns = fmax(longest.bytes_ns, (degree - 1) * setup->message_ns + longest.bytes_ns / degree);
    longest.latency_ns += setup->message_ns + spaced_ns - longest.bytes_ns;
    longest.bytes_ns *= exchanges;
    longest.latency_ns *= exchanges;
    longest.reduce_ns = kind->passes(setup, degree) * vector_bytes * setup->reduce_ns_per_byte;
    return longest;
}

void window_predict(const struct scheme_setup *setup, struct prediction *prediction)
{
    const struct window_kind *kind = kind_of(setup);
    const struct graph graph = mixing_graph(setup);
    struct window_forecast window;
    window_foresee(setup, WINDOW_TIME, WINDOW_CAP, &window);
    if (!predict_begin(&window.setup, prediction))
        return;
    struct window_exchange longest = {0};
    double most_ns = -1;
    for (int worker = 0; worker < setup->workers; worker++) {
        const struct window_exchange own = exchange_of(setup, &graph, worker);
        const double whole_ns = own.bytes_ns + own.latency_ns + own.reduce_ns;
        longest = whole_ns > most_ns ? own : longest;
        most_ns = fmax(most_ns, whole_ns);
    }
    const double hidden_ns = kind->overlaps ? setup->values[WINDOW_TIME] : 0;
    prediction->compute_ns = setup->values[WINDOW_TIME];
    prediction->bandwidth_ns = fmax(longest.bytes_ns - hidden_ns, 0);
    prediction->latency_ns = fmax(longest.bytes_ns + longest.latency_ns - hidden_ns, 0) - prediction->bandwidth_ns;
    prediction->reduce_ns = fmax(most_ns - hidden_ns, 0) - prediction->latency_ns - prediction->bandwidth_ns;
    prediction->method = "closed form";
    predict_end(prediction);
    window_count_samples(&window, prediction);
}
