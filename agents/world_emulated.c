/* world_emulated.c: the operations of the emulated world that are neither messages nor compute, and the life of its node. */
#include "agents/world_emulated.h"

#include "agents/emulated_internal.h"
#include "agents/touched_memory.h"
#include "agents/vector.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"

enum { SENT_NOTES = 1024 };

/* ---- operations ---- */

static int64_t now(struct node *node)
{
    return emulated_relative(emulated_of(node), clock_now_ns());
}

static void *alloc(struct node *node, size_t bytes)
{
    return touched_alloc(emulated_of(node)->size_arena, bytes);
}

static struct buffer *get_buffer(struct node *node, size_t bytes)
{
    return buffer_pool_get(&emulated_of(node)->pool, bytes);
}

static struct buffer *wrap(struct node *node, void *memory, size_t bytes, intptr_t tag)
{
    return buffer_pool_wrap(&emulated_of(node)->pool, memory, bytes, tag);
}

static void hold(struct node *node, struct buffer *buffer)
{
    (void)node;
    buffer_hold(buffer);
}

static void release(struct node *node, struct buffer *buffer)
{
    buffer_pool_release(&emulated_of(node)->pool, buffer);
}

static void on_timer(void *context, int64_t deadline_ns)
{
    (void)deadline_ns;
    struct node_timer *timer = context;
    struct emulated *emulated = timer->emulated;
    if (emulated->stopped || emulated->failed || !emulated->scheme->on_timer)
        return;
    emulated_enter(emulated);
    emulated->scheme->on_timer(&emulated->node, timer->number);
    emulated_leave(emulated);
}

static int new_timer(struct node *node)
{
    struct emulated *emulated = emulated_of(node);
    if (emulated->timer_count == TIMERS_MAX) {
        emulated_fail(emulated, "scheme '%s' wants more than %d timers", emulated->scheme->name, TIMERS_MAX);
        return 0;
    }
    struct node_timer *timer = &emulated->timers[emulated->timer_count];
    struct timer *kept = timer->timer; /* of the message size before */
    *timer = (struct node_timer){.emulated = emulated, .number = emulated->timer_count++, .timer = kept};
    if (!kept)
        timer->timer = loop_timer(emulated->options.loop, on_timer, timer);
    return timer->number;
}

static void arm(struct node *node, int timer, int64_t deadline_ns)
{
    struct emulated *emulated = emulated_of(node);
    loop_arm(emulated->timers[timer].timer, emulated->start_ns + deadline_ns);
}

static void disarm(struct node *node, int timer)
{
    loop_disarm(emulated_of(node)->timers[timer].timer);
}

/* Models that are not carried are not there: what a scheme does with them is nothing. */
static bool absent(const struct node *node, const void *a, const void *b)
{
    return !node->setup->values_carried && (!a || !b);
}

static void add(struct node *node, float *out, const float *a, const float *b, size_t count)
{
    if (!absent(node, out, a) && !absent(node, out, b))
        vector_add(out, a, b, count);
}

static void scale(struct node *node, float *out, float factor, const float *a, size_t count)
{
    if (!absent(node, out, a))
        vector_scale(out, factor, a, count);
}

static void axpy(struct node *node, float *y, float factor, const float *x, size_t count)
{
    if (!absent(node, y, x))
        vector_axpy(y, factor, x, count);
}

static void copy(struct node *node, float *out, const float *in, size_t count)
{
    if (!absent(node, out, in))
        vector_copy(out, in, count);
}

static double dot(struct node *node, const float *a, const float *b, size_t count)
{
    return absent(node, a, b) ? 0 : vector_dot(a, b, count);
}

static size_t quantise(struct node *node, int bits, const float *in, size_t count, void *out)
{
    return absent(node, in, out) ? vector_quantised_bytes(bits, count) : vector_quantise(bits, in, count, out);
}

static void dequantise(struct node *node, int bits, const void *in, size_t count, float *out)
{
    if (!absent(node, in, out))
        vector_dequantise(bits, in, count, out);
}

static bool arithmetic(struct node *node, double floats)
{
    (void)node;
    (void)floats;
    return true;
}

static void update(struct node *node, float *model, const float *sum, int contributors, size_t first, size_t count, uint64_t step)
{
    struct emulated *emulated = emulated_of(node);
    const struct scheme_setup *setup = node->setup;
    if (count == 0 || contributors < 1 || first > setup->parameter_count || count > setup->parameter_count - first) {
        if (count > 0)
            emulated_fail(emulated, "scheme '%s' updates floats %zu to %zu of %zu with %d contributors", setup->scheme->name, first,
                          first + count, setup->parameter_count, contributors);
        return;
    }
    if (model) {
        optimiser_step(&emulated->optimiser, model, sum, contributors, first, count, step);
        return;
    }
    const struct synthetic_check check = workload_check_of(setup, contributors, step);
    char sentence[512];
    buffer_pool_keep(&emulated->pool, sum); /* it is checked once more, to the last element, when the rounds are over */
    if (!workload_check(emulated->options.workload, &check, sum, first, count, sentence, sizeof(sentence)))
        emulated_fail(emulated, "node %d: %s", node->index, sentence);
}

static void span(struct node *node, enum span_kind kind, uint64_t round, int64_t begin_ns, int64_t end_ns, int peer, uint64_t bytes)
{
    struct emulated *emulated = emulated_of(node);
    struct span_record record = {.round = (uint32_t)emulated_round_of(emulated, round),
                                 .kind = kind,
                                 .peer = peer < 0 ? NO_PEER : (uint32_t)peer,
                                 .begin_ns = begin_ns,
                                 .end_ns = end_ns,
                                 .bytes = bytes};
    recorder_span(emulated->options.recorder, &record);
}

static void gradient(struct node *node, const struct gradient_record *record)
{
    struct emulated *emulated = emulated_of(node);
    struct gradient_record counted = *record;
    counted.round = (uint32_t)emulated_round_of(emulated, record->round);
    recorder_gradient(emulated->options.recorder, &counted);
}

static void snapshot_if_due(struct emulated *emulated, uint64_t rounds_done, int64_t at_ns)
{
    if (!emulated->evaluates || !recorder_snapshot_due(emulated->options.recorder, rounds_done))
        return;
    const float *model = emulated->scheme->model_to_evaluate(&emulated->node);
    if (model)
        recorder_snapshot(emulated->options.recorder, rounds_done, at_ns, model);
}

static void round_finished(struct node *node, uint64_t round)
{
    struct emulated *emulated = emulated_of(node);
    struct recorder *recorder = emulated->options.recorder;
    int64_t held_ns = now(node);
    const uint64_t counted = recorder->first_round + round;
    if (!recorder_round(recorder, counted, held_ns)) {
        emulated_fail(emulated, "scheme '%s' finished round %llu on node %d, where round %u of %u was due", emulated->scheme->name,
                      (unsigned long long)counted, node->index, recorder->next_round, recorder->options.rounds);
        return;
    }
    snapshot_if_due(emulated, counted + 1, held_ns);
    emulated->options.events->round_finished(emulated->options.context, counted + 1);
}

static void finished(struct node *node)
{
    struct emulated *emulated = emulated_of(node);
    if (emulated->finished || emulated->failed)
        return;
    emulated->finished = true;
    emulated->options.events->finished(emulated->options.context);
}

static void fail(struct node *node, const char *sentence)
{
    emulated_fail(emulated_of(node), "%s", sentence);
}

static struct rng random_stream(struct node *node, enum rng_purpose purpose, uint32_t which_node)
{
    return rng_stream(node->setup->seed, node->setup->cell, which_node, purpose);
}

static const float *initial_model(struct node *node)
{
    return workload_initial_model(emulated_of(node)->options.workload);
}

static void batch(struct node *node, uint64_t step, float *pixels, uint8_t *labels)
{
    struct workload *workload = emulated_of(node)->options.workload;
    if (workload_real(workload))
        workload_batch(workload, step, pixels, labels);
}

static const struct world world_emulated = {
    .name = "emulated",
    .now = now,
    .alloc = alloc,
    .compute = emulated_compute_start,
    .cancel = emulated_compute_cancel,
    .buffer = get_buffer,
    .wrap = wrap,
    .hold = hold,
    .release = release,
    .send = emulated_send,
    .retry = emulated_retry,
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

/* ---- life ---- */

struct emulated *emulated_new(const struct emulated_options *options, struct err *err)
{
    const struct scheme_setup *setup = options->setup;
    struct emulated *emulated = arena_new_object(options->arena, struct emulated);
    bool worker = options->index < setup->workers;
    emulated->options = *options;
    emulated->scheme = setup->scheme;
    emulated->node = (struct node){.world = &world_emulated,
                                   .setup = setup,
                                   .index = options->index,
                                   .role = worker ? ROLE_WORKER : ROLE_SERVER,
                                   .role_index = worker ? options->index : options->index - setup->workers};
    emulated->optimiser.settings = options->optimiser;
    if (options->optimiser.momentum != 0 && workload_real(options->workload))
        emulated->optimiser.velocity = touched_alloc(options->arena, setup->parameter_count * sizeof(float));
    emulated->inboxes = arena_new_array(options->arena, struct inbox, (size_t)setup->nodes);
    emulated->sent_capacity = SENT_NOTES; /* before the rounds; it grows only where a scheme sends more than that in one callback */
    emulated->sent = arena_new_array(options->arena, struct sent, SENT_NOTES);
    struct transport_options transport = options->transport;
    transport.loop = options->loop;
    transport.arena = options->arena;
    transport.talks = emulated_talks;
    transport.talks_context = emulated;
    transport.payload_max = emulated_longest_message(options);
    transport.events = &emulated_transport_events;
    transport.context = emulated;
    emulated->transport = transport_new(&transport, err);
    if (!emulated->transport)
        return NULL;
    emulated->compute = emulated_compute_new(emulated, err);
    if (!emulated->compute) {
        transport_free(emulated->transport);
        return NULL;
    }
    emulated_prepare(emulated);
    return emulated;
}

void emulated_free(struct emulated *emulated)
{
    if (!emulated)
        return;
    emulated_compute_free(emulated->compute);
    transport_free(emulated->transport);
    arena_cleanup(&emulated->size_arena);
}

int emulated_start_thread(struct emulated *emulated, struct err *err)
{
    bool needed = workload_real(emulated->options.workload) ||
                  (emulated->node.setup->values_carried && emulated->scheme->family == FAMILY_CODED);
    return needed ? emulated_compute_thread(emulated->compute, err) : 0;
}

struct node *emulated_node(struct emulated *emulated)
{
    return &emulated->node;
}

struct transport *emulated_transport(struct emulated *emulated)
{
    return emulated->transport;
}

void emulated_evaluate_here(struct emulated *emulated)
{
    emulated->evaluates = true;
    snapshot_if_due(emulated, 0, 0);
}

static void on_start(void *context, int64_t deadline_ns)
{
    (void)deadline_ns;
    struct emulated *emulated = context;
    struct err err;
    bool reading = emulated->reading;
    emulated->started = emulated->reading = true;
    emulated_enter(emulated);
    emulated->scheme->start(&emulated->node);
    emulated_leave(emulated);
    if (emulated->failed)
        return;
    if (reading)
        emulated_open_size(emulated);
    else if (transport_start(emulated->transport, &err) < 0)
        emulated_fail(emulated, "%s", err.text);
}

void emulated_start(struct emulated *emulated, int64_t start_ns)
{
    if (!emulated->start_timer) {
        emulated->start_ns = start_ns;
        emulated->start_timer = loop_timer(emulated->options.loop, on_start, emulated);
    }
    loop_arm(emulated->start_timer, start_ns);
}

void emulated_stop(struct emulated *emulated)
{
    if (emulated->stopped)
        return;
    if (emulated->scheme->stop && !emulated->failed) {
        emulated_enter(emulated);
        emulated->scheme->stop(&emulated->node);
        emulated_leave(emulated);
    }
    emulated->stopped = true;
}

uint64_t emulated_rounds_done(const struct emulated *emulated)
{
    return emulated->options.recorder->next_round;
}

void emulated_counters(const struct emulated *emulated, struct node_counters *counters)
{
    struct loop_lateness lateness = loop_lateness(emulated->options.loop);
    *counters = emulated->counters;
    counters->gradient_mean_ns = emulated_compute_mean_ns(emulated->compute);
    counters->tcp_retransmits = transport_retransmits(emulated->transport);
    counters->timer_late_count = lateness.over_1ms_count;
    counters->timer_late_max_ns = lateness.maximum_ns;
    counters->spans_lost = emulated->options.recorder->spans_lost;
    workload_checks(emulated->options.workload, &counters->checks, &counters->check_failures);
}
