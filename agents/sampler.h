/* agents/sampler.h: what TCP does while rounds run, looked at every so often: one record a look over all connections. Off unless
 * the campaign asks for it. Memory is taken and touched before the start; a look asks the kernel once a connection, about a
 * microsecond each. */
#ifndef LAGGARD_AGENTS_SAMPLER_H
#define LAGGARD_AGENTS_SAMPLER_H

#include "schemas/records.h"

struct arena;
struct loop;
struct timer;
struct transport;

enum { SAMPLER_RECORDS_MOST = 1 << 14 };
struct sampler {
    const struct transport *transport;
    struct timer *timer; /* NULL: off */
    int64_t every_ns, start_ns;
    struct sample_record *records;
    uint32_t count, capacity;
    uint64_t lost; /* looks for which there was no memory left */
};

/* every_ns 0: off, and the calls below do nothing. */
void sampler_init(struct sampler *sampler, int64_t every_ns, const struct transport *transport, struct loop *loop,
                  struct arena *arena);
void sampler_start(struct sampler *sampler, int64_t start_ns); /* the first look is one interval later */
void sampler_stop(struct sampler *sampler);

#endif
