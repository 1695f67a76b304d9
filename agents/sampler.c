/* sampler.c: see sampler.h. */
#include "agents/sampler.h"

#include "agents/touched_memory.h"
#include "agents/transport.h"
#include "base/clock.h"
#include "base/loop.h"

static void look(void *context, int64_t deadline_ns)
{
    struct sampler *sampler = context;
    int64_t now_ns = clock_now_ns();
    if (sampler->count < sampler->capacity) {
        struct sample_record *record = &sampler->records[sampler->count++];
        transport_sample(sampler->transport, record);
        record->at_ns = now_ns - sampler->start_ns;
    } else {
        sampler->lost++;
    }
    while (deadline_ns <= now_ns) /* on the same beat again, whatever this one was late by */
        deadline_ns += sampler->every_ns;
    loop_arm(sampler->timer, deadline_ns);
}

void sampler_init(struct sampler *sampler, int64_t every_ns, const struct transport *transport, struct loop *loop,
                  struct arena *arena)
{
    *sampler = (struct sampler){.transport = transport, .every_ns = every_ns};
    if (every_ns <= 0)
        return;
    sampler->capacity = SAMPLER_RECORDS_MOST;
    sampler->records = touched_alloc(arena, sizeof(*sampler->records) * sampler->capacity);
    sampler->timer = loop_timer(loop, look, sampler);
    loop_ignore_lateness(sampler->timer); /* nothing waits for it */
}

void sampler_start(struct sampler *sampler, int64_t start_ns)
{
    sampler->start_ns = start_ns;
    if (sampler->timer)
        loop_arm(sampler->timer, start_ns + sampler->every_ns);
}

void sampler_stop(struct sampler *sampler)
{
    if (sampler->timer)
        loop_disarm(sampler->timer);
}
