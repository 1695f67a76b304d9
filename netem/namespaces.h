/* namespaces.h: makes and enters anonymous namespaces; nothing here leaves a name in the file system. */
#ifndef LAGGARD_NETEM_NAMESPACES_H
#define LAGGARD_NETEM_NAMESPACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

struct namespaces_owner { /* who the caller is, seen from outside; read before the clone */
    uid_t uid;
    gid_t gid;
    bool user_namespace; /* the child has one of its own */
};

/* Like fork, into new PID, network, mount, UTS and IPC namespaces, and a new user namespace unless the caller is root and allowed
 * to do without. In the parent returns the child's pid and its pidfd; in the child 0. The child calls namespaces_settle() first. */
int namespaces_fork(struct namespaces_owner *owner, pid_t *child, int *pidfd, struct err *err);
/* The raw call beneath: like fork, with CLONE_NEW* flags. -1 and errno on failure. */
pid_t namespaces_clone(uint64_t flags, int *pidfd);
/* In a process of a new user namespace: its user outside is `uid` inside, its group `gid`. */
int namespaces_map_user(uid_t uid, uid_t uid_outside, gid_t gid, gid_t gid_outside, struct err *err);
/* In the child: becomes root of the user namespace, cuts mounts off from the host's, takes the effect from set-user-ID files, and
 * mounts a /proc of the new PID namespace where the kernel allows it. */
int namespaces_settle(const struct namespaces_owner *owner, struct err *err);

/* Leaves the process in a new, empty network namespace held by *fd. */
int namespaces_new_network(int *fd, struct err *err);

/* Writes /proc/sys/NAME of the current namespaces. A setting that this kernel does not have is an error only when `required`. */
int namespaces_sysctl(const char *name, const char *value, bool required, struct err *err);

/* Reads it, with single blanks between numbers and without the end of line; "" where it cannot be read or is longer. */
void namespaces_read_sysctl(const char *name, char *value, size_t bytes);

/* Shows `text` as /etc/hosts inside the mount namespace. Not having it is no failure: addresses work without. */
int namespaces_hosts_file(const char *text, struct err *err);

/* Closes every descriptor above 2 but those listed. Sorts the list. */
void namespaces_keep_descriptors(int *keep, unsigned count);

#endif
