/* trial_byzantine.c: the part of a trial with more Byzantine workers than its scheme withstands: a row of kind `byzantine` that
 * says so. That gradients are falsified is the workload's affair (agents/byzantine.h). */
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "harness/byzantine_outlook.h"
#include "harness/trial_internal.h"

static void conclude(struct trial *trial)
{
    cleanup(text_free) struct text sentence = {0};
    if (!byzantine_outlook(&trial->cell->settings, &sentence))
        return;
    struct trial_end *end = &trial->end;
    struct event_record *records = arena_new_array(trial->arena, struct event_record, (size_t)end->event_count + 1);
    for (int i = 0; i < end->event_count; i++)
        records[i] = end->events[i];
    records[end->event_count++] = (struct event_record){.kind = "byzantine",
                                                        .text = arena_strdup(trial->arena, sentence.bytes),
                                                        .at_unix_ns = clock_wall_ns(),
                                                        .event = EVENT_NO_NUMBER,
                                                        .step = EVENT_NO_NUMBER,
                                                        .link = EVENT_NO_NUMBER,
                                                        .node = EVENT_NO_NUMBER,
                                                        .direction = EVENT_NO_NUMBER};
    end->events = records;
}

const struct trial_part trial_byzantine = {.conclude = conclude};
