/* trial_samples.c: counters of links and processors while rounds run, every so often (sample_every), for whoever wants to see them
 * over time. The agents look at TCP themselves.
 *
 * A look asks the warden for all counters: two netlink dumps a place, some 60 us each, on the processors that the rounds need, too.
 * So nothing is looked at unless the campaign asks for it. What does not fit into SAMPLES_BYTES is not taken. */
#include <inttypes.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/loop.h"
#include "harness/trial_internal.h"

enum { SAMPLES_BYTES = 64 << 20, SAMPLES_MOST = 1 << 20, BLOCK_SAMPLES = 256 };

struct block { /* of samples: they grow by blocks, and are one array in the end */
    struct block *next;
    struct counter_sample samples[BLOCK_SAMPLES];
};
struct trial_samples {
    struct timer *timer;
    int64_t every_ns, start_ns;
    int count, most, directions;
    struct block *first, *last;
    struct host_load before;
    struct link_counters *counters;
    int64_t total_ns, longest_ns; /* that a look took */
};

static int samples_prepare(struct trial *trial, struct err *err)
{
    (void)err;
    int links = trial->topology.link_count;
    if (trial->cell->settings.sample_every_ns == 0)
        return 0;
    struct trial_samples *samples = arena_new_object(trial->arena, struct trial_samples);
    samples->every_ns = trial->cell->settings.sample_every_ns;
    samples->directions = DIRECTIONS * links;
    samples->counters = arena_new_array(trial->arena, struct link_counters, (size_t)links + 1);
    size_t each = sizeof(struct counter_sample) + (size_t)samples->directions * sizeof(struct direction_sample);
    size_t fit = SAMPLES_BYTES / each;
    samples->most = fit < SAMPLES_MOST ? (int)fit : SAMPLES_MOST;
    trial->samples = samples;
    return 0;
}

static struct counter_sample *next_sample(struct trial *trial)
{
    struct trial_samples *samples = trial->samples;
    int place = samples->count % BLOCK_SAMPLES;
    if (place == 0) {
        struct block *block = arena_new_object(trial->arena, struct block);
        *(samples->last ? &samples->last->next : &samples->first) = block;
        samples->last = block;
    }
    samples->count++;
    return &samples->last->samples[place];
}

static const struct direction_sample *copy_directions(struct trial *trial)
{
    struct trial_samples *samples = trial->samples;
    struct direction_sample *directions = arena_new_array(trial->arena, struct direction_sample, (size_t)samples->directions + 1);
    for (int i = 0; i < samples->directions; i++) {
        const struct direction_counters *now = &samples->counters[i / DIRECTIONS].direction[i % DIRECTIONS];
        directions[i] = (struct direction_sample){.carried_bytes = now->bytes,
                                                  .queue_drops = now->queue_drops,
                                                  .unasked_drops = now->unasked_drops,
                                                  .lost = now->lost,
                                                  .backlog_bytes = now->backlog_bytes_max};
    }
    return directions;
}

static void look(void *context, int64_t deadline_ns)
{
    struct trial *trial = context;
    struct trial_samples *samples = trial->samples;
    int64_t now_ns = clock_now_ns();
    if (samples->count >= samples->most || fabric_counters(trial->fabric, samples->counters, NULL) < 0)
        return;
    struct host_load load = host_load_now();
    struct counter_sample *sample = next_sample(trial);
    *sample = (struct counter_sample){.at_ns = now_ns - samples->start_ns,
                                      .load = host_load_between(&samples->before, &load),
                                      .directions = copy_directions(trial)};
    samples->before = load;
    int64_t after_ns = clock_now_ns();
    samples->total_ns += after_ns - now_ns;
    samples->longest_ns = after_ns - now_ns > samples->longest_ns ? after_ns - now_ns : samples->longest_ns;
    while (deadline_ns <= after_ns) /* on the same beat again, whatever this one was late by */
        deadline_ns += samples->every_ns;
    loop_arm(samples->timer, deadline_ns);
}

static void samples_start(struct trial *trial, int64_t start_ns)
{
    struct trial_samples *samples = trial->samples;
    if (!samples)
        return;
    samples->start_ns = start_ns;
    samples->before = trial->load_before;
    samples->timer = loop_timer(trial->loop, look, trial);
    loop_arm(samples->timer, start_ns + samples->every_ns);
}

static void samples_done(struct trial *trial)
{
    if (trial->samples && trial->samples->timer)
        loop_disarm(trial->samples->timer);
}

static void samples_conclude(struct trial *trial)
{
    struct trial_samples *samples = trial->samples;
    if (!samples || samples->count == 0)
        return;
    struct counter_sample *all = arena_new_array(trial->arena, struct counter_sample, (size_t)samples->count);
    int copied = 0;
    for (const struct block *block = samples->first; block; block = block->next)
        for (int i = 0; i < BLOCK_SAMPLES && copied < samples->count; i++)
            all[copied++] = block->samples[i];
    trial->end.samples = all;
    trial->end.sample_count = samples->count;
    log_debug("%d looks at the counters, %" PRId64 " us each, the longest of %" PRId64 " us", samples->count,
              samples->total_ns / samples->count / NS_PER_US, samples->longest_ns / NS_PER_US);
}

const struct trial_part trial_samples = {
    .prepare = samples_prepare, .start = samples_start, .done = samples_done, .conclude = samples_conclude};
