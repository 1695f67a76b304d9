/* agents/schemes/allreduce_rounds.c: rounds of a gradient and its all-reduce; see allreduce_rounds.h.
 *
 * Each round every worker computes the gradient at the model (the same bits everywhere), the workers all-reduce their gradients,
 * and each takes the same step. There is no server. The step is taken part by part as sums become final: all but the last part's
 * hides behind the bytes still on their way, and finds its sum in the cache.
 *
 * Buckets. The gradient may be cut into buckets, equal ranges of floats with an all-reduce and a channel each, independent of each
 * other (S. Li et al., "PyTorch distributed: experiences on accelerating data parallel training", VLDB 2020). With overlap a bucket
 * is contributed as soon as backward has made all of its floats final, while others are still computed. The model must stay as it
 * is until the whole gradient is there: the steps of buckets that are done before wait for it. */
#include "agents/schemes/allreduce_rounds.h"

#include <math.h>
#include <stdio.h>

#include "agents/predict.h"
#include "agents/schemes/allreduce_choice.h"
#include "base/err.h"

enum { CHANNEL_FIRST = 1 }; /* of bucket 0; the others follow */

static double common(const struct scheme_setup *setup, enum allreduce_common which)
{
    const struct allreduce_algorithm *algorithm = setup->scheme->detail;
    return setup->values[which + (algorithm && algorithm->parameter != ALLREDUCE_NO_PARAMETER)];
}

static int buckets_of(const struct scheme_setup *setup)
{
    const size_t floats = setup->parameter_count, bucket = (size_t)common(setup, ALLREDUCE_BUCKET) / sizeof(float);
    if (bucket == 0 || bucket >= floats)
        return 1;
    const size_t count = floats / bucket + (floats % bucket != 0);
    return count < ALLREDUCE_BUCKETS_MAX ? (int)count : ALLREDUCE_BUCKETS_MAX;
}

static struct compression compression_of(const struct scheme_setup *setup)
{
    return (struct compression){.compressor = compressor_at((int)common(setup, ALLREDUCE_COMPRESS)),
                                .share = common(setup, ALLREDUCE_COMPRESS_SHARE),
                                .levels = (int)common(setup, ALLREDUCE_COMPRESS_LEVELS),
                                .rank = (int)common(setup, ALLREDUCE_COMPRESS_RANK)};
}

bool allreduce_rounds_approximates(const struct scheme_setup *setup)
{
    return compression_of(setup).compressor != NULL;
}

const struct allreduce_algorithm *allreduce_rounds_compressed(const struct scheme_setup *setup,
                                                              const struct allreduce_algorithm *algorithm,
                                                              struct allreduce_shape *shape)
{
    shape->compression = compression_of(setup);
    if (!shape->compression.compressor)
        return algorithm;
    if (!shape->compression.compressor->factors)
        return &allreduce_encoded;
    shape->carrier = algorithm;
    shape->matrices = setup->matrices;
    shape->matrix_count = setup->matrix_count;
    return &allreduce_low_rank;
}

static struct allreduce_range bucket_range(const struct scheme_setup *setup, int bucket)
{
    return allreduce_cut(0, setup->parameter_count, (size_t)buckets_of(setup), (size_t)bucket);
}

static bool overlaps(const struct scheme_setup *setup)
{
    return common(setup, ALLREDUCE_OVERLAP) != 0 && buckets_of(setup) > 1;
}

const struct allreduce_algorithm *allreduce_rounds_algorithm(const struct scheme_setup *setup, struct allreduce_shape *shape)
{
    const struct allreduce_algorithm *algorithm = setup->scheme->detail;
    const double own = setup->values[0];
    const struct compressor *compressor = compression_of(setup).compressor;
    *shape = (struct allreduce_shape){.size = setup->workers, .count = bucket_range(setup, 0).count}; /* none is larger */
    if (!algorithm && !(compressor && !compressor->factors)) { /* else there is nothing to choose */
        struct allreduce_choice choice = allreduce_choice_of(setup, setup->parameter_count, allreduce_rounds_compressed);
        shape->segment_bytes = choice.segment_bytes;
        algorithm = choice.algorithm;
    } else if (algorithm && algorithm->parameter == ALLREDUCE_SEGMENT) {
        shape->segment_bytes = (size_t)own;
    } else if (algorithm && algorithm->parameter == ALLREDUCE_GROUP) {
        shape->group = (int)own;
    }
    return allreduce_rounds_compressed(setup, algorithm, shape);
}

static void next_round(struct node *node, struct allreduce_rounds_state *state)
{
    if (state->round == (uint64_t)node->setup->rounds) {
        node_finished(node);
        return;
    }
    state->open = state->bucket_count;
    state->computing = true;
    for (int b = 0; b < state->bucket_count; b++) {
        struct allreduce_bucket *bucket = &state->buckets[b];
        bucket->missing = bucket->range.count;
        bucket->owes_step = false;
        allreduce_open(bucket->allreduce, state->round, state->sum + bucket->range.first);
    }
    state->generation = node_compute(node, &(struct task){.kind = TASK_GRADIENT,
                                                          .step = state->round,
                                                          .model = state->model,
                                                          .gradient = state->gradient,
                                                          .parts = overlaps(node->setup) ? state->bucket_count : 1});
}

static void take_step(struct node *node, struct allreduce_rounds_state *state, size_t first, size_t count)
{
    int64_t begin_ns = node_now(node);
    node_update(node, state->model, state->sum, node->setup->workers, first, count, state->round);
    node_span(node, SPAN_APPLY, state->round, begin_ns, node_now(node), -1, count * sizeof(float));
}

static void on_segment_ready(struct node *node, void *context, size_t first, size_t count)
{
    struct allreduce_bucket *bucket = context;
    struct allreduce_rounds_state *state = node_state(node);
    take_step(node, state, bucket->range.first + first, count);
}

static void end_round_if_over(struct node *node, struct allreduce_rounds_state *state)
{
    if (state->open > 0 || state->computing)
        return;
    node_round_finished(node, state->round);
    state->round++;
    next_round(node, state);
}

static void on_allreduce_done(struct node *node, void *context)
{
    struct allreduce_bucket *bucket = context;
    struct allreduce_rounds_state *state = node_state(node);
    state->open--;
    if (overlaps(node->setup) && state->computing)
        bucket->owes_step = true;
    else if (overlaps(node->setup))
        take_step(node, state, bucket->range.first, bucket->range.count);
    end_round_if_over(node, state);
}

static void prepare_buckets(struct node *node, struct allreduce_rounds_state *state)
{
    const struct scheme_setup *setup = node->setup;
    struct allreduce_spec spec = {
        .rank = node->role_index,
        .members = state->members,
        .segment_ready = overlaps(setup) ? NULL : on_segment_ready,
        .done = on_allreduce_done,
    };
    spec.algorithm = allreduce_rounds_algorithm(setup, &spec.shape);
    state->bucket_count = buckets_of(setup);
    state->bucket_channels = spec.algorithm == &allreduce_low_rank ? 2 : 1;
    state->buckets = node_alloc(node, (size_t)state->bucket_count * sizeof(*state->buckets));
    for (int b = 0; b < state->bucket_count; b++) {
        struct allreduce_bucket *bucket = &state->buckets[b];
        bucket->range = bucket_range(setup, b);
        spec.shape.count = bucket->range.count;
        spec.channel = (uint16_t)(CHANNEL_FIRST + b * state->bucket_channels);
        spec.context = bucket;
        bucket->allreduce = allreduce_new(node, &spec);
    }
}

void allreduce_rounds_prepare(struct node *node)
{
    struct allreduce_rounds_state *state = node_state(node);
    const struct scheme_setup *setup = node->setup;
    const size_t count = setup->parameter_count;
    state->gradient = node_alloc(node, count * sizeof(float));
    state->sum = node_alloc(node, count * sizeof(float));
    const float *initial = node_initial_model(node);
    if (initial) {
        state->model = node_alloc(node, count * sizeof(float));
        node_copy(node, state->model, initial, count);
    }
    state->members = node_alloc(node, (size_t)setup->workers * sizeof(*state->members));
    for (int worker = 0; worker < setup->workers; worker++)
        state->members[worker] = worker;
    prepare_buckets(node, state);
}

void allreduce_rounds_start(struct node *node)
{
    next_round(node, node_state(node));
}

/* These floats of the gradient are final: buckets that are now whole are contributed. */
static void contribute(struct allreduce_rounds_state *state, size_t first, size_t count)
{
    const uint64_t round = state->round;
    for (int b = state->bucket_count - 1; b >= 0 && state->round == round; b--) { /* as backward goes */
        struct allreduce_bucket *bucket = &state->buckets[b];
        const size_t begin = first > bucket->range.first ? first : bucket->range.first;
        const size_t bucket_end = bucket->range.first + bucket->range.count;
        const size_t end = first + count < bucket_end ? first + count : bucket_end;
        if (begin >= end)
            continue;
        bucket->missing -= end - begin;
        if (bucket->missing == 0)
            allreduce_contribute(bucket->allreduce, state->gradient + bucket->range.first);
    }
}

void allreduce_rounds_on_task(struct node *node, const struct task_result *result)
{
    struct allreduce_rounds_state *state = node_state(node);
    if (result->generation != state->generation)
        return;
    const bool last = result->part == result->parts - 1;
    const uint64_t round = state->round;
    if (last)
        state->computing = false;
    if (overlaps(node->setup)) {
        for (int b = 0; last && b < state->bucket_count; b++)
            if (state->buckets[b].owes_step)
                take_step(node, state, state->buckets[b].range.first, state->buckets[b].range.count);
        contribute(state, result->first, result->count);
    } else if (last) {
        contribute(state, 0, node->setup->parameter_count);
    }
    if (state->round == round) /* else a contribution has ended it */
        end_round_if_over(node, state);
}

/* Its number; -1: there is none. */
static int bucket_of(const struct allreduce_rounds_state *state, uint16_t channel)
{
    const int number = channel < CHANNEL_FIRST ? -1 : (channel - CHANNEL_FIRST) / state->bucket_channels;
    return number < state->bucket_count ? number : -1;
}

struct landing allreduce_rounds_on_header(struct node *node, const struct message *message)
{
    struct allreduce_rounds_state *state = node_state(node);
    int number = bucket_of(state, message->header.channel);
    if (number < 0)
        return allreduce_refuse(state->buckets[0].allreduce, message, "its channel does not exist here");
    struct allreduce *allreduce = state->buckets[number].allreduce;
    return allreduce->algorithm->on_header(allreduce, message);
}

/* Of a header that was not refused. */
static struct allreduce *allreduce_of(struct node *node, uint16_t channel)
{
    const struct allreduce_rounds_state *state = node_state(node);
    return state->buckets[bucket_of(state, channel)].allreduce;
}

void allreduce_rounds_on_message(struct node *node, const struct message *message)
{
    struct allreduce *allreduce = allreduce_of(node, message->header.channel);
    allreduce->algorithm->on_message(allreduce, message);
}

void allreduce_rounds_on_sent(struct node *node, struct buffer *buffer, int destination)
{
    (void)destination;
    struct allreduce *allreduce = allreduce_of(node, allreduce_tag_channel(buffer));
    allreduce->algorithm->on_sent(allreduce, buffer);
}

const float *allreduce_rounds_model(struct node *node)
{
    return ((struct allreduce_rounds_state *)node_state(node))->model;
}

bool allreduce_rounds_talks(const struct scheme_setup *setup, int node, int peer)
{
    struct allreduce_shape shape;
    const struct allreduce_algorithm *algorithm = allreduce_rounds_algorithm(setup, &shape);
    return !algorithm->talks || algorithm->talks(algorithm, &shape, node, peer);
}

/* Those of the all-reduce; the gradient and what is between rounds come on top. */
uint64_t allreduce_rounds_spans(const struct scheme_setup *setup, int node)
{
    struct allreduce_shape shape;
    const struct allreduce_algorithm *algorithm = allreduce_rounds_algorithm(setup, &shape);
    return (uint64_t)buckets_of(setup) * (algorithm->spans(algorithm, &shape, node) + 2) + 4;
}

/* Of segments and of buckets: whole floats are left of a size, and one at least. */
static int check_sizes(const struct scheme_setup *setup, struct err *err)
{
    for (int i = 0; i < setup->scheme->param_count; i++) {
        const struct param *param = &setup->scheme->params[i];
        if (param->unit == PARAM_BYTES && setup->values[i] != 0 && setup->values[i] < sizeof(float))
            return err_set(err, ERR_USAGE, "scheme '%s': found %s %gB, allowed are 0 (automatic) and 4B to 1GiB",
                           setup->scheme->name, param->name, setup->values[i]);
    }
    return 0;
}

/* Encoded gradients cannot be summed on the way; factors are those of the whole gradient. */
static int check_compression(const struct scheme_setup *setup, struct err *err)
{
    const struct compressor *compressor = compression_of(setup).compressor;
    const struct allreduce_algorithm *algorithm = setup->scheme->detail;
    if (!compressor)
        return 0;
    if (compressor->factors && common(setup, ALLREDUCE_BUCKET) > 0)
        return err_set(
            err, ERR_USAGE,
            "scheme '%s': 'compress: %s' makes factors of whole layers, which a bucket would cut; leave 'bucket' out, or compress "
            "by something else",
            setup->scheme->name, compressor->name);
    if (!compressor->factors && algorithm && algorithm != &allreduce_naive)
        return err_set(
            err, ERR_USAGE,
            "scheme '%s': what 'compress: %s' makes of gradients cannot be summed on the way; schemes 'naive' and 'allreduce-auto' "
            "carry each worker's whole, or take 'compress: powersgd', whose factors can be summed",
            setup->scheme->name, compressor->name);
    return 0;
}

int allreduce_rounds_check(const struct scheme_setup *setup, struct err *err)
{
    struct allreduce_shape shape;
    if (check_sizes(setup, err) < 0 || check_compression(setup, err) < 0)
        return -ERR_USAGE;
    if (!setup->scheme->detail)
        return 0;
    const struct allreduce_algorithm *algorithm = allreduce_rounds_algorithm(setup, &shape);
    int result = algorithm->check ? algorithm->check(&shape, err) : 0;
    return result < 0 ? err_wrap(err, "scheme '%s'", setup->scheme->name) : 0;
}

/* Buckets follow each other on the links: their bytes and additions add up, the delays of one are hidden by the bytes of the others
 * but for the last. With overlap a bucket begins when its share of the gradient is there and the one before it is through. */
static bool predict_buckets(const struct scheme_setup *setup, const struct allreduce_algorithm *algorithm,
                            struct allreduce_shape shape, struct prediction *prediction)
{
    const int buckets = buckets_of(setup);
    struct prediction one = {0};
    double whole_ns = predict_allreduce_ns(setup, algorithm, &shape, &one);
    if (isnan(whole_ns))
        return false;
    if (buckets == 1 && !shape.carrier && whole_ns > 0) { /* who has the result early begins early with the next gradient */
        const double factor = predict_staggered_ns(setup, algorithm, &shape, 1, whole_ns) / whole_ns;
        one.bandwidth_ns *= factor;
        one.reduce_ns *= factor;
        one.latency_ns *= factor;
    }
    const double busy_ns = one.bandwidth_ns + one.reduce_ns; /* what a bucket keeps the links and processors for */
    double through = 0, computed = prediction->compute_ns;
    for (int bucket = 0; bucket < buckets; bucket++) {
        const double there = overlaps(setup) ? computed * (bucket + 1) / buckets : computed;
        through = fmax(through, there) + busy_ns;
    }
    const double exposed_ns = through - computed; /* what compute does not hide */
    const double share = busy_ns > 0 ? one.reduce_ns / busy_ns : 0;
    prediction->bandwidth_ns = exposed_ns * (1 - share);
    prediction->reduce_ns = exposed_ns * share;
    prediction->latency_ns = one.latency_ns;
    return true;
}

void allreduce_rounds_predict(const struct scheme_setup *setup, struct prediction *prediction)
{
    if (!predict_begin(setup, prediction))
        return;
    struct allreduce_shape shape;
    const struct allreduce_algorithm *algorithm = allreduce_rounds_algorithm(setup, &shape);
    prediction->compute_ns = predict_slowest_ns(setup);
    if (!predict_buckets(setup, algorithm, shape, prediction)) {
        snprintf(prediction->reason, sizeof(prediction->reason),
                 "%s among %d workers has more messages than can be followed one by one", algorithm->name, setup->workers);
        return;
    }
    prediction->method = shape.carrier ? shape.carrier->method : algorithm->method;
    predict_end(prediction);
}
