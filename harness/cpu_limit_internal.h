/* cpu_limit_internal.h: what cpu_limit.c (making groups) and cpu_limit_watch.c (seeing to their end) share. */
#ifndef LAGGARD_HARNESS_CPU_LIMIT_INTERNAL_H
#define LAGGARD_HARNESS_CPU_LIMIT_INTERNAL_H

#include <stdbool.h>
#include <sys/types.h>

struct err;

enum { CPU_FOLDER_BYTES = 64 };
#define CPU_FOLDER_PREFIX "laggard-"
#define CPU_GROUP_PREFIX "node-"

struct cpu_folder {
    int own_fd;                  /* of the group that this process is in */
    int fd;                      /* of the folder below it, locked; -1: not made */
    char name[CPU_FOLDER_BYTES]; /* in own_fd */
    bool enabled;                /* the unified hierarchy: the controller was enabled for it, and was not before */
};
int cpu_folder_write(int folder_fd, const char *file, const char *text); /* 0 or a negative errno */
/* Makes laggard-PID and locks it; 0 or a negative errno. */
int cpu_folder_make(struct cpu_folder *folder);
/* Removes the groups in it, and with `whole` the folder itself, trying again for patience_ms at most while processes are still
 * there (EBUSY). 0 or a negative errno. */
int cpu_folder_await_clear(const struct cpu_folder *folder, bool whole, int patience_ms);
/* Takes back what was enabled for it. */
void cpu_folder_disable(const struct cpu_folder *folder);
/* Those that nobody looks after any more. */
void cpu_folder_remove_stale(int own_fd);

/* A process that removes the folder when *pipe_fd, which the caller holds, is closed. */
int cpu_watcher_start(const struct cpu_folder *folder, pid_t *watcher, int *pipe_fd, struct err *err);

#endif
