/* results/database.h: a database opened for reading alone, by the commands that need no testbed. */
#ifndef LAGGARD_RESULTS_DATABASE_H
#define LAGGARD_RESULTS_DATABASE_H

#include <stdint.h>

#include "base/err.h"

struct sql;

/* Refuses with a sentence what is not there, is no file of ours or has another schema (ERR_USAGE), and what is damaged or cannot be
 * read (ERR_HOST). A file that a running campaign writes is read as it was after its last finished trial. */
int database_open(const char *path, struct sql **sql, struct err *err);
/* -ERR_HOST: pages or rows of it are damaged, which whoever reads all of it would stumble over somewhere, or not see. Reads the
 * file once: about a second for 150 MB. */
int database_check_whole(struct sql *sql, struct err *err);
/* The version of its schema, from the file's header; 0 where only the log has it as yet. Refuses what database_open() refuses, but
 * earlier versions. */
int database_version(const char *path, uint32_t *version, struct err *err);
/* -ERR_HOST: another user, who may not write to it, has put a log beside it, which SQLite would fold in. 0: not so, or no file. */
int database_refuse_foreign(const char *path, struct err *err);
int database_refuse_older(const char *path, uint32_t version, enum err_kind kind, struct err *err); /* returns -kind */

#endif
