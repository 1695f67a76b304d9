/* harness/agent_path.h: where the agent program is. */
#ifndef LAGGARD_HARNESS_AGENT_PATH_H
#define LAGGARD_HARNESS_AGENT_PATH_H

#include <stddef.h>

struct err;

/* $LAGGARD_AGENT when set, else `laggard-agent` beside this program's own file. */
int agent_path_find(char *path, size_t size, struct err *err);

#endif
