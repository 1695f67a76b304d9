/* outside_environment.h: what tells an outside program where it is. */
#ifndef LAGGARD_NETEM_OUTSIDE_ENVIRONMENT_H
#define LAGGARD_NETEM_OUTSIDE_ENVIRONMENT_H

#include "schemas/topology.h"

struct arena;

/* The addresses of all hosts in order, comma separated: the same for every program, so made once. */
char *outside_peers(const struct topology *topology, struct arena *arena);

struct outside_place {
    const struct topology *topology;
    int place;
    const char *peers;
    const char *enter_name; /* NULL: nothing can be entered from here */
    bool terminal, root;
};
/* `given` with the variables of fabric.h in place of any of those names, LAGGARD_ENTER (netem/enter.h), and on a terminal PS1: "w1#
 * " (root) or "w1$ ", which every shell shows as it stands; a PS1 that is given stays, with the name in front unless it shows the
 * host name. NULL-terminated. Strings of `given` are used where they are; what is new is the arena's. */
char **outside_environment(const struct outside_place *where, char *const *given, struct arena *arena);

#endif
