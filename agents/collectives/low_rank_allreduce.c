/* agents/collectives/low_rank_allreduce.c: an all-reduce of matrices by their factors (PowerSGD: agents/compressors/powersgd.c)
 * with two all-reduces of any algorithm: of the left factors, with what is no matrix behind them, then of the right ones.
 *
 *     contribute   residual += vector; left = residual x warm           all-reduce of left
 *     its end      directions = the sum orthonormalised; right = residual^T x directions
 *                                                                       all-reduce of right
 *                  residual -= directions x right^T: while the bytes are under way
 *     its end      output = directions x (sum of right)^T; warm = that sum orthonormalised
 *
 * Both are open from the start, so that what comes early can land. Sums are copied before they are changed: an all-reduce may still
 * be sending from them when it is done. Where no matrix has factors that are smaller than itself, there is no second one.
 *
 * What is sent is exact: that of both all-reduces; all members decode the same bits. */
#include <stdlib.h>

#include "agents/collectives/allreduce.h"
#include "agents/compressors/low_rank.h"
#include "base/cleanup.h"

struct low_rank {
    struct allreduce base; /* first */
    struct low_rank_plan plan;
    struct allreduce *left, *right; /* right NULL: there is nothing for it to do */
    float *residual;                /* [count] */
    float *warm;                    /* right factors that the next power iteration starts from */
    float *own_left, *sum_left, *directions;
    float *own_right, *sum_right;
    float *output;
    uint64_t round;
    bool owes_subtraction; /* the residual still holds what was sent */
    struct rng rng;        /* the same on all members */
};

static struct low_rank *low_rank_of(struct allreduce *allreduce)
{
    return (struct low_rank *)allreduce;
}

static void plan_of(const struct allreduce_shape *shape, struct low_rank_plan *plan)
{
    low_rank_plan((size_t)shape->compression.rank, shape->count, shape->matrices, shape->matrix_count, plan);
}

/* The shape of one of the two all-reduces. */
static struct allreduce_shape carried(const struct allreduce_shape *shape, size_t floats)
{
    return (struct allreduce_shape){
        .size = shape->size, .count = floats, .segment_bytes = shape->segment_bytes, .group = shape->group};
}

static void span(struct low_rank *low_rank, int64_t begin_ns)
{
    struct node *node = low_rank->base.node;
    node_span(node, SPAN_REDUCE, low_rank->round, begin_ns, node_now(node), -1, low_rank->plan.count * sizeof(float));
}

/* Before one of the three products that the end of a round waits for, or the subtraction, which takes as long. */
static bool product(const struct low_rank *low_rank)
{
    const struct compression *compression = &low_rank->base.spec.shape.compression;
    const double additions = compression->compressor->encode_additions - 1;
    return node_arithmetic(low_rank->base.node, (double)low_rank->plan.count *
                                                    (additions + compression->rank * compression->compressor->decode_additions) /
                                                    3);
}

/* ---- the way of a vector ---- */

static void subtract(struct low_rank *low_rank)
{
    if (!low_rank->owes_subtraction)
        return;
    int64_t begin_ns = node_now(low_rank->base.node);
    low_rank->owes_subtraction = false;
    if (product(low_rank))
        low_rank_subtract(&low_rank->plan, low_rank->directions, low_rank->own_right, low_rank->residual);
    span(low_rank, begin_ns);
}

static void finish(struct low_rank *low_rank)
{
    struct node *node = low_rank->base.node;
    const struct allreduce_spec *spec = &low_rank->base.spec;
    const struct low_rank_plan *plan = &low_rank->plan;
    subtract(low_rank); /* where the right factors were there as soon as the own ones */
    int64_t begin_ns = node_now(node);
    if (product(low_rank)) {
        low_rank_expand(plan, low_rank->directions, low_rank->sum_right, low_rank->sum_left, low_rank->output);
        node_copy(node, low_rank->warm, low_rank->sum_right, plan->right_floats);
        low_rank_orthonormalise_right(plan, low_rank->warm, &low_rank->rng);
    }
    span(low_rank, begin_ns);
    if (spec->segment_ready)
        spec->segment_ready(node, spec->context, 0, plan->count);
    spec->done(node, spec->context);
}

static void on_left_done(struct node *node, void *context)
{
    struct low_rank *low_rank = context;
    const struct low_rank_plan *plan = &low_rank->plan;
    low_rank->owes_subtraction = true;
    if (low_rank->right) {
        int64_t begin_ns = node_now(node);
        if (product(low_rank)) {
            node_copy(node, low_rank->directions, low_rank->sum_left, plan->left_floats);
            low_rank_orthonormalise_left(plan, low_rank->directions);
            low_rank_right(plan, low_rank->residual, low_rank->directions, low_rank->own_right);
        }
        span(low_rank, begin_ns);
        allreduce_contribute(low_rank->right, low_rank->own_right); /* may be the end of it all, see below */
        subtract(low_rank);
    } else {
        finish(low_rank);
    }
}

static void on_right_done(struct node *node, void *context)
{
    (void)node;
    finish(context);
}

static void open_output(struct allreduce *allreduce, uint64_t round, float *output)
{
    struct low_rank *low_rank = low_rank_of(allreduce);
    low_rank->round = round;
    low_rank->output = output;
    allreduce_open(low_rank->left, round, low_rank->sum_left);
    if (low_rank->right)
        allreduce_open(low_rank->right, round, low_rank->sum_right);
}

static void contribute(struct allreduce *allreduce, const float *input)
{
    struct low_rank *low_rank = low_rank_of(allreduce);
    struct node *node = allreduce->node;
    int64_t begin_ns = node_now(node);
    node_add(node, low_rank->residual, low_rank->residual, input, low_rank->plan.count);
    if (product(low_rank))
        low_rank_left(&low_rank->plan, low_rank->residual, low_rank->warm, low_rank->own_left);
    span(low_rank, begin_ns);
    allreduce_contribute(low_rank->left, low_rank->own_left);
}

/* ---- making it ---- */

static struct allreduce *create(struct node *node, const struct allreduce_spec *spec)
{
    struct low_rank *low_rank = node_alloc(node, sizeof(*low_rank));
    struct low_rank_plan *plan = &low_rank->plan;
    plan_of(&spec->shape, plan);
    low_rank->rng = node_random(node, RNG_COMMON, RNG_ALL_NODES);
    low_rank->residual = node_alloc(node, plan->count * sizeof(float));
    low_rank->own_left = node_alloc(node, plan->left_floats * sizeof(float));
    low_rank->sum_left = node_alloc(node, plan->left_floats * sizeof(float));
    low_rank->directions = node_alloc(node, plan->left_floats * sizeof(float));
    low_rank->own_right = node_alloc(node, plan->right_floats * sizeof(float));
    low_rank->sum_right = node_alloc(node, plan->right_floats * sizeof(float));
    low_rank->warm = node_alloc(node, plan->right_floats * sizeof(float));
    low_rank_orthonormalise_right(plan, low_rank->warm, &low_rank->rng); /* of zeros: random directions */
    struct allreduce_spec half = {.algorithm = spec->shape.carrier,
                                  .shape = carried(&spec->shape, plan->left_floats),
                                  .channel = spec->channel,
                                  .rank = spec->rank,
                                  .members = spec->members,
                                  .context = low_rank,
                                  .done = on_left_done};
    low_rank->left = allreduce_new(node, &half);
    half.shape.count = plan->right_floats;
    half.channel++;
    half.done = on_right_done;
    if (plan->right_floats > 0)
        low_rank->right = allreduce_new(node, &half);
    return &low_rank->base;
}

/* ---- messages: of the half whose channel they have ---- */

static struct allreduce *half_of(struct low_rank *low_rank, uint16_t channel)
{
    return channel == low_rank->base.spec.channel ? low_rank->left : low_rank->right;
}

static struct landing on_header(struct allreduce *allreduce, const struct message *message)
{
    struct allreduce *half = half_of(low_rank_of(allreduce), message->header.channel);
    return half ? half->algorithm->on_header(half, message)
                : allreduce_refuse(allreduce, message, "there are no right factors here");
}

static void on_message(struct allreduce *allreduce, const struct message *message)
{
    struct allreduce *half = half_of(low_rank_of(allreduce), message->header.channel);
    half->algorithm->on_message(half, message);
}

static void on_sent(struct allreduce *allreduce, const struct buffer *buffer)
{
    struct allreduce *half = half_of(low_rank_of(allreduce), allreduce_tag_channel(buffer));
    half->algorithm->on_sent(half, buffer);
}

/* ---- what follows from a shape: both halves' ---- */

static bool talks(const struct allreduce_algorithm *self, const struct allreduce_shape *shape, int rank, int peer)
{
    (void)self;
    struct low_rank_plan plan;
    plan_of(shape, &plan);
    const struct allreduce_algorithm *carrier = shape->carrier;
    const struct allreduce_shape left = carried(shape, plan.left_floats), right = carried(shape, plan.right_floats);
    return !carrier->talks || carrier->talks(carrier, &left, rank, peer) ||
           (right.count > 0 && carrier->talks(carrier, &right, rank, peer));
}

static uint64_t spans(const struct allreduce_algorithm *self, const struct allreduce_shape *shape, int rank)
{
    enum { OWN = 5 }; /* two products, the subtraction, the sum, and that it is there */
    (void)self;
    struct low_rank_plan plan;
    plan_of(shape, &plan);
    const struct allreduce_shape left = carried(shape, plan.left_floats), right = carried(shape, plan.right_floats);
    return OWN + shape->carrier->spans(shape->carrier, &left, rank) +
           (right.count > 0 ? shape->carrier->spans(shape->carrier, &right, rank) : 0);
}

static uint64_t sent_bytes(const struct allreduce_algorithm *self, const struct allreduce_shape *shape, int rank)
{
    (void)self;
    struct low_rank_plan plan;
    plan_of(shape, &plan);
    const struct allreduce_shape left = carried(shape, plan.left_floats), right = carried(shape, plan.right_floats);
    return shape->carrier->sent_bytes(shape->carrier, &left, rank) +
           (right.count > 0 ? shape->carrier->sent_bytes(shape->carrier, &right, rank) : 0);
}

static int check(const struct allreduce_shape *shape, struct err *err)
{
    struct low_rank_plan plan;
    plan_of(shape, &plan);
    const struct allreduce_shape left = carried(shape, plan.left_floats);
    return shape->carrier->check ? shape->carrier->check(&left, err) : 0;
}

/* One half after the other, and the products of a round for every rank; the subtraction hides behind the right factors. */
static void predict_ns(const struct allreduce_algorithm *self, const struct allreduce_network *networks, int count,
                       double *times_ns)
{
    (void)self;
    const struct allreduce_shape *shape = &networks->shape;
    const struct compressor *compressor = shape->compression.compressor;
    cleanup(free_pointer) struct allreduce_network *halves = calloc((size_t)count, sizeof(*halves));
    cleanup(free_pointer) double *right_ns = calloc((size_t)count, sizeof(*right_ns));
    struct low_rank_plan plan;
    plan_of(shape, &plan);
    for (int i = 0; i < count; i++)
        times_ns[i] = NAN;
    if (!halves || !right_ns)
        return;
    for (int half = 0; half < (plan.right_floats > 0 ? 2 : 1); half++) {
        for (int i = 0; i < count; i++) {
            halves[i] = networks[i];
            halves[i].shape = carried(shape, half == 0 ? plan.left_floats : plan.right_floats);
        }
        shape->carrier->predict_ns(shape->carrier, halves, count, half == 0 ? times_ns : right_ns);
    }
    const double additions = compressor->encode_additions + shape->compression.rank * compressor->decode_additions;
    for (int i = 0; i < count; i++)
        times_ns[i] += right_ns[i] + additions * (double)(shape->count * sizeof(float)) * networks[i].reduce_ns_per_byte;
}

const struct allreduce_algorithm allreduce_low_rank = {
    .name = "low-rank",
    .check = check,
    .create = create,
    .open = open_output,
    .contribute = contribute,
    .on_header = on_header,
    .on_message = on_message,
    .on_sent = on_sent,
    .talks = talks,
    .spans = spans,
    .sent_bytes = sent_bytes,
    .predict_ns = predict_ns,
    .method = "that of each of its all-reduces",
};
