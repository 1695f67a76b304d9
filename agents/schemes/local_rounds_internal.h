/* agents/schemes/local_rounds_internal.h: what local_rounds.c and local_setup.c share. */
#ifndef LAGGARD_AGENTS_SCHEMES_LOCAL_ROUNDS_INTERNAL_H
#define LAGGARD_AGENTS_SCHEMES_LOCAL_ROUNDS_INTERNAL_H

#include "agents/schemes/local_rounds.h"

static inline const struct local_policy *local_policy_of(const struct scheme_setup *setup)
{
    return setup->scheme->detail;
}

/* Floats that are averaged together. */
static inline size_t local_floats(const struct scheme_setup *setup)
{
    return (size_t)local_policy_of(setup)->vectors * setup->parameter_count;
}

/* Called by the all-reduces, with the struct local_rounds. */
void local_rounds_models_ready(struct node *node, void *context, size_t first, size_t count);
void local_rounds_done(struct node *node, void *context);

enum { LOCAL_CHANNEL_MODELS = 1, LOCAL_CHANNEL_AGREEMENT };

#endif
