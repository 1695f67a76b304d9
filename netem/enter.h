/* netem/enter.h: starting a program on a place of a network that another process has built: the side of whoever asks.
 *
 * Theory of operation. A fabric built with `enter` listens on an abstract Unix socket, which leaves no name in any file system: one
 * in the network namespace in which it was built, and, since that cannot be seen from inside, one of the same name in the namespace
 * of each place that has outside programs. Both ends compare the other's user with their own (SO_PEERCRED). Whoever asks sends his
 * words and his standard streams; the warden starts the program as it starts every outside program, with no more privileges than
 * those (fabric.h), tells of its start and of its end, and passes signals on. When the connection ends early, the program's group
 * gets SIGHUP, as from a lost terminal. */
#ifndef LAGGARD_NETEM_ENTER_H
#define LAGGARD_NETEM_ENTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/process.h"

struct err;

enum { ENTER_NAME_BYTES = 64 };

/* "laggard/enter/UID/PID": of the socket of the fabric that process `pid` of user `uid` has built. */
void enter_name(char name[ENTER_NAME_BYTES], uid_t uid, pid_t pid);

/* The fabric to enter: that of process `of`, or, when `of` is 0, the one around this process (LAGGARD_ENTER), else the only one of
 * this user that can be seen. ERR_USAGE: there is none, or the sentence lists them. */
int enter_find(pid_t of, char name[ENTER_NAME_BYTES], struct err *err);
int enter_connect(const char *name, int *fd, struct err *err);

struct enter_program {
    const char *node;       /* name or index */
    char *const *arguments; /* NULL-terminated; [0] is looked for in PATH of this process's environment, which is passed on */
    const char *directory;  /* where it starts */
    const int *streams;     /* three, which become 0, 1 and 2 */
    bool terminal;          /* streams[0] is a terminal and becomes the program's controlling one */
    uint64_t open_files;    /* soft limit; 0: that of the fabric's process */
};
/* Blocks until the program has started, or says why it could not. */
int enter_start(int fd, const struct enter_program *program, struct err *err);
/* To the program's process group. */
int enter_signal(int fd, int signal_number, struct err *err);
/* When fd is readable: 1: the program has ended so; negative: the network has. */
int enter_next(int fd, struct process_exit *how, struct err *err);

#endif
