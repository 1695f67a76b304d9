/* process_internal.h: what process.c (programs started by exec) and fork_server.c (by a fork of one that has loaded already)
 * share. */
#ifndef LAGGARD_BASE_PROCESS_INTERNAL_H
#define LAGGARD_BASE_PROCESS_INTERNAL_H

#include <stdint.h>
#include <sys/types.h>

struct err;

enum process_step { PROCESS_PREPARATION, PROCESS_DESCRIPTORS, PROCESS_EXEC, PROCESS_FORK, PROCESS_STEP_COUNT, PROCESS_RUNS };
/* What a new process writes into its report pipe. Without exec it says PROCESS_RUNS with its pid; with exec, nothing. */
struct process_report {
    int32_t step, value; /* errno; PROCESS_RUNS: the pid */
};

/* In the new process: moves descriptors[i] to 3 + i, streams[i] (three, or NULL) to i, and closes the rest, but the report pipe,
 * which is moved too. `copies` has room for the descriptors. Returns 0 or an errno. */
int process_place_descriptors(const int *descriptors, unsigned descriptor_count, const int *streams, int *copies, int *report_fd);
/* Bytes read: 0 when everyone who could have written has closed the pipe. */
ssize_t process_read_report(int fd, struct process_report *report);
/* The sentence for a report of failure that has `length` bytes. */
int process_refused(const char *path, const struct process_report *report, ssize_t length, struct err *err);

#endif
