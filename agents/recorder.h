/* agents/recorder.h: what a node writes down while it runs: spans, the moments when it held each round's model, and snapshots of
 * the model to evaluate later. All memory is taken and touched before the start; writing is a store. */
#ifndef LAGGARD_AGENTS_RECORDER_H
#define LAGGARD_AGENTS_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schemas/records.h"

struct arena;
struct err;

struct snapshot {
    uint32_t round; /* after this many rounds; 0: the initial model */
    int64_t at_ns;
    float *model;
};
struct recorder_options {
    struct arena *arena;
    uint32_t rounds;        /* that the trial has, warm-up included, of all message sizes */
    uint32_t rounds_wanted; /* an estimate of this node's, where it leaps and memory grows; 0: none */
    uint64_t spans_wanted;  /* an estimate; 0: record none */
    uint64_t gradients_wanted;
    bool without_gradients; /* nobody will look at them: none is recorded, and none counts as lost */
    bool leaps;             /* rounds may be left out */
    /* Memory is taken as it is needed, without touching it first: where no clock runs that this could disturb. Estimates do not
     * count then, but spans_wanted 0 still records none. */
    bool grows;
    uint32_t evaluate_every;
    size_t snapshot_floats; /* of the model; 0: no snapshots */
};
struct recorder {
    struct recorder_options options;
    struct span_record *spans;
    uint32_t span_count, span_capacity;
    uint64_t spans_lost; /* and gradients */
    struct round_record *rounds;
    uint32_t round_count, round_capacity;
    uint32_t next_round;             /* the first that is not finished */
    uint32_t first_round, end_round; /* of the present message size; the end is the first of the next one */
    struct gradient_record *gradients;
    uint32_t gradient_count, gradient_capacity;
    struct snapshot *snapshots;
    uint32_t snapshot_count, snapshot_capacity;
};

enum { RECORDER_SPANS_MAX = 1 << 20 }; /* 48 MiB; a report has to fit into one frame */
enum { RECORDER_GRADIENTS_MAX = 1 << 20 };
#define RECORDER_SNAPSHOT_BYTES_MAX (UINT64_C(512) << 20)

/* Refuses (ERR_USAGE) when the snapshots would take too much memory. */
int recorder_init(struct recorder *recorder, const struct recorder_options *options, struct err *err);

/* Makes room for more, or not: false. */
bool recorder_grow_spans(struct recorder *recorder);
bool recorder_grow_gradients(struct recorder *recorder);

static inline void recorder_span(struct recorder *recorder, const struct span_record *span)
{
    if (recorder->options.spans_wanted == 0)
        return;
    if (recorder->span_count < recorder->span_capacity || recorder_grow_spans(recorder))
        recorder->spans[recorder->span_count++] = *span;
    else
        recorder->spans_lost++;
}
static inline void recorder_gradient(struct recorder *recorder, const struct gradient_record *gradient)
{
    if (recorder->options.without_gradients)
        return;
    if (recorder->gradient_count < recorder->gradient_capacity || recorder_grow_gradients(recorder))
        recorder->gradients[recorder->gradient_count++] = *gradient;
    else
        recorder->spans_lost++;
}
/* From now on rounds are first .. first+count-1: those of the next message size. What was left out before is left out. */
void recorder_begin(struct recorder *recorder, uint32_t first, uint32_t count);
/* The node holds the model of `round`. False: it is not the round that is due, or there are no more. */
bool recorder_round(struct recorder *recorder, uint64_t round, int64_t held_ns);
/* Whether the model after `rounds_done` rounds is to be evaluated. */
bool recorder_snapshot_due(const struct recorder *recorder, uint64_t rounds_done);
void recorder_snapshot(struct recorder *recorder, uint64_t rounds_done, int64_t at_ns, const float *model);

#endif
