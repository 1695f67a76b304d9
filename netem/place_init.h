/* place_init.h: process 1 of the namespaces that a place's outside programs share.
 *
 * Theory of operation. It is forked inside the place's network namespace, into new PID, mount, UTS and IPC namespaces, shows a
 * /proc and a /sys of its own, takes the place's name as host name, and from then on only lets the kernel reap the orphans that it
 * inherits. Programs are not its children but the warden's, which enters these namespaces for each of them: so the warden learns of
 * their end, and the place's processes see each other. Without root it lives in one more user namespace, in which the caller's user
 * is that user again and not root, so that programs do not take themselves for privileged. With process 1 the kernel ends all
 * others. */
#ifndef LAGGARD_NETEM_PLACE_INIT_H
#define LAGGARD_NETEM_PLACE_INIT_H

#include "base/process.h"
#include "netem/namespaces.h"

struct err;

/* Many get ready side by side, each for a fraction of a millisecond in the kernel: place_init_begin() forks and returns at once.
 * The caller is in the place's network namespace. `report_fd` is the end of a pipe, one for all of them, which the caller then
 * closes. */
int place_init_begin(const struct namespaces_owner *owner, const char *host_name, int report_fd, struct process *init,
                     struct err *err);
/* Waits until `count` of them are ready; -ERR_HOST with the sentence of one that cannot be. */
int place_init_confirm(int report_fd, int count, struct err *err);

/* Makes children that the caller forks members of the PID namespace; `init` NULL: of the caller's own, again. Returns 0 or an
 * errno. */
int place_init_adopt(const struct process *init);
/* In such a child: enters all the other namespaces. The current folder is then the root. Returns 0 or an errno. */
int place_init_join(const struct process *init, const struct namespaces_owner *owner);

#endif
