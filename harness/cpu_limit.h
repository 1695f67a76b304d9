/* harness/cpu_limit.h: how much of the processors a node may use: a control group a node, with a quota for each period.
 *
 * Theory of operation. Groups are folders of a cgroup file system, so that, unlike everything else of a trial, they do not go by
 * themselves. All of them lie in one folder, laggard-PID, in this process's own group: below it, so that whatever limits us limits
 * them, too. It is locked (flock) as long as anybody looks after it: the controller, or, should that die, a watcher, a process of
 * its own outside of every namespace, which holds a pipe from the controller and removes the folder when that closes and the nodes
 * are gone. Folders without a lock are left over (a watcher was killed, too); whoever opens a limiter removes them.
 *
 * The unified hierarchy is taken where it has the cpu controller and may be written to, else version 1. In the unified hierarchy
 * the groups are threaded, since only then may the group above keep processes of its own, the controller among them. */
#ifndef LAGGARD_HARNESS_CPU_LIMIT_H
#define LAGGARD_HARNESS_CPU_LIMIT_H

#include "schemas/records.h"
#include "schemas/settings.h"

struct err;
struct cpu_limiter;

/* Tries it out: makes the folder and a group with a limit. ERR_HOST, with a remedy, where that cannot be. Starts the watcher: call
 * it before anything is open that no other process may hold. */
int cpu_limiter_open(struct cpu_limiter **limiter, struct err *err);
/* Nothing is left: neither folder nor watcher. NULL allowed. */
void cpu_limiter_close(struct cpu_limiter *limiter);
const char *cpu_limiter_where(const struct cpu_limiter *limiter); /* "cgroup v1, /sys/fs/cgroup/cpu" */

/* Whether the kernel takes every limit of a cell: it refuses one that is above that of a group above. */
int cpu_limiter_try(struct cpu_limiter *limiter, const struct cpu_limit_list *limits, struct err *err);

/* A group for a node. *processes_fd is the caller's: whoever writes "0" to it is in the group. What the kernel then reads back
 * equals what was asked. */
int cpu_limiter_add(struct cpu_limiter *limiter, int node, const struct cpu_limit *limit, int *processes_fd, struct err *err);
/* Since the group was made. */
int cpu_limiter_usage(const struct cpu_limiter *limiter, int node, struct cpu_usage *usage, struct err *err);
/* Removes the groups, once their processes have ended; waits a moment for that. */
void cpu_limiter_clear(struct cpu_limiter *limiter);

#endif
