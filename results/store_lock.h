/* results/store_lock.h: one writer a database file, and what kind of file a path is. */
#ifndef LAGGARD_RESULTS_STORE_LOCK_H
#define LAGGARD_RESULTS_STORE_LOCK_H

#include <stdbool.h>

struct err;
struct store_lock;

/* Creates the file (empty) when it is missing, and makes this process its only writer until store_lock_free(). Readers are not
 * hindered. Refuses a file that is not ours, as store_lock_check() does. */
int store_lock_take(const char *path, struct store_lock **lock, struct err *err);
int store_lock_take_older(const char *path, struct store_lock **lock, struct err *err); /* also one of an earlier schema version */
void store_lock_free(struct store_lock *lock); /* after the last SQLite connection to the file was closed; NULL allowed */
/* The file's own name, no link's, if it was not there before: to be removed after a failure. NULL: it was. The caller frees it. */
char *store_lock_created(const struct store_lock *lock, const char *path);
/* The path still names the file that was taken; otherwise what is written goes where nobody will find it. */
int store_lock_verify(const struct store_lock *lock, const char *path, struct err *err);
/* The write-ahead log that is beside the path now is that of the file that was taken. */
void store_lock_note_log(struct store_lock *lock, const char *path);
/* Where the path names another file by now, or none: SQLite would leave the log there, and whatever file is at this path would be
 * read with it, and be damaged. Removes it unless it holds what the file that was taken, which has another name now, lacks. */
void store_lock_remove_log(const struct store_lock *lock, const char *path);
/* Why this file could not be opened for writing, changing nothing; 0 for one that is not there yet but could be created. */
int store_lock_check(const char *path, struct err *err);

bool store_on_network(const char *path); /* WAL's shared memory does not work there */

#endif
