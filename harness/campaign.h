/* harness/campaign.h: from a campaign file to a plan: bytes in, plan or error out. Files that it names are read, and its shared
 * objects with schemes stay loaded for the life of the process; nothing else is run, nothing else of the host is asked. */
#ifndef LAGGARD_HARNESS_CAMPAIGN_H
#define LAGGARD_HARNESS_CAMPAIGN_H

#include <stddef.h>
#include <stdint.h>

#include "schemas/plan.h"

struct arena;
struct err;
struct text;

/* Reads and checks the whole file; every error is ERR_USAGE and starts with "path:line:column: ". `path` is used in messages,
 * and files that the campaign names are looked for beside it, but for topology.link.jitter_table: from where laggard runs. */
int campaign_parse(const char *path, const char *text, size_t length, struct arena *arena, struct plan *plan, struct err *err);
/* What takes the place of the file's own settings. */
#define CAMPAIGN_BOTH_WORLDS "both"
extern const char *const campaign_world_choices[]; /* of the option --world: the worlds, then both; ends with NULL */
struct campaign_overrides {
    const uint64_t *seed; /* NULL: the file's */
    const char *world;    /* a world, or "both": every cell in each world; NULL: the file's */
};
/* The same from a file; a file that cannot be read is ERR_USAGE too. overrides may be NULL. */
int campaign_load(const char *path, const struct campaign_overrides *overrides, struct arena *arena, struct plan *plan,
                  struct err *err);

/* The effective settings of a cell, one "key: value" line a field, in a form that campaign_parse() reads back beside the
 * campaign's file. Stored with every cell. */
void campaign_dump(const struct settings *settings, struct text *out);

/* The field table for people (`laggard fields`) and for editors (schemas/campaign.schema.json). */
void campaign_print_fields(struct text *out);
void campaign_json_schema(struct text *out);

#endif
