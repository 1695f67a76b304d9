/* recorder.c: spans, rounds and snapshots in memory that is there before the start. */
#include "agents/recorder.h"

#include <string.h>

#include "agents/touched_memory.h"
#include "base/err.h"

static uint64_t snapshots_needed(const struct recorder_options *options)
{
    if (options->snapshot_floats == 0)
        return 0;
    return 2 + (options->evaluate_every ? options->rounds / options->evaluate_every : 0); /* the initial one, the last */
}

static void take_estimated(struct recorder *recorder)
{
    const struct recorder_options *options = &recorder->options;
    recorder->span_capacity = (uint32_t)(options->spans_wanted < RECORDER_SPANS_MAX ? options->spans_wanted : RECORDER_SPANS_MAX);
    recorder->spans = touched_alloc(options->arena, recorder->span_capacity * sizeof(*recorder->spans));
    recorder->gradient_capacity =
        (uint32_t)(options->gradients_wanted < RECORDER_GRADIENTS_MAX ? options->gradients_wanted : RECORDER_GRADIENTS_MAX);
    recorder->gradients = touched_alloc(options->arena, recorder->gradient_capacity * sizeof(*recorder->gradients));
}

/* The array, moved to where it has twice the room. */
static void *doubled(struct arena *arena, const void *array, uint32_t *capacity, size_t bytes_each)
{
    enum { FIRST = 32 };
    const uint32_t before = *capacity;
    *capacity = before ? 2 * before : FIRST;
    void *moved = arena_calloc(arena, *capacity, bytes_each);
    if (before)
        memcpy(moved, array, before * bytes_each);
    return moved;
}

bool recorder_grow_spans(struct recorder *recorder)
{
    if (!recorder->options.grows || recorder->span_capacity > UINT32_MAX / 2)
        return false;
    recorder->spans = doubled(recorder->options.arena, recorder->spans, &recorder->span_capacity, sizeof(*recorder->spans));
    return true;
}

bool recorder_grow_gradients(struct recorder *recorder)
{
    if (!recorder->options.grows || recorder->gradient_capacity > UINT32_MAX / 2)
        return false;
    recorder->gradients =
        doubled(recorder->options.arena, recorder->gradients, &recorder->gradient_capacity, sizeof(*recorder->gradients));
    return true;
}

int recorder_init(struct recorder *recorder, const struct recorder_options *options, struct err *err)
{
    uint64_t snapshots = snapshots_needed(options);
    uint64_t model_bytes = options->snapshot_floats * sizeof(float);
    if (snapshots > 0 && model_bytes > RECORDER_SNAPSHOT_BYTES_MAX / snapshots)
        return err_set(
            err, ERR_USAGE,
            "%llu snapshots of a model of %llu bytes take more than %llu MiB: evaluate less often (workload.evaluate_every)",
            (unsigned long long)snapshots, (unsigned long long)model_bytes,
            (unsigned long long)(RECORDER_SNAPSHOT_BYTES_MAX >> 20));
    *recorder = (struct recorder){.options = *options, .end_round = options->rounds};
    if (!options->grows)
        take_estimated(recorder);
    const bool all = !options->grows || !options->leaps; /* else few may be this node's: more room is made as they come */
    recorder->round_capacity = all ? options->rounds : options->rounds_wanted;
    if (all)
        recorder->rounds = touched_alloc(options->arena, options->rounds * sizeof(*recorder->rounds));
    else if (options->rounds_wanted > 0)
        recorder->rounds = arena_new_array(options->arena, struct round_record, options->rounds_wanted);
    recorder->snapshot_capacity = (uint32_t)snapshots;
    recorder->snapshots = arena_new_array(options->arena, struct snapshot, snapshots);
    for (uint64_t i = 0; i < snapshots; i++)
        recorder->snapshots[i].model = touched_alloc(options->arena, model_bytes);
    return 0;
}

void recorder_begin(struct recorder *recorder, uint32_t first, uint32_t count)
{
    recorder->first_round = recorder->next_round = first;
    recorder->end_round = first + count;
}

bool recorder_round(struct recorder *recorder, uint64_t round, int64_t held_ns)
{
    if (round < recorder->next_round || round >= recorder->end_round || (round != recorder->next_round && !recorder->options.leaps))
        return false;
    if (recorder->round_count == recorder->round_capacity) /* only where it grows: there are as many as there are rounds */
        recorder->rounds = doubled(recorder->options.arena, recorder->rounds, &recorder->round_capacity, sizeof(*recorder->rounds));
    recorder->next_round = (uint32_t)round + 1;
    recorder->rounds[recorder->round_count++] = (struct round_record){.round = (uint32_t)round, .held_ns = held_ns};
    return true;
}

bool recorder_snapshot_due(const struct recorder *recorder, uint64_t rounds_done)
{
    const struct recorder_options *options = &recorder->options;
    if (recorder->snapshot_count == recorder->snapshot_capacity)
        return false;
    return rounds_done == 0 || rounds_done == options->rounds ||
           (options->evaluate_every && rounds_done % options->evaluate_every == 0);
}

void recorder_snapshot(struct recorder *recorder, uint64_t rounds_done, int64_t at_ns, const float *model)
{
    struct snapshot *snapshot = &recorder->snapshots[recorder->snapshot_count++];
    snapshot->round = (uint32_t)rounds_done;
    snapshot->at_ns = at_ns;
    memcpy(snapshot->model, model, recorder->options.snapshot_floats * sizeof(float));
}
