/* results/migrate.h: a database of an earlier schema version brought to this program's. */
#ifndef LAGGARD_RESULTS_MIGRATE_H
#define LAGGARD_RESULTS_MIGRATE_H

#include <stdint.h>

#include "base/text.h"

struct err;

struct migration {
    uint32_t from, to; /* schema versions; equal: there was nothing to do */
    struct text copy;  /* the path where the file is kept as it was; the caller frees it */
    int64_t campaigns, trials;
};

/* Replaces the database at `path` by one of the present schema with the same rows, and what the present schema sums up when a trial
 * ends. The file as it was stays beside it, named PATH.vVERSION. At every moment one of the two, whole, stands at `path`.
 * Where a link stands at `path`, this is so of the file that it leads to. ERR_USAGE: no database, a newer one, or that copy's name
 * is taken. ERR_HOST: it is damaged, somebody writes to it or reads it, the link is another user's, or the disk is full; then all
 * is as it was. */
int migrate(const char *path, struct migration *done, struct err *err);

#endif
