/* results/baselines.h: baselines: campaigns of a database that are set, by name, to be compared with. */
#ifndef LAGGARD_RESULTS_BASELINES_H
#define LAGGARD_RESULTS_BASELINES_H

#include <stdint.h>

struct err;
struct sql;
struct text;

/* The campaign of the last baseline that was set with this name and revision (NULL: any); 0 where there is none. */
int baselines_find(struct sql *sql, const char *name, const char *revision, int64_t *campaign_id, struct err *err);
/* Sets a campaign of this file; opens it for writing. revision may be NULL. */
int baselines_set(const char *path, int64_t campaign_id, const char *name, const char *revision, int64_t now_unix_ns,
                  struct err *err);

/* The list, for people or as JSON with every trial's values (`export`). */
int baselines_show(struct sql *sql, struct text *out, struct err *err);
int baselines_export(struct sql *sql, const char *name, struct text *out, struct err *err);

#endif
