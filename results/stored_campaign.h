/* results/stored_campaign.h: a campaign as its database has it, for who is to go on with it: what it was made of, where, and how
 * far it came. */
#ifndef LAGGARD_RESULTS_STORED_CAMPAIGN_H
#define LAGGARD_RESULTS_STORED_CAMPAIGN_H

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct environment_fact;
struct err;
struct store;

struct stored_variant {        /* a cell under one arm, in the order of struct plan's cells */
    const char *label, *arm;   /* arm: "" where there are none */
    const char *settings_text; /* effective settings, by campaign_dump() */
};
struct stored_trial {
    int64_t trial_id;
    int64_t cell, block; /* the cell's number */
    const char *arm, *engine;
    bool finished;
};
struct stored_campaign {
    int64_t campaign_id; /* 0: the database has none of this name */
    const char *file_path, *file_text, *seed;
    int64_t planned_trial_count;
    const struct stored_variant *variants;
    int variant_count;
    const struct stored_trial *trials;
    int trial_count;
    const struct environment_fact *facts; /* by name */
    int fact_count;
};

/* The last campaign of this name that was not run to confirm another one. Memory is the arena's. */
int stored_campaign_read(struct store *store, const char *name, struct arena *arena, struct stored_campaign *campaign,
                         struct err *err);

#endif
