/* results/migrate_internal.h: what the files of the migration share. */
#ifndef LAGGARD_RESULTS_MIGRATE_INTERNAL_H
#define LAGGARD_RESULTS_MIGRATE_INTERNAL_H

struct err;
struct store;

/* Into the trials of the open store what their spans come to, where the attached database `source` does not have it. */
int migrate_span_summaries(struct store *store, struct err *err);

#endif
