/* agents/schemes/ring.c: `ring`, synchronous training with a ring all-reduce of every gradient.
 *
 * Source: P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 69 (2009); A.
 * Gibiansky, "Bringing HPC techniques to deep learning" (Baidu, 2017).
 *
 * Each round every worker computes the gradient at the model (the same bits everywhere), the workers sum their gradients around
 * the ring (agents/collectives/ring_allreduce.c has the algorithm, an example and the bounds), and each takes the same step.
 * There is no server.
 *
 * The model step is taken segment by segment as sums become final, after the segment was sent on: all but the last segment's
 * step hides behind the bytes still on their way, and finds its sum in the cache. */
#include "agents/schemes/schemes.h"

#include "agents/collectives/ring_allreduce.h"
#include "agents/predict.h"
#include "base/err.h"

enum { CHANNEL_ALLREDUCE = 1 };
enum { PARAM_SEGMENT = 0 };

struct ring_state {
    struct ring_allreduce *allreduce;
    float *model; /* NULL: synthetic, or values are not carried */
    float *gradient, *sum;
    uint64_t round;
    uint32_t generation; /* of the running gradient */
};

static const struct param ring_params[] = {
    [PARAM_SEGMENT] = {.name = "segment",
                       .unit = PARAM_BYTES,
                       .minimum = 0,
                       .maximum = 1 << 30,
                       .standard = 0,
                       .help = "bytes sent at once, a part of a chunk; 0: two segments a chunk or more, each of 4 KiB to 1 MiB"},
};

static void next_round(struct node *node, struct ring_state *state)
{
    if (state->round == (uint64_t)node->setup->rounds) {
        node_finished(node);
        return;
    }
    ring_allreduce_open(state->allreduce, state->round, state->sum);
    state->generation = node_compute(
        node, &(struct task){
                  .kind = TASK_GRADIENT, .step = state->round, .model = state->model, .gradient = state->gradient, .parts = 1});
}

static void on_segment_ready(struct node *node, void *context, size_t first, size_t count)
{
    struct ring_state *state = context;
    int64_t begin_ns = node_now(node);
    node_update(node, state->model, state->sum, node->setup->workers, first, count, state->round);
    node_span(node, SPAN_APPLY, state->round, begin_ns, node_now(node), -1, count * sizeof(float));
}

static void on_allreduce_done(struct node *node, void *context)
{
    struct ring_state *state = context;
    node_round_finished(node, state->round);
    state->round++;
    next_round(node, state);
}

static void prepare_node(struct node *node)
{
    struct ring_state *state = node_state(node);
    const struct scheme_setup *setup = node->setup;
    const size_t count = setup->parameter_count;
    state->gradient = node_alloc(node, count * sizeof(float));
    state->sum = node_alloc(node, count * sizeof(float));
    const float *initial = node_initial_model(node);
    if (initial) {
        state->model = node_alloc(node, count * sizeof(float));
        node_copy(node, state->model, initial, count);
    }
    struct ring_allreduce_spec spec = {
        .channel = CHANNEL_ALLREDUCE,
        .rank = node->role_index,
        .size = setup->workers,
        .left = (node->role_index + setup->workers - 1) % setup->workers,
        .right = (node->role_index + 1) % setup->workers,
        .count = count,
        .segment_bytes = (size_t)setup->values[PARAM_SEGMENT],
        .context = state,
        .segment_ready = on_segment_ready,
        .done = on_allreduce_done,
    };
    state->allreduce = ring_allreduce_new(node, &spec);
}

static void start(struct node *node)
{
    next_round(node, node_state(node));
}

static void on_task(struct node *node, const struct task_result *result)
{
    struct ring_state *state = node_state(node);
    if (result->generation != state->generation || result->part != result->parts - 1)
        return;
    ring_allreduce_contribute(state->allreduce, state->gradient);
}

static struct landing on_header(struct node *node, const struct message *message)
{
    struct ring_state *state = node_state(node);
    if (message->header.channel != CHANNEL_ALLREDUCE) {
        node_fail(node, "a message on a channel that the scheme 'ring' does not have: the nodes do not run the same scheme");
        return (struct landing){.kind = LAND_DISCARD};
    }
    return ring_allreduce_on_header(state->allreduce, message);
}

static void on_message(struct node *node, const struct message *message)
{
    struct ring_state *state = node_state(node);
    ring_allreduce_on_message(state->allreduce, message);
}

static void on_sent(struct node *node, struct buffer *buffer)
{
    struct ring_state *state = node_state(node);
    ring_allreduce_on_sent(state->allreduce, buffer);
}

static const float *model_to_evaluate(struct node *node)
{
    return ((struct ring_state *)node_state(node))->model;
}

static bool talks(const struct scheme_setup *setup, int node, int peer)
{
    return (node + 1) % setup->workers == peer || (peer + 1) % setup->workers == node;
}

/* A position of the pipeline (2 (P-1) hops of m segments) sends, receives, adds or takes the step, and may wait; the own chunk's
 * step and the gradient come on top. */
static uint64_t spans_a_round(const struct scheme_setup *setup, int node)
{
    (void)node;
    struct ring_allreduce_layout layout =
        ring_allreduce_layout(setup->workers, setup->parameter_count, (size_t)setup->values[PARAM_SEGMENT]);
    return 4 * (uint64_t)layout.segments * (2 * (uint64_t)(setup->workers - 1)) + layout.segments + 4;
}

static int check(const struct scheme_setup *setup, struct err *err)
{
    double segment = setup->values[PARAM_SEGMENT];
    if (segment != 0 && segment < sizeof(float))
        return err_set(err, ERR_USAGE, "scheme 'ring': found segment %gB, allowed are 0 (automatic) and 4B to 1GiB", segment);
    double chunk_bytes = (double)setup->parameter_count * sizeof(float) / setup->workers + sizeof(float);
    if (segment != 0 && chunk_bytes / segment * 2 * setup->workers > 1e9)
        return err_set(err, ERR_USAGE,
                       "scheme 'ring': segments of %gB cut the model into more messages than can be numbered; "
                       "allowed are 0 (automatic) and larger segments",
                       segment);
    return 0;
}

static void predict(const struct scheme_setup *setup, struct prediction *prediction)
{
    if (!predict_begin(setup, prediction))
        return;
    predict_ring(setup, (size_t)setup->values[PARAM_SEGMENT], prediction);
    prediction->method = "max-plus recurrence";
    predict_end(prediction);
}

const struct scheme scheme_ring = {
    .name = "ring",
    .summary = "every worker sums all gradients with its neighbours in a ring; no server",
    .source = "Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations, JPDC 69 (2009); "
              "Gibiansky, Bringing HPC techniques to deep learning (Baidu, 2017)",
    .formula = "E[X_{P:P}] + 2(P-1) alpha + 2(P-1)/P S/B + (P-1)/P S gamma for one segment a chunk; "
               "with m segments the exact recurrence: 2(P-1) s + alpha where s = S/(P B) >= alpha + s/m",
    .family = FAMILY_ALLREDUCE,
    .params = ring_params,
    .param_count = sizeof(ring_params) / sizeof(ring_params[0]),
    .state_bytes = sizeof(struct ring_state),
    .check = check,
    .talks = talks,
    .spans_a_round = spans_a_round,
    .prepare_node = prepare_node,
    .start = start,
    .on_task = on_task,
    .on_header = on_header,
    .on_message = on_message,
    .on_sent = on_sent,
    .model_to_evaluate = model_to_evaluate,
    .predict = predict,
};
