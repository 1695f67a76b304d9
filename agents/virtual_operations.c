/* virtual_operations.c: the operations of the virtual world that are neither messages nor compute. */
#include <inttypes.h>

#include "agents/vector.h"
#include "agents/virtual_internal.h"
#include "base/arena.h"

static int64_t now(struct node *node)
{
    return virtual_of(node)->clock_ns;
}

/* From large blocks, which cost no memory before it is touched: of vectors whose values are not carried nothing ever is. Memory of
 * one node after the other would cost a page each. What is small has blocks of its own: between vectors that nobody touches every
 * node's few words would lie on pages of their own, far apart, and finding their addresses would take the processor longer than all
 * else that a message takes. */
static void *alloc(struct node *node, size_t bytes)
{
    enum { BLOCK = 32 << 20, ALIGNMENT = 64, SMALL = 2 << 10 };
    struct virtual_world *world = virtual_of(node)->world;
    struct virtual_block *block = bytes <= SMALL ? &world->small : &world->large;
    const size_t room = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (room > BLOCK / 4)
        return arena_alloc(world->options.arena, bytes);
    if (room > block->left)
        *block = (struct virtual_block){.free = arena_alloc(world->options.arena, BLOCK), .left = BLOCK};
    unsigned char *memory = block->free;
    block->free += room;
    block->left -= room;
    return memory;
}

static struct buffer *get_buffer(struct node *node, size_t bytes)
{
    struct virtual_world *world = virtual_of(node)->world;
    if (world->values)
        return buffer_pool_get(&world->pool, bytes);
    if (bytes > world->scratch_bytes) { /* the old place stays: buffers may point there */
        world->scratch_bytes = bytes;
        world->scratch = arena_alloc(world->options.arena, bytes);
    }
    return buffer_pool_wrap(&world->pool, world->scratch, bytes, 0);
}

static struct buffer *wrap(struct node *node, void *memory, size_t bytes, intptr_t tag)
{
    return buffer_pool_wrap(&virtual_of(node)->world->pool, memory, bytes, tag);
}

static void hold(struct node *node, struct buffer *buffer)
{
    (void)node;
    buffer_hold(buffer);
}

static int new_timer(struct node *node)
{
    struct virtual_node *own = virtual_of(node);
    struct virtual_world *world = own->world;
    if (own->timer_count == 0)
        own->timer_first = (int)world->timer_count;
    if (!world->preparing) {
        virtual_fail(world, "scheme '%s' wants a timer outside of prepare_node()", world->scheme->name);
        return 0;
    }
    if (world->timer_count == world->timer_capacity)
        world->timers = grow(world->timers, &world->timer_capacity, sizeof(*world->timers));
    world->timers[world->timer_count++] = (struct virtual_timer){.node = node->index, .number = own->timer_count};
    return own->timer_count++; /* nodes are prepared one after the other: a node's timers lie side by side */
}

static void arm(struct node *node, int timer, int64_t deadline_ns)
{
    struct virtual_node *own = virtual_of(node);
    struct virtual_world *world = own->world;
    const int number = own->timer_first + timer;
    struct virtual_timer *armed = &world->timers[number];
    armed->armed = true;
    armed->arming++;
    const int64_t at_ns = deadline_ns > world->now_ns ? deadline_ns : world->now_ns;
    moments_add(&world->moments, at_ns, MOMENT_TIMER, (uint32_t)number, armed->arming);
}

static void disarm(struct node *node, int timer)
{
    struct virtual_node *own = virtual_of(node);
    own->world->timers[own->timer_first + timer].armed = false;
}

static bool arithmetic(struct node *node, double floats)
{
    struct virtual_node *own = virtual_of(node);
    virtual_charge(own, floats * sizeof(float) * node->setup->reduce_ns_per_byte);
    return own->world->values;
}

/* A vector operation reads and writes vectors of that many floats. True: it is to be done as well. */
static bool charge(struct node *node, size_t count)
{
    return arithmetic(node, (double)count);
}

static void add(struct node *node, float *out, const float *a, const float *b, size_t count)
{
    if (charge(node, count))
        vector_add(out, a, b, count);
}

static void scale(struct node *node, float *out, float factor, const float *a, size_t count)
{
    if (charge(node, count))
        vector_scale(out, factor, a, count);
}

static void axpy(struct node *node, float *y, float factor, const float *x, size_t count)
{
    if (charge(node, count))
        vector_axpy(y, factor, x, count);
}

static void copy(struct node *node, float *out, const float *in, size_t count)
{
    if (virtual_of(node)->world->preparing ? virtual_of(node)->world->values : charge(node, count))
        vector_copy(out, in, count);
}

static double dot(struct node *node, const float *a, const float *b, size_t count)
{
    return charge(node, count) ? vector_dot(a, b, count) : 0;
}

static size_t quantise(struct node *node, int bits, const float *in, size_t count, void *out)
{
    return charge(node, count) ? vector_quantise(bits, in, count, out) : vector_quantised_bytes(bits, count);
}

static void dequantise(struct node *node, int bits, const void *in, size_t count, float *out)
{
    if (charge(node, count))
        vector_dequantise(bits, in, count, out);
}

static void check_sum(struct virtual_node *own, const float *sum, int contributors, size_t first, size_t count, uint64_t step)
{
    const struct synthetic_check check = workload_check_of(own->node.setup, contributors, step);
    char sentence[512];
    if (!workload_check(own->workload, &check, sum, first, count, sentence, sizeof(sentence)))
        virtual_fail(own->world, "node %d: %s", own->node.index, sentence);
}

static void update(struct node *node, float *model, const float *sum, int contributors, size_t first, size_t count, uint64_t step)
{
    struct virtual_node *own = virtual_of(node);
    struct virtual_world *world = own->world;
    const struct scheme_setup *setup = node->setup;
    if (count == 0)
        return;
    if (contributors < 1 || first > setup->parameter_count || count > setup->parameter_count - first) {
        virtual_fail(world, "scheme '%s' updates floats %zu to %zu of %zu with %d contributors", setup->scheme->name, first,
                     first + count, setup->parameter_count, contributors);
        return;
    }
    if (world->charges_update)
        charge(node, count);
    if (!world->values)
        return;
    if (!model) {
        check_sum(own, sum, contributors, first, count, step);
        return;
    }
    const struct workload_settings *workload = world->options.workload;
    struct optimiser optimiser = {.settings = {.learning_rate = workload->learning_rate,
                                               .momentum = workload->momentum,
                                               .weight_decay = workload->weight_decay,
                                               .decay_factor = workload->decay_factor,
                                               .decay_every = workload->decay_every},
                                  .velocity = own->velocity};
    optimiser_step(&optimiser, model, sum, contributors, first, count, step);
}

static void span(struct node *node, enum span_kind kind, uint64_t round, int64_t begin_ns, int64_t end_ns, int peer, uint64_t bytes)
{
    recorder_span(&virtual_of(node)->recorder, &(struct span_record){.round = (uint32_t)round,
                                                                     .kind = kind,
                                                                     .peer = peer < 0 ? NO_PEER : (uint32_t)peer,
                                                                     .begin_ns = begin_ns,
                                                                     .end_ns = end_ns,
                                                                     .bytes = bytes});
}

static void gradient(struct node *node, const struct gradient_record *record)
{
    recorder_gradient(&virtual_of(node)->recorder, record);
}

void virtual_snapshot_if_due(struct virtual_node *own, uint64_t rounds_done, int64_t at_ns)
{
    if (!own->evaluates || !recorder_snapshot_due(&own->recorder, rounds_done))
        return;
    const float *model = own->world->scheme->model_to_evaluate(&own->node);
    if (model)
        recorder_snapshot(&own->recorder, rounds_done, at_ns, model);
}

static void round_finished(struct node *node, uint64_t round)
{
    struct virtual_node *own = virtual_of(node);
    struct recorder *recorder = &own->recorder;
    if (!recorder_round(recorder, round, own->clock_ns)) {
        virtual_fail(own->world, "scheme '%s' finished round %" PRIu64 " on node %d, where round %u of %u was due",
                     own->world->scheme->name, round, node->index, recorder->next_round, recorder->options.rounds);
        return;
    }
    virtual_snapshot_if_due(own, round + 1, own->clock_ns);
    virtual_round_over(own);
}

static void finished(struct node *node)
{
    struct virtual_node *own = virtual_of(node);
    own->world->finished_count += !own->finished;
    own->finished = true;
}

static void fail(struct node *node, const char *sentence)
{
    virtual_fail(virtual_of(node)->world, "%s", sentence);
}

static struct rng random_stream(struct node *node, enum rng_purpose purpose, uint32_t which_node)
{
    return rng_stream(node->setup->seed, node->setup->cell, which_node, purpose);
}

static const float *initial_model(struct node *node)
{
    return workload_initial_model(virtual_of(node)->workload);
}

static void batch(struct node *node, uint64_t step, float *pixels, uint8_t *labels)
{
    const struct scheme_setup *setup = node->setup;
    const size_t inputs = setup->matrix_count > 0 ? setup->matrices[0].columns : 0;
    if (charge(node, (size_t)setup->batch * inputs) && workload_real(virtual_of(node)->workload))
        workload_batch(virtual_of(node)->workload, step, pixels, labels);
}

const struct world virtual_operations = {
    .name = "virtual",
    .now = now,
    .alloc = alloc,
    .compute = virtual_compute_start,
    .cancel = virtual_compute_cancel,
    .buffer = get_buffer,
    .wrap = wrap,
    .hold = hold,
    .release = virtual_release,
    .send = virtual_send,
    .retry = virtual_retry,
    .timer = new_timer,
    .arm = arm,
    .disarm = disarm,
    .add = add,
    .scale = scale,
    .axpy = axpy,
    .copy = copy,
    .dot = dot,
    .quantise = quantise,
    .dequantise = dequantise,
    .arithmetic = arithmetic,
    .update = update,
    .span = span,
    .gradient = gradient,
    .round_finished = round_finished,
    .finished = finished,
    .fail = fail,
    .random = random_stream,
    .initial_model = initial_model,
    .batch = batch,
};
