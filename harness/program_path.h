/* harness/program_path.h: finds the program of workload.exec. */
#ifndef LAGGARD_HARNESS_PROGRAM_PATH_H
#define LAGGARD_HARNESS_PROGRAM_PATH_H

#include <stddef.h>

struct arena;
struct err;

/* A name with a slash is a path, relative to the folder of the campaign file; another one is looked for in PATH. *path is in the
 * arena. ERR_USAGE: there is no such program, or it cannot be run; the sentence names no place in the file. */
int program_path_find(const char *name, const char *campaign_path, struct arena *arena, const char **path, struct err *err);

#endif
