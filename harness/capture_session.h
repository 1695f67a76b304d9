/* harness/capture_session.h: the captures of one network, from their files to what came of them. */
#ifndef LAGGARD_HARNESS_CAPTURE_SESSION_H
#define LAGGARD_HARNESS_CAPTURE_SESSION_H

#include <stdbool.h>

#include "schemas/capture.h"
#include "schemas/topology.h"

struct arena;
struct capture_session;
struct err;
struct fabric;
struct fabric_host;
struct fabric_spec;

/* Why no captures could be written as the settings ask for (ERR_USAGE, ERR_HOST); makes nothing. Settings without links are
 * good. */
int capture_session_check(const struct capture_settings *settings, const struct topology *topology, const struct fabric_host *host,
                          struct arena *arena, struct err *err);

enum { CAPTURE_WITHOUT_ORDER = -1 };
/* Finds the links and makes the files, all of it in the arena; NULL in *session where nothing is to be captured. `order`: of the
 * trial; part of the names. To be closed in any case, also after a failure. */
int capture_session_open(const struct capture_settings *settings, const struct topology *topology, const char *name, int order,
                         struct arena *arena, struct capture_session **session, struct err *err);
/* All allow NULL. Before the network is built; once it stands: the process that captures has the files then. */
void capture_session_add(struct capture_session *session, struct fabric_spec *spec);
void capture_session_built(struct capture_session *session);
/* Before the network goes. Warns of what is missing. In the arena, one a direction. */
void capture_session_finish(struct capture_session *session, struct fabric *fabric, const struct capture_result **results,
                            int *count);
/* Removes the files of a network that never stood. */
void capture_session_close(struct capture_session *session);

#endif
